#version 460
// Triangles of the source against those of leaves: which may meet, or come within reach, and how far
// apart they are at least. See mesh_near.glsl.
//
// address: 0 jobs, 1 triangles with leaves (LANE_WORDS each), 2 finds (four words each: job, place in
// the source and in the target, gap), 4 states of jobs, 5 counters, 6 those of the first wave. word: 0
// room for triangles with leaves, 1 room for finds.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "mesh_near.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Finds { uvec4 at[]; };

const double ONE_MORE = 1.0000009536743164LF, ONE_LESS = 0.9999990463256836LF; // 1 + 2^-20, 1 - 2^-20
const double SHARE = 9.5367431640625e-07LF; // 2^-20
const double LEAST_LENGTH = 1.1754943508222875e-38LF; // 2^-126
const double LEAST_HEIGHT = 7.174648137343064e-43LF; // 2^-140

// plane_of: the normal of a triangle, and a bound on its size.
dvec3 normal_of(dvec3 corner[3], out double size)
{
	const dvec3 e = subtract(corner[1], corner[0]), g = subtract(corner[2], corner[0]), f = abs(e), h = abs(g);
	size = multiply(add(add(f.x, f.y), f.z), add(add(h.x, h.y), h.z));
	return turn(e, g);
}

// normal_length: at least the length of a normal.
double length_of(dvec3 normal, double size)
{
	const double largest = max(max(max(abs(normal.x), abs(normal.y)), abs(normal.z)), LEAST_LENGTH);
	const dvec3 unit = dvec3(divide(normal.x, largest), divide(normal.y, largest), divide(normal.z, largest));
	return add(multiply(largest, multiply(root(multiply(unit, unit)), ONE_MORE)), multiply(size, SHARE));
}

// A plane, and how high the other triangle's corners lie over it.
struct Plane {
	dvec3 normal;
	double size, tolerance;
	double low, high;
};

Plane measure(dvec3 normal, double size, dvec3 on, dvec3 corner[3])
{
	const double offset = multiply(normal, on);
	const double a = subtract(multiply(normal, corner[0]), offset), b = subtract(multiply(normal, corner[1]), offset),
				 c = subtract(multiply(normal, corner[2]), offset);
	return Plane(normal, size, multiply(size, double(job_float(MARGIN))), min(min(a, b), c), max(max(a, b), c));
}

bool straddles(Plane plane) { return plane.low <= plane.tolerance && -plane.tolerance <= plane.high; }

// plane_gap
double gap_over(Plane plane)
{
	const double inverse = divide(1.0LF, length_of(plane.normal, plane.size));
	const double gap = multiply(subtract(max(plane.low, -plane.high), add(plane.tolerance, LEAST_HEIGHT)), inverse);
	return multiply(gap, ONE_LESS);
}

// The bound that boxes give; that of the source has grown by reach.
double gap_of_boxes(dvec3 lower, dvec3 upper, dvec3 other_lower, dvec3 other_upper, double reach)
{
	dvec3 gap;
	for (int k = 0; k < 3; k++) {
		const double over = subtract(other_lower[k], upper[k]), under = subtract(lower[k], other_upper[k]);
		gap[k] = max(add(max(over, under), reach), 0.0LF);
	}
	return multiply(root(multiply(gap, gap)), ONE_LESS);
}

// The corners of a triangle of the source in the target's frame, and its normal.
dvec3 place_source(uint place, out dvec3 corner[3], out double size)
{
	Floats blocks = Floats(job_address(SOURCE_BLOCKS));
	dvec3 own[3];
	for (uint c = 0; c < 3; c++) {
		own[c] = dvec3(corner_of(blocks, place, c));
		corner[c] = placed(own[c]);
	}
	const dvec3 normal = normal_of(own, size);
	return dvec3(multiply(rotation_row(0), normal), multiply(rotation_row(1), normal), multiply(rotation_row(2), normal));
}

// Are two triangles near each other, and how far apart at least?
bool are_near(dvec3 lower, dvec3 upper, uint source, dvec3 q[3], out double gap)
{
	const double reach = double(job_float(REACH));
	const dvec3 low = min(min(q[0], q[1]), q[2]), high = max(max(q[0], q[1]), q[2]);
	gap = reach > 0 ? gap_of_boxes(lower, upper, low, high, reach) : 0;
	if (reach > 0 ? gap > reach : !meet(lower, upper, low, high))
		return false;
	dvec3 p[3];
	double p_size, q_size;
	const dvec3 p_normal = place_source(source, p, p_size), q_normal = normal_of(q, q_size);
	const Plane of_target = measure(q_normal, q_size, q[0], p), of_source = measure(p_normal, p_size, p[0], q);
	if (reach <= 0)
		return straddles(of_target) && straddles(of_source);
	gap = max(gap_over(of_source), max(gap_over(of_target), gap));
	return gap <= reach;
}

void look(uint at, uint lane)
{
	Words lanes = Words(arguments.address[1]);
	Floats places = Floats(arguments.address[1]);
	job = lanes.at[at + 8];
	const uint source = lanes.at[at + 6], block = lanes.at[at + 7], target = 8 * block + lane;
	const uint64_t blocks = job_address(TARGET_BLOCKS);
	if (lane >= size_of(blocks, block))
		return;
	dvec3 q[3];
	for (uint c = 0; c < 3; c++)
		q[c] = dvec3(corner_of(Floats(blocks), target, c));
	const dvec3 lower = dvec3(places.at[at], places.at[at + 1], places.at[at + 2]);
	const dvec3 upper = dvec3(places.at[at + 3], places.at[at + 4], places.at[at + 5]);
	double gap;
	doubt = false;
	const bool near = are_near(lower, upper, source, q, gap);
	const float written = float(gap);
	if (doubt || (near && is_odd(written)))
		leave_walk();
	if (doubt || !near)
		return;
	const uint most = job_word(MOST), before = atomicAdd(Words(arguments.address[4]).at[STATE_WORDS * job], 1u);
	if (most != 0 && before >= most)
		return; // one more is told of
	const uint find = take_place(Words(arguments.address[6]), FINDS);
	if (find < arguments.word[1])
		Finds(arguments.address[2]).at[find] = uvec4(job, source, target, floatBitsToUint(written));
}

void main()
{
	const uint count = count_of(LANES, arguments.word[0]);
	for (uint i = item_number(); i < 8 * count; i += all_items())
		look(LANE_WORDS * (i / 8), i % 8);
}
