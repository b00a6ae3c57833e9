/// Records a world that holds every kind of shape and body, and prints what a replay of it must
/// show, one `name value` a line: tests/cli/calls.sh compares. All poses are given, nothing falls.
///
///     carom_record_calls FILE [FILE2]
///
/// FILE gets the world, with all that may happen to bodies. FILE2 gets two recordings, one behind
/// the other: of a world whose up is y, and of another one.
#include <carom/carom.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	STEPS = 40,
	ADDED = 10,
	REMOVED = 30,
	RESHAPED = 15,
	ASLEEP = 12,
	TORN = 16,
	SHIFTED = 20,
	POURED = 8,
	CELLS = 8,
	EDGES = 8
};

typedef struct sums {
	long long contacts, surface_contacts, sphere_contacts, sphere_pairs, impacts;
} sums;

static carom_context *context;
static carom_world *world;

static void check(carom_result result)
{
	if (result == CAROM_SUCCESS)
		return;
	fprintf(stderr, "%s\n", carom_error_text(context));
	exit(1);
}

static bool write_file(const void *bytes, size_t count, void *user) { return fwrite(bytes, 1, count, user) == count; }

static carom_pose at(double x, double y, double z) { return (carom_pose){ { x, y, z }, { 0, 0, 0, 1 } }; }

// ---- Meshes ----

static carom_mesh *make_mesh(const float *vertices, int32_t vertex_count, const int32_t *triangles, int32_t triangle_count)
{
	carom_mesh *mesh;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	check(carom_create_mesh(context, &def, NULL, &mesh));
	return mesh;
}

/// A wedge, so that mirroring it shows.
static carom_mesh *make_wedge(void)
{
	const float v[18] = { -0.5f, -0.5f, -0.3f, 0.5f, -0.5f, -0.3f, 0.5f, 0.5f, -0.3f, -0.5f, 0.5f, -0.3f, -0.5f, -0.5f, 0.3f,
		-0.5f, 0.5f, 0.3f };
	const int32_t t[24] = { 0, 2, 1, 0, 3, 2, 0, 1, 4, 3, 5, 2, 0, 4, 5, 0, 5, 3, 1, 2, 5, 1, 5, 4 };
	return make_mesh(v, 6, t, 8);
}

static carom_mesh *make_cube(void)
{
	float v[24];
	const int32_t t[36] = { 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4, 2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7,
		1, 7, 5 };
	for (int i = 0; i < 24; i++)
		v[i] = i / 3 >> i % 3 & 1 ? 0.4f : -0.4f;
	return make_mesh(v, 8, t, 12);
}

/// A sheet in x and y; without: cells that are left out at its end.
static carom_mesh *make_sheet(int without)
{
	float v[3 * (CELLS + 1) * (CELLS + 1)];
	int32_t t[6 * CELLS * CELLS];
	int count = 0;
	for (int i = 0; i < (CELLS + 1) * (CELLS + 1); i++) {
		v[3 * i] = (float)(i % (CELLS + 1)) / CELLS - 0.5f;
		v[3 * i + 1] = (float)(i / (CELLS + 1)) / CELLS - 0.5f;
		v[3 * i + 2] = 0;
	}
	for (int i = 0; i < CELLS * CELLS - without; i++) {
		const int32_t a = i / CELLS * (CELLS + 1) + i % CELLS, b = a + 1, c = a + CELLS + 1, d = c + 1;
		const int32_t both[6] = { a, b, d, a, d, c };
		for (int k = 0; k < 6; k++)
			t[count++] = both[k];
	}
	return make_mesh(v, (CELLS + 1) * (CELLS + 1), t, count / 3);
}

static carom_mesh *make_field(void)
{
	float heights[EDGES * EDGES];
	carom_mesh *mesh;
	for (int i = 0; i < EDGES * EDGES; i++)
		heights[i] = (float)(0.3 * sin(0.9 * (i % EDGES)) * cos(0.7 * (i / EDGES)));
	heights[3 * EDGES + 3] = NAN;
	check(carom_create_height_field(context, EDGES, EDGES, heights, (const double[2]){ 0.5, 0.5 }, 0.2, &mesh));
	return mesh;
}

// ---- Bodies ----

static carom_body_id add(carom_shape shape, carom_pose pose, carom_body_kind kind)
{
	static uint64_t number = 100;
	carom_body_id id;
	carom_body_def def = carom_default_body_def();
	def.shape = shape;
	def.pose = pose;
	def.kind = kind;
	def.user_data = number++;
	check(carom_world_add_body(world, &def, &id));
	return id;
}

static carom_body_id add_soft(const carom_mesh *mesh, carom_pose pose, carom_body_kind kind)
{
	carom_body_id id;
	carom_body_def def = carom_default_body_def();
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	def.pose = pose;
	def.kind = kind;
	def.thickness = 0.05;
	check(carom_world_add_body(world, &def, &id));
	return id;
}

/// One of each shape in a row, on the floor and a little in it.
static int add_shapes(const carom_mesh *wedge, const carom_mesh *mirrored, const carom_mesh *hull)
{
	const carom_shape shapes[] = {
		{ .type = CAROM_SPHERE, .radius = 0.4 },
		{ .type = CAROM_BOX, .half_extents = { 0.4, 0.3, 0.4 } },
		{ .type = CAROM_BOX, .half_extents = { 0.3, 0.3, 0.3 }, .rounding = 0.1 },
		{ .type = CAROM_CAPSULE, .radius = 0.25, .half_length = 0.15 },
		{ .type = CAROM_CYLINDER, .radius = 0.4, .half_length = 0.4 },
		{ .type = CAROM_CONE, .radius = 0.4, .half_length = 0.4 },
		{ .type = CAROM_ELLIPSOID, .half_extents = { 0.5, 0.3, 0.4 } },
		{ .type = CAROM_MESH, .mesh = wedge },
		{ .type = CAROM_MESH, .mesh = mirrored },
		{ .type = CAROM_HULL, .mesh = hull },
	};
	const int count = sizeof shapes / sizeof *shapes;
	for (int i = 0; i < count; i++)
		add(shapes[i], at(1.2 * i, 0, shapes[i].type == CAROM_MESH ? 0.29 : 0.39), CAROM_DYNAMIC);
	return count;
}

static carom_body_id add_hammer(carom_part parts[2])
{
	carom_body_id id;
	carom_body_def def = carom_default_body_def();
	parts[0] = (carom_part){ .shape = { .type = CAROM_BOX, .half_extents = { 0.4, 0.15, 0.15 } }, .pose = at(0, 0, 0.6) };
	parts[1] = (carom_part){ .shape = { .type = CAROM_CYLINDER, .radius = 0.08, .half_length = 0.5 }, .pose = at(0, 0, 0) };
	def.parts = parts;
	def.part_count = 2;
	def.pose = at(0, 2, 0.49);
	check(carom_world_add_body(world, &def, &id));
	return id;
}

static void set_spheres(carom_body_id id, int32_t count, double radius)
{
	double centres[3 * 64], radii[64];
	for (int32_t i = 0; i < count; i++) {
		centres[3 * i] = 6 + 0.19 * (i % 4);
		centres[3 * i + 1] = 2 + 0.19 * (i / 4 % 4);
		centres[3 * i + 2] = 0.095 + 0.19 * (i / 16);
		radii[i] = radius;
	}
	const carom_strided places = { centres, 0, CAROM_FLOAT64 }, sizes = { radii, 0, CAROM_FLOAT64 };
	check(carom_world_set_spheres(world, id, count, &places, &sizes));
}

static carom_body_id add_spheres(void)
{
	const double centre[3] = { 6, 2, 0.095 }, radius = 0.1;
	carom_body_id id;
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_GRANULAR;
	def.sphere_count = 1;
	def.centres = (carom_strided){ centre, 0, CAROM_FLOAT64 };
	def.radii = (carom_strided){ &radius, 0, CAROM_FLOAT64 };
	check(carom_world_add_body(world, &def, &id));
	return id;
}

/// Places of the sheet: it sinks onto the box below it, and hangs at its sides.
static void move_sheet(carom_body_id id, int step, double shift)
{
	double v[3 * (CELLS + 1) * (CELLS + 1)];
	for (int i = 0; i < (CELLS + 1) * (CELLS + 1); i++) {
		const double x = 1.6 * ((double)(i % (CELLS + 1)) / CELLS - 0.5), y = 1.6 * ((double)(i / (CELLS + 1)) / CELLS - 0.5);
		const double away = fmax(fmax(fabs(x), fabs(y)) - 0.4, 0);
		v[3 * i] = 3 + x + shift;
		v[3 * i + 1] = 2 + y;
		v[3 * i + 2] = fmax(1.1 - 0.02 * step, 0.82) - away;
	}
	const carom_strided places = { v, 0, CAROM_FLOAT64 };
	check(carom_world_set_vertices(world, id, NULL, &places));
}

// ---- Steps ----

static void take_step(sums *s)
{
	check(carom_world_step(world));
	const carom_stats stats = carom_world_stats(world);
	s->contacts += stats.contacts;
	s->surface_contacts += stats.surface_contacts;
	s->sphere_contacts += stats.sphere_contacts;
	s->sphere_pairs += stats.sphere_pairs;
	s->impacts += stats.impacts + stats.body_impacts + stats.shape_impacts;
}

typedef struct stage {
	carom_mesh *wedge, *mirrored, *hull, *cube, *sheet, *torn, *field;
	carom_body_id first, hammer, platform, cloth, solid, spheres, added;
	carom_part parts[2];
} stage;

static stage set_up(void)
{
	stage s = {
		.wedge = make_wedge(), .cube = make_cube(), .sheet = make_sheet(0), .torn = make_sheet(9), .field = make_field()
	};
	const float corners[18] = { 0, 0, 0.5f, 0, 0, -0.5f, 0.5f, 0, 0, -0.5f, 0, 0, 0, 0.5f, 0, 0, -0.5f, 0 };
	const carom_strided points = { corners, 0, CAROM_FLOAT32 };
	check(carom_create_hull(context, &points, 6, &s.hull));
	check(carom_create_scaled_mesh(context, s.wedge, (const double[3]){ -1, 0.6, 1 }, &s.mirrored));
	add((carom_shape){ .type = CAROM_PLANE }, at(0, 0, 0), CAROM_STATIC);
	add((carom_shape){ .type = CAROM_MESH, .mesh = s.field }, at(0, 4, 0.4), CAROM_STATIC);
	s.first = (carom_body_id){ 3, 1 };
	add_shapes(s.wedge, s.mirrored, s.hull);
	s.hammer = add_hammer(s.parts);
	s.platform = add((carom_shape){ .type = CAROM_BOX, .half_extents = { 0.4, 0.4, 0.4 } }, at(3, 2, 0.4), CAROM_KINEMATIC);
	s.cloth = add_soft(s.sheet, at(3, 2, 1.1), CAROM_CLOTH);
	s.solid = add_soft(s.cube, at(8, 2, 0.39), CAROM_DEFORMABLE);
	s.spheres = add_spheres();
	return s;
}

/// What the program does before a step. Returns how much the origin was moved.
static double change(stage *s, int step, double shift)
{
	const carom_shape larger = { .type = CAROM_SPHERE, .radius = 0.5 };
	if (step == ADDED)
		s->added = add((carom_shape){ .type = CAROM_BOX, .half_extents = { 0.2, 0.2, 0.2 } }, at(0, 0, 0.95), CAROM_DYNAMIC);
	if (step == REMOVED) {
		check(carom_world_remove_body(world, s->added));
		check(carom_world_remove_body(world, s->solid));
	}
	if (step == RESHAPED) {
		check(carom_world_set_shape(world, s->first, &larger));
		s->parts[0].pose.position.x = 0.2;
		check(carom_world_set_parts(world, s->hammer, s->parts, 2));
	}
	if (step == POURED)
		set_spheres(s->spheres, 32, 0.1);
	if (step == TORN)
		check(carom_world_set_mesh(world, s->cloth, s->torn, NULL, NULL));
	if (step == SHIFTED) {
		shift = 1000;
		check(carom_world_shift_origin(world, (const double[3]){ 1000, 0, 0 }));
	}
	move_sheet(s->cloth, step, shift);
	if (step == ASLEEP) {
		const carom_body_id box = { 4, 1 };
		check(carom_world_set_asleep(world, 1, &box, true));
	}
	return shift;
}

static void tear_down(stage *s)
{
	carom_mesh *const meshes[] = { s->wedge, s->mirrored, s->hull, s->cube, s->sheet, s->torn, s->field };
	for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
		carom_release_mesh(meshes[i]);
}

static void record_all(const char *path)
{
	sums all = { 0 };
	double shift = 0;
	FILE *file = fopen(path, "wb");
	if (!file)
		exit(2);
	check(carom_create_world(context, NULL, &world));
	stage s = set_up();
	check(carom_world_record(world, write_file, file));
	for (int step = 0; step < STEPS; step++) {
		shift = change(&s, step, shift);
		take_step(&all);
	}
	check(carom_world_record(world, NULL, NULL));
	printf("hash %016llx\n", (unsigned long long)carom_world_hash(world));
	carom_destroy_world(world);
	tear_down(&s);
	fclose(file);
	// Two at rest, ten in a row, hammer, platform; one added; a sphere and a hammer of other shapes. Two sheets and a solid.
	printf("steps %d\nbodies %d\ndeforming %d\nspheres %d\n", STEPS, 14 + 1 + 2, 3, 32);
	printf("contacts %lld\nsurface_contacts %lld\nsphere_contacts %lld\nsphere_pairs %lld\nimpacts %lld\n", all.contacts,
		all.surface_contacts, all.sphere_contacts, all.sphere_pairs, all.impacts);
}

/// A world of a box on a wide floor, in which y is up; and one of three balls.
static void record_two(const char *path)
{
	sums none = { 0 };
	FILE *file = fopen(path, "wb");
	if (!file)
		exit(2);
	for (int k = 0; k < 2; k++) {
		check(carom_create_world(context, NULL, &world));
		if (k == 0) {
			add((carom_shape){ .type = CAROM_BOX, .half_extents = { 50, 1, 50 } }, at(0, -1, 0), CAROM_STATIC);
			add((carom_shape){ .type = CAROM_BOX, .half_extents = { 0.5, 0.5, 0.5 } }, at(0, 0.49, 0), CAROM_DYNAMIC);
		}
		for (int i = 0; i < 3 && k == 1; i++)
			add((carom_shape){ .type = CAROM_SPHERE, .radius = 0.5 }, at(0.9 * i, 0, 0), CAROM_DYNAMIC);
		check(carom_world_record(world, write_file, file));
		for (int step = 0; step < 5 + k; step++)
			take_step(&none);
		carom_destroy_world(world); // ends the recording
	}
	fclose(file);
}

int main(int argc, char **argv)
{
	if (argc < 2 || carom_create_context(NULL, &context) != CAROM_SUCCESS)
		return 2;
	record_all(argv[1]);
	if (argc > 2)
		record_two(argv[2]);
	carom_destroy_context(context);
	return 0;
}
