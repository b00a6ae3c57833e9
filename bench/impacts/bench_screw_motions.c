/// @file bench_screw_motions.c
/// Random screw motions of random pairs of shapes: carom_time_of_impact against a search in fine
/// steps. An impact counts as missed where the shapes meet at a fine step before the time that was
/// told. Prints, for each kind of pair, how many motions there were, how they ended, how many
/// impacts were missed, and the largest gap at a time of impact, in parts of the tolerance. Fails
/// if one was missed, told late or told where the shapes are farther apart than the tolerance.
/// Usage: bench_screw_motions [--count N] [--steps N] [--seed N]
#include "bench/bench_check.h"
#include "bench/bench_random.h"
#include "carom/collide.h"
#include "carom/carom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 5, HULLS = 16, AROUND = 10, ALONG = 6, TORUS = AROUND * ALONG, FIELD = 5, STATUSES = 4 };
static const double TOLERANCE = 1e-4, PI = 3.14159265358979323846;
static const char *const kind_names[KINDS] = { "convex, convex", "convex, mesh", "mesh, mesh", "convex, plane", "mesh, plane" };

typedef struct bench {
	carom_context *context;
	carom_mesh *torus, *field, *hulls[HULLS];
	uint64_t seed;
	int steps;
} bench;

/// Two shapes on their way. bodies: the surfaces that the search in fine steps measures, NULL where
/// the shape is asked itself.
typedef struct motion_pair {
	carom_shape shape[2];
	carom_motion motion[2];
	const carom_mesh *body[2];
} motion_pair;

typedef struct tally {
	long long motions, statuses[STATUSES], missed, wrong;
	double most_gap; // in tolerances
	long long separations;
} tally;

static void check(carom_context *context, carom_result result) { bench_check("bench_screw_motions", context, result); }

// ---- Moving shapes ----

static int random_below(uint64_t *state, int count) { return (int)random_between(state, 0, count); }

static carom_pose random_pose(uint64_t *state, double span)
{
	carom_pose pose;
	double square;
	do {
		pose.orientation = (carom_quat){ random_between(state, -1, 1), random_between(state, -1, 1),
			random_between(state, -1, 1), random_between(state, -1, 1) };
		const carom_quat q = pose.orientation;
		square = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
	} while (square > 1 || square < 0.01);
	const double scale = 1 / sqrt(square);
	pose.orientation.x *= scale, pose.orientation.y *= scale, pose.orientation.z *= scale, pose.orientation.w *= scale;
	pose.position = (carom_vec3){ random_between(state, -span, span), random_between(state, -span, span),
		random_between(state, -span, span) };
	return pose;
}

static carom_mesh *make_torus(carom_context *context)
{
	static float places[TORUS][3];
	static int32_t triangles[2 * TORUS][3];
	for (int i = 0; i < AROUND; i++) {
		for (int k = 0; k < ALONG; k++) {
			const double u = 2 * PI * i / AROUND, v = 2 * PI * k / ALONG, r = 0.8 + 0.25 * cos(v);
			float *p = places[i * ALONG + k];
			p[0] = (float)(r * cos(u)), p[1] = (float)(r * sin(u)), p[2] = (float)(0.25 * sin(v));
			const int a = i * ALONG + k, b = (i + 1) % AROUND * ALONG + k, c = i * ALONG + (k + 1) % ALONG,
					  d = (i + 1) % AROUND * ALONG + (k + 1) % ALONG;
			memcpy(triangles[2 * a], (int32_t[3]){ a, b, d }, sizeof triangles[0]);
			memcpy(triangles[2 * a + 1], (int32_t[3]){ a, d, c }, sizeof triangles[0]);
		}
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ places, 0, CAROM_FLOAT32 };
	def.vertex_count = TORUS;
	def.triangles = triangles[0];
	def.triangle_count = 2 * TORUS;
	carom_mesh *mesh;
	check(context, carom_create_mesh(context, &def, NULL, &mesh));
	return mesh;
}

static void make_shapes(bench *b)
{
	check(NULL, carom_create_context(NULL, &b->context));
	b->torus = make_torus(b->context);
	float heights[FIELD * FIELD];
	for (int i = 0; i < FIELD * FIELD; i++)
		heights[i] = (float)random_between(&b->seed, 0, 0.5);
	check(b->context, carom_create_height_field(b->context, FIELD, FIELD, heights, (double[2]){ 0.4, 0.4 }, 0.5, &b->field));
	for (int i = 0; i < HULLS; i++) {
		float points[16][3];
		for (int k = 0; k < 48; k++)
			points[k / 3][k % 3] = (float)random_between(&b->seed, -0.6, 0.6);
		const carom_strided view = { points, 0, CAROM_FLOAT32 };
		check(b->context, carom_create_hull(b->context, &view, 16, &b->hulls[i]));
	}
}

static carom_shape random_hull(bench *b)
{
	return (carom_shape){
		.type = CAROM_HULL, .mesh = b->hulls[random_below(&b->seed, HULLS)], .rounding = random_below(&b->seed, 2) ? 0.05f : 0
	};
}

static carom_shape random_convex(bench *b)
{
	static const carom_shape_type types[6] = { CAROM_SPHERE, CAROM_BOX, CAROM_CAPSULE, CAROM_CYLINDER, CAROM_CONE,
		CAROM_ELLIPSOID };
	const int type = random_below(&b->seed, 7);
	if (type == 6)
		return random_hull(b);
	const double x = random_between(&b->seed, 0.1, 0.6), y = random_between(&b->seed, 0.1, 0.6);
	return (carom_shape){ .type = types[type], .radius = x, .half_length = y, .half_extents = { x, y, 0.3 } };
}

static carom_shape random_mesh(bench *b)
{
	return (carom_shape){ .type = CAROM_MESH, .mesh = random_below(&b->seed, 3) ? b->torus : b->field };
}

/// A way of a plane: mostly below the moving shape.
static carom_motion random_plane_motion(bench *b)
{
	carom_motion motion = { random_pose(&b->seed, 1), random_pose(&b->seed, 1) };
	for (int i = 0; i < 2; i++) {
		carom_pose *pose = i ? &motion.end : &motion.begin;
		const carom_vec3 up = carom_rotate(pose->orientation, (carom_vec3){ 0, 0, 1 });
		const double below = random_between(&b->seed, 0, 4);
		pose->position.x -= below * up.x, pose->position.y -= below * up.y, pose->position.z -= below * up.z;
	}
	return motion;
}

static motion_pair random_pair(bench *b, int kind)
{
	motion_pair p = { .shape = { { .type = CAROM_PLANE }, { .type = CAROM_PLANE } } };
	const bool meshes[2] = { kind == 2 || kind == 4, kind == 1 || kind == 2 };
	for (int i = 0; i < 2; i++) {
		p.motion[i] = (carom_motion){ random_pose(&b->seed, 2.5), random_pose(&b->seed, 2.5) };
		if (i == 1 && kind >= 3)
			p.motion[i] = random_plane_motion(b);
		else if (meshes[i])
			p.shape[i] = random_mesh(b);
		else
			p.shape[i] = kind == 1 ? random_hull(b) : random_convex(b);
		p.body[i] = kind == 1 || kind == 2 ? p.shape[i].mesh : NULL;
	}
	return p;
}

// ---- The search in fine steps ----

static double plane_gap(const bench *b, const motion_pair *p, carom_pose pose, carom_pose plane)
{
	if (p->shape[0].type != CAROM_MESH) {
		carom_separation s;
		check(b->context, carom_distance(b->context, &p->shape[0], &pose, &p->shape[1], &plane, &s));
		return s.distance;
	}
	const float *v = carom_mesh_get_vertices(p->shape[0].mesh);
	double least = INFINITY;
	for (int32_t i = 0; i < carom_mesh_get_report(p->shape[0].mesh)->vertex_count; i++) {
		const carom_vec3 place = carom_transform_point(pose, (carom_vec3){ v[3 * i], v[3 * i + 1], v[3 * i + 2] });
		const double height = carom_inverse_transform_point(plane, place).z;
		least = height < least ? height : least;
	}
	return least;
}

/// How far the surfaces are apart at a time; 0 or less where they meet.
static double gap_at(const bench *b, const motion_pair *p, double t, bool *inside)
{
	const carom_pose pose[2] = { carom_motion_pose(&p->motion[0], t), carom_motion_pose(&p->motion[1], t) };
	*inside = false;
	if (p->shape[1].type == CAROM_PLANE)
		return plane_gap(b, p, pose[0], pose[1]);
	if (p->body[0]) {
		carom_mesh_gap gap;
		bool found;
		check(b->context, carom_mesh_distance(p->body[0], &pose[0], p->body[1], &pose[1], INFINITY, &found, &gap));
		*inside = gap.a_inside_b || gap.b_inside_a;
		return gap.distance - (double)p->shape[0].rounding;
	}
	carom_separation s;
	check(b->context, carom_distance(b->context, &p->shape[0], &pose[0], &p->shape[1], &pose[1], &s));
	return s.distance;
}

/// Do the shapes meet at a fine step before a time?
static bool meet_before(const bench *b, const motion_pair *p, double time)
{
	bool inside;
	for (int i = 0; i <= b->steps; i++) {
		const double t = (double)i / b->steps;
		if (t > time)
			return false;
		if (gap_at(b, p, t, &inside) <= 0)
			return true;
	}
	return false;
}

static void judge(const bench *b, const motion_pair *p, const carom_toi *toi, tally *sums)
{
	bool inside;
	sums->motions++;
	sums->statuses[toi->status]++;
	sums->separations += toi->steps;
	const double gap = gap_at(b, p, toi->time, &inside);
	if (toi->status == CAROM_TOI_TOUCHING) {
		sums->wrong += toi->time != 0 || (!inside && gap > TOLERANCE);
		return;
	}
	sums->missed += meet_before(b, p, toi->time);
	if (toi->status != CAROM_TOI_IMPACT)
		return;
	sums->wrong += !(gap > 0 && gap <= TOLERANCE * (1 + 1e-4));
	sums->most_gap = gap / TOLERANCE > sums->most_gap ? gap / TOLERANCE : sums->most_gap;
}

// ---- All ----

static long long number_of(const char *text)
{
	char *end;
	const long long number = strtoll(text, &end, 10);
	if (*end || number < 1 || number > 1000000000) {
		fprintf(stderr, "bench_screw_motions: %s is no number from 1 to 1000000000\n", text);
		exit(2);
	}
	return number;
}

static long long read_arguments(int argc, char **argv, bench *b)
{
	long long count = 100000;
	for (int i = 1; i < argc; i += 2) {
		const bool value = i + 1 < argc;
		if (value && !strcmp(argv[i], "--count"))
			count = number_of(argv[i + 1]);
		else if (value && !strcmp(argv[i], "--steps"))
			b->steps = (int)number_of(argv[i + 1]);
		else if (value && !strcmp(argv[i], "--seed"))
			b->seed = (uint64_t)number_of(argv[i + 1]);
		else {
			fprintf(stderr, "Usage: bench_screw_motions [--count N] [--steps N] [--seed N]\n");
			exit(2);
		}
	}
	return count;
}

static bool print_tally(const char *name, const tally *t)
{
	printf("%-16s %10lld %10lld %10lld %10lld %10lld %8lld %8lld %12.9f %8.1f\n", name, t->motions,
		t->statuses[CAROM_TOI_APART], t->statuses[CAROM_TOI_IMPACT], t->statuses[CAROM_TOI_TOUCHING],
		t->statuses[CAROM_TOI_UNDECIDED], t->missed, t->wrong, t->most_gap, (double)t->separations / (double)t->motions);
	return t->missed == 0 && t->wrong == 0;
}

int main(int argc, char **argv)
{
	bench b = { .seed = 1, .steps = 64 };
	const long long count = read_arguments(argc, argv, &b);
	tally tallies[KINDS] = { { 0 } };
	make_shapes(&b);
	for (long long i = 0; i < count; i++) {
		const int kind = (int)(i % KINDS);
		const motion_pair p = random_pair(&b, kind);
		carom_toi toi;
		check(b.context, carom_time_of_impact(b.context, &p.shape[0], &p.motion[0], &p.shape[1], &p.motion[1], TOLERANCE, &toi));
		judge(&b, &p, &toi, &tallies[kind]);
	}
	printf("%lld screw motions, %d fine steps each\n%-16s %10s %10s %10s %10s %10s %8s %8s %12s %8s\n", count, b.steps, "pair",
		"motions", "apart", "impact", "touching", "undecided", "missed", "wrong", "largest gap", "looks");
	bool good = true;
	for (int kind = 0; kind < KINDS; kind++)
		good = (tallies[kind].motions == 0 || print_tally(kind_names[kind], &tallies[kind])) && good;
	carom_release_mesh(b.torus);
	carom_release_mesh(b.field);
	for (int i = 0; i < HULLS; i++)
		carom_release_mesh(b.hulls[i]);
	carom_destroy_context(b.context);
	return good ? 0 : 1;
}
