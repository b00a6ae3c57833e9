/// Basic volumes against meshes: analytic answers on boxes and spheres, brute force on tori, no ghost contacts on flat ground.
#include "geom/triangle.h"
#include "manifold_fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/// One volume and one mesh body; the volume is moved about.
typedef struct duo {
	carom_context *context;
	carom_world *world;
	carom_mesh *mesh;
	carom_body_id volume;
	carom_body_id target;
} duo;

/// Takes over the mesh, which was made from the context.
static void open_duo(duo *d, carom_context *context, carom_mesh *mesh, carom_shape volume, bool volume_first, double speculative)
{
	*d = (duo){ .context = context, .mesh = mesh };
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	def.speculative_distance = speculative;
	d->world = fixture_world(context, &def);
	const carom_body_kind kind = volume.type == CAROM_PLANE ? CAROM_STATIC : CAROM_DYNAMIC;
	if (volume_first)
		d->volume = fixture_add(d->world, volume, carom_pose_identity(), kind);
	d->target = fixture_add(d->world, fixture_of_mesh(mesh), carom_pose_identity(), CAROM_DYNAMIC);
	if (!volume_first)
		d->volume = fixture_add(d->world, volume, carom_pose_identity(), kind);
}

static void close_duo(duo *d)
{
	carom_destroy_world(d->world);
	carom_release_mesh(d->mesh);
	carom_destroy_context(d->context);
}

static carom_contact_view collide(duo *d, carom_pose volume, carom_pose target)
{
	REQUIRE(carom_world_set_pose(d->world, d->volume, &volume) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_pose(d->world, d->target, &target) == CAROM_SUCCESS);
	fixture_step(d->world);
	fixture_check_views(d->world);
	return carom_world_contacts(d->world);
}

/// The direction that takes the volume out, whichever of the two is A.
static v3d way_out(const duo *d, const carom_contact *c)
{
	return fixture_same_id(c->body_a, d->volume) ? fixture_normal(c) : v3d_neg(fixture_normal(c));
}

static v3d to_v3d(carom_vec3 v) { return (v3d){ v.x, v.y, v.z }; }

TEST(volume_pair, sphere_on_a_box_mesh)
{
	for (int first = 0; first < 2; first++) {
		duo d;
		carom_context *context = fixture_context(1);
		open_duo(&d, context, fixture_box_mesh(context, 1, 1, 1), fixture_sphere(0.5), first, 0);
		uint64_t seed = 3;
		for (int i = 0; i < 300; i++) {
			const double x = test_random_double(&seed, -1, 1), y = test_random_double(&seed, -1, 1),
						 gap = test_random_double(&seed, 0.01, 0.6);
			const carom_pose frame = i == 0 ? carom_pose_identity() : fixture_random_pose(&seed, 10);
			const v3d up = to_v3d(carom_rotate(frame.orientation, (carom_vec3){ 0, 0, 1 }));
			const carom_contact_view c = collide(&d, fixture_compose(frame, fixture_at(x, y, 1 + gap)), frame);
			CHECK_INT(c.count, gap <= 0.5);
			if (c.count != 1)
				continue;
			CHECK_INT(c.data[0].kind, CAROM_VOLUMES);
			CHECK_NEAR(c.data[0].depth, 0.5 - gap, 1e-6);
			CHECK_NEAR(v3d_dot(way_out(&d, &c.data[0]), up), 1, 1e-6);
			// The deepest point of A: of the sphere, or of the box's surface.
			const v3d expected = to_v3d(carom_transform_point(frame, (carom_vec3){ x, y, first ? 0.5 + gap : 1 }));
			CHECK_NEAR(v3d_length(v3d_sub(fixture_point(&c.data[0]), expected)), 0, 1e-6);
		}
		close_duo(&d);
	}
}

TEST(volume_pair, sphere_at_the_edge_and_corner_of_a_box_mesh)
{
	duo d;
	carom_context *context = fixture_context(1);
	open_duo(&d, context, fixture_box_mesh(context, 1, 1, 1), fixture_sphere(0.5), true, 0);
	carom_contact_view c = collide(&d, fixture_at(1.2, 0.3, 1.2), carom_pose_identity());
	CHECK_INT(c.count, 1);
	CHECK_NEAR(c.data[0].depth, 0.5 - 0.2 * sqrt(2), 1e-6);
	CHECK_NEAR(c.data[0].normal[0], sqrt(0.5), 1e-6);
	CHECK_NEAR(c.data[0].normal[2], sqrt(0.5), 1e-6);
	c = collide(&d, fixture_at(1.2, 1.2, 1.2), carom_pose_identity());
	CHECK_INT(c.count, 1);
	CHECK_NEAR(c.data[0].depth, 0.5 - 0.2 * sqrt(3), 1e-6);
	CHECK_NEAR(c.data[0].normal[1], sqrt(1.0 / 3), 1e-6);
	c = collide(&d, fixture_at(1.4, 1.4, 1.4), carom_pose_identity());
	CHECK_INT(c.count, 0);
	close_duo(&d);
}

TEST(volume_pair, sphere_deep_inside_leaves_by_the_nearest_face)
{
	duo d;
	carom_context *context = fixture_context(1);
	open_duo(&d, context, fixture_box_mesh(context, 5, 5, 5), fixture_sphere(0.1), true, 0);
	uint64_t seed = 8;
	for (int i = 0; i < 200; i++) {
		double p[3], least = INFINITY;
		int axis = 0;
		for (int k = 0; k < 3; k++) {
			p[k] = test_random_double(&seed, -4.9, 4.9);
			if (5 - fabs(p[k]) < least) {
				least = 5 - fabs(p[k]);
				axis = k;
			}
		}
		const carom_contact_view c = collide(&d, fixture_at(p[0], p[1], p[2]), carom_pose_identity());
		CHECK_INT(c.count, 1);
		CHECK_NEAR(c.data[0].depth, 0.1 + least, 1e-5);
		CHECK_NEAR(c.data[0].normal[axis], p[axis] > 0 ? 1 : -1, 1e-5);
	}
	close_duo(&d);
}

/// The centre within rounding of the surface, on either side: the way out stays the way out.
TEST(volume_pair, sphere_with_its_centre_at_the_surface)
{
	static const double gaps[] = { 0, 1e-16, 1e-12, 1e-10, 1e-9, 1e-8, 3e-8, 6e-8, 1e-7, 1e-6, 1e-5 };
	duo d;
	carom_context *context = fixture_context(1);
	open_duo(&d, context, fixture_box_mesh(context, 1, 1, 1), fixture_sphere(0.2), true, 0);
	uint64_t seed = 12;
	for (int i = 0; i < 400; i++) {
		const double gap = gaps[test_random(&seed) % 11] * (i % 2 ? 1 : -1);
		const double x = test_random_double(&seed, -0.7, 0.7), y = test_random_double(&seed, -0.7, 0.7);
		const carom_pose frame = i < 100 ? carom_pose_identity() : fixture_random_pose(&seed, 3);
		const v3d up = to_v3d(carom_rotate(frame.orientation, (carom_vec3){ 0, 0, 1 }));
		const carom_contact_view c = collide(&d, fixture_compose(frame, fixture_at(x, y, 1 + gap)), frame);
		REQUIRE(c.count >= 1);
		int wrong = 0;
		for (int32_t k = 0; k < c.count; k++)
			wrong += v3d_dot(fixture_normal(&c.data[k]), up) < 0.99 || fabs(c.data[k].depth - (0.2 - gap)) > 1e-6;
		CHECK_INT(wrong, 0);
		if (wrong) {
			CHECK_NEAR(gap, 0, -1); // prints the gap
			break;
		}
	}
	close_duo(&d);
}

/// No contact at internal edges: anywhere on a flat triangulated ground, closed or open, there is one, straight up.
static void roll(carom_mesh *mesh, carom_context *context, double top, int cells, double size)
{
	duo d;
	open_duo(&d, context, mesh, fixture_sphere(0.5), true, 0);
	uint64_t seed = 21;
	for (int i = 0; i < 600; i++) {
		const double cell = size / cells;
		double p[2];
		for (int k = 0; k < 2; k++) {
			const double snapped = cell * (double)(test_random(&seed) % (uint64_t)(cells - 2)) - size / 2 + cell;
			p[k] = test_random(&seed) % 3 == 0 ? snapped : test_random_double(&seed, -size / 2 + cell, size / 2 - cell);
		}
		if (i % 5 == 0)
			p[1] = p[0]; // along diagonals
		const carom_pose frame = i % 2 ? carom_pose_identity() : fixture_random_pose(&seed, 5);
		const v3d up = to_v3d(carom_rotate(frame.orientation, (carom_vec3){ 0, 0, 1 }));
		const carom_contact_view c = collide(&d, fixture_compose(frame, fixture_at(p[0], p[1], top + 0.45)), frame);
		CHECK_INT(c.count, 1);
		for (int32_t k = 0; k < c.count; k++) {
			CHECK_NEAR(v3d_length(v3d_sub(fixture_normal(&c.data[k]), up)), 0, 1e-6);
			CHECK_NEAR(c.data[k].depth, 0.05, 1e-6);
		}
	}
	close_duo(&d);
}

TEST(volume_pair, sphere_rolls_over_an_open_sheet)
{
	carom_context *context = fixture_context(1);
	roll(fixture_sheet_mesh(context, 10, 10), context, 0, 10, 10);
}

TEST(volume_pair, sphere_rolls_over_a_height_field)
{
	carom_context *context = fixture_context(1);
	static float heights[17 * 17];
	carom_mesh *field = NULL;
	const double spacing[2] = { 1, 1 };
	REQUIRE(carom_create_height_field(context, 17, 17, heights, spacing, 1, &field) == CAROM_SUCCESS);
	duo d;
	open_duo(&d, context, field, fixture_sphere(0.5), true, 0);
	uint64_t seed = 22;
	for (int i = 0; i < 400; i++) {
		const double x = i % 3 ? test_random_double(&seed, 1, 15) : 1 + (double)(test_random(&seed) % 14);
		const double y = i % 4 ? test_random_double(&seed, 1, 15) : 1 + (double)(test_random(&seed) % 14);
		const carom_contact_view c = collide(&d, fixture_at(x, y, 0.4), carom_pose_identity());
		CHECK_INT(c.count, 1);
		for (int32_t k = 0; k < c.count; k++) {
			CHECK_NEAR(c.data[k].normal[2], 1, 1e-6);
			CHECK_NEAR(c.data[k].depth, 0.1, 1e-6);
		}
	}
	close_duo(&d);
}

/// Vertices that floats have moved off their plane make dents and ridges of an ulp. They are no places of their own: a
/// solver that counts contacts as springs would push twice.
TEST(volume_pair, sphere_over_edges_of_a_plane_in_floats)
{
	enum { CELLS = 8 };
	static fixture_soup sheet;
	sheet.vertex_count = sheet.triangle_count = 0;
	fixture_soup_sheet(&sheet, CELLS, 6);
	uint64_t seed = 23;
	const carom_pose tilt = fixture_random_pose(&seed, 1);
	for (int i = 0; i < sheet.vertex_count; i++) {
		float *v = &sheet.vertices[3 * i];
		const carom_vec3 p = carom_transform_point(tilt, (carom_vec3){ v[0], v[1], v[2] });
		v[0] = (float)p.x;
		v[1] = (float)p.y;
		v[2] = (float)p.z;
	}
	duo d;
	carom_context *context = fixture_context(1);
	open_duo(&d, context, fixture_mesh(context, &sheet), fixture_sphere(0.1), true, 0);
	const carom_vec3 up = carom_rotate(tilt.orientation, (carom_vec3){ 0, 0, 1 });
	for (int i = 0; i < 2000; i++) {
		double p[2];
		for (int k = 0; k < 2; k++) {
			const double line = 6.0 / CELLS * (double)(1 + test_random(&seed) % (CELLS - 1)) - 3;
			p[k] = test_random(&seed) % 3 ? line + test_random_double(&seed, -1, 1) * pow(10, test_random_double(&seed, -9, -3))
										  : test_random_double(&seed, -2, 2);
		}
		const carom_vec3 at = carom_transform_point(tilt, (carom_vec3){ p[0], p[1], 0.0992 });
		const carom_contact_view c = collide(&d, fixture_at(at.x, at.y, at.z), carom_pose_identity());
		CHECK_INT(c.count, 1);
		for (int32_t k = 0; k < c.count; k++) {
			CHECK_NEAR(v3d_length(v3d_sub(fixture_normal(&c.data[k]), to_v3d(up))), 0, 1e-5);
			CHECK_NEAR(c.data[k].depth, 0.0008, 2e-6);
		}
	}
	close_duo(&d);
}

/// A corner of a room: every wall that is near pushes.
TEST(volume_pair, sphere_in_a_hollow_corner)
{
	static fixture_soup room;
	room.vertex_count = room.triangle_count = 0;
	fixture_soup_box(&room, (v3d){ 0, 0, 0 }, 1, 1, 1);
	for (int i = 0; i < room.triangle_count; i++) { // the walls look inward; open, or creation would turn them back
		const int32_t k = room.triangles[3 * i];
		room.triangles[3 * i] = room.triangles[3 * i + 1];
		room.triangles[3 * i + 1] = k;
	}
	room.triangle_count -= 2; // without the wall at x = 1
	duo d;
	carom_context *context = fixture_context(1);
	open_duo(&d, context, fixture_mesh(context, &room), fixture_sphere(0.3), true, 0);
	const carom_contact_view c = collide(&d, fixture_at(-0.75, -0.76, -0.77), carom_pose_identity());
	CHECK_INT(c.count, 3);
	double sum[3] = { 0 };
	for (int32_t i = 0; i < c.count; i++) {
		for (int k = 0; k < 3; k++)
			sum[k] += c.data[i].normal[k] * c.data[i].depth;
	}
	CHECK_NEAR(sum[0], 0.05, 1e-6);
	CHECK_NEAR(sum[1], 0.06, 1e-6);
	CHECK_NEAR(sum[2], 0.07, 1e-6);
	close_duo(&d);
}

/// How far a round body (core, mesh frame) is from a mesh, by trying all triangles.
static double gap_of(const carom_mesh *mesh, const v3d core[2])
{
	const float *v = carom_mesh_get_vertices(mesh);
	const int32_t *triangles = carom_mesh_get_triangles(mesh);
	double least = INFINITY;
	for (int32_t k = 0; k < carom_mesh_get_report(mesh)->triangle_count; k++) {
		const int32_t *t = &triangles[3 * k];
		v3d on_core, on_surface;
		const double distance2 = cr_closest_segment_triangle(core[0], core[1], v3d_from_floats(&v[3 * t[0]]),
			v3d_from_floats(&v[3 * t[1]]), v3d_from_floats(&v[3 * t[2]]), &on_core, &on_surface);
		least = fmin(least, distance2);
	}
	return sqrt(least);
}

static bool lies_inside(const carom_mesh *mesh, v3d p)
{
	const fixture_hit hit = fixture_cast(mesh, p, (v3d){ 0.3, 0.5, 0.81 });
	return carom_mesh_get_report(mesh)->closed && hit.triangle >= 0 && hit.back;
}

static const carom_contact *deepest_of(carom_contact_view c)
{
	const carom_contact *best = c.data;
	for (int32_t k = 1; k < c.count; k++)
		best = c.data[k].depth > best->depth ? &c.data[k] : best;
	return best;
}

/// Random spheres and a concave solid: the deepest contact of a centre outside is that of the nearest point of the
/// surface; one inside leaves by a way that is no shorter than that, and brings it clear.
TEST(volume_pair, sphere_and_torus_by_brute_force)
{
	duo d;
	carom_context *context = fixture_context(1);
	open_duo(&d, context, fixture_torus_mesh(context, 24, 12, 0.4, 0.3), fixture_sphere(0.25), true, 0);
	const float *v = carom_mesh_get_vertices(d.mesh);
	const int32_t *triangles = carom_mesh_get_triangles(d.mesh);
	const int32_t count = carom_mesh_get_report(d.mesh)->triangle_count;
	uint64_t seed = 31;
	int touching = 0, inside_count = 0;
	for (int i = 0; i < 400; i++) {
		const carom_pose frame = fixture_random_pose(&seed, 2);
		const v3d at = { test_random_double(&seed, -1.6, 1.6), test_random_double(&seed, -1.6, 1.6),
			test_random_double(&seed, -0.7, 0.7) };
		double nearest = INFINITY;
		v3d surface = at;
		for (int32_t k = 0; k < count; k++) {
			const int32_t *t = &triangles[3 * k];
			cr_feature feature;
			const v3d q = cr_closest_point_triangle(
				at, v3d_from_floats(&v[3 * t[0]]), v3d_from_floats(&v[3 * t[1]]), v3d_from_floats(&v[3 * t[2]]), &feature);
			const double distance = v3d_length(v3d_sub(at, q));
			if (distance < nearest) {
				nearest = distance;
				surface = q;
			}
		}
		const fixture_hit hit = fixture_cast(d.mesh, at, (v3d){ 0.3, 0.5, 0.81 });
		const bool inside = hit.triangle >= 0 && hit.back;
		const double depth = inside ? 0.25 + nearest : 0.25 - nearest;
		const carom_contact_view c = collide(&d, fixture_compose(frame, fixture_at(at.x, at.y, at.z)), frame);
		if (fabs(depth) < 1e-5)
			continue;
		CHECK_INT(c.count > 0, depth > 0);
		touching += depth > 0;
		inside_count += inside;
		int32_t best = 0;
		for (int32_t k = 1; k < c.count; k++)
			best = c.data[k].depth > c.data[best].depth ? k : best;
		if (c.count == 0 || depth < 0)
			continue;
		if (inside) {
			const carom_vec3 way = { c.data[best].normal[0], c.data[best].normal[1], c.data[best].normal[2] };
			const v3d local = to_v3d(carom_inverse_transform_point((carom_pose){ .orientation = frame.orientation }, way));
			const v3d moved = v3d_mad(at, c.data[best].depth, local);
			CHECK(c.data[best].depth > depth - 2e-6 && c.data[best].depth < 1.5 * depth);
			CHECK(gap_of(d.mesh, (v3d[2]){ moved, moved }) > 0.25 - 2e-6 && !lies_inside(d.mesh, moved));
			continue;
		}
		CHECK_NEAR(c.data[best].depth, depth, 2e-6);
		const v3d out = v3d_scale(v3d_sub(at, surface), (inside ? -1 : 1) / nearest);
		const v3d expected = to_v3d(carom_rotate(frame.orientation, (carom_vec3){ out.x, out.y, out.z }));
		CHECK_NEAR(v3d_length(v3d_sub(fixture_normal(&c.data[best]), expected)), 0, 1e-4 + 1e-6 / nearest);
		for (int32_t k = 0; k < c.count; k++) // every other contact is a distance to some surface point, never deeper
			CHECK(c.data[k].depth <= depth + 2e-6 && c.data[k].depth > 0);
	}
	CHECK(touching > 100 && inside_count > 20);
	close_duo(&d);
}

TEST(volume_pair, capsule_lies_flat)
{
	for (int open = 0; open < 2; open++) {
		duo d;
		carom_context *context = fixture_context(1);
		carom_mesh *ground = open ? fixture_sheet_mesh(context, 10, 10) : fixture_box_mesh(context, 5, 5, 1);
		const double top = open ? 0 : 1;
		open_duo(&d, context, ground, fixture_capsule(0.3, 1), true, 0);
		const carom_quat lying = fixture_turn((v3d){ 0, 1, 0 }, FIXTURE_PI / 2);
		for (int i = 0; i < 30; i++) {
			const carom_pose pose = { { 0.13 * i - 2, 0.21 * i - 3, top + 0.28 }, lying };
			const carom_contact_view c = collide(&d, pose, carom_pose_identity());
			bool at_end[2] = { false, false };
			for (int32_t k = 0; k < c.count; k++) {
				CHECK_NEAR(c.data[k].normal[2], 1, 1e-6);
				CHECK_NEAR(c.data[k].depth, 0.02, 1e-6);
				CHECK_NEAR(c.data[k].point[2], top - 0.02, 1e-6);
				for (int end = 0; end < 2; end++)
					at_end[end] |= fabs(c.data[k].point[0] - (pose.position.x + (end ? 1 : -1))) < 1e-6;
			}
			CHECK(at_end[0] && at_end[1]);
		}
		close_duo(&d);
	}
}

/// One end of a capsule dips into a solid while its middle is outside: nothing may pull it in.
TEST(volume_pair, capsule_dips_into_a_solid)
{
	for (int degrees = 0; degrees <= 60; degrees += 15) {
		duo d;
		carom_context *context = fixture_context(1);
		open_duo(&d, context, fixture_box_mesh(context, 3, 3, 3), fixture_capsule(0.3, 1), true, 0);
		const double a = degrees * FIXTURE_PI / 180;
		// The lower end of the core lies 0.1 below the top.
		const carom_pose pose = { { sin(a), 0, 2.9 + cos(a) }, fixture_turn((v3d){ 0, 1, 0 }, a) };
		const carom_contact_view c = collide(&d, pose, carom_pose_identity());
		CHECK(c.count > 0);
		double deepest = 0;
		for (int32_t k = 0; k < c.count; k++) {
			CHECK_NEAR(c.data[k].normal[2], 1, 1e-5);
			deepest = fmax(deepest, c.data[k].depth);
		}
		CHECK_NEAR(deepest, 0.4, 1e-5);
		close_duo(&d);
	}
}

// ---- The way out of what the core has entered ----

/// What a round body goes into: its mesh, and how large it is.
typedef struct entered {
	const char *name;
	carom_mesh *mesh;
	carom_body_kind kind;
	double span;         // of the places of the body's middle, about the origin
	double flat;         // the same in z
	bool front_is_above; // an open sheet: bodies leave upward
} entered;

/// A sheet with hills, its front up.
static carom_mesh *hilly_sheet(carom_context *context)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_sheet(&soup, 12, 6);
	uint64_t seed = 5;
	for (int32_t i = 0; i < soup.vertex_count; i++)
		soup.vertices[3 * i + 2] = (float)test_random_double(&seed, -0.15, 0.15);
	return fixture_mesh(context, &soup);
}

/// Move a body that has entered by its deepest contact. Returns whether its core was inside, or pierced.
static bool check_parted(duo *d, const entered *e, carom_shape round, carom_pose at, carom_pose frame)
{
	const double half = round.type == CAROM_CAPSULE ? round.half_length : 0;
	v3d core[2] = { to_v3d(carom_transform_point(at, (carom_vec3){ 0, 0, -half })),
		to_v3d(carom_transform_point(at, (carom_vec3){ 0, 0, half })) };
	if (gap_of(e->mesh, core) > 1e-9 && !lies_inside(e->mesh, core[0]))
		return false;
	const carom_contact_view c = collide(d, fixture_compose(frame, at), frame);
	if (!CHECK(c.count > 0))
		return true;
	const carom_contact *best = deepest_of(c);
	const v3d way = way_out(d, best);
	const carom_pose turn = { .orientation = frame.orientation };
	const v3d local = to_v3d(carom_inverse_transform_point(turn, (carom_vec3){ way.x, way.y, way.z }));
	const v3d move = v3d_scale(local, best->depth);
	core[0] = v3d_add(core[0], move);
	core[1] = v3d_add(core[1], move);
	const double gap = gap_of(e->mesh, core);
	const bool parted = gap > round.radius - 1e-5 && gap < round.radius + 1e-5 && !lies_inside(e->mesh, core[0]);
	if (!CHECK(parted))
		printf("%s: %g apart, radius %g, after a move by %g\n", e->name, gap, round.radius, (double)best->depth);
	for (int32_t k = 0; k < c.count; k++)
		CHECK(v3d_dot(way_out(d, &c.data[k]), way) > 0 && c.data[k].depth <= best->depth);
	if (e->front_is_above)
		CHECK(core[0].z + core[1].z > 0 && local.z > 0.2);
	// As the library itself sees it.
	const carom_pose moved = { { at.position.x + move.x, at.position.y + move.y, at.position.z + move.z }, at.orientation };
	const carom_contact_view after = collide(d, fixture_compose(frame, moved), frame);
	CHECK(after.count == 0 || deepest_of(after)->depth < 1e-5);
	return true;
}

/// Moving by the deepest contact brings a sphere or a capsule clear of what its core is in or pierces: thin and thick
/// slabs, open sheets, which are left to their front, and concave bodies.
TEST(volume_pair, the_deepest_contact_parts_what_has_entered)
{
	carom_context *context = fixture_context(1);
	const entered all[] = {
		{ "thin slab", fixture_box_mesh(context, 2, 2, 0.05), CAROM_DYNAMIC, 2, 0.5, false },
		{ "thick slab", fixture_box_mesh(context, 2, 2, 0.6), CAROM_DYNAMIC, 2, 0.8, false },
		{ "sheet", fixture_sheet_mesh(context, 6, 6), CAROM_STATIC, 2, 0.5, true },
		{ "hilly sheet", hilly_sheet(context), CAROM_STATIC, 2, 0.5, true },
		{ "sheet with two sides", fixture_sheet_mesh(context, 6, 6), CAROM_DYNAMIC, 2, 0.5, false },
		{ "torus", fixture_torus_mesh(context, 24, 12, 0.4, 0.3), CAROM_DYNAMIC, 1.3, 0.4, false },
		{ "lumpy", manifold_made_mesh(context, "lumpy", 902), CAROM_DYNAMIC, 1, 1, false },
		{ "knot", manifold_made_mesh(context, "knot", 720), CAROM_DYNAMIC, 1.5, 1, false },
	};
	uint64_t seed = 77;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		int entered_count = 0;
		for (int shape = 0; shape < 4; shape++) {
			const carom_shape round = shape % 2 ? fixture_sphere(0.2) : fixture_capsule(shape ? 0.1 : 0.25, shape ? 0.8 : 0.4);
			duo d = { .context = context, .mesh = all[i].mesh, .world = fixture_world(context, NULL) };
			if (shape < 2)
				d.volume = fixture_add(d.world, round, carom_pose_identity(), CAROM_DYNAMIC);
			d.target = fixture_add(d.world, fixture_of_mesh(d.mesh), carom_pose_identity(), all[i].kind);
			if (shape >= 2)
				d.volume = fixture_add(d.world, round, carom_pose_identity(), CAROM_DYNAMIC);
			for (int k = 0; k < 100 / TEST_FEWER; k++) {
				carom_pose at = fixture_random_pose(&seed, all[i].span);
				at.position.z *= all[i].flat / all[i].span;
				const carom_pose frame = k % 2 ? carom_pose_identity() : fixture_random_pose(&seed, 3);
				entered_count += check_parted(&d, &all[i], round, at, frame);
			}
			carom_destroy_world(d.world);
		}
		CHECK(entered_count > (carom_mesh_get_report(all[i].mesh)->closed ? 30 : 15) / (TEST_FEWER > 1 ? 8 : 1));
		carom_release_mesh(all[i].mesh);
	}
	carom_destroy_context(context);
}

static void add_ball_and_capsule(carom_world *world, void *ball)
{
	fixture_add(world, fixture_of_mesh(ball), fixture_at(0, 0, 0), CAROM_STATIC);
	fixture_add(world, fixture_capsule(0.3, 1), fixture_at(0.1, 0, 0.6), CAROM_DYNAMIC);
}

TEST(volume_pair, a_way_out_without_memory_is_an_error)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *ball = fixture_sphere_mesh(context, 1, 24);
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, add_ball_and_capsule, ball, 1) > 2);
	carom_release_mesh(ball);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

TEST(volume_pair, capsule_of_no_length_is_a_sphere)
{
	carom_context *context = fixture_context(1);
	duo d;
	open_duo(&d, context, fixture_sheet_mesh(context, 4, 4), fixture_capsule(0.5, 0), true, 0);
	uint64_t seed = 2;
	for (int i = 0; i < 50; i++) {
		carom_pose pose = fixture_random_pose(&seed, 1);
		pose.position.z = 0.4;
		const carom_contact_view c = collide(&d, pose, carom_pose_identity());
		CHECK_INT(c.count, 1);
		CHECK_NEAR(c.data[0].depth, 0.1, 1e-6);
		CHECK_NEAR(c.data[0].normal[2], 1, 1e-6);
	}
	close_duo(&d);
}

TEST(volume_pair, mesh_on_a_plane)
{
	for (int first = 0; first < 2; first++) {
		duo d;
		carom_context *context = fixture_context(1);
		open_duo(&d, context, fixture_torus_mesh(context, 24, 12, 0.4, 0.3), (carom_shape){ .type = CAROM_PLANE }, first, 0.05);
		const float *v = carom_mesh_get_vertices(d.mesh);
		const int32_t count = carom_mesh_get_report(d.mesh)->vertex_count;
		uint64_t seed = 6;
		for (int i = 0; i < 100; i++) {
			const carom_pose plane = fixture_random_pose(&seed, 4);
			const carom_pose mesh = fixture_compose(plane, fixture_random_pose(&seed, 1));
			const v3d up = to_v3d(carom_rotate(plane.orientation, (carom_vec3){ 0, 0, 1 }));
			const carom_contact_view c = collide(&d, plane, mesh);
			int32_t low = 0, unclear = 0;
			for (int32_t k = 0; k < count; k++) {
				const carom_vec3 world = carom_transform_point(mesh, (carom_vec3){ v[3 * k], v[3 * k + 1], v[3 * k + 2] });
				const double height = carom_inverse_transform_point(plane, world).z;
				low += height <= 0.05;
				unclear += fabs(height - 0.05) < 1e-9;
			}
			CHECK(abs(c.count - low) <= unclear);
			for (int32_t k = 0; k < c.count; k++) {
				const v3d out = first ? v3d_neg(fixture_normal(&c.data[k])) : fixture_normal(&c.data[k]);
				CHECK_NEAR(v3d_dot(out, up), 1, 1e-6);
				CHECK_INT(c.data[k].kind, first ? CAROM_VERTEX_B : CAROM_VERTEX_A);
				const int32_t vertex = first ? c.data[k].feature_b : c.data[k].feature_a;
				const v3d world =
					to_v3d(carom_transform_point(mesh, (carom_vec3){ v[3 * vertex], v[3 * vertex + 1], v[3 * vertex + 2] }));
				CHECK_NEAR(v3d_length(v3d_sub(fixture_point(&c.data[k]), world)), 0, 1e-9);
				CHECK_NEAR(c.data[k].depth, -v3d_dot(up, v3d_sub(world, to_v3d(plane.position))), 1e-6);
			}
		}
		close_duo(&d);
	}
}

/// The two sides of one triangle: a mesh whose vertices have no normal still does not fall through the ground.
TEST(volume_pair, a_mesh_without_normals_on_a_plane)
{
	static fixture_soup leaf = {
		.vertices = { 0, 0, 0, 1, 0, 0, 0, 1, 0 }, .triangles = { 0, 1, 2, 0, 2, 1 }, .vertex_count = 3, .triangle_count = 2
	};
	duo d;
	carom_context *context = fixture_context(1);
	open_duo(&d, context, fixture_mesh(context, &leaf), (carom_shape){ .type = CAROM_PLANE }, true, 0);
	const carom_contact_view c = collide(&d, carom_pose_identity(), fixture_at(0, 0, -0.1));
	CHECK_INT(c.count, 3);
	close_duo(&d);
}

TEST(volume_pair, an_empty_mesh_touches_nothing)
{
	static const fixture_soup empty;
	const carom_shape shapes[] = { fixture_sphere(1), fixture_capsule(1, 1), fixture_box(1, 1, 1), { .type = CAROM_PLANE } };
	for (int i = 0; i < 4; i++) {
		duo d;
		carom_context *context = fixture_context(1);
		open_duo(&d, context, fixture_mesh(context, &empty), shapes[i], i % 2, 0.5);
		CHECK_INT(collide(&d, carom_pose_identity(), carom_pose_identity()).count, 0);
		CHECK_INT(carom_world_pairs(d.world).count, 0);
		close_duo(&d);
	}
}

/// Gaps within the speculative distance give negative depths, wider ones nothing, whatever the direction.
TEST(volume_pair, speculative_spheres)
{
	duo d;
	carom_context *context = fixture_context(1);
	open_duo(&d, context, fixture_box_mesh(context, 1, 1, 1), fixture_sphere(0.5), true, 0.1);
	for (int axis = 0; axis < 3; axis++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			for (int i = 0; i < 20; i++) {
				const double gap = 0.0105 * i - 0.05;
				double p[3] = { 0.1, 0.2, 0.3 };
				p[axis] = sign * (1.5 + gap);
				const carom_contact_view c = collide(&d, fixture_at(p[0], p[1], p[2]), carom_pose_identity());
				CHECK_INT(c.count, gap <= 0.1);
				if (c.count == 0)
					continue;
				CHECK_NEAR(c.data[0].depth, -gap, 1e-6);
				CHECK_NEAR(c.data[0].normal[axis], sign, 1e-6);
				CHECK_INT(carom_world_stats(d.world).colliding_pairs, gap <= 0);
			}
		}
	}
	close_duo(&d);
}

// ---- A capsule that lies over the border of a table ----

/// The part of a core over a square table: from first to second, as shares of its length; cut: at the border.
typedef struct stretch {
	double at[2];
	bool cut[2];
	bool clear; // it crosses no border at a narrow angle, and is long
} stretch;

static stretch over_table(v3d from, v3d axis, double half)
{
	stretch s = { { 0, 1 }, { false, false }, true };
	for (int k = 0; k < 2; k++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			const double slope = sign * v3d_get(axis, k), room = half - sign * v3d_get(from, k), zero = room / slope;
			if (slope > 0 && zero < s.at[1]) {
				s.at[1] = zero;
				s.cut[1] = true;
			} else if (slope < 0 && zero > s.at[0]) {
				s.at[0] = zero;
				s.cut[0] = true;
			}
			s.clear = s.clear && fabs(slope) > 0.3 * v3d_length(axis);
		}
	}
	s.clear = s.clear && s.at[1] - s.at[0] > 0.1;
	return s;
}

/// Both ends of the stretch must be contacts, as deep as the core is low there, and all normals those of the table.
static int check_stretch(const duo *d, carom_contact_view c, v3d from, v3d axis, const stretch *s, double ahead)
{
	int cut = 0;
	for (int32_t i = 0; i < c.count; i++)
		CHECK(way_out(d, &c.data[i]).z > 0.9975); // across a border and a tilted core
	for (int end = 0; end < 2; end++) {
		const v3d place = v3d_mad(from, s->at[end], axis);
		const double depth = 0.2 - place.z;
		if (depth < -ahead + 1e-6)
			continue;
		bool found = false;
		for (int32_t i = 0; i < c.count && !found; i++) {
			const v3d off = v3d_sub(fixture_point(&c.data[i]), place);
			found = fabs(off.x) < 1e-6 && fabs(off.y) < 1e-6 && fabs(c.data[i].depth - depth) < 1e-6;
		}
		CHECK(found);
		cut += s->cut[end];
	}
	return cut;
}

static void lie_on(duo *d, carom_pose table, double ahead)
{
	uint64_t seed = 77;
	int cut = 0;
	for (int i = 0; i < 3000 / TEST_STRIDE; i++) {
		const double yaw = test_random_double(&seed, 0, 2 * 3.14159265358979), tilt = test_random_double(&seed, -0.02, 0.02);
		const v3d axis = { 0.8 * cos(yaw) * cos(tilt), 0.8 * sin(yaw) * cos(tilt), 0.8 * sin(tilt) };
		carom_pose pose = fixture_at(test_random_double(&seed, -0.6, 0.6), test_random_double(&seed, -0.6, 0.6),
			test_random_double(&seed, 0.185, 0.215));
		const v3d turn = v3d_normalize((v3d){ axis.x, axis.y, axis.z + 0.8 }); // half way from z to the axis
		pose.orientation = (carom_quat){ turn.x, turn.y, turn.z, 0 };
		const v3d from = v3d_mad(to_v3d(pose.position), -0.5, axis);
		const stretch s = over_table(from, axis, 0.25);
		if (s.clear)
			cut += check_stretch(d, collide(d, pose, table), from, axis, &s, ahead);
	}
	CHECK(cut > 300 / TEST_STRIDE);
}

TEST(volume_pair, a_capsule_touches_a_face_up_to_its_border)
{
	for (int i = 0; i < 8; i++) {
		const bool first = i & 1, ahead = i & 2, sheet = i & 4;
		carom_context *context = fixture_context(1);
		fixture_soup soup = { 0 };
		if (sheet)
			fixture_soup_sheet(&soup, 5, 0.5);
		duo d;
		open_duo(&d, context, sheet ? fixture_mesh(context, &soup) : fixture_box_mesh(context, 0.25, 0.25, 0.25),
			fixture_capsule(0.2, 0.4), first, ahead ? 0.02 : 0);
		lie_on(&d, fixture_at(0, 0, sheet ? 0 : -0.25), ahead ? 0.02 : 0);
		close_duo(&d);
	}
}
