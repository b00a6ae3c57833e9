#version 460
// A level of the source's tree: children that come near the target. See mesh_near.glsl.
//
// address: 0 jobs, 1 nodes of this level and 2 of the next one (job, node), 3 blocks that are found
// (job, block), 4 states of jobs, 5 counters, 7 pairs that touch. word: 0 level, 1 jobs of the wave, 2 room for nodes,
// 3 room for blocks, 4 the first job of the wave.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "mesh_near.glsl"

// The box of a child, turned and moved and grown: transform_boxes.
void transform_box(Floats nodes, uint at, out dvec3 lower, out dvec3 upper)
{
	dvec3 centre, extent;
	for (uint k = 0; k < 3; k++) {
		const double low = double(nodes.at[at + 8 * k]), high = double(nodes.at[at + NODE_UPPER + 8 * k]);
		centre[k] = multiply(0.5LF, add(low, high));
		extent[k] = multiply(0.5LF, subtract(high, low));
	}
	for (uint k = 0; k < 3; k++) {
		const dvec3 row = rotation_row(k);
		double c = double(job_float(TRANSLATION + k)), e = double(job_float(GROWTH));
		for (uint l = 0; l < 3; l++) {
			c = add(c, multiply(row[l], centre[l]));
			e = add(e, multiply(abs(row[l]), extent[l]));
		}
		lower[k] = subtract(c, e);
		upper[k] = add(c, e);
	}
}

void look(uint node, uint child)
{
	const uint64_t tree = job_address(SOURCE_NODES);
	Words links = Words(tree);
	if (child >= links.at[NODE_WORDS * node + NODE_COUNT])
		return;
	dvec3 lower, upper;
	doubt = false;
	transform_box(Floats(tree), NODE_WORDS * node + child, lower, upper);
	const bool near = is_near_target(lower, upper);
	if (doubt)
		leave_walk();
	if (doubt || !near)
		return;
	const uint link = links.at[NODE_WORDS * node + NODE_LINKS + child];
	if ((link & LEAF) != 0) {
		const uint at = take_place(BLOCKS);
		if (at < arguments.word[3])
			Pairs(arguments.address[3]).at[at] = uvec2(job, link & ~LEAF);
	} else {
		const uint at = take_place(NODES + 2 * (arguments.word[0] + 1));
		if (at < arguments.word[2])
			Pairs(arguments.address[2]).at[at] = uvec2(job, link);
	}
}

void main()
{
	const bool first = arguments.word[0] == 0; // the roots
	const uint count = first ? arguments.word[1] : count_of(NODES + 2 * arguments.word[0], arguments.word[2]);
	for (uint i = item_number(); i < 8 * count; i += all_items()) {
		uvec2 item = uvec2(arguments.word[4] + i / 8, 0);
		if (!first)
			item = Pairs(arguments.address[1]).at[i / 8];
		job = item.x;
		if (!first || is_wanted())
			look(item.y, i % 8);
		else if (i % 8 == 0)
			atomicOr(Words(arguments.address[4]).at[STATE_WORDS * job + 1], LEFT_OUT);
	}
}
