// Shape casts that begin in touch: one rule of what touches for all pairs of shapes, what stops a motion and what it is passed
// over for, and a character that walks through rooms.
#include "fixture.h"

#include "bvh/mover_walk.h"
#include "carom/collide.h"
#include "frame/shape_table.h"

#include <math.h>
#include <string.h>

// ---- Shapes ----

enum { KINDS = 13 };

typedef struct kinds {
	carom_context *context;
	carom_mesh *box, *ball, *sheet, *hull, *field;
	carom_shape shape[KINDS];
} kinds;

static void open_kinds(kinds *k)
{
	uint64_t seed = 5;
	float points[3 * 14], heights[25];
	for (int i = 0; i < 42; i++)
		points[i] = (float)test_random_double(&seed, -0.6, 0.6);
	for (int i = 0; i < 25; i++)
		heights[i] = (float)test_random_double(&seed, -0.1, 0.1);
	*k = (kinds){ .context = fixture_context(1) };
	k->box = fixture_box_mesh(k->context, 0.5, 0.4, 0.3);
	k->ball = fixture_sphere_mesh(k->context, 0.5, 8);
	k->sheet = fixture_sheet_mesh(k->context, 4, 2);
	k->hull = fixture_hull_mesh(k->context, points, 14);
	REQUIRE(carom_create_height_field(k->context, 5, 5, heights, (double[2]){ 0.5, 0.5 }, 0.3, &k->field) == CAROM_SUCCESS);
	const carom_shape shapes[KINDS] = { fixture_sphere(0.5), fixture_box(0.5, 0.4, 0.3), fixture_capsule(0.3, 0.4),
		fixture_cylinder(0.4, 0.5), fixture_cone(0.5, 0.5), fixture_ellipsoid(0.6, 0.4, 0.3), fixture_hull(k->hull),
		fixture_of_mesh(k->box), fixture_of_mesh(k->ball), fixture_of_mesh(k->sheet), fixture_of_mesh(k->field),
		{ .type = CAROM_BOX, .half_extents = { 0.5, 0.4, 0.3 }, .rounding = 0.1 }, { .type = CAROM_PLANE } };
	memcpy(k->shape, shapes, sizeof shapes);
}

static void close_kinds(kinds *k)
{
	carom_mesh *meshes[] = { k->box, k->ball, k->sheet, k->hull, k->field };
	for (int i = 0; i < 5; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(k->context);
}

/// Moves B, which is apart, along the direction between the two until they are this far from each other.
static bool place_at(const kinds *k, const carom_shape *a, const carom_pose *pa, const carom_shape *b, carom_pose *pb,
	double gap, carom_separation *s)
{
	for (int i = 0; i < 60; i++) {
		REQUIRE(carom_distance(k->context, a, pa, b, pb, s) == CAROM_SUCCESS);
		if (fabs(s->distance - gap) < 1e-9)
			return true;
		if (!(s->distance > 0))
			return false;
		pb->position = v3d_mad(pb->position, s->distance - gap, s->normal);
	}
	return false;
}

/// What begins within the tolerance touches, whatever the two are and wherever they go; what does not does not. And with
/// skip_separating a motion away or along passes, one that goes in is stopped at once.
TEST(stopping, one_rule_for_all_pairs)
{
	const double tolerance = 1e-3;
	uint64_t seed = 7;
	kinds k;
	open_kinds(&k);
	int tried = 0;
	for (int pair = 0; pair < KINDS * (KINDS - 1); pair++) {
		const carom_shape *a = &k.shape[pair % (KINDS - 1)], *b = &k.shape[pair / (KINDS - 1)];
		for (int round = 0; round < 8; round++) {
			const double share = (const double[4]){ 0.3, 0.6, 0.9, 1.2 }[round % 4];
			carom_pose pa = fixture_random_pose(&seed, 0), pb = fixture_random_pose(&seed, 0);
			const v3d aside = v3d_scale(v3d_normalize(fixture_random_pose(&seed, 1).position), 3);
			pa.position = b->type == CAROM_PLANE ? v3d_scale(carom_rotate(pb.orientation, (v3d){ 0, 0, 1 }), 3) : aside;
			carom_separation s;
			if (!place_at(&k, a, &pa, b, &pb, share * tolerance, &s))
				continue;
			tried++;
			carom_world *world = fixture_world(k.context, NULL);
			fixture_add(world, *b, pb, CAROM_STATIC);
			carom_query_filter filter = carom_default_query_filter();
			filter.skip_separating = true;
			const v3d across = v3d_normalize(v3d_cross(s.normal, (v3d){ 0.3, 0.5, 0.8 }));
			for (int way = 0; way < 3; way++) {
				const v3d travel = v3d_scale(way == 0 ? s.normal
						: way == 1                    ? v3d_neg(s.normal)
													  : across,
					way == 2 ? 1e-5 : 0.1);
				const carom_motion motion = carom_straight_motion(pa, travel), rest = { pb, pb };
				carom_toi toi;
				REQUIRE(carom_time_of_impact(k.context, a, &motion, b, &rest, tolerance, &toi) == CAROM_SUCCESS);
				CHECK_INT(toi.status == CAROM_TOI_TOUCHING, share < 1);
				bool found;
				carom_shape_hit hit;
				REQUIRE(carom_world_cast_shape(world, a, &motion, tolerance, NULL, &found, &hit) == CAROM_SUCCESS);
				CHECK_INT(found && hit.touching, share < 1);
				REQUIRE(carom_world_cast_shape(world, a, &motion, tolerance, &filter, &found, &hit) == CAROM_SUCCESS);
				CHECK_INT(found, way == 1);
				if (found && share < 1) {
					CHECK(hit.touching && hit.time == 0);
					CHECK(hit.distance > -1e-9 && hit.distance < 1.001 * tolerance);
					CHECK(v3d_dot(hit.normal, s.normal) > 0.5); // of faces that meet at a sharp edge one tells
				}
			}
			carom_destroy_world(world);
		}
	}
	CHECK(tried > 1000);
	close_kinds(&k);
}

// ---- Known stops ----

typedef struct corner {
	carom_context *context;
	carom_world *world;
	carom_mesh *mesh[2];
	int meshes;
} corner;

/// A room of x, y in [-4, 4] and z in [0, 4]: walls and floor as one open mesh that faces inwards.
static carom_mesh *room_mesh(carom_context *context)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	fixture_soup_box(&soup, (v3d){ 0, 0, 2 }, 4, 4, 2);
	int kept = 0;
	for (int i = 0; i < soup.triangle_count; i++) {
		const int32_t *t = &soup.triangles[3 * i];
		bool top = true;
		for (int k = 0; k < 3; k++)
			top = top && soup.vertices[3 * t[k] + 2] > 3;
		if (top)
			continue;
		const int32_t turned[3] = { t[0], t[2], t[1] };
		memcpy(&soup.triangles[3 * kept++], turned, sizeof turned);
	}
	soup.triangle_count = kept;
	return fixture_mesh(context, &soup);
}

enum { ROOMS = 5 };

/// Rooms of one size: of boxes; a plane and boxes; one mesh; a sheet, a height field, a closed mesh as the floor with walls.
static void open_room(corner *c, int room)
{
	static const float flat[9] = { 0 };
	*c = (corner){ .context = fixture_context(1) };
	c->world = fixture_world(c->context, NULL);
	if (room == 2) {
		c->mesh[c->meshes++] = room_mesh(c->context);
		fixture_add(c->world, fixture_of_mesh(c->mesh[0]), fixture_at(0, 0, 0), CAROM_STATIC);
		return;
	}
	for (int i = 0; i < 4; i++) {
		const double side = i % 2 ? 5 : -5;
		fixture_add(c->world, fixture_box(i < 2 ? 1 : 8, i < 2 ? 8 : 1, 4), fixture_at(i < 2 ? side : 0, i < 2 ? 0 : side, 0),
			CAROM_STATIC);
	}
	if (room == 0) {
		fixture_add(c->world, fixture_box(6, 6, 1), fixture_at(0, 0, -1), CAROM_STATIC);
	} else if (room == 1) {
		fixture_add(c->world, (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, 0), CAROM_STATIC);
	} else if (room == 3) {
		c->mesh[c->meshes++] = fixture_sheet_mesh(c->context, 7, 12);
		fixture_add(c->world, fixture_of_mesh(c->mesh[0]), fixture_at(0, 0, 0), CAROM_STATIC);
	} else {
		REQUIRE(
			carom_create_height_field(c->context, 3, 3, flat, (double[2]){ 6, 6 }, 1, &c->mesh[c->meshes++]) == CAROM_SUCCESS);
		fixture_add(c->world, fixture_of_mesh(c->mesh[0]), fixture_at(-6, -6, 0), CAROM_STATIC);
	}
}

static void close_room(corner *c)
{
	carom_destroy_world(c->world);
	for (int i = 0; i < c->meshes; i++)
		carom_release_mesh(c->mesh[i]);
	carom_destroy_context(c->context);
}

static bool cast_past(
	const carom_world *world, const carom_shape *shape, carom_pose from, v3d way, double tolerance, carom_shape_hit *hit)
{
	carom_query_filter filter = carom_default_query_filter();
	filter.skip_separating = true;
	const carom_motion motion = carom_straight_motion(from, way);
	bool found;
	REQUIRE(carom_world_cast_shape(world, shape, &motion, tolerance, &filter, &found, hit) == CAROM_SUCCESS);
	return found;
}

enum { FIGURES = 7 };

typedef struct figures {
	carom_mesh *mesh[2]; // a hull, a closed mesh
	carom_shape shape[FIGURES];
	v3d half[FIGURES]; // how far each reaches
} figures;

static void open_figures(figures *f, carom_context *context)
{
	static const float points[3 * 10] = { 0.3f, 0.3f, 0.4f, -0.3f, 0.3f, 0.4f, 0.3f, -0.3f, 0.4f, -0.3f, -0.3f, 0.4f, 0.2f,
		0.2f, -0.6f, -0.2f, 0.2f, -0.6f, 0.2f, -0.2f, -0.6f, -0.2f, -0.2f, -0.6f, 0.4f, 0, 0, -0.4f, 0, 0 };
	f->mesh[0] = fixture_hull_mesh(context, points, 10);
	f->mesh[1] = fixture_box_mesh(context, 0.3, 0.25, 0.5);
	const carom_shape shapes[FIGURES] = { fixture_capsule(0.3, 0.5),
		{ .type = CAROM_BOX, .half_extents = { 0.3, 0.2, 0.5 }, .rounding = 0.1 }, fixture_hull(f->mesh[0]),
		fixture_box(0.3, 0.25, 0.6), fixture_sphere(0.4), fixture_cylinder(0.3, 0.6), fixture_of_mesh(f->mesh[1]) };
	const v3d halves[FIGURES] = { { 0.3, 0.3, 0.8 }, { 0.4, 0.3, 0.6 }, { 0.4, 0.3, 0.6 }, { 0.3, 0.25, 0.6 },
		{ 0.4, 0.4, 0.4 }, { 0.3, 0.3, 0.6 }, { 0.3, 0.25, 0.5 } };
	memcpy(f->shape, shapes, sizeof shapes);
	memcpy(f->half, halves, sizeof halves);
}

static void close_figures(figures *f)
{
	carom_release_mesh(f->mesh[0]);
	carom_release_mesh(f->mesh[1]);
}

/// On the floor, within the tolerance of it: along the floor to the wall, on into the wall, along it, away from both.
TEST(stopping, a_floor_and_a_wall)
{
	const double tolerance = 1e-3;
	for (int room = 0; room < ROOMS; room++) {
		corner c;
		figures f;
		open_room(&c, room);
		open_figures(&f, c.context);
		for (int i = 0; i < FIGURES; i++) {
			const carom_shape *shape = &f.shape[i];
			const v3d h = f.half[i];
			carom_pose at = fixture_at(0.3, 0.2, h.z + 0.5 * tolerance);
			carom_shape_hit hit;
			REQUIRE(cast_past(c.world, shape, at, (v3d){ 10, 0, 0 }, tolerance, &hit));
			CHECK_NEAR(hit.normal.x, -1, 1e-6);
			CHECK_NEAR(10 * hit.time, 4 - h.x - 0.3, 1.01 * tolerance);
			CHECK(!hit.touching && hit.distance > 0 && hit.distance <= 1.001 * tolerance);
			at.position.x += 10 * hit.time;
			REQUIRE(cast_past(c.world, shape, at, (v3d){ 1, 0.5, 0 }, tolerance, &hit));
			CHECK(hit.touching && hit.time == 0);
			CHECK_NEAR(hit.normal.x, -1, 1e-6);
			// into both: the one that the motion goes into faster
			REQUIRE(cast_past(c.world, shape, at, (v3d){ 1, 0, -2 }, tolerance, &hit));
			CHECK(hit.touching && hit.time == 0);
			CHECK_NEAR(hit.normal.z, 1, 1e-6);
			REQUIRE(cast_past(c.world, shape, at, (v3d){ 2, 0, -1 }, tolerance, &hit));
			CHECK_NEAR(hit.normal.x, -1, 1e-6);
			// along both, to the next wall
			REQUIRE(cast_past(c.world, shape, at, (v3d){ 0, 10, 0 }, tolerance, &hit));
			CHECK_NEAR(hit.normal.y, -1, 1e-6);
			CHECK_NEAR(10 * hit.time, 4 - h.y - 0.2, 1.01 * tolerance);
			// away from both, or from one and along the other
			CHECK(!cast_past(c.world, shape, at, (v3d){ -3, 0, 2 }, tolerance, &hit));
			CHECK(!cast_past(c.world, shape, at, (v3d){ 0, 0, 2 }, tolerance, &hit));
			CHECK(!cast_past(c.world, shape, at, (v3d){ -3, 0, 0 }, tolerance, &hit));
			// deep in the floor: out, but no deeper
			at = fixture_at(0.3, 0.2, h.z - 0.1);
			CHECK(!cast_past(c.world, shape, at, (v3d){ 0.1, 0, 1 }, tolerance, &hit));
			REQUIRE(cast_past(c.world, shape, at, (v3d){ 0, 0, -1 }, tolerance, &hit));
			CHECK(hit.touching && hit.time == 0);
		}
		close_figures(&f);
		close_room(&c);
	}
}

// ---- A character ----

typedef struct walker {
	const carom_world *world;
	const carom_shape *shape;
	carom_pose pose;
	double tolerance;
	v3d plane[8]; // met in this move
	int planes;
} walker;

/// Does a way go into none of the planes?
static bool is_free(const walker *w, v3d way)
{
	for (int i = 0; i < w->planes; i++) {
		if (v3d_dot(way, w->plane[i]) < -1e-9 * v3d_length(way))
			return false;
	}
	return true;
}

/// The way nearest to a wish that goes into none of the planes: along one of them, or along two, or none at all.
static v3d bend(const walker *w, v3d wish)
{
	v3d best = { 0, 0, 0 };
	if (is_free(w, wish))
		return wish;
	for (int i = 0; i < w->planes; i++) {
		const v3d n = w->plane[i], along = v3d_mad(wish, -v3d_dot(wish, n), n);
		if (is_free(w, along) && v3d_dot(along, along) > v3d_dot(best, best))
			best = along;
		for (int k = 0; k < i; k++) {
			const v3d crease = v3d_cross(n, w->plane[k]);
			const double square = v3d_dot(crease, crease);
			const v3d way = square > 1e-12 ? v3d_scale(crease, v3d_dot(wish, crease) / square) : (v3d){ 0, 0, 0 };
			if (is_free(w, way) && v3d_dot(way, way) > v3d_dot(best, best))
				best = way;
		}
	}
	return best;
}

/// Moves until the way is used up, bent along what is met.
static void walk(walker *w, v3d wish)
{
	w->planes = 0;
	for (int i = 0; i < 8; i++) {
		const v3d way = bend(w, wish);
		carom_shape_hit hit;
		if (!(v3d_length(way) > 1e-12))
			return;
		const bool found = cast_past(w->world, w->shape, w->pose, way, w->tolerance, &hit);
		w->pose.position = v3d_mad(w->pose.position, found ? hit.time : 1, way);
		if (!found)
			return;
		wish = v3d_scale(wish, 1 - hit.time);
		w->plane[w->planes++] = hit.normal;
	}
}

static double least_distance(const walker *w)
{
	bool found;
	carom_closest_body nearest;
	REQUIRE(carom_world_closest_body(w->world, w->shape, &w->pose, 1, NULL, &found, &nearest) == CAROM_SUCCESS);
	return found ? nearest.distance : 1;
}

static double clamp(double x, double least, double most) { return x < least ? least : x > most ? most : x; }

/// In a room whose walls are along the axes each move ends where the wish, cut to the room, ends.
TEST(stopping, a_character_slides_in_rooms)
{
	const double tolerance = 1e-3;
	uint64_t seed = 11;
	int moves = 0, cut = 0;
	double deepest = 1;
	for (int room = 0; room < ROOMS; room++) {
		corner c;
		figures f;
		open_room(&c, room);
		open_figures(&f, c.context);
		for (int i = 0; i < FIGURES; i++) {
			const v3d h = f.half[i];
			walker w = { c.world, &f.shape[i], fixture_at(0, 0, h.z + 0.7 * tolerance), tolerance, .planes = 0 };
			for (int move = 0; move < 290; move++, moves++) {
				const double size = move % 3 == 0 ? 8 : move % 3 == 1 ? 1 : 0.01;
				v3d wish = { test_random_double(&seed, -size, size), test_random_double(&seed, -size, size), 0 };
				wish.z = move % 4 ? -test_random_double(&seed, 0, size) : 0;
				const v3d to = v3d_add(w.pose.position, wish);
				const v3d end = { clamp(to.x, h.x - 4, 4 - h.x), clamp(to.y, h.y - 4, 4 - h.y), clamp(to.z, h.z, 9) };
				walk(&w, wish);
				const double off = v3d_length(v3d_sub(w.pose.position, end));
				cut += v3d_length(v3d_sub(to, end)) > 0.1;
				deepest = fmin(deepest, least_distance(&w));
				CHECK(off < 2 * tolerance);
			}
		}
		close_figures(&f);
		close_room(&c);
	}
	CHECK(moves > 10000);
	CHECK(cut > 3000);
	CHECK(deepest > -0.01 * tolerance);
}

/// Adds to a room what has no side along an axis: pillars, a ramp, an oblique wall, rough ground.
static void furnish(corner *c)
{
	const carom_quat lean = fixture_turn((v3d){ 0.2, 1, 0 }, 0.5), aside = fixture_turn((v3d){ 0, 0, 1 }, 0.6);
	float heights[81];
	uint64_t seed = 3;
	for (int i = 0; i < 81; i++)
		heights[i] = (float)test_random_double(&seed, -0.15, 0.1);
	REQUIRE(
		carom_create_height_field(c->context, 9, 9, heights, (double[2]){ 1, 1 }, 1, &c->mesh[c->meshes++]) == CAROM_SUCCESS);
	fixture_add(c->world, fixture_of_mesh(c->mesh[c->meshes - 1]), fixture_at(-4, -4, 0), CAROM_STATIC);
	fixture_add(c->world, fixture_cylinder(0.5, 2), fixture_at(-2, 2, 1), CAROM_STATIC);
	fixture_add(c->world, fixture_capsule(0.4, 2), fixture_at(2.5, 2, 1), CAROM_STATIC);
	fixture_add(c->world, fixture_box(1, 0.8, 0.3), (carom_pose){ { 2, -2, 0 }, lean }, CAROM_STATIC);
	fixture_add(c->world, fixture_box(0.2, 2, 2), (carom_pose){ { -2.2, -1.5, 1 }, aside }, CAROM_STATIC);
}

/// Is there a way on, on the side of the wish, that is clear by distances?
static bool has_way(walker w, v3d wish)
{
	const double length = v3d_length(wish);
	for (int i = 0; i < 26; i++) {
		const int code = i < 13 ? i : i + 1;
		const v3d d = v3d_normalize((v3d){ code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1 });
		walker on = w;
		if (v3d_dot(d, wish) < 0.3 * length)
			continue;
		on.pose.position = v3d_mad(w.pose.position, 10 * w.tolerance, d);
		if (least_distance(&on) > 3 * w.tolerance)
			return true;
	}
	return false;
}

TEST(stopping, a_character_among_pillars_and_ramps)
{
	const double tolerance = 1e-3;
	uint64_t seed = 13;
	int stuck = 0;
	double deepest = 1, way = 0;
	for (int room = 0; room < 3; room++) {
		corner c;
		figures f;
		open_room(&c, room);
		furnish(&c);
		open_figures(&f, c.context);
		for (int i = 0; i < FIGURES; i++) {
			walker w = { c.world, &f.shape[i], fixture_at(0, 0, 1), tolerance, .planes = 0 };
			for (int move = 0; move < 100 / TEST_FEWER; move++) {
				const double size = move % 2 ? 3 : 0.3;
				const v3d wish = { test_random_double(&seed, -size, size), test_random_double(&seed, -size, size),
					test_random_double(&seed, -size, 0) };
				const v3d from = w.pose.position;
				const bool had_way = has_way(w, wish);
				walk(&w, wish);
				const double gone = v3d_length(v3d_sub(w.pose.position, from));
				way += gone;
				stuck += had_way && gone < 2 * tolerance;
				deepest = fmin(deepest, least_distance(&w));
				for (int k = 0; k < 3; k++)
					CHECK(fabs(v3d_get(w.pose.position, k)) < 4.5);
			}
		}
		close_figures(&f);
		close_room(&c);
	}
	CHECK_INT(stuck, 0);
	CHECK(deepest > -0.01 * tolerance);
	CHECK(way > 500 / TEST_FEWER);
}

// ---- Bounds ----

/// The bound of a whole way against distances at times of the way.
TEST(stopping, a_bound_of_a_way_is_below_all_distances_on_it)
{
	uint64_t seed = 17;
	int above = 0;
	kinds k;
	open_kinds(&k);
	for (int i = 0; i < 4000 / TEST_FEWER; i++) {
		const carom_shape *shapes[2] = { &k.shape[i % (KINDS - 1)], &k.shape[i / (KINDS - 1) % 7] };
		cr_convex convex[2];
		cr_mover movers[2];
		for (int side = 0; side < 2; side++) {
			movers[side] = cr_mover_of(shapes[side], &convex[side]);
			const carom_pose at = fixture_random_pose(&seed, 1.5);
			movers[side].motion = cr_motion_between(&at, &at);
		}
		cr_motion *m = &movers[0].motion;
		m->travel = v3d_scale(fixture_random_pose(&seed, 1).position, i % 3 ? 0.5 : 4);
		cr_mover_scratch scratch;
		cr_mover_impact impact;
		cr_descent d = { .tolerance = 1e-3 };
		REQUIRE(cr_prepare_descent(&d, &scratch, &movers[0], &movers[1], &impact));
		cr_set_descent_time(&d, 0);
		const m3d rotation = m3d_from_quat(m->begin.orientation);
		const double bound = cr_bound_distance(&d, &d.whole[0], &d.whole[1], m3d_tmul(&rotation, m->travel));
		above += bound > 0;
		for (int step = 0; step <= 8; step++) {
			const carom_pose at = cr_motion_at(m, step / 8.0), still = movers[1].motion.begin;
			carom_separation s;
			REQUIRE(carom_distance(k.context, shapes[0], &at, shapes[1], &still, &s) == CAROM_SUCCESS);
			if (s.distance > 0)
				CHECK(bound <= s.distance + s.error + 1e-9);
			else
				CHECK(bound <= 1e-9);
		}
	}
	CHECK(above > 500 / TEST_FEWER);
	close_kinds(&k);
}

/// A fine mesh stops what presses on it as a plane does, and lets by what goes along it. Its inner edges lead nothing aside,
/// also where a figure has sunk in and has its lowest point just beside one.
TEST(stopping, a_fine_mesh_stops_as_a_plane_does)
{
	const double tolerance = 1e-3;
	uint64_t seed = 19;
	int stops = 0;
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 7, 60);
	carom_world *worlds[2] = { fixture_world(context, NULL), fixture_world(context, NULL) };
	fixture_add(worlds[0], (carom_shape){ .type = CAROM_PLANE }, fixture_at(0, 0, 0), CAROM_STATIC);
	fixture_add(worlds[1], fixture_of_mesh(sheet), fixture_at(0, 0, 0), CAROM_STATIC);
	figures f;
	open_figures(&f, context);
	for (int i = 0; i < 70000 / TEST_FEWER; i++) {
		const int figure = i % FIGURES;
		const double size = (const double[3]){ 1e-3, 0.03, 1 }[i / FIGURES % 3];
		const double across[3] = { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1),
			test_random_double(&seed, -0.2, 0.95) };
		const carom_pose at = fixture_at(across[0], across[1], f.half[figure].z + across[2] * tolerance);
		const v3d way = { test_random_double(&seed, -size, size), test_random_double(&seed, -size, size),
			i % 5 ? test_random_double(&seed, -size, size) : 0 };
		carom_shape_hit hits[2];
		const bool found[2] = { cast_past(worlds[0], &f.shape[figure], at, way, tolerance, &hits[0]),
			cast_past(worlds[1], &f.shape[figure], at, way, tolerance, &hits[1]) };
		REQUIRE(found[0] == found[1]);
		if (!found[0])
			continue;
		stops++;
		if (way.z < -0.02 * tolerance) // a slower approach may be stopped a little later
			CHECK_INT(hits[0].time == 0, hits[1].time == 0);
		CHECK(hits[1].time == 0 || way.z > -0.5 * tolerance);
		CHECK_NEAR(hits[1].normal.z, 1, 1e-6);
		CHECK_NEAR(hits[0].distance, hits[1].distance, 1e-6);
	}
	CHECK(stops > 15000 / TEST_FEWER);
	close_figures(&f);
	carom_destroy_world(worlds[0]);
	carom_destroy_world(worlds[1]);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

// ---- Motions that turn ----

enum { TURNERS = 7, GROUNDS = 3, LOOKS = 300 };

typedef struct turner {
	carom_shape shape;
	carom_pose begin;
	v3d axis;
	double angle;
} turner;

static v3d random_vector(uint64_t *seed)
{
	const double x = test_random_double(seed, -1, 1), y = test_random_double(seed, -1, 1);
	return (v3d){ x, y, test_random_double(seed, -1, 1) };
}

static carom_pose turned(const turner *m, double t)
{
	return (carom_pose){ m->begin.position, quat_mul(fixture_turn(m->axis, m->angle * t), m->begin.orientation) };
}

/// Height of a shape over z = 0.
static double height_of(carom_context *context, const carom_shape *shape, carom_pose at)
{
	const carom_shape plane = { .type = CAROM_PLANE };
	carom_separation s;
	REQUIRE(carom_distance(context, shape, &at, &plane, NULL, &s) == CAROM_SUCCESS);
	return s.distance;
}

/// A shape that stands, lies or leans, about to turn by up to 3 radians.
static turner random_turner(carom_context *context, uint64_t *seed, int i)
{
	const carom_shape shapes[TURNERS] = { fixture_box(0.3, 0.3, 0.3), fixture_cylinder(0.3, 0.3), fixture_cone(0.3, 0.3),
		fixture_capsule(0.3, 0.3), fixture_sphere(0.3), fixture_ellipsoid(0.4, 0.3, 0.3),
		{ .type = CAROM_BOX, .half_extents = { 0.25, 0.25, 0.25 }, .rounding = 0.05 } };
	turner m = { .shape = shapes[i % TURNERS], .begin = carom_pose_identity() };
	const double lean = test_random_double(seed, 0, 3);
	const v3d about = random_vector(seed);
	const int posture = i / TURNERS % 4;
	if (posture)
		m.begin.orientation = posture == 1 ? fixture_turn((v3d){ 0, 1, 0 }, 1.5707963267948966) : fixture_turn(about, lean);
	m.axis = random_vector(seed);
	m.angle = test_random_double(seed, 0, i % 3 ? 3 : 0.3);
	m.begin.position = (v3d){ test_random_double(seed, -0.5, 0.5), test_random_double(seed, -0.5, 0.5), 0 };
	m.begin.position.z = -height_of(context, &m.shape, m.begin);
	return m;
}

/// The least rise of a whole motion with which the shape never comes lower than it begins.
static double least_rise(carom_context *context, const turner *m)
{
	double least = 0;
	for (int k = 1; k <= LOOKS; k++)
		least = fmax(least, -height_of(context, &m->shape, turned(m, k / (double)LOOKS)) * LOOKS / k);
	return least;
}

static void open_grounds(carom_context *context, carom_mesh *sheet, carom_world *worlds[GROUNDS])
{
	const carom_shape grounds[GROUNDS] = { { .type = CAROM_PLANE }, fixture_box(4, 4, 1), fixture_of_mesh(sheet) };
	for (int i = 0; i < GROUNDS; i++) {
		worlds[i] = fixture_world(context, NULL);
		fixture_add(worlds[i], grounds[i], fixture_at(0, 0, i == 1 ? -1 : 0), CAROM_STATIC);
	}
}

/// A shape that touches and turns, and never comes nearer than it begins, passes; this also holds for one that rolls. One that
/// comes lower than the ground is stopped before it does. The oracle looks at the height at 300 times.
TEST(stopping, what_turns_away_passes)
{
	uint64_t seed = 23;
	carom_context *context = fixture_context(1);
	carom_mesh *sheet = fixture_sheet_mesh(context, 4, 40);
	carom_world *worlds[GROUNDS];
	open_grounds(context, sheet, worlds);
	int passed = 0, stopped = 0;
	for (int i = 0; i < 420; i++) {
		turner m = random_turner(context, &seed, i);
		const double tolerance = (const double[3]){ 1e-5, 1e-4, 1e-3 }[i % 5 % 3], gap = test_random_double(&seed, 0.1, 0.9);
		const double share = test_random_double(&seed, 0, 0.3), least = least_rise(context, &m);
		const bool leaves = i / 28 % 2 == 0;
		const double rise = leaves ? least * (1.001 + (i % 8 < 4 ? 0 : share)) + (least > 0 ? 1e-4 : 0) : (share - 0.15) * least;
		const v3d aside = random_vector(&seed);
		m.begin.position.z += gap * tolerance;
		const v3d way = { 0.5 * aside.x, 0.5 * aside.y, rise };
		carom_query_filter filter = carom_default_query_filter();
		filter.skip_separating = true;
		for (int ground = 0; ground < GROUNDS; ground++) {
			carom_motion motion = { m.begin, turned(&m, 1) };
			motion.end.position = v3d_add(m.begin.position, way);
			carom_shape_hit hit;
			bool found;
			REQUIRE(
				carom_world_cast_shape(worlds[ground], &m.shape, &motion, tolerance, &filter, &found, &hit) == CAROM_SUCCESS);
			if (leaves)
				CHECK(!found);
			const double until = found ? hit.time : 1;
			double lowest = INFINITY;
			for (int k = 0; k <= LOOKS; k++)
				lowest = fmin(lowest, height_of(context, &m.shape, carom_motion_pose(&motion, until * k / LOOKS)));
			CHECK(lowest > -1e-3 * tolerance);
			passed += leaves && !found;
			stopped += found && hit.time < 1;
		}
	}
	CHECK(passed > 500);
	CHECK(stopped > 200);
	for (int i = 0; i < GROUNDS; i++)
		carom_destroy_world(worlds[i]);
	carom_release_mesh(sheet);
	carom_destroy_context(context);
}

// ---- Out of steps ----

/// What rolls in one place, a little more than the tolerance above a floor. Of a cylinder each search tells that nothing comes:
/// it is the same set of points at all times. An ellipsoid much nearer to the floor, which rolls about an axis that is not its
/// z, takes more steps than there are, and that is told. With a wider tolerance it touches, and one that rests is decided too.
TEST(stopping, a_search_that_runs_out_of_steps_is_told)
{
	carom_context *context = fixture_context(1);
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_box(3, 3, 1), fixture_at(0, 0, -1), CAROM_STATIC);
	const carom_shape rolls[2] = { fixture_cylinder(0.5, 0.5), fixture_ellipsoid(0.6, 0.5, 0.5) };
	const carom_quat lying = fixture_turn((v3d){ 0, 1, 0 }, 1.5707963267948966);
	for (int i = 0; i < 12; i++) {
		const bool skip = i % 2, round = i / 2 % 2 == 0;
		const int kind = i / 4; // near, within a wider tolerance, at rest
		const double gap = round ? 3e-5 : 3e-8, tolerance = kind == 1 ? 1e-3 : gap / 3;
		carom_motion motion =
			carom_straight_motion((carom_pose){ { 0, 0, 0.5 + gap }, carom_pose_identity().orientation }, (v3d){ 0, 0, 0 });
		if (round)
			motion.begin.orientation = motion.end.orientation = lying;
		if (kind < 2)
			motion.end.orientation = quat_mul(fixture_turn((v3d){ 1, 0, 0 }, 3), motion.begin.orientation);
		carom_query_filter filter = carom_default_query_filter();
		filter.skip_separating = skip;
		carom_shape_hit hit;
		bool found;
		REQUIRE(carom_world_cast_shape(world, &rolls[!round], &motion, tolerance, &filter, &found, &hit) == CAROM_SUCCESS);
		// that has no room: it touches, and may not come lower
		if (!round && kind == 1 && skip)
			continue;
		const bool runs_out = kind == 0 && !round;
		CHECK_INT(found, runs_out || (kind == 1 && !skip));
		if (found)
			CHECK_INT(hit.undecided, runs_out);
		if (runs_out)
			CHECK(hit.time > 0 && hit.time < 1 && !hit.touching && hit.distance > tolerance);
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
}
