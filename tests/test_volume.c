// Basic volumes: analytic cases, and what must hold for any input: moved by its depth a pair just separates, the order of the
// two and the place of the scene do not matter.
#include "fixture.h"

#include "geom/box.h"
#include "geom/triangle.h"
#include "geom/volume.h"

#include <math.h>

static carom_shape sphere(double r) { return (carom_shape){ .type = CAROM_SPHERE, .radius = r }; }
static carom_shape box(double x, double y, double z) { return (carom_shape){ .type = CAROM_BOX, .half_extents = { x, y, z } }; }
static carom_shape capsule(double r, double half)
{
	return (carom_shape){ .type = CAROM_CAPSULE, .radius = r, .half_length = half };
}
static carom_shape plane(void) { return (carom_shape){ .type = CAROM_PLANE }; }

static carom_pose at(double x, double y, double z) { return (carom_pose){ { x, y, z }, { 0, 0, 0, 1 } }; }

// Turned by an angle about an axis.
static carom_pose turned(double x, double y, double z, v3d axis, double angle)
{
	double s = sin(angle / 2);
	return (carom_pose){ { x, y, z }, { axis.x * s, axis.y * s, axis.z * s, cos(angle / 2) } };
}

static v3d random_point(uint64_t *state, double size)
{
	double x = test_random_double(state, -size, size), y = test_random_double(state, -size, size);
	return (v3d){ x, y, test_random_double(state, -size, size) };
}

static carom_pose random_pose(uint64_t *state, double size)
{
	v3d p = random_point(state, size), axis = v3d_normalize(random_point(state, 1));
	return turned(p.x, p.y, p.z, axis, test_random_double(state, -3, 3));
}

static carom_shape random_shape(uint64_t *state, int type)
{
	double a = test_random_double(state, 0.2, 1), b = test_random_double(state, 0.2, 1), c = test_random_double(state, 0.2, 1);
	return type == 0 ? sphere(a)
		: type == 1  ? capsule(a * 0.5, test_random(state) % 8 ? b : 0)
		: type == 2  ? box(a, b, c)
					 : plane();
}

static carom_pose compose(carom_pose outer, carom_pose inner)
{
	carom_quat p = outer.orientation, q = inner.orientation;
	return (carom_pose){ carom_transform_point(outer, inner.position),
		{ p.w * q.x + p.x * q.w + p.y * q.z - p.z * q.y, p.w * q.y - p.x * q.z + p.y * q.w + p.z * q.x,
			p.w * q.z + p.x * q.y - p.y * q.x + p.z * q.w, p.w * q.w - p.x * q.x - p.y * q.y - p.z * q.z } };
}

static int deepest_of(const cr_volume_contact *c, int count)
{
	int deepest = 0;
	for (int i = 1; i < count; i++) {
		if (c[i].depth > c[deepest].depth)
			deepest = i;
	}
	return deepest;
}

static void check_contact(const cr_volume_contact *c, v3d point, v3d normal, double depth)
{
	CHECK_NEAR(v3d_length(v3d_sub(c->point, point)), 0, 1e-9);
	CHECK_NEAR(v3d_length(v3d_sub(c->normal, normal)), 0, 1e-9);
	CHECK_NEAR(c->depth, depth, 1e-9);
}

TEST(volume, spheres)
{
	carom_shape a = sphere(1), b = sphere(2);
	carom_pose pa = at(0, 0, 2.5), pb = at(0, 0, 0);
	cr_volume_contact c[8];
	CHECK_INT(cr_volume_contacts(&a, &pa, &b, &pb, 0, c), 1);
	check_contact(c, (v3d){ 0, 0, 1.5 }, (v3d){ 0, 0, 1 }, 0.5);
	pa = at(0, 0, 3.25);
	CHECK_INT(cr_volume_contacts(&a, &pa, &b, &pb, 0.2, c), 0);
	CHECK_INT(cr_volume_contacts(&a, &pa, &b, &pb, 0.3, c), 1);
	check_contact(c, (v3d){ 0, 0, 2.25 }, (v3d){ 0, 0, 1 }, -0.25);
	CHECK_INT(cr_volume_contacts(&a, &pb, &b, &pb, 0, c), 1); // same centre
	CHECK_NEAR(c[0].depth, 3, 1e-12);
	CHECK_NEAR(v3d_length(c[0].normal), 1, 1e-12);
	carom_pose far_a = at(1e9, 0, 2.5), far_b = at(1e9, 0, 0);
	CHECK_INT(cr_volume_contacts(&a, &far_a, &b, &far_b, 0, c), 1);
	CHECK_NEAR(c[0].depth, 0.5, 0);
}

TEST(volume, with_plane)
{
	carom_shape ground = plane(), ball = sphere(1), cube = box(1, 2, 3), pill = capsule(0.5, 2);
	carom_pose floor = at(7, 8, 10), pose = at(0, 0, 10.75);
	cr_volume_contact c[8];
	CHECK_INT(cr_volume_contacts(&ball, &pose, &ground, &floor, 0, c), 1);
	check_contact(c, (v3d){ 0, 0, 9.75 }, (v3d){ 0, 0, 1 }, 0.25);
	CHECK_INT(cr_volume_contacts(&ground, &floor, &ball, &pose, 0, c), 1); // the plane as A: its deepest point lies on it
	check_contact(c, (v3d){ 0, 0, 10 }, (v3d){ 0, 0, -1 }, 0.25);
	pose = at(0, 0, 12.5);
	CHECK_INT(cr_volume_contacts(&cube, &pose, &ground, &floor, 0, c), 4);
	for (int i = 0; i < 4; i++)
		CHECK_NEAR(c[i].depth, 0.5, 1e-12);
	pose = at(0, 0, 6.5);
	CHECK_INT(cr_volume_contacts(&cube, &pose, &ground, &floor, 0, c), 8); // all of it below
	pose = turned(0, 0, 10.25, (v3d){ 1, 0, 0 }, acos(-1.0) / 2);
	CHECK_INT(cr_volume_contacts(&pill, &pose, &ground, &floor, 0, c), 2); // lying
	CHECK_NEAR(c[0].depth, 0.25, 1e-12);
	CHECK_NEAR(c[1].depth, 0.25, 1e-12);
	CHECK_NEAR(fabs(c[0].point.y - c[1].point.y), 4, 1e-12);
	pose = at(0, 0, 12.25);
	CHECK_INT(cr_volume_contacts(&pill, &pose, &ground, &floor, 0, c), 1); // standing
	check_contact(c, (v3d){ 0, 0, 9.75 }, (v3d){ 0, 0, 1 }, 0.25);
	CHECK_INT(cr_volume_contacts(&ground, &pose, &ground, &floor, 1, c), 0);
}

TEST(volume, box_box_known)
{
	carom_shape a = box(1, 1, 1), b = box(2, 2, 1);
	carom_pose pa = at(0, 0, 1.9), pb = at(0, 0, 0);
	cr_volume_contact c[8];
	CHECK_INT(cr_volume_contacts(&a, &pa, &b, &pb, 0, c), 4); // stacked
	for (int i = 0; i < 4; i++) {
		CHECK_NEAR(c[i].depth, 0.1, 1e-12);
		CHECK_NEAR(c[i].normal.z, 1, 1e-12);
		CHECK_NEAR(fabs(c[i].point.x), 1, 1e-12);
		CHECK_NEAR(c[i].point.z, 0.9, 1e-12);
	}
	carom_shape d = box(1.2, 1.2, 1);
	pa = turned(0, 0, 1.9, (v3d){ 0, 0, 1 }, acos(-1.0) / 4);
	CHECK_INT(cr_volume_contacts(&d, &pa, &d, &pb, 0, c), 8); // an octagon
	pa = at(0, 0, 2);                                         // touching
	CHECK_INT(cr_volume_contacts(&a, &pa, &b, &pb, 0, c), 4);
	CHECK_NEAR(c[0].depth, 0, 1e-12);
	pa = at(0, 0, 2.1);
	CHECK_INT(cr_volume_contacts(&a, &pa, &b, &pb, 0.05, c), 0);
	CHECK_INT(cr_volume_contacts(&a, &pa, &b, &pb, 0.2, c), 4);
	CHECK_NEAR(c[0].depth, -0.1, 1e-12);
	CHECK(cr_volume_contacts(&a, &pb, &a, &pb, 0, c) >= 1); // the same place
	CHECK_NEAR(c[0].depth, 2, 1e-12);
	// Two edges crossed at right angles, 0.1 deep: one contact halfway, straight up.
	double r = sqrt(2), quarter = acos(-1.0) / 4;
	carom_pose lower = turned(0, 0, 0, (v3d){ 1, 0, 0 }, quarter), upper = turned(0, 0, 2 * r - 0.1, (v3d){ 0, 1, 0 }, quarter);
	CHECK_INT(cr_volume_contacts(&a, &upper, &a, &lower, 0, c), 1);
	check_contact(c, (v3d){ 0, 0, r - 0.1 }, (v3d){ 0, 0, 1 }, 0.1);
	// Corner to corner, apart along the diagonal: no axis of the boxes points that way.
	carom_pose corner = at(2.1, 2.1, 2.1);
	CHECK_INT(cr_volume_contacts(&a, &corner, &a, &pb, 0.15, c), 0);
	CHECK_INT(cr_volume_contacts(&a, &corner, &a, &pb, 0.2, c), 1);
	double s = 1 / sqrt(3);
	check_contact(c, (v3d){ 1.1, 1.1, 1.1 }, (v3d){ s, s, s }, -0.1 * sqrt(3));
}

TEST(volume, capsule_box_known)
{
	carom_shape pill = capsule(0.5, 1), cube = box(2, 2, 2), flat = box(0.3, 2, 2);
	double right = acos(-1.0) / 2;
	carom_pose origin = at(0, 0, 0), pose = turned(0, 0, 2.4, (v3d){ 0, 1, 0 }, right);
	cr_volume_contact c[8];
	CHECK_INT(cr_volume_contacts(&pill, &pose, &cube, &origin, 0, c), 2); // lying on a face
	for (int i = 0; i < 2; i++) {
		CHECK_NEAR(c[i].depth, 0.1, 1e-9);
		CHECK_NEAR(c[i].normal.z, 1, 1e-9);
		CHECK_NEAR(fabs(c[i].point.x), 1, 1e-9);
		CHECK_NEAR(c[i].point.z, 1.9, 1e-9);
	}
	pose = turned(1.7, 0, 2.4, (v3d){ 0, 1, 0 }, right); // hanging over
	CHECK_INT(cr_volume_contacts(&pill, &pose, &cube, &origin, 0, c), 2);
	CHECK_NEAR(c[0].depth, 0.1, 1e-9);
	CHECK_NEAR(c[1].depth, 0.1, 1e-9);
	pose = at(0, 0, 3.4); // standing
	CHECK_INT(cr_volume_contacts(&pill, &pose, &cube, &origin, 0, c), 1);
	check_contact(c, (v3d){ 0, 0, 1.9 }, (v3d){ 0, 0, 1 }, 0.1);
	pose = turned(0.2, 0, 0, (v3d){ 0, 1, 0 }, 0); // upright inside a plate: out through the near side
	CHECK_INT(cr_volume_contacts(&pill, &pose, &flat, &origin, 0, c), 2);
	CHECK_NEAR(c[0].depth, 0.6, 1e-9);
	CHECK_NEAR(c[0].normal.x, 1, 1e-9);
	CHECK_INT(cr_volume_contacts(&pill, &origin, &cube, &origin, 0, c) >= 1, 1); // same centre
	CHECK_NEAR(c[deepest_of(c, 1)].depth, 2.5, 1e-9);
	pose = at(2.3, 2.4, 0); // along an edge
	CHECK_INT(cr_volume_contacts(&pill, &pose, &cube, &origin, 0.1, c), 2);
	CHECK_NEAR(c[0].depth, 0, 1e-9);
	CHECK_NEAR(c[0].normal.x, 0.6, 1e-9);
	CHECK_NEAR(c[0].normal.y, 0.8, 1e-9);
	CHECK_NEAR(fabs(c[0].point.z - c[1].point.z), 2, 1e-9);
}

TEST(volume, capsules_known)
{
	carom_shape a = capsule(0.5, 1), point = capsule(0.5, 0);
	carom_pose o = at(0, 0, 0), pose = at(0.8, 0, 0.5);
	double right = acos(-1.0) / 2;
	cr_volume_contact c[8];
	CHECK_INT(cr_volume_contacts(&a, &pose, &a, &o, 0, c), 2); // side by side
	check_contact(&c[0], (v3d){ 0.3, 0, -0.5 }, (v3d){ 1, 0, 0 }, 0.2);
	check_contact(&c[1], (v3d){ 0.3, 0, 1 }, (v3d){ 1, 0, 0 }, 0.2);
	pose = turned(0.8, 0, 0, (v3d){ 1, 0, 0 }, right); // crossed
	CHECK_INT(cr_volume_contacts(&a, &pose, &a, &o, 0, c), 1);
	check_contact(c, (v3d){ 0.3, 0, 0 }, (v3d){ 1, 0, 0 }, 0.2);
	pose = turned(0, 0, 0, (v3d){ 1, 0, 0 }, right); // axes meet
	CHECK_INT(cr_volume_contacts(&a, &pose, &a, &o, 0, c), 1);
	CHECK_NEAR(c[0].depth, 1, 1e-9);
	CHECK_NEAR(fabs(c[0].normal.x), 1, 1e-9);
	pose = at(0, 0, 2.75); // end to end
	CHECK_INT(cr_volume_contacts(&a, &pose, &a, &o, 0, c), 1);
	check_contact(c, (v3d){ 0, 0, 1.25 }, (v3d){ 0, 0, 1 }, 0.25);
	CHECK_INT(cr_volume_contacts(&a, &o, &a, &o, 0, c), 2); // the same place
	CHECK_NEAR(c[0].depth, 1, 1e-9);
	CHECK_NEAR(c[0].normal.z, 0, 1e-9);
	CHECK_INT(cr_volume_contacts(&point, &o, &point, &o, 0, c), 1);
	CHECK_NEAR(c[0].depth, 1, 1e-9);
	CHECK_INT(cr_volume_contacts(&point, &o, &a, &o, 0, c), 1);
	CHECK_NEAR(c[0].depth, 1, 1e-9);
	CHECK_NEAR(c[0].normal.z, 0, 1e-9);
}

// Moving A by the greatest depth along its normal parts the pair and less does not; swapped and moved scenes agree.
static void check_pair(uint64_t *state, int type_a, int type_b)
{
	carom_shape a = random_shape(state, type_a), b = random_shape(state, type_b);
	carom_pose pa = random_pose(state, 1), pb = random_pose(state, 1);
	int alike = (int)(test_random(state) % 4); // resting poses are parallel ones
	if (alike == 0)
		pa.orientation = pb.orientation;
	if (alike == 1)
		pa = compose(pb, at(0.1, 0.2, 0.3));
	double margin = 0.3, gap = cr_volume_gap(&a, &pa, &b, &pb);
	// A box prefers a face to an edge that is better by less than a thousandth of its size.
	double bias = type_a == 2 && type_b == 2 ? 1.1e-3 : 0, tiny = 1e-7;
	cr_volume_contact c[8], other[8];
	int count = cr_volume_contacts(&a, &pa, &b, &pb, margin, c);
	CHECK(count <= CR_MAX_VOLUME_CONTACTS);
	if (fabs(gap - margin) > tiny)
		CHECK_INT(count > 0, gap < margin);
	if (count == 0)
		return;
	const cr_volume_contact *deep = &c[deepest_of(c, count)];
	for (int i = 0; i < count; i++) {
		CHECK_NEAR(v3d_length(c[i].normal), 1, 1e-12);
		CHECK(v3d_length(v3d_sub(c[i].normal, deep->normal)) < (type_a == 1 && type_b == 1 ? 0.8 : 1e-12)); // logs: one an end
		CHECK(c[i].depth >= -margin);
		// The deepest point is one of A's surface; the end of a tilted capsule that is less deep may point into the capsule.
		v3d nearest, normal;
		double distance = cr_volume_distance(&a, carom_inverse_transform_point(pa, c[i].point), &nearest, &normal);
		double tolerance = 1e-5;
		CHECK(distance <= tolerance && (&c[i] != deep || distance >= -tolerance));
	}
	if (gap > tiny)
		CHECK_NEAR(deep->depth, -gap, bias + tiny);
	CHECK(gap > 0 ? deep->depth < tiny : deep->depth > -tiny);
	carom_pose out = pa;
	out.position = v3d_mad(pa.position, deep->depth + tiny, deep->normal);
	CHECK(cr_volume_gap(&a, &out, &b, &pb) > 0 || deep->depth < 0);
	out.position = v3d_mad(pa.position, deep->depth - bias - tiny, deep->normal);
	// Boxes apart whose nearest features are edges may be given a face's direction, a little off the line between them.
	CHECK_NEAR(cr_volume_gap(&a, &out, &b, &pb), 0, bias > 0 ? 0.05 * gap : 0);
	if (deep->depth > 0.01) { // and no other direction gets out with less
		for (int i = 0; i < 10; i++) {
			v3d n = v3d_normalize(i < 5 ? random_point(state, 1) : v3d_add(deep->normal, random_point(state, 0.1)));
			out.position = v3d_mad(pa.position, deep->depth - bias - tiny, n);
			CHECK_NEAR(cr_volume_gap(&a, &out, &b, &pb), 0, 0);
		}
	}
	// Exchanged.
	int swapped = cr_volume_contacts(&b, &pb, &a, &pa, margin, other);
	CHECK(swapped > 0);
	CHECK_NEAR(other[deepest_of(other, swapped)].depth, deep->depth, bias + tiny);
	if (alike >= 2) { // parallel things may leave several ways
		v3d sum = v3d_add(other[deepest_of(other, swapped)].normal, deep->normal);
		CHECK_NEAR(v3d_length(sum), 0, type_a == 2 && type_b == 2 ? 1e-2 : 1e-6);
		CHECK_INT(swapped, count);
	}
	// The whole scene turned and moved.
	carom_pose scene = random_pose(state, 5), qa = compose(scene, pa), qb = compose(scene, pb);
	int again = cr_volume_contacts(&a, &qa, &b, &qb, margin, other);
	CHECK(again > 0);
	CHECK_NEAR(other[deepest_of(other, again)].depth, deep->depth, bias + tiny);
	if (alike >= 2)
		CHECK_INT(again, count);
}

// A box that lies on another one and is turned against it by a little: its lowest corner may lie beside the patch.
TEST(volume, boxes_have_no_contacts_beside_them)
{
	uint64_t state = 23;
	for (int i = 0; i < 4000; i++) {
		const double tilt = pow(10, test_random_double(&state, -9, -3)), yaw = test_random_double(&state, -3, 3);
		const v3d axis = { test_random_double(&state, -1, 1), test_random_double(&state, -1, 1), 0 };
		const carom_shape a = box(1, 0.5, 0.2), b = box(0.5, 0.5, 0.5);
		carom_pose pa = at(0, 0, 0), pb = at(test_random_double(&state, -1, 1), test_random_double(&state, -0.8, 0.8), 0.699);
		pb.orientation = quat_mul(fixture_turn(axis, tilt), fixture_turn((v3d){ 0, 0, 1 }, yaw));
		cr_volume_contact c[8];
		const int count = i % 2 ? cr_volume_contacts(&a, &pa, &b, &pb, 0.01, c) : cr_volume_contacts(&b, &pb, &a, &pa, 0.01, c);
		CHECK(count > 0);
		for (int k = 0; k < count; k++) {
			v3d nearest, normal;
			CHECK(cr_volume_distance(&a, carom_inverse_transform_point(pa, c[k].point), &nearest, &normal) < 2e-3);
			CHECK(cr_volume_distance(&b, carom_inverse_transform_point(pb, c[k].point), &nearest, &normal) < 2e-3);
		}
	}
}

TEST(volume, contacts_random)
{
	uint64_t state = 81;
	for (int i = 0; i < 30000; i++) {
		int type_a = i % 4, type_b = i / 4 % 4, failures = test_failures();
		if (type_a == 3 && type_b == 3)
			continue;
		check_pair(&state, type_a, type_b);
		if (test_failures() == failures)
			continue;
		test_check_int(i, -1, "round of types i % 4, i / 4 % 4", __FILE__, __LINE__);
		return;
	}
}

// Nearest distance by sampling one volume's axis, edges or centre against the exact distance of the other.
TEST(volume, gap_by_samples)
{
	uint64_t state = 82;
	for (int i = 0; i < 300; i++) {
		carom_shape a = random_shape(&state, i % 3), b = random_shape(&state, i / 3 % 3);
		carom_pose pa = random_pose(&state, 2), pb = random_pose(&state, 2);
		double gap = cr_volume_gap(&a, &pa, &b, &pb), best = INFINITY;
		CHECK_NEAR(cr_volume_gap(&b, &pb, &a, &pa), gap, 1e-12);
		for (int k = 0; k < 20000; k++) { // points of the solid A: clamped from around it, so many lie on edges and corners
			v3d p = random_point(&state, 2), nearest, normal, ignored;
			double d = cr_volume_distance(&a, p, &nearest, &normal);
			if (d < 0)
				nearest = p;
			v3d q = carom_inverse_transform_point(pb, carom_transform_point(pa, nearest));
			best = fmin(best, cr_volume_distance(&b, q, &nearest, &ignored));
		}
		CHECK(gap <= fmax(best, 0) + 1e-12);
		CHECK_NEAR(gap, fmax(best, 0), 0.06);
	}
	carom_shape p = plane();
	carom_pose up = at(0, 0, 0), down = turned(0, 0, 2, (v3d){ 1, 0, 0 }, acos(-1.0)),
			   below = turned(0, 0, -2, (v3d){ 1, 0, 0 }, acos(-1.0));
	CHECK_NEAR(cr_volume_gap(&p, &up, &p, &down), 2, 1e-12);
	CHECK_NEAR(cr_volume_gap(&p, &up, &p, &below), 0, 0);
	CHECK_NEAR(cr_volume_gap(&p, &up, &p, &up), 0, 0);
}

TEST(volume, distance)
{
	uint64_t state = 83;
	for (int i = 0; i < 20000; i++) {
		carom_shape shape = random_shape(&state, i % 4);
		v3d p = random_point(&state, 2), nearest, normal, again, ignored;
		if (i % 16 < 4)
			p = (v3d){ 0, 0, i % 32 < 4 ? 0 : p.z }; // on the axis
		double d = cr_volume_distance(&shape, p, &nearest, &normal);
		CHECK_NEAR(v3d_length(normal), 1, 1e-12);
		CHECK_NEAR(v3d_length(v3d_sub(p, v3d_mad(nearest, d, normal))), 0, 1e-12); // p = nearest + d normal
		CHECK_NEAR(cr_volume_distance(&shape, nearest, &again, &ignored), 0, 1e-12);
		// The ball about p of that radius has no point of the surface inside.
		for (int k = 0; k < 5; k++) {
			v3d q = v3d_mad(p, 0.999 * fabs(d), v3d_normalize(random_point(&state, 1)));
			double other = cr_volume_distance(&shape, q, &again, &ignored);
			CHECK(d == 0 || (other > 0) == (d > 0));
		}
	}
	carom_shape cube = box(1, 2, 3);
	v3d nearest, normal;
	CHECK_NEAR(cr_volume_distance(&cube, (v3d){ 0, 0, 0 }, &nearest, &normal), -1, 0);
	CHECK_NEAR(cr_volume_distance(&cube, (v3d){ 1, 2, 3 }, &nearest, &normal), 0, 0);
	CHECK_NEAR(v3d_length(normal), 1, 0);
	CHECK_NEAR(cr_volume_distance(&cube, (v3d){ 4, 6, 3 }, &nearest, &normal), 5, 1e-12);
}

TEST(volume, ray)
{
	uint64_t state = 84;
	int crossings = 0;
	for (int i = 0; i < 20000; i++) {
		carom_shape shape = random_shape(&state, i % 4);
		v3d o = random_point(&state, 2), d = random_point(&state, 2), normal[2], nearest, n;
		if (i % 5 == 0)
			d = (v3d){ i % 3 == 0 ? d.x : 0, i % 3 == 1 ? d.y : 0, i % 3 == 2 ? d.z : 0 };
		double t[2], from = test_random_double(&state, -2, 0), to = test_random_double(&state, 0, 3);
		bool back[2];
		int count = cr_volume_ray(&shape, o, d, from, to, t, normal, back);
		CHECK(count >= 0 && count <= 2);
		bool inside = cr_volume_distance(&shape, v3d_mad(o, from, d), &nearest, &n) < 0;
		for (int k = 0; k < count; k++) {
			CHECK(t[k] >= from && t[k] <= to && (k == 0 || t[0] <= t[1]));
			CHECK_NEAR(cr_volume_distance(&shape, v3d_mad(o, t[k], d), &nearest, &n), 0, 1e-9);
			CHECK_NEAR(v3d_length(normal[k]), 1, 1e-12);
			CHECK_INT(back[k], inside);
			CHECK(back[k] ? v3d_dot(normal[k], d) >= -1e-6 : v3d_dot(normal[k], d) <= 1e-6);
			inside = !inside;
		}
		crossings += count;
		CHECK_INT(cr_volume_distance(&shape, v3d_mad(o, to, d), &nearest, &n) < 0, inside);
		// Where the ray says inside or outside, points say the same.
		for (int k = 0; k < 10; k++) {
			double s = test_random_double(&state, from, to);
			double depth = cr_volume_distance(&shape, v3d_mad(o, s, d), &nearest, &n);
			int passed = (count > 0 && s > t[0]) + (count > 1 && s > t[1]);
			bool in = count == 0 ? inside : passed == 0 ? back[0] : passed == 1 ? !back[0] : back[0];
			CHECK(fabs(depth) < 1e-9 || (depth < 0) == in);
		}
	}
	CHECK(crossings > 3000);
	carom_shape ball = sphere(1);
	double t[2];
	v3d normal[2];
	bool back[2];
	CHECK_INT(cr_volume_ray(&ball, (v3d){ -3, 0, 0 }, (v3d){ 2, 0, 0 }, 0, 10, t, normal, back), 2);
	CHECK_NEAR(t[0], 1, 1e-15);
	CHECK_NEAR(t[1], 2, 1e-15);
	CHECK(!back[0] && back[1]);
	CHECK_NEAR(normal[0].x, -1, 1e-15);
	CHECK_INT(cr_volume_ray(&ball, (v3d){ 0, 0, 0 }, (v3d){ 0, 0, 0 }, 0, 10, t, normal, back), 0);
	CHECK_INT(cr_volume_ray(&ball, (v3d){ -1e8, 0.5, 0 }, (v3d){ 1, 0, 0 }, 0, 1e9, t, normal, back), 2); // from far away
	CHECK_NEAR(t[1] - t[0], sqrt(3), 1e-6);
}

TEST(volume, bounds)
{
	carom_shape shapes[4] = { sphere(2), capsule(1, 3), box(1, 2, 3), plane() };
	v3d expected[4] = { { 2, 2, 2 }, { 1, 1, 4 }, { 1, 2, 3 }, { INFINITY, INFINITY, INFINITY } };
	for (int i = 0; i < 4; i++) {
		carom_aabb b = cr_volume_bounds(&shapes[i]);
		CHECK(b.upper.x == expected[i].x && b.upper.y == expected[i].y && b.upper.z == expected[i].z);
		CHECK(b.lower.x == -expected[i].x && b.lower.y == -expected[i].y && b.lower.z == -expected[i].z);
	}
}

// ---- Capsules along each other ----

// Capsules at a small angle, a little apart or in each other: one lies upon the other along x, turned about z, tilted and shifted.
typedef struct logs {
	carom_shape a, b;
	carom_pose pa, pb;
} logs;

static logs random_logs(uint64_t *state, double angle)
{
	const double turn = test_random_double(state, -angle, angle), tilt = test_random_double(state, -angle, angle) / 20;
	logs l = { .b = capsule(test_random_double(state, 0.1, 0.3), test_random_double(state, 0.3, 1)),
		.pb = turned(0, 0, 0, (v3d){ 0, 1, 0 }, acos(-1) / 2) };
	l.a = capsule(test_random_double(state, 0.1, 0.3), test_random_double(state, 0.3, 1));
	const double sum = l.a.radius + l.b.radius, up = sum + test_random_double(state, -0.01, 0.01),
				 x = test_random_double(state, -0.6, 0.6);
	const carom_pose about = compose(turned(x, 0, up, (v3d){ 0, 0, 1 }, turn), turned(0, 0, 0, (v3d){ 0, 1, 0 }, tilt));
	l.pa = compose(about, l.pb);
	if (test_random(state) % 2)
		l.pa = compose(l.pa, turned(0, 0, 0, (v3d){ 1, 0, 0 }, acos(-1))); // the other way round
	return l;
}

// The depth at a point of A's axis, by its distance from B's axis; where it lies along B's axis.
static double depth_at(const logs *l, double s, double *along)
{
	const carom_vec3 world = carom_transform_point(l->pa, (carom_vec3){ 0, 0, s * l->a.half_length });
	const carom_vec3 p = carom_inverse_transform_point(l->pb, world);
	const double h = l->b.half_length, z = p.z < -h ? -h : p.z > h ? h : p.z;
	*along = p.z;
	return l->a.radius + l->b.radius - sqrt(p.x * p.x + p.y * p.y + (p.z - z) * (p.z - z));
}

// The depths at many points of A's axis: the greatest, and those of the ends of the part beside B.
static double sample(const logs *l, double ends[2], double places[2])
{
	enum { SAMPLES = 20000 };
	double deepest = -INFINITY, along;
	bool any = false;
	for (int i = 0; i <= SAMPLES; i++) {
		const double depth = depth_at(l, 2.0 * i / SAMPLES - 1, &along);
		deepest = fmax(deepest, depth);
		if (fabs(along) > l->b.half_length)
			continue;
		if (!any)
			ends[0] = depth, places[0] = along;
		ends[1] = depth, places[1] = along;
		any = true;
	}
	return any ? deepest : NAN;
}

static bool reaches(const logs *l, const cr_volume_contact *c, int count, double place)
{
	bool found = false;
	for (int i = 0; i < count; i++) {
		const carom_vec3 p = carom_inverse_transform_point(l->pb, (carom_vec3){ c[i].point.x, c[i].point.y, c[i].point.z });
		found = found || fabs(p.z - place) < 0.01;
	}
	return found;
}

TEST(volume, capsules_lie_along_each_other)
{
	static const double angles[] = { 0, 1e-4, 2e-3, 0.01, 0.05, 0.15 };
	uint64_t state = 3;
	int lying = 0;
	for (int i = 0; i < 600; i++) {
		const double margin = i % 2 ? 0.02 : 0;
		const logs l = random_logs(&state, angles[i % 6]);
		double ends[2] = { -1, -1 }, places[2] = { 0, 0 };
		const double deepest = sample(&l, ends, places);
		cr_volume_contact c[CR_MAX_VOLUME_CONTACTS];
		const int count = cr_volume_contacts(&l.a, &l.pa, &l.b, &l.pb, margin, c);
		if (isnan(deepest) || fabs(places[1] - places[0]) < 0.05 || fabs(deepest + margin) < 1e-6)
			continue;
		CHECK((count > 0) == (deepest >= -margin));
		double most = -INFINITY;
		for (int k = 0; k < count; k++) {
			// By its own contact each point comes to the surface of B; at an end of B that is a ball.
			const v3d out = v3d_mad(c[k].point, c[k].depth, c[k].normal);
			const carom_vec3 p = carom_inverse_transform_point(l.pb, (carom_vec3){ out.x, out.y, out.z });
			CHECK_NEAR(hypot(p.x, p.y), l.b.radius, 1e-4 + 0.02 * angles[i % 6] * angles[i % 6]);
			most = fmax(most, c[k].depth);
		}
		CHECK(count == 0 || fabs(most - deepest) < 1e-6);
		if (ends[0] < -margin || ends[1] < -margin)
			continue;
		CHECK(count >= 2);
		CHECK(reaches(&l, c, count, places[0]) && reaches(&l, c, count, places[1]));
		lying++;
	}
	CHECK(lying > 100);
}
