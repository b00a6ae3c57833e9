// Deforming bodies in a world: their impacts, with each other and with rigid bodies; what queries see of them; and that nothing is lost.
#include "carom/carom.h"
#include "fixture.h"
#include "math/transform.h"
#include "sweep_fixture.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- A world beside the places that its bodies should have ----

typedef struct impact_scene {
	carom_context *context;
	carom_world *world;
	sweep_world places; // by body number, as the dull search wants them
	carom_mesh *meshes[SWEEP_MOST_MESHES];
	carom_body_id ids[SWEEP_MOST_MESHES];
	carom_pose poses[SWEEP_MOST_MESHES]; // of rigid bodies
} impact_scene;

static carom_strided doubles(const double *places) { return (carom_strided){ places, 0, CAROM_FLOAT64 }; }

static void open_scene(impact_scene *s, carom_context *context, const carom_world_def *def)
{
	*s = (impact_scene){ .context = context };
	s->world = fixture_world(context, def);
}

static void close_scene(impact_scene *s)
{
	carom_destroy_world(s->world);
	for (int i = 0; i < s->places.count; i++)
		carom_release_mesh(s->meshes[i]);
	sweep_free_world(&s->places);
}

/// A mesh over the places at the beginning; the places become those floats, the triangles those of the mesh (it may turn them).
static carom_mesh *make_mesh(carom_context *context, sweep_mesh *from)
{
	const int64_t numbers = 3 * (int64_t)from->vertex_count;
	float *vertices = malloc((size_t)(numbers + 1) * sizeof *vertices);
	REQUIRE(vertices != NULL);
	for (int64_t i = 0; i < numbers; i++) {
		vertices[i] = (float)from->begin[i];
		from->begin[i] = from->end[i] = vertices[i];
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = from->vertex_count;
	def.triangles = from->triangles;
	def.triangle_count = from->triangle_count;
	carom_mesh *mesh = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	memcpy(from->triangles, carom_mesh_get_triangles(mesh), 3 * (size_t)from->triangle_count * sizeof *from->triangles);
	free(vertices);
	return mesh;
}

static void put_rigid(const carom_mesh *mesh, carom_pose pose, int32_t count, double *places)
{
	const m3d rotation = m3d_from_quat(pose.orientation);
	for (int32_t i = 0; i < count; i++) {
		const v3d p = v3d_add(m3d_mul(&rotation, v3d_from_floats(&carom_mesh_get_vertices(mesh)[3 * i])), pose.position);
		memcpy(&places[3 * i], &p, 3 * sizeof *places);
	}
}

/// The mesh added last to the places as a body.
static carom_body_id add_body(impact_scene *s, carom_body_kind kind)
{
	const int i = s->places.count - 1;
	sweep_mesh *mesh = &s->places.meshes[i];
	s->meshes[i] = make_mesh(s->context, mesh);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_of_mesh(s->meshes[i]);
	def.kind = kind;
	def.category = mesh->category;
	def.mask = mesh->mask;
	def.group = mesh->group;
	def.self_collision = mesh->self;
	mesh->is_rigid = kind != CAROM_DEFORMABLE && kind != CAROM_CLOTH;
	REQUIRE(carom_world_add_body(s->world, &def, &s->ids[i]) == CAROM_SUCCESS);
	CHECK_INT(s->ids[i].index1, i + 1);
	s->poses[i] = carom_pose_identity();
	return s->ids[i];
}

/// Every body moves, rigid ones by a turn and a shift.
static void move_scene(impact_scene *s, double drift, double shake, uint64_t *random)
{
	sweep_move(&s->places, drift, shake, random);
	for (int i = 0; i < s->places.count; i++) {
		sweep_mesh *mesh = &s->places.meshes[i];
		if (!mesh->is_rigid)
			continue;
		carom_pose next = fixture_random_pose(random, drift);
		next.orientation = fixture_turn((v3d){ 1, (double)i, 2 }, test_random_double(random, -0.5, 0.5));
		if (test_random(random) % 4 == 0)
			next = s->poses[i];
		put_rigid(s->meshes[i], s->poses[i], mesh->vertex_count, mesh->begin);
		REQUIRE(carom_world_set_pose(s->world, s->ids[i], &next) == CAROM_SUCCESS);
		REQUIRE(carom_world_get_pose(s->world, s->ids[i], &s->poses[i]) == CAROM_SUCCESS);
		put_rigid(s->meshes[i], s->poses[i], mesh->vertex_count, mesh->end);
	}
}

static void tell_scene(impact_scene *s)
{
	for (int i = 0; i < s->places.count; i++) {
		const carom_strided end = doubles(s->places.meshes[i].end);
		if (!s->places.meshes[i].is_rigid)
			REQUIRE(carom_world_set_vertices(s->world, s->ids[i], NULL, &end) == CAROM_SUCCESS);
	}
}

static carom_sweep_hit hit_of(const carom_impact *impact)
{
	carom_sweep_hit hit = { .kind = impact->kind,
		.status = impact->status,
		.mesh_a = (int32_t)impact->body_a.index1 - 1,
		.mesh_b = (int32_t)impact->body_b.index1 - 1,
		.triangle = impact->triangle,
		.time = impact->time };
	memcpy(hit.vertices, impact->vertices, sizeof hit.vertices);
	memcpy(hit.weight, impact->weight, sizeof hit.weight);
	memcpy(hit.normal, impact->normal, sizeof hit.normal);
	return hit;
}

/// The impacts of the last step are those that trying every pair of features finds, and the earliest is the first of these.
static int64_t check_impacts(const impact_scene *s, const carom_sweep_def *def, const char *what)
{
	const carom_impact_view view = carom_world_impacts(s->world);
	carom_sweep_hit *hits = malloc((size_t)(view.count + 1) * sizeof *hits);
	REQUIRE(hits != NULL);
	const carom_impact *earliest = NULL;
	for (int64_t i = 0; i < view.count; i++) {
		const carom_impact *impact = &view.data[i];
		hits[i] = hit_of(impact);
		CHECK(fixture_same_id(impact->body_a, s->ids[impact->body_a.index1 - 1]));
		CHECK(fixture_same_id(impact->body_b, s->ids[impact->body_b.index1 - 1]));
		if (!earliest || impact->time < earliest->time)
			earliest = impact;
	}
	sweep_list expected = sweep_find_dully(&s->places, def);
	sweep_check_same(hits, view.count, &expected, what);
	CHECK(carom_world_earliest_impact(s->world) == earliest);
	CHECK_INT(carom_world_stats(s->world).impacts, view.count);
	const carom_sweep_stats stats = carom_world_sweep_stats(s->world);
	CHECK_INT(stats.hits_vf + stats.hits_ee, view.count);
	sweep_free_list(&expected);
	free(hits);
	return view.count;
}

/// Two to five random bodies, one of them at least deforming.
static void add_random_bodies(impact_scene *s, uint64_t *random)
{
	const int count = 2 + (int)(test_random(random) % 4);
	for (int i = 0; i < count; i++) {
		sweep_mesh *mesh = sweep_add_random(&s->places, random);
		mesh->self = test_random(random) % 4 != 0;
		if (test_random(random) % 4 == 0) {
			mesh->category = 1 + test_random(random) % 3;
			mesh->mask = test_random(random) % 4;
			mesh->group = (int32_t)(test_random(random) % 3) - 1;
		}
		sweep_shift(mesh, test_random_double(random, -1, 1), test_random_double(random, -1, 1), 0.25 * i);
		static const carom_body_kind kinds[6] = { CAROM_CLOTH, CAROM_CLOTH, CAROM_CLOTH, CAROM_STATIC, CAROM_KINEMATIC,
			CAROM_DYNAMIC };
		add_body(s, i == 0 ? CAROM_CLOTH : kinds[test_random(random) % 6]);
	}
}

// ---- Impacts ----

TEST(impacts, equal_trying_every_pair)
{
	carom_context *context = sweep_context(2, CAROM_SIMD_AUTO);
	uint64_t random = 1;
	int64_t total = 0, with_rigid = 0;
	for (int round = 0; round < 40 / SWEEP_FEWER && test_failures() == 0; round++) {
		carom_world_def def = carom_default_world_def();
		def.sweep.method = (carom_sweep_method)(round % 4);
		def.sweep.min_separation = round % 3 == 0 ? 0.05 : 0;
		impact_scene s;
		open_scene(&s, context, &def);
		add_random_bodies(&s, &random);
		for (int step = 0; step < 4; step++) {
			move_scene(&s, 0.3, step % 2 ? 0.3 : 0.05, &random);
			tell_scene(&s);
			fixture_step(s.world);
			total += check_impacts(&s, &def.sweep, "impacts");
			const carom_impact_view view = carom_world_impacts(s.world);
			for (int64_t i = 0; i < view.count; i++)
				with_rigid += s.places.meshes[view.data[i].body_a.index1 - 1].is_rigid ||
					s.places.meshes[view.data[i].body_b.index1 - 1].is_rigid;
		}
		close_scene(&s);
	}
	CHECK(total > 10000 / SWEEP_FEWER);
	CHECK(with_rigid > 1000 / SWEEP_FEWER);
	carom_destroy_context(context);
}
