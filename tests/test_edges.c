/// Normals of contacts: edges that the surface does not have make none, and projection on the triangle that was met.
#include "fixture.h"
#include "frame/body.h"
#include "contact/contact_normal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double DEGREE = FIXTURE_PI / 180;

static carom_world_def edge_def(double angle)
{
	carom_world_def def = carom_default_world_def();
	def.max_contacts_per_pair = 0;
	def.internal_edge_angle = angle;
	def.contact_normal = CAROM_NORMAL_RAY; // patches have no use for edges within a plane (test_manifold.c)
	return def;
}

static v3d to_v3d(carom_vec3 v) { return (v3d){ v.x, v.y, v.z }; }

// ---- Sliding over a plate ----

/// A closed plate, its top in cells of two triangles. bulge: height of the middle above the border, a paraboloid.
static carom_mesh *make_plate(carom_context *context, int cells, double size, double bulge)
{
	float heights[32 * 32];
	REQUIRE(cells < 32);
	for (int y = 0; y <= cells; y++) {
		for (int x = 0; x <= cells; x++) {
			const double u = 2.0 * x / cells - 1, v = 2.0 * y / cells - 1;
			heights[y * (cells + 1) + x] = (float)(bulge * (1 - 0.5 * (u * u + v * v)));
		}
	}
	const double spacing[2] = { size / cells, size / cells };
	carom_mesh *mesh;
	REQUIRE(carom_create_height_field(context, cells + 1, cells + 1, heights, spacing, 0.5, &mesh) == CAROM_SUCCESS);
	return mesh;
}

/// What a body met while it was dragged.
typedef struct drag_result {
	double worst; // largest sine of an edge contact's normal to the vertical
	int contacts;
	int edges; // of these, contacts of edges; and of those:
	double deepest;
} drag_result;

/// Edges only: what vertices meet goes along the normals of vertices, and those on the plate's border lean.
static void note_contacts(const carom_world *world, drag_result *r)
{
	const carom_contact_view c = carom_world_contacts(world);
	for (int32_t i = 0; i < c.count; i++) {
		r->contacts++;
		if (c.data[i].kind != CAROM_EDGE_A && c.data[i].kind != CAROM_EDGE_B)
			continue;
		r->worst = fmax(r->worst, hypot(c.data[i].normal[0], c.data[i].normal[1]));
		r->deepest = fmax(r->deepest, c.data[i].depth);
		r->edges++;
	}
}

enum { DRAG_STEPS = 900 };

/// Drag a bar, longer than the plate is wide, over its flat top: it turns about the vertical, by way of
/// the lines of the plate, and rocks by up to a degree, 5 mm deep. Its ends hang over two borders of the plate.
/// ground_first: is the plate A?
static drag_result drag_bar(double angle, bool ground_first, carom_mesh *bar, carom_mesh *plate, carom_context *context)
{
	const carom_world_def def = edge_def(angle);
	carom_world *world = fixture_world(context, &def);
	const carom_pose ground = fixture_at(-1, -1, 0);
	carom_body_id id = { 0 };
	if (ground_first)
		fixture_add(world, fixture_of_mesh(plate), ground, CAROM_STATIC);
	id = fixture_add(world, fixture_of_mesh(bar), carom_pose_identity(), CAROM_DYNAMIC);
	if (!ground_first)
		fixture_add(world, fixture_of_mesh(plate), ground, CAROM_STATIC);
	drag_result r = { 0 };
	uint64_t seed = 31;
	for (int i = 0; i < DRAG_STEPS; i++) {
		const double share = (double)i / DRAG_STEPS;
		const carom_quat yaw = fixture_turn((v3d){ 0, 0, 1 }, 40 * DEGREE * (share - 0.5));
		const carom_quat rock = fixture_turn((v3d){ test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), 0.1 },
			DEGREE * test_random_double(&seed, 0, 1));
		const carom_pose turned = fixture_compose((carom_pose){ { 0, 0, 0 }, yaw }, (carom_pose){ { 0, 0, 0 }, rock });
		carom_pose pose = { { 0.6 * share - 0.3, test_random_double(&seed, -0.3, 0.3), 0.045 }, turned.orientation };
		REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
		fixture_step(world);
		fixture_check_views(world);
		note_contacts(world, &r);
	}
	carom_destroy_world(world);
	return r;
}

/// The classical stumbling: the common normal of an edge of the bar and an edge that is only drawn on the plate points sideways. With
/// suppression every normal is that of a face, which rocks by a degree at most.
TEST(edges, a_bar_slides_over_a_tessellated_plate)
{
	carom_context *context = fixture_context(1);
	carom_mesh *bar = fixture_box_mesh(context, 3, 0.05, 0.05), *plate = make_plate(context, 7, 2, 0);
	for (int first = 0; first < 2; first++) {
		const drag_result without = drag_bar(0, first, bar, plate, context);
		const drag_result with = drag_bar(5 * DEGREE, first, bar, plate, context);
		printf("plate is %s: largest sine %.4f without, %.4f with; contacts %d, %d; edges %d, %d; deepest %.4f, %.4f\n",
			first ? "A" : "B", without.worst, with.worst, without.contacts, with.contacts, without.edges, with.edges,
			without.deepest, with.deepest);
		// Of two edges that see each other, A's reports: only a plate that is A stumbles over its own lines.
		CHECK(!first || without.worst > 0.3);
		CHECK(with.worst <= sin(1.001 * DEGREE));
		CHECK(with.edges > DRAG_STEPS / 2);
		CHECK(with.deepest <= without.deepest + 1e-6);
	}
	carom_release_mesh(bar);
	carom_release_mesh(plate);
	carom_destroy_context(context);
}

/// Edges of right angles are edges: the contact of two that cross is the same to the bit.
TEST(edges, real_edges_are_left_alone)
{
	carom_context *context = fixture_context(1);
	carom_mesh *bar = fixture_box_mesh(context, 1, 0.1, 0.1);
	const carom_quat on_edge = fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 4);
	uint64_t seed = 5;
	int edges = 0;
	for (int i = 0; i < 200; i++) {
		const carom_quat across = fixture_turn((v3d){ 0, 0, 1 }, test_random_double(&seed, 0.6, 2.5));
		const carom_quat roll = fixture_turn((v3d){ 1, 0, 0 }, test_random_double(&seed, -0.3, 0.3));
		const carom_pose lower = { { 0, 0, 0 }, on_edge };
		carom_pose upper =
			fixture_compose((carom_pose){ { 0, 0, 0 }, across }, fixture_compose((carom_pose){ { 0, 0, 0 }, roll }, lower));
		upper.position = (carom_vec3){ test_random_double(&seed, -0.1, 0.1), 0, 0.2 * sqrt(2) - 0.02 };
		carom_contact_view view[2];
		carom_world *world[2];
		for (int k = 0; k < 2; k++) {
			const carom_world_def def = edge_def(k * 5 * DEGREE);
			world[k] = fixture_world(context, &def);
			fixture_add(world[k], fixture_of_mesh(bar), lower, CAROM_DYNAMIC);
			fixture_add(world[k], fixture_of_mesh(bar), upper, CAROM_DYNAMIC);
			fixture_step(world[k]);
			view[k] = carom_world_contacts(world[k]);
		}
		CHECK_INT(view[1].count, view[0].count);
		for (int32_t k = 0; k < view[0].count && k < view[1].count; k++) {
			const carom_contact *a = &view[0].data[k], *b = &view[1].data[k];
			CHECK(memcmp(a->normal, b->normal, sizeof a->normal) == 0 && a->depth == b->depth);
			CHECK(memcmp(a->point, b->point, sizeof a->point) == 0);
			edges += a->kind == CAROM_EDGE_A;
		}
		carom_destroy_world(world[0]);
		carom_destroy_world(world[1]);
	}
	CHECK(edges > 150);
	carom_release_mesh(bar);
	carom_destroy_context(context);
}

/// Two open sheets: where a cell of one is cut near its border, the shortest way out of that triangle is over the border, into its
/// neighbour in the same plane.
TEST(edges, open_sheets_part_along_their_normals)
{
	carom_context *context = fixture_context(1);
	carom_mesh *floor = fixture_sheet_mesh(context, 6, 2), *blade = fixture_sheet_mesh(context, 1, 1);
	double worst[2] = { 0, 0 };
	int contacts = 0;
	for (int k = 0; k < 2; k++) {
		const carom_world_def def = edge_def(k * 5 * DEGREE);
		carom_world *world = fixture_world(context, &def);
		fixture_add(world, fixture_of_mesh(floor), carom_pose_identity(), CAROM_STATIC);
		const carom_body_id id = fixture_add(world, fixture_of_mesh(blade), carom_pose_identity(), CAROM_DYNAMIC);
		uint64_t seed = 77;
		for (int i = 0; i < 400; i++) {
			// Upright, its lower border 10 mm through the floor.
			const carom_quat up = fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI / 2),
							 yaw = fixture_turn((v3d){ 0, 0, 1 }, test_random_double(&seed, 0, 2 * FIXTURE_PI));
			carom_pose pose = fixture_compose((carom_pose){ { 0, 0, 0 }, yaw }, (carom_pose){ { 0, 0, 0 }, up });
			pose.position = (carom_vec3){ test_random_double(&seed, -0.4, 0.4), test_random_double(&seed, -0.4, 0.4), 0.49 };
			REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
			fixture_step(world);
			const carom_contact_view c = carom_world_contacts(world);
			CHECK(c.count > 0);
			for (int32_t j = 0; j < c.count; j++) {
				CHECK_INT(c.data[j].kind, CAROM_FACES);
				worst[k] = fmax(worst[k], hypot(c.data[j].normal[0], c.data[j].normal[1]));
				contacts += k;
				if (k == 1)
					CHECK_NEAR(c.data[j].depth, 0.01, 1e-6);
			}
		}
		carom_destroy_world(world);
	}
	CHECK(contacts > 1000);
	CHECK(worst[0] > 0.9);
	CHECK(worst[1] < 1e-6);
	carom_release_mesh(floor);
	carom_release_mesh(blade);
	carom_destroy_context(context);
}

// ---- Which edges are internal ----

/// Two triangles that share the edge from (0, 0, 0) to (1, 0, 0), folded down by an angle (up where negative).
static carom_mesh *make_fold(carom_context *context, double angle)
{
	fixture_soup soup = { .vertex_count = 4, .triangle_count = 2 };
	const double corners[12] = { 0, 0, 0, 1, 0, 0, 0.4, 1, 0, 0.6, -cos(angle), -sin(angle) };
	const int32_t triangles[6] = { 0, 1, 2, 1, 0, 3 };
	for (int i = 0; i < 12; i++)
		soup.vertices[i] = (float)corners[i];
	memcpy(soup.triangles, triangles, sizeof triangles);
	return fixture_mesh(context, &soup);
}

TEST(edges, the_angle_and_the_side_decide)
{
	static const double bends[] = { -170, -90, -20, -6, -4, -1e-4, 0, 1e-4, 4, 6, 20, 90, 170, 180 };
	static const double angles[] = { 0, 1e-3, 5, 45, 120, 180 };
	carom_context *context = fixture_context(1);
	for (size_t i = 0; i < sizeof bends / sizeof *bends; i++) {
		carom_mesh *mesh = make_fold(context, bends[i] * DEGREE);
		for (size_t k = 0; k < sizeof angles / sizeof *angles; k++) {
			const double cosine = cr_internal_cosine(angles[k] * DEGREE);
			const bool flat = angles[k] > 0 && fabs(bends[i]) <= angles[k];
			// A hollow edge is none from outside; but an open surface has no outside.
			const bool internal = angles[k] > 0 && (bends[i] < 0 || flat);
			for (int32_t triangle = 0; triangle < 2; triangle++) {
				const v3d own = cr_collider_normal(&mesh->collider, triangle);
				const v3d across = cr_collider_normal(&mesh->collider, 1 - triangle);
				CHECK_INT(cr_edge_is_internal(&mesh->collider, 3 * triangle, own, across, cosine), internal);
				CHECK(!cr_edge_is_internal(&mesh->collider, 3 * triangle + 1, own, own, cosine)); // border
				CHECK_INT((int)cr_counting_edges(&mesh->collider, triangle, cosine), flat ? 6 : 7);
			}
		}
		carom_release_mesh(mesh);
	}
	carom_destroy_context(context);
}

// ---- Projection ----

/// Random ways through random triangles of a torus: after the push the point lies in the triangle's plane, and no direction gets there
/// with less.
TEST(edges, projection_is_the_shortest_way_out_of_the_plane)
{
	carom_context *context = fixture_context(1);
	carom_mesh *torus = fixture_torus_mesh(context, 16, 8, 0.4, 0.3);
	const cr_collider *c = &torus->collider;
	uint64_t seed = 19;
	for (int i = 0; i < 3000; i++) {
		const int32_t triangle = (int32_t)(test_random(&seed) % (uint64_t)carom_mesh_get_report(torus)->triangle_count);
		v3d t[3], d;
		cr_collider_triangle(c, triangle, t);
		const v3d n = cr_collider_normal(c, triangle);
		do {
			d = (v3d){ test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1) };
		} while (v3d_length(d) < 0.1 || v3d_dot(d, n) <= 0.01 * v3d_length(d));
		d = v3d_normalize(d);
		// From inside: the vertex behind the plane. Ahead of it: in front.
		const double depth = test_random_double(&seed, 0.001, 0.3) * (i % 2 ? 1 : -1);
		const v3d hit = v3d_scale(v3d_add(v3d_add(t[0], t[1]), t[2]), 1.0 / 3), origin = v3d_mad(hit, -depth, d);
		cr_way_out way = { (float)depth, { (float)d.x, (float)d.y, (float)d.z }, triangle };
		cr_project_way(c, &way);
		const v3d out = v3d_from_floats(way.direction);
		CHECK_INT(way.triangle, triangle);
		CHECK_NEAR(v3d_dot(out, n), 1, 1e-6);
		CHECK_NEAR(v3d_dot(n, v3d_sub(v3d_mad(origin, way.depth, out), t[0])), 0, 1e-6);
		CHECK((way.depth > 0) == (depth > 0) && fabs(way.depth) <= fabs(depth) + 1e-6);
		// Any other direction: the plane is at least as far.
		const v3d other = v3d_normalize(
			(v3d){ test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), test_random_double(&seed, 0.01, 1) });
		const double cosine = fabs(v3d_dot(other, n));
		if (cosine > 1e-6)
			CHECK(fabs(v3d_dot(n, v3d_sub(t[0], origin))) / cosine >= fabs(way.depth) - 1e-6);
	}
	carom_release_mesh(torus);
	carom_destroy_context(context);
}

/// The triangle's outward normal in the world that a contact of a sample or an edge names.
static v3d met_normal(const carom_contact *c, carom_mesh *const mesh[2], const carom_pose pose[2])
{
	const bool of_a = c->kind == CAROM_VERTEX_A || c->kind == CAROM_EDGE_A;
	const v3d n = cr_collider_normal(&mesh[of_a]->collider, of_a ? c->feature_b : c->feature_a);
	const v3d world = to_v3d(carom_rotate(pose[of_a].orientation, (carom_vec3){ n.x, n.y, n.z }));
	return of_a ? world : v3d_neg(world);
}

/// In a world: the same rays meet the same triangles; each normal is the triangle's, each depth that of the ray by the cosine.
TEST(edges, projected_contacts_of_meshes)
{
	carom_context *context = fixture_context(1);
	carom_mesh *const mesh[2] = { fixture_torus_mesh(context, 16, 8, 0.4, 0.3), fixture_box_mesh(context, 0.9, 0.12, 0.1) };
	uint64_t seed = 40;
	int vertices = 0, edges = 0, tilted = 0;
	for (int i = 0; i < 150; i++) {
		const carom_pose pose[2] = { fixture_random_pose(&seed, 0.2), fixture_random_pose(&seed, 1.0) };
		carom_contact_view view[2];
		carom_world *world[2];
		for (int k = 0; k < 2; k++) {
			carom_world_def def = edge_def(5 * DEGREE);
			fixture_lab(&def)->max_depth_ratio = 0;
			def.speculative_distance = 0.05;
			def.contact_normal = k ? CAROM_NORMAL_TRIANGLE : CAROM_NORMAL_RAY;
			world[k] = fixture_world(context, &def);
			for (int b = 0; b < 2; b++)
				fixture_add(world[k], fixture_of_mesh(mesh[b]), pose[b], CAROM_DYNAMIC);
			fixture_step(world[k]);
			fixture_check_views(world[k]);
			view[k] = carom_world_contacts(world[k]);
		}
		CHECK_INT(view[1].count, view[0].count);
		for (int32_t k = 0; k < view[0].count && k < view[1].count; k++) {
			const carom_contact *ray = &view[0].data[k], *projected = &view[1].data[k];
			CHECK(ray->kind == projected->kind && ray->feature_a == projected->feature_a);
			const v3d n = met_normal(projected, mesh, pose);
			// The contact of two edges, or of two triangles, has no triangle to project on.
			if (ray->depth == projected->depth && v3d_dot(fixture_normal(projected), n) < 1 - 1e-6) {
				CHECK(ray->kind > CAROM_VERTEX_B && memcmp(ray->normal, projected->normal, sizeof ray->normal) == 0);
				continue;
			}
			CHECK_NEAR(v3d_dot(fixture_normal(projected), n), 1, 1e-6);
			CHECK_NEAR(projected->depth, ray->depth * fabs(v3d_dot(fixture_normal(ray), n)), 1e-6);
			vertices += ray->kind <= CAROM_VERTEX_B;
			edges += ray->kind > CAROM_VERTEX_B;
			tilted += fabs(projected->depth) < 0.9 * fabs(ray->depth);
		}
		carom_destroy_world(world[0]);
		carom_destroy_world(world[1]);
	}
	printf("projected: %d of vertices, %d of edges, %d by more than a tenth\n", vertices, edges, tilted);
	CHECK(vertices > 300);
	CHECK(edges > 20);
	CHECK(tilted > 100);
	carom_release_mesh(mesh[0]);
	carom_release_mesh(mesh[1]);
	carom_destroy_context(context);
}

// ---- Round bodies ----

/// A sphere and a capsule over a bulge of small angles: each normal lies within the angle of the face it names, on edges too, because the nearest
/// point of a surface lies in the arc between the faces.
TEST(edges, round_bodies_roll_over_a_bulge)
{
	carom_context *context = fixture_context(1);
	carom_mesh *bulge = make_plate(context, 12, 2, 0.08);
	for (int k = 0; k < 2; k++) {
		const carom_world_def def = edge_def(5 * DEGREE);
		carom_world *world = fixture_world(context, &def);
		fixture_add(world, fixture_of_mesh(bulge), fixture_at(-1, -1, 0), CAROM_STATIC);
		const carom_body_id id =
			fixture_add(world, k ? fixture_capsule(0.1, 0.3) : fixture_sphere(0.1), carom_pose_identity(), CAROM_DYNAMIC);
		uint64_t seed = 4;
		int contacts = 0;
		double worst = 1;
		for (int i = 0; i < 2000; i++) {
			const carom_quat lie = fixture_turn((v3d){ test_random_double(&seed, -1, 1), 1, 0 }, FIXTURE_PI / 2);
			carom_pose pose = { .orientation = lie };
			pose.position = (carom_vec3){ test_random_double(&seed, -0.5, 0.5), test_random_double(&seed, -0.5, 0.5),
				test_random_double(&seed, 0.13, 0.18) };
			REQUIRE(carom_world_set_pose(world, id, &pose) == CAROM_SUCCESS);
			fixture_step(world);
			const carom_contact_view c = carom_world_contacts(world);
			for (int32_t j = 0; j < c.count; j++) {
				const v3d n = cr_collider_normal(&bulge->collider, c.data[j].feature_a);
				worst = fmin(worst, -v3d_dot(fixture_normal(&c.data[j]), n));
				contacts++;
			}
		}
		CHECK(contacts > 500);
		CHECK(worst >= cos(5 * DEGREE));
		carom_destroy_world(world);
	}
	carom_release_mesh(bulge);
	carom_destroy_context(context);
}
