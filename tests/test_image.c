// Pictures: PNG files there and back, discs, lines and text against computed pixels, and files that cannot be written or read.
#include "view/image.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static view_image make_image(int width, int height)
{
	view_image image;
	sim_error error = { "" };
	REQUIRE(view_create_image(width, height, &image, &error));
	CHECK_STR(error.text, "");
	return image;
}

static void fill(view_image *image, uint8_t value)
{
	memset(image->pixels, value, 3 * (size_t)image->width * (size_t)image->height);
}

static bool exists(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (file)
		fclose(file);
	return file != NULL;
}

// Write, read, compare every byte.
static void check_round_trip(int width, int height, const char *path)
{
	view_image image = make_image(width, height), back;
	uint64_t state = (uint64_t)width;
	const size_t bytes = 3 * (size_t)width * (size_t)height;
	for (size_t i = 0; i < bytes; ++i)
		image.pixels[i] = (uint8_t)test_random(&state);
	sim_error error = { "" };
	REQUIRE(view_write_png(path, &image, &error));
	REQUIRE(view_read_png(path, &back, &error));
	CHECK_INT(back.width, width);
	CHECK_INT(back.height, height);
	CHECK(memcmp(image.pixels, back.pixels, bytes) == 0);
	view_destroy_image(&image);
	view_destroy_image(&back);
	CHECK(back.pixels == NULL);
	remove(path);
}

TEST(image, png_round_trip)
{
	check_round_trip(1, 1, "test_image_1.png");
	check_round_trip(3, 100, "test_image_2.png");
	check_round_trip(257, 31, "test_image_3.png");
}

TEST(image, png_replaces_an_older_file)
{
	const char *path = "test_image_replace.png";
	sim_error error = { "" };
	view_image large = make_image(100, 100), small = make_image(2, 2), back;
	REQUIRE(view_write_png(path, &large, &error));
	REQUIRE(view_write_png(path, &small, &error));
	REQUIRE(view_read_png(path, &back, &error));
	CHECK_INT(back.width, 2);
	view_destroy_image(&large);
	view_destroy_image(&small);
	view_destroy_image(&back);
	remove(path);
}

TEST(image, unwritable_files_are_errors)
{
	view_image image = make_image(64, 64);
	sim_error error = { "" };
	CHECK(!view_write_png("no-such-folder/picture.png", &image, &error));
	CHECK(strstr(error.text, "cannot be written") != NULL);
	error.text[0] = 0;
	CHECK(!view_write_png(".", &image, &error));
	CHECK(error.text[0] != 0);
	if (exists("/dev/full")) {
		error.text[0] = 0;
		CHECK(!view_write_png("/dev/full", &image, &error));
		CHECK(strstr(error.text, "cannot be written") != NULL);
		CHECK(exists("/dev/full"));
	}
	view_destroy_image(&image);
}

TEST(image, unreadable_files_are_errors)
{
	view_image image;
	sim_error error = { "" };
	CHECK(!view_read_png("no-such-picture.png", &image, &error));
	CHECK(error.text[0] != 0);
	CHECK(image.pixels == NULL);

	const char *path = "test_image_not.png";
	FILE *file = fopen(path, "wb");
	REQUIRE(file != NULL);
	fputs("this is no picture", file);
	fclose(file);
	error.text[0] = 0;
	CHECK(!view_read_png(path, &image, &error));
	CHECK(error.text[0] != 0);
	CHECK(image.pixels == NULL);
	remove(path);
}

// Every shorter file must be refused, whatever the cut goes through.
TEST(image, truncated_png_is_an_error)
{
	const char *path = "test_image_cut.png";
	sim_error error = { "" };
	view_image image = make_image(16, 16), back;
	REQUIRE(view_write_png(path, &image, &error));
	view_destroy_image(&image);
	uint8_t bytes[4096];
	FILE *file = fopen(path, "rb");
	REQUIRE(file != NULL);
	const size_t size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	// The last 12 bytes are the end mark, which no decoder needs.
	for (size_t cut = 0; cut + 12 < size; cut += 5) {
		file = fopen(path, "wb");
		REQUIRE(file != NULL);
		fwrite(bytes, 1, cut, file);
		fclose(file);
		CHECK(!view_read_png(path, &back, &error));
		CHECK(back.pixels == NULL);
	}
	remove(path);
}

TEST(image, sizes_out_of_range_are_errors)
{
	const int sizes[][2] = { { 0, 5 }, { 5, 0 }, { -1, 5 }, { VIEW_MAX_IMAGE_SIZE + 1, 1 }, { 1, VIEW_MAX_IMAGE_SIZE + 1 } };
	for (int i = 0; i < 5; ++i) {
		view_image image;
		sim_error error = { "" };
		CHECK(!view_create_image(sizes[i][0], sizes[i][1], &image, &error));
		CHECK(image.pixels == NULL);
		CHECK(strstr(error.text, "must be 1 to 16384") != NULL);
	}
}

TEST(image, blend_mixes_and_keeps_inside)
{
	view_image image = make_image(3, 2);
	fill(&image, 100);
	const view_rgb color = { 200, 0, 100 };
	view_image_blend(&image, 1, 1, color, 0.5);
	const uint8_t *pixel = view_image_pixel(&image, 1, 1);
	CHECK_INT(pixel[0], 150);
	CHECK_INT(pixel[1], 50);
	CHECK_INT(pixel[2], 100);
	view_image_blend(&image, 1, 1, color, 7);
	CHECK_INT(pixel[0], 200);
	CHECK_INT(pixel[1], 0);
	view_image_blend(&image, 0, 0, color, NAN);
	CHECK_INT(view_image_pixel(&image, 0, 0)[0], 100);
	// Outside: no pixel changes (and the sanitizer sees no foreign write).
	view_image_blend(&image, -1, 0, color, 1);
	view_image_blend(&image, 3, 0, color, 1);
	view_image_blend(&image, 0, -1, color, 1);
	view_image_blend(&image, 0, 2, color, 1);
	int changed = 0;
	for (int i = 0; i < 6; ++i)
		changed += image.pixels[3 * i] != 100;
	CHECK_INT(changed, 1);
	view_destroy_image(&image);
}

// The sum of what a white mark covers on black, in pixels.
static double covered(const view_image *image)
{
	double sum = 0;
	for (int i = 0; i < image->width * image->height; ++i)
		sum += image->pixels[3 * i] / 255.0;
	return sum;
}

TEST(image, marks_cover_their_area)
{
	const view_rgb white = { 255, 255, 255 };
	view_image image = make_image(64, 64);
	view_image_disc(&image, 30.3, 32.9, 10, white, 1);
	CHECK_NEAR(covered(&image), 3.14159265 * 100, 3);
	CHECK_INT(view_image_pixel(&image, 30, 32)[1], 255);
	CHECK_INT(view_image_pixel(&image, 30, 45)[1], 0);

	fill(&image, 0);
	view_image_line(&image, 10, 10, 40, 50, 4, white, 1); // length 50, round ends
	CHECK_NEAR(covered(&image), 50 * 4 + 3.14159265 * 4, 3);
	CHECK_INT(view_image_pixel(&image, 25, 30)[0], 255);
	CHECK_INT(view_image_pixel(&image, 50, 50)[0], 0);

	// Partly and wholly outside, and not numbers.
	fill(&image, 0);
	view_image_disc(&image, 0, 0, 10, white, 1);
	CHECK_NEAR(covered(&image), 3.14159265 * 25, 3);
	fill(&image, 0);
	view_image_disc(&image, -1e30, 5, 10, white, 1);
	view_image_line(&image, NAN, NAN, NAN, NAN, 4, white, 1);
	CHECK_NEAR(covered(&image), 0, 0);
	view_destroy_image(&image);
}

// A picture of letters: '#' for a dot.
static void check_letter(const view_image *image, int left, const char *const rows[7])
{
	for (int y = 0; y < 7; ++y) {
		char row[6] = "";
		for (int x = 0; x < 5; ++x)
			row[x] = view_image_pixel(image, left + x, 1 + y)[0] ? '#' : '.';
		CHECK_STR(row, rows[y]);
	}
}

TEST(image, text_draws_letters)
{
	static const char *const letter_a[7] = { ".###.", "#...#", "#...#", "#####", "#...#", "#...#", "#...#" };
	static const char *const seven[7] = { "#####", "....#", "...#.", "..#..", ".#...", ".#...", ".#..." };
	static const char *const question[7] = { ".###.", "#...#", "....#", "...#.", "..#..", ".....", "..#.." };
	const view_rgb white = { 255, 255, 255 };
	view_image image = make_image(40, 9);
	view_image_text(&image, 1, 1, 1, white, "a7A\xc3");
	check_letter(&image, 1, letter_a);
	check_letter(&image, 7, seven);
	check_letter(&image, 13, letter_a);
	check_letter(&image, 19, question);

	// Twice as large: four times the dots. Text that runs out of the picture is cut.
	view_image large = make_image(40, 20);
	view_image_text(&large, 0, 0, 2, white, "A");
	CHECK_NEAR(covered(&large), 4 * 18, 1e-9);
	view_image_text(&large, 30, 15, 3, white, "WWWWWWWWWWWWWWWWWW");
	view_destroy_image(&image);
	view_destroy_image(&large);
}
