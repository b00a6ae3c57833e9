// Recorded motions against the dull judge of oracle.h and against lists made by others (CGAL, ODE).

#include "labs.h"
#include "test.h"

#include "base/parallel.h"
#include "carom/carom.h"
#include "oracle.h"
#include "io/mesh_file.h"
#include "io/trajectory.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#if defined(CAROM_HAVE_EMBREE)
#include "plugins/embree.h"
#endif

// The judge looks at every so many frames. Sanitizers make it ten times slower.
enum { FRAME_STEP = TEST_FEWER > 1 ? 100 : 20 };

typedef struct replay {
	carom_context *context;
	carom_mesh *mesh;
	carom_world *world;
	sim_mesh file;
	oracle_shape shape;
	io_trajectory trajectory;
	carom_body_id *ids;
	carom_pose *poses;
} replay;

/// Open a recording in a new world of the given definition, changed to give all contacts.
static replay replay_open(const char *trajectory, const char *mesh, carom_world_def world_def)
{
	replay r = { 0 };
	sim_error error = { "" };
	const bool loaded = io_load_trajectory(test_data_path(trajectory), &r.trajectory, &error) &&
		io_load_mesh(test_data_path(mesh), &r.file, &error);
	CHECK_STR(error.text, "");
	REQUIRE(loaded);
	r.shape = (oracle_shape){ r.file.vertices, r.file.vertex_count, r.file.triangles, r.file.triangle_count };
	REQUIRE(carom_create_context(NULL, &r.context) == CAROM_SUCCESS);
	carom_mesh_def mesh_def = carom_default_mesh_def();
	mesh_def.vertices.data = r.file.vertices;
	mesh_def.vertices.type = CAROM_FLOAT32;
	mesh_def.vertex_count = r.file.vertex_count;
	mesh_def.triangles = r.file.triangles;
	mesh_def.triangle_count = r.file.triangle_count;
	REQUIRE(carom_create_mesh(r.context, &mesh_def, NULL, &r.mesh) == CAROM_SUCCESS);
	world_def.max_contacts_per_pair = 0;
	fixture_lab(&world_def)->complete = true;
	REQUIRE(carom_create_world(r.context, &world_def, &r.world) == CAROM_SUCCESS);
	const size_t count = (size_t)r.trajectory.body_count;
	r.ids = calloc(count, sizeof *r.ids);
	r.poses = calloc(count, sizeof *r.poses);
	REQUIRE(r.ids != NULL && r.poses != NULL);
	carom_body_def body_def = carom_default_body_def();
	body_def.shape.type = CAROM_MESH;
	body_def.shape.mesh = r.mesh;
	body_def.kind = CAROM_DYNAMIC;
	for (size_t i = 0; i < count; i++) {
		body_def.user_data = i;
		REQUIRE(carom_world_add_body(r.world, &body_def, &r.ids[i]) == CAROM_SUCCESS);
	}
	return r;
}

static void replay_close(replay *r)
{
	carom_destroy_world(r->world);
	carom_release_mesh(r->mesh);
	carom_destroy_context(r->context);
	io_free_trajectory(&r->trajectory);
	sim_mesh_free(&r->file);
	free(r->ids);
	free(r->poses);
}

static void replay_step(replay *r, int frame)
{
	io_trajectory_poses(&r->trajectory, frame, r->poses);
	REQUIRE(carom_world_set_poses(r->world, r->trajectory.body_count, r->ids, r->poses) == CAROM_SUCCESS);
	const carom_result stepped = carom_world_step(r->world);
	CHECK_STR(carom_error_text(r->context), "");
	REQUIRE(stepped == CAROM_SUCCESS);
}

// ---- Sets of pairs: one flag for each two bodies ----

static size_t flag_index(const replay *r, int64_t a, int64_t b)
{
	return (size_t)((a < b ? a : b) * r->trajectory.body_count + (a < b ? b : a));
}

static uint8_t *make_flags(const replay *r)
{
	const size_t count = (size_t)r->trajectory.body_count;
	uint8_t *flags = calloc(count * count, 1);
	REQUIRE(flags != NULL);
	return flags;
}

/// Flag the pairs of the last step, all of which must have contacts.
static uint8_t *flag_found(const replay *r)
{
	uint8_t *flags = make_flags(r);
	const carom_pair_view pairs = carom_world_pairs(r->world);
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *pair = &pairs.data[i];
		CHECK(pair->contact_count > 0);
		CHECK_INT(pair->found_count, pair->contact_count);
		flags[flag_index(r, (int64_t)pair->user_data_a, (int64_t)pair->user_data_b)] = 1;
	}
	return flags;
}

/// Compare two sets of pairs and name the first that differs. Returns how many pairs are in the first set.
static int compare_flags(const replay *r, int frame, const uint8_t *found, const uint8_t *expected)
{
	const int count = r->trajectory.body_count;
	int total = 0, missed = 0, invented = 0;
	for (int a = 0; a < count; a++) {
		for (int b = a + 1; b < count; b++) {
			const size_t i = flag_index(r, a, b);
			total += found[i];
			missed += expected[i] && !found[i];
			invented += found[i] && !expected[i];
			if (found[i] != expected[i] && missed + invented <= 3) {
				fprintf(stderr, "frame %d, bodies %d and %d: %s\n", frame, a, b, found[i] ? "invented" : "missed");
			}
		}
	}
	CHECK_INT(missed, 0);
	CHECK_INT(invented, 0);
	return total;
}

// ---- The judge, on all workers ----

typedef struct judge {
	const replay *replay;
	const oracle_body *bodies;
	uint8_t *expected;
} judge;

static void judge_rows(int64_t begin, int64_t end, int worker, void *task)
{
	const judge *j = task;
	(void)worker;
	for (int64_t a = begin; a < end; a++) {
		for (int64_t b = a + 1; b < j->replay->trajectory.body_count; b++) {
			if (oracle_boxes_overlap(&j->bodies[a], &j->bodies[b])) {
				j->expected[flag_index(j->replay, a, b)] = oracle_solids_touch(&j->bodies[a], &j->bodies[b]);
			}
		}
	}
}

/// What the oracle says of the present poses.
static uint8_t *judge_frame(const replay *r)
{
	const size_t count = (size_t)r->trajectory.body_count;
	oracle_body *bodies = calloc(count, sizeof *bodies);
	REQUIRE(bodies != NULL);
	for (size_t i = 0; i < count; i++) {
		bodies[i] = oracle_place(&r->shape, &r->poses[i]);
	}
	judge j = { r, bodies, make_flags(r) };
	cr_parallel_for(r->context, judge_rows, (int64_t)count, 1, &j);
	for (size_t i = 0; i < count; i++) {
		oracle_free(&bodies[i]);
	}
	free(bodies);
	return j.expected;
}

/// Unit normals, no negative depth, none deeper than the body is long, points within both bodies' boxes.
static void check_contacts(const replay *r)
{
	const carom_contact_view contacts = carom_world_contacts(r->world);
	const carom_mesh_report *report = carom_mesh_get_report(r->mesh);
	const v3d lower = v3d_make(report->lower[0], report->lower[1], report->lower[2]);
	const v3d upper = v3d_make(report->upper[0], report->upper[1], report->upper[2]);
	const double diameter = v3d_length(v3d_sub(upper, lower)), slack = 1e-5 * diameter;
	for (int32_t i = 0; i < contacts.count; i++) {
		const carom_contact *c = &contacts.data[i];
		const v3d normal = v3d_from_floats(c->normal);
		const carom_body_id ids[2] = { c->body_a, c->body_b };
		bool inside = true;
		for (int k = 0; k < 2; k++) {
			carom_pose pose;
			REQUIRE(carom_world_get_pose(r->world, ids[k], &pose) == CAROM_SUCCESS);
			const v3d p = carom_inverse_transform_point(pose, v3d_make(c->point[0], c->point[1], c->point[2]));
			inside = inside && p.x >= lower.x - slack && p.y >= lower.y - slack && p.z >= lower.z - slack &&
				p.x <= upper.x + slack && p.y <= upper.y + slack && p.z <= upper.z + slack;
		}
		const bool sane = inside && c->depth >= 0 && c->depth <= diameter && fabs(v3d_length(normal) - 1) < 1e-5;
		if (!CHECK(sane)) {
			fprintf(stderr, "contact %d: kind %d, depth %g, normal length %g, %s\n", i, (int)c->kind, (double)c->depth,
				v3d_length(normal), inside ? "inside" : "outside");
			return;
		}
	}
}

/// Every FRAME_STEP-th frame against the oracle.
static void run_against_oracle(const char *trajectory, const char *mesh, int least_pairs)
{
	replay r = replay_open(trajectory, mesh, carom_default_world_def());
	int total = 0;
	for (int frame = 0; frame < r.trajectory.frame_count; frame += FRAME_STEP) {
		replay_step(&r, frame);
		uint8_t *found = flag_found(&r), *expected = judge_frame(&r);
		total += compare_flags(&r, frame, found, expected);
		check_contacts(&r);
		free(found);
		free(expected);
	}
	CHECK(total >= least_pairs); // the frames do hold collisions
	replay_close(&r);
}

TEST(replay_data, avalanche_against_oracle)
{
	run_against_oracle("trajectories/scene1.rbt.gz", "meshes/bullet-bunny-902.obj", 500 * (600 / FRAME_STEP) / 2);
}

TEST(replay_data, tori_against_oracle)
{
	run_against_oracle("trajectories/li-tori.rbt.gz", "meshes/bullet-torus-600.obj", 80 * (600 / FRAME_STEP) / 2);
}

// ---- Lists made by others ----

/// The lines "frame a b" of a list, gzip.
typedef struct pair_list {
	int (*lines)[3];
	int count;
} pair_list;

static pair_list read_pairs(const char *path)
{
	gzFile file = gzopen(path, "rb");
	REQUIRE(file != NULL);
	pair_list list = { 0 };
	int capacity = 0;
	char line[128];
	while (gzgets(file, line, sizeof line) != NULL) {
		if (list.count == capacity) {
			capacity = capacity > 0 ? 2 * capacity : 1024;
			list.lines = realloc(list.lines, sizeof *list.lines * (size_t)capacity);
			REQUIRE(list.lines != NULL);
		}
		int *p = list.lines[list.count];
		if (line[0] != '#') {
			REQUIRE(sscanf(line, "%d %d %d", &p[0], &p[1], &p[2]) == 3);
			list.count++;
		}
	}
	gzclose(file);
	return list;
}

/// Each frame of the list: exactly its pairs.
static void run_against_list(const char *trajectory, const char *mesh, const char *pairs, int expected_frames)
{
	pair_list list = read_pairs(test_data_path(pairs));
	replay r = replay_open(trajectory, mesh, carom_default_world_def());
	int frames = 0;
	for (int i = 0; i < list.count; frames++) {
		const int frame = list.lines[i][0];
		uint8_t *expected = make_flags(&r);
		for (; i < list.count && list.lines[i][0] == frame; i++) {
			expected[flag_index(&r, list.lines[i][1], list.lines[i][2])] = 1;
		}
		replay_step(&r, frame);
		uint8_t *found = flag_found(&r);
		compare_flags(&r, frame, found, expected);
		free(found);
		free(expected);
	}
	CHECK_INT(frames, expected_frames);
	replay_close(&r);
	free(list.lines);
}

TEST(replay_data, avalanche_against_list)
{
	run_against_list("trajectories/scene1.rbt.gz", "meshes/bullet-bunny-902.obj", "trajectories/scene1.pairs.txt.gz", 21);
}

TEST(replay_data, tori_against_list)
{
	run_against_list("trajectories/li-tori.rbt.gz", "meshes/bullet-torus-600.obj", "trajectories/li-tori.pairs.txt.gz", 21);
}

// ---- The second opinion ----

// The predicates that the oracle rests on, on all triangles of two bodies in a heap: the same pairs by CGAL.
TEST(replay_data, triangles_agree_with_cgal)
{
#ifdef CAROM_HAVE_CGAL
	replay r = replay_open("trajectories/scene1.rbt.gz", "meshes/bullet-bunny-902.obj", carom_default_world_def());
	replay_step(&r, 599);
	const carom_pair_view pairs = carom_world_pairs(r.world);
	int64_t total = 0;
	for (int32_t i = 0; i < pairs.count; i += 20) {
		oracle_body a = oracle_place(&r.shape, &r.poses[pairs.data[i].user_data_a]);
		oracle_body b = oracle_place(&r.shape, &r.poses[pairs.data[i].user_data_b]);
		const int64_t crossings = oracle_count_crossings(&a, &b);
		CHECK_INT(oracle_cgal_count_crossings(&a, &b), crossings);
		total += crossings;
		oracle_free(&a);
		oracle_free(&b);
	}
	CHECK(total > 100);
	replay_close(&r);
#else
	test_skip("built without CGAL (Debian: libcgal-dev; CAROM_TEST_CGAL)");
#endif
}

// ---- Embree as the ray algorithm ----

TEST(replay_data, embree_finds_the_same_pairs)
{
#ifdef CAROM_HAVE_EMBREE
	const carom_ray_plugin *plugin = carom_create_embree_plugin();
	REQUIRE(plugin != NULL);
	carom_world_def world_def = carom_default_world_def();
	replay own = replay_open("trajectories/scene1.rbt.gz", "meshes/bullet-bunny-902.obj", world_def);
	fixture_lab(&world_def)->ray_method = CAROM_RAYS_PLUGIN;
	fixture_lab(&world_def)->ray_plugin = plugin;
	replay other = replay_open("trajectories/scene1.rbt.gz", "meshes/bullet-bunny-902.obj", world_def);
	static const int frames[] = { 50, 80, 95, 110, 420, 599 };
	for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
		replay_step(&own, frames[i]);
		replay_step(&other, frames[i]);
		uint8_t *expected = flag_found(&own), *found = flag_found(&other);
		compare_flags(&own, frames[i], found, expected);
		check_contacts(&other);
		// Rays that graze an edge may go either way; no more than that.
		const double contacts = carom_world_contacts(own.world).count;
		CHECK_NEAR(carom_world_contacts(other.world).count, contacts, 1 + 1e-3 * contacts);
		free(expected);
		free(found);
	}
	replay_close(&own);
	replay_close(&other);
	carom_destroy_embree_plugin(plugin);
#else
	test_skip("built without Embree (Debian: libembree-dev)");
#endif
}
