// Pictures of worlds against what geometry says: silhouettes and shadows at computed pixels, framing, smooth normals, contact
// marks, the same picture for any number of threads, and options that cannot be used.
#include "view/renderer.h"
#include "view/view.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 200 };

typedef struct fixture {
	carom_context *context;
	carom_world *world;
	carom_body_id ids[128];
	view_look looks[128];
	int count;
} fixture;

static fixture make_fixture(void)
{
	fixture f = { 0 };
	REQUIRE(carom_create_context(NULL, &f.context) == CAROM_SUCCESS);
	REQUIRE(carom_create_world(f.context, NULL, &f.world) == CAROM_SUCCESS);
	return f;
}

static void destroy_fixture(fixture *f)
{
	carom_destroy_world(f->world);
	carom_destroy_context(f->context);
}

static void add_body(fixture *f, carom_shape shape, carom_body_kind kind, carom_vec3 position, view_look look)
{
	carom_body_def def = carom_default_body_def();
	def.shape = shape;
	def.kind = kind;
	def.pose.position = position;
	REQUIRE(f->count < 128);
	REQUIRE(carom_world_add_body(f->world, &def, &f->ids[f->count]) == CAROM_SUCCESS);
	REQUIRE(f->ids[f->count].index1 == (uint32_t)f->count + 1);
	f->looks[f->count++] = look;
}

static void add_plane(fixture *f)
{
	const carom_shape shape = { .type = CAROM_PLANE };
	add_body(f, shape, CAROM_STATIC, (carom_vec3){ 0, 0, 0 }, (view_look){ .color = { 0.5f, 0.5f, 0.5f } });
}

static void add_sphere(fixture *f, double radius, carom_vec3 position)
{
	const carom_shape shape = { .type = CAROM_SPHERE, .radius = radius };
	add_body(f, shape, CAROM_DYNAMIC, position, (view_look){ .color = { 0.8f, 0.02f, 0.02f } });
}

static view_picture_options make_options(const fixture *f)
{
	view_picture_options options = view_default_picture_options();
	options.width = SIZE;
	options.height = SIZE;
	options.looks = f->looks;
	options.look_count = f->count;
	options.sun = (carom_vec3){ 1, 0, 1 };
	return options;
}

static view_image draw(const fixture *f, const view_camera *camera, const view_picture_options *options)
{
	view_image image;
	sim_error error = { "" };
	REQUIRE(view_render_world(f->world, camera, options, &image, &error));
	CHECK_STR(error.text, "");
	REQUIRE(image.width == options->width && image.height == options->height);
	return image;
}

static bool same_pictures(const view_image *a, const view_image *b)
{
	return a->width == b->width && a->height == b->height &&
		memcmp(a->pixels, b->pixels, 3 * (size_t)a->width * (size_t)a->height) == 0;
}

// Straight down on a sphere of radius 1 that lies on the ground.
static const view_camera above = { .position = { 0, 0, 20 }, .target = { 0, 0, 0 }, .up = { 0, 1, 0 }, .field_of_view = 30 };

static fixture make_ball_on_ground(void)
{
	fixture f = make_fixture();
	add_plane(&f);
	add_sphere(&f, 1, (carom_vec3){ 0, 0, 1 });
	return f;
}

// The direction of the ray through the middle of a pixel, by similar triangles and without the renderer's own code.
static carom_vec3 direction_above(int x, int y)
{
	const double slope = tan(15 * 3.14159265358979 / 180) / (SIZE / 2);
	return (carom_vec3){ (x + 0.5 - SIZE / 2) * slope, (SIZE / 2 - y - 0.5) * slope, -1 };
}

// Distance of a point from a line through origin.
static double distance_to_line(carom_vec3 point, carom_vec3 origin, carom_vec3 direction)
{
	return sim_length(sim_cross(sim_subtract(point, origin), direction)) / sim_length(direction);
}

TEST(renderer, silhouette_is_where_geometry_says)
{
	fixture f = make_ball_on_ground();
	const view_picture_options options = make_options(&f);
	view_image image = draw(&f, &above, &options);
	int inside = 0, wrong = 0;
	for (int y = 0; y < SIZE; ++y) {
		for (int x = 0; x < SIZE; ++x) {
			const double distance = distance_to_line((carom_vec3){ 0, 0, 1 }, above.position, direction_above(x, y));
			const uint8_t *pixel = view_image_pixel(&image, x, y);
			const bool red = pixel[0] > 2 * pixel[1];
			inside += distance < 0.9;
			// A pixel is 0.05 wide there: the border itself is a mixture.
			wrong += (distance < 0.95 && !red) || (distance > 1.05 && red);
		}
	}
	CHECK(inside > 900);
	CHECK_INT(wrong, 0);
	view_destroy_image(&image);
	destroy_fixture(&f);
}

TEST(renderer, shadow_is_where_geometry_says)
{
	fixture f = make_ball_on_ground();
	const view_picture_options options = make_options(&f);
	view_image image = draw(&f, &above, &options);
	const int lit = view_image_pixel(&image, 150, 100)[1], dark = view_image_pixel(&image, 78, 100)[1];
	CHECK(lit > dark + 60);
	int in_shadow = 0, wrong = 0;
	for (int y = 0; y < SIZE; ++y) {
		for (int x = 0; x < SIZE; ++x) {
			const carom_vec3 direction = direction_above(x, y), centre = { 0, 0, 1 };
			if (distance_to_line(centre, above.position, direction) < 1.06)
				continue;
			// The line from the point on the ground to the sun passes the ball's centre at this distance.
			const carom_vec3 ground = sim_add(above.position, sim_scale(direction, 20));
			const double distance = distance_to_line(centre, ground, options.sun);
			const bool shadow = 2 * view_image_pixel(&image, x, y)[1] < lit + dark;
			in_shadow += distance < 0.9;
			wrong += (distance < 0.93 && !shadow) || (distance > 1.07 && shadow);
		}
	}
	CHECK(in_shadow > 300);
	CHECK_INT(wrong, 0);
	view_destroy_image(&image);
	destroy_fixture(&f);
}

// Lambert: the ball is brightest where its normal points to the sun, and dark where it points away.
TEST(renderer, light_follows_the_normal)
{
	fixture f = make_ball_on_ground();
	view_picture_options options = make_options(&f);
	options.samples = 1;
	view_image image = draw(&f, &above, &options);
	// Pixels along the ball's middle row, from west to east: the sun stands in the east.
	int last = -1;
	for (int x = SIZE / 2 - 18; x <= SIZE / 2 + 12; x += 6) {
		const int red = view_image_pixel(&image, x, SIZE / 2)[0];
		CHECK(red > last);
		last = red;
	}
	view_destroy_image(&image);
	destroy_fixture(&f);
}

TEST(renderer, empty_world_is_sky)
{
	fixture f = make_fixture();
	const view_picture_options options = make_options(&f);
	const view_camera level = { .position = { 0, 0, 1 }, .target = { 0, 1, 1.2 }, .up = { 0, 0, 1 }, .field_of_view = 60 };
	view_image image = draw(&f, &level, &options);
	const uint8_t *top = view_image_pixel(&image, SIZE / 2, 0), *bottom = view_image_pixel(&image, SIZE / 2, SIZE - 1);
	CHECK(top[2] > top[0] + 20);    // blue above ...
	CHECK(bottom[0] > top[0] + 20); // ... and hazy below
	view_destroy_image(&image);
	destroy_fixture(&f);
}

TEST(renderer, same_picture_for_any_threads)
{
	fixture f = make_fixture();
	add_plane(&f);
	uint64_t state = 5;
	for (int i = 0; i < 40; ++i) {
		const carom_vec3 position = { test_random_double(&state, -4, 4), test_random_double(&state, -4, 4),
			test_random_double(&state, 0, 4) };
		add_sphere(&f, test_random_double(&state, 0.2, 1), position);
	}
	f.looks[0].checker = true;
	const view_contact_mark mark = { { 0, 0, 1 }, { 0, 0, 1 }, 0.1 };
	view_picture_options options = make_options(&f);
	options.contacts = &mark;
	options.contact_count = 1;
	options.caption = "the same";
	options.threads = 1;
	view_image one = draw(&f, &above, &options);
	for (int threads = TEST_SEEKS_RACES ? 3 : 0; threads <= (TEST_SEEKS_RACES ? 3 : 7); threads += 3) {
		options.threads = threads;
		view_image many = draw(&f, &above, &options);
		CHECK(same_pictures(&one, &many));
		view_destroy_image(&many);
	}
	view_destroy_image(&one);
	destroy_fixture(&f);
}

// More samples change pixels at borders and nowhere else.
TEST(renderer, samples_smooth_borders_only)
{
	fixture f = make_ball_on_ground();
	view_picture_options options = make_options(&f);
	options.samples = 1;
	view_image coarse = draw(&f, &above, &options);
	options.samples = 16;
	view_image fine = draw(&f, &above, &options);
	int changed = 0, wrong = 0;
	for (int y = 0; y < SIZE; ++y) {
		for (int x = 0; x < SIZE; ++x) {
			const bool differs = memcmp(view_image_pixel(&coarse, x, y), view_image_pixel(&fine, x, y), 3) != 0;
			const double distance = distance_to_line((carom_vec3){ 0, 0, 1 }, above.position, direction_above(x, y));
			changed += differs;
			wrong += differs && distance < 0.4;
		}
	}
	CHECK(changed > 100);
	CHECK_INT(wrong, 0);
	view_destroy_image(&coarse);
	view_destroy_image(&fine);
	destroy_fixture(&f);
}

TEST(renderer, contacts_are_marked)
{
	fixture f = make_ball_on_ground();
	view_picture_options options = make_options(&f);
	view_image plain = draw(&f, &above, &options);
	// The deepest contact in the open; one as deep but hidden below the ball; one behind the camera.
	const view_contact_mark marks[3] = { { { 3, 2, 0 }, { 0, 0, 1 }, 0.02 }, { { 0, 0.5, 0.02 }, { 0, 0, 1 }, 0.02 },
		{ { 0, 0, 30 }, { 0, 0, 1 }, 0.02 } };
	options.contacts = marks;
	options.contact_count = 3;
	view_image marked = draw(&f, &above, &options);
	const double scale = (SIZE / 2) / (20 * tan(15 * 3.14159265358979 / 180));
	const int x = (int)(SIZE / 2 + 3 * scale), y = (int)(SIZE / 2 - 2 * scale);
	const uint8_t *open = view_image_pixel(&marked, x, y);
	CHECK_INT(open[0], 235);
	CHECK_INT(open[1], 40);
	CHECK_INT(open[2], 60);
	const int hidden_y = (int)(SIZE / 2 - 0.5 * scale * 20 / 19.98);
	const uint8_t *before = view_image_pixel(&plain, SIZE / 2, hidden_y),
				  *hidden = view_image_pixel(&marked, SIZE / 2, hidden_y);
	CHECK(memcmp(before, hidden, 3) != 0);
	CHECK(abs(before[0] - hidden[0]) < 60 && abs(before[2] - hidden[2]) < 60);
	// Away from the marks and the band at the bottom nothing changes.
	CHECK(memcmp(plain.pixels, marked.pixels, 3 * SIZE * 40) == 0);
	view_destroy_image(&plain);
	view_destroy_image(&marked);
	destroy_fixture(&f);
}

TEST(renderer, wrong_options_are_errors)
{
	fixture f = make_ball_on_ground();
	const view_picture_options good = make_options(&f);
	view_picture_options options[4] = { good, good, good, good };
	options[0].samples = 3;
	options[1].width = 0;
	options[2].height = VIEW_MAX_IMAGE_SIZE + 1;
	options[3].threads = -1;
	view_image image;
	for (int i = 0; i < 4; ++i) {
		sim_error error = { "" };
		CHECK(!view_render_world(f.world, &above, &options[i], &image, &error));
		CHECK(image.pixels == NULL);
		CHECK(error.text[0] != 0);
	}
	view_camera cameras[5] = { above, above, above, above, above };
	cameras[0].target = above.position;
	cameras[1].up = (carom_vec3){ 0, 0, 1 };
	cameras[2].field_of_view = 180;
	cameras[3].position.x = NAN;
	cameras[4].up = (carom_vec3){ 0, 0, 0 };
	for (int i = 0; i < 5; ++i) {
		sim_error error = { "" };
		CHECK(!view_render_world(f.world, &cameras[i], &good, &image, &error));
		CHECK(image.pixels == NULL);
		CHECK(strstr(error.text, "camera") != NULL);
	}
	destroy_fixture(&f);
}

// ---- Cameras ----

TEST(renderer, framed_box_fills_the_picture)
{
	uint64_t state = 11;
	const carom_vec3 ups[3] = { { 0, 0, 1 }, { 0, 9.81, 0 }, { -1, 0.2, 0.1 } };
	for (int i = 0; i < 300; ++i) {
		const double offset = test_random_double(&state, -1000, 1000), size = test_random_double(&state, 0.01, 100);
		const carom_aabb box = { { offset, -offset, 0 },
			{ offset + size * test_random_double(&state, 0.01, 1), -offset + size * test_random_double(&state, 0.01, 1),
				size * test_random_double(&state, 0.01, 1) } };
		const int width = 100 + (int)(test_random(&state) % 1000), height = 100 + (int)(test_random(&state) % 1000);
		const view_camera camera = view_frame_box(&box, ups[i % 3], (double)width / height);
		view_frame view;
		REQUIRE(view_make_frame(&camera, width, height, &view, NULL));
		double fullest = 0, lowest = 0;
		for (int corner = 0; corner < 8; ++corner) {
			const carom_vec3 point = { corner & 1 ? box.upper.x : box.lower.x, corner & 2 ? box.upper.y : box.lower.y,
				corner & 4 ? box.upper.z : box.lower.z };
			double x = 0, y = 0;
			REQUIRE(view_project(&view, point, &x, &y));
			fullest = fmax(fullest, fmax(fabs(2 * x / width - 1), fabs(2 * y / height - 1)));
			lowest = fmax(lowest, y / height);
		}
		CHECK(fullest < 0.96);
		CHECK(fullest > 0.85);
		CHECK(lowest < 0.95); // room for the line of text
	}
}

TEST(renderer, point_is_framed)
{
	const carom_aabb box = { { 3, 4, 5 }, { 3, 4, 5 } };
	const view_camera camera = view_frame_box(&box, (carom_vec3){ 0, 0, 1 }, 1.5);
	view_frame view;
	REQUIRE(view_make_frame(&camera, 30, 20, &view, NULL));
	double x = 0, y = 0;
	REQUIRE(view_project(&view, box.lower, &x, &y));
	CHECK_NEAR(x, 15, 1e-9);
	CHECK_NEAR(y, 10, 0.5);
}

// A pixel's ray meets a point that projects to it.
TEST(renderer, rays_and_pixels_agree)
{
	const view_camera camera = { .position = { 1, 2, 3 }, .target = { -4, 5, 0 }, .up = { 0.1, 0, 1 }, .field_of_view = 50 };
	view_frame view;
	REQUIRE(view_make_frame(&camera, 640, 480, &view, NULL));
	uint64_t state = 2;
	for (int i = 0; i < 100; ++i) {
		const double px = test_random_double(&state, 0, 640), py = test_random_double(&state, 0, 480);
		const carom_vec3 direction = view_direction(&view, px, py);
		CHECK_NEAR(sim_length(direction), 1, 1e-12);
		double x = 0, y = 0;
		REQUIRE(view_project(&view, sim_add(view.position, sim_scale(direction, 7)), &x, &y));
		CHECK_NEAR(x, px, 1e-8);
		CHECK_NEAR(y, py, 1e-8);
		CHECK(!view_project(&view, sim_subtract(view.position, direction), &x, &y));
	}
}

TEST(renderer, bounds_leave_out_planes_and_runaways)
{
	fixture f = make_fixture();
	carom_aabb box;
	CHECK(!view_bounds_of_bodies(f.world, f.ids, 0, &box));
	add_plane(&f);
	CHECK(!view_bounds_of_bodies(f.world, f.ids, f.count, &box));
	for (int i = 0; i < 100; ++i)
		add_sphere(&f, 0.5, (carom_vec3){ i % 5, i / 5 % 5, i / 25 });
	// Few bodies: all count.
	REQUIRE(view_bounds_of_bodies(f.world, f.ids, 26, &box));
	CHECK_NEAR(box.lower.x, -0.5, 1e-5);
	CHECK_NEAR(box.upper.y, 4.5, 1e-5);
	CHECK_NEAR(box.upper.z, 0.5, 1e-5);
	// Many: one that rolled away does not count.
	add_sphere(&f, 0.5, (carom_vec3){ 1000, 0, 0 });
	REQUIRE(view_bounds_of_bodies(f.world, f.ids, f.count, &box));
	CHECK_NEAR(box.lower.x, -0.5, 1e-5);
	CHECK_NEAR(box.upper.x, 4.5, 1e-5);
	CHECK_NEAR(box.upper.z, 3.5, 1e-5);
	destroy_fixture(&f);
}

static carom_body_id add_wide(fixture *f, carom_body_kind kind, double half, double height)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id = { 0 };
	def.kind = kind;
	def.shape = (carom_shape){ .type = CAROM_BOX, .half_extents = { half, half, 0.1 } };
	def.pose.position.z = height;
	REQUIRE(carom_world_add_body(f->world, &def, &id) == CAROM_SUCCESS);
	return id;
}

TEST(renderer, a_ground_that_moves_leaves_the_rest_large)
{
	fixture f = make_fixture();
	carom_aabb box;
	carom_body_id ids[5] = { add_wide(&f, CAROM_STATIC, 30, -5), add_wide(&f, CAROM_KINEMATIC, 20, -2) };
	REQUIRE(view_bounds_of_moving(f.world, ids, 1, &box)); // all rest
	CHECK_NEAR(box.upper.x, 30, 1e-4);
	REQUIRE(view_bounds_of_moving(f.world, ids, 2, &box)); // forces move none
	CHECK_NEAR(box.upper.x, 20, 1e-4);
	ids[2] = add_wide(&f, CAROM_DYNAMIC, 1, 1);
	ids[3] = add_wide(&f, CAROM_KINEMATIC, 4, 3);
	REQUIRE(view_bounds_of_moving(f.world, ids, 4, &box));
	CHECK_NEAR(box.upper.x, 4, 1e-4);
	CHECK_NEAR(box.lower.z, 0.9, 1e-4);
	CHECK_NEAR(box.upper.z, 3.1, 1e-4);
	CHECK(!view_bounds_of_moving(f.world, ids, 0, &box));
	destroy_fixture(&f);
}

// ---- Looks ----

TEST(renderer, looks_tell_bodies_apart)
{
	CHECK(view_make_look(CAROM_PLANE, CAROM_STATIC, 0).checker);
	const view_look scenery = view_make_look(CAROM_MESH, CAROM_STATIC, 3);
	CHECK_NEAR(scenery.color[0], scenery.color[1], 0.05);
	for (int i = 0; i < 60; ++i) {
		const view_look a = view_make_look(CAROM_MESH, CAROM_DYNAMIC, i);
		CHECK(!a.checker && a.surface == NULL);
		for (int k = 0; k < 3; ++k)
			CHECK(a.color[k] >= 0 && a.color[k] <= 1);
		for (int j = i + 1; j < i + 6; ++j) {
			const view_look b = view_make_look(CAROM_SPHERE, CAROM_DYNAMIC, j);
			const double difference =
				fabs(a.color[0] - b.color[0]) + fabs(a.color[1] - b.color[1]) + fabs(a.color[2] - b.color[2]);
			CHECK(difference > 0.05);
		}
	}
}

static carom_mesh *make_mesh(
	fixture *f, const float *vertices, int32_t vertex_count, const int32_t *triangles, int32_t triangle_count)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(f->context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static carom_mesh *make_cube(fixture *f)
{
	float vertices[24];
	for (int i = 0; i < 24; ++i)
		vertices[i] = i / 3 >> i % 3 & 1 ? 1.0f : -1.0f;
	static const int32_t triangles[36] = { 0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2,
		4, 6, 1, 3, 5, 3, 7, 5 };
	return make_mesh(f, vertices, 8, triangles, 12);
}

// A torus about z, radii 1 and 0.4, of columns x rows quads.
enum { COLUMNS = 32, ROWS = 16 };
static carom_mesh *make_torus(fixture *f)
{
	static float vertices[3 * COLUMNS * ROWS];
	static int32_t triangles[6 * COLUMNS * ROWS];
	for (int i = 0; i < COLUMNS; ++i) {
		for (int j = 0; j < ROWS; ++j) {
			const double u = i * 2 * 3.14159265358979 / COLUMNS, v = j * 2 * 3.14159265358979 / ROWS;
			float *p = vertices + 3 * (i * ROWS + j);
			p[0] = (float)((1 + 0.4 * cos(v)) * cos(u));
			p[1] = (float)((1 + 0.4 * cos(v)) * sin(u));
			p[2] = (float)(0.4 * sin(v));
			const int a = i * ROWS + j, b = (i + 1) % COLUMNS * ROWS + j;
			const int c = (i + 1) % COLUMNS * ROWS + (j + 1) % ROWS, d = i * ROWS + (j + 1) % ROWS;
			const int32_t quad[6] = { a, b, c, a, c, d };
			memcpy(triangles + 6 * a, quad, sizeof quad);
		}
	}
	return make_mesh(f, vertices, COLUMNS * ROWS, triangles, 2 * COLUMNS * ROWS);
}

TEST(renderer, smooth_normals_keep_edges_of_a_cube)
{
	fixture f = make_fixture();
	carom_mesh *mesh = make_cube(&f);
	view_smooth_mesh smooth;
	REQUIRE(view_create_smooth_mesh(mesh, &smooth));
	for (int corner = 0; corner < 36; ++corner) {
		const float *n = smooth.normals + 3 * corner;
		const int32_t *triangle = carom_mesh_get_triangles(mesh) + corner / 3 * 3;
		const float *v = carom_mesh_get_vertices(mesh);
		// One component is 1 and equal in sign to that coordinate of all three corners.
		int axis = -1;
		for (int k = 0; k < 3; ++k)
			if (fabsf(n[k]) > 0.5f)
				axis = k;
		REQUIRE(axis >= 0);
		CHECK_NEAR(fabsf(n[axis]), 1, 1e-6);
		for (int k = 0; k < 3; ++k)
			CHECK_NEAR(v[3 * triangle[k] + axis], n[axis], 1e-6);
	}
	view_destroy_smooth_mesh(&smooth);
	CHECK(smooth.normals == NULL);
	carom_release_mesh(mesh);
	destroy_fixture(&f);
}

TEST(renderer, smooth_normals_of_a_torus)
{
	fixture f = make_fixture();
	carom_mesh *mesh = make_torus(&f);
	view_smooth_mesh smooth;
	REQUIRE(view_create_smooth_mesh(mesh, &smooth));
	double worst = 0;
	for (int corner = 0; corner < 6 * COLUMNS * ROWS; ++corner) {
		const int32_t vertex = carom_mesh_get_triangles(mesh)[corner];
		const float *v = carom_mesh_get_vertices(mesh) + 3 * vertex, *n = smooth.normals + 3 * corner;
		const double ring = sqrt((double)v[0] * v[0] + (double)v[1] * v[1]);
		const carom_vec3 exact = sim_normalize((carom_vec3){ v[0] - v[0] / ring, v[1] - v[1] / ring, v[2] });
		const carom_vec3 found = { n[0], n[1], n[2] };
		CHECK_NEAR(sim_length(found), 1, 1e-5);
		worst = fmax(worst, sim_length(sim_subtract(found, exact)));
	}
	// The facets themselves are off by up to half of 22.5 degrees (0.2).
	CHECK(worst < 0.08);
	view_destroy_smooth_mesh(&smooth);
	carom_release_mesh(mesh);
	destroy_fixture(&f);
}

// A shape as a part, somewhere else in its body, makes the picture of that shape as a body, flat and smooth.
TEST(renderer, parts_are_drawn_in_their_places)
{
	view_image images[2][2];
	for (int way = 0; way < 2; ++way) {
		fixture f = make_fixture();
		carom_mesh *mesh = make_torus(&f);
		view_smooth_mesh smooth;
		REQUIRE(view_create_smooth_mesh(mesh, &smooth));
		const carom_shape ball = { .type = CAROM_SPHERE, .radius = 1 }, ring = { .type = CAROM_MESH, .mesh = mesh };
		// The body is turned by half a turn about z.
		const carom_part parts[2] = { { ball, { { 3, 0, 0 }, { 0, 0, 0, 1 } }, 0 },
			{ ring, { { -2, -1, 0 }, { 0, 0, 1, 0 } }, 0 } };
		carom_body_def def = carom_default_body_def();
		def.parts = parts;
		def.part_count = 2;
		def.pose.orientation = (carom_quat){ 0, 0, 1, 0 };
		if (way == 0) {
			REQUIRE(carom_world_add_body(f.world, &def, &f.ids[0]) == CAROM_SUCCESS);
		} else {
			add_body(&f, ball, CAROM_DYNAMIC, (carom_vec3){ -3, 0, 0 }, f.looks[0]);
			add_body(&f, ring, CAROM_DYNAMIC, (carom_vec3){ 2, 1, 0 }, f.looks[0]);
		}
		f.count = 2;
		f.looks[0] = (view_look){ .color = { 0.6f, 0.2f, 0.1f } };
		f.looks[1] = (view_look){ .color = { 0.1f, 0.6f, 0.2f } };
		for (int round = 0; round < 2; ++round) {
			const view_picture_options options = make_options(&f);
			f.looks[1].surface = round ? &smooth : NULL;
			images[way][round] = draw(&f, &above, &options);
		}
		view_destroy_smooth_mesh(&smooth);
		carom_destroy_world(f.world);
		f.world = NULL;
		carom_release_mesh(mesh);
		destroy_fixture(&f);
	}
	for (int round = 0; round < 2; ++round)
		CHECK(same_pictures(&images[0][round], &images[1][round]));
	CHECK(!same_pictures(&images[0][0], &images[0][1]));
	for (int i = 0; i < 4; ++i)
		view_destroy_image(&images[i / 2][i % 2]);
}

// The brightest jump between neighbouring pixels on the body, away from borders: facets show as steps.
static int roughness(const view_image *image)
{
	int worst = 0;
	for (int x = 61; x < 100; ++x) {
		const int jump = abs(view_image_pixel(image, x, 100)[0] - view_image_pixel(image, x - 1, 100)[0]);
		worst = jump > worst ? jump : worst;
	}
	return worst;
}

TEST(renderer, smooth_shading_hides_facets)
{
	fixture f = make_fixture();
	carom_mesh *mesh = make_torus(&f);
	view_smooth_mesh smooth;
	REQUIRE(view_create_smooth_mesh(mesh, &smooth));
	const carom_shape shape = { .type = CAROM_MESH, .mesh = mesh };
	add_body(&f, shape, CAROM_DYNAMIC, (carom_vec3){ 5, 5, 5 }, (view_look){ .color = { 0.6f, 0.6f, 0.6f } });
	// The middle row runs along the crown of the ring's near side.
	const view_camera camera = { .position = { 5, 4, 15 }, .target = { 5, 4, 5 }, .up = { 0, 1, 0 }, .field_of_view = 8 };
	view_picture_options options = make_options(&f);
	options.sun = (carom_vec3){ -1, 0.3, 1 };
	view_image flat = draw(&f, &camera, &options);
	f.looks[0].surface = &smooth;
	view_image round = draw(&f, &camera, &options);
	CHECK(roughness(&flat) > 2 * roughness(&round));
	view_destroy_image(&flat);
	view_destroy_image(&round);
	view_destroy_smooth_mesh(&smooth);
	carom_world_remove_body(f.world, f.ids[0]);
	carom_release_mesh(mesh);
	destroy_fixture(&f);
}

// A valley of 8 x 2 quads, z = x^2. Its triangles look up or, with corners in the other order, down.
static carom_mesh *make_valley(fixture *f, bool down)
{
	enum { ACROSS = 9, ALONG = 3 };
	float vertices[3 * ACROSS * ALONG];
	int32_t triangles[6 * (ACROSS - 1) * (ALONG - 1)], count = 0;
	for (int i = 0; i < ACROSS * ALONG; ++i) {
		const float x = (float)(i % ACROSS - 4) / 4;
		const float vertex[3] = { x, (float)(i / ACROSS - 1), x * x };
		memcpy(vertices + 3 * i, vertex, sizeof vertex);
	}
	for (int i = 0; i < ACROSS * (ALONG - 1); ++i) {
		if (i % ACROSS == ACROSS - 1)
			continue;
		const int32_t quad[2][3] = { { i, i + 1, i + 1 + ACROSS }, { i, i + 1 + ACROSS, i + ACROSS } };
		for (int k = 0; k < 2; ++k) {
			const int32_t corners[3] = { quad[k][0], quad[k][down ? 2 : 1], quad[k][down ? 1 : 2] };
			memcpy(triangles + 3 * count++, corners, sizeof corners);
		}
	}
	return make_mesh(f, vertices, ACROSS * ALONG, triangles, count);
}

// A sheet is lit alike whichever side its triangles call the front: its inside does not shade itself.
TEST(renderer, both_sides_of_a_sheet_are_lit_alike)
{
	const view_camera camera = { .position = { 0.5, -4, 6 }, .target = { 0, 0, 0.5 }, .up = { 0, 0, 1 }, .field_of_view = 25 };
	view_image images[2];
	for (int down = 0; down < 2; ++down) {
		fixture f = make_fixture();
		carom_mesh *mesh = make_valley(&f, down);
		view_smooth_mesh smooth;
		REQUIRE(view_create_smooth_mesh(mesh, &smooth));
		const carom_shape shape = { .type = CAROM_MESH, .mesh = mesh };
		add_body(&f, shape, CAROM_DYNAMIC, (carom_vec3){ 0, 0, 0 }, (view_look){ .color = { 0.6f, 0.6f, 0.6f } });
		f.looks[0].surface = &smooth;
		view_picture_options options = make_options(&f);
		options.sun = (carom_vec3){ 0.5, 0, 1 };
		images[down] = draw(&f, &camera, &options);
		view_destroy_smooth_mesh(&smooth);
		carom_world_remove_body(f.world, f.ids[0]);
		carom_release_mesh(mesh);
		destroy_fixture(&f);
	}
	int differ = 0; // corners come in another order, so the last bit of a color may be another
	for (int i = 0; i < 3 * SIZE * SIZE; ++i)
		differ += abs(images[0].pixels[i] - images[1].pixels[i]) > 2;
	CHECK_INT(differ, 0);
	view_destroy_image(&images[0]);
	view_destroy_image(&images[1]);
}

TEST(renderer, hidden_bodies_leave_no_trace)
{
	const view_camera camera = { { 0, -6, 3 }, { 0, 0, 0.5 }, { 0, 0, 1 }, 40 };
	view_image images[2];
	for (int i = 0; i < 2; i++) {
		fixture f = make_fixture();
		add_plane(&f);
		add_sphere(&f, 0.5, (carom_vec3){ 1, 0, 0.6 });
		if (i == 1) {
			add_sphere(&f, 0.5, (carom_vec3){ 0, -1, 1 }); // before the other one, and between it and the sun
			f.looks[2].clear = 1;
		}
		const view_picture_options options = make_options(&f);
		images[i] = draw(&f, &camera, &options);
		destroy_fixture(&f);
	}
	CHECK(memcmp(images[0].pixels, images[1].pixels, (size_t)3 * SIZE * SIZE) == 0);
	view_destroy_image(&images[0]);
	view_destroy_image(&images[1]);
}

// A red ball around a white one: the white is seen through two layers of it, and the ball casts no shadow.
TEST(renderer, bodies_can_be_seen_through)
{
	const view_camera camera = { { 0, -6, 1 }, { 0, 0, 1 }, { 0, 0, 1 }, 40 };
	int red[3], green[3];
	for (int i = 0; i < 3; i++) {
		fixture f = make_fixture();
		const carom_shape shape = { .type = CAROM_SPHERE, .radius = 0.3 };
		add_body(&f, shape, CAROM_DYNAMIC, (carom_vec3){ 0, 0, 1 }, (view_look){ .color = { 0.9f, 0.9f, 0.9f } });
		add_sphere(&f, 0.6, (carom_vec3){ 0, 0, 1 });
		f.looks[1].clear = 0.5f * (float)i;
		const view_picture_options options = make_options(&f);
		view_image image = draw(&f, &camera, &options);
		const uint8_t *middle = view_image_pixel(&image, SIZE / 2, SIZE / 2);
		red[i] = middle[0];
		green[i] = middle[1];
		view_destroy_image(&image);
		destroy_fixture(&f);
	}
	CHECK(green[0] < 60 && green[2] > 120);                      // red, and white
	CHECK(green[1] > green[0] + 20 && green[1] < green[2] - 20); // pink between the two
	CHECK(red[0] > 60 && red[1] > 60 && red[2] > 120);
}
