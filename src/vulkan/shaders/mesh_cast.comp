#version 460
// Tier C: casts rays against meshes in both directions: the nearest hit ahead and the nearest one behind, with
// the bits of cr_bvh_kernels.cast_lines.
//
// A ray goes through the tree in single precision, in which no box and no triangle that the processor
// would meet is missed; mesh_blocks.glsl decides about the triangles that are left.
//
// Boxes. Bounds of coordinates (below) keep every number finite. A plane less the origin is off by at
// most 2^-23 of itself whatever the rounding, the inverse direction by 2^-24, a product by 2^-23:
// less than WIDER of it together. A difference that is taken for 0 because it is small is below
// 2^-126, which makes less than NEARLY_NOTHING of it, since no inverse is above 2^80.
//
// address, word: mesh_blocks.glsl.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "mesh_blocks.glsl"

const uint LEAF = 1u << 31;
const uint STACK = 32; // levels of the tree: gpu_casts.h
const float WIDER = 9.5367431640625e-7; // 2^-20
const float NEARLY_NOTHING = 5.684341886080802e-14; // 2^-44
const float FAR = 1e38;
const float LEAST_SLOPE = 8.271806125530277e-25; // 2^-80: of a component of a direction

Vectors nodes;
Words links;
vec3 inverse;
bvec3 along; // planes of no inverse: the ray runs along them

// Is a ray one that the device can follow?
bool begin_ray()
{
	const vec3 d = abs(ray_direction);
	if (!begin_line())
		return false;
	for (int k = 0; k < 3; k++) {
		along[k] = d[k] == 0;
		if (!along[k] && d[k] < LEAST_SLOPE)
			return false;
		inverse[k] = along[k] ? 0 : float(divide(1.0LF, double(ray_direction[k])));
	}
	return !doubt;
}

// The part of the ray between two planes that are across axis k.
void narrow(int k, vec4 lower, vec4 upper, inout vec4 first, inout vec4 last)
{
	const float at = ray_origin[k];
	if (along[k]) {
		const bvec4 beside = bvec4(uvec4(lessThan(vec4(at), lower)) | uvec4(greaterThan(vec4(at), upper)));
		last = mix(last, vec4(-FAR), beside);
		return;
	}
	const vec4 a = (lower - at) * inverse[k], b = (upper - at) * inverse[k];
	const vec4 near = min(a, b), far = max(a, b);
	first = max(first, near - abs(near) * WIDER);
	last = min(last, far + abs(far) * WIDER);
}

vec4 first_of_all() { return vec4(behind.t < 0 ? 0 : -min(behind.t, FAR) * (1 + WIDER)); }
vec4 last_of_all() { return vec4(min(ahead.t, FAR) * (1 + WIDER)); }
bvec4 are_met(vec4 first, vec4 last) { return lessThanEqual(first, last + NEARLY_NOTHING); }

// The children of a node that the ray meets, the first one in the lowest four bits, their numbers and
// 1; 0 after the last one.
uint meet_children(uint node)
{
	const uint at = 16 * node;
	const uint count = floatBitsToUint(nodes.at[at + 14].x);
	float enters[8];
	uint order = 0, met = 0;
	for (uint h = 0; h < 2 && 4 * h < count; h++) {
		vec4 first = first_of_all(), last = last_of_all();
		for (int k = 0; k < 3; k++)
			narrow(k, nodes.at[at + 2 * k + h], nodes.at[at + 6 + 2 * k + h], first, last);
		const bvec4 hit = are_met(first, last);
		for (uint lane = 0; lane < 4; lane++) {
			const uint child = 4 * h + lane;
			if (!hit[lane] || child >= count)
				continue;
			uint place = met++;
			for (; place > 0 && enters[place - 1] > first[lane]; place--)
				enters[place] = enters[place - 1];
			enters[place] = first[lane];
			const uint shift = 4 * place, before = order & ((1u << shift) - 1), after = order - before;
			order = before | (child + 1) << shift | after << 4;
		}
	}
	return order;
}

// Does the ray still meet a child?
bool meets_child(uint node, uint child)
{
	const uint at = 16 * node + child / 4, lane = child % 4;
	vec4 first = first_of_all(), last = last_of_all();
	for (int k = 0; k < 3; k++)
		narrow(k, vec4(nodes.at[at + 2 * k][lane]), vec4(nodes.at[at + 6 + 2 * k][lane]), first, last);
	return are_met(first, last).x;
}

void follow()
{
	uint stack[STACK], orders[STACK];
	uint top = 0, node = 0, order = meet_children(0);
	bool stale = false; // the order may name children that are too far by now
	for (;;) {
		if (order == 0) {
			if (top == 0)
				return;
			node = stack[--top];
			order = orders[top];
			stale = true;
			continue;
		}
		const uint number = (order & 15) - 1;
		order >>= 4;
		if (stale && !meets_child(node, number))
			continue;
		const uint child = links.at[64 * node + 48 + number];
		if ((child & LEAF) != 0) {
			meet_block(child & ~LEAF);
			stale = true;
			continue;
		}
		if (order != 0) {
			stack[top] = node;
			orders[top++] = order;
		}
		node = child;
		order = meet_children(node);
		stale = false;
	}
}

void main()
{
	const uint i = item_number();
	if (i >= arguments.word[0])
		return;
	const uint job = load_ray(i);
	nodes = Vectors(nodes_of(job));
	links = Words(nodes_of(job));
	if (ray_direction != vec3(0)) {
		if (begin_ray())
			follow();
		else
			doubt = true;
	}
	write_hits(i);
}
