// Pictures of spheres against what geometry says: silhouettes, who hides whom, dust, shadows, colours; the same picture for any
// number of threads; and options that cannot be used.
#include "view/sphere_picture.h"
#include "view/view.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 160 };

// x, y, z, radius of each, and no velocities.
static sim_sphere_cloud make_cloud(const double *spheres, int64_t count)
{
	return (sim_sphere_cloud){
		.count = count,
		.centres = { spheres, 4 * sizeof(double), CAROM_FLOAT64 },
		.radii = { spheres + 3, 4 * sizeof(double), CAROM_FLOAT64 },
	};
}

static view_sphere_picture_options make_options(void)
{
	view_sphere_picture_options options = view_default_sphere_picture();
	options.width = options.height = SIZE;
	options.samples = 1;
	options.threads = 1;
	options.sun = (carom_vec3){ 1, 0, 1 };
	return options;
}

static view_image draw(const sim_sphere_cloud *cloud, const view_camera *camera, const view_sphere_picture_options *options)
{
	view_image image;
	sim_error error = { "" };
	REQUIRE(view_draw_spheres(cloud, camera, options, &image, &error));
	CHECK_STR(error.text, "");
	REQUIRE(image.width == options->width && image.height == options->height);
	return image;
}

static bool same_pixel(const view_image *a, const view_image *b, int x, int y)
{
	return memcmp(view_image_pixel(a, x, y), view_image_pixel(b, x, y), 3) == 0;
}

static bool same_picture(const view_image *a, const view_image *b)
{
	return memcmp(a->pixels, b->pixels, 3 * (size_t)a->width * (size_t)a->height) == 0;
}

static int brightness(const view_image *image, int x, int y)
{
	const uint8_t *pixel = view_image_pixel(image, x, y);
	return pixel[0] + pixel[1] + pixel[2];
}

// From 20 above straight down.
static const view_camera above = { .position = { 0, 0, 20 }, .target = { 0, 0, 0 }, .up = { 0, 1, 0 }, .field_of_view = 30 };

// The direction of the ray through the middle of a pixel, by similar triangles and without the picture's own code.
static carom_vec3 direction_above(int x, int y)
{
	const double slope = tan(15 * 3.14159265358979 / 180) / (SIZE / 2);
	return (carom_vec3){ (x + 0.5 - SIZE / 2) * slope, (SIZE / 2 - y - 0.5) * slope, -1 };
}

static double distance_to_ray(const double *sphere, int x, int y)
{
	const carom_vec3 direction = direction_above(x, y);
	const carom_vec3 d = sim_subtract((carom_vec3){ sphere[0], sphere[1], sphere[2] }, above.position);
	return sim_length(sim_cross(d, direction)) / sim_length(direction);
}

TEST(sphere_picture, silhouettes_are_where_geometry_says)
{
	// At the middle, off the axis (where the outline is an ellipse), across the border, and nearer than the others.
	const double spheres[] = { 0, 0, 0, 1, 3, -2.5, 1, 1.2, -4.9, 4.2, -3, 1, 0.4, 1.1, 15, 0.25 };
	const sim_sphere_cloud cloud = make_cloud(spheres, 4), none = make_cloud(spheres, 0);
	const view_sphere_picture_options options = make_options();
	view_image image = draw(&cloud, &above, &options), empty = draw(&none, &above, &options);
	int covered = 0, wrong = 0;
	for (int y = 0; y < SIZE; ++y) {
		for (int x = 0; x < SIZE; ++x) {
			bool inside = false;
			for (int i = 0; i < 4; ++i)
				inside |= distance_to_ray(spheres + 4 * i, x, y) < spheres[4 * i + 3];
			covered += inside;
			wrong += inside == same_pixel(&image, &empty, x, y);
		}
	}
	CHECK(covered > 2000 && covered < SIZE * SIZE / 2);
	CHECK_INT(wrong, 0);
	view_destroy_image(&image);
	view_destroy_image(&empty);
}

TEST(sphere_picture, nearer_spheres_hide_farther_ones_in_any_order)
{
	const double spheres[] = { 0, 0, 0, 1, 0, 0, 5, 0.5 }, turned[] = { 0, 0, 5, 0.5, 0, 0, 0, 1 };
	const uint32_t ids[] = { 4, 7 }, turned_ids[] = { 7, 4 };
	sim_sphere_cloud cloud = make_cloud(spheres, 2), other = make_cloud(turned, 2), near_one = make_cloud(turned, 1);
	cloud.ids = ids;
	other.ids = near_one.ids = turned_ids;
	const view_sphere_picture_options options = make_options();
	view_image image = draw(&cloud, &above, &options), second = draw(&other, &above, &options);
	view_image alone = draw(&near_one, &above, &options);
	CHECK(same_picture(&image, &second));
	CHECK(same_pixel(&image, &alone, SIZE / 2, SIZE / 2));
	CHECK(!same_picture(&image, &alone));
	view_destroy_image(&image);
	view_destroy_image(&second);
	view_destroy_image(&alone);
}

TEST(sphere_picture, same_for_any_number_of_threads)
{
	enum { COUNT = 30000 };
	double *spheres = malloc(sizeof(double[4]) * COUNT);
	uint64_t state = 5;
	REQUIRE(spheres != NULL);
	for (int i = 0; i < COUNT; ++i) {
		for (int k = 0; k < 3; ++k)
			spheres[4 * i + k] = test_random_double(&state, -4, 4);
		spheres[4 * i + 3] = test_random_double(&state, 0.001, 0.1);
	}
	const sim_sphere_cloud cloud = make_cloud(spheres, COUNT);
	view_sphere_picture_options options = make_options();
	options.samples = 4;
	options.draw_box = options.draw_ground = true;
	options.box = (carom_aabb){ { -4, -4, -4 }, { 4, 4, 4 } };
	options.ground = -4;
	options.color = SIM_COLOR_RADIUS;
	options.caption = "threads";
	const view_camera camera = { .position = { 9, -14, 6 }, .up = { 0, 0, 1 }, .field_of_view = 50 };
	view_image one = draw(&cloud, &camera, &options);
	options.threads = 5;
	view_image five = draw(&cloud, &camera, &options);
	CHECK(same_picture(&one, &five));
	view_destroy_image(&one);
	view_destroy_image(&five);
	free(spheres);
}

TEST(sphere_picture, dust_covers_as_much_as_its_area)
{
	// Spheres of a fifth of a pixel in one plane: each is met by a sample as often as its area says.
	enum { COUNT = 40000 };
	const double pixel = 20 * 2 * tan(15 * 3.14159265358979 / 180) / SIZE, radius = 0.2 * pixel;
	double *spheres = malloc(sizeof(double[4]) * COUNT);
	uint64_t state = 9;
	REQUIRE(spheres != NULL);
	for (int i = 0; i < COUNT; ++i) {
		spheres[4 * i] = test_random_double(&state, -0.5, 0.5) * SIZE * pixel;
		spheres[4 * i + 1] = test_random_double(&state, -0.5, 0.5) * SIZE * pixel;
		spheres[4 * i + 2] = 0;
		spheres[4 * i + 3] = radius;
	}
	const sim_sphere_cloud cloud = make_cloud(spheres, COUNT), none = make_cloud(spheres, 0);
	const view_sphere_picture_options options = make_options();
	view_image image = draw(&cloud, &above, &options), empty = draw(&none, &above, &options);
	int covered = 0;
	for (int y = 0; y < SIZE; ++y)
		for (int x = 0; x < SIZE; ++x)
			covered += !same_pixel(&image, &empty, x, y);
	const double mean = COUNT * acos(-1) * 0.2 * 0.2 / (SIZE * SIZE); // spheres over a sample: a Poisson distribution
	const double expected = SIZE * SIZE * (1 - exp(-mean));
	CHECK_NEAR(covered, expected, 4 * sqrt(expected));
	view_destroy_image(&image);
	view_destroy_image(&empty);
	free(spheres);
}

// The pixel of a point.
static void find_pixel(const view_camera *camera, carom_vec3 point, int *x, int *y)
{
	view_frame view;
	double at[2] = { -1, -1 };
	REQUIRE(view_make_frame(camera, SIZE, SIZE, &view, NULL) && view_project(&view, point, &at[0], &at[1]));
	*x = (int)floor(at[0]);
	*y = (int)floor(at[1]);
	REQUIRE(*x >= 0 && *x < SIZE && *y >= 0 && *y < SIZE);
}

TEST(sphere_picture, shadow_lies_where_the_sun_says)
{
	// The sun stands at 45 degrees over +x, so the sphere's shadow lies its height farther along -x.
	const double sphere[] = { 1, 0.5, 3, 0.6 };
	const sim_sphere_cloud cloud = make_cloud(sphere, 1), none = make_cloud(sphere, 0);
	const view_camera camera = { .position = { -2, -14, 9 }, .target = { -1, 0, 1 }, .up = { 0, 0, 1 }, .field_of_view = 45 };
	view_sphere_picture_options options = make_options();
	options.draw_ground = true;
	view_image image = draw(&cloud, &camera, &options), empty = draw(&none, &camera, &options);
	int x, y;
	find_pixel(&camera, (carom_vec3){ -2, 0.5, 0 }, &x, &y);
	CHECK(brightness(&image, x, y) < 0.8 * brightness(&empty, x, y));
	// An ellipse of half axes 0.6 sqrt(2) and 0.6: just outside it is light.
	const carom_vec3 outside[4] = { { -2.95, 0.5, 0 }, { -1.05, 0.5, 0 }, { -2, 1.2, 0 }, { -2, -0.2, 0 } };
	for (int i = 0; i < 4; ++i) {
		find_pixel(&camera, outside[i], &x, &y);
		CHECK_NEAR(brightness(&image, x, y), brightness(&empty, x, y), 6);
	}
	const carom_vec3 inside[4] = { { -2.7, 0.5, 0 }, { -1.3, 0.5, 0 }, { -2, 0.95, 0 }, { -2, 0.05, 0 } };
	for (int i = 0; i < 4; ++i) {
		find_pixel(&camera, inside[i], &x, &y);
		CHECK(brightness(&image, x, y) < 0.8 * brightness(&empty, x, y));
	}
	view_destroy_image(&image);
	view_destroy_image(&empty);
}

TEST(sphere_picture, gaps_between_spheres_are_darker)
{
	// The same point of the same sphere, alone and among neighbours that keep the sky from it. The sun is behind.
	const double spheres[] = { 0, 0, 0, 1, 1.7, 0, 0.4, 1, -1.7, 0, 0.4, 1, 0, 1.7, 0.4, 1, 0, -1.7, 0.4, 1 };
	const sim_sphere_cloud alone = make_cloud(spheres, 1), crowd = make_cloud(spheres, 5);
	view_sphere_picture_options options = make_options();
	options.sun = (carom_vec3){ 0, 0, -1 };
	options.samples = 16;
	view_image light = draw(&alone, &above, &options), dark = draw(&crowd, &above, &options);
	int x, y;
	find_pixel(&above, (carom_vec3){ 0.55, 0.55, 0.62 }, &x, &y);
	CHECK(brightness(&dark, x, y) < 0.93 * brightness(&light, x, y));
	view_destroy_image(&light);
	view_destroy_image(&dark);
}

TEST(sphere_picture, camera_inside_and_before_spheres)
{
	const double behind[] = { 0, 0, 25, 1 }, around[] = { 0, 0, 20, 3 }, grazing[] = { 1, 0, 20, 1 };
	const view_sphere_picture_options options = make_options();
	sim_sphere_cloud cloud = make_cloud(behind, 0);
	view_image empty = draw(&cloud, &above, &options);
	cloud = make_cloud(behind, 1);
	view_image image = draw(&cloud, &above, &options);
	CHECK(same_picture(&image, &empty)); // what lies behind does not show
	view_destroy_image(&image);
	cloud = make_cloud(around, 1);
	image = draw(&cloud, &above, &options);
	CHECK(same_picture(&image, &empty)); // nor does a sphere from its inside
	view_destroy_image(&image);
	cloud = make_cloud(grazing, 1); // the camera lies on the sphere
	image = draw(&cloud, &above, &options);
	view_destroy_image(&image);
	view_destroy_image(&empty);
}

TEST(sphere_picture, colors_tell_ids_groups_radii_and_speeds)
{
	const double spheres[] = { -2.4, 0, 0, 0.7, -0.8, 0, 0, 0.7, 0.8, 0, 0, 0.7, 2.4, 0, 0, 0.9 };
	const float velocities[] = { 0, 0, 0, 3, 4, 0, 0, 0, -5, 0, 0, 0 };
	sim_sphere_cloud cloud = make_cloud(spheres, 4);
	cloud.velocities = (carom_strided){ velocities, 0, CAROM_FLOAT32 };
	view_sphere_picture_options options = make_options();
	options.sun = (carom_vec3){ 0, 0, 1 }; // the tops look alike
	int x[4], y;
	for (int i = 0; i < 4; ++i)
		find_pixel(&above, (carom_vec3){ spheres[4 * i], 0, 0.7 }, &x[i], &y);
	const uint32_t starts[] = { 0, 2 };
	for (int kind = 0; kind < 4; ++kind) {
		static const sim_sphere_color colors[] = { SIM_COLOR_ID, SIM_COLOR_ID, SIM_COLOR_RADIUS, SIM_COLOR_SPEED };
		// Whether spheres 0 and 1, 1 and 2, 2 and 3 have one colour, for each id, groups, radii, speeds 0 5 5 0.
		static const bool alike[4][3] = { { 0, 0, 0 }, { 1, 0, 1 }, { 1, 1, 0 }, { 0, 1, 0 } };
		options.color = colors[kind];
		options.groups = starts;
		options.group_count = kind == 1 ? 2 : 0;
		view_image image = draw(&cloud, &above, &options);
		for (int i = 0; i < 3; ++i) {
			const uint8_t *a = view_image_pixel(&image, x[i], y), *b = view_image_pixel(&image, x[i + 1], y);
			const int difference = abs(a[0] - b[0]) + abs(a[1] - b[1]) + abs(a[2] - b[2]);
			CHECK(alike[kind][i] ? difference < 12 : difference > 24);
		}
		view_destroy_image(&image);
	}
	// A range of one's own: all are below its middle, and blue.
	options.color = SIM_COLOR_SPEED;
	options.highest = 50;
	view_image image = draw(&cloud, &above, &options);
	const uint8_t *pixel = view_image_pixel(&image, x[1], y);
	CHECK(pixel[2] > pixel[0]);
	view_destroy_image(&image);
}

TEST(sphere_picture, edges_of_the_box_are_hidden_by_spheres)
{
	const double sphere[] = { 0, 2, 2, 1 };
	const sim_sphere_cloud cloud = make_cloud(sphere, 1), none = make_cloud(sphere, 0);
	view_sphere_picture_options options = make_options();
	view_image plain = draw(&cloud, &above, &options);
	options.draw_box = true;
	options.box = (carom_aabb){ { -2, -2, -2 }, { 2, 2, 0 } };
	view_image image = draw(&cloud, &above, &options), box = draw(&none, &above, &options);
	int x, y;
	find_pixel(&above, (carom_vec3){ 0, 2, 0 }, &x, &y); // under the sphere
	CHECK(same_pixel(&image, &plain, x, y));
	CHECK(!same_pixel(&box, &plain, x, y));
	find_pixel(&above, (carom_vec3){ 0, -2, 0 }, &x, &y);
	CHECK(brightness(&image, x, y) < brightness(&plain, x, y) / 2);
	// An edge through the camera's plane is cut, and reaches the border of the picture.
	options.box.upper.z = 40;
	view_image cut = draw(&none, &above, &options);
	find_pixel(&above, (carom_vec3){ 2, 2, 10 }, &x, &y);
	int dark = 0;
	for (int i = -2; i <= 2; ++i)
		for (int k = -2; k <= 2; ++k)
			dark += brightness(&cut, x + i, y + k) < brightness(&plain, 2, 2) / 2;
	CHECK(dark > 0);
	view_destroy_image(&plain);
	view_destroy_image(&image);
	view_destroy_image(&box);
	view_destroy_image(&cut);
}

TEST(sphere_picture, bounds_and_floats)
{
	const float spheres[] = { 1, 2, 3, 0.5f, -1, 0, 8, 0.25f };
	sim_sphere_cloud cloud = {
		.count = 2, .centres = { spheres, 16, CAROM_FLOAT32 }, .radii = { spheres + 3, 16, CAROM_FLOAT32 }
	};
	carom_aabb box;
	REQUIRE(view_bounds_of_spheres(&cloud, &box));
	CHECK_NEAR(box.lower.x, -1.25, 0);
	CHECK_NEAR(box.upper.x, 1.5, 0);
	CHECK_NEAR(box.lower.y, -0.25, 0);
	CHECK_NEAR(box.lower.z, 2.5, 0);
	CHECK_NEAR(box.upper.z, 8.25, 0);
	cloud.count = 0;
	CHECK(!view_bounds_of_spheres(&cloud, &box));
	// Floats and doubles of the same values give the same picture.
	const double wide[] = { 1, 2, 3, 0.5, -1, 0, 8, 0.25 };
	const sim_sphere_cloud doubles = make_cloud(wide, 2);
	const view_sphere_picture_options options = make_options();
	cloud.count = 2;
	view_image a = draw(&cloud, &above, &options), b = draw(&doubles, &above, &options);
	CHECK(same_picture(&a, &b));
	view_destroy_image(&a);
	view_destroy_image(&b);
}

static void check_refused(const view_sphere_picture_options *options, const view_camera *camera, const char *expected)
{
	const double sphere[] = { 0, 0, 0, 1 };
	const sim_sphere_cloud cloud = make_cloud(sphere, 1);
	view_image image;
	sim_error error = { "" };
	CHECK(!view_draw_spheres(&cloud, camera, options, &image, &error));
	CHECK(strstr(error.text, expected) != NULL);
	CHECK(image.pixels == NULL);
}

TEST(sphere_picture, wrong_options)
{
	view_sphere_picture_options options = make_options();
	options.samples = 3;
	check_refused(&options, &above, "samples must be 1, 4, 9 or 16");
	options = make_options();
	options.threads = -1;
	check_refused(&options, &above, "threads must not be negative");
	options = make_options();
	options.color = SIM_COLOR_SPEED;
	check_refused(&options, &above, "without velocities");
	options = make_options();
	options.group_count = -1;
	check_refused(&options, &above, "group_count");
	options = make_options();
	options.lowest = 2;
	options.highest = 1;
	check_refused(&options, &above, "lowest must not be above highest");
	options = make_options();
	options.width = 0;
	check_refused(&options, &above, "");
	options = make_options();
	const view_camera useless = { .position = { 1, 1, 1 }, .target = { 1, 1, 1 }, .up = { 0, 0, 1 }, .field_of_view = 30 };
	check_refused(&options, &useless, "the camera cannot be used");
}
