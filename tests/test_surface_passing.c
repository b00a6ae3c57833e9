/// Cloth that passes closed meshes and other shapes within a step, and comes back: against the segments of its vertices, rigid and
/// deforming, thin and thick, turned and moving; threads, snapshots, failed allocations.
#include "fixture.h"

#include "frame/body.h"
#include "frame/shape_table.h"
#include "geom/convex_query.h"

#include <math.h>
#include <string.h>

enum { CELLS = 9, VERTICES = (CELLS + 1) * (CELLS + 1) };

#define THICKNESS 0.03

typedef struct stage {
	carom_context *context;
	carom_world *world;
	carom_mesh *sheet, *mesh;
	carom_body_id cloth, holder;
	carom_pose pose; // of the holder; up is its z axis
	v3d up;
	double places[3 * VERTICES];
} stage;

/// The sheet lies across the axis of the holder, this high, and is this wide.
static void place_sheet(stage *s, double height, double width)
{
	const m3d rotation = m3d_from_quat(s->pose.orientation);
	for (int32_t v = 0; v < VERTICES; v++) {
		v3d local = v3d_scale(v3d_from_floats(s->sheet->topology.vertices + 3 * v), width);
		local.z = height;
		const v3d p = v3d_add(m3d_mul(&rotation, local), s->pose.position);
		for (int k = 0; k < 3; k++)
			s->places[3 * v + k] = v3d_get(p, k);
	}
}

static void move_sheet(stage *s, double height, double width)
{
	place_sheet(s, height, width);
	const carom_strided end = { s->places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s->world, s->cloth, NULL, &end) == CAROM_SUCCESS);
	fixture_step(s->world);
}

/// The holder is kept as it is named by mesh.
static void open_stage(stage *s, carom_context *context, carom_mesh *mesh, carom_body_kind kind, double height, double width)
{
	uint64_t seed = 5 + (uint64_t)kind;
	s->context = context;
	s->world = fixture_world(context, NULL);
	s->mesh = mesh;
	s->pose = fixture_random_pose(&seed, 0.3);
	const m3d rotation = m3d_from_quat(s->pose.orientation);
	s->up = m3d_mul(&rotation, (v3d){ 0, 0, 1 });
	s->holder = fixture_add(s->world, fixture_of_mesh(s->mesh), s->pose, kind);
	s->sheet = fixture_sheet_mesh(s->context, CELLS, 1);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(s->sheet);
	def.thickness = THICKNESS;
	REQUIRE(carom_world_add_body(s->world, &def, &s->cloth) == CAROM_SUCCESS);
	place_sheet(s, height, width);
	const carom_strided there = { s->places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s->world, s->cloth, &there, &there) == CAROM_SUCCESS);
	fixture_step(s->world);
}

static void close_stage(stage *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->mesh);
	carom_release_mesh(s->sheet);
}

/// The direction by which a contact leads the cloth.
static v3d way_of(const stage *s, const carom_surface_contact *c)
{
	const v3d normal = fixture_vector(c->normal);
	return fixture_same_id(c->body_a, s->cloth) ? normal : v3d_neg(normal);
}

/// Every contact leads up. Returns how many vertices of the cloth have one; *through: contacts that are through.
static int check_up(const stage *s, int *through)
{
	bool has[VERTICES] = { false };
	int count = 0;
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	*through = 0;
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_contact *c = &view.data[i];
		if (fixture_same_id(c->body_a, c->body_b))
			continue;
		CHECK(v3d_dot(way_of(s, c), s->up) > 0.5);
		*through += c->through;
		if (c->kind == CAROM_SWEEP_VERTEX_FACE && fixture_same_id(c->body_a, s->cloth))
			has[c->vertices[0]] = true;
	}
	for (int v = 0; v < VERTICES; v++)
		count += has[v];
	return count;
}

/// A solver puts cloth that has passed a plate back, at once or by parts of the way. It is at rest there then.
TEST(surface_passing, cloth_that_comes_back_through_a_plate_is_on_its_own_side)
{
	static const double halves[] = { 0.002, 0.01, 0.05 }, depths[] = { 0.008, 0.02, 0.1, 0.32 };
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 48; round++) {
		static stage s;
		const double half = halves[round % 3], depth = depths[round / 3 % 4];
		const int wait = round / 12 % 2;
		int through;
		open_stage(&s, context, fixture_box_mesh(context, 1.5, 1.5, half), round / 24 ? CAROM_DEFORMABLE : CAROM_STATIC,
			half + 0.2, 1);
		move_sheet(&s, -half - depth, 1);
		CHECK_INT(check_up(&s, &through), VERTICES);
		CHECK(through >= VERTICES);
		for (int step = 0; step < wait; step++) { // it stays beyond, a little deeper
			move_sheet(&s, -half - depth - 0.004, 1);
			CHECK_INT(check_up(&s, &through), VERTICES);
		}
		for (int step = 0; step < 3; step++) {
			move_sheet(&s, half + 0.014, 1);
			CHECK_INT(check_up(&s, &through), VERTICES);
			CHECK_INT(through, 0);
		}
		move_sheet(&s, -half - depth, 1); // and once more
		CHECK_INT(check_up(&s, &through), VERTICES);
		close_stage(&s);
	}
	carom_destroy_context(context);
}

/// The normal of the face by which the way of a vertex first comes into the ball, by brute force; zero: by none.
static v3d entry_of(const stage *s, int32_t vertex, double from, double to)
{
	const m3d rotation = m3d_from_quat(s->pose.orientation);
	const v3d p = m3d_tmul(&rotation, v3d_sub(v3d_from_doubles(&s->places[3 * vertex]), s->pose.position));
	double highest = -INFINITY;
	v3d normal = { 0, 0, 0 };
	for (int32_t i = 0; i < s->mesh->topology.triangle_count; i++) {
		v3d c[3];
		for (int k = 0; k < 3; k++)
			c[k] = v3d_from_floats(s->mesh->topology.vertices + 3 * s->mesh->topology.triangles[3 * i + k]);
		const v3d across = v3d_cross(v3d_sub(c[1], c[0]), v3d_sub(c[2], c[0]));
		bool over = across.z > 0;
		for (int k = 0; k < 3; k++) {
			const v3d a = c[k], b = c[(k + 1) % 3];
			over = over && (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x) >= 0;
		}
		const double z = over ? c[0].z - (across.x * (p.x - c[0].x) + across.y * (p.y - c[0].y)) / across.z : -INFINITY;
		if (z < from && z > to && z > highest) {
			highest = z;
			normal = m3d_mul(&rotation, v3d_normalize(across));
		}
	}
	return normal;
}

/// Those vertices that come in where the ball looks up have a way back to there, as long as they are beyond.
static void check_ball(stage *s, double from, double to, double now)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	int led = 0;
	for (int32_t v = 0; v < VERTICES; v++) {
		const v3d entry = entry_of(s, v, from, to);
		if (!(v3d_dot(entry, s->up) > 0.75))
			continue;
		bool back = false;
		for (int64_t i = 0; i < view.count; i++) {
			const carom_surface_contact *c = &view.data[i];
			if (c->kind != CAROM_SWEEP_VERTEX_FACE || !fixture_same_id(c->body_b, s->holder) || c->vertices[0] != v)
				continue;
			CHECK(c->through);
			CHECK(v3d_dot(fixture_vector(c->normal), s->up) > 0.5);
			CHECK(c->distance < now);
			back = true;
		}
		CHECK(back);
		led++;
	}
	CHECK(led > VERTICES / 2);
}

TEST(surface_passing, cloth_beyond_a_ball_goes_back_where_it_came_in)
{
	static const double ends[] = { -0.1, -0.31, -0.5, -1.7 };
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 8; round++) {
		static stage s;
		const double end = ends[round % 4];
		int through;
		open_stage(&s, context, fixture_sphere_mesh(context, 0.3, 14), round / 4 ? CAROM_DEFORMABLE : CAROM_STATIC, 0.5, 0.35);
		for (int step = 0; step < 3; step++) {
			move_sheet(&s, end - 0.01 * step, 0.35);
			check_ball(&s, 0.5, end, end - 0.15);
		}
		for (int step = 0; step < 3; step++) {
			move_sheet(&s, 0.305, 0.35);
			check_up(&s, &through);
			CHECK_INT(through, 0);
		}
		close_stage(&s);
	}
	carom_destroy_context(context);
}

/// A plate that moves through cloth at rest, and turns: the cloth goes back to the side that it comes from.
TEST(surface_passing, a_plate_that_moves_passes_cloth_too)
{
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 6; round++) {
		static stage s;
		int through;
		open_stage(&s, context, fixture_box_mesh(context, 1.5, 1.5, 0.01), CAROM_KINEMATIC, 0.2, 1);
		const v3d there = v3d_mad(fixture_vector(s.pose.position), 0.3 + 0.2 * round, s.up);
		const carom_pose near = s.pose,
						 far = { { there.x, there.y, there.z },
							 round % 2 ? quat_mul(fixture_turn(s.up, 0.3), near.orientation) : near.orientation };
		const carom_motion forth = { near, far }, back = { far, near };
		REQUIRE(carom_world_set_motions(s.world, 1, &s.holder, &forth) == CAROM_SUCCESS);
		fixture_step(s.world);
		CHECK_INT(check_up(&s, &through), VERTICES);
		CHECK(through >= VERTICES);
		REQUIRE(carom_world_set_motions(s.world, 1, &s.holder, &back) == CAROM_SUCCESS);
		fixture_step(s.world);
		check_up(&s, &through);
		CHECK_INT(through, 0);
		close_stage(&s);
	}
	carom_destroy_context(context);
}

// ---- Beside an edge of a mesh ----

/// The whole sheet goes by way, in the frame of the holder.
static void shift_sheet(stage *s, v3d way)
{
	const m3d rotation = m3d_from_quat(s->pose.orientation);
	const v3d by = m3d_mul(&rotation, way);
	for (int i = 0; i < 3 * VERTICES; i++)
		s->places[i] += v3d_get(by, i % 3);
	const carom_strided end = { s->places, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s->world, s->cloth, NULL, &end) == CAROM_SUCCESS);
	fixture_step(s->world);
}

/// The lowest corner of the sheet, in the frame of the holder.
static v3d first_corner(const stage *s)
{
	const m3d rotation = m3d_from_quat(s->pose.orientation);
	v3d least = { INFINITY, INFINITY, INFINITY };
	for (int v = 0; v < VERTICES; v++) {
		const v3d p = m3d_tmul(&rotation, v3d_sub(v3d_from_doubles(&s->places[3 * v]), s->pose.position));
		least = (v3d){ fmin(least.x, p.x), fmin(least.y, p.y), fmin(least.z, p.z) };
	}
	return least;
}

static int count_through(const stage *s)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(s->world);
	int count = 0;
	for (int64_t i = 0; i < view.count; i++)
		count += view.data[i].through;
	return count;
}

/// The corner of a sheet cuts an upright edge of a crate: in at one side, out at the next one. Nothing crosses then, and the corner does
/// not hang on the crate when that flies away.
TEST(surface_passing, a_corner_that_cuts_an_edge_of_a_crate_is_free)
{
	static const carom_body_kind kinds[] = { CAROM_STATIC, CAROM_DYNAMIC, CAROM_DEFORMABLE };
	carom_context *context = fixture_context(1);
	for (int round = 0; round < 30; round++) {
		static stage s;
		uint64_t seed = 3 + (uint64_t)round;
		open_stage(&s, context, fixture_box_mesh(context, 0.5, 0.5, 0.5), kinds[round % 3], 0.8, 1);
		const v3d corner = first_corner(&s);
		const double in = test_random_double(&seed, 0.005, 0.05), before = test_random_double(&seed, 0.06, 0.2),
					 after = test_random_double(&seed, 0.06, 0.2);
		// The middle of the way is within the crate by this much; a vertex of the sheet goes 45 degrees to both sides.
		const v3d middle = { 0.5 - in, 0.5 - in, 0.1 };
		const v3d begin = { middle.x + before, middle.y - before, 0.1 }, end = { middle.x - after, middle.y + after, 0.1 };
		const v3d above = { 0.7, 0.7, corner.z }, clear = { 0.7, 0.7, 0.1 };
		shift_sheet(&s, v3d_sub(above, corner));
		shift_sheet(&s, v3d_sub(clear, above));
		shift_sheet(&s, v3d_sub((v3d){ begin.x, 0.7, 0.1 }, clear));
		shift_sheet(&s, v3d_sub(begin, (v3d){ begin.x, 0.7, 0.1 }));
		CHECK_INT(count_through(&s), 0);
		shift_sheet(&s, v3d_sub(end, begin));
		CHECK_INT(count_through(&s), 0);
		for (int step = 0; step < 3; step++) {
			shift_sheet(&s, (v3d){ 0, 0.2, 0 });
			CHECK_INT(count_through(&s), 0);
		}
		CHECK_INT(carom_world_surface_contacts(s.world).count, 0);
		close_stage(&s);
	}
	carom_destroy_context(context);
}

/// A sheet passes a plate that is smaller, askew: vertices beside the border of the plate come out at its sides, and go back up with the
/// others.
TEST(surface_passing, vertices_that_come_out_at_the_side_of_a_plate_go_back_with_the_others)
{
	carom_context *context = fixture_context(1);
	int beside = 0;
	for (int round = 0; round < 24; round++) {
		static stage s;
		const double half = 0.2 + 0.02 * (round % 5), thin = round % 2 ? 0.03 : 0.06;
		uint64_t seed = 8 + (uint64_t)round;
		open_stage(
			&s, context, fixture_box_mesh(context, half, half, thin), round % 3 ? CAROM_STATIC : CAROM_DEFORMABLE, 0.1, 1);
		const m3d rotation = m3d_from_quat(s.pose.orientation);
		static double from[3 * VERTICES];
		memcpy(from, s.places, sizeof from);
		const v3d way = { test_random_double(&seed, -0.3, 0.3), test_random_double(&seed, -0.3, 0.3), -0.3 };
		shift_sheet(&s, way);
		const carom_surface_contact_view view = carom_world_surface_contacts(s.world);
		for (int32_t v = 0; v < VERTICES; v++) {
			const v3d p = m3d_tmul(&rotation, v3d_sub(v3d_from_doubles(&from[3 * v]), s.pose.position));
			const v3d in = v3d_mad(p, (p.z - thin) / 0.3, way), out = v3d_mad(p, (p.z + thin) / 0.3, way);
			if (fmax(fabs(in.x), fabs(in.y)) > half - 1e-6)
				continue; // it does not come in at the top
			bool found = false;
			for (int64_t i = 0; i < view.count && !found; i++) {
				const carom_surface_contact *c = &view.data[i];
				found = c->through && c->kind == CAROM_SWEEP_VERTEX_FACE && fixture_same_id(c->body_a, s.cloth) &&
					c->vertices[0] == v && v3d_dot(way_of(&s, c), s.up) > 0.5;
			}
			CHECK(found);
			beside += fmax(fabs(out.x), fabs(out.y)) > half;
		}
		close_stage(&s);
	}
	CHECK(beside > 30);
	carom_destroy_context(context);
}

// ---- Shapes that are no meshes ----

enum { SHAPES = 9, SAMPLES = 500 };

static carom_shape make_shape(carom_context *context, int which, carom_mesh **hull)
{
	*hull = NULL;
	switch (which) {
	case 0: return fixture_box(0.8, 0.8, 0.01);
	case 1: return fixture_box(0.8, 0.8, 0.2);
	case 2: return (carom_shape){ .type = CAROM_SPHERE, .radius = 0.3 };
	case 3: return (carom_shape){ .type = CAROM_CAPSULE, .radius = 0.25, .half_length = 0.1 };
	case 4: return (carom_shape){ .type = CAROM_CYLINDER, .radius = 0.8, .half_length = 0.01 };
	case 5: return (carom_shape){ .type = CAROM_CONE, .radius = 0.5, .half_length = 0.2 };
	case 6: return (carom_shape){ .type = CAROM_ELLIPSOID, .half_extents = { 0.5, 0.4, 0.05 } };
	case 7: return (carom_shape){ .type = CAROM_BOX, .half_extents = { 0.5, 0.5, 0.1 }, .rounding = 0.05 };
	default: break;
	}
	static const float corners[24] = { -0.6F, -0.6F, -0.02F, 0.6F, -0.6F, -0.02F, 0.6F, 0.6F, -0.02F, -0.6F, 0.6F, -0.02F,
		-0.5F, -0.5F, 0.02F, 0.5F, -0.5F, 0.02F, 0.5F, 0.5F, 0.02F, -0.5F, 0.5F, 0.02F };
	*hull = fixture_hull_mesh(context, corners, 8);
	return fixture_hull(*hull);
}

static v3d into(const carom_pose *pose, v3d p)
{
	const m3d rotation = m3d_from_quat(pose->orientation);
	return m3d_tmul(&rotation, v3d_sub(p, fixture_vector(pose->position)));
}

/// The first place of a way through a shape, by samples: outward normal, in the frame of the shape. False: it does not come in.
static bool sample_entry(const cr_convex *convex, v3d from, v3d to, v3d *normal)
{
	v3d unused;
	for (int i = 0; i <= SAMPLES; i++) {
		const v3d p = v3d_mad(from, (double)i / SAMPLES, v3d_sub(to, from));
		if (cr_convex_distance(convex, p, &unused, normal) < 0)
			return i > 0;
	}
	return false;
}

/// Each vertex that came in where the shape looks up, and is below that place, has a contact that leads it over the plane there.
/// Returns how many there are.
static int check_beyond(const stage *s, const carom_shape *shape, const carom_pose *begin, const double *first)
{
	int count = 0;
	const cr_convex convex = cr_convex_of(shape);
	const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(s->world);
	const m3d rotation = m3d_from_quat(s->pose.orientation);
	for (int32_t v = 0; v < VERTICES; v++) {
		const v3d from = into(begin, v3d_from_doubles(first + 3 * v)), to = into(&s->pose, v3d_from_doubles(s->places + 3 * v));
		v3d normal;
		if (!sample_entry(&convex, from, to, &normal) || normal.z < 0.75)
			continue;
		const v3d way = m3d_mul(&rotation, normal);
		int found = 0;
		for (int64_t i = 0; i < view.count; i++) {
			const carom_surface_shape_contact *c = &view.data[i];
			if (c->vertices[1] >= 0 || c->vertices[0] != v)
				continue;
			const double top = v3d_dot(normal, cr_convex_support(&convex, normal)) + convex.rounding;
			CHECK(v3d_dot(fixture_vector(c->normal), way) > 0.49);
			if (to.z < -0.3) { // beyond all of them
				CHECK(v3d_dot(fixture_vector(c->normal), way) > 0.98);
				CHECK_NEAR(c->distance, v3d_dot(normal, to) - top, 0.25 * v3d_length(to));
			}
			CHECK(c->distance < 0);
			found++;
		}
		CHECK_INT(found, 1);
		count++;
	}
	return count;
}

/// At 10 to 160 m/s, 120 steps a second. The solver waits a step, and then puts the cloth back.
static void pass_shape(carom_context *context, int which, double speed, bool moves)
{
	static stage s;
	static double first[3 * VERTICES];
	carom_mesh *hull;
	const carom_shape shape = make_shape(context, which, &hull);
	const double way = speed / 120, above = shape.type == CAROM_BOX ? shape.half_extents[2] + shape.rounding : 0.36;
	uint64_t seed = 3 + (uint64_t)which;
	s.context = context;
	s.world = fixture_world(context, NULL);
	s.mesh = NULL;
	s.pose = fixture_random_pose(&seed, 0.3);
	s.holder = fixture_add(s.world, shape, s.pose, CAROM_KINEMATIC);
	s.sheet = fixture_sheet_mesh(context, CELLS, 0.8);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = fixture_of_mesh(s.sheet);
	def.thickness = THICKNESS;
	def.self_collision = false;
	REQUIRE(carom_world_add_body(s.world, &def, &s.cloth) == CAROM_SUCCESS);
	place_sheet(&s, above + 0.03, 1);
	memcpy(first, s.places, sizeof first);
	const carom_strided there = { first, 0, CAROM_FLOAT64 };
	REQUIRE(carom_world_set_vertices(s.world, s.cloth, &there, &there) == CAROM_SUCCESS);
	fixture_step(s.world);
	carom_pose begin = s.pose;
	if (moves) { // the shape goes to meet the cloth, and turns a little about its axis
		const m3d rotation = m3d_from_quat(s.pose.orientation);
		const v3d up = m3d_mul(&rotation, (v3d){ 0, 0, 1 }), to = v3d_mad(fixture_vector(s.pose.position), 0.02, up);
		s.pose = (carom_pose){ { to.x, to.y, to.z }, quat_mul(fixture_turn(up, 0.01), s.pose.orientation) };
		const carom_motion forth = { begin, s.pose };
		REQUIRE(carom_world_set_motions(s.world, 1, &s.holder, &forth) == CAROM_SUCCESS);
	}
	move_sheet(&s, above + 0.03 - way, 1);
	const int passed = check_beyond(&s, &shape, &begin, first);
	CHECK(passed > 0 || way < 0.6);
	if (moves)
		REQUIRE(carom_world_set_pose(s.world, s.holder, &s.pose) == CAROM_SUCCESS);
	move_sheet(&s, above + 0.03 - way - 0.004, 1);
	CHECK(check_beyond(&s, &shape, &s.pose, first) >= passed * 9 / 10);
	for (int step = 0; step < 3; step++) {
		move_sheet(&s, above + 0.004, 1);
		const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(s.world);
		for (int64_t i = 0; i < view.count; i++)
			CHECK(view.data[i].distance > 0);
	}
	carom_destroy_world(s.world);
	carom_release_mesh(s.sheet);
	if (hull)
		carom_release_mesh(hull);
}

TEST(surface_passing, cloth_beyond_a_shape_goes_back_where_it_came_in)
{
	carom_context *context = fixture_context(1);
	for (int which = 0; which < SHAPES; which++) {
		for (double speed = 10; speed <= 160; speed *= TEST_FEWER > 1 ? 4 : 2) {
			pass_shape(context, which, speed, false);
			pass_shape(context, which, speed, true);
		}
	}
	carom_destroy_context(context);
}

// ---- Threads, snapshots, memory ----

/// Sheets over balls and plates, which the first step lets pass.
static void fill(carom_world *world, void *user)
{
	carom_mesh **meshes = user;
	const int32_t count = meshes[0]->topology.vertex_count;
	fixture_add(world, fixture_of_mesh(meshes[1]), fixture_at(0, 0, 0), CAROM_STATIC);
	fixture_add(world, fixture_of_mesh(meshes[1]), fixture_at(2, 0, 0), CAROM_DEFORMABLE);
	fixture_add(world, fixture_of_mesh(meshes[2]), fixture_at(4, 0, 0), CAROM_STATIC);
	fixture_add(world, fixture_box(0.7, 0.7, 0.02), fixture_at(6, 0, 0), CAROM_STATIC);
	for (int i = 0; i < 4; i++) {
		carom_body_id id;
		carom_body_def def = carom_default_body_def();
		def.kind = CAROM_CLOTH;
		def.shape = fixture_of_mesh(meshes[0]);
		def.thickness = THICKNESS;
		def.pose = fixture_at(2 * i, 0, 0.4);
		REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
		static double places[3 * 2000];
		REQUIRE(count <= 2000);
		for (int32_t v = 0; v < count; v++) {
			const float *p = meshes[0]->topology.vertices + 3 * v;
			places[3 * v] = p[0] + 2 * i;
			places[3 * v + 1] = p[1];
			places[3 * v + 2] = -0.5;
		}
		const carom_strided end = { places, 0, CAROM_FLOAT64 };
		REQUIRE(carom_world_set_vertices(world, id, NULL, &end) == CAROM_SUCCESS);
	}
}

static uint64_t hash_with(int threads)
{
	carom_context *context = fixture_context(threads);
	carom_mesh *meshes[3] = { fixture_sheet_mesh(context, 30, 0.8), fixture_sphere_mesh(context, 0.35, 14),
		fixture_box_mesh(context, 0.7, 0.7, 0.02) };
	carom_world *world = fixture_world(context, NULL);
	carom_snapshot *snapshot;
	fill(world, meshes);
	REQUIRE(carom_create_snapshot(world, &snapshot) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK(carom_world_surface_contacts(world).count > 900 && carom_world_surface_shape_contacts(world).count > 900);
	uint64_t hash = carom_world_hash(world);
	REQUIRE(carom_world_save(world, snapshot) == CAROM_SUCCESS);
	fixture_step(world);
	const uint64_t last = carom_world_hash(world);
	CHECK(carom_world_surface_contacts(world).count > 900 && carom_world_surface_shape_contacts(world).count > 900);
	REQUIRE(carom_world_restore(world, snapshot) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK(carom_world_hash(world) == last);
	hash = hash * 31 + last;
	carom_destroy_snapshot(snapshot);
	carom_destroy_world(world);
	for (int i = 0; i < 3; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
	return hash;
}

TEST(surface_passing, is_alike_for_any_number_of_threads)
{
	const uint64_t hash = hash_with(TEST_LEAST_THREADS);
	CHECK(hash_with(3) == hash);
	CHECK(hash_with(7) == hash);
}

TEST(surface_passing, every_allocation_may_fail)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_mesh *meshes[3] = { fixture_sheet_mesh(context, CELLS, 0.8), fixture_sphere_mesh(context, 0.35, 6),
		fixture_box_mesh(context, 0.7, 0.7, 0.02) };
	CHECK(fixture_fail_each_allocation(&heap, context, NULL, fill, meshes, 4) > 10);
	for (int i = 0; i < 3; i++)
		carom_release_mesh(meshes[i]);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
