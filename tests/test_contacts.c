/// Contacts between meshes: analytic cases, rays by brute force, options, symmetry and invariance.
#include "fixture.h"
#include "oracle.h"
#include "carom/carom.h"
#include <math.h>
#include <string.h>

/// Everything found, nothing judged: the definition that the brute force below answers to.
static carom_world_def plain_def(void)
{
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	fixture_lab(&def)->max_depth_ratio = 2;
	// As the rays find them: patches have tests of their own (test_manifold.c).
	def.contact_normal = CAROM_NORMAL_RAY;
	return def;
}

/// Two bodies in a world of their own.
typedef struct duo {
	carom_context *context;
	carom_world *world;
	carom_body_id id[2];
} duo;

static void open_duo(duo *d, carom_context *context, const carom_world_def *def, carom_shape a, carom_pose pose_a,
	carom_shape b, carom_pose pose_b)
{
	d->context = context;
	d->world = fixture_world(context, def);
	d->id[0] = fixture_add(d->world, a, pose_a, CAROM_DYNAMIC);
	d->id[1] = fixture_add(d->world, b, pose_b, CAROM_DYNAMIC);
	fixture_step(d->world);
	fixture_check_views(d->world);
}

static void place(duo *d, carom_pose pose_a, carom_pose pose_b)
{
	const carom_pose poses[2] = { pose_a, pose_b };
	REQUIRE(carom_world_set_poses(d->world, 2, d->id, poses) == CAROM_SUCCESS);
	fixture_step(d->world);
	fixture_check_views(d->world);
}

static void close_duo(duo *d) { carom_destroy_world(d->world); }

static v3d to_v3d(carom_vec3 v) { return (v3d){ v.x, v.y, v.z }; }
static carom_vec3 to_vec3(v3d v) { return (carom_vec3){ v.x, v.y, v.z }; }

static const float *vertex_of(const carom_mesh *mesh, int32_t i) { return carom_mesh_get_vertices(mesh) + 3 * i; }

// ---- Analytic ----

TEST(contacts, box_meshes_at_known_overlap)
{
	carom_context *context = fixture_context(1);
	carom_mesh *large = fixture_box_mesh(context, 2, 2, 0.5), *small = fixture_box_mesh(context, 0.3, 0.3, 0.3);
	const carom_world_def def = plain_def();
	duo d;
	for (int order = 0; order < 2; order++) {
		const carom_pose at[2] = { fixture_at(0, 0, 0), fixture_at(0.4, -0.7, 0.75) };
		const carom_mesh *mesh[2] = { large, small };
		open_duo(&d, context, &def, fixture_of_mesh(mesh[order]), at[order], fixture_of_mesh(mesh[1 - order]), at[1 - order]);
		const carom_contact_view c = carom_world_contacts(d.world);
		CHECK_INT(c.count, 4);
		for (int32_t i = 0; i < c.count; i++) {
			// The corners look out along their diagonals: their ray is sqrt(3) times the depth.
			CHECK_NEAR(c.data[i].depth, 0.05 * sqrt(3), 1e-5);
			CHECK_NEAR(c.data[i].normal[2], (order == 0 ? -1 : 1) * sqrt(1.0 / 3), 1e-5);
			CHECK_INT(c.data[i].kind, order == 0 ? CAROM_VERTEX_B : CAROM_VERTEX_A);
			const int32_t vertex = order == 0 ? c.data[i].feature_b : c.data[i].feature_a;
			const float *p = vertex_of(small, vertex);
			CHECK(vertex < 4);
			CHECK_NEAR(c.data[i].point[0], 0.4 + p[0], 1e-7);
			CHECK_NEAR(c.data[i].point[1], -0.7 + p[1], 1e-7);
			CHECK_NEAR(c.data[i].point[2], 0.45, 1e-6);
		}
		close_duo(&d);
	}
	carom_release_mesh(large);
	carom_release_mesh(small);
	carom_destroy_context(context);
}

/// A vertex on the axis of a face: its ray is the way out.
TEST(contacts, a_tip_in_a_face)
{
	static fixture_soup spike;
	spike.vertex_count = spike.triangle_count = 0;
	fixture_soup_sphere(&spike, (v3d){ 0, 0, 0 }, 0.5, 6);
	carom_context *context = fixture_context(1);
	carom_mesh *ball = fixture_mesh(context, &spike), *box = fixture_box_mesh(context, 1, 1, 1);
	const carom_world_def def = plain_def();
	duo d;
	for (int i = 1; i <= 10; i++) {
		const double depth = 0.005 * i;
		open_duo(&d, context, &def, fixture_of_mesh(ball), fixture_at(0.2, 0.1, 1.5 - depth), fixture_of_mesh(box),
			fixture_at(0, 0, 0));
		const carom_contact_view c = carom_world_contacts(d.world);
		CHECK_INT(c.count, 1); // the next stripe of vertices lies 0.067 higher
		CHECK_NEAR(c.data[0].depth, depth, 1e-6);
		CHECK_NEAR(c.data[0].normal[2], 1, 1e-5);
		CHECK_INT(c.data[0].kind, CAROM_VERTEX_A);
		CHECK_NEAR(c.data[0].point[2], 1 - depth, 1e-7);
		close_duo(&d);
	}
	carom_release_mesh(ball);
	carom_release_mesh(box);
	carom_destroy_context(context);
}

// ---- Rays by brute force ----

/// The vertices of a side that the oracle calls inside the other, and those that have a contact, must be the same.
static void check_side(const duo *d, int side, const carom_mesh *mesh[2], const carom_pose pose[2], int64_t *checked)
{
	static uint8_t has[FIXTURE_MAX_VERTICES];
	memset(has, 0, sizeof has);
	const int a = d->id[0].index1 < d->id[1].index1 ? 0 : 1;
	const carom_mesh *target = mesh[1 - side];
	const carom_contact_view c = carom_world_contacts(d->world);
	for (int32_t i = 0; i < c.count; i++) {
		const carom_contact *contact = &c.data[i];
		if (contact->kind != (side == a ? CAROM_VERTEX_A : CAROM_VERTEX_B))
			continue;
		const int32_t vertex = side == a ? contact->feature_a : contact->feature_b;
		const int32_t triangle = side == a ? contact->feature_b : contact->feature_a;
		has[vertex] = 1;
		const float *p = vertex_of(mesh[side], vertex);
		const carom_vec3 world = carom_transform_point(pose[side], (carom_vec3){ p[0], p[1], p[2] });
		CHECK_NEAR(v3d_length(v3d_sub(to_v3d(world), fixture_point(contact))), 0, 1e-9 * (1 + v3d_length(to_v3d(world))));
		// The normal takes A out: it is the ray of A, and against that of B.
		const v3d ray = v3d_scale(fixture_normal(contact), side == a ? 1 : -1);
		const carom_vec3 origin = carom_inverse_transform_point(pose[1 - side], world);
		carom_pose turn = pose[1 - side];
		turn.position = (carom_vec3){ 0, 0, 0 };
		const fixture_hit hit = fixture_cast(target, to_v3d(origin), to_v3d(carom_inverse_transform_point(turn, to_vec3(ray))));
		const double slack = 1e-5 / fmax(hit.incidence, 1e-3);
		if (hit.triangle < 0 || hit.edge < 1e-3 || hit.t < 1e-4 || hit.incidence < 1e-3 || hit.t_second - hit.t < 2 * slack)
			continue; // too close to a border to say
		CHECK(hit.back);
		CHECK_INT(triangle, hit.triangle);
		CHECK_NEAR(contact->depth, hit.t, slack);
		(*checked)++;
	}
	const carom_mesh_report *r = carom_mesh_get_report(target);
	const oracle_shape shape = { carom_mesh_get_vertices(target), r->vertex_count, carom_mesh_get_triangles(target),
		r->triangle_count };
	const carom_pose identity = carom_pose_identity();
	oracle_body body = oracle_place(&shape, &identity);
	for (int32_t i = 0; i < carom_mesh_get_report(mesh[side])->vertex_count; i++) {
		const float *p = vertex_of(mesh[side], i);
		const carom_vec3 world = carom_transform_point(pose[side], (carom_vec3){ p[0], p[1], p[2] });
		const v3d local = to_v3d(carom_inverse_transform_point(pose[1 - side], world));
		bool found;
		carom_closest_point near = { 0 };
		const carom_query_filter filter = { .category = UINT64_MAX, .mask = UINT64_MAX, .ignore = d->id[side] };
		REQUIRE(carom_world_closest_point(d->world, world, 0.001, &filter, &found, &near) == CAROM_SUCCESS);
		if (found && fabs(near.distance) < 1e-5)
			continue;
		const bool inside = oracle_point_inside(&body, local);
		if (!CHECK_INT(has[i], inside))
			break;
	}
	oracle_free(&body);
}

TEST(contacts, rays_by_brute_force)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 20, 10, 0.4, 0.3), *ball = fixture_sphere_mesh(context, 0.7, 8);
	const carom_world_def def = plain_def();
	const carom_mesh *mesh[3][2] = { { torus, torus }, { torus, ball }, { ball, torus } };
	int64_t checked = 0;
	uint64_t seed = 77;
	for (int m = 0; m < 3; m++) {
		duo d;
		open_duo(&d, context, &def, fixture_of_mesh(mesh[m][0]), fixture_at(0, 0, 0), fixture_of_mesh(mesh[m][1]),
			fixture_at(9, 0, 0));
		for (int i = 0; i < 20; i++) {
			const carom_pose pose[2] = { fixture_random_pose(&seed, 0.7), fixture_random_pose(&seed, 0.7) };
			place(&d, pose[0], pose[1]);
			check_side(&d, 0, mesh[m], pose, &checked);
			check_side(&d, 1, mesh[m], pose, &checked);
		}
		close_duo(&d);
	}
	CHECK(checked > 1000);
	carom_release_mesh(torus);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

/// How far a point is from the surface of a mesh at a pose.
static double distance_to(const carom_mesh *mesh, const carom_pose *pose, v3d point)
{
	bool found;
	carom_mesh_point nearest;
	REQUIRE(carom_mesh_closest_point(mesh, carom_inverse_transform_point(*pose, to_vec3(point)), INFINITY, &found, &nearest) ==
		CAROM_SUCCESS);
	return fabs(nearest.distance);
}

/// Ways of patches between bodies of many facets: each leads its vertex to the surface. None is much more than twice as long as the shortest
/// that there is, and most are no longer.
TEST(contacts, ways_of_patches_end_on_the_surface)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh[2] = { fixture_torus_mesh(context, 20, 10, 0.4, 0.3), fixture_sphere_mesh(context, 0.7, 12) };
	carom_world_def def = plain_def();
	def.contact_normal = CAROM_NORMAL_PATCH;
	fixture_lab(&def)->max_depth_ratio = 2;
	int64_t ways = 0, shortest = 0;
	uint64_t seed = 79;
	for (int i = 0; i < 80; i++) {
		const carom_mesh *of[2] = { mesh[i % 2], mesh[i / 2 % 2] };
		const carom_pose pose[2] = { fixture_random_pose(&seed, 0.7), fixture_random_pose(&seed, 0.7) };
		duo d;
		open_duo(&d, context, &def, fixture_of_mesh(of[0]), pose[0], fixture_of_mesh(of[1]), pose[1]);
		const carom_contact_view c = carom_world_contacts(d.world);
		for (int32_t k = 0; k < c.count; k++) {
			const carom_contact *contact = &c.data[k];
			if (contact->kind > CAROM_VERTEX_B)
				continue;
			const int target = contact->kind == CAROM_VERTEX_A ? 1 : 0;
			const v3d way = v3d_scale(fixture_normal(contact), target == 1 ? contact->depth : -contact->depth);
			const double before = distance_to(of[target], &pose[target], fixture_point(contact));
			CHECK_NEAR(distance_to(of[target], &pose[target], v3d_add(fixture_point(contact), way)), 0, 1e-5);
			// Of short rays no way is limited.
			CHECK(contact->depth > before - 1e-5 && contact->depth < fmax(2.001 * before, 0.02 * 4));
			shortest += contact->depth < 1.01 * before + 1e-5;
			ways++;
		}
		close_duo(&d);
	}
	CHECK(ways > 5000 && shortest > 0.85 * (double)ways);
	carom_release_mesh(mesh[0]);
	carom_release_mesh(mesh[1]);
	carom_destroy_context(context);
}

// ---- The order of the bodies ----

/// Check that each contact of v is one of w, seen from the other body. Points are compared for vertices alone: those of volumes and
/// edges may lie on the other surface.
static void check_mirrored(carom_contact_view v, carom_contact_view w)
{
	bool used[256] = { false };
	REQUIRE(CHECK_INT(w.count, v.count) && w.count <= 256);
	for (int32_t i = 0; i < v.count; i++) {
		const carom_contact *a = &v.data[i];
		int32_t found = -1;
		for (int32_t j = 0; j < w.count && found < 0; j++) {
			const carom_contact *b = &w.data[j];
			double off = fabs(a->depth - b->depth);
			for (int k = 0; k < 3; k++) {
				off = fmax(off, fabs(a->normal[k] + b->normal[k]));
				if (a->kind <= CAROM_VERTEX_B)
					off = fmax(off, fabs(a->point[k] - b->point[k]));
			}
			const bool same_kind = a->kind <= CAROM_VERTEX_B ? (int)a->kind + (int)b->kind == 1 : b->kind > CAROM_VERTEX_B;
			found = !used[j] && same_kind && off < 1e-4 ? j : -1;
		}
		if (CHECK(found >= 0))
			used[found] = true;
	}
}

TEST(contacts, do_not_depend_on_the_order_of_bodies)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh[3] = { fixture_torus_mesh(context, 12, 12, 0.3, 0), fixture_torus_mesh(context, 20, 20, 0.4, 0.3),
		fixture_torus_mesh(context, 8, 8, 0.35, 0.1) };
	const carom_shape shapes[6] = { fixture_of_mesh(mesh[0]), fixture_of_mesh(mesh[1]), fixture_of_mesh(mesh[2]),
		{ .type = CAROM_BOX, .half_extents = { 0.6, 0.6, 0.6 } }, { .type = CAROM_CAPSULE, .radius = 0.6, .half_length = 0.5 },
		fixture_sphere(0.6) };
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	int64_t contacts = 0, edges = 0;
	uint64_t seed = 84;
	for (int i = 0; i < 3000 / TEST_FEWER; i++) {
		def.contact_normal = i % 3 ? CAROM_NORMAL_TRIANGLE : CAROM_NORMAL_PATCH;
		const carom_shape a = shapes[i / 3 % 6], b = shapes[i / 18 % 6];
		const carom_pose p = fixture_random_pose(&seed, 1.2), q = fixture_random_pose(&seed, 1.2);
		duo d[2];
		open_duo(&d[0], context, &def, a, p, b, q);
		open_duo(&d[1], context, &def, b, q, a, p);
		const carom_contact_view v = carom_world_contacts(d[0].world), w = carom_world_contacts(d[1].world);
		if (i % 3)
			check_mirrored(v, w);
		else // patches may choose other points
			CHECK_INT(w.count > 0, v.count > 0);
		contacts += v.count;
		for (int32_t k = 0; k < v.count; k++)
			edges += v.data[k].kind == CAROM_EDGE_A || v.data[k].kind == CAROM_EDGE_B;
		close_duo(&d[0]);
		close_duo(&d[1]);
	}
	CHECK(contacts > 5000 / TEST_FEWER && edges > 200 / TEST_FEWER);
	for (int i = 0; i < 3; i++)
		carom_release_mesh(mesh[i]);
	carom_destroy_context(context);
}

/// A vertex in the hole of a torus, or before it, meets front faces only: no contact.
TEST(contacts, front_faces_are_no_hits)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 24, 12, 0.3, 0), *ball = fixture_sphere_mesh(context, 0.4, 8);
	carom_world_def def = plain_def();
	def.temporal = CAROM_TEMPORAL_NONE; // else the surfaces are asked first, and no ray is cast
	duo d;
	open_duo(&d, context, &def, fixture_of_mesh(torus), fixture_at(0, 0, 0), fixture_of_mesh(ball), fixture_at(0, 0, 0));
	CHECK(carom_world_stats(d.world).rays_full + carom_world_stats(d.world).vertices_culled > 0);
	CHECK_INT(carom_world_contacts(d.world).count, 0);
	CHECK_INT(carom_world_pairs(d.world).count, 0);
	close_duo(&d);
	carom_release_mesh(torus);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

TEST(contacts, ray_methods_agree)
{
	carom_context *context = fixture_context(2);
	carom_mesh *torus = fixture_torus_mesh(context, 20, 10, 0.4, 0.3);
	duo d[4];
	for (int m = 0; m < 4; m++) {
		carom_world_def def = plain_def();
		fixture_lab(&def)->ray_method = (carom_ray_method)m;
		open_duo(&d[m], context, &def, fixture_of_mesh(torus), fixture_at(0, 0, 0), fixture_of_mesh(torus), fixture_at(9, 0, 0));
	}
	uint64_t seed = 78;
	int64_t total = 0;
	for (int i = 0; i < 20; i++) {
		const carom_pose pose[2] = { fixture_random_pose(&seed, 0.6), fixture_random_pose(&seed, 0.6) };
		for (int m = 0; m < 4; m++)
			place(&d[m], pose[0], pose[1]);
		const carom_contact_view c = carom_world_contacts(d[0].world);
		total += c.count;
		for (int m = 1; m < 4; m++) {
			const carom_contact_view o = carom_world_contacts(d[m].world);
			if (m < CAROM_RAYS_MOLLER_TRUMBORE)
				CHECK(carom_world_hash(d[m].world) == carom_world_hash(d[0].world));
			if (!CHECK_INT(o.count, c.count))
				continue;
			for (int32_t k = 0; k < c.count; k++) {
				CHECK_INT(o.data[k].feature_a, c.data[k].feature_a);
				CHECK_INT(o.data[k].feature_b, c.data[k].feature_b);
				CHECK_NEAR(o.data[k].depth, c.data[k].depth, 1e-4);
			}
		}
	}
	CHECK(total > 500);
	for (int m = 0; m < 4; m++)
		close_duo(&d[m]);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}

// ---- Options ----

TEST(contacts, exit_distance_drops_rays_that_leave_their_body)
{
	carom_context *context = fixture_context(1);
	carom_mesh *slab = fixture_box_mesh(context, 3, 3, 3), *plate = fixture_sphere_mesh(context, 0.2, 8);
	carom_world_def def = plain_def();
	duo d;
	// The ball is 0.05 deep: its lowest vertices get out before their rays cross the ball; all the ball is inside at depth 2.
	for (int strict = 0; strict < 2; strict++) {
		fixture_lab(&def)->exit_distance_test = strict;
		open_duo(&d, context, &def, fixture_of_mesh(plate), fixture_at(0, 0, 3.15), fixture_of_mesh(slab), fixture_at(0, 0, 0));
		const carom_contact_view c = carom_world_contacts(d.world);
		CHECK(c.count > 0);
		for (int32_t i = 0; i < c.count; i++)
			CHECK(c.data[i].depth <= 0.06);
		place(&d, fixture_at(0, 0, 1.2), fixture_at(0, 0, 0));
		const carom_contact_view deep = carom_world_contacts(d.world);
		CHECK_INT(deep.count, strict ? 1 : carom_mesh_get_report(plate)->vertex_count);
		for (int32_t i = 0; i < deep.count; i++)
			CHECK(deep.data[i].depth > 0.4);
		close_duo(&d);
		// The other way round: the small one is B.
		open_duo(
			&d, context, &def, fixture_of_mesh(slab), fixture_at(0, 0, 0), fixture_of_mesh(plate), fixture_at(0.3, 0.4, 1.2));
		CHECK_INT(carom_world_contacts(d.world).count, strict ? 1 : carom_mesh_get_report(plate)->vertex_count);
		close_duo(&d);
	}
	carom_release_mesh(slab);
	carom_release_mesh(plate);
	carom_destroy_context(context);
}

/// A body of two pieces of which one is inside another body and one outside: contained all the same.
TEST(contacts, exit_distance_and_a_body_in_pieces)
{
	carom_context *context = fixture_context(1);
	carom_mesh *large = fixture_box_mesh(context, 2, 2, 2);
	for (int piece = 0; piece < 2; piece++) {
		static fixture_soup pieces;
		pieces.vertex_count = pieces.triangle_count = 0;
		fixture_soup_sphere(&pieces, (v3d){ 0, 0, 0 }, 0.1, 6);
		fixture_soup_sphere(&pieces, (v3d){ 6, 0, 0 }, 0.1, 6);
		carom_mesh *mesh = fixture_mesh(context, &pieces);
		carom_world_def def = plain_def();
		fixture_lab(&def)->exit_distance_test = true;
		duo d;
		open_duo(&d, context, &def, fixture_of_mesh(mesh), fixture_at(0, 0, 0), fixture_of_mesh(large),
			fixture_at(piece ? 6 : 0, 0, 0));
		CHECK(carom_world_contacts(d.world).count > 0);
		close_duo(&d);
		carom_release_mesh(mesh);
	}
	carom_release_mesh(large);
	carom_destroy_context(context);
}

TEST(contacts, crossed_bars_need_the_completion)
{
	carom_context *context = fixture_context(1);
	carom_mesh *bar = fixture_box_mesh(context, 1, 0.05, 0.05);
	const carom_pose lower = fixture_at(0, 0, 0), upper = { { 0.1, 0.2, 0.08 }, fixture_turn((v3d){ 0, 0, 1 }, FIXTURE_PI / 2) };
	for (int complete = 0; complete < 2; complete++) {
		for (int order = 0; order < 2; order++) {
			carom_world_def def = plain_def();
			fixture_lab(&def)->complete = complete;
			duo d;
			open_duo(
				&d, context, &def, fixture_of_mesh(bar), order ? upper : lower, fixture_of_mesh(bar), order ? lower : upper);
			const carom_contact_view c = carom_world_contacts(d.world);
			const carom_stats s = carom_world_stats(d.world);
			CHECK_INT(s.pairs_completed, complete);
			CHECK_INT(s.pairs_crossing, complete);
			CHECK_INT(c.count > 0, complete);
			for (int32_t i = 0; i < c.count; i++) {
				CHECK_NEAR(c.data[i].depth, 0.02, 1e-5);
				CHECK_NEAR(c.data[i].normal[2], order ? 1 : -1, 1e-5);
				CHECK(c.data[i].kind == CAROM_EDGE_A || c.data[i].kind == CAROM_EDGE_B);
			}
			close_duo(&d);
		}
	}
	carom_release_mesh(bar);
	carom_destroy_context(context);
}

/// Two edges of roofs that cross at right angles: the classical edge-edge contact.
TEST(contacts, edges_that_cross)
{
	carom_context *context = fixture_context(1);
	carom_mesh *bar = fixture_box_mesh(context, 1, 0.1, 0.1);
	const carom_quat on_edge = fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 4),
					 across = fixture_turn((v3d){ 0, 0, 1 }, FIXTURE_PI / 2);
	const carom_pose lower = { { 0, 0, 0 }, on_edge };
	carom_pose upper = fixture_compose((carom_pose){ { 0, 0, 0 }, across }, lower);
	upper.position.z = 0.2 * sqrt(2) - 0.01;
	const carom_world_def def = plain_def();
	duo d;
	open_duo(&d, context, &def, fixture_of_mesh(bar), lower, fixture_of_mesh(bar), upper);
	const carom_contact_view c = carom_world_contacts(d.world);
	CHECK_INT(c.count, 1);
	CHECK_INT(c.data[0].kind, CAROM_EDGE_A);
	CHECK_NEAR(c.data[0].depth, 0.01, 1e-5);
	CHECK_NEAR(c.data[0].normal[2], -1, 1e-5);
	CHECK_NEAR(c.data[0].point[2], 0.1 * sqrt(2), 1e-5);
	// The feature of A is an edge of A at the top, that of B a triangle of B.
	const int32_t *t = carom_mesh_get_triangles(bar);
	const int32_t triangle = c.data[0].feature_a / 3, corner = c.data[0].feature_a % 3;
	for (int k = 0; k < 2; k++) {
		const float *p = vertex_of(bar, t[3 * triangle + (corner + k) % 3]);
		CHECK_NEAR(carom_transform_point(lower, (carom_vec3){ p[0], p[1], p[2] }).z, 0.1 * sqrt(2), 1e-6);
	}
	CHECK(c.data[0].feature_b < 12);
	close_duo(&d);
	carom_release_mesh(bar);
	carom_destroy_context(context);
}

TEST(contacts, open_meshes_collide_by_triangles)
{
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 2, 2);
	const carom_pose flat = fixture_at(0, 0, 0),
					 upright = { { 0.31, 0.17, 0.9 }, fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 2) };
	const carom_world_def def = plain_def();
	duo d;
	open_duo(&d, context, &def, fixture_of_mesh(sheet), flat, fixture_of_mesh(sheet), upright);
	const carom_contact_view c = carom_world_contacts(d.world);
	CHECK(c.count > 0);
	for (int32_t i = 0; i < c.count; i++) {
		CHECK_INT(c.data[i].kind, CAROM_FACES);
		CHECK(c.data[i].feature_a < 8 && c.data[i].feature_b < 8);
		CHECK_NEAR(c.data[i].point[1], 0.17, 1e-6); // on the line where they cross
		CHECK_NEAR(c.data[i].point[2], 0, 1e-6);
		CHECK(c.data[i].depth > 0 && c.data[i].depth <= 0.1 + 1e-6);
	}
	place(&d, flat, (carom_pose){ { 0.31, 0.17, 1.01 }, upright.orientation });
	CHECK_INT(carom_world_contacts(d.world).count, 0);
	close_duo(&d);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

/// Vertices outside the other body, their rays cast outward by brute force: a gap below the distance is a contact, none above.
TEST(contacts, speculative_by_brute_force)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 16, 8, 0.4, 0.3);
	carom_world_def def = plain_def();
	def.speculative_distance = 0.15;
	duo d, all;
	open_duo(&d, context, &def, fixture_of_mesh(torus), fixture_at(0, 0, 0), fixture_of_mesh(torus), fixture_at(9, 0, 0));
	// The vertex normals: contacts of the torus in a huge box tell them all.
	carom_mesh *huge = fixture_box_mesh(context, 20, 20, 20);
	const carom_world_def simple = plain_def();
	open_duo(&all, context, &simple, fixture_of_mesh(torus), fixture_at(0, 0, 0), fixture_of_mesh(huge), fixture_at(0, 0, 0));
	const carom_contact_view vertices = carom_world_contacts(all.world);
	const int32_t count = carom_mesh_get_report(torus)->vertex_count;
	REQUIRE(vertices.count == count);
	const int32_t triangles = carom_mesh_get_report(torus)->triangle_count;
	const oracle_shape shape = { carom_mesh_get_vertices(torus), count, carom_mesh_get_triangles(torus), triangles };
	const carom_pose identity = carom_pose_identity();
	oracle_body body = oracle_place(&shape, &identity);
	uint64_t seed = 91;
	int64_t negative = 0;
	for (int i = 0; i < 25; i++) {
		const carom_pose pose[2] = { fixture_random_pose(&seed, 0.9), fixture_random_pose(&seed, 0.9) };
		place(&d, pose[0], pose[1]);
		const carom_contact_view c = carom_world_contacts(d.world);
		static float depth[2][FIXTURE_MAX_VERTICES];
		for (int side = 0; side < 2; side++) {
			for (int32_t k = 0; k < count; k++)
				depth[side][k] = INFINITY;
		}
		for (int32_t k = 0; k < c.count; k++) {
			CHECK(c.data[k].depth >= -0.15f);
			if (c.data[k].kind == CAROM_VERTEX_A)
				depth[0][c.data[k].feature_a] = c.data[k].depth;
			else if (c.data[k].kind == CAROM_VERTEX_B)
				depth[1][c.data[k].feature_b] = c.data[k].depth;
			negative += c.data[k].depth < 0;
		}
		for (int side = 0; side < 2; side++) {
			const carom_pose relative = { pose[side].position, pose[side].orientation };
			carom_pose turn = pose[1 - side], own_turn = pose[side];
			turn.position = own_turn.position = (carom_vec3){ 0, 0, 0 };
			for (int32_t k = 0; k < count; k++) {
				const float *p = vertex_of(torus, k);
				const carom_vec3 world = carom_transform_point(relative, (carom_vec3){ p[0], p[1], p[2] });
				const v3d origin = to_v3d(carom_inverse_transform_point(pose[1 - side], world));
				const v3d outward = v3d_neg(fixture_normal(&vertices.data[k]));
				const v3d direction =
					to_v3d(carom_inverse_transform_point(turn, carom_transform_point(own_turn, to_vec3(outward))));
				const fixture_hit hit = fixture_cast(torus, origin, direction);
				const bool clear =
					hit.triangle < 0 || (hit.edge > 1e-4 && hit.incidence > 1e-2 && hit.t > 1e-4 && fabs(hit.t - 0.15) > 1e-4);
				if (!clear || oracle_point_inside(&body, origin))
					continue;
				const bool expected = hit.triangle >= 0 && !hit.back && hit.t <= 0.15;
				CHECK_INT(depth[side][k] < 0, expected);
				if (expected)
					CHECK_NEAR(depth[side][k], -hit.t, 1e-5 / hit.incidence);
			}
		}
		CHECK(carom_world_stats(d.world).rays_outward > 0);
	}
	CHECK(negative > 100);
	oracle_free(&body);
	close_duo(&d);
	close_duo(&all);
	carom_release_mesh(torus);
	carom_release_mesh(huge);
	carom_destroy_context(context);
}

TEST(contacts, speculative_gap_between_flat_faces)
{
	carom_context *context = fixture_context(1);
	carom_mesh *ground = fixture_box_mesh(context, 2, 2, 2), *ball = fixture_sphere_mesh(context, 0.5, 8);
	carom_world_def def = plain_def();
	def.speculative_distance = 0.1;
	duo d;
	open_duo(&d, context, &def, fixture_of_mesh(ball), fixture_at(9, 0, 0), fixture_of_mesh(ground), fixture_at(0, 0, 0));
	for (int axis = 0; axis < 3; axis++) {
		for (int i = 0; i < 20; i++) {
			const double gap = 0.0007 + 0.01 * i;
			double p[3] = { 0.2, 0.3, 0.4 };
			p[axis] = 2.5 + gap;
			place(&d, fixture_at(p[0], p[1], p[2]), fixture_at(0, 0, 0));
			const carom_contact_view c = carom_world_contacts(d.world);
			CHECK_INT(c.count > 0, gap <= 0.1);
			double deepest = -1;
			for (int32_t k = 0; k < c.count; k++)
				deepest = fmax(deepest, c.data[k].depth);
			if (c.count > 0)
				CHECK_NEAR(deepest, -gap, 1e-5);
			CHECK_INT(carom_world_stats(d.world).colliding_pairs, 0);
		}
	}
	close_duo(&d);
	carom_release_mesh(ball);
	carom_release_mesh(ground);
	carom_destroy_context(context);
}

// ---- Numbers of triangles ----

/// The triangles of a soup in another order, each beginning with another corner. was: the number that each of them had.
static void shuffle_triangles(const fixture_soup *from, uint64_t *seed, fixture_soup *to, int32_t *was)
{
	*to = *from;
	for (int32_t i = 0; i < from->triangle_count; i++)
		was[i] = i;
	for (int32_t i = from->triangle_count - 1; i > 0; i--) {
		const int32_t other = (int32_t)(test_random(seed) % (uint64_t)(i + 1)), swapped = was[i];
		was[i] = was[other];
		was[other] = swapped;
	}
	for (int32_t i = 0; i < from->triangle_count; i++) {
		const int turn = (int)(test_random(seed) % 3);
		for (int k = 0; k < 3; k++)
			to->triangles[3 * i + k] = from->triangles[3 * was[i] + (k + turn) % 3];
	}
}

/// A corner of a box at a place, its three edges along the axes: the ray of its vertex goes along the diagonal exactly.
static carom_mesh *corner_probe(carom_context *context, double x, double y, double z)
{
	static fixture_soup soup;
	soup = (fixture_soup){ .vertex_count = 4, .triangle_count = 4, .triangles = { 0, 2, 1, 0, 3, 2, 0, 1, 3, 1, 2, 3 } };
	const double size = 0.0625, p[4][3] = { { x, y, z }, { x + size, y, z }, { x, y + size, z }, { x, y, z + size } };
	for (int i = 0; i < 12; i++)
		soup.vertices[i] = (float)p[i / 3][i % 3];
	return fixture_mesh(context, &soup);
}

static bool same_contact(const carom_contact *c, const carom_contact *d, const int32_t *was)
{
	return memcmp(c->point, d->point, sizeof c->point) == 0 && memcmp(c->normal, d->normal, sizeof c->normal) == 0 &&
		c->depth == d->depth && c->kind == d->kind && c->feature_a == d->feature_a &&
		(c->kind == CAROM_VERTEX_A ? c->feature_b == was[d->feature_b] : c->feature_b == d->feature_b);
}

/// Rays of a probe inside a body of two boxes that touch in a corner, or along an edge: some go exactly there. The contacts are what they
/// are, however the triangles are numbered, and the vertex whose ray meets the corner has one.
TEST(contacts, closed_parts_that_touch_in_a_corner)
{
	static fixture_soup boxes, shuffled;
	static int32_t was[FIXTURE_MAX_TRIANGLES];
	carom_context *context = fixture_context(1);
	uint64_t seed = 8;
	for (int i = 0; i < 24; i++) {
		boxes.vertex_count = boxes.triangle_count = 0;
		fixture_soup_box(&boxes, (v3d){ -0.5, -0.5, -0.5 }, 0.5, 0.5, 0.5);
		fixture_soup_box(&boxes, (v3d){ 0.5, 0.5, i % 2 ? -0.5 : 0.5 }, 0.5, 0.5, 0.5);
		carom_mesh *plain = fixture_mesh(context, &boxes), *probe = corner_probe(context, -0.25, -0.25, i % 2 ? -0.75 : -0.25);
		carom_world_def def = plain_def();
		def.contact_normal = i / 2 % 2 ? CAROM_NORMAL_TRIANGLE : CAROM_NORMAL_RAY;
		fixture_lab(&def)->ray_method = (carom_ray_method[]){ CAROM_RAYS_WIDE, CAROM_RAYS_BINARY, CAROM_RAYS_BASIC }[i / 4 % 3];
		shuffle_triangles(&boxes, &seed, &shuffled, was);
		carom_mesh *other = fixture_mesh(context, &shuffled);
		duo d, e;
		const carom_pose zero = fixture_at(0, 0, 0);
		open_duo(&d, context, &def, fixture_of_mesh(probe), zero, fixture_of_mesh(plain), zero);
		open_duo(&e, context, &def, fixture_of_mesh(probe), zero, fixture_of_mesh(other), zero);
		const carom_contact_view first = carom_world_contacts(d.world), second = carom_world_contacts(e.world);
		CHECK_INT(second.count, first.count);
		bool corner = false;
		for (int32_t k = 0; k < first.count; k++) {
			int32_t at = 0;
			while (at < second.count && !same_contact(&first.data[k], &second.data[at], was))
				at++;
			CHECK(at < second.count);
			corner = corner || (first.data[k].kind == CAROM_VERTEX_A && first.data[k].feature_a == 0);
		}
		CHECK(corner);
		close_duo(&d);
		close_duo(&e);
		carom_release_mesh(plain);
		carom_release_mesh(other);
		carom_release_mesh(probe);
	}
	carom_destroy_context(context);
}

// ---- Symmetry and invariance ----

static carom_contact_kind mirrored(carom_contact_kind kind)
{
	switch (kind) {
	case CAROM_VERTEX_A: return CAROM_VERTEX_B;
	case CAROM_VERTEX_B: return CAROM_VERTEX_A;
	default: return kind;
	}
}

TEST(contacts, swapped_bodies_swap_the_roles)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 16, 8, 0.4, 0.3), *ball = fixture_sphere_mesh(context, 0.6, 8);
	const carom_world_def def = plain_def();
	duo ab, ba;
	const carom_pose away = fixture_at(9, 0, 0);
	open_duo(&ab, context, &def, fixture_of_mesh(torus), fixture_at(0, 0, 0), fixture_of_mesh(ball), away);
	open_duo(&ba, context, &def, fixture_of_mesh(ball), away, fixture_of_mesh(torus), fixture_at(0, 0, 0));
	uint64_t seed = 14;
	int64_t compared = 0;
	for (int i = 0; i < 30; i++) {
		const carom_pose p = fixture_random_pose(&seed, 0.9), q = fixture_random_pose(&seed, 0.9);
		place(&ab, p, q);
		place(&ba, q, p);
		const carom_contact_view c = carom_world_contacts(ab.world), o = carom_world_contacts(ba.world);
		CHECK_INT(o.count, c.count);
		for (int32_t k = 0; k < c.count; k++) {
			if (c.data[k].kind != CAROM_VERTEX_A && c.data[k].kind != CAROM_VERTEX_B)
				continue;
			int found = 0;
			for (int32_t n = 0; n < o.count; n++) {
				if (o.data[n].kind != mirrored(c.data[k].kind) || o.data[n].feature_a != c.data[k].feature_b ||
					o.data[n].feature_b != c.data[k].feature_a)
					continue;
				found++;
				CHECK_NEAR(o.data[n].depth, c.data[k].depth, 0);
				CHECK_NEAR(v3d_length(v3d_add(fixture_normal(&o.data[n]), fixture_normal(&c.data[k]))), 0, 0);
				CHECK_NEAR(v3d_length(v3d_sub(fixture_point(&o.data[n]), fixture_point(&c.data[k]))), 0, 0);
			}
			CHECK_INT(found, 1);
			compared++;
		}
	}
	CHECK(compared > 300);
	close_duo(&ab);
	close_duo(&ba);
	carom_release_mesh(torus);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

/// The whole scene moved: nearly the same contacts. A few may differ, where a vertex lies within rounding of a surface.
static void check_moved(double far_away)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 16, 8, 0.4, 0.3);
	const carom_world_def def = plain_def();
	duo here, there;
	open_duo(&here, context, &def, fixture_of_mesh(torus), fixture_at(0, 0, 0), fixture_of_mesh(torus), fixture_at(9, 0, 0));
	open_duo(&there, context, &def, fixture_of_mesh(torus), fixture_at(0, 0, 0), fixture_of_mesh(torus), fixture_at(9, 0, 0));
	uint64_t seed = 15;
	int64_t total = 0, different = 0;
	for (int i = 0; i < 30; i++) {
		carom_pose frame = fixture_random_pose(&seed, 5);
		frame.position.x += far_away;
		frame.position.y -= far_away;
		const carom_pose p = fixture_random_pose(&seed, 0.8), q = fixture_random_pose(&seed, 0.8);
		place(&here, p, q);
		place(&there, fixture_compose(frame, p), fixture_compose(frame, q));
		const carom_contact_view c = carom_world_contacts(here.world), o = carom_world_contacts(there.world);
		total += c.count;
		for (int32_t k = 0, n = 0; k < c.count; k++) {
			while (n < o.count &&
				(o.data[n].kind < c.data[k].kind ||
					(o.data[n].kind == c.data[k].kind && o.data[n].feature_a < c.data[k].feature_a)))
				n++;
			int32_t m = n;
			while (m < o.count && o.data[m].kind == c.data[k].kind && o.data[m].feature_a == c.data[k].feature_a &&
				o.data[m].feature_b != c.data[k].feature_b)
				m++;
			if (m >= o.count || o.data[m].kind != c.data[k].kind || o.data[m].feature_a != c.data[k].feature_a) {
				different++;
				continue;
			}
			const carom_vec3 point = carom_transform_point(frame, to_vec3(fixture_point(&c.data[k])));
			const carom_vec3 normal = carom_rotate(frame.orientation, to_vec3(fixture_normal(&c.data[k])));
			different += fabs(o.data[m].depth - c.data[k].depth) > 1e-5;
			CHECK_NEAR(v3d_length(v3d_sub(to_v3d(point), fixture_point(&o.data[m]))), 0, 1e-5);
			CHECK_NEAR(v3d_length(v3d_sub(to_v3d(normal), fixture_normal(&o.data[m]))), 0, 1e-5);
		}
	}
	CHECK(total > 500);
	CHECK(different <= total / 200);
	close_duo(&here);
	close_duo(&there);
	carom_release_mesh(torus);
	carom_destroy_context(context);
}

TEST(contacts, a_moved_scene_has_the_same_contacts) { check_moved(0); }
TEST(contacts, a_scene_far_away_has_the_same_contacts) { check_moved(1e7); }

// ---- Boxes and height fields as bodies ----

TEST(contacts, box_bodies_on_meshes_and_height_fields)
{
	carom_context *context = fixture_context(1);
	carom_mesh *ground = fixture_box_mesh(context, 4, 4, 1), *field = NULL;
	static float heights[9 * 9];
	for (int i = 0; i < 81; i++)
		heights[i] = 1;
	REQUIRE(carom_create_height_field(context, 9, 9, heights, (double[2]){ 1, 1 }, 1, &field) == CAROM_SUCCESS);
	const carom_world_def def = plain_def();
	for (int i = 0; i < 4; i++) {
		const bool on_field = i & 1, box_first = i & 2;
		const carom_shape shapes[2] = { fixture_box(0.5, 0.3, 0.2), fixture_of_mesh(on_field ? field : ground) };
		const carom_pose at[2] = { fixture_at(0.13, 0.21, 1.19), on_field ? fixture_at(-4, -4, 0) : fixture_at(0, 0, 0) };
		const int first = box_first ? 0 : 1;
		duo d;
		open_duo(&d, context, &def, shapes[first], at[first], shapes[1 - first], at[1 - first]);
		const carom_contact_view c = carom_world_contacts(d.world);
		int up = 0;
		v3d lower = { INFINITY, INFINITY, 0 }, upper = { -INFINITY, -INFINITY, 0 };
		for (int32_t k = 0; k < c.count; k++) {
			if (!(fabs(c.data[k].depth - 0.01) < 1e-5))
				continue;
			CHECK_NEAR(c.data[k].normal[2], box_first ? 1 : -1, 1e-5);
			// Vertices of the box lie 0.01 below the ground's surface, vertices of the ground on it.
			CHECK_NEAR(c.data[k].point[2], c.data[k].kind == (box_first ? CAROM_VERTEX_A : CAROM_VERTEX_B) ? 0.99 : 1, 1e-6);
			lower = v3d_make(fmin(lower.x, c.data[k].point[0]), fmin(lower.y, c.data[k].point[1]), 0);
			upper = v3d_make(fmax(upper.x, c.data[k].point[0]), fmax(upper.y, c.data[k].point[1]), 0);
			up++;
		}
		CHECK(up >= 4);
		CHECK_NEAR(upper.x - lower.x, 1, 1e-5);
		CHECK_NEAR(upper.y - lower.y, 0.6, 1e-5);
		close_duo(&d);
	}
	carom_release_mesh(ground);
	carom_release_mesh(field);
	carom_destroy_context(context);
}

/// Promise 1 on random pairs: surfaces that intersect, or a body in another, give a contact; apart, none.
TEST(contacts, complete_against_the_oracle)
{
	carom_context *context = fixture_context(1);
	carom_mesh *meshes[4] = { fixture_torus_mesh(context, 12, 6, 0.3, 0.2), fixture_box_mesh(context, 1.2, 0.1, 0.2),
		fixture_sphere_mesh(context, 0.15, 5), fixture_box_mesh(context, 1, 1, 1) };
	carom_world_def def = plain_def();
	uint64_t seed = 55;
	int64_t touching = 0, apart = 0, completed = 0;
	for (int i = 0; i < 400; i++) {
		fixture_lab(&def)->exit_distance_test = i % 2;
		const carom_mesh *m[2] = { meshes[test_random(&seed) % 4], meshes[test_random(&seed) % 4] };
		const carom_pose pose[2] = { fixture_random_pose(&seed, 0.9), fixture_random_pose(&seed, 0.9) };
		duo d;
		open_duo(&d, context, &def, fixture_of_mesh(m[0]), pose[0], fixture_of_mesh(m[1]), pose[1]);
		oracle_shape shapes[2];
		oracle_body bodies[2];
		for (int k = 0; k < 2; k++) {
			const carom_mesh_report *r = carom_mesh_get_report(m[k]);
			shapes[k] = (oracle_shape){ carom_mesh_get_vertices(m[k]), r->vertex_count, carom_mesh_get_triangles(m[k]),
				r->triangle_count };
			bodies[k] = oracle_place(&shapes[k], &pose[k]);
		}
		const bool touch = oracle_solids_touch(&bodies[0], &bodies[1]);
		CHECK_INT(carom_world_contacts(d.world).count > 0, touch);
		touching += touch;
		apart += !touch;
		completed += carom_world_stats(d.world).pairs_crossing;
		for (int k = 0; k < 2; k++)
			oracle_free(&bodies[k]);
		close_duo(&d);
	}
	CHECK(touching > 50 && apart > 50 && completed > 10);
	for (int k = 0; k < 4; k++)
		carom_release_mesh(meshes[k]);
	carom_destroy_context(context);
}

// ---- Where contacts lie ----

enum { CRATES = 5 };

static double distance_of(carom_context *context, const carom_shape *shape, carom_pose pose, carom_vec3 point)
{
	bool found;
	carom_closest_point nearest;
	REQUIRE(carom_shape_closest_point(context, shape, &pose, point, INFINITY, &found, &nearest) == CAROM_SUCCESS && found);
	return nearest.distance;
}

/// A crate lies 1 mm deep on another one, beside the middle of it, turned about the vertical and tilted. Its contacts lie where both
/// bodies are, up to the little by which the depth of a point of the patch may be raised (geom/patch.h).
static void check_places(duo *d, const carom_shape *lower, const carom_shape *upper, double tilt, uint64_t *seed)
{
	const carom_pose below = fixture_at(0, 0, 0);
	carom_pose above = fixture_at(test_random_double(seed, -0.5, 0.5), test_random_double(seed, -0.5, 0.5), 0.999);
	const v3d axis = { test_random_double(seed, -1, 1), test_random_double(seed, -1, 1), 0 };
	const carom_pose yaw = { { 0, 0, 0 }, fixture_turn((v3d){ 0, 0, 1 }, test_random_double(seed, -3, 3)) };
	above.orientation = fixture_compose((carom_pose){ { 0, 0, 0 }, fixture_turn(axis, tilt) }, yaw).orientation;
	place(d, below, above);
	const carom_contact_view view = carom_world_contacts(d->world);
	for (int32_t i = 0; i < view.count; i++) {
		const carom_contact *c = &view.data[i];
		const double most = 2.5e-3 + 0.1 * fmax(c->depth, 0);
		CHECK(distance_of(d->context, lower, below, to_vec3(fixture_point(c))) < most);
		CHECK(distance_of(d->context, upper, above, to_vec3(fixture_point(c))) < most);
	}
}

TEST(contacts, lie_where_both_bodies_are)
{
	const float corner[24] = { -0.5f, -0.5f, -0.5f, 0.5f, -0.5f, -0.5f, -0.5f, 0.5f, -0.5f, 0.5f, 0.5f, -0.5f, -0.5f, -0.5f,
		0.5f, 0.5f, -0.5f, 0.5f, -0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f };
	carom_context *context = fixture_context(1);
	carom_mesh *hull = fixture_hull_mesh(context, corner, 8), *mesh = fixture_box_mesh(context, 0.5, 0.5, 0.5);
	const carom_shape crates[CRATES] = { fixture_hull(hull), fixture_cylinder(0.5, 0.5),
		{ .type = CAROM_BOX, .half_extents = { 0.4, 0.4, 0.4 }, .rounding = 0.1 }, fixture_of_mesh(mesh),
		fixture_box(0.5, 0.5, 0.5) };
	uint64_t seed = 29;
	for (int i = 0; i < CRATES * CRATES; i++) {
		const carom_shape *lower = &crates[i / CRATES], *upper = &crates[i % CRATES];
		duo d;
		open_duo(&d, context, NULL, *lower, fixture_at(0, 0, 0), *upper, fixture_at(0, 0, 0.999));
		for (int k = 0; k < 300; k++)
			check_places(&d, lower, upper, pow(10, test_random_double(&seed, -5, -1.3)), &seed);
		close_duo(&d);
	}
	carom_release_mesh(hull);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
