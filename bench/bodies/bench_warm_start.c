/// @file bench_warm_start.c
/// What warm starts bring. A stack of equal bodies on a box, and a solver of sequential impulses
/// that begins with the impulses of the last step and takes a few rounds forward and backward in
/// turns. It solves velocities alone: depths get no bias, since that would be kept in the impulses.
/// Crates are boxes as meshes of 12 triangles.
/// Contacts are told 1 cm ahead. Prints CSV of 10 s: how high the topmost body is at the end, and
/// should be, and the speed of all in the last 2 s, mean (square root of the mean of squares) and
/// most, in m/s. A spin counts by the radius of gyration.
/// Usage: bench_warm_start (boxes | cylinders | crates) HEIGHT ROUNDS (warm | cold)
#include "bench/bench_check.h"
#include "carom/carom.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BODIES = 32, MOST_CONTACTS = 1024, STEPS = 600, LOOKED_AT = 120 };
static const double STEP = 1.0 / 60, FRICTION = 0.6, HALF = 0.25, GYRATION2 = 0.104;

/// Mass 1 and one moment of inertia about all axes; 0 and 0 of the ground, which stays.
typedef struct mover {
	carom_body_id id;
	carom_vec3 centre, velocity, spin;
	carom_quat turn;
	double per_mass, per_inertia;
} mover;

/// A contact as the solver has it.
typedef struct joint {
	mover *side[2];
	carom_vec3 arm[2], normal, across[2], impulse;
	double depth;
} joint;

typedef struct bench {
	carom_context *context;
	carom_world *world;
	carom_mesh *mesh; // NULL: none
	mover movers[MOST_BODIES + 1];
	int count, rounds;
	bool warm;
	joint joints[MOST_CONTACTS];
} bench;

static void check(const bench *b, carom_result result) { bench_check("bench_warm_start", b->context, result); }

static carom_vec3 add(carom_vec3 a, carom_vec3 b, double factor)
{
	return (carom_vec3){ a.x + factor * b.x, a.y + factor * b.y, a.z + factor * b.z };
}

static double dot(carom_vec3 a, carom_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static carom_vec3 scale(carom_vec3 a, double factor) { return add((carom_vec3){ 0, 0, 0 }, a, factor); }

static carom_vec3 cross(carom_vec3 a, carom_vec3 b)
{
	return (carom_vec3){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}

static void add_mover(bench *b, carom_body_def *def, double mass)
{
	mover *m = &b->movers[b->count++];
	*m = (mover){ .centre = def->pose.position, .turn = def->pose.orientation };
	m->per_mass = mass > 0 ? 1 / mass : 0;
	m->per_inertia = mass > 0 ? 1 / (mass * GYRATION2) : 0;
	check(b, carom_world_add_body(b->world, def, &m->id));
}

static carom_shape shape_of(bench *b, const char *kind)
{
	static const int32_t triangles[36] = { 0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2,
		4, 6, 1, 3, 5, 3, 7, 5 };
	if (strcmp(kind, "cylinders") == 0)
		return (carom_shape){ .type = CAROM_CYLINDER, .radius = 0.5, .half_length = HALF };
	if (strcmp(kind, "boxes") == 0)
		return (carom_shape){ .type = CAROM_BOX, .half_extents = { 0.5, 0.5, HALF } };
	float corners[24];
	for (int i = 0; i < 8; i++) {
		corners[3 * i] = i & 1 ? 0.5f : -0.5f;
		corners[3 * i + 1] = i & 2 ? 0.5f : -0.5f;
		corners[3 * i + 2] = (float)(i & 4 ? HALF : -HALF);
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = corners, .type = CAROM_FLOAT32 };
	def.vertex_count = 8;
	def.triangles = triangles;
	def.triangle_count = 12;
	check(b, carom_create_mesh(b->context, &def, NULL, &b->mesh));
	return (carom_shape){ .type = CAROM_MESH, .mesh = b->mesh };
}

static void build(bench *b, const char *kind, int height)
{
	carom_body_def def = carom_default_body_def();
	carom_world_def world_def = carom_default_world_def();
	world_def.speculative_distance = 0.01;
	check(b, carom_create_context(NULL, &b->context));
	check(b, carom_create_world(b->context, &world_def, &b->world));
	def.kind = CAROM_STATIC;
	def.shape = (carom_shape){ .type = CAROM_BOX, .half_extents = { 5, 5, 0.5 } };
	def.pose.position.z = -0.5;
	add_mover(b, &def, 0);
	def.kind = CAROM_DYNAMIC;
	def.shape = shape_of(b, kind);
	for (int i = 0; i < height; i++) {
		def.pose.position.z = HALF + 2 * HALF * i;
		add_mover(b, &def, 1);
	}
}

static mover *mover_of(bench *b, carom_body_id id)
{
	mover *m = b->movers;
	while (m->id.index1 != id.index1)
		m++;
	return m;
}

/// The impulse acts on A as it is, on B reversed.
static void push(joint *j, carom_vec3 impulse)
{
	for (int k = 0; k < 2; k++) {
		mover *m = j->side[k];
		const double sign = k == 0 ? 1 : -1;
		m->velocity = add(m->velocity, impulse, sign * m->per_mass);
		m->spin = add(m->spin, cross(j->arm[k], impulse), sign * m->per_inertia);
	}
}

/// The impulse along an axis after which the speed along it is the wanted one.
static double needed(const joint *j, carom_vec3 axis, double wanted)
{
	double speed = 0, ease = 0;
	for (int k = 0; k < 2; k++) {
		const mover *m = j->side[k];
		const carom_vec3 turned = cross(j->arm[k], axis);
		speed += (k == 0 ? 1 : -1) * (dot(m->velocity, axis) + dot(m->spin, turned));
		ease += m->per_mass + m->per_inertia * dot(turned, turned);
	}
	return (wanted - speed) / ease;
}

static void begin_joint(bench *b, joint *j, const carom_contact *c)
{
	const carom_vec3 point = { c->point[0], c->point[1], c->point[2] }, n = { c->normal[0], c->normal[1], c->normal[2] };
	const carom_vec3 other = fabs(n.x) < 0.5 ? (carom_vec3){ 1, 0, 0 } : (carom_vec3){ 0, 1, 0 };
	const carom_vec3 along = cross(n, other), kept = { c->impulse[0], c->impulse[1], c->impulse[2] };
	*j = (joint){ .side = { mover_of(b, c->body_a), mover_of(b, c->body_b) }, .normal = n, .depth = c->depth };
	for (int k = 0; k < 2; k++)
		j->arm[k] = add(point, j->side[k]->centre, -1);
	j->across[0] = scale(along, 1 / sqrt(dot(along, along)));
	j->across[1] = cross(n, j->across[0]);
	j->impulse = b->warm ? kept : (carom_vec3){ 0, 0, 0 };
	push(j, j->impulse);
}

/// One contact: it pushes, and rubs within the cone of friction.
static void relax(joint *j)
{
	const carom_vec3 old = j->impulse;
	const double was = dot(old, j->normal);
	const double pushed = fmax(0, was + needed(j, j->normal, j->depth < 0 ? j->depth / STEP : 0));
	push(j, scale(j->normal, pushed - was));
	carom_vec3 rub = add(old, j->normal, -was);
	for (int k = 0; k < 2; k++) {
		const carom_vec3 more = scale(j->across[k], needed(j, j->across[k], 0));
		push(j, more);
		rub = add(rub, more, 1);
	}
	const double size = sqrt(dot(rub, rub)), most = FRICTION * pushed;
	const carom_vec3 held = size > most ? scale(rub, most / size) : rub;
	push(j, add(held, rub, -1));
	j->impulse = add(held, j->normal, pushed);
}

static void solve(bench *b)
{
	const carom_contact_view view = carom_world_contacts(b->world);
	if (view.count > MOST_CONTACTS) {
		fprintf(stderr, "bench_warm_start: %d contacts; at most %d\n", (int)view.count, MOST_CONTACTS);
		exit(1);
	}
	for (int32_t i = 0; i < view.count; i++)
		begin_joint(b, &b->joints[i], &view.data[i]);
	for (int k = 0; k < b->rounds; k++) {
		for (int32_t i = 0; i < view.count; i++)
			relax(&b->joints[k % 2 ? view.count - 1 - i : i]);
	}
	for (int32_t i = 0; i < view.count; i++) {
		const carom_vec3 j = b->joints[i].impulse;
		check(b, carom_world_set_impulse(b->world, i, (float[]){ (float)j.x, (float)j.y, (float)j.z }));
	}
}

static void move(mover *m)
{
	const carom_quat q = m->turn;
	const carom_vec3 w = m->spin, u = { q.x, q.y, q.z }, uw = add(cross(w, u), w, q.w);
	const carom_quat next = { q.x + STEP / 2 * uw.x, q.y + STEP / 2 * uw.y, q.z + STEP / 2 * uw.z, q.w - STEP / 2 * dot(w, u) };
	const double length = sqrt(next.x * next.x + next.y * next.y + next.z * next.z + next.w * next.w);
	m->turn = (carom_quat){ next.x / length, next.y / length, next.z / length, next.w / length };
	m->centre = add(m->centre, m->velocity, STEP);
}

static void step(bench *b)
{
	for (int i = 1; i < b->count; i++) {
		const carom_pose pose = { b->movers[i].centre, b->movers[i].turn };
		check(b, carom_world_set_pose(b->world, b->movers[i].id, &pose));
		b->movers[i].velocity.z -= 9.81 * STEP;
	}
	check(b, carom_world_step(b->world));
	solve(b);
	for (int i = 1; i < b->count; i++)
		move(&b->movers[i]);
}

int main(int argc, char **argv)
{
	static bench b;
	const int height = argc == 5 ? atoi(argv[2]) : 0;
	b.rounds = argc == 5 ? atoi(argv[3]) : 0;
	if (height < 1 || height > MOST_BODIES || b.rounds < 1 ||
		(strcmp(argv[1], "boxes") != 0 && strcmp(argv[1], "cylinders") != 0 && strcmp(argv[1], "crates") != 0) ||
		(strcmp(argv[4], "warm") != 0 && strcmp(argv[4], "cold") != 0)) {
		fprintf(stderr,
			"usage: bench_warm_start (boxes | cylinders | crates) HEIGHT ROUNDS (warm | cold); HEIGHT is at most %d\n",
			MOST_BODIES);
		return 1;
	}
	b.warm = strcmp(argv[4], "warm") == 0;
	build(&b, argv[1], height);
	double sum = 0, most = 0;
	for (int i = 0; i < STEPS; i++) {
		step(&b);
		for (int k = 1; k < b.count && i >= STEPS - LOOKED_AT; k++) {
			const mover *m = &b.movers[k];
			const double square = dot(m->velocity, m->velocity) + GYRATION2 * dot(m->spin, m->spin);
			sum += square;
			most = fmax(most, sqrt(square));
		}
	}
	printf("bodies,height,rounds,start,top,should_be,mean_speed,most_speed\n");
	printf("%s,%d,%d,%s,%.4f,%.4f,%.2e,%.2e\n", argv[1], height, b.rounds, argv[4], b.movers[height].centre.z,
		(2 * height - 1) * HALF, sqrt(sum / ((double)LOOKED_AT * height)), most);
	carom_destroy_world(b.world);
	if (b.mesh)
		carom_release_mesh(b.mesh);
	carom_destroy_context(b.context);
	return 0;
}
