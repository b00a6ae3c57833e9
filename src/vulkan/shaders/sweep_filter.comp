#version 460
// Filters of candidates: with FACES a vertex and a triangle, else two edges. What stays is left to
// the processor.
//
// A pair is ruled out only where the processor's filters (geom/swept_kernels.c) rule it out as well,
// so that the impacts are the same whether the device has looked at them or not. These prove the
// same statements in double, with bounds that are 2^20 times as narrow.
//
// Proof. m is the largest coordinate of the pair's vertices at both ends, u = 2^-24. A difference d
// of two places is off by 2 u m for their roundings and 2u |d| <= 4 u m for its own: 6 u m in all;
// e = 8 u m = 2^-21 m is taken.
//  - Axes. All components of the relative motion beyond `margin + 2 e` have a sign that stays.
//  - Diagonals. A sum or difference of two components is off by 2 e and by 2u of 4 m: by 3 e.
//    2 margin * sqrt(1/2) + 4 e is taken.
//  - The cubic. Each coefficient is a sum of products of three components, one of each vector, whose
//    absolute values sum to at most p = a b c (a: the absolute components of A at both ends, and so
//    on). Components that are off by e change it by at most (a + 6e)(b + 6e)(c + 6e) - p; 2 products
//    and 5 sums are off by 7 * 2u p < 2^-20 p. Twice that and more is taken. Where a, b, c are at
//    least 2^-20, products lose below 2^-126 less than 2^-100, and p 2^-18 at least 2^-78.
// The margin is that of the processor and 2^-18 of it more, which covers the roundings here.
//
// address: 0 places at the beginning and 1 at the end, 2 vertices of edges, 3 of triangles, 4
// candidates, 5 counters (sweep_search.comp; 6 is of those that stay), 6 those that stay. word: 0
// room, 1 margin, 2 whether the cubic may be asked, 3 finds that were left out.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#include "kernel.glsl"
#include "sweep.glsl"

#ifdef FACES
const uint CORNERS = 3;
#else
const uint CORNERS = 4;
#endif
const float EPSILON = 4.76837158203125e-7; // 2^-21
const float TINY = 7.52316384526264e-37; // 2^-120
const float LEAST_SIZE = 9.5367431640625e-7; // 2^-20

// The relative motion: its corners, and the vectors of the cubic, at both ends.
vec3 corner[2][CORNERS], a[2], b[2];
float largest; // coordinate

void look(uvec4 vertices)
{
	largest = 0;
	for (uint t = 0; t < 2; t++) {
		const uint64_t places = arguments.address[t];
		const vec3 p0 = place_of(places, vertices.x), p1 = place_of(places, vertices.y), p2 = place_of(places, vertices.z),
				   p3 = place_of(places, vertices.w);
		const vec3 most = max(max(abs(p0), abs(p1)), max(abs(p2), abs(p3)));
		largest = max(largest, max(most.x, max(most.y, most.z)));
#ifdef FACES
		corner[t][0] = p0 - p1;
		corner[t][1] = p0 - p2;
		corner[t][2] = p0 - p3;
		a[t] = p2 - p1;
		b[t] = p3 - p1;
#else
		corner[t][0] = p0 - p2;
		corner[t][1] = p1 - p2;
		corner[t][2] = p0 - p3;
		corner[t][3] = p1 - p3;
		a[t] = p1 - p0;
		b[t] = p3 - p2;
#endif
	}
}

bool are_beyond(vec3 low, vec3 high, float bound)
{
	return any(greaterThan(low, vec3(bound))) || any(lessThan(high, vec3(-bound)));
}

bool apart_along_axes(float margin)
{
	vec3 low = corner[0][0], high = low;
	for (uint t = 0; t < 2; t++) {
		for (uint k = 0; k < CORNERS; k++) {
			low = min(low, corner[t][k]);
			high = max(high, corner[t][k]);
		}
	}
	return are_beyond(low, high, margin + 2 * EPSILON * largest + TINY);
}

bool apart_along_diagonals(float margin)
{
	vec3 low_sum = corner[0][0] + corner[0][0].yzx, high_sum = low_sum;
	vec3 low_difference = corner[0][0] - corner[0][0].yzx, high_difference = low_difference;
	for (uint t = 0; t < 2; t++) {
		for (uint k = 0; k < CORNERS; k++) {
			const vec3 sum = corner[t][k] + corner[t][k].yzx, difference = corner[t][k] - corner[t][k].yzx;
			low_sum = min(low_sum, sum);
			high_sum = max(high_sum, sum);
			low_difference = min(low_difference, difference);
			high_difference = max(high_difference, difference);
		}
	}
	const float bound = margin * 1.41422 + 4 * EPSILON * largest + TINY;
	return are_beyond(low_sum, high_sum, bound) || are_beyond(low_difference, high_difference, bound);
}

float size_of(vec3 first, vec3 last)
{
	const vec3 sum = abs(first) + abs(last);
	return sum.x + sum.y + sum.z;
}

bool never_coplanar()
{
	const vec3 c[2] = { corner[0][0], corner[1][0] };
	const float size_a = size_of(a[0], a[1]), size_b = size_of(b[0], b[1]), size_c = size_of(c[0], c[1]);
	if (!(min(size_a, min(size_b, size_c)) >= LEAST_SIZE))
		return false;
	const vec3 first = cross(a[0], b[0]), last = cross(a[1], b[1]);
	const vec3 mixed = cross(a[0], b[1]) + cross(a[1], b[0]);
	const float f0 = dot(first, c[0]), f1 = dot(mixed, c[0]) + dot(first, c[1]);
	const float f2 = dot(mixed, c[1]) + dot(last, c[0]), f3 = dot(last, c[1]);
	const float low = min(min(f0, f1), min(f2, f3)), high = max(max(f0, f1), max(f2, f3));
	const float e = EPSILON * largest, pairs = size_a * size_b + size_b * size_c + size_c * size_a;
	const float error = size_a * size_b * size_c * 3.814697265625e-6 + 8 * e * pairs +
		64 * e * e * (size_a + size_b + size_c) + 512 * e * e * e;
	return low > error || high < -error;
}

bool stays(uvec2 pair)
{
	Words edges = Words(arguments.address[2]);
#ifdef FACES
	Words faces = Words(arguments.address[3]);
	look(uvec4(pair.x, faces.at[3 * pair.y], faces.at[3 * pair.y + 1], faces.at[3 * pair.y + 2]));
#else
	look(uvec4(edges.at[2 * pair.x], edges.at[2 * pair.x + 1], edges.at[2 * pair.y], edges.at[2 * pair.y + 1]));
#endif
	const float margin = uintBitsToFloat(arguments.word[1]);
	if (apart_along_axes(margin) || (arguments.word[2] != 0 && never_coplanar()))
		return false;
	return !apart_along_diagonals(margin);
}

void main()
{
	Words counter = Words(arguments.address[5]);
	const uint found = counter.at[0] - arguments.word[3];
	// More than 2^32 finds have left nothing of use.
	const uint count = counter.at[1] != 0 ? 0 : min(found, arguments.word[0]);
	for (uint i = item_number(); i < count; i += all_items()) {
		const uvec2 pair = Pairs(arguments.address[4]).at[i];
		if (!stays(pair))
			continue;
		const uvec4 ballot = subgroupBallot(true);
		uint first = 0;
		if (subgroupElect())
			first = atomicAdd(counter.at[6], subgroupBallotBitCount(ballot));
		first = subgroupBroadcastFirst(first);
		Pairs(arguments.address[6]).at[first + subgroupBallotExclusiveBitCount(ballot)] = pair;
	}
}
