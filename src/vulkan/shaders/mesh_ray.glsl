// A ray and the triangles of a mesh, with the bits of the processor (geom/triangle.c,
// bvh/bvh_kernels.c), in the operations of rounded.glsl. A result too small or too large for a
// normal float leaves the ray to the processor.
#include "rounded.glsl"

// ---- Pairs that touch ----

// Ray i has met a back face ahead of it: unless its origin is outside after all, its pair touches
// (ray.c: judge_line, judge_walk). address: 3 marks of rays (the number of the pair and 1; 0: not
// asked), 4 words of pairs.
void note_hit(uint i)
{
	if (arguments.address[3] == 0)
		return;
	const uint mark = Words(arguments.address[3]).at[i];
	if (mark != 0)
		Words(arguments.address[4]).at[mark - 1] = 1;
}

// ---- The shear ----

vec3 ray_origin, ray_direction;
int kx, ky, kz; // z is the axis of the largest component
double shear_x, shear_y, shear_z;

const float MOST = 1.099511627776e12; // 2^40: of a coordinate
const float MOST_SLOPE = 1048576; // 2^20: of a component of a direction

// Is the ray one that the device leaves to the processor?
bool is_odd_ray()
{
	const vec3 d = abs(ray_direction), o = abs(ray_origin);
	return is_odd(ray_origin) || is_odd(ray_direction) || max(max(o.x, o.y), o.z) > MOST ||
		max(max(d.x, d.y), d.z) > MOST_SLOPE;
}

// swapping: x and y change places where z is negative, so that edge functions keep their signs.
void set_shear(bool swapping)
{
	const vec3 d = abs(ray_direction);
	kz = d.x >= d.y && d.x >= d.z ? 0 : d.y >= d.z ? 1 : 2;
	kx = (kz + 1) % 3;
	ky = (kz + 2) % 3;
	if (swapping && ray_direction[kz] < 0) {
		const int swapped = kx;
		kx = ky;
		ky = swapped;
	}
	const double z = double(ray_direction[kz]);
	shear_x = divide(double(ray_direction[kx]), z);
	shear_y = divide(double(ray_direction[ky]), z);
	shear_z = divide(1.0LF, z);
}

// A corner as the ray sees it, which becomes the z axis. reach: its largest coordinate before the
// shear, so far.
dvec3 shear(vec3 corner, inout double reach)
{
	const double x = subtract(double(corner[kx]), double(ray_origin[kx]));
	const double y = subtract(double(corner[ky]), double(ray_origin[ky]));
	const double z = subtract(double(corner[kz]), double(ray_origin[kz]));
	reach = max(reach, max(max(abs(x), abs(y)), abs(z)));
	return dvec3(subtract(x, multiply(shear_x, z)), subtract(y, multiply(shear_y, z)), multiply(shear_z, z));
}

// ---- The test ----

// The triangle that a ray meets first on one of its sides.
struct Nearest {
	float t;
	uint place; // NOTHING: none
	bool back;
};
const uint NOTHING = ~0u;

int compare_points(vec3 p, vec3 q)
{
	for (int k = 0; k < 3; k++) {
		if (p[k] != q[k])
			return p[k] < q[k] ? -1 : 1;
	}
	return 0;
}

// cr_triangle_precedes.
bool precedes(Floats blocks, uint place, uint other)
{
	uint lowest[2] = { 0, 0 };
	for (uint k = 1; k < 3; k++) {
		if (compare_points(corner_of(blocks, place, k), corner_of(blocks, place, lowest[0])) < 0)
			lowest[0] = k;
		if (compare_points(corner_of(blocks, other, k), corner_of(blocks, other, lowest[1])) < 0)
			lowest[1] = k;
	}
	for (uint k = 0; k < 3; k++) {
		const int order = compare_points(
			corner_of(blocks, place, (lowest[0] + k) % 3), corner_of(blocks, other, (lowest[1] + k) % 3));
		if (order != 0)
			return order < 0;
	}
	const uint number = place / 8 * BLOCK_WORDS + BLOCK_NUMBERS + place % 8;
	return floatBitsToInt(blocks.at[number]) <
		floatBitsToInt(blocks.at[other / 8 * BLOCK_WORDS + BLOCK_NUMBERS + other % 8]);
}

// keep_nearest of bvh_kernels.c. turned: the hit is one of the turned ray.
void keep(Floats blocks, inout Nearest best, float t, uint place, bool back, bool turned)
{
	if (t > best.t)
		return;
	if (t == best.t && best.place != NOTHING) {
		const bool leaving = back != turned, best_leaving = best.back != turned;
		if (leaving != best_leaving ? !leaving : !precedes(blocks, place, best.place))
			return;
	}
	best = Nearest(t, place, back);
}

bool comes_before(dvec3 p, dvec3 q) { return p.x != q.x ? p.x < q.x : p.y != q.y ? p.y < q.y : p.z < q.z; }

// meet_edge of geom/triangle.c; in double.
double meet_edge(dvec3 first, dvec3 second)
{
	const bool turned = comes_before(second, first);
	const dvec3 p = turned ? second : first, q = turned ? first : second;
	precise double dx = p.x - q.x, dy = p.y - q.y;
	precise double over_x = p.x / dx, over_y = p.y / dy;
	const double s = abs(dx) >= abs(dy) ? over_x : over_y;
	precise double t = p.z + s * (q.z - p.z);
	return t;
}

double meet_triangle(dvec3 a, dvec3 b, dvec3 c, double u, double v, double w)
{
	if (v == 0 && w == 0)
		return a.z;
	if (w == 0 && u == 0)
		return b.z;
	if (u == 0 && v == 0)
		return c.z;
	if (u == 0)
		return meet_edge(b, c);
	if (v == 0)
		return meet_edge(c, a);
	if (w == 0)
		return meet_edge(a, b);
	precise double t = ((u * a.z + v * b.z) + w * c.z) / ((u + v) + w);
	return t;
}

bool parts(double u, double v, double w) { return min(min(u, v), w) < 0 && max(max(u, v), w) > 0; }

// The line turned round.
dvec3 turn(dvec3 p) { return dvec3(p.y, p.x, -p.z); }

// A triangle of which a float edge function is 0: watertight_double.
void meet_on_edge(Floats blocks, uint place, dvec3 a, dvec3 b, dvec3 c, inout Nearest ahead, inout Nearest behind)
{
	precise double u = c.x * b.y - c.y * b.x;
	precise double v = a.x * c.y - a.y * c.x;
	precise double w = b.x * a.y - b.y * a.x;
	precise double determinant = (u + v) + w;
	if (parts(u, v, w) || determinant == 0)
		return;
	const float t = float(rounded(meet_triangle(a, b, c, u, v, w)));
	if (t >= 0 && t <= ahead.t)
		keep(blocks, ahead, t, place, determinant < 0, false);
	const float back = float(rounded(meet_triangle(turn(a), turn(b), turn(c), -u, -v, -w)));
	if (back > 0 && back <= behind.t)
		keep(blocks, behind, back, place, determinant < 0, true);
}

// Where a triangle is seen so nearly edge-on that rounding alone decides, the finding of the processor
// depends on which triangles it looks at.
const double GRAZING = 3.814697265625e-6LF; // 2^-18

// Test a triangle; ahead and behind hold the nearest ones on both sides of the origin. behind.t is
// below 0 where only the ray counts.
void meet(Floats blocks, uint place, inout Nearest ahead, inout Nearest behind)
{
	double reach = 0;
	const dvec3 a = shear(corner_of(blocks, place, 0), reach);
	const dvec3 b = shear(corner_of(blocks, place, 1), reach);
	const dvec3 c = shear(corner_of(blocks, place, 2), reach);
	const double u = subtract(multiply(c.x, b.y), multiply(c.y, b.x));
	const double v = subtract(multiply(a.x, c.y), multiply(a.y, c.x));
	const double w = subtract(multiply(b.x, a.y), multiply(b.y, a.x));
	if (parts(u, v, w))
		return;
	if (u == 0 || v == 0 || w == 0) {
		meet_on_edge(blocks, place, a, b, c, ahead, behind);
		return;
	}
	const double determinant = add(add(u, v), w);
	const double t = divide(add(add(multiply(u, a.z), multiply(v, b.z)), multiply(w, c.z)), determinant);
	const double size = max(max(max(abs(a.x), abs(a.y)), max(abs(b.x), abs(b.y))), max(abs(c.x), abs(c.y)));
	precise double least = GRAZING * reach * size;
	doubt = doubt || abs(determinant) < least;
	if (t >= 0 && float(t) <= ahead.t)
		keep(blocks, ahead, float(t), place, determinant < 0, false);
	if (t < 0 && float(-t) <= behind.t)
		keep(blocks, behind, float(-t), place, determinant < 0, true);
}
