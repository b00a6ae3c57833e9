// What contacts are for: stacks stand, bodies that are dropped come to rest, and what slides goes on, whatever the ground is made of
// and however finely the bodies are cut into triangles. Dynamics by the simulation's solver.
#include "manifold_fixture.h"
#include "tiles_fixture.h"
#include "sim/rigid/dynamics.h"

#include <math.h>

enum { MAX_BODIES = 16, MAX_CONTACTS = 4096 };

/// Bodies in a world and in the solver; body 0 of both is the ground.
typedef struct yard {
	carom_context *context;
	carom_world *world;
	sim_dynamics *dynamics;
	carom_body_id id[MAX_BODIES];
	int count;
	double friction;
} yard;

static const carom_vec3 still = { 0, 0, 0 };

/// slop: penetration that the solver leaves alone, metres.
static void open_yard_with(yard *y, double friction, double slop)
{
	const sim_solver_settings settings = { .iterations = 50,
		.small_step = 1.0 / 240,
		.over_relaxation = 1,
		.error_reduction = 0.2,
		.softness = 1e-9,
		.slop = slop,
		.max_correcting_speed = 2,
		.restitution_speed = 0.1,
		.max_angular_speed = INFINITY };
	*y = (yard){ .context = fixture_context(1), .friction = friction };
	y->world = fixture_world(y->context, NULL);
	y->dynamics = sim_create_dynamics(&settings, (carom_vec3){ 0, 0, -9.81 });
	REQUIRE(y->dynamics != NULL);
}

static void open_yard(yard *y, double friction) { open_yard_with(y, friction, 0.001); }

static void close_yard(yard *y)
{
	sim_destroy_dynamics(y->dynamics);
	carom_destroy_world(y->world);
	carom_destroy_context(y->context);
}

/// Add a cube that moves, with so many times its mass at 1 kg/m3, or a ground (half 0).
static void put_heavy(yard *y, carom_shape shape, carom_pose pose, double half, carom_vec3 velocity, double times)
{
	sim_error error = { "" };
	const carom_shape box = fixture_box(half, half, half);
	sim_dynamic_body body = {
		.kind = half > 0 ? CAROM_DYNAMIC : CAROM_STATIC, .pose = pose, .velocity = velocity, .friction = y->friction
	};
	if (half > 0)
		REQUIRE(carom_shape_get_mass(carom_world_context(y->world), &box, &body.mass) == CAROM_SUCCESS);
	body.mass.mass *= times;
	for (int i = 0; i < 6; i++)
		body.mass.inertia[i] *= times;
	y->id[y->count++] = fixture_add(y->world, shape, pose, body.kind);
	REQUIRE(sim_dynamics_add_body(y->dynamics, &body, &error));
}

static void put(yard *y, carom_shape shape, carom_pose pose, double half, carom_vec3 velocity)
{
	put_heavy(y, shape, pose, half, velocity, 1);
}

/// The number of a body in the solver: one of several parts takes more numbers of the world.
static int32_t number_of(const yard *y, carom_body_id id)
{
	int32_t number = 0;
	while (number < y->count && y->id[number].index1 != id.index1)
		number++;
	REQUIRE(number < y->count);
	return number;
}

/// Find the contacts, solve, move.
static void step_yard(yard *y)
{
	static sim_dynamic_contact contacts[MAX_CONTACTS];
	carom_pose poses[MAX_BODIES];
	for (int i = 0; i < y->count; i++)
		poses[i] = sim_dynamics_get_pose(y->dynamics, i);
	REQUIRE(carom_world_set_poses(y->world, y->count, y->id, poses) == CAROM_SUCCESS);
	fixture_step(y->world);
	const carom_contact_view c = carom_world_contacts(y->world);
	int32_t lost = -1;
	REQUIRE(c.count <= MAX_CONTACTS);
	for (int i = 0; i < c.count; i++) {
		const carom_contact *from = &c.data[i];
		contacts[i] = (sim_dynamic_contact){ .body_a = number_of(y, from->body_a),
			.body_b = number_of(y, from->body_b),
			.point = { from->point[0], from->point[1], from->point[2] },
			.normal = { from->normal[0], from->normal[1], from->normal[2] },
			.depth = from->depth,
			.force = { from->impulse[0], from->impulse[1], from->impulse[2] } };
	}
	REQUIRE(sim_dynamics_step(y->dynamics, 1.0 / 60, contacts, c.count, &lost));
	for (int i = 0; i < c.count; i++)
		REQUIRE(carom_world_set_impulse(y->world, i, contacts[i].force) == CAROM_SUCCESS);
}

/// How far bodies have gone sideways, but for what is meant, from where they began; the lowest and the highest; the fastest.
typedef struct outcome {
	double drift, lowest, highest, fastest;
} outcome;

/// Run and look: the fastest is that of the last second. Bodies are meant to go way along x.
static outcome run_yard(yard *y, int steps, double way)
{
	carom_vec3 start[MAX_BODIES] = { 0 };
	outcome o = { 0, INFINITY, -INFINITY, 0 };
	for (int i = 1; i < y->count; i++)
		start[i] = sim_dynamics_get_centre(y->dynamics, i);
	for (int step = 0; step < steps; step++) {
		step_yard(y);
		for (int i = 1; i < y->count && step >= steps - 60; i++) {
			const carom_vec3 v = sim_dynamics_get_velocity(y->dynamics, i),
							 w = sim_dynamics_get_angular_velocity(y->dynamics, i);
			o.fastest = fmax(o.fastest, sqrt(v.x * v.x + v.y * v.y + v.z * v.z) + 0.5 * sqrt(w.x * w.x + w.y * w.y + w.z * w.z));
		}
	}
	for (int i = 1; i < y->count; i++) {
		const carom_vec3 p = sim_dynamics_get_centre(y->dynamics, i);
		o.drift = fmax(o.drift, hypot(p.x - start[i].x - way, p.y - start[i].y));
		o.lowest = fmin(o.lowest, p.z);
		o.highest = fmax(o.highest, p.z);
	}
	return o;
}

/// A cube of 12 * cells^2 triangles, or a box (0 cells: then *mesh is NULL).
static carom_shape cube_of(const yard *y, int cells, double half, carom_mesh **mesh)
{
	*mesh = cells > 0 ? manifold_cube(y->context, cells, half) : NULL;
	return *mesh ? fixture_of_mesh(*mesh) : fixture_box(half, half, half);
}

static void check_stack(int cells, int ground_cells, int height, bool shifted, double seconds)
{
	yard y;
	carom_mesh *cube, *ground;
	open_yard(&y, 0.6);
	const carom_shape crate = cube_of(&y, cells, 0.5, &cube), slab = cube_of(&y, ground_cells, 5, &ground);
	put(&y, slab, fixture_at(0, 0, -5), 0, still);
	for (int i = 0; i < height; i++)
		put(&y, crate, fixture_at(shifted ? 0.1 * (i % 2) : 0, shifted ? 0.07 * (i % 3) : 0, 0.5 + i), 0.5, still);
	carom_release_mesh(cube);
	carom_release_mesh(ground);
	const outcome o = run_yard(&y, (int)(60 * seconds), 0);
	CHECK(o.drift < 0.1);
	CHECK_NEAR(o.lowest, 0.5, 0.02);
	CHECK_NEAR(o.highest, height - 0.5, 0.01 * height);
	close_yard(&y);
}

TEST(stacking, five_crates_stand)
{
	for (int cells = 0; cells <= 4; cells = cells ? 2 * cells : 1) {
		for (int shifted = 0; shifted < 2; shifted++) {
			check_stack(cells, 1, 5, shifted, 10);
			check_stack(cells, 0, 5, shifted, 10);
		}
	}
}

TEST(stacking, crates_of_3072_triangles_stand) { check_stack(16, 1, 5, true, 4); }

TEST(stacking, ten_crates_stand)
{
	for (int cells = 0; cells <= 4; cells = cells ? 2 * cells : 1)
		check_stack(cells, 1, 10, false, 10);
}

/// Warm starts and small steps: half a minute of a tower that fell after ten seconds without them.
TEST(stacking, a_tower_of_fifteen_boxes_stands)
{
	yard y;
	open_yard(&y, 0.5);
	put(&y, fixture_box(5, 5, 5), fixture_at(0, 0, -5), 0, still);
	for (int i = 0; i < 15; i++)
		put(&y, fixture_box(0.5, 0.5, 0.5), fixture_at(0, 0, 0.5 + i), 0.5, still);
	const outcome o = run_yard(&y, 1800, 0);
	CHECK(o.drift < 0.05);
	CHECK(o.fastest < 0.05);
	CHECK_NEAR(o.lowest, 0.5, 0.005);
	CHECK_NEAR(o.highest, 14.5, 0.05);
	close_yard(&y);
}

/// The light ones hand on the weight of the heavy one: with as many iterations as towers of equal boxes need they were pressed
/// aside within a second or two.
TEST(stacking, boxes_carry_one_of_a_hundred_times_their_mass)
{
	static const double masses[][6] = { { 1, 100 }, { 1, 1, 100 }, { 1, 10, 100 }, { 1, 100, 1 }, { 100, 1, 1, 100 } };
	for (int n = 0; n < 10; n++) {
		const double *mass = masses[n / 2], shift = n % 2 ? 0.1 : 0;
		yard y;
		int height = 0;
		open_yard(&y, 0.5);
		put(&y, fixture_box(5, 5, 5), fixture_at(0, 0, -5), 0, still);
		for (; height < 6 && mass[height] > 0; height++)
			put_heavy(
				&y, fixture_box(0.5, 0.5, 0.5), fixture_at(shift * (height % 2), 0, 0.5 + height), 0.5, still, mass[height]);
		const outcome o = run_yard(&y, 600, 0);
		CHECK(o.drift < 0.02);
		CHECK(o.fastest < 0.05);
		CHECK_NEAR(o.lowest, 0.5, 0.005);
		CHECK_NEAR(o.highest, height - 0.5, 0.01 * height);
		close_yard(&y);
	}
}

enum { GROUNDS = 4 };

/// Ground in z = 0: open floors of 2 and 800 triangles, a height field, a slab. The mesh is the caller's.
static carom_mesh *ground_of(const yard *y, int kind)
{
	static const float heights[21 * 21];
	carom_mesh *mesh = NULL;
	if (kind == 2)
		REQUIRE(carom_create_height_field(y->context, 21, 21, heights, (double[2]){ 1, 1 }, 1, &mesh) == CAROM_SUCCESS);
	else if (kind == 3)
		mesh = fixture_box_mesh(y->context, 10, 10, 0.5);
	else
		mesh = manifold_floor(y->context, kind == 0 ? 1 : 20, 20, CAROM_SIDES_AUTO);
	return mesh;
}

static carom_pose ground_pose(int kind) { return kind == 2 ? fixture_at(-10, -10, 0) : fixture_at(0, 0, kind == 3 ? -0.5 : 0); }

TEST(stacking, dropped_cubes_come_to_rest)
{
	for (int kind = 0; kind < GROUNDS; kind++) {
		for (int cells = 0; cells <= 4; cells = cells ? 4 * cells : 1) {
			yard y;
			carom_mesh *mesh, *ground;
			open_yard(&y, 0.6);
			ground = ground_of(&y, kind);
			put(&y, fixture_of_mesh(ground), ground_pose(kind), 0, still);
			const carom_shape cube = cube_of(&y, cells, 0.5, &mesh);
			for (int i = 0; i < 4; i++) {
				const carom_quat turned = fixture_turn((v3d){ 1, 2, 0.3 }, 0.6);
				put(&y, cube, (carom_pose){ { 3.13 * (i % 2) + 1.3, 2.7 * (i / 2) - 4.2, 1.5 }, turned }, 0.5, still);
			}
			carom_release_mesh(mesh);
			carom_release_mesh(ground);
			const outcome o = run_yard(&y, 600, 0);
			CHECK(o.fastest < 0.01);
			CHECK_NEAR(o.lowest, 0.5, 0.01);
			CHECK_NEAR(o.highest, 0.5, 0.01);
			close_yard(&y);
		}
	}
}

/// Nothing catches: 6 m over the edges of triangles without friction.
TEST(stacking, what_slides_keeps_its_speed)
{
	for (int kind = 0; kind < GROUNDS; kind++) {
		for (int cells = 0; cells <= 4; cells = cells ? 4 * cells : 1) {
			yard y;
			carom_mesh *mesh, *ground;
			open_yard(&y, 0);
			ground = ground_of(&y, kind);
			put(&y, fixture_of_mesh(ground), ground_pose(kind), 0, still);
			put(&y, cube_of(&y, cells, 0.1, &mesh), fixture_at(-3.04, 0.03, 0.0999), 0.1, (carom_vec3){ 3, 0, 0 });
			carom_release_mesh(mesh);
			carom_release_mesh(ground);
			const outcome o = run_yard(&y, 120, 6);
			CHECK(o.drift < 0.018);
			CHECK_NEAR(sim_dynamics_get_velocity(y.dynamics, 1).x, 3, 0.009);
			CHECK_NEAR(o.lowest, 0.1, 0.002);
			close_yard(&y);
		}
	}
}

/// A floor of tiles, one body, with bodies ahead of time by so many metres, and a limit of contacts for two bodies.
static void put_tiles(yard *y, tile_kind kind, double raised, double ahead, int32_t limit)
{
	carom_part parts[TILES];
	carom_mesh *mesh;
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = ahead;
	carom_destroy_world(y->world);
	y->world = fixture_world(y->context, &def);
	REQUIRE(carom_world_set_body_pairs(y->world, true, limit) == CAROM_SUCCESS);
	tiles_lay(tiles_make_tile(y->context, kind, &mesh), raised, parts);
	const sim_dynamic_body body = { .kind = CAROM_STATIC, .pose = carom_pose_identity(), .friction = y->friction };
	sim_error error = { "" };
	REQUIRE(sim_dynamics_add_body(y->dynamics, &body, &error));
	y->id[y->count++] = tiles_add(y->world, parts, TILES, CAROM_STATIC);
	carom_release_mesh(mesh);
}

/// What goes at 3 m/s over tiles, for 5.4 m where nothing stops it. It begins at (-2.7, y).
static outcome slide_over_tiles(int slider, tile_kind kind, double ahead, double raised, double at_y, double *speed)
{
	yard y;
	carom_mesh *mesh;
	open_yard(&y, 0);
	put_tiles(&y, kind, raised, ahead, 0);
	put(&y, tiles_make_slider(y.context, slider, &mesh), fixture_at(-2.7, at_y, 0.0999), 0.1, (carom_vec3){ 3, 0, 0 });
	carom_release_mesh(mesh);
	const outcome o = run_yard(&y, 108, 5.4);
	*speed = sim_dynamics_get_velocity(y.dynamics, 1).x;
	close_yard(&y);
	return o;
}

/// Along one row of tiles and over both.
TEST(stacking, what_slides_over_tiles_keeps_its_speed)
{
	static const double ahead[] = { 0, 0.02, 0.2 };
	for (int i = 0; i < TILE_KINDS * SLIDERS * 3 * 2; i++) {
		const int kind = i % TILE_KINDS, slider = i / TILE_KINDS % SLIDERS, rest = i / TILE_KINDS / SLIDERS;
		double speed;
		const outcome o = slide_over_tiles(slider, (tile_kind)kind, ahead[rest / 2], 0, rest % 2 ? 0.03 : 0.31, &speed);
		CHECK(o.drift < 0.0162);
		CHECK_NEAR(speed, 3, 0.009);
		// Without contacts ahead a side whose depth rounds to nothing falls for a step, by 2.7 mm and what that turns.
		const double fall = ahead[rest / 2] > 0 ? 0.002 : 0.004;
		CHECK_NEAR(o.lowest, 0.1, fall);
		CHECK_NEAR(o.highest, 0.1, fall);
	}
}

/// A table of five boxes (0.4 x 0.4, legs of 0.2), or a dumbbell that lies.
static int32_t make_compound(bool table, carom_part parts[5])
{
	if (table) {
		parts[0] = (carom_part){ fixture_box(0.2, 0.2, 0.02), fixture_at(0, 0, 0.08), 0 };
		for (int i = 0; i < 4; i++)
			parts[1 + i] =
				(carom_part){ fixture_box(0.02, 0.02, 0.1), fixture_at(i & 1 ? 0.18 : -0.18, i & 2 ? 0.18 : -0.18, -0.04), 0 };
		return 5;
	}
	const carom_pose lying = { { 0, 0, 0 }, fixture_turn((v3d){ 0, 1, 0 }, FIXTURE_PI / 2) };
	for (int i = 0; i < 2; i++)
		parts[i] = (carom_part){ fixture_cylinder(0.1, 0.05), { { i ? 0.2 : -0.2, 0, 0.0 }, lying.orientation }, 0 };
	parts[2] = (carom_part){ fixture_capsule(0.03, 0.2), lying, 0 };
	return 3;
}

/// Add a body of parts that moves. What it weighs is told about the middle of its mass, where the solver has it.
static void put_compound(yard *y, bool table, double z)
{
	carom_part parts[5];
	sim_error error = { "" };
	const int32_t count = make_compound(table, parts);
	sim_dynamic_body body = { .kind = CAROM_DYNAMIC, .pose = fixture_at(0.05, 0.02, z), .friction = y->friction };
	REQUIRE(carom_parts_get_mass(carom_world_context(y->world), parts, count, NULL, &body.mass) == CAROM_SUCCESS);
	y->id[y->count++] = tiles_add(y->world, parts, count, CAROM_DYNAMIC);
	REQUIRE(sim_dynamics_add_body(y->dynamics, &body, &error));
}

/// Compounds on tiles, with a limit of contacts for two bodies: how they stand after five seconds. The solver leaves depths up to its slop
/// alone, so these wander. Contacts are told ahead by as much: else a foot whose depth comes to nothing loses them, and falls for a step.
static outcome stand_on_tiles(bool table, int count, tile_kind kind, int32_t limit)
{
	yard y;
	const double slop = 0.001;
	open_yard_with(&y, 0.5, slop);
	put_tiles(&y, kind, 0, slop, limit);
	for (int i = 0; i < count; i++)
		put_compound(&y, table, (table ? 0.14 + 0.24 * i : 0.1) - 0.0005);
	const outcome o = run_yard(&y, 300, 0);
	const carom_body_pair_view pairs = carom_world_body_pairs(y.world);
	CHECK_INT(pairs.count, count);
	for (int32_t i = 0; i < pairs.count; i++)
		CHECK(limit == 0 || pairs.data[i].contact_count <= limit);
	close_yard(&y);
	return o;
}

/// A dumbbell, a table, and three tables on each other stand with 8 and 4 contacts for two bodies as they do with all.
TEST(stacking, compounds_with_few_contacts_stand_on_tiles)
{
	static const int32_t limits[] = { 0, 8, 4 };
	for (int i = 0; i < TILE_SHEET * 3 * 3; i++) {
		const int kind = i % TILE_SHEET, what = i / TILE_SHEET % 3;
		const int32_t limit = limits[i / TILE_SHEET / 3];
		const outcome o = stand_on_tiles(what > 0, what == 2 ? 3 : 1, (tile_kind)kind, limit);
		CHECK(o.drift < 0.005);
		CHECK(o.fastest < (what < 2 ? 1e-6 : limit == 4 ? 0.02 : 0.005));
		CHECK_NEAR(o.lowest, what > 0 ? 0.1995 : 0.0995, 0.0003);
		CHECK_NEAR(o.highest, what == 2 ? 0.679 : o.lowest, 0.001);
	}
}

TEST(stacking, a_raised_tile_stops_what_slides)
{
	for (int i = 0; i < TILE_SHEET * SLIDERS * 2; i++) {
		const int kind = i % TILE_SHEET, slider = i / TILE_SHEET % SLIDERS;
		double speed;
		slide_over_tiles(slider, (tile_kind)kind, i < TILE_SHEET * SLIDERS ? 0 : 0.2, 0.05, 0.03, &speed);
		CHECK(speed < 2.2);
	}
}

/// Steps of nearly half a cube: nothing falls through an open floor.
TEST(stacking, fast_cubes_do_not_fall_through_open_floors)
{
	for (int kind = 0; kind < 2; kind++) {
		for (int i = 0; i < 8; i++) {
			yard y;
			carom_mesh *mesh, *ground;
			open_yard(&y, 0.6);
			ground = ground_of(&y, kind);
			put(&y, fixture_of_mesh(ground), fixture_at(0, 0, 0), 0, still);
			const carom_pose pose = { { 0.7 * i - 2, 1, 0.9 + 0.05 * i }, fixture_turn((v3d){ 1, i, 2 }, 0.4 * i) };
			put(&y, cube_of(&y, i % 3, 0.5, &mesh), pose, 0.5, (carom_vec3){ 0, 0, -28 });
			carom_release_mesh(mesh);
			carom_release_mesh(ground);
			for (int step = 0; step < 240; step++)
				step_yard(&y);
			const carom_vec3 p = sim_dynamics_get_centre(y.dynamics, 1);
			CHECK(p.z > 0.4 || fabs(p.x) > 9.4 || fabs(p.y) > 9.4); // or it was thrown over the border
			close_yard(&y);
		}
	}
}

// ---- A valley of two slopes of 45 degrees ----

enum { VALLEY_PLANES, VALLEY_CLOSED, VALLEY_OPEN, VALLEY_FIELD, VALLEYS };
enum { BOX, CUBE, LUMPY, BALL, DROPPED };

// Metres.
static const double SLOP = 0.0005;

static void put_slope_planes(yard *y)
{
	const double angle = acos(-1.0) / 4;
	for (int side = -1; side <= 1; side += 2) {
		const carom_shape plane = { .type = CAROM_PLANE };
		put(y, plane, (carom_pose){ { 0, 0, 0 }, fixture_turn((v3d){ 0, 1, 0 }, side * angle) }, 0, still);
	}
}

/// z = |x|, 20 wide and long: two rectangles, or with a bottom and ends a solid 2 below the valley.
static carom_mesh *slope_mesh(carom_context *context, bool closed)
{
	static const float profile[5][2] = { { -10, 10 }, { 0, 0 }, { 10, 10 }, { 10, -2 }, { -10, -2 } };
	static const int32_t ends[3][3] = { { 0, 4, 1 }, { 4, 3, 1 }, { 3, 2, 1 } };
	static fixture_soup soup;
	soup = (fixture_soup){ .vertex_count = closed ? 10 : 6 };
	const int corners = closed ? 5 : 3;
	for (int i = 0; i < 2 * corners; i++) {
		const float at[3] = { profile[i % corners][0], i < corners ? -10 : 10, profile[i % corners][1] };
		memcpy(&soup.vertices[3 * i], at, sizeof at);
	}
	for (int i = 0; i < (closed ? 5 : 2); i++) {
		const int32_t a = i, b = (i + 1) % corners;
		const int32_t two[6] = { a, b, b + corners, a, b + corners, a + corners };
		memcpy(&soup.triangles[3 * soup.triangle_count], two, sizeof two);
		soup.triangle_count += 2;
	}
	for (int i = 0; i < 3 && closed; i++) {
		const int32_t two[6] = { ends[i][0], ends[i][1], ends[i][2], ends[i][0] + 5, ends[i][2] + 5, ends[i][1] + 5 };
		memcpy(&soup.triangles[3 * soup.triangle_count], two, sizeof two);
		soup.triangle_count += 2;
	}
	return fixture_mesh(context, &soup);
}

static void put_valley(yard *y, int kind)
{
	static float heights[21 * 41];
	carom_mesh *mesh;
	if (kind == VALLEY_PLANES) {
		put_slope_planes(y);
		return;
	}
	for (int i = 0; i < 21 * 41; i++)
		heights[i] = fabsf(0.5f * (float)(i % 41) - 10);
	if (kind == VALLEY_FIELD)
		REQUIRE(carom_create_height_field(y->context, 41, 21, heights, (double[2]){ 0.5, 1 }, 2, &mesh) == CAROM_SUCCESS);
	else
		mesh = slope_mesh(y->context, kind == VALLEY_CLOSED);
	put(y, fixture_of_mesh(mesh), kind == VALLEY_FIELD ? fixture_at(-10, -10, 0) : fixture_at(0, 0, 0), 0, still);
	carom_release_mesh(mesh);
}

/// What is dropped: a box, a cube of 12 triangles, a concave body of 48, a sphere. The mesh is the caller's.
static carom_shape dropped_shape(const yard *y, int what, carom_mesh **mesh)
{
	*mesh = NULL;
	if (what == LUMPY)
		*mesh = manifold_made_mesh(y->context, "lumpy", 48);
	return what == LUMPY ? fixture_of_mesh(*mesh) : what == BALL ? fixture_sphere(0.5) : cube_of(y, what, 0.5, mesh);
}

static double deepest_of(const yard *y)
{
	const carom_contact_view c = carom_world_contacts(y->world);
	double deepest = 0;
	for (int64_t i = 0; i < c.count; i++)
		deepest = fmax(deepest, c.data[i].depth);
	return deepest;
}

/// A box, a cube and a sphere lie with both slopes: their middle is over the bottom. A concave body lies beside it, on three points: at one
/// place in all valleys. None sinks deeper than what the solver leaves alone, and none trembles.
TEST(stacking, what_is_dropped_into_a_valley_comes_to_rest_in_its_middle)
{
	const double turned = acos(-1.0) / 4 + 0.1;
	for (int kind = 0; kind < VALLEYS; kind++) {
		for (int what = BOX; what < DROPPED; what++) {
			yard y;
			carom_mesh *mesh;
			open_yard_with(&y, 0.2, SLOP);
			put_valley(&y, kind);
			const carom_shape shape = dropped_shape(&y, what, &mesh);
			const int body = y.count;
			put(&y, shape, (carom_pose){ { 0.3, 0.2, 1.6 }, fixture_turn((v3d){ 0, 1, 0.05 }, turned) }, 0.5, still);
			carom_release_mesh(mesh);
			const outcome o = run_yard(&y, 600, 0);
			const carom_vec3 p = sim_dynamics_get_centre(y.dynamics, body);
			CHECK(o.fastest < 0.001);
			CHECK(deepest_of(&y) < SLOP + 1e-4);
			CHECK_NEAR(p.x, what == LUMPY ? 0.195 : 0, what == LUMPY ? 0.01 : 0.001);
			CHECK_NEAR(p.z, what == LUMPY ? 0.546 : sqrt(0.5), what == LUMPY ? 0.01 : 2 * SLOP);
			close_yard(&y);
		}
	}
}

// ---- Spins ----

/// Kinetic energy and that of height of the body 1, joules.
static double energy_of(const yard *y)
{
	return sim_dynamics_kinetic_energy(y->dynamics) +
		9.81 * sim_dynamics_get_mass(y->dynamics, 1).mass * sim_dynamics_get_centre(y->dynamics, 1).z;
}

/// A dumbbell and a table fall on the floor while they spin at about 10 and 60 rad/s: no energy comes from that, and the
/// table comes to rest.
TEST(stacking, what_falls_while_it_spins_gains_no_energy)
{
	for (int i = 0; i < 12; i++) {
		yard y;
		carom_mesh *floor;
		open_yard_with(&y, 0.5, 0.001);
		put(&y, cube_of(&y, 1, 50, &floor), fixture_at(0, 0, -50), 0, still);
		carom_release_mesh(floor);
		put_compound(&y, i % 2, 0.6);
		const carom_mass mass = sim_dynamics_get_mass(y.dynamics, 1);
		const double size = mass.inertia[2] * (i < 6 ? 10 : 60), turn = 0.9 * i;
		sim_dynamics_kick(y.dynamics, 1, still, (carom_vec3){ size * cos(turn), size * sin(turn), 0.3 * size });
		const double start = energy_of(&y);
		double most = 0;
		for (int step = 0; step < 480; step++) {
			step_yard(&y);
			most = fmax(most, energy_of(&y));
		}
		// What the blows push apart again, at up to 2 m/s, may be a little more than what they took.
		CHECK(most < 1.01 * start);
		CHECK(i % 2 == 0 || run_yard(&y, 60, 0).fastest < 0.001); // a dumbbell may roll on
		close_yard(&y);
	}
}
