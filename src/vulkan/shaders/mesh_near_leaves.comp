#version 460
// Triangles of the source that come near the target, and the leaves of the target that their boxes
// meet. See mesh_near.glsl.
//
// address: 0 jobs, 1 blocks (job, block), 2 triangles with leaves (LANE_WORDS each), 4 states of
// jobs, 5 counters. word: 0 room for blocks, 1 room for triangles with leaves.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "mesh_near.glsl"

const uint STACK = 32; // levels of the tree: gpu_casts.h

vec3 lower, upper; // of the triangle, in the target's frame
uint place;

void take(uint block)
{
	const uint entry = take_place(LANES), at = LANE_WORDS * entry;
	if (entry >= arguments.word[1])
		return;
	Words lanes = Words(arguments.address[2]);
	for (uint k = 0; k < 3; k++) {
		lanes.at[at + k] = floatBitsToUint(lower[k]);
		lanes.at[at + 3 + k] = floatBitsToUint(upper[k]);
	}
	lanes.at[at + 6] = place;
	lanes.at[at + 7] = block;
	lanes.at[at + 8] = job;
}

// Four children of a node that the box meets, as bits.
uint meet_four(Vectors nodes, uint at)
{
	uvec4 met = uvec4(1);
	for (uint k = 0; k < 3; k++) {
		const vec4 low = nodes.at[at + 2 * k], high = nodes.at[at + 6 + 2 * k];
		met &= uvec4(lessThanEqual(low, vec4(upper[k]))) & uvec4(lessThanEqual(vec4(lower[k]), high));
	}
	return met.x | met.y << 1 | met.z << 2 | met.w << 3;
}

// Take the leaves of a node that the box meets. Returns the other children that it meets, as bits.
uint visit(uint64_t tree, uint node)
{
	Words links = Words(tree);
	const uint at = NODE_WORDS / 4 * node, count = links.at[NODE_WORDS * node + NODE_COUNT];
	uint met = meet_four(Vectors(tree), at), inner = 0;
	if (count > 4)
		met |= meet_four(Vectors(tree), at + 1) << 4;
	met &= (1u << count) - 1;
	while (met != 0) {
		const uint child = findLSB(met), link = links.at[NODE_WORDS * node + NODE_LINKS + child];
		met &= met - 1;
		if ((link & LEAF) != 0)
			take(link & ~LEAF);
		else
			inner |= 1u << child;
	}
	return inner;
}

void search_target()
{
	const uint64_t tree = job_address(TARGET_NODES);
	uint stack[STACK], left[STACK];
	uint top = 0, node = 0, inner = visit(tree, 0);
	for (;;) {
		if (inner == 0) {
			if (top == 0)
				return;
			node = stack[--top];
			inner = left[top];
		}
		const uint child = findLSB(inner);
		inner &= inner - 1;
		if (inner != 0) {
			stack[top] = node;
			left[top++] = inner;
		}
		node = Words(tree).at[NODE_WORDS * node + NODE_LINKS + child];
		inner = visit(tree, node);
	}
}

// load_source
void look(uint block, uint lane)
{
	const uint64_t at = job_address(SOURCE_BLOCKS);
	Floats blocks = Floats(at);
	if (lane >= size_of(at, block))
		return;
	place = 8 * block + lane;
	doubt = false;
	const dvec3 p = placed(dvec3(corner_of(blocks, place, 0))), q = placed(dvec3(corner_of(blocks, place, 1))),
				r = placed(dvec3(corner_of(blocks, place, 2)));
	const double growth = double(job_float(GROWTH));
	const dvec3 low = subtract(min(min(p, q), r), dvec3(growth)), high = max(max(p, q), r);
	const dvec3 grown = dvec3(add(high.x, growth), add(high.y, growth), add(high.z, growth));
	const bool near = is_near_target(low, grown);
	lower = vec3(low);
	upper = vec3(grown);
	doubt = doubt || is_odd(lower) || is_odd(upper) || dvec3(lower) != low || dvec3(upper) != grown;
	if (doubt)
		leave_walk();
	else if (near)
		search_target();
}

void main()
{
	const uint count = count_of(BLOCKS, arguments.word[0]);
	for (uint i = item_number(); i < 8 * count; i += all_items()) {
		const uvec2 item = Pairs(arguments.address[1]).at[i / 8];
		job = item.x;
		look(item.y, i % 8);
	}
}
