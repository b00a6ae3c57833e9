#version 460
// Casts rays against meshes in both directions: the nearest hit ahead and the nearest one behind, with
// the bits of cr_bvh_kernels.cast_lines.
//
// A ray goes through the tree in single precision, in which no box and no triangle that the processor
// would meet is missed; mesh_ray.glsl decides about the triangles that are left.
//
// Boxes. Bounds of coordinates (below) keep every number finite. A plane less the origin is off by at
// most 2^-23 of itself whatever the rounding, the inverse direction by 2^-24, a product by 2^-23:
// less than WIDER of it together. A difference that is taken for 0 because it is small is below
// 2^-126, which makes less than NEARLY_NOTHING of it, since no inverse is above 2^80.
//
// Triangles. With e = 2^-24 and m the largest coordinate of a corner about the origin, differences of
// device and processor are below 3 e m for coordinates, 16 e m for sheared ones, which are below 2 m,
// and 176 e m^2 for edge functions: below NARROW m^2. Products too small for a float lose less than
// TINY.
//
// address: 0 rays (two vectors each: origin and the greatest t, direction and the number of the job),
// 1 jobs (gpu_casts.h), 2 hits (four words each: the triangle ahead with BACK, NO_HIT or DOUBTFUL; its
// t; and both of behind), 3 and 4 pairs that touch (mesh_ray.glsl). word: 0 rays.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "mesh_ray.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Hits { uvec4 at[]; };

const uint BACK = 1u << 31, NO_HIT = ~BACK, DOUBTFUL = ~0u;
const uint LEAF = 1u << 31;
const uint STACK = 32; // levels of the tree: gpu_casts.h
const float WIDER = 9.5367431640625e-7; // 2^-20
const float NEARLY_NOTHING = 5.684341886080802e-14; // 2^-44
const float NARROW = 1.52587890625e-5; // 2^-16
const float TINY = 7.52316384526264e-37; // 2^-120
const float FAR = 1e38;
const float LEAST_SLOPE = 8.271806125530277e-25; // 2^-80: of a component of a direction

Vectors nodes;
Words links;
Floats blocks;
Vectors corners;
vec3 inverse;
bvec3 along; // planes of no inverse: the ray runs along them
float slope_x, slope_y;
Nearest ahead, behind;

// Is a ray one that the device can follow?
bool begin_ray()
{
	const vec3 d = abs(ray_direction);
	if (is_odd_ray())
		return false;
	for (int k = 0; k < 3; k++) {
		along[k] = d[k] == 0;
		if (!along[k] && d[k] < LEAST_SLOPE)
			return false;
		inverse[k] = along[k] ? 0 : float(divide(1.0LF, double(ray_direction[k])));
	}
	set_shear(true);
	slope_x = float(shear_x);
	slope_y = float(shear_y);
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

// The triangles of half a block that may be met, as bits.
uint choose_lanes(uint block, uint half_block)
{
	const uint at = 22 * block + half_block;
	vec4 x[3], y[3];
	vec4 most = vec4(0);
	for (uint c = 0; c < 3; c++) {
		const vec4 px = corners.at[at + 6 * c + 2 * kx] - ray_origin[kx];
		const vec4 py = corners.at[at + 6 * c + 2 * ky] - ray_origin[ky];
		const vec4 pz = corners.at[at + 6 * c + 2 * kz] - ray_origin[kz];
		most = max(most, max(max(abs(px), abs(py)), abs(pz)));
		x[c] = px - slope_x * pz;
		y[c] = py - slope_y * pz;
	}
	const vec4 u = x[2] * y[1] - y[2] * x[1], v = x[0] * y[2] - y[0] * x[2], w = x[1] * y[0] - y[1] * x[0];
	const vec4 bound = most * most * NARROW + TINY;
	const vec4 low = min(min(u, v), w), high = max(max(u, v), w);
	const uvec4 missed = uvec4(lessThan(low, -bound)) & uvec4(greaterThan(high, bound));
	return (1 - missed.x) | (1 - missed.y) << 1 | (1 - missed.z) << 2 | (1 - missed.w) << 3;
}

void meet_block(uint block)
{
	const uint count = floatBitsToUint(blocks.at[BLOCK_WORDS * block + BLOCK_COUNT]);
	uint lanes = choose_lanes(block, 0);
	if (count > 4)
		lanes |= choose_lanes(block, 1) << 4;
	lanes &= (1u << count) - 1;
	while (lanes != 0) {
		const int lane = findLSB(lanes);
		lanes &= lanes - 1;
		meet(blocks, 8 * block + lane, ahead, behind);
	}
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

uint name_of(Nearest hit)
{
	if (hit.place == NOTHING)
		return NO_HIT;
	const uint number = floatBitsToUint(blocks.at[hit.place / 8 * BLOCK_WORDS + BLOCK_NUMBERS + hit.place % 8]);
	return number | (hit.back ? BACK : 0);
}

float length_of(Nearest hit) { return hit.place == NOTHING ? 0 : hit.t; }

void main()
{
	const uint i = item_number();
	if (i >= arguments.word[0])
		return;
	const vec4 origin = Vectors(arguments.address[0]).at[2 * i], direction = Vectors(arguments.address[0]).at[2 * i + 1];
	const uint job = floatBitsToUint(direction.w);
	const uint64_t tree = Longs(arguments.address[1]).at[4 * job], leaves = Longs(arguments.address[1]).at[4 * job + 1];
	const float reach = Floats(arguments.address[1]).at[8 * job + 6];
	nodes = Vectors(tree);
	links = Words(tree);
	blocks = Floats(leaves);
	corners = Vectors(leaves);
	ray_origin = origin.xyz;
	ray_direction = direction.xyz;
	ahead = Nearest(origin.w, NOTHING, false);
	behind = Nearest(reach > 0 ? reach : -1, NOTHING, false);
	const bool none = ray_direction == vec3(0);
	if (!none) {
		if (begin_ray())
			follow();
		else
			doubt = true;
	}
	if (!doubt && ahead.place != NOTHING && ahead.back)
		note_hit(i);
	Hits(arguments.address[2]).at[i] = doubt
		? uvec4(DOUBTFUL)
		: uvec4(name_of(ahead), floatBitsToUint(length_of(ahead)), name_of(behind), floatBitsToUint(length_of(behind)));
}
