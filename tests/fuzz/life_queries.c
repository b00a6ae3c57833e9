// Actions of the lives (fuzz_life.c) that ask. A question is answered by both worlds, by several threads at once, in batches, and by
// dull ways to find the answer: of each body alone, or of each two triangles.
#include "life.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HITS = 128 };

typedef enum life_kind {
	ASK_RAY,
	ASK_RAYS,
	ASK_POINT,
	ASK_BOX,
	ASK_OVERLAP,
	ASK_CONTACTS,
	ASK_BODY,
	ASK_PAIR,
	ASK_CAST,
	ASK_CASTS,
	ASK_PARTS,
	ASK_KINDS
} life_kind;

typedef struct life_question {
	life_kind kind;
	carom_shape shape[2]; ///< of each world's context
	carom_motion motion;
	carom_ray ray;
	carom_part parts[2][2];
	double reach, tolerance;
	bool filtered;
	carom_query_filter filter;
} life_question;

typedef struct life_answer {
	carom_result result;
	uint64_t hash; ///< of all that was told
	bool found;
	double value; ///< t, distance or time of the nearest
	carom_body_id body;
	int32_t count;
} life_answer;

static carom_query_filter *filter_of(life_question *q) { return q->filtered ? &q->filter : NULL; }

static uint64_t fold(uint64_t hash, const void *bytes, size_t count)
{
	const uint8_t *b = bytes;
	for (size_t i = 0; i < count; i++)
		hash = (hash ^ b[i]) * 0x100000001b3u;
	return hash;
}
#define FOLD(a, field) (a)->hash = fold((a)->hash, &(field), sizeof(field))

static life_question read_question(life *l, life_kind kind)
{
	life_question q = { .kind = kind };
	q.shape[0] = life_shape(l);
	if (q.shape[0].type == CAROM_PLANE)
		q.shape[0].type = CAROM_SPHERE;
	q.motion.begin = life_pose(l);
	q.motion.end = life_pose(l);
	if (life_choose(l, 2))
		q.motion.end.orientation = q.motion.begin.orientation;
	q.ray = (carom_ray){ q.motion.begin.position, life_vector(l, 1), 0, life_choose(l, 3) ? INFINITY : 2 };
	if (life_choose(l, 6) == 0)
		q.ray.direction = (carom_vec3){ 0, 0, -1 };
	q.reach = life_choose(l, 2) ? INFINITY : 0.5;
	q.tolerance = 0.001;
	q.filtered = life_choose(l, 2);
	q.filter = carom_default_query_filter();
	q.filter.skip_sensors = life_choose(l, 2);
	q.filter.skip_back_faces = life_choose(l, 4) == 0;
	q.filter.skip_separating = life_choose(l, 4) == 0;
	q.parts[0][0] = (carom_part){ q.shape[0], carom_pose_identity(), 0 };
	q.parts[0][1] = (carom_part){ { .type = CAROM_SPHERE, .radius = 0.2 }, { { 0.4, 0, 0.1 }, { 0, 0, 0, 1 } }, 0 };
	q.shape[1] = life_shape_of(l, q.shape[0], 1);
	memcpy(q.parts[1], q.parts[0], sizeof q.parts[0]);
	q.parts[1][0].shape = q.shape[1];
	return q;
}

// ---- Answers ----

static void tell_ray(life_answer *a, const carom_ray_hit *h)
{
	FOLD(a, h->body);
	FOLD(a, h->t);
	FOLD(a, h->normal);
	FOLD(a, h->triangle);
	FOLD(a, h->shape);
	FUZZ_REQUIRE(fuzz_is_unit(h->normal.x, h->normal.y, h->normal.z) && isfinite(h->t), "a hit at %g: normal %g %g %g", h->t,
		h->normal.x, h->normal.y, h->normal.z);
}

static void tell_cast(life_answer *a, const carom_shape_hit *h)
{
	FOLD(a, h->body);
	FOLD(a, h->time);
	FOLD(a, h->normal);
	FOLD(a, h->distance);
	FOLD(a, h->triangle);
	FOLD(a, h->shape);
	FOLD(a, h->own_shape);
	FUZZ_REQUIRE(fuzz_is_unit(h->normal.x, h->normal.y, h->normal.z) && h->time >= 0 && h->time < 1 && isfinite(h->distance),
		"a cast: time %g, distance %g, normal %g %g %g", h->time, h->distance, h->normal.x, h->normal.y, h->normal.z);
}

static void ask_ray(const carom_world *world, life_question *q, life_answer *a)
{
	carom_ray_hit hits[MOST_HITS];
	if (q->kind == ASK_RAY) {
		a->result = carom_world_cast_ray(world, &q->ray, filter_of(q), &a->found, hits);
		a->count = a->found;
	} else {
		a->result = carom_world_cast_ray_all(world, &q->ray, filter_of(q), MOST_HITS, hits, &a->count);
		a->found = a->count > 0;
	}
	if (a->result != CAROM_SUCCESS || !a->found)
		return;
	a->body = hits[0].body;
	a->value = hits[0].t;
	for (int i = 0; i < a->count && i < MOST_HITS; i++)
		tell_ray(a, &hits[i]);
}

static void ask_near(const carom_world *world, life_question *q, int w, life_answer *a)
{
	if (q->kind == ASK_POINT) {
		carom_closest_point p;
		a->result = carom_world_closest_point(world, q->motion.begin.position, q->reach, filter_of(q), &a->found, &p);
		if (a->result != CAROM_SUCCESS || !a->found)
			return;
		a->body = p.body, a->value = p.distance;
		FOLD(a, p.normal);
		FUZZ_REQUIRE(fuzz_is_unit(p.normal.x, p.normal.y, p.normal.z), "nearest point at %g: normal %g %g %g", p.distance,
			p.normal.x, p.normal.y, p.normal.z);
	} else if (q->kind == ASK_BODY) {
		carom_closest_body b;
		a->result = carom_world_closest_body(world, &q->shape[w], &q->motion.begin, q->reach, filter_of(q), &a->found, &b);
		if (a->result != CAROM_SUCCESS || !a->found)
			return;
		a->body = b.body, a->value = b.distance;
		FOLD(a, b.normal);
		FUZZ_REQUIRE(fuzz_is_unit(b.normal.x, b.normal.y, b.normal.z), "nearest body at %g: normal %g %g %g", b.distance,
			b.normal.x, b.normal.y, b.normal.z);
	} else {
		carom_closest_pair p;
		a->result = carom_world_closest_pair(world, q->reach, filter_of(q), NULL, &a->found, &p);
		if (a->result != CAROM_SUCCESS || !a->found)
			return;
		a->body = p.body_a, a->value = p.distance;
		FOLD(a, p.body_b);
		FOLD(a, p.normal);
	}
	FOLD(a, a->body);
	FOLD(a, a->value);
}

static void ask_bodies(const carom_world *world, life_question *q, int w, life_answer *a)
{
	if (q->kind == ASK_CONTACTS) {
		carom_contact contacts[MOST_HITS];
		a->result =
			carom_world_collide_shape(world, &q->shape[w], &q->motion.begin, filter_of(q), MOST_HITS, contacts, &a->count);
		for (int i = 0; a->result == CAROM_SUCCESS && i < a->count && i < MOST_HITS; i++) {
			const carom_contact *c = &contacts[i];
			FOLD(a, c->body_b);
			FOLD(a, c->point);
			FOLD(a, c->normal);
			FOLD(a, c->depth);
			FUZZ_REQUIRE(isfinite(c->depth) && fuzz_is_unit((double)c->normal[0], (double)c->normal[1], (double)c->normal[2]),
				"a contact asked for: depth %g", (double)c->depth);
		}
		return;
	}
	carom_body_id ids[MOST_HITS];
	const carom_vec3 p = q->motion.begin.position;
	const carom_aabb box = { { p.x - 0.5, p.y - 0.25, p.z - 0.5 }, { p.x + 0.5, p.y + 0.25, p.z + 0.5 } };
	a->result = q->kind == ASK_BOX
		? carom_world_overlap_aabb(world, &box, filter_of(q), MOST_HITS, ids, &a->count)
		: carom_world_overlap_shape(world, &q->shape[w], &q->motion.begin, filter_of(q), MOST_HITS, ids, &a->count);
	for (int i = 0; a->result == CAROM_SUCCESS && i < a->count; i++)
		FOLD(a, ids[i]);
	a->found = a->result == CAROM_SUCCESS && a->count > 0;
}

static void ask_cast(const carom_world *world, life_question *q, int w, life_answer *a)
{
	carom_shape_hit hits[MOST_HITS];
	if (q->kind == ASK_CAST)
		a->result = carom_world_cast_shape(world, &q->shape[w], &q->motion, q->tolerance, filter_of(q), &a->found, hits);
	else if (q->kind == ASK_CASTS)
		a->result =
			carom_world_cast_shape_all(world, &q->shape[w], &q->motion, q->tolerance, filter_of(q), MOST_HITS, hits, &a->count);
	else
		a->result = carom_world_cast_parts(world, q->parts[w], 2, &q->motion, q->tolerance, filter_of(q), &a->found, hits);
	if (a->result != CAROM_SUCCESS)
		return;
	if (q->kind != ASK_CASTS)
		a->count = a->found;
	a->found = a->count > 0;
	for (int i = 0; i < a->count; i++)
		tell_cast(a, &hits[i]);
	if (a->found)
		a->body = hits[0].body, a->value = hits[0].time;
}

static life_answer answer(const carom_world *world, life_question *q, int w)
{
	life_answer a = { .hash = 0xcbf29ce484222325u };
	switch (q->kind) {
	case ASK_RAY:
	case ASK_RAYS: ask_ray(world, q, &a); break;
	case ASK_POINT:
	case ASK_BODY:
	case ASK_PAIR: ask_near(world, q, w, &a); break;
	case ASK_BOX:
	case ASK_OVERLAP:
	case ASK_CONTACTS: ask_bodies(world, q, w, &a); break;
	default: ask_cast(world, q, w, &a); break;
	}
	FOLD(&a, a.result);
	FOLD(&a, a.count);
	FOLD(&a, a.found);
	return a;
}

// ---- Both worlds ----

static life_answer ask_both(life *l, life_question *q)
{
	life_arm(l, 0, l->failing);
	life_answer first = answer(l->world[0], q, 0);
	life_arm(l, 0, false);
	if (first.result == CAROM_OUT_OF_MEMORY && l->failing)
		first = answer(l->world[0], q, 0);
	const life_answer second = answer(l->world[1], q, 1);
	FUZZ_REQUIRE(first.hash == second.hash, "question %d: %d %s and %d %s, %d and %d told, %.17g and %.17g of bodies %u and %u",
		q->kind, first.result, carom_error_text(l->context[0]), second.result, carom_error_text(l->context[1]), first.count,
		second.count, first.value, second.value, first.body.index1, second.body.index1);
	return first;
}

static bool only_one(carom_body_id body, int32_t shape, uint64_t user_data, void *user)
{
	(void)shape, (void)user_data;
	return body.index1 == ((const carom_body_id *)user)->index1;
}

// The nearest answer, or how many there are, is that of all bodies asked one by one.
static void ask_one_by_one(life *l, life_question *q, const life_answer *all)
{
	carom_body_id ids[LIFE_BODIES];
	const int count = carom_world_body_ids(l->world[0], LIFE_BODIES, ids);
	FUZZ_REQUIRE(count <= LIFE_BODIES, "%d bodies", count);
	life_question one = *q;
	if (!one.filtered)
		one.filter = carom_default_query_filter();
	one.filtered = true;
	one.filter.body_filter = only_one;
	bool found = false;
	double value = INFINITY;
	int32_t told = 0;
	for (int i = 0; i < count; i++) {
		one.filter.filter_user = &ids[i];
		life_answer a = answer(l->world[0], &one, 0);
		FUZZ_REQUIRE(a.result == CAROM_SUCCESS, "question %d of body %u alone: %s", q->kind, ids[i].index1,
			carom_error_text(l->context[0]));
		told += a.count;
		found |= a.found;
		if (q->kind == ASK_POINT)
			a.value = fabs(a.value); // of a point inside it is below 0
		if (a.found && a.value < value)
			value = a.value;
	}
	FUZZ_REQUIRE(found == all->found, "question %d: found %d, one by one %d", q->kind, all->found, found);
	const bool valued =
		q->kind == ASK_RAY || q->kind == ASK_POINT || q->kind == ASK_BODY || q->kind == ASK_CAST || q->kind == ASK_PARTS;
	FUZZ_REQUIRE(!valued || !found || value == (q->kind == ASK_POINT ? fabs(all->value) : all->value),
		"question %d: %.17g of body %u, one by one %.17g", q->kind, all->value, all->body.index1, value);
	if (q->kind == ASK_RAYS || q->kind == ASK_BOX || q->kind == ASK_OVERLAP || q->kind == ASK_CASTS)
		FUZZ_REQUIRE(told == all->count, "question %d: %d told, one by one %d", q->kind, all->count, told);
}

static void ask(life *l)
{
	life_question q = read_question(l, (life_kind)life_choose(l, ASK_KINDS));
	const life_answer a = ask_both(l, &q);
	if (a.result == CAROM_SUCCESS && q.kind != ASK_PAIR && q.kind != ASK_CONTACTS)
		ask_one_by_one(l, &q, &a);
}

// What one world is asked more often than the other one changes nothing: nothing that is made when it is needed.
static void ask_aside(life *l)
{
	const int w = life_choose(l, 2);
	for (int i = 0; i < 4; i++) {
		life_question q = read_question(l, (life_kind)life_choose(l, ASK_KINDS));
		answer(l->world[w], &q, w);
	}
}

// ---- Bodies one by one, by calls of two shapes ----

// In a world with this one body. Its pose, as the world of the life tells it, is made a unit once more there, and by calls of shapes.
static void check_shape(life *l, const carom_world *alone, life_question *q, const carom_body_def *def)
{
	const carom_body_id id = { 1, 0 };
	life_question one = *q;
	one.filtered = false;
	one.kind = ASK_RAY;
	life_answer a = answer(alone, &one, 0);
	bool found;
	carom_ray_hit hit;
	if (a.result != CAROM_SUCCESS)
		return;
	FUZZ_REQUIRE(carom_shape_cast_ray(l->context[0], &def->shape, &def->pose, &q->ray, &found, &hit) == CAROM_SUCCESS, "%s",
		carom_error_text(l->context[0]));
	FUZZ_REQUIRE(found == a.found && (!found || hit.t == a.value), "a ray at body %u of shape %d: %d %.17g and %d %.17g",
		id.index1, def->shape.type, a.found, a.value, found, hit.t);
	bool overlap;
	carom_separation s;
	const carom_shape *shape = &q->shape[0];
	// In the order in which a world asks: rounding tells whether meshes that just touch overlap.
	if (carom_overlap(l->context[0], &def->shape, &def->pose, shape, &q->motion.begin, &overlap) != CAROM_SUCCESS)
		return;
	FUZZ_REQUIRE(carom_distance(l->context[0], shape, &q->motion.begin, &def->shape, &def->pose, &s) == CAROM_SUCCESS, "%s",
		carom_error_text(l->context[0]));
	one.kind = ASK_OVERLAP;
	a = answer(alone, &one, 0);
	FUZZ_REQUIRE(a.result == CAROM_SUCCESS && a.found == overlap, "body %u: overlap %d, by its shape %d; shapes %d and %d at %g",
		id.index1, a.found, overlap, shape->type, def->shape.type, s.distance);
	FUZZ_REQUIRE(overlap ? s.distance <= 1e-5 : s.distance + s.error >= -1e-5,
		"shapes %d and %d: overlap %d, distance %g, error %g", shape->type, def->shape.type, overlap, s.distance, s.error);
	one.kind = ASK_BODY;
	one.reach = INFINITY;
	a = answer(alone, &one, 0);
	FUZZ_REQUIRE(!a.found || a.value == s.distance, "body %u: distance %.17g and %.17g; shapes %d and %d", id.index1, a.value,
		s.distance, shape->type, def->shape.type);
}

static void check_alone(life *l, life_question *q, const carom_body_def *def)
{
	const carom_world_def world_def = carom_default_world_def();
	carom_world *alone;
	carom_body_id id;
	FUZZ_REQUIRE(carom_create_world(l->context[0], &world_def, &alone) == CAROM_SUCCESS, "no world");
	if (carom_world_add_body(alone, def, &id) == CAROM_SUCCESS)
		check_shape(l, alone, q, def);
	carom_destroy_world(alone);
}

static bool is_near(carom_vec3 p) { return fabs(p.x) < 100 && fabs(p.y) < 100 && fabs(p.z) < 100; }

static void ask_shapes(life *l)
{
	const carom_body_id id = life_id_of(l, LIFE_RIGID);
	carom_body_def def;
	life_question q = read_question(l, ASK_RAY);
	carom_aabb box;
	if (carom_world_get_body_def(l->world[0], id, &def) == CAROM_SUCCESS && def.part_count == 0 &&
		carom_world_get_aabb(l->world[0], id, &box) == CAROM_SUCCESS && is_near(box.lower) && is_near(box.upper) &&
		is_near(q.motion.begin.position) && q.shape[0].radius < 10 && q.shape[0].half_length < 10 && q.shape[0].rounding < 10 &&
		q.shape[0].half_extents[0] < 10 && q.shape[0].half_extents[1] < 10 && q.shape[0].half_extents[2] < 10)
		check_alone(l, &q, &def);
}

// ---- Threads and batches ----

enum { QUESTIONS = 6, THREADS = 3 };

typedef struct life_asker {
	const carom_world *world;
	int w, first;
	life_question questions[QUESTIONS];
	life_answer answers[QUESTIONS];
} life_asker;

static void *ask_all(void *user)
{
	life_asker *t = user;
	for (int i = 0; i < QUESTIONS; i++) {
		const int k = (t->first + i) % QUESTIONS;
		t->answers[k] = answer(t->world, &t->questions[k], t->w);
	}
	return NULL;
}

// Several threads ask one world at once, also first after a change, when trees are made.
static void ask_side_by_side(life *l)
{
	static life_asker askers[THREADS];
	pthread_t threads[THREADS];
	for (int i = 0; i < QUESTIONS; i++)
		askers[0].questions[i] = read_question(l, (life_kind)life_choose(l, ASK_KINDS));
	const int w = life_choose(l, 2);
	for (int i = 0; i < THREADS; i++) {
		memcpy(askers[i].questions, askers[0].questions, sizeof askers[0].questions);
		askers[i].world = l->world[w];
		askers[i].w = w;
		askers[i].first = i;
		FUZZ_REQUIRE(pthread_create(&threads[i], NULL, ask_all, &askers[i]) == 0, "no thread");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < QUESTIONS; i++) {
		const life_answer other = answer(l->world[1 - w], &askers[0].questions[i], 1 - w);
		for (int k = 0; k < THREADS; k++)
			FUZZ_REQUIRE(askers[k].answers[i].hash == other.hash, "question %d of thread %d", askers[0].questions[i].kind, k);
	}
}

static void ask_batches(life *l)
{
	enum { COUNT = 12 };
	carom_ray rays[COUNT];
	carom_shape_cast casts[COUNT];
	carom_placed_shape placed[COUNT];
	carom_result results[COUNT];
	carom_ray_hit hits[COUNT];
	carom_shape_hit met[COUNT];
	carom_closest_body near[COUNT];
	life_question q[COUNT];
	const int w = life_choose(l, 2);
	for (int i = 0; i < COUNT; i++) {
		q[i] = read_question(l, ASK_RAY);
		q[i].filtered = false;
		q[i].reach = INFINITY;
		rays[i] = q[i].ray;
		casts[i] = (carom_shape_cast){ &q[i].shape[w], q[i].motion };
		placed[i] = (carom_placed_shape){ &q[i].shape[w], q[i].motion.begin };
	}
	const carom_batch batch = { .count = COUNT, .results = results };
	for (int kind = 0; kind < 3; kind++) {
		const carom_result result = kind == 0 ? carom_world_cast_rays(l->world[w], &batch, rays, hits)
			: kind == 1                       ? carom_world_cast_shapes(l->world[w], &batch, casts, 0.001, met)
											  : carom_world_closest_bodies(l->world[w], &batch, placed, INFINITY, near);
		FUZZ_REQUIRE(result == CAROM_SUCCESS, "%s", carom_error_text(l->context[w]));
		for (int i = 0; i < COUNT; i++) {
			q[i].kind = (const life_kind[]){ ASK_RAY, ASK_CAST, ASK_BODY }[kind];
			const life_answer a = answer(l->world[1 - w], &q[i], 1 - w);
			const double value = kind == 0 ? hits[i].t : kind == 1 ? met[i].time : near[i].distance;
			const uint32_t body = kind == 0 ? hits[i].body.index1 : kind == 1 ? met[i].body.index1 : near[i].body.index1;
			FUZZ_REQUIRE(a.result == results[i] && (!a.found || (a.value == value && a.body.index1 == body)) &&
					(a.found || a.result != CAROM_SUCCESS || body == 0),
				"batch %d, question %d: %d %.17g of body %u, alone %d %.17g of %u", kind, i, results[i], value, body, a.result,
				a.value, a.body.index1);
		}
	}
}

const life_action life_query_actions[] = {
	{ "ask", ask, 14 },
	{ "ask aside", ask_aside, 4 },
	{ "ask shapes", ask_shapes, 8 },
	{ "ask side by side", ask_side_by_side, 2 },
	{ "ask batches", ask_batches, 2 },
	{ 0 },
};
