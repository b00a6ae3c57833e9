#version 460
// Where the edges of two triangles pierce the other triangle, with the bits of
// cr_contact_kernels.pierce (crossing_kernels.c), in double. Pairs that its error bounds leave open
// are for the processor's exact predicates.
//
// No result here is too small for a normal double, so it does not matter what the device makes of
// such numbers. Coordinates of meshes are 0 or at least 2^-126, and less than 2^40; those of the
// rotation and the translation are 0 or at least 2^-200 (device_crossings.c). So a product of two
// is a multiple of 2^-400, and so is a placed corner, rounded or not. A pair with a difference of
// corners that is not 0 and below 2^-280 is open. Other differences are multiples of 2^-332, products
// of two and their sums of 2^-664, heights and volumes of 2^-996. Bounds are above 2^-900 unless
// they are 0.
//
// address: 0 couples (four words each: places in the blocks of both meshes, job), 1 jobs
// (gpu_casts.h), 2 results (seven doubles each: heights of the corners of the first, of the second,
// bits). word: 0 couples.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#extension GL_ARB_gpu_shader_int64 : require

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer JobDoubles { double at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) writeonly buffer Heights { double at[]; };

const uint JOB_DOUBLES = 14, ROTATION = 2, TRANSLATION = 11;
const uint BLOCK_WORDS = 88;
const uint PIERCES = 0, ABOVE = 6, OPEN = 1u << 12, CROSSING = 1u << 13; // gpu_casts.h
const double PRODUCT_ERROR = 1e-14LF; // CR_PRODUCT_ERROR
const double LEAST = 5.147557589468029e-85LF; // 2^-280

bool doubt = false;

dvec3 corner_of(Floats blocks, uint place, uint corner)
{
	const uint at = place / 8 * BLOCK_WORDS + corner * 24 + place % 8;
	return dvec3(blocks.at[at], blocks.at[at + 8], blocks.at[at + 16]);
}

dvec3 placed(JobDoubles jobs, uint job, dvec3 p)
{
	dvec3 q;
	for (uint k = 0; k < 3; k++) {
		const uint row = job + ROTATION + 3 * k;
		precise double sum = ((jobs.at[row] * p.x + jobs.at[row + 1] * p.y) + jobs.at[row + 2] * p.z) +
			jobs.at[job + TRANSLATION + k];
		q[k] = sum;
	}
	return q;
}

double largest(dvec3 v) { return max(max(abs(v.x), abs(v.y)), abs(v.z)); }

bool is_tiny(double x) { return x != 0 && abs(x) < LEAST; }

dvec3 subtract(dvec3 a, dvec3 b)
{
	precise dvec3 d = a - b;
	doubt = doubt || is_tiny(d.x) || is_tiny(d.y) || is_tiny(d.z);
	return d;
}

double multiply(dvec3 a, dvec3 b)
{
	precise double sum = (a.x * b.x + a.y * b.y) + a.z * b.z;
	return sum;
}

dvec3 turn(dvec3 a, dvec3 b)
{
	precise dvec3 c = dvec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
	return c;
}

int side_of(double x, double bound) { return x > bound ? 1 : x < -bound ? -1 : 0; }

// The corners p over the plane of t: measure_heights.
void measure(dvec3 t[3], dvec3 p[3], double distance, out double height[3], out int side[3])
{
	const dvec3 e = subtract(t[1], t[0]), g = subtract(t[2], t[0]), n = turn(e, g);
	precise double size = largest(e) * largest(g);
	precise double bound = (PRODUCT_ERROR * size) * distance;
	for (int k = 0; k < 3; k++) {
		height[k] = multiply(n, subtract(p[k], t[0]));
		side[k] = side_of(height[k], bound);
	}
}

bool agree(int a, int b, int c) { return a != 0 && a == b && b == c; }

// decide_edge: 1 it pierces, 0 it does not, -1 open.
int decide(int first, int last, int a, int b, int c)
{
	if (first * last >= 0)
		return 0;
	if (agree(a, b, c))
		return 1;
	const int low = min(min(a, b), c), high = max(max(a, b), c);
	return low < 0 && high > 0 ? 0 : -1;
}

// The bits of two triangles.
uint cross_triangles(dvec3 p[3], dvec3 q[3], out double over_q[3], out double over_p[3])
{
	dvec3 difference[3][3];
	double distance = 0, reach = 0;
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++) {
			difference[i][j] = subtract(q[j], p[i]);
			distance = max(largest(difference[i][j]), distance);
		}
	}
	int of_p[3], of_q[3], volume[3][3];
	measure(q, p, distance, over_q, of_p);
	measure(p, q, distance, over_p, of_q);
	if (agree(of_p[0], of_p[1], of_p[2]) || agree(of_q[0], of_q[1], of_q[2]))
		return 0;
	dvec3 edge[3];
	for (int i = 0; i < 3; i++) {
		edge[i] = subtract(p[(i + 1) % 3], p[i]);
		reach = max(largest(edge[i]), reach);
	}
	precise double bound = ((PRODUCT_ERROR * reach) * distance) * distance;
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++)
			volume[i][j] = side_of(multiply(turn(edge[i], difference[i][j]), difference[i][(j + 1) % 3]), bound);
	}
	uint bits = 0;
	for (int k = 0; k < 3; k++) {
		const int l = (k + 1) % 3;
		const int own = decide(of_p[k], of_p[l], volume[k][0], volume[k][1], volume[k][2]);
		const int other = decide(of_q[k], of_q[l], volume[0][k], volume[1][k], volume[2][k]);
		if (of_p[k] == 0 || of_q[k] == 0 || own < 0 || other < 0)
			bits |= OPEN;
		bits |= (own > 0 ? 1u : 0u) << (PIERCES + k) | (other > 0 ? 1u : 0u) << (PIERCES + 3 + k);
		bits |= (of_p[k] > 0 ? 1u : 0u) << (ABOVE + k) | (of_q[k] > 0 ? 1u : 0u) << (ABOVE + 3 + k);
	}
	return (bits & (OPEN | 63u << PIERCES)) != 0 ? bits | CROSSING : 0;
}

void main()
{
	const uint i = item_number();
	if (i >= arguments.word[0])
		return;
	Words couples = Words(arguments.address[0]);
	const uint first = couples.at[4 * i], second = couples.at[4 * i + 1], job = JOB_DOUBLES * couples.at[4 * i + 2];
	JobDoubles jobs = JobDoubles(arguments.address[1]);
	Longs blocks = Longs(arguments.address[1]);
	dvec3 p[3], q[3];
	for (uint c = 0; c < 3; c++) {
		p[c] = corner_of(Floats(blocks.at[job]), first, c);
		q[c] = placed(jobs, job, corner_of(Floats(blocks.at[job + 1]), second, c));
	}
	double over_q[3], over_p[3];
	uint bits = cross_triangles(p, q, over_q, over_p);
	if (doubt)
		bits = OPEN | CROSSING;
	Heights heights = Heights(arguments.address[2]);
	for (uint k = 0; k < 3; k++) {
		heights.at[7 * i + k] = over_q[k];
		heights.at[7 * i + 3 + k] = over_p[k];
	}
	Longs(arguments.address[2]).at[7 * i + 6] = uint64_t(bits);
}
