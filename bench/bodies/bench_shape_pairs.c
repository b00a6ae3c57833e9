/// @file bench_shape_pairs.c
/// The pairs of shapes that take longest, beside those that take least. Each shape has a world of
/// its own. Usage: bench_shape_pairs (contacts | casts | pile | large) [ROUNDS [CASE]]
/// - contacts: a shape sunk 1 mm into a box of a metre, 100 such pairs, each turned a little in
///   each step; the time of a step for each pair.
/// - casts: a shape half a tolerance over a floor of triangles of 0.2 m, with skip_separating.
/// - pile: a heap of shapes that are all continuous and move by a millimetre in each step.
/// - large: shapes of some metres on a mesh of triangles of 0.1 m; contacts, and casts from above.
/// CASE: only cases whose names begin so. Prints CSV: microseconds of the thread (least and middle
/// of the rounds), and a hash of the results, by which two builds are compared.
#include "bench/bench_check.h"
#include "bench/bench_clock.h"
#include "bench/bench_random.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 200, PAIRS = 100, CASTS = 200, SIDE = 8, LARGE_STEPS = 4 };

static carom_context *context;
static const char *only = "";

static void check(carom_result result) { bench_check("bench_shape_pairs", context, result); }

// ---- Results ----

static uint64_t hash_of(uint64_t hash, double number)
{
	uint64_t bits;
	memcpy(&bits, &number, sizeof bits);
	for (int i = 0; i < 8; i++)
		hash = (hash ^ (bits >> (8 * i) & 255)) * 0x100000001b3u;
	return hash;
}

static uint64_t hash_vector(uint64_t hash, carom_vec3 v) { return hash_of(hash_of(hash_of(hash, v.x), v.y), v.z); }

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static bool is_left_out(const char *name) { return strncmp(name, only, strlen(only)) != 0; }

static void print_row(const char *mode, const char *name, double *us, int rounds, double per, uint64_t hash, long count)
{
	qsort(us, (size_t)rounds, sizeof *us, compare);
	printf("%s,%s,%.3f,%.3f,%016llx,%ld\n", mode, name, us[0] / per, us[rounds / 2] / per, (unsigned long long)hash, count);
}

// ---- Shapes ----

typedef struct figure {
	const char *name;
	carom_shape shape;
	carom_quat turn;
	double height; // of its origin over its lowest point
} figure;

#define UPRIGHT    \
	{              \
		0, 0, 0, 1 \
	}
#define LYING                                          \
	{                                                  \
		0, 0.70710678118654752, 0, 0.70710678118654752 \
	}
// by 0.35 about an axis across z
#define LEANING                                                       \
	{                                                                 \
		0.1391731009600654, 0.1043798257200491, 0, 0.9847483663015953 \
	}

static const figure figures[] = {
	{ "box", { .type = CAROM_BOX, .half_extents = { 0.3, 0.3, 0.3 } }, UPRIGHT, 0.3 },
	{ "box_on_edge", { .type = CAROM_BOX, .half_extents = { 0.3, 0.3, 0.3 } },
		{ 0.38268343236508978, 0, 0, 0.92387953251128674 }, 0.4242640687119285 },
	{ "sphere", { .type = CAROM_SPHERE, .radius = 0.3 }, UPRIGHT, 0.3 },
	{ "capsule", { .type = CAROM_CAPSULE, .radius = 0.3, .half_length = 0.3 }, LYING, 0.3 },
	{ "cylinder", { .type = CAROM_CYLINDER, .radius = 0.3, .half_length = 0.3 }, UPRIGHT, 0.3 },
	{ "cylinder_lies", { .type = CAROM_CYLINDER, .radius = 0.3, .half_length = 0.3 }, LYING, 0.3 },
	{ "cylinder_leans", { .type = CAROM_CYLINDER, .radius = 0.3, .half_length = 0.3 }, LEANING, 0.384704 },
	{ "cone", { .type = CAROM_CONE, .radius = 0.3, .half_length = 0.3 }, UPRIGHT, 0.3 },
	{ "cone_lies", { .type = CAROM_CONE, .radius = 0.3, .half_length = 0.3 },
		{ 0, 0.85065080835203999, 0, 0.52573111211913359 }, 0.13416407864998739 },
	{ "ellipsoid", { .type = CAROM_ELLIPSOID, .half_extents = { 0.4, 0.3, 0.3 } }, UPRIGHT, 0.3 },
	{ "rounded_box", { .type = CAROM_BOX, .half_extents = { 0.25, 0.25, 0.25 }, .rounding = 0.05 }, UPRIGHT, 0.3 },
};
enum { FIGURES = sizeof figures / sizeof *figures };

static carom_quat multiply(carom_quat p, carom_quat q)
{
	return (carom_quat){ p.w * q.x + p.x * q.w + p.y * q.z - p.z * q.y, p.w * q.y - p.x * q.z + p.y * q.w + p.z * q.x,
		p.w * q.z + p.x * q.y - p.y * q.x + p.z * q.w, p.w * q.w - p.x * q.x - p.y * q.y - p.z * q.z };
}

/// A turn about an axis across z, and one about z.
static carom_quat small_turn(uint64_t *seed, double size, double yaw)
{
	const double x = random_between(seed, -size, size), y = random_between(seed, -size, size);
	const double z = random_between(seed, -yaw, yaw), w = sqrt(1 - 0.25 * (x * x + y * y));
	return multiply((carom_quat){ 0, 0, sin(0.5 * z), cos(0.5 * z) }, (carom_quat){ 0.5 * x, 0.5 * y, 0, w });
}

static carom_world *make_world(void)
{
	carom_world *world;
	check(carom_create_world(context, NULL, &world));
	return world;
}

static carom_body_id add(carom_world *world, carom_shape shape, carom_vec3 at, carom_quat turn, bool moves, bool continuous)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.kind = moves ? CAROM_DYNAMIC : CAROM_STATIC;
	def.continuous = continuous;
	def.shape = shape;
	def.pose = (carom_pose){ at, turn };
	check(carom_world_add_body(world, &def, &id));
	return id;
}

/// Steps a world and takes its contacts into the hash. Returns the time of the step.
static double step(carom_world *world, uint64_t *hash, long *count)
{
	const double start = bench_thread_us();
	check(carom_world_step(world));
	const double us = bench_thread_us() - start;
	const carom_contact_view view = carom_world_contacts(world);
	*count += view.count;
	for (int i = 0; i < view.count; i++) {
		const carom_contact *c = &view.data[i];
		*hash = hash_of(hash_of(*hash, c->depth), c->normal[0] + 2 * c->normal[1] + 4 * c->normal[2]);
		for (int k = 0; k < 3; k++)
			*hash = hash_of(*hash, c->point[k]);
	}
	return us;
}

// ---- Contacts ----

static void run_contacts(const figure *f, double tilt, int rounds)
{
	double us[MOST_ROUNDS];
	uint64_t seed = 1, hash = 0xcbf29ce484222325u;
	long count = 0;
	char name[64];
	snprintf(name, sizeof name, "%s_%g", f->name, tilt);
	if (is_left_out(name))
		return;
	carom_body_id ids[PAIRS];
	carom_vec3 places[PAIRS];
	carom_world *world = make_world();
	for (int i = 0; i < PAIRS; i++) {
		const carom_vec3 floor = { 5 * (i % 10), 5 * (i / 10), -0.5 };
		const double x = random_between(&seed, -0.4, 0.4), y = random_between(&seed, -0.4, 0.4);
		places[i] = (carom_vec3){ floor.x + x, floor.y + y, f->height - 1e-3 };
		add(world, (carom_shape){ .type = CAROM_BOX, .half_extents = { 0.5, 0.5, 0.5 } }, floor, (carom_quat)UPRIGHT, false,
			false);
		ids[i] = add(world, f->shape, places[i], f->turn, true, false);
	}
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < PAIRS; i++) {
			const carom_pose pose = { places[i], multiply(small_turn(&seed, tilt, 3), f->turn) };
			check(carom_world_set_pose(world, ids[i], &pose));
		}
		us[r] = step(world, &hash, &count);
	}
	print_row("contacts", name, us, rounds, PAIRS, hash, count);
	carom_destroy_world(world);
}

// ---- Casts ----

/// A sheet of cells by cells squares, each of two triangles, side long, in z = 0.
static carom_mesh *make_sheet(double side, int cells, double hills)
{
	const int n = cells + 1;
	float *vertices = malloc((size_t)(n * n) * 3 * sizeof *vertices);
	int32_t *triangles = malloc((size_t)(cells * cells) * 6 * sizeof *triangles);
	if (!vertices || !triangles)
		exit(1);
	for (int i = 0; i < n * n; i++) {
		const double x = side * (i % n - 0.5 * cells), y = side * (i / n - 0.5 * cells);
		vertices[3 * i] = (float)x;
		vertices[3 * i + 1] = (float)y;
		vertices[3 * i + 2] = (float)(hills * sin(1.3 * x) * cos(1.7 * y));
	}
	for (int i = 0; i < cells * cells; i++) {
		const int32_t p = i / cells * n + i % cells;
		memcpy(&triangles[6 * i], (int32_t[6]){ p, p + 1, p + n + 1, p, p + n + 1, p + n }, 6 * sizeof *triangles);
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = n * n;
	def.triangles = triangles;
	def.triangle_count = 2 * cells * cells;
	carom_mesh *mesh;
	check(carom_create_mesh(context, &def, NULL, &mesh));
	free(vertices);
	free(triangles);
	return mesh;
}

static void cast(
	const carom_world *world, const figure *f, carom_pose from, carom_vec3 way, bool skip, uint64_t *hash, long *hits)
{
	carom_query_filter filter = carom_default_query_filter();
	filter.skip_separating = skip;
	carom_motion motion = { from, from };
	motion.end.position = (carom_vec3){ from.position.x + way.x, from.position.y + way.y, from.position.z + way.z };
	carom_shape_hit hit;
	bool found;
	check(carom_world_cast_shape(world, &f->shape, &motion, 1e-3, &filter, &found, &hit));
	if (!found)
		return;
	++*hits;
	*hash = hash_of(hash_of(hash_of(*hash, hit.time), hit.distance), hit.triangle);
	*hash = hash_vector(hash_vector(*hash, hit.point), hit.normal);
}

static void run_casts(const figure *f, const carom_mesh *sheet, carom_vec3 way, const char *way_name, int rounds)
{
	double us[MOST_ROUNDS];
	uint64_t hash = 0xcbf29ce484222325u;
	long hits = 0;
	char name[64];
	snprintf(name, sizeof name, "%s_%s", f->name, way_name);
	if (is_left_out(name))
		return;
	carom_world *world = make_world();
	add(world, (carom_shape){ .type = CAROM_MESH, .mesh = sheet }, (carom_vec3){ 0, 0, 0 }, (carom_quat)UPRIGHT, false, false);
	for (int r = 0; r < rounds; r++) {
		uint64_t seed = 1;
		us[r] = 0;
		for (int i = 0; i < CASTS; i++) {
			const double x = random_between(&seed, -3, 3), y = random_between(&seed, -3, 3);
			const carom_pose from = { { x, y, f->height + 5e-4 }, multiply(small_turn(&seed, 0, 3), f->turn) };
			const double start = bench_thread_us();
			cast(world, f, from, way, true, &hash, &hits);
			us[r] += bench_thread_us() - start;
		}
	}
	print_row("casts", name, us, rounds, CASTS, hash, hits);
	carom_destroy_world(world);
}

// ---- A pile ----

/// The hash takes the impacts of continuous bodies too.
static double step_pile(carom_world *world, uint64_t *hash, long *count)
{
	const double us = step(world, hash, count);
	const carom_body_impact_view view = carom_world_body_impacts(world);
	*count = view.count;
	for (int i = 0; i < view.count; i++) {
		const carom_body_impact *p = &view.data[i];
		*hash = hash_of(hash_of(hash_of(*hash, p->time), p->distance), p->status + 8.0 * p->triangle_a + 64.0 * p->triangle_b);
		*hash = hash_vector(hash_vector(*hash, p->point), p->normal);
	}
	return us;
}

static void run_pile(const char *name, carom_shape shape, double spacing, bool continuous, int rounds)
{
	static carom_body_id ids[SIDE * SIDE * SIDE];
	static carom_pose poses[SIDE * SIDE * SIDE];
	double us[MOST_ROUNDS];
	uint64_t seed = 1, hash = 0xcbf29ce484222325u;
	long count = 0;
	char full[64];
	snprintf(full, sizeof full, "%s%s", name, continuous ? "" : "_not_continuous");
	if (is_left_out(full))
		return;
	carom_world *world = make_world();
	add(world, (carom_shape){ .type = CAROM_BOX, .half_extents = { 50, 50, 1 } }, (carom_vec3){ 0, 0, -1 - 0.5 * spacing },
		(carom_quat)UPRIGHT, false, false);
	for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
		const double x = spacing * (i % SIDE), y = spacing * (i / SIDE % SIDE), z = spacing * (i / SIDE / SIDE);
		poses[i] = (carom_pose){ { x, y, z }, small_turn(&seed, 0.02, 0.02) };
		ids[i] = add(world, shape, poses[i].position, poses[i].orientation, true, continuous);
	}
	check(carom_world_step(world));
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
			poses[i].position.x += random_between(&seed, -1e-3, 1e-3);
			poses[i].position.y += random_between(&seed, -1e-3, 1e-3);
			poses[i].position.z += random_between(&seed, -1e-3, 1e-3);
			const carom_quat turn = small_turn(&seed, 2e-3, 2e-3);
			poses[i].orientation = multiply(turn, poses[i].orientation);
			check(carom_world_set_pose(world, ids[i], &poses[i]));
		}
		us[r] = step_pile(world, &hash, &count);
	}
	print_row("pile", full, us, rounds, SIDE * SIDE * SIDE, hash, count);
	carom_destroy_world(world);
}

/// A cube of 12 triangles, or of more: cells by cells squares on each side.
static carom_mesh *make_cube(double half, int cells)
{
	enum { MOST = 8 };
	static float vertices[6 * (MOST + 1) * (MOST + 1)][3];
	static int32_t triangles[12 * MOST * MOST][3];
	int v = 0, t = 0;
	for (int side = 0; side < 6; side++) {
		const int k = side / 2, u = (k + 1) % 3, w = (k + 2) % 3, first = v;
		for (int i = 0; i < (cells + 1) * (cells + 1); i++, v++) {
			vertices[v][k] = (float)(side % 2 ? half : -half);
			vertices[v][u] = (float)(half * (2.0 * (i % (cells + 1)) / cells - 1));
			vertices[v][w] = (float)(half * (2.0 * (i / (cells + 1)) / cells - 1));
		}
		for (int i = 0; i < cells * cells; i++) {
			const int32_t p = first + i / cells * (cells + 1) + i % cells, q = p + cells + 1;
			const int32_t pair[2][3] = { { p, p + 1, q + 1 }, { p, q + 1, q } };
			for (int half_cell = 0; half_cell < 2; half_cell++, t++) {
				for (int c = 0; c < 3; c++)
					triangles[t][c] = pair[half_cell][side % 2 ? c : 2 - c];
			}
		}
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = v;
	def.triangles = triangles[0];
	def.triangle_count = t;
	carom_mesh *mesh;
	check(carom_create_mesh(context, &def, NULL, &mesh));
	return mesh;
}

// ---- Large shapes ----

static const figure large[] = {
	{ "box", { .type = CAROM_BOX, .half_extents = { 2, 2, 2 } }, UPRIGHT, 2 },
	{ "cylinder", { .type = CAROM_CYLINDER, .radius = 2, .half_length = 2 }, UPRIGHT, 2 },
	{ "cylinder_lies", { .type = CAROM_CYLINDER, .radius = 2, .half_length = 2 }, LYING, 2 },
	{ "cone", { .type = CAROM_CONE, .radius = 2, .half_length = 2 }, UPRIGHT, 2 },
	{ "ellipsoid", { .type = CAROM_ELLIPSOID, .half_extents = { 3, 2.5, 2 } }, UPRIGHT, 2 },
	{ "rounded_box", { .type = CAROM_BOX, .half_extents = { 1.8, 1.8, 1.8 }, .rounding = 0.2 }, UPRIGHT, 2 },
	{ "capsule", { .type = CAROM_CAPSULE, .radius = 2, .half_length = 2 }, LYING, 2 },
};

static void run_large(const figure *f, const carom_mesh *sheet, const char *ground, int rounds)
{
	double us[MOST_ROUNDS], cast_us[MOST_ROUNDS];
	uint64_t hash = 0xcbf29ce484222325u, cast_hash = hash;
	long count = 0, hits = 0;
	char name[64];
	snprintf(name, sizeof name, "%s_%s", f->name, ground);
	if (is_left_out(name))
		return;
	carom_world *world = make_world();
	add(world, (carom_shape){ .type = CAROM_MESH, .mesh = sheet }, (carom_vec3){ 0, 0, 0 }, (carom_quat)UPRIGHT, false, false);
	const carom_body_id id = add(world, f->shape, (carom_vec3){ 0, 0, 50 }, f->turn, true, false);
	for (int r = 0; r < rounds; r++) {
		uint64_t seed = 1;
		us[r] = cast_us[r] = 0;
		for (int i = 0; i < LARGE_STEPS; i++) {
			const double x = random_between(&seed, -3, 3), y = random_between(&seed, -3, 3), far = 6 + f->height;
			const carom_quat turn = multiply(small_turn(&seed, 0.02, 3), f->turn);
			const carom_pose pose = { { x, y, f->height - 0.02 }, turn }, above = { { x, y, far }, turn };
			check(carom_world_set_pose(world, id, &pose));
			us[r] += step(world, &hash, &count);
			const carom_pose away = { { 0, 0, 500 }, turn };
			check(carom_world_set_pose(world, id, &away));
			const double start = bench_thread_us();
			cast(world, f, above, (carom_vec3){ 0.5, 0.3, -far }, false, &cast_hash, &hits);
			cast_us[r] += bench_thread_us() - start;
		}
	}
	print_row("large", name, us, rounds, LARGE_STEPS, hash, count);
	snprintf(name, sizeof name, "%s_%s_cast", f->name, ground);
	print_row("large", name, cast_us, rounds, LARGE_STEPS, cast_hash, hits);
	carom_destroy_world(world);
}

// ---- The modes ----

static void all_contacts(int rounds)
{
	for (int i = 0; i < FIGURES; i++) {
		run_contacts(&figures[i], 0, rounds);
		run_contacts(&figures[i], 1e-3, rounds);
	}
}

static void all_casts(int rounds)
{
	static const struct {
		const char *name;
		carom_vec3 way;
	} ways[] = { { "along", { 0.03, 0, 0 } }, { "down", { 0, 0, -0.01 } }, { "both", { 0.03, 0, -0.01 } } };
	carom_mesh *sheet = make_sheet(0.2, 60, 0);
	for (int i = 0; i < FIGURES; i++) {
		for (int k = 0; k < 3; k++)
			run_casts(&figures[i], sheet, ways[k].way, ways[k].name, rounds);
	}
	carom_release_mesh(sheet);
}

static void all_piles(int rounds)
{
	carom_mesh *cubes[2] = { make_cube(0.3, 1), make_cube(0.3, 4) };
	for (int continuous = 0; continuous < 2; continuous++) {
		run_pile("box", figures[0].shape, 0.5995, continuous, rounds);
		run_pile(
			"cylinder", (carom_shape){ .type = CAROM_CYLINDER, .radius = 0.3, .half_length = 0.3 }, 0.5995, continuous, rounds);
		run_pile("cube_of_12", (carom_shape){ .type = CAROM_MESH, .mesh = cubes[0] }, 0.5995, continuous, rounds);
		run_pile("cube_of_192", (carom_shape){ .type = CAROM_MESH, .mesh = cubes[1] }, 0.5995, continuous, rounds);
	}
	carom_release_mesh(cubes[0]);
	carom_release_mesh(cubes[1]);
}

static void all_large(int rounds)
{
	carom_mesh *flat = make_sheet(0.1, 160, 0), *hilly = make_sheet(0.1, 160, 0.1);
	for (int i = 0; i < (int)(sizeof large / sizeof *large); i++) {
		run_large(&large[i], flat, "flat", rounds);
		run_large(&large[i], hilly, "hilly", rounds);
	}
	carom_release_mesh(flat);
	carom_release_mesh(hilly);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	const int rounds = argc > 2 ? atoi(argv[2]) : 20;
	void (*const run)(int) = !strcmp(mode, "contacts") ? all_contacts
		: !strcmp(mode, "casts")                       ? all_casts
		: !strcmp(mode, "pile")                        ? all_piles
		: !strcmp(mode, "large")                       ? all_large
													   : NULL;
	only = argc > 3 ? argv[3] : "";
	if (!run || argc > 4 || rounds < 1 || rounds > MOST_ROUNDS) {
		fprintf(stderr, "usage: bench_shape_pairs (contacts | casts | pile | large) [ROUNDS [CASE]]\n");
		return 2;
	}
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	if (carom_create_context(&def, &context) != CAROM_SUCCESS)
		return 1;
	printf("mode,case,least_us,middle_us,hash,results\n");
	run(rounds);
	carom_destroy_context(context);
	return 0;
}
