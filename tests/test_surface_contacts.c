/// Surface contacts: against brute force, with sides tracked by hand; borders, folds, solids, shapes; what a user may ask for and get
/// wrong; failed allocations, recordings, snapshots, threads.
#include "fixture.h"

#include "carom/proximity.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "surface/side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 600, CELLS = 6 };

/// A world with some bodies that deform.
typedef struct stage {
	carom_context *context;
	carom_world *world;
	carom_mesh *mesh[3];
	carom_body_id body[3];
	int bodies;
	double places[3][3 * MOST];
} stage;

static void open_stage(stage *s, int threads, const carom_world_def *def)
{
	s->context = fixture_context(threads);
	s->world = fixture_world(s->context, def);
	s->bodies = 0;
}

static void close_stage(stage *s)
{
	carom_destroy_world(s->world);
	for (int i = 0; i < s->bodies; i++)
		carom_release_mesh(s->mesh[i]);
	carom_destroy_context(s->context);
}

static carom_body_def surface_def(const carom_mesh *mesh, carom_body_kind kind, double thickness)
{
	carom_body_def def = carom_default_body_def();
	def.kind = kind;
	def.shape = fixture_of_mesh(mesh);
	def.thickness = thickness;
	return def;
}

/// Add a surface, whose mesh the stage releases, and read its places.
static int add_surface(stage *s, carom_mesh *mesh, carom_body_kind kind, double thickness, carom_pose pose)
{
	const int i = s->bodies++;
	s->mesh[i] = mesh;
	carom_body_def def = surface_def(mesh, kind, thickness);
	def.pose = pose;
	REQUIRE(mesh->topology.vertex_count <= MOST);
	REQUIRE(carom_world_add_body(s->world, &def, &s->body[i]) == CAROM_SUCCESS);
	const m3d rotation = m3d_from_quat(pose.orientation);
	for (int32_t v = 0; v < mesh->topology.vertex_count; v++) {
		const v3d p = v3d_add(m3d_mul(&rotation, v3d_from_floats(mesh->topology.vertices + 3 * v)), pose.position);
		for (int k = 0; k < 3; k++)
			s->places[i][3 * v + k] = v3d_get(p, k);
	}
	return i;
}

static void shift(stage *s, int i, double x, double y, double z)
{
	const double by[3] = { x, y, z };
	for (int k = 0; k < 3 * s->mesh[i]->topology.vertex_count; k++)
		s->places[i][k] += by[k % 3];
}

static void put(stage *s, int i)
{
	const carom_strided end = { s->places[i], 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s->world, s->body[i], NULL, &end) == CAROM_SUCCESS);
}

/// Without a way there.
static void put_there(stage *s, int i)
{
	const carom_strided there = { s->places[i], 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s->world, s->body[i], &there, &there) == CAROM_SUCCESS);
}

static void step_all(stage *s)
{
	for (int i = 0; i < s->bodies; i++) {
		carom_body_def def;
		REQUIRE(carom_world_get_body_def(s->world, s->body[i], &def) == CAROM_SUCCESS);
		if (def.kind == CAROM_CLOTH || def.kind == CAROM_DEFORMABLE)
			put(s, i);
	}
	fixture_step(s->world);
}

static carom_mesh *sheet(stage *s, int cells, double size) { return fixture_sheet_mesh(s->context, cells, size); }

static v3d place(const stage *s, int i, int32_t vertex)
{
	return (v3d){ s->places[i][3 * vertex], s->places[i][3 * vertex + 1], s->places[i][3 * vertex + 2] };
}

static int index_of(const stage *s, carom_body_id id)
{
	int found = -1;
	for (int i = 0; i < s->bodies; i++)
		found = fixture_same_id(s->body[i], id) ? i : found;
	return found;
}

// ---- What every contact says holds ----

static void check_contact(const stage *s, const carom_surface_contact *c)
{
	const int a = index_of(s, c->body_a), b = index_of(s, c->body_b), of_a = c->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
	REQUIRE(a >= 0 && b >= 0);
	v3d mean[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
	double sum[2] = { 0, 0 };
	for (int k = 0; k < 4; k++) {
		CHECK(c->weight[k] >= 0);
		sum[k >= of_a] += c->weight[k];
		mean[k >= of_a] = v3d_mad(mean[k >= of_a], c->weight[k], place(s, k < of_a ? a : b, c->vertices[k]));
	}
	CHECK_NEAR(sum[0], 1, 1e-12);
	CHECK_NEAR(sum[1], 1, 1e-12);
	CHECK_NEAR(v3d_length(v3d_sub(mean[0], fixture_vector(c->point_a))), 0, 1e-12);
	CHECK_NEAR(v3d_length(v3d_sub(mean[1], fixture_vector(c->point_b))), 0, 1e-12);
	CHECK_NEAR(v3d_length(fixture_vector(c->normal)), 1, 1e-12);
	CHECK_NEAR(v3d_dot(fixture_vector(c->normal), v3d_sub(mean[0], mean[1])), c->distance, 1e-12);
	if (of_a == 1 || !(s->mesh[a]->report.closed || s->mesh[b]->report.closed)) // else it may be along the normal of a face
		CHECK_NEAR(v3d_length(v3d_sub(v3d_mad(mean[1], c->distance, fixture_vector(c->normal)), mean[0])), 0, 1e-12);
	CHECK(c->through == (c->distance < 0));
	CHECK(c->distance < c->thickness);
	CHECK((c->triangle >= 0) == (of_a == 1));
	CHECK(of_a == 1 || c->side == 0);
	if (c->triangle >= 0)
		CHECK(memcmp(&c->vertices[1], &s->mesh[b]->topology.triangles[3 * c->triangle], 3 * sizeof(int32_t)) == 0);
}

static int order_of(const carom_surface_contact *a, const carom_surface_contact *b)
{
	const uint32_t low_a = a->body_a.index1 < a->body_b.index1 ? a->body_a.index1 : a->body_b.index1;
	const uint32_t low_b = b->body_a.index1 < b->body_b.index1 ? b->body_a.index1 : b->body_b.index1;
	const uint32_t high_a = a->body_a.index1 + a->body_b.index1 - low_a, high_b = b->body_a.index1 + b->body_b.index1 - low_b;
	const int64_t left[8] = { low_a, high_a, a->kind, a->body_a.index1, a->vertices[0], a->vertices[1], a->vertices[2],
		a->vertices[3] };
	const int64_t right[8] = { low_b, high_b, b->kind, b->body_a.index1, b->vertices[0], b->vertices[1], b->vertices[2],
		b->vertices[3] };
	for (int k = 0; k < 8; k++) {
		if (left[k] != right[k])
			return left[k] < right[k] ? -1 : 1;
	}
	return 0;
}

static void check_all(const stage *s)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	for (int64_t i = 0; i < view.count; i++) {
		check_contact(s, &view.data[i]);
		CHECK(i == 0 || order_of(&view.data[i - 1], &view.data[i]) < 0);
	}
	CHECK_INT(carom_world_stats(s->world).surface_contacts, view.count + carom_world_surface_shape_contacts(s->world).count);
}

// ---- Brute force ----

static double kept(const stage *s, int a, int b)
{
	carom_body_def defs[2];
	REQUIRE(carom_world_get_body_def(s->world, s->body[a], &defs[0]) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_body_def(s->world, s->body[b], &defs[1]) == CAROM_SUCCESS);
	return 0.5 * (defs[0].thickness + defs[1].thickness);
}

static bool share(const int32_t *p, int count_p, const int32_t *q, int count_q)
{
	bool found = false;
	for (int i = 0; i < count_p * count_q; i++)
		found = found || p[i / count_q] == q[i % count_q];
	return found;
}

static double measure(const stage *s, carom_sweep_kind kind, int a, int b, const int32_t vertices[4], carom_proximity_pair *pair)
{
	double at[4][3];
	for (int k = 0; k < 4; k++)
		memcpy(at[k], &s->places[k < (kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2) ? a : b][3 * vertices[k]], sizeof at[k]);
	REQUIRE(carom_proximity_of_pair(s->context, kind, at, pair) == CAROM_SUCCESS);
	return sqrt(pair->distance2);
}

/// The least distance of a vertex from the triangles of a surface.
static double least_of(const stage *s, int a, int b, int32_t vertex)
{
	const cr_topology *t = &s->mesh[b]->topology;
	double least = INFINITY;
	for (int32_t i = 0; i < t->triangle_count; i++) {
		const int32_t *c = &t->triangles[3 * i];
		carom_proximity_pair pair;
		if (a == b && share(&vertex, 1, c, 3))
			continue;
		least = fmin(least, measure(s, CAROM_SWEEP_VERTEX_FACE, a, b, (const int32_t[4]){ vertex, c[0], c[1], c[2] }, &pair));
	}
	return least;
}

/// Each vertex that is near a surface has a contact at its least distance.
static int check_vertices(const stage *s, int a, int b)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	int near = 0;
	for (int32_t v = 0; v < s->mesh[a]->topology.vertex_count; v++) {
		const double least = least_of(s, a, b, v);
		double found = INFINITY;
		for (int64_t i = 0; i < view.count; i++) {
			const carom_surface_contact *c = &view.data[i];
			if (c->kind == CAROM_SWEEP_VERTEX_FACE && fixture_same_id(c->body_a, s->body[a]) &&
				fixture_same_id(c->body_b, s->body[b]) && c->vertices[0] == v)
				found = fmin(found, fabs(c->distance));
		}
		if (least < kept(s, a, b))
			CHECK_NEAR(found, least, 1e-12);
		near += least < kept(s, a, b);
	}
	return near;
}

enum { LISTED, NOT_LISTED, MAY_BE };

/// By the definition: is a pair of an edge of a closed mesh and one of cloth listed, with these nearest points? That of the cloth lies
/// between the normals of the mesh's faces there, or over one of them. Under one it depends on memory.
static int judge_ridge(const stage *s, int solid, int32_t p, int32_t q, v3d on_solid, v3d on_cloth)
{
	const cr_topology *t = &s->mesh[solid]->topology;
	const v3d apart = v3d_sub(on_cloth, on_solid);
	v3d normals[2];
	bool over = false, under = false;
	int count = 0;
	for (int32_t i = 0; i < 3 * t->triangle_count; i++) {
		const int32_t a = t->triangles[i], b = t->triangles[i - i % 3 + (i + 1) % 3];
		if (!((a == p && b == q) || (a == q && b == p)))
			continue;
		const int32_t *c = &t->triangles[i - i % 3];
		const v3d corners[3] = { place(s, solid, c[0]), place(s, solid, c[1]), place(s, solid, c[2]) };
		const v3d normal = v3d_normalize(v3d_cross(v3d_sub(corners[1], corners[0]), v3d_sub(corners[2], corners[0])));
		carom_triangle_point nearest;
		carom_vec3 foot = v3d_mad(on_cloth, -v3d_dot(apart, normal), normal);
		carom_point_triangle_distance(foot, corners, &nearest);
		const bool has_foot = v3d_length(v3d_sub(nearest.point, foot)) < 1e-9;
		over = over || (has_foot && v3d_dot(apart, normal) >= 0);
		under = under || (has_foot && v3d_dot(apart, normal) < 0);
		REQUIRE(count < 2);
		normals[count++] = normal;
	}
	if (count < 2)
		return LISTED;
	const double angle = acos(fmin(v3d_dot(normals[0], normals[1]), 1));
	bool in_cone = false;
	for (int sign = -1; sign <= 1; sign += 2) {
		const v3d out = v3d_scale(v3d_normalize(apart), sign);
		in_cone = in_cone || acos(fmin(v3d_dot(out, normals[0]), 1)) + acos(fmin(v3d_dot(out, normals[1]), 1)) < angle + 1e-6;
	}
	return in_cone ? LISTED : under ? MAY_BE : over ? LISTED : NOT_LISTED;
}

/// Is a pair of near edges listed?
static int judge_pair(const stage *s, int a, int b, const int32_t vertices[4], const carom_proximity_pair *pair)
{
	if (a == b || !s->mesh[b]->report.closed || s->mesh[a]->report.closed)
		return LISTED;
	v3d on_a = { 0, 0, 0 }, on_b = { 0, 0, 0 };
	for (int k = 0; k < 2; k++) {
		on_a = v3d_mad(on_a, pair->weight[k], place(s, a, vertices[k]));
		on_b = v3d_mad(on_b, pair->weight[2 + k], place(s, b, vertices[2 + k]));
	}
	return judge_ridge(s, b, vertices[2], vertices[3], on_b, on_a);
}

/// All pairs of edges of two surfaces whose nearest points are within both, and nearer than they keep, are listed, and no others but
/// deep ones. Those beside an edge of a closed mesh are not.
static int check_edges(const stage *s, int a, int b)
{
	const cr_topology *t = &s->mesh[a]->topology, *u = &s->mesh[b]->topology;
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	int expected = 0, may_be = 0, listed = 0;
	for (int32_t i = 0; i < 3 * t->triangle_count; i++) {
		const int32_t p = t->triangles[i], q = t->triangles[i - i % 3 + (i + 1) % 3];
		if (t->neighbours[i] >= 0 && p > q)
			continue; // an edge inside is met twice
		for (int32_t j = 0; j < 3 * u->triangle_count; j++) {
			const int32_t x = u->triangles[j], y = u->triangles[j - j % 3 + (j + 1) % 3];
			if (u->neighbours[j] >= 0 && x > y)
				continue;
			const int32_t vertices[4] = { p < q ? p : q, p < q ? q : p, x < y ? x : y, x < y ? y : x };
			carom_proximity_pair pair;
			const double distance = measure(s, CAROM_SWEEP_EDGE_EDGE, a, b, vertices, &pair);
			if (pair.type != CAROM_PROXIMITY_EDGE_EDGE || !(distance < kept(s, a, b)))
				continue;
			const int verdict = judge_pair(s, a, b, vertices, &pair);
			expected += verdict == LISTED;
			may_be += verdict == MAY_BE;
		}
	}
	for (int64_t i = 0; i < view.count; i++)
		listed += view.data[i].kind == CAROM_SWEEP_EDGE_EDGE && fixture_same_id(view.data[i].body_a, s->body[a]) &&
			fixture_same_id(view.data[i].body_b, s->body[b]) && fabs(view.data[i].distance) < kept(s, a, b);
	CHECK(listed >= expected && listed <= expected + may_be);
	CHECK(may_be == 0 || s->mesh[b]->report.closed);
	return expected;
}

static void rumple(stage *s, int i, uint64_t *seed, double size)
{
	for (int k = 0; k < 3 * s->mesh[i]->topology.vertex_count; k++)
		s->places[i][k] += test_random_double(seed, -size, size);
}

TEST(surface_contacts, all_that_is_near_is_listed)
{
	static stage s;
	uint64_t seed = 3;
	int near = 0, crossed = 0;
	open_stage(&s, 1, NULL);
	add_surface(&s, sheet(&s, CELLS, 1), CAROM_CLOTH, 0.05, fixture_at(0, 0, 0));
	add_surface(&s, sheet(&s, CELLS, 1), CAROM_CLOTH, 0.07, fixture_at(0.1, 0.05, 0.04));
	add_surface(&s, fixture_torus_mesh(s.context, 8, 6, 0.1, 0), CAROM_STATIC, 0, fixture_at(0.3, 0.2, -0.1));
	double rest[2][3 * MOST];
	memcpy(rest, s.places, sizeof rest);
	for (int step = 0; step < 6; step++) {
		memcpy(s.places, rest, sizeof rest);
		rumple(&s, 0, &seed, 0.03);
		rumple(&s, 1, &seed, 0.03);
		step_all(&s);
		check_all(&s);
		near += check_vertices(&s, 0, 1) + check_vertices(&s, 1, 0) + check_vertices(&s, 0, 2) + check_vertices(&s, 2, 0);
		crossed += check_edges(&s, 0, 1);
		check_edges(&s, 0, 2);
	}
	CHECK(near > 100 && crossed > 50);
	close_stage(&s);
}

// ---- Sides ----

static double height_of_wave(double x, double y) { return 0.12 * x * x - 0.1 * y * y + 0.05 * x; }

/// A sheet on a wave, fine enough for heights between vertices.
static void make_wave(stage *s, int i)
{
	for (int32_t v = 0; v < s->mesh[i]->topology.vertex_count; v++)
		s->places[i][3 * v + 2] = height_of_wave(s->places[i][3 * v], s->places[i][3 * v + 1]);
}

/// Checks that just those vertices of the small sheet are through that began above the wave and are below, or the other way round.
static int check_sides(const stage *s, bool above)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	int wrong = 0;
	for (int32_t v = 0; v < s->mesh[1]->topology.vertex_count; v++) {
		const v3d at = place(s, 1, v);
		const double height = at.z - height_of_wave(at.x, at.y);
		if (fabs(height) < 0.01)
			continue; // the wave is made of triangles
		bool through = false;
		for (int64_t i = 0; i < view.count; i++) {
			const carom_surface_contact *c = &view.data[i];
			if (c->kind != CAROM_SWEEP_VERTEX_FACE || !fixture_same_id(c->body_a, s->body[1]) || c->vertices[0] != v)
				continue;
			through = through || c->through;
			CHECK(!c->through || c->distance <= -0.8 * fabs(height));
			CHECK_INT(c->side, above ? 1 : -1);
		}
		CHECK(through == ((height > 0) != above));
		wrong += through;
	}
	return wrong;
}

TEST(surface_contacts, sides_are_remembered_however_deep)
{
	for (int above = 0; above < 2; above++) {
		static stage s;
		uint64_t seed = 5;
		int through = 0;
		open_stage(&s, 1, NULL);
		add_surface(&s, sheet(&s, 20, 3), CAROM_CLOTH, 0.02, fixture_at(0, 0, 0));
		make_wave(&s, 0);
		add_surface(&s, sheet(&s, 4, 0.4), CAROM_CLOTH, 0.02, fixture_at(0, 0, above ? 0.1 : -0.1));
		step_all(&s);
		double at[3] = { 0, 0, above ? 0.1 : -0.1 };
		for (int step = 0; step < 120; step++) {
			double to[3] = { test_random_double(&seed, -0.9, 0.9), test_random_double(&seed, -0.9, 0.9),
				test_random_double(&seed, -0.35, 0.35) };
			for (int k = 0; k < 3; k++)
				to[k] = at[k] + 0.3 * (to[k] - at[k]);
			shift(&s, 1, to[0] - at[0], to[1] - at[1], to[2] - at[2]);
			memcpy(at, to, sizeof at);
			step_all(&s);
			check_all(&s);
			through += check_sides(&s, above);
		}
		CHECK(through > 300);
		close_stage(&s);
	}
}

TEST(surface_contacts, one_step_through_and_back_is_undone)
{
	static stage s;
	open_stage(&s, 1, NULL);
	add_surface(&s, sheet(&s, 8, 2), CAROM_CLOTH, 0.02, fixture_at(0, 0, 0));
	add_surface(&s, sheet(&s, 3, 0.5), CAROM_CLOTH, 0.02, fixture_at(0.03, 0.05, 0.5));
	step_all(&s);
	CHECK_INT(carom_world_surface_contacts(s.world).count, 0);
	shift(&s, 1, 0, 0, -1); // far beyond the thickness at once
	step_all(&s);
	check_all(&s);
	CHECK(fixture_count_through(s.world) >= 16);
	const carom_surface_contact_view view = carom_world_surface_contacts(s.world);
	int deep = 0;
	for (int64_t i = 0; i < view.count; i++)
		deep += view.data[i].kind == CAROM_SWEEP_VERTEX_FACE && fabs(view.data[i].distance + 0.5) < 1e-9;
	CHECK(deep >= 16);
	for (int step = 0; step < 5; step++) {
		shift(&s, 1, 0.02, 0, 0.05);
		step_all(&s);
		CHECK(fixture_count_through(s.world) >= 16);
	}
	shift(&s, 1, 0, 0, 0.5);
	step_all(&s);
	CHECK_INT(fixture_count_through(s.world), 0);
	shift(&s, 1, 0, 0, -0.245); // comes down again, and is still above
	step_all(&s);
	CHECK(carom_world_surface_contacts(s.world).count > 0);
	CHECK_INT(fixture_count_through(s.world), 0);
	close_stage(&s);
}

TEST(surface_contacts, a_body_that_is_put_elsewhere_forgets)
{
	static stage s;
	open_stage(&s, 1, NULL);
	add_surface(&s, sheet(&s, 8, 2), CAROM_CLOTH, 0.02, fixture_at(0, 0, 0));
	add_surface(&s, sheet(&s, 3, 0.5), CAROM_CLOTH, 0.02, fixture_at(0.03, 0.05, 0.2));
	step_all(&s);
	shift(&s, 1, 0, 0, -0.4);
	step_all(&s);
	CHECK(fixture_count_through(s.world) >= 16);
	shift(&s, 1, 0, 0, -3);
	put_there(&s, 1);
	fixture_step(s.world);
	CHECK_INT(carom_world_surface_contacts(s.world).count, 0);
	close_stage(&s);
}

/// A body that its filter takes out for a step has sides by where it is then, and still meets itself.
TEST(surface_contacts, a_body_that_its_filter_takes_out_forgets)
{
	static stage s;
	open_stage(&s, 1, NULL);
	add_surface(&s, sheet(&s, 8, 2), CAROM_CLOTH, 0.02, fixture_at(0, 0, 0));
	add_surface(&s, sheet(&s, 8, 0.5), CAROM_CLOTH, 0.02, fixture_at(0.03, 0.05, 0.2));
	step_all(&s);
	for (int32_t v = 0; v < s.mesh[1]->topology.vertex_count; v++) { // fold it
		if (s.places[1][3 * v] < 0.1)
			continue;
		s.places[1][3 * v] = 0.2 - s.places[1][3 * v];
		s.places[1][3 * v + 2] += 0.013;
	}
	shift(&s, 1, 0, 0, -0.21);
	step_all(&s);
	int through[3], within[3] = { 0, 0, 0 }, between[3] = { 0, 0, 0 };
	for (int step = 0; step < 3; step++) {
		const carom_surface_contact_view view = carom_world_surface_contacts(s.world);
		through[step] = 0;
		for (int64_t i = 0; i < view.count; i++) {
			const bool own = fixture_same_id(view.data[i].body_a, view.data[i].body_b);
			within[step] += own;
			between[step] += !own;
			through[step] += !own && view.data[i].through;
		}
		REQUIRE(carom_world_set_filter(s.world, s.body[1], 1, step == 0 ? 0 : UINT64_MAX, 0) == CAROM_SUCCESS);
		step_all(&s);
	}
	CHECK(through[0] >= 16 && between[0] >= 16 && within[0] > 0);
	CHECK_INT(between[1], 0);
	CHECK_INT(within[1], within[0]);
	CHECK(between[2] >= 16);
	CHECK_INT(through[2], 0);
	close_stage(&s);
}

TEST(surface_contacts, round_the_border_is_no_way_through)
{
	static stage s;
	open_stage(&s, 1, NULL);
	add_surface(&s, sheet(&s, 4, 1), CAROM_CLOTH, 0.1, fixture_at(0, 0, 0));
	add_surface(&s, sheet(&s, 1, 0.02), CAROM_CLOTH, 0, fixture_at(0.45, 0.1, 0.04));
	int beside = 0;
	for (int step = 0; step < 60; step++) { // half a turn about the border at x = 0.5
		const double angle = 0.5 * FIXTURE_PI - FIXTURE_PI * step / 30;
		const v3d at = step < 30 ? (v3d){ 0.5 + 0.04 * cos(angle), 0.1, 0.04 * sin(angle) }
								 : (v3d){ 0.5 - 0.01 * (step - 30), 0.1, -0.04 };
		const v3d from = v3d_scale(v3d_add(place(&s, 1, 0), place(&s, 1, 3)), 0.5);
		shift(&s, 1, at.x - from.x, at.y - from.y, at.z - from.z);
		step_all(&s);
		check_all(&s);
		CHECK_INT(fixture_count_through(s.world), 0);
		const carom_surface_contact_view view = carom_world_surface_contacts(s.world);
		CHECK(view.count > 0);
		for (int64_t i = 0; i < view.count; i++)
			beside += view.data[i].kind == CAROM_SWEEP_VERTEX_FACE && view.data[i].side == 0;
	}
	CHECK(beside > 20);
	close_stage(&s);
}

TEST(surface_contacts, closed_meshes_push_outward)
{
	static stage s;
	open_stage(&s, 1, NULL);
	add_surface(&s, fixture_sphere_mesh(s.context, 0.5, 12), CAROM_STATIC, 0, fixture_at(0, 0, 0));
	add_surface(&s, sheet(&s, 4, 0.1), CAROM_CLOTH, 0.1, fixture_at(0, 0, 0.47)); // begins inside
	step_all(&s);
	check_all(&s);
	const carom_surface_contact_view view = carom_world_surface_contacts(s.world);
	CHECK(fixture_count_through(s.world) >= 25);
	for (int64_t i = 0; i < view.count; i++)
		CHECK(view.data[i].kind != CAROM_SWEEP_VERTEX_FACE ||
			view.data[i].normal.z * (index_of(&s, view.data[i].body_a) == 1 ? 1 : -1) > 0.8);
	close_stage(&s);
}

/// A sheet that is turned about the vertical is pressed on top of a ball. Its edges lie beside edges of the ball that are nearly
/// parallel to them: the normal of both is along the ball there. Every contact leads up.
TEST(surface_contacts, edges_beside_edges_of_a_mesh_push_out_of_it)
{
	uint64_t seed = 11;
	int edges = 0, beside = 0;
	for (int round = 0; round < 16; round++) {
		static stage s;
		open_stage(&s, 1, NULL);
		add_surface(
			&s, fixture_sphere_mesh(s.context, 0.4, 12), round % 2 ? CAROM_DEFORMABLE : CAROM_STATIC, 0, fixture_at(0, 0, 0));
		const carom_pose above = { { 0, 0, 0.42 }, fixture_turn((v3d){ 0, 0, 1 }, test_random_double(&seed, 0, 3)) };
		add_surface(&s, sheet(&s, CELLS, 0.5), CAROM_CLOTH, 0.06, above);
		step_all(&s);
		for (int step = 0; step < 3; step++) {
			shift(&s, 1, 0, 0, -0.01);
			step_all(&s);
			check_all(&s);
			const carom_surface_contact_view view = carom_world_surface_contacts(s.world);
			for (int64_t i = 0; i < view.count; i++) {
				const carom_surface_contact *c = &view.data[i];
				const v3d apart = v3d_sub(fixture_vector(c->point_a), fixture_vector(c->point_b));
				CHECK(c->normal.z * (index_of(&s, c->body_a) == 1 ? 1 : -1) > 0.5);
				edges += c->kind == CAROM_SWEEP_EDGE_EDGE;
				beside += v3d_length(v3d_cross(apart, fixture_vector(c->normal))) > 0.5 * v3d_length(apart);
			}
		}
		close_stage(&s);
	}
	CHECK(edges > 500 && beside > 50);
}

// ---- A surface with itself ----

/// Bend a long sheet by a half turn about the line x = 0: its second half lies over its first, gap above it.
static void fold(stage *s, int i, double gap)
{
	const double radius = 0.5 * gap;
	for (int32_t v = 0; v < s->mesh[i]->topology.vertex_count; v++) {
		const double x = s->mesh[i]->topology.vertices[3 * v];
		const double angle = fmin(fmax(x / radius, 0), FIXTURE_PI), beyond = fmax(x - FIXTURE_PI * radius, 0);
		s->places[i][3 * v] = x < 0 ? x : radius * sin(angle) - beyond;
		s->places[i][3 * v + 2] = x < 0 ? 0 : radius * (1 - cos(angle));
	}
}

/// A box with a tooth on each edge of its top.
static carom_mesh *toothed_box(carom_context *context)
{
	float vertices[3 * 12];
	int32_t triangles[3 * 20];
	int count = 0;
	for (int i = 0; i < 8; i++)
		for (int k = 0; k < 3; k++)
			vertices[3 * i + k] = (i >> k & 1 ? 0.5f : -0.5f);
	static const int32_t round[4] = { 4, 5, 7, 6 }; // the corners of the top
	for (int i = 0; i < 4; i++) {
		const int32_t p = round[i], q = round[(i + 1) % 4], middle = 8 + i;
		for (int k = 0; k < 3; k++)
			vertices[3 * middle + k] = 0.5f * (vertices[3 * p + k] + vertices[3 * q + k]) + (k == 2 ? 0.1f : 0);
		const int32_t sides[4][3] = { { p - 4, q - 4, q }, { p - 4, q, middle }, { p - 4, middle, p }, { p, middle, q } };
		memcpy(triangles + 3 * (4 + count), sides, sizeof sides);
		count += 4;
	}
	static const int32_t caps[4][3] = { { 4, 5, 7 }, { 4, 7, 6 }, { 0, 3, 1 }, { 0, 2, 3 } };
	memcpy(triangles, caps, sizeof caps);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 12;
	def.triangles = triangles;
	def.triangle_count = count + 4;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

/// An edge between a face and one without an area has no cone of normals.
TEST(surface_contacts, faces_without_an_area_give_no_normal)
{
	uint64_t seed = 7;
	int edges = 0;
	for (int i = 0; i < 40; i++) {
		stage s;
		open_stage(&s, 1, NULL);
		carom_mesh *box = toothed_box(s.context);
		CHECK(carom_mesh_get_report(box)->closed);
		add_surface(&s, box, CAROM_DEFORMABLE, 0.05, fixture_at(0, 0, 0));
		// An edge of the sheet passes by an edge of the top, less than a millionth beside it.
		carom_pose beside = fixture_random_pose(&seed, 4e-7);
		const carom_vec3 on_edge = carom_rotate(beside.orientation, (carom_vec3){ 0.02, 0, 0 });
		beside.position.x += 0.5 - on_edge.x;
		beside.position.y += 0.1 - on_edge.y;
		beside.position.z += 0.5 - on_edge.z;
		add_surface(&s, sheet(&s, CELLS, 0.5), CAROM_CLOTH, 0.05, beside);
		for (int k = 8; k < 12; k++)
			s.places[0][3 * k + 2] = 0.5; // the teeth are pressed flat
		step_all(&s);
		const carom_surface_contact_view view = carom_world_surface_contacts(s.world);
		for (int64_t k = 0; k < view.count; k++) {
			CHECK_NEAR(v3d_length(view.data[k].normal), 1, 1e-9);
			edges += view.data[k].kind == CAROM_SWEEP_EDGE_EDGE;
		}
		close_stage(&s);
	}
	CHECK(edges > 40);
}

TEST(surface_contacts, a_fold_meets_itself_and_neighbours_do_not)
{
	static stage s;
	open_stage(&s, 1, NULL);
	add_surface(&s, sheet(&s, 20, 2), CAROM_CLOTH, 0.15, fixture_at(0, 0, 0)); // edges of 0.1
	step_all(&s);
	CHECK_INT(carom_world_surface_contacts(s.world).count, 0);
	fold(&s, 0, 0.3);
	put_there(&s, 0);
	fixture_step(s.world);
	CHECK_INT(carom_world_surface_contacts(s.world).count, 0);
	fold(&s, 0, 0.12);
	put_there(&s, 0);
	fixture_step(s.world);
	check_all(&s);
	CHECK(carom_world_surface_contacts(s.world).count > 100);
	CHECK_INT(fixture_count_through(s.world), 0);
	// The upper layer sinks through the lower one, and comes back.
	for (int32_t v = 0; v < s.mesh[0]->topology.vertex_count; v++)
		s.places[0][3 * v + 2] -= s.mesh[0]->topology.vertices[3 * v] > 0.5 ? 0.3 : 0;
	step_all(&s);
	check_all(&s);
	const int deep = fixture_count_through(s.world);
	CHECK(deep > 50);
	step_all(&s);
	const int still = fixture_count_through(s.world);
	CHECK(abs(still - deep) < deep / 50); // edges, which now go by what the vertices remember
	step_all(&s);
	CHECK_INT(fixture_count_through(s.world), still);
	fold(&s, 0, 0.12);
	step_all(&s);
	CHECK_INT(fixture_count_through(s.world), 0);
	close_stage(&s);
}

TEST(surface_contacts, a_solid_meets_itself)
{
	static stage s;
	open_stage(&s, 1, NULL);
	add_surface(&s, fixture_torus_mesh(s.context, 24, 8, 0.25, 0), CAROM_DEFORMABLE, 0.1, fixture_at(0, 0, 0));
	step_all(&s);
	CHECK_INT(carom_world_surface_contacts(s.world).count, 0);
	// Squeeze the ring until the inner sides of its two halves meet, and then pass each other.
	double rest[3 * MOST];
	memcpy(rest, s.places[0], sizeof rest);
	for (int step = 0; step < 2; step++) {
		for (int32_t v = 0; v < s.mesh[0]->topology.vertex_count; v++)
			s.places[0][3 * v] =
				rest[3 * v] + (rest[3 * v] > 0 ? -1 : 1) * fmin(fabs(rest[3 * v]), 1) * (step == 0 ? 0.72 : 0.8);
		step_all(&s);
		check_all(&s);
		CHECK(step == 0 || carom_world_surface_contacts(s.world).count > 10);
	}
	close_stage(&s);
}

// ---- Shapes ----

static double distance_from(const carom_shape *shape, const carom_pose *pose, v3d point)
{
	const m3d rotation = m3d_from_quat(pose->orientation);
	const v3d local = m3d_tmul(&rotation, v3d_sub(point, pose->position));
	if (shape->type == CAROM_PLANE)
		return local.z;
	const cr_convex convex = cr_convex_of(shape);
	v3d nearest, normal;
	return cr_convex_distance(&convex, local, &nearest, &normal);
}

TEST(surface_contacts, vertices_near_shapes_are_listed)
{
	const carom_shape shapes[6] = { fixture_sphere(0.4), fixture_box(0.3, 0.4, 0.2), fixture_capsule(0.2, 0.3),
		fixture_cylinder(0.3, 0.2), fixture_ellipsoid(0.4, 0.3, 0.2), { .type = CAROM_PLANE } };
	uint64_t seed = 7;
	for (int kind = 0; kind < 6; kind++) {
		static stage s;
		open_stage(&s, 1, NULL);
		add_surface(&s, sheet(&s, 8, 1.2), CAROM_CLOTH, 0.1, fixture_at(0, 0, 0));
		const carom_pose pose = fixture_random_pose(&seed, 0.1);
		const carom_body_id other = fixture_add(s.world, shapes[kind], pose, CAROM_STATIC);
		rumple(&s, 0, &seed, 0.05);
		put_there(&s, 0);
		fixture_step(s.world);
		check_all(&s);
		const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(s.world);
		int64_t listed = 0, near = 0;
		for (int64_t i = 0; i < view.count; i++) {
			const carom_surface_shape_contact *c = &view.data[i];
			CHECK(fixture_same_id(c->body_a, s.body[0]) && fixture_same_id(c->body_b, other));
			CHECK_NEAR(v3d_length(fixture_vector(c->normal)), 1, 1e-12);
			CHECK(c->distance < c->thickness && c->thickness == 0.05);
			listed += c->vertices[1] < 0;
			if (c->vertices[1] >= 0)
				continue;
			const double nearest = distance_from(&shapes[kind], &pose, place(&s, 0, c->vertices[0]));
			if (c->led) // along a way that others share
				CHECK(c->distance < nearest + 1e-5);
			else
				CHECK_NEAR(c->distance, nearest, 1e-5);
		}
		for (int32_t v = 0; v < s.mesh[0]->topology.vertex_count; v++)
			near += distance_from(&shapes[kind], &pose, place(&s, 0, v)) < 0.05;
		CHECK_INT(listed, near);
		CHECK(near > 3);
		close_stage(&s);
	}
}

TEST(surface_contacts, a_thin_plate_sends_back_to_where_it_came_from)
{
	static stage s;
	open_stage(&s, 1, NULL);
	add_surface(&s, sheet(&s, 2, 0.2), CAROM_CLOTH, 0.02, fixture_at(0, 0, 0.055));
	const carom_body_id plate = fixture_add(s.world, fixture_box(1, 1, 0.05), fixture_at(0, 0, 0), CAROM_KINEMATIC);
	for (int step = 0; step < 10; step++) { // down to 0.005 above the lower side
		step_all(&s);
		const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(s.world);
		REQUIRE(view.count >= 9);
		for (int64_t i = 0; i < view.count; i++) {
			CHECK_NEAR(view.data[i].normal.z, 1, 1e-9);
			CHECK_NEAR(view.data[i].distance, 0.005 - 0.01 * step, 1e-6);
			CHECK_INT(view.data[i].age, view.data[i].vertices[1] < 0 ? step : view.data[i].age);
		}
		shift(&s, 0, 0, 0, -0.01);
	}
	// The plate turns over with what is in it.
	const carom_pose turned = { { 0, 0, 0 }, fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI) };
	REQUIRE(carom_world_set_pose(s.world, plate, &turned) == CAROM_SUCCESS);
	for (int32_t v = 0; v < s.mesh[0]->topology.vertex_count; v++) {
		s.places[0][3 * v + 1] *= -1;
		s.places[0][3 * v + 2] = 0.035;
	}
	step_all(&s);
	const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(s.world);
	for (int64_t i = 0; i < view.count; i++)
		CHECK_NEAR(view.data[i].normal.z, -1, 1e-9);
	close_stage(&s);
}

// ---- With a solver ----

/// Each contact moves its features apart, all by what it lacks.
static void solve_contacts(stage *s)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_contact *c = &view.data[i];
		const int a = index_of(s, c->body_a), b = index_of(s, c->body_b), of_a = c->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
		double squares = 0, now = 0;
		for (int k = 0; k < 4; k++) {
			const int body = k < of_a ? a : b;
			squares += (body == 1) * c->weight[k] * c->weight[k];
			now += (k < of_a ? 1 : -1) * c->weight[k] * v3d_dot(fixture_vector(c->normal), place(s, body, c->vertices[k]));
		}
		for (int k = 0; k < 4 && now < c->thickness; k++) {
			const double by = (k < of_a ? 1 : -1) * c->weight[k] / squares * (c->thickness - now);
			if ((k < of_a ? a : b) != 1)
				continue; // the lower sheet is held
			s->places[1][3 * c->vertices[k]] += by * c->normal.x;
			s->places[1][3 * c->vertices[k] + 1] += by * c->normal.y;
			s->places[1][3 * c->vertices[k] + 2] += by * c->normal.z;
		}
	}
}

TEST(surface_contacts, a_solver_undoes_a_deep_crossing)
{
	static stage s;
	uint64_t seed = 11;
	open_stage(&s, 1, NULL);
	add_surface(&s, sheet(&s, 12, 2), CAROM_CLOTH, 0.04, fixture_at(0, 0, 0));
	make_wave(&s, 0);
	add_surface(&s, sheet(&s, 6, 0.6), CAROM_CLOTH, 0.04, fixture_at(0, 0, 0.2));
	step_all(&s);
	shift(&s, 1, 0.1, 0, -0.5);
	rumple(&s, 1, &seed, 0.02);
	step_all(&s);
	CHECK(fixture_count_through(s.world) > 40);
	for (int round = 0; round < 20; round++) {
		solve_contacts(&s);
		step_all(&s);
	}
	CHECK_INT(fixture_count_through(s.world), 0);
	for (int32_t v = 0; v < s.mesh[1]->topology.vertex_count; v++)
		CHECK(place(&s, 1, v).z > height_of_wave(place(&s, 1, v).x, place(&s, 1, v).y) + 0.01);
	close_stage(&s);
}

// ---- Who has them ----

static int64_t count_pair(const carom_body_def *a, const carom_body_def *b, const carom_world_def *def, carom_context *context)
{
	carom_world *world = fixture_world(context, def);
	carom_body_id id;
	REQUIRE(carom_world_add_body(world, a, &id) == CAROM_SUCCESS);
	REQUIRE(carom_world_add_body(world, b, &id) == CAROM_SUCCESS);
	fixture_step(world);
	const int64_t count = carom_world_surface_contacts(world).count + carom_world_surface_shape_contacts(world).count;
	carom_destroy_world(world);
	return count;
}

static bool refuse_all(carom_body_id a, carom_body_id b, uint64_t data_a, uint64_t data_b, void *user)
{
	(*(atomic_int *)user)++;
	CHECK(a.index1 < b.index1);
	(void)data_a, (void)data_b;
	return false;
}

TEST(surface_contacts, obey_kinds_flags_and_filters)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_sheet_mesh(context, 2, 1), *ball = fixture_sphere_mesh(context, 0.5, 6);
	const carom_body_def cloth = surface_def(mesh, CAROM_CLOTH, 0.1);
	carom_body_def other = cloth;
	other.pose = fixture_at(0.1, 0.1, 0.03);
	CHECK(count_pair(&cloth, &other, NULL, context) > 0);
	other.thickness = 0;
	CHECK(count_pair(&cloth, &other, NULL, context) > 0); // half of 0.1
	other.contacts = false;
	CHECK_INT(count_pair(&cloth, &other, NULL, context), 0);
	other.contacts = true;
	other.mask = 2;
	CHECK_INT(count_pair(&cloth, &other, NULL, context), 0);
	for (int box = 0; box < 2; box++) {
		other = carom_default_body_def();
		other.kind = CAROM_STATIC;
		other.shape = box ? fixture_box(0.5, 0.5, 0.5) : fixture_of_mesh(ball);
		other.pose = fixture_at(0, 0, box ? -0.53 : -0.5);
		CHECK(count_pair(&cloth, &other, NULL, context) > 0);
		CHECK(count_pair(&other, &cloth, NULL, context) > 0);
		other.thickness = 1; // not read
		CHECK(count_pair(&cloth, &other, NULL, context) == count_pair(&other, &cloth, NULL, context));
		atomic_int asked = 0;
		carom_world_def def = carom_default_world_def();
		def.pair_filter = refuse_all;
		def.filter_user = &asked;
		CHECK_INT(count_pair(&cloth, &other, &def, context), 0);
		CHECK(asked > 0);
		other.sensor = true;
		CHECK_INT(count_pair(&cloth, &other, NULL, context), 0);
		other.sensor = false;
		other.group = -3;
		carom_body_def grouped = cloth;
		grouped.group = -3;
		CHECK_INT(count_pair(&grouped, &other, NULL, context), 0);
	}
	// A solid has contacts of its own with rigid bodies, and these with cloth.
	const carom_body_def solid = surface_def(ball, CAROM_DEFORMABLE, 0.1);
	other = carom_default_body_def();
	other.kind = CAROM_STATIC;
	other.shape = fixture_of_mesh(ball);
	other.pose = fixture_at(0, 0, 1.01);
	CHECK_INT(count_pair(&solid, &other, NULL, context), 0);
	other = cloth;
	other.pose = fixture_at(0, 0, 0.52);
	CHECK(count_pair(&solid, &other, NULL, context) > 0);
	carom_release_mesh(mesh);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

TEST(surface_contacts, a_bad_thickness_is_an_error)
{
	static stage s;
	open_stage(&s, 1, NULL);
	add_surface(&s, sheet(&s, 2, 1), CAROM_CLOTH, 0.1, fixture_at(0, 0, 0));
	const double bad[4] = { -0.1, NAN, INFINITY, 2e12 };
	for (int i = 0; i < 4; i++) {
		carom_body_def def = surface_def(s.mesh[0], CAROM_CLOTH, bad[i]);
		carom_body_id id;
		fixture_expect_wrong(s.context, carom_world_add_body(s.world, &def, &id), "carom_world_add_body: thickness is");
	}
	CHECK_INT(carom_world_body_count(s.world), 1);
	carom_body_def def;
	REQUIRE(carom_world_get_body_def(s.world, s.body[0], &def) == CAROM_SUCCESS);
	CHECK(def.thickness == 0.1);
	close_stage(&s);
}

/// Bodies come and go, get other meshes, and what is remembered of them goes too.
TEST(surface_contacts, bodies_may_change)
{
	static stage s;
	open_stage(&s, 1, NULL);
	add_surface(&s, sheet(&s, 8, 2), CAROM_CLOTH, 0.02, fixture_at(0, 0, 0));
	add_surface(&s, sheet(&s, 3, 0.5), CAROM_CLOTH, 0.02, fixture_at(0.03, 0.05, 0.2));
	step_all(&s);
	shift(&s, 1, 0, 0, -0.4);
	step_all(&s);
	CHECK(fixture_count_through(s.world) >= 16);
	carom_mesh *coarse = sheet(&s, 2, 2);
	REQUIRE(carom_world_set_mesh(s.world, s.body[0], coarse, (const int32_t[9]){ 0, 4, 8, 36, 40, 44, 72, 76, 80 }, NULL) ==
		CAROM_SUCCESS);
	carom_release_mesh(coarse);
	fixture_step(s.world);
	CHECK(fixture_count_through(s.world) >= 16); // the sides are those of before
	REQUIRE(carom_world_remove_body(s.world, s.body[1]) == CAROM_SUCCESS);
	fixture_step(s.world);
	CHECK_INT(carom_world_surface_contacts(s.world).count, 0);
	const carom_body_id ball = fixture_add(s.world, fixture_sphere(0.3), fixture_at(0, 0, 0.3), CAROM_DYNAMIC);
	fixture_step(s.world);
	CHECK(carom_world_surface_shape_contacts(s.world).count > 0);
	const carom_shape box = fixture_box(0.1, 0.1, 0.1);
	REQUIRE(carom_world_set_shape(s.world, ball, &box) == CAROM_SUCCESS);
	fixture_step(s.world);
	CHECK_INT(carom_world_surface_shape_contacts(s.world).count, 0);
	REQUIRE(carom_world_remove_body(s.world, s.body[0]) == CAROM_SUCCESS);
	fixture_step(s.world);
	CHECK_INT(carom_world_surface_shape_contacts(s.world).count, 0);
	close_stage(&s);
}

/// The mesh of a stage's body with its vertices and triangles in another order, and some of its triangles turned to another corner.
static carom_mesh *shuffled(const stage *s, int i, int32_t from[MOST])
{
	const cr_topology *t = &s->mesh[i]->topology;
	const int32_t count = t->vertex_count, faces = t->triangle_count;
	static float vertices[3 * MOST];
	static int32_t triangles[3 * 2 * MOST], now[MOST];
	for (int32_t v = 0; v < count; v++) {
		from[v] = (7 * v + 3) % count;
		now[from[v]] = v;
		memcpy(&vertices[3 * v], &t->vertices[3 * from[v]], 3 * sizeof *vertices);
	}
	for (int32_t f = 0; f < faces; f++) {
		for (int k = 0; k < 3; k++)
			triangles[3 * f + k] = now[t->triangles[3 * (faces - 1 - f) + (k + f) % 3]];
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = count;
	def.triangles = triangles;
	def.triangle_count = faces;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(s->context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

/// Is there a contact of the same features, in the numbers of the shuffled meshes, that says the same?
static bool has_twin(const carom_surface_contact_view *view, const carom_surface_contact *c, int32_t *const from[2])
{
	const int of_a = c->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
	bool found = false;
	for (int64_t i = 0; i < view->count && !found; i++) {
		const carom_surface_contact *d = &view->data[i];
		int shared = 0;
		for (int k = 0; k < 16; k++) {
			const int p = k / 4, q = k % 4;
			const bool of_b = p >= of_a;
			shared += of_b == (q >= of_a) && from[(of_b ? c->body_b : c->body_a).index1 - 1][c->vertices[p]] == d->vertices[q];
		}
		found = shared == 4 && d->kind == c->kind && fixture_same_id(c->body_a, d->body_a) &&
			fixture_same_id(c->body_b, d->body_b) && c->through == d->through && c->age == d->age && c->side == d->side &&
			fabs(c->distance - d->distance) < 1e-12;
	}
	return found;
}

/// A big sheet, and a small one that is shifted through it in one step.
static void cross(stage *s)
{
	uint64_t seed = 13;
	open_stage(s, 1, NULL);
	add_surface(s, sheet(s, 9, 2), CAROM_CLOTH, 0.05, fixture_at(0, 0, 0));
	add_surface(s, sheet(s, 4, 0.7), CAROM_CLOTH, 0.05, fixture_at(0.13, 0.07, 0.2));
	step_all(s);
	shift(s, 1, 0.01, 0, -0.31);
	rumple(s, 1, &seed, 0.02);
	step_all(s);
	CHECK(fixture_count_through(s->world) >= 25);
}

/// Two worlds in the middle of a crossing. In one the meshes get other numbers: its contacts stay the same.
TEST(surface_contacts, another_mesh_takes_the_sides_along)
{
	static stage s[2];
	static int32_t from[2][MOST];
	int32_t *const maps[2] = { from[0], from[1] };
	for (int i = 0; i < 2; i++)
		cross(&s[i]);
	for (int body = 0; body < 2; body++) {
		carom_mesh *mesh = shuffled(&s[0], body, from[body]);
		REQUIRE(carom_world_set_mesh(s[0].world, s[0].body[body], mesh, from[body], NULL) == CAROM_SUCCESS);
		carom_release_mesh(mesh);
	}
	for (int i = 0; i < 2; i++)
		fixture_step(s[i].world);
	const carom_surface_contact_view all = carom_world_surface_contacts(s[1].world),
									 view = carom_world_surface_contacts(s[0].world);
	int missing = 0;
	for (int64_t i = 0; i < view.count; i++)
		missing += !has_twin(&all, &view.data[i], maps);
	CHECK_INT(view.count, all.count);
	CHECK_INT(missing, 0);
	for (int i = 0; i < 2; i++)
		close_stage(&s[i]);
}

static bool is_vertex_through(const stage *s, int body, int32_t vertex)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	bool found = false;
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_contact *c = &view.data[i];
		found = found ||
			(c->kind == CAROM_SWEEP_VERTEX_FACE && c->vertices[0] == vertex && c->through &&
				fixture_same_id(c->body_a, s->body[body]));
	}
	return found;
}

/// Each triangle by itself: each copy of a vertex belongs where the vertex did.
TEST(surface_contacts, torn_vertices_take_their_sides_along)
{
	static stage s;
	static int32_t from[MOST], triangles[MOST];
	static float vertices[3 * MOST];
	bool through[MOST];
	cross(&s);
	for (int body = 1; body >= 0; body--) { // the small one, then the other
		const cr_topology *t = &s.mesh[body]->topology;
		for (int32_t v = 0; v < s.mesh[1]->topology.vertex_count; v++)
			through[v] = body == 1 && is_vertex_through(&s, 1, v);
		const int before = fixture_count_through(s.world);
		for (int32_t i = 0; i < 3 * t->triangle_count; i++) {
			triangles[i] = i;
			from[i] = t->triangles[i];
			memcpy(&vertices[3 * i], &t->vertices[3 * from[i]], 3 * sizeof *vertices);
		}
		carom_mesh_def def = carom_default_mesh_def();
		def.vertices = (carom_strided){ .data = vertices, .type = CAROM_FLOAT32 };
		def.vertex_count = 3 * t->triangle_count;
		def.triangles = triangles;
		def.triangle_count = t->triangle_count;
		carom_mesh *mesh;
		REQUIRE(carom_create_mesh(s.context, &def, NULL, &mesh) == CAROM_SUCCESS);
		REQUIRE(carom_world_set_mesh(s.world, s.body[body], mesh, from, NULL) == CAROM_SUCCESS);
		carom_release_mesh(mesh);
		fixture_step(s.world);
		CHECK(fixture_count_through(s.world) >= before);
		for (int32_t i = 0; i < 3 * t->triangle_count && body == 1; i++)
			CHECK(is_vertex_through(&s, 1, i) == through[from[i]]);
	}
	close_stage(&s);
}

/// A mesh that is given out of memory changes nothing, and a snapshot between mesh and step brings the sides back.
TEST(surface_contacts, another_mesh_fails_without_memory_and_comes_back)
{
	static fixture_heap heap;
	static stage s;
	static int32_t from[MOST];
	int failed = 0;
	for (bool done = false; !done; failed += !done) {
		s.context = fixture_heap_context(&heap, 1);
		s.world = fixture_world(s.context, NULL);
		s.bodies = 0;
		add_surface(&s, sheet(&s, 4, 2), CAROM_CLOTH, 0.02, fixture_at(0, 0, 0));
		add_surface(&s, sheet(&s, 2, 0.5), CAROM_CLOTH, 0.02, fixture_at(0.03, 0.05, 0.2));
		step_all(&s);
		shift(&s, 1, 0, 0, -0.4);
		step_all(&s);
		const int before = fixture_count_through(s.world);
		carom_mesh *mesh = shuffled(&s, 0, from);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failed);
		done = carom_world_set_mesh(s.world, s.body[0], mesh, from, NULL) == CAROM_SUCCESS;
		atomic_store(&heap.fail_at, -1);
		carom_snapshot *snapshot;
		REQUIRE(carom_create_snapshot(s.world, &snapshot) == CAROM_SUCCESS);
		REQUIRE(carom_world_save(s.world, snapshot) == CAROM_SUCCESS);
		for (int turn = 0; turn < 2; turn++) {
			fixture_step(s.world);
			CHECK_INT(fixture_count_through(s.world), before);
			REQUIRE(carom_world_restore(s.world, snapshot) == CAROM_SUCCESS);
		}
		carom_destroy_snapshot(snapshot);
		carom_release_mesh(mesh);
		close_stage(&s);
		CHECK_INT(heap.blocks, 0);
	}
	CHECK(failed > 8);
}

// ---- The state of a world ----

/// A stack of sheets with a ball and a box, and a place for each step.
static void fill_stack(carom_world *world, void *mesh)
{
	for (int i = 0; i < 3; i++) {
		carom_body_def def = surface_def(mesh, CAROM_CLOTH, 0.1);
		def.pose = fixture_at(0, 0.02 * i, 0.04 * i);
		carom_body_id id;
		REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	}
	fixture_add(world, fixture_sphere(0.4), fixture_at(0, 0, -0.42), CAROM_STATIC);
	fixture_add(world, fixture_box(0.2, 0.2, 0.2), fixture_at(0.2, 0, 0.31), CAROM_DYNAMIC);
}

static void move_stack(carom_world *world, const carom_mesh *mesh, int step)
{
	static double to[3 * MOST];
	uint64_t seed = 31 + (uint64_t)step;
	carom_body_id ids[3];
	carom_world_body_ids(world, 3, ids);
	for (int i = 0; i < 3; i++) {
		for (int32_t k = 0; k < 3 * mesh->topology.vertex_count; k++)
			to[k] = mesh->topology.vertices[k] + test_random_double(&seed, -0.03, 0.03) +
				(k % 3 == 2 ? 0.04 * i * (step % 2 ? 1 : -1) : 0);
		const carom_strided end = { to, 0, CAROM_FLOAT64 };
		REQUIRE(carom_world_set_vertices(world, ids[i], NULL, &end) == CAROM_SUCCESS);
	}
	fixture_step(world);
}

static uint64_t hash_with(int threads, carom_simd simd)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	def.simd = simd;
	carom_context *context;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		return 0;
	carom_mesh *mesh = fixture_sheet_mesh(context, 12, 1);
	carom_world *world = fixture_world(context, NULL);
	fill_stack(world, mesh);
	uint64_t hash = 0;
	for (int step = 0; step < 4; step++) {
		move_stack(world, mesh, step);
		hash = hash * 31 + carom_world_hash(world);
	}
	CHECK(carom_world_surface_contacts(world).count > 300);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	return hash;
}

TEST(surface_contacts, are_found_alike_by_any_number_of_threads_and_instruction_set)
{
	const uint64_t hash = hash_with(TEST_LEAST_THREADS, CAROM_SIMD_AUTO);
	CHECK(hash_with(3, CAROM_SIMD_AUTO) == hash);
	for (int i = 0; i < FIXTURE_SIMD_COUNT && !TEST_SEEKS_RACES; i++) {
		const uint64_t other = fixture_kernels(fixture_all_simd[i]) ? hash_with(2, fixture_all_simd[i]) : hash;
		CHECK(other == hash);
	}
}

TEST(surface_contacts, fail_without_memory_and_go_on)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *mesh = fixture_sheet_mesh(context, 3, 1);
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, fill_stack, mesh, 5) > 10);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

/// A step that fails in the middle of a crossing remembers the sides.
TEST(surface_contacts, a_step_that_failed_forgets_no_side)
{
	static fixture_heap heap;
	static stage s;
	s.context = fixture_heap_context(&heap, 1);
	int failed = 0;
	for (bool done = false; !done;) {
		s.world = fixture_world(s.context, NULL);
		s.bodies = 0;
		add_surface(&s, sheet(&s, 4, 2), CAROM_CLOTH, 0.02, fixture_at(0, 0, 0));
		add_surface(&s, sheet(&s, 2, 0.5), CAROM_CLOTH, 0.02, fixture_at(0.03, 0.05, 0.2));
		step_all(&s);
		shift(&s, 1, 0, 0, -0.4);
		put(&s, 1);
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failed);
		done = carom_world_step(s.world) == CAROM_SUCCESS;
		failed += !done;
		atomic_store(&heap.fail_at, -1);
		if (!done) {
			CHECK_INT(carom_world_surface_contacts(s.world).count, 0); // those of the last good step
			fixture_step(s.world);
		}
		CHECK(fixture_count_through(s.world) >= 9);
		carom_destroy_world(s.world);
		for (int i = 0; i < s.bodies; i++)
			carom_release_mesh(s.mesh[i]);
	}
	CHECK(failed > 2);
	carom_destroy_context(s.context);
}

TEST(surface_contacts, are_recorded_and_come_back_with_snapshots)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_sheet_mesh(context, 8, 1);
	carom_world *world = fixture_world(context, NULL);
	fixture_tape tape = { 0 };
	fill_stack(world, mesh);
	carom_snapshot *snapshots[2];
	for (int i = 0; i < 2; i++)
		REQUIRE(carom_create_snapshot(world, &snapshots[i]) == CAROM_SUCCESS);
	for (int step = 0; step < 3; step++)
		move_stack(world, mesh, step);
	REQUIRE(carom_world_save(world, snapshots[0]) == CAROM_SUCCESS);
	uint64_t hashes[2][3];
	for (int turn = 0; turn < 2; turn++) {
		for (int step = 0; step < 3; step++) {
			move_stack(world, mesh, 3 + step);
			hashes[turn][step] = carom_world_hash(world);
		}
		if (turn == 1)
			break;
		REQUIRE(carom_world_restore(world, snapshots[0]) == CAROM_SUCCESS);
		REQUIRE(carom_world_save(world, snapshots[1]) == CAROM_SUCCESS);
		CHECK(!carom_snapshots_differ(snapshots[0], snapshots[1], NULL));
	}
	CHECK(memcmp(hashes[0], hashes[1], sizeof hashes[0]) == 0);
	carom_snapshot_difference difference;
	REQUIRE(carom_world_save(world, snapshots[1]) == CAROM_SUCCESS);
	CHECK(carom_snapshots_differ(snapshots[0], snapshots[1], &difference));
	REQUIRE(carom_world_record(world, fixture_write_tape, &tape) == CAROM_SUCCESS);
	for (int step = 0; step < 4; step++)
		move_stack(world, mesh, step);
	REQUIRE(carom_world_record(world, NULL, NULL) == CAROM_SUCCESS);
	carom_replay_result result;
	CHECK_INT(carom_replay_recording(context, fixture_read_tape, &tape, &result), CAROM_SUCCESS);
	CHECK_INT(result.steps, 4);
	CHECK_INT(result.first_difference, -1);
	for (int i = 0; i < 2; i++)
		carom_destroy_snapshot(snapshots[i]);
	free(tape.bytes);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

// ---- The search before ----

/// A sheet over a ball, at random places in a step: the same ones for the same seed.
static void shake(stage *s, carom_body_id ball, uint64_t seed)
{
	for (int k = 0; k < 3 * s->mesh[0]->topology.vertex_count; k++) {
		const double now = s->places[0][k];
		s->places[0][k] += test_random_double(&seed, -0.02, 0.02) - 0.01 * ((now > 0) - (now < 0));
	}
	put(s, 0);
	const carom_pose pose = fixture_at(test_random_double(&seed, 0, 0.2), 0, test_random_double(&seed, 0.8, 1));
	REQUIRE(carom_world_set_pose(s->world, ball, &pose) == CAROM_SUCCESS);
	fixture_step(s->world);
}

static carom_body_id open_shaken(stage *s)
{
	open_stage(s, 1, NULL);
	add_surface(s, sheet(s, 8, 2), CAROM_CLOTH, 0.05, fixture_at(0, 0, 1.3));
	return fixture_add(s->world, fixture_sphere(0.5), fixture_at(0, 0, 0.5), CAROM_KINEMATIC);
}

/// Where an edge is near a shape, two triangles measure it, and the results differ in their last
/// bits. Which of them counts must not depend on a tree that earlier steps have made.
TEST(surface_contacts, go_on_alike_from_bytes_where_the_tree_is_another)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		static stage s[2];
		const carom_body_id ball = open_shaken(&s[0]);
		open_shaken(&s[1]);
		for (uint64_t step = 0; step < 5; step++)
			shake(&s[0], ball, 100 * seed + step);
		fixture_tape tape = { 0 };
		carom_snapshot *snapshots[2];
		for (int i = 0; i < 2; i++)
			REQUIRE(carom_create_snapshot(s[i].world, &snapshots[i]) == CAROM_SUCCESS);
		REQUIRE(carom_world_save(s[0].world, snapshots[0]) == CAROM_SUCCESS);
		REQUIRE(carom_snapshot_save(snapshots[0], fixture_write_tape, &tape) == CAROM_SUCCESS);
		REQUIRE(carom_snapshot_load(snapshots[1], tape.bytes, tape.count) == CAROM_SUCCESS);
		REQUIRE(carom_world_restore(s[1].world, snapshots[1]) == CAROM_SUCCESS);
		memcpy(s[1].places, s[0].places, sizeof s[0].places);
		for (uint64_t step = 5; step < 15; step++) {
			for (int i = 0; i < 2; i++)
				shake(&s[i], ball, 100 * seed + step);
			CHECK(carom_world_surface_shape_contacts(s[0].world).count > 0);
			if (!CHECK_INT(carom_world_hash(s[1].world), carom_world_hash(s[0].world)))
				break;
		}
		for (int i = 0; i < 2; i++) {
			carom_destroy_snapshot(snapshots[i]);
			close_stage(&s[i]);
		}
		free(tape.bytes);
	}
}
