// Queries after changes of some bodies, as trees that are kept up to date answer them: against a
// world of the same bodies whose tree is built for each query, bit for bit.
#include "fixture.h"
#include "query_fixture.h"

#include "world/query_upkeep.h"
#include "world/world.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// ---- Two worlds ----

enum { KEPT, BUILT, WORLDS, SHAPES = 9, MOST_BODIES = 500, MOST_ANSWERS = 4096, SPHERES = 12, PARTS = 3 };
enum { TORUS_VERTICES = 48, SHEET_VERTICES = 16 };

typedef struct pair_of_worlds {
	carom_context *context;
	carom_world *world[WORLDS]; // BUILT: its tree is built for each query
	carom_mesh *torus, *sheet, *hull;
	carom_shape shapes[SHAPES];
	carom_snapshot *saved[WORLDS];
	carom_body_id saved_ids[MOST_BODIES];
	int saved_count;
	carom_body_id ids[MOST_BODIES];
	int count;
	double span; // of most places
	carom_vec3 origin;
	uint64_t seed;
} pair_of_worlds;

static int pick(pair_of_worlds *p, int below)
{
	const int i = (int)test_random_double(&p->seed, 0, below);
	return i < below ? i : below - 1;
}

static carom_pose pose_in(pair_of_worlds *p, double span)
{
	carom_pose pose = fixture_random_pose(&p->seed, span);
	pose.position = v3d_add(pose.position, p->origin);
	return pose;
}

static void open_worlds(pair_of_worlds *p, carom_context *context, double span, carom_vec3 origin)
{
	*p = (pair_of_worlds){ .context = context, .span = span, .origin = origin, .seed = 11 };
	float points[3 * 12];
	for (int i = 0; i < 36; i++)
		points[i] = (float)test_random_double(&p->seed, -0.6, 0.6);
	p->torus = fixture_torus_mesh(context, 8, 6, 0.4, 0.2);
	p->sheet = fixture_sheet_mesh(context, 3, 2);
	p->hull = fixture_hull_mesh(context, points, 12);
	const carom_shape shapes[SHAPES] = { fixture_sphere(0.5), fixture_box(0.5, 0.4, 0.3), fixture_capsule(0.2, 0.5),
		fixture_cylinder(0.4, 0.3), fixture_cone(0.4, 0.5), fixture_hull(p->hull), fixture_of_mesh(p->torus),
		fixture_of_mesh(p->sheet), fixture_ellipsoid(0.5, 0.3, 0.2) };
	memcpy(p->shapes, shapes, sizeof shapes);
	for (int k = 0; k < WORLDS; k++) {
		p->world[k] = fixture_world(context, NULL);
		REQUIRE(carom_create_snapshot(p->world[k], &p->saved[k]) == CAROM_SUCCESS);
	}
}

static void close_worlds(pair_of_worlds *p)
{
	for (int k = 0; k < WORLDS; k++) {
		carom_destroy_snapshot(p->saved[k]);
		carom_destroy_world(p->world[k]);
	}
	carom_release_mesh(p->torus);
	carom_release_mesh(p->sheet);
	carom_release_mesh(p->hull);
}

// ---- The trees themselves ----

/// Each item that has a box is in one place, and nowhere else; boxes hold those of their items.
static void check_index(const carom_world *world)
{
	const cr_box_index *index = world->query_index;
	int64_t held = 0, gone = 0;
	CHECK_INT(atomic_load(&index->state), CR_INDEX_READY);
	CHECK(cr_dynamic_check(&index->beside));
	CHECK_INT(index->noted.count, 0);
	for (int64_t i = 0; i < index->owners.count; i++)
		gone += index->owners.data[i] < 0;
	CHECK_INT(gone, index->gone);
	CHECK(world->bodies.count <= index->places.count);
	for (int64_t i = 0; i < index->places.count; i++) {
		const cr_item_place *place = &index->places.data[i];
		CHECK(!place->noted);
		held += place->where != CR_ITEM_NOWHERE;
		const bool alive = i < world->bodies.count && world->bodies.data[i].alive;
		const bool empty = alive && cr_granular_of(&world->bodies.data[i]) && cr_granular_of(&world->bodies.data[i])->count == 0;
		CHECK_INT(place->where != CR_ITEM_NOWHERE, alive && !empty);
		if (place->where == CR_ITEM_IN_TREE)
			CHECK_INT(index->owners.data[place->at], i);
		if (place->where == CR_ITEM_BESIDE)
			CHECK_INT(cr_dynamic_item(&index->beside.nodes.data[place->at]), i);
	}
	for (int64_t i = 1; i < index->endless.count; i++)
		CHECK(index->endless.data[i - 1] < index->endless.data[i]);
	CHECK_INT(held, index->owners.count - index->gone + index->beside.leaves + index->endless.count);
}

// ---- Changes ----

static carom_body_def random_def(pair_of_worlds *p, carom_part parts[PARTS], double spheres[4 * SPHERES])
{
	carom_body_def def = carom_default_body_def();
	const int kind = pick(p, 12);
	def.kind = pick(p, 2) ? CAROM_STATIC : CAROM_DYNAMIC;
	def.pose = pose_in(p, p->span);
	def.shape = p->shapes[pick(p, SHAPES)];
	if (kind == 0) {
		for (int i = 0; i < PARTS; i++)
			parts[i] = (carom_part){ p->shapes[pick(p, SHAPES)], fixture_random_pose(&p->seed, 1), 0 };
		def.shape = (carom_shape){ .type = carom_default_body_def().shape.type };
		def.parts = parts;
		def.part_count = PARTS;
	} else if (kind == 1) {
		def.kind = pick(p, 2) ? CAROM_DEFORMABLE : CAROM_CLOTH;
		def.shape = fixture_of_mesh(def.kind == CAROM_CLOTH ? p->sheet : p->torus);
	} else if (kind == 2) {
		for (int i = 0; i < 4 * SPHERES; i++)
			spheres[i] = i % 4 == 3 ? 0.2 : test_random_double(&p->seed, -1, 1);
		def.kind = CAROM_GRANULAR;
		def.shape = carom_default_body_def().shape;
		def.sphere_count = pick(p, SPHERES);
		def.centres = (carom_strided){ spheres, 4 * sizeof(double), CAROM_FLOAT64 };
		def.radii = (carom_strided){ spheres + 3, 4 * sizeof(double), CAROM_FLOAT64 };
	} else if (kind == 3 && pick(p, 4) == 0) {
		def.kind = CAROM_STATIC;
		def.shape = (carom_shape){ .type = CAROM_PLANE };
		def.pose.position.z -= 2 * p->span;
	}
	return def;
}

static void add_one(pair_of_worlds *p)
{
	carom_part parts[PARTS];
	double spheres[4 * SPHERES];
	carom_body_id id[WORLDS];
	if (p->count == MOST_BODIES)
		return;
	const carom_body_def def = random_def(p, parts, spheres);
	for (int k = 0; k < WORLDS; k++)
		REQUIRE(carom_world_add_body(p->world[k], &def, &id[k]) == CAROM_SUCCESS);
	REQUIRE(fixture_same_id(id[KEPT], id[BUILT]));
	p->ids[p->count++] = id[KEPT];
}

static void remove_one(pair_of_worlds *p, int i)
{
	for (int k = 0; k < WORLDS; k++)
		REQUIRE(carom_world_remove_body(p->world[k], p->ids[i]) == CAROM_SUCCESS);
	p->ids[i] = p->ids[--p->count];
}

static void set_vertices(pair_of_worlds *p, carom_body_id id, int count)
{
	double places[3 * TORUS_VERTICES];
	const carom_pose pose = pose_in(p, p->span);
	for (int i = 0; i < count; i++) {
		const carom_vec3 own = { cos(i), sin(1.7 * i), 0.1 * i },
						 v = v3d_add(carom_rotate(pose.orientation, own), pose.position);
		memcpy(&places[3 * i], &v, sizeof v);
	}
	const carom_strided end = { places, 0, CAROM_FLOAT64 };
	for (int k = 0; k < WORLDS; k++)
		REQUIRE(carom_world_set_vertices(p->world[k], id, NULL, &end) == CAROM_SUCCESS);
}

static void set_spheres(pair_of_worlds *p, carom_body_id id)
{
	double spheres[4 * SPHERES];
	const carom_pose pose = pose_in(p, p->span);
	for (int i = 0; i < SPHERES; i++) {
		const carom_vec3 c = v3d_add(pose.position, (carom_vec3){ sin(i), cos(i), 0.1 * i });
		memcpy(&spheres[4 * i], &c, sizeof c);
		spheres[4 * i + 3] = 0.3;
	}
	const carom_strided centres = { spheres, 4 * sizeof(double), CAROM_FLOAT64 },
						radii = { spheres + 3, 4 * sizeof(double), CAROM_FLOAT64 };
	const int count = pick(p, SPHERES);
	for (int k = 0; k < WORLDS; k++)
		REQUIRE(carom_world_set_spheres(p->world[k], id, count, &centres, &radii) == CAROM_SUCCESS);
}

static void set_parts(pair_of_worlds *p, carom_body_id id, int32_t before)
{
	carom_part parts[PARTS];
	const int32_t count = 1 + pick(p, before);
	for (int i = 0; i < count; i++)
		parts[i] = (carom_part){ p->shapes[pick(p, SHAPES)], fixture_random_pose(&p->seed, 2), 0 };
	for (int k = 0; k < WORLDS; k++)
		REQUIRE(carom_world_set_parts(p->world[k], id, parts, count) == CAROM_SUCCESS);
}

/// A little, far, or not at all; now and then by a motion.
static void move_rigid(pair_of_worlds *p, carom_body_id id)
{
	carom_pose from, to;
	REQUIRE(carom_world_get_pose(p->world[KEPT], id, &from) == CAROM_SUCCESS);
	to = from;
	switch (pick(p, 4)) {
	case 0: to = pose_in(p, p->span); break;
	case 1: to = pose_in(p, pick(p, 20) ? 3 * p->span : 1e6); break;
	case 2: to.position.x += 1e-3; break;
	default: break;
	}
	const carom_motion motion = { from, to };
	const bool by_motion = pick(p, 3) == 0;
	for (int k = 0; k < WORLDS; k++)
		REQUIRE((by_motion ? carom_world_set_motions(p->world[k], 1, &id, &motion)
						   : carom_world_set_poses(p->world[k], 1, &id, &to)) == CAROM_SUCCESS);
}

static void change_rigid(pair_of_worlds *p, carom_body_id id, carom_body_def *def)
{
	const bool changes = pick(p, 4) == 0 && def->shape.type != CAROM_PLANE;
	const carom_shape shape = p->shapes[pick(p, SHAPES)];
	if (def->part_count > 0 && changes)
		set_parts(p, id, def->part_count);
	else if (changes && pick(p, 2))
		for (int k = 0; k < WORLDS; k++)
			REQUIRE(carom_world_set_shape(p->world[k], id, &shape) == CAROM_SUCCESS);
	else if (changes) {
		def->kind = def->kind == CAROM_STATIC ? CAROM_DYNAMIC : CAROM_STATIC;
		for (int k = 0; k < WORLDS; k++)
			REQUIRE(carom_world_set_traits(p->world[k], id, def) == CAROM_SUCCESS);
	} else
		move_rigid(p, id);
}

static void change_one(pair_of_worlds *p)
{
	const int what = pick(p, 10);
	if (what == 0 || p->count == 0) {
		add_one(p);
		return;
	}
	const int i = pick(p, p->count);
	if (what == 1) {
		remove_one(p, i);
		return;
	}
	carom_body_def def;
	REQUIRE(carom_world_get_body_def(p->world[KEPT], p->ids[i], &def) == CAROM_SUCCESS);
	if (def.kind == CAROM_DEFORMABLE || def.kind == CAROM_CLOTH)
		set_vertices(p, p->ids[i], def.kind == CAROM_CLOTH ? SHEET_VERTICES : TORUS_VERTICES);
	else if (def.kind == CAROM_GRANULAR)
		set_spheres(p, p->ids[i]);
	else
		change_rigid(p, p->ids[i], &def);
}

static void save_or_restore(pair_of_worlds *p, bool save)
{
	if (save) {
		memcpy(p->saved_ids, p->ids, sizeof p->ids);
		p->saved_count = p->count;
	} else {
		memcpy(p->ids, p->saved_ids, sizeof p->ids);
		p->count = p->saved_count;
	}
	for (int k = 0; k < WORLDS; k++)
		REQUIRE((save ? carom_world_save : carom_world_restore)(p->world[k], p->saved[k]) == CAROM_SUCCESS);
}

// ---- Queries ----

enum { QUERIES = 6 };

/// One of each kind of query.
typedef struct asked {
	carom_ray rays[QUERIES];
	carom_vec3 points[QUERIES];
	carom_aabb boxes[QUERIES];
	carom_placed_shape placed[QUERIES];
	carom_shape_cast casts[QUERIES];
	carom_query_filter filter;
} asked;

typedef struct answers {
	carom_ray_hit hits[QUERIES], all[MOST_ANSWERS];
	bool any[QUERIES];
	carom_closest_point points[QUERIES];
	carom_closest_body bodies[QUERIES];
	carom_shape_hit met[QUERIES];
	carom_contact contacts[MOST_ANSWERS];
	carom_body_id in_box[MOST_ANSWERS], in_shape[MOST_ANSWERS];
	int64_t first_hit[QUERIES + 1], first_contact[QUERIES + 1], first_in_box[QUERIES + 1], first_in_shape[QUERIES + 1];
} answers;

static asked make_queries(pair_of_worlds *p)
{
	asked q = { .filter = carom_default_query_filter() };
	for (int i = 0; i < QUERIES; i++) {
		const carom_pose from = pose_in(p, p->span), to = pose_in(p, p->span);
		const v3d way = v3d_sub(to.position, from.position);
		q.rays[i] = (carom_ray){ from.position, way, 0, i % 3 ? 1 : INFINITY };
		q.points[i] = from.position;
		q.boxes[i] = (carom_aabb){ from.position, v3d_add(from.position, (v3d){ 0.5, i, 2 }) };
		q.placed[i] = (carom_placed_shape){ &p->shapes[i], to };
		q.casts[i] = (carom_shape_cast){ &p->shapes[i], { from, to } };
	}
	if (p->count > 0)
		q.filter.ignore = p->ids[pick(p, p->count)];
	return q;
}

/// Ask the kinds of queries from the one with a number on, so that each of them is the first at
/// times.
static void ask(const carom_world *world, const asked *q, int from, answers *a)
{
	const carom_batch batch = { .count = QUERIES, .filter = &q->filter };
	carom_result result = CAROM_SUCCESS;
	for (int i = 0; i < 9 && result == CAROM_SUCCESS; i++) {
		switch ((from + i) % 9) {
		case 0: result = carom_world_cast_rays(world, &batch, q->rays, a->hits); break;
		case 1: result = carom_world_cast_rays_any(world, &batch, q->rays, a->any); break;
		case 2: result = carom_world_cast_rays_all(world, &batch, q->rays, MOST_ANSWERS, a->all, a->first_hit); break;
		case 3: result = carom_world_closest_points(world, &batch, q->points, INFINITY, a->points); break;
		case 4: result = carom_world_closest_bodies(world, &batch, q->placed, 3, a->bodies); break;
		case 5: result = carom_world_cast_shapes(world, &batch, q->casts, 1e-3, a->met); break;
		case 6:
			result = carom_world_collide_shapes(world, &batch, q->placed, MOST_ANSWERS, a->contacts, a->first_contact);
			break;
		case 7: result = carom_world_overlap_aabbs(world, &batch, q->boxes, MOST_ANSWERS, a->in_box, a->first_in_box); break;
		default:
			result = carom_world_overlap_shapes(world, &batch, q->placed, MOST_ANSWERS, a->in_shape, a->first_in_shape);
			break;
		}
	}
	REQUIRE(result == CAROM_SUCCESS);
}

static bool same_firsts(const answers *a, const answers *b)
{
	return memcmp(a->first_hit, b->first_hit, sizeof a->first_hit) == 0 &&
		memcmp(a->first_contact, b->first_contact, sizeof a->first_contact) == 0 &&
		memcmp(a->first_in_box, b->first_in_box, sizeof a->first_in_box) == 0 &&
		memcmp(a->first_in_shape, b->first_in_shape, sizeof a->first_in_shape) == 0;
}

static void compare(const answers *a, const answers *b)
{
	REQUIRE(same_firsts(a, b));
	REQUIRE(a->first_hit[QUERIES] <= MOST_ANSWERS && a->first_contact[QUERIES] <= MOST_ANSWERS);
	CHECK(memcmp(a->any, b->any, sizeof a->any) == 0);
	for (int i = 0; i < QUERIES; i++) {
		CHECK(query_same_hit(&a->hits[i], &b->hits[i]));
		CHECK(query_same_closest(&a->points[i], &b->points[i]));
		CHECK(query_same_body(&a->bodies[i], &b->bodies[i]));
		CHECK(query_same_shape_hit(&a->met[i], &b->met[i]));
	}
	for (int64_t i = 0; i < a->first_hit[QUERIES]; i++)
		CHECK(query_same_hit(&a->all[i], &b->all[i]));
	for (int64_t i = 0; i < a->first_contact[QUERIES]; i++)
		CHECK(query_same_contact(&a->contacts[i], &b->contacts[i]));
	CHECK(memcmp(a->in_box, b->in_box, (size_t)a->first_in_box[QUERIES] * sizeof *a->in_box) == 0);
	CHECK(memcmp(a->in_shape, b->in_shape, (size_t)a->first_in_shape[QUERIES] * sizeof *a->in_shape) == 0);
}

static void compare_pairs(pair_of_worlds *p)
{
	bool found[WORLDS];
	carom_closest_pair pair[WORLDS];
	memset(pair, 0, sizeof pair);
	for (int k = 0; k < WORLDS; k++)
		REQUIRE(carom_world_closest_pair(p->world[k], 1, NULL, NULL, &found[k], &pair[k]) == CAROM_SUCCESS);
	CHECK_INT(found[KEPT], found[BUILT]);
	CHECK(fixture_same_id(pair[KEPT].body_a, pair[BUILT].body_a) && fixture_same_id(pair[KEPT].body_b, pair[BUILT].body_b));
	CHECK(pair[KEPT].distance == pair[BUILT].distance && fixture_same_vector(pair[KEPT].on_a, pair[BUILT].on_a));
}

static int64_t s_hits, s_bodies; // that were found: queries that find nothing tell nothing

static void compare_worlds(pair_of_worlds *p)
{
	static answers a[WORLDS];
	const asked q = make_queries(p);
	const int from = pick(p, 9);
	cr_box_index_invalidate(p->world[BUILT]->query_index);
	for (int k = 0; k < WORLDS; k++) {
		memset(&a[k], 0, sizeof a[k]);
		ask(p->world[k], &q, from, &a[k]);
		check_index(p->world[k]);
	}
	compare(&a[KEPT], &a[BUILT]);
	s_hits += a[KEPT].first_hit[QUERIES];
	s_bodies += a[KEPT].first_in_box[QUERIES];
}

// ---- Random changes ----

/// Rounds of changes and queries. step_each: rounds from step to step. A step of many bodies that cross
/// costs far more than queries. builds: how often the tree of the world that is kept was built.
static void change_and_compare(pair_of_worlds *p, int begin_count, int rounds, int most_changes, int step_each, int *builds)
{
	for (int i = 0; i < begin_count; i++)
		add_one(p);
	compare_worlds(p);
	save_or_restore(p, true);
	s_hits = s_bodies = 0;
	*builds = 0;
	for (int r = 0; r < rounds; r++) {
		const int changes = 1 + pick(p, most_changes);
		for (int i = 0; i < changes; i++)
			change_one(p);
		if (r % step_each == step_each - 1) {
			fixture_step(p->world[KEPT]);
			fixture_step(p->world[BUILT]);
		}
		if (r % 40 == 39)
			save_or_restore(p, r % 80 == 39);
		const int32_t *tree = p->world[KEPT]->query_index->binary.order;
		const int64_t gone = p->world[KEPT]->query_index->gone;
		compare_worlds(p);
		*builds += p->world[KEPT]->query_index->binary.order != tree || p->world[KEPT]->query_index->gone < gone;
		if (r % 20 == 0)
			compare_pairs(p);
	}
}

TEST(query_upkeep, few_changes_of_many_bodies)
{
	static pair_of_worlds p;
	carom_context *context = fixture_context(1);
	open_worlds(&p, context, 6, (carom_vec3){ 0, 0, 0 });
	int builds;
	change_and_compare(&p, 300, 400 / TEST_FEWER, 4, INT32_MAX, &builds);
	CHECK(s_hits > 100 && s_bodies > 100);
	CHECK(builds < 60);
	close_worlds(&p);
	carom_destroy_context(context);
}

TEST(query_upkeep, many_changes_of_few_bodies)
{
	static pair_of_worlds p;
	carom_context *context = fixture_context(1);
	open_worlds(&p, context, 4, (carom_vec3){ 0, 0, 0 });
	int builds;
	change_and_compare(&p, 40, 150 / TEST_FEWER, 60, 20, &builds);
	CHECK(s_hits > 100);
	close_worlds(&p);
	carom_destroy_context(context);
}

TEST(query_upkeep, a_world_that_begins_empty)
{
	static pair_of_worlds p;
	carom_context *context = fixture_context(1);
	open_worlds(&p, context, 4, (carom_vec3){ 0, 0, 0 });
	int builds;
	change_and_compare(&p, 0, 200 / TEST_FEWER, 3, 5, &builds);
	while (p.count > 0) {
		remove_one(&p, pick(&p, p.count));
		compare_worlds(&p);
	}
	add_one(&p);
	compare_worlds(&p);
	close_worlds(&p);
	carom_destroy_context(context);
}

TEST(query_upkeep, far_from_the_origin)
{
	static pair_of_worlds p;
	carom_context *context = fixture_context(1);
	open_worlds(&p, context, 6, (carom_vec3){ 3e6, -2e7, 1e5 });
	int builds;
	change_and_compare(&p, 200, 150 / TEST_FEWER, 8, INT32_MAX, &builds);
	CHECK(s_hits > 50);
	close_worlds(&p);
	carom_destroy_context(context);
}

TEST(query_upkeep, bodies_that_move_in_each_step_stay_beside_the_tree)
{
	static pair_of_worlds p;
	carom_context *context = fixture_context(1);
	open_worlds(&p, context, 30, (carom_vec3){ 0, 0, 0 });
	carom_body_id id[WORLDS];
	for (int i = 0; i < 400; i++) {
		const carom_pose pose = pose_in(&p, p.span);
		for (int k = 0; k < WORLDS; k++)
			id[k] = fixture_add(p.world[k], p.shapes[i % SHAPES], pose, i < 80 ? CAROM_DYNAMIC : CAROM_STATIC);
		p.ids[p.count++] = id[KEPT];
	}
	compare_worlds(&p);
	const cr_box_index *index = p.world[KEPT]->query_index;
	const int32_t *tree = index->binary.order;
	for (int step = 0; step < 60 / TEST_FEWER; step++) {
		for (int i = 0; i < 80; i++)
			move_rigid(&p, p.ids[i]);
		fixture_step(p.world[KEPT]);
		compare_worlds(&p);
		CHECK(index->binary.order == tree);
		CHECK(index->beside.leaves <= 80);
	}
	CHECK(index->beside.leaves > 60);
	close_worlds(&p);
	carom_destroy_context(context);
}

// ---- Boxes without bodies ----

typedef struct box_list {
	box3d boxes[8192];
	bool there[8192];
	int64_t count;
} box_list;

static bool list_bounds(const void *user, int64_t item, double lower[3], double upper[3])
{
	const box_list *list = user;
	memcpy(lower, list->boxes[item].lower, sizeof list->boxes[item].lower);
	memcpy(upper, list->boxes[item].upper, sizeof list->boxes[item].upper);
	return list->there[item];
}

static double point_key(const void *asker, const double lower[3], const double upper[3])
{
	const double *at = asker;
	bool inside = true;
	for (int k = 0; k < 3; k++)
		inside = inside && lower[k] <= at[k] && at[k] <= upper[k];
	return inside ? 0 : INFINITY;
}

typedef struct seen_items {
	bool seen[8192];
	int left; // visits before it stops
	bool twice;
} seen_items;

static bool see(void *user, int32_t item, double *limit)
{
	(void)limit;
	seen_items *s = user;
	s->twice = s->twice || s->seen[item];
	s->seen[item] = true;
	return --s->left > 0;
}

/// All boxes that hold a point, against a plain loop over them.
static void find_boxes(cr_box_index *index, carom_context *context, const box_list *list, const double at[3], int most)
{
	static seen_items s;
	memset(&s, 0, sizeof s);
	s.left = most;
	const cr_boxed_items items = { list->count, list->count, list_bounds, list, false };
	cr_box_search search = { point_key, NULL, at, see, &s, 0, false };
	REQUIRE(cr_box_index_search(index, context, &items, &search) == CAROM_SUCCESS);
	CHECK(!s.twice);
	int found = 0, holding = 0;
	for (int64_t i = 0; i < list->count; i++) {
		const bool holds = list->there[i] && point_key(at, list->boxes[i].lower, list->boxes[i].upper) < INFINITY;
		// Boxes grow by roundings: more may be seen, no fewer.
		CHECK(s.seen[i] || !holds || s.left <= 0);
		found += s.seen[i];
		holding += holds;
	}
	CHECK(found <= most && (found == most) == (s.left <= 0));
	CHECK(holding > 0);
}

static box3d cube_at(double x, double half) { return (box3d){ { x - half, -half, -half }, { x + half, half, half } }; }

static int depth_of(const cr_dynamic_tree *tree, int32_t node)
{
	int depth = 0;
	for (; node != tree->root; node = tree->nodes.data[node].parent)
		depth++;
	return depth;
}

TEST(query_upkeep, boxes_in_boxes_deeper_than_a_stack)
{
	static box_list list;
	carom_context *context = fixture_context(1);
	cr_box_index *index = cr_box_index_create(context);
	enum { BASE = 6000, NESTED = 1400 };
	memset(&list, 0, sizeof list);
	for (; list.count < BASE; list.count++) {
		list.boxes[list.count] = cube_at(1e3 * (double)(list.count + 1), 1);
		list.there[list.count] = true;
	}
	const double middle[3] = { 0, 0, 0 };
	double half = 1e28;
	list.boxes[0] = cube_at(0, half);
	find_boxes(index, context, &list, middle, INT32_MAX);
	for (int i = 0; i < NESTED; i++, half /= 1.12) {
		list.boxes[list.count] = cube_at(0, half);
		list.there[list.count] = true;
		cr_box_index_note(index, list.count++);
		if (i % 8 == 7)
			find_boxes(index, context, &list, middle, INT32_MAX);
	}
	int deepest = 0;
	for (int64_t i = 0; i < index->places.count; i++) {
		if (index->places.data[i].where == CR_ITEM_BESIDE) {
			const int depth = depth_of(&index->beside, index->places.data[i].at);
			deepest = depth > deepest ? depth : deepest;
		}
	}
	CHECK(deepest > CR_TREE_STACK);
	find_boxes(index, context, &list, middle, NESTED);
	find_boxes(index, context, &list, middle, 10);
	find_boxes(index, context, &list, (double[3]){ 1e-20, 0, 0 }, INT32_MAX);
	cr_box_index_destroy(index);
	carom_destroy_context(context);
}

TEST(query_upkeep, items_come_go_and_become_endless)
{
	static box_list list;
	uint64_t seed = 3;
	carom_context *context = fixture_context(1);
	cr_box_index *index = cr_box_index_create(context);
	memset(&list, 0, sizeof list);
	list.count = 400;
	list.there[0] = true;
	list.boxes[0] = cube_at(0, 1);
	const double middle[3] = { 0, 0, 0 };
	for (int round = 0; round < 600 / TEST_FEWER; round++) {
		for (int i = 0; i < round % 30; i++) {
			const int item = 1 + (int)test_random_double(&seed, 0, 398);
			const int what = (int)test_random_double(&seed, 0, 4);
			list.there[item] = what > 0;
			list.boxes[item] = cube_at(test_random_double(&seed, -2, 2), what == 3 ? INFINITY : 1);
			if (what == 2)
				list.boxes[item].lower[0] = -1e40; // endless on one side
			cr_box_index_note(index, item);
			cr_box_index_note(index, item);
		}
		find_boxes(index, context, &list, middle, INT32_MAX);
	}
	cr_box_index_destroy(index);
	carom_destroy_context(context);
}

// ---- Memory ----

TEST(query_upkeep, no_memory_fails_the_query_and_loses_no_change)
{
	static pair_of_worlds p;
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	open_worlds(&p, context, 6, (carom_vec3){ 0, 0, 0 });
	for (int i = 0; i < 200; i++)
		add_one(&p);
	compare_worlds(&p);
	int failed_updates = 0;
	for (int round = 0; round < 40; round++) {
		bool failed = true;
		for (int i = 0; i < 1 + 3 * (round % 10); i++)
			change_one(&p);
		const bool is_update = atomic_load(&p.world[KEPT]->query_index->state) == CR_INDEX_NOTED;
		for (int at = 0; failed && at < 200; at++) {
			const carom_ray ray = { { 0, 0, 20 }, { 0, 0.1, -1 }, 0, INFINITY };
			bool found;
			carom_ray_hit hit;
			atomic_store(&heap.fail_at, atomic_load(&heap.calls) + at);
			const carom_result result = carom_world_cast_ray(p.world[KEPT], &ray, NULL, &found, &hit);
			failed = atomic_load(&heap.calls) > atomic_load(&heap.fail_at);
			atomic_store(&heap.fail_at, -1);
			CHECK(result == CAROM_SUCCESS || (failed && result == CAROM_OUT_OF_MEMORY && !found));
			failed_updates += is_update && result == CAROM_OUT_OF_MEMORY;
		}
		compare_worlds(&p);
	}
	CHECK(failed_updates > 0);
	close_worlds(&p);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}

// ---- Threads ----

typedef struct asker {
	const carom_world *world;
	const asked *queries;
	answers found;
} asker;

static void *ask_alone(void *user)
{
	asker *a = user;
	ask(a->world, a->queries, 0, &a->found);
	return NULL;
}

TEST(query_upkeep, many_threads_find_the_changes_at_once)
{
	enum { THREADS = 4 };
	static pair_of_worlds p;
	static asker askers[THREADS];
	static answers expected;
	carom_context *context = fixture_context(1);
	open_worlds(&p, context, 6, (carom_vec3){ 0, 0, 0 });
	for (int i = 0; i < 200; i++)
		add_one(&p);
	for (int round = 0; round < 12; round++) {
		const int changes = round % 4 == 0 ? 1 : round % 4 == 1 ? 10 : round % 4 == 2 ? 40 : 120;
		for (int i = 0; i < changes; i++)
			change_one(&p);
		const asked q = make_queries(&p);
		pthread_t threads[THREADS];
		for (int i = 0; i < THREADS; i++) {
			askers[i].world = p.world[KEPT];
			askers[i].queries = &q;
			memset(&askers[i].found, 0, sizeof askers[i].found);
			REQUIRE(pthread_create(&threads[i], NULL, ask_alone, &askers[i]) == 0);
		}
		for (int i = 0; i < THREADS; i++)
			REQUIRE(pthread_join(threads[i], NULL) == 0);
		cr_box_index_invalidate(p.world[BUILT]->query_index);
		memset(&expected, 0, sizeof expected);
		ask(p.world[BUILT], &q, 0, &expected);
		for (int i = 0; i < THREADS; i++)
			compare(&askers[i].found, &expected);
	}
	close_worlds(&p);
	carom_destroy_context(context);
}
