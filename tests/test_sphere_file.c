// Files of spheres: exact values there and back, what is said about files that are wrong, and sets of spheres that are made:
// filled meshes and strewn spheres.

#include "fixture.h"
#include "test.h"

#include "carom/carom.h"
#include "io/sphere_file.h"
#include "scene/sphere_sampling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const io_sphere_reading plain = { .default_radius = -1 };

static char folder[64];

static void remove_folder(void)
{
	if (folder[0])
		rmdir(folder);
}

// A path in a folder of this process. Valid until the next call.
static const char *temporary(const char *name)
{
	static char path[128];
	if (!folder[0]) {
		strcpy(folder, "/tmp/carom-spheres-XXXXXX");
		REQUIRE(mkdtemp(folder) != NULL);
		atexit(remove_folder);
	}
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void write_bytes(const char *name, const void *bytes, size_t size)
{
	FILE *file = fopen(temporary(name), "wb");
	REQUIRE(file != NULL);
	CHECK_INT(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

// Write bytes to a file, load it, remove it.
static bool load_bytes(
	const void *bytes, size_t size, const io_sphere_reading *reading, io_sphere_set *spheres, sim_error *error)
{
	write_bytes("in", bytes, size);
	const bool done = io_load_spheres(temporary("in"), reading, spheres, error);
	remove(temporary("in"));
	return done;
}

static bool is_empty(const io_sphere_set *s)
{
	const io_sphere_set empty = { 0 };
	return memcmp(s, &empty, sizeof empty) == 0;
}

// The file must be refused with exactly this sentence, and leave nothing behind.
static void check_refused(const void *bytes, size_t size, const char *sentence)
{
	io_sphere_set set;
	sim_error error = { "" };
	if (!CHECK(!load_bytes(bytes, size, &plain, &set, &error)))
		io_free_spheres(&set);
	CHECK_STR(error.text, sentence);
	CHECK(is_empty(&set));
}

static void check_text_refused(const char *text, const char *sentence) { check_refused(text, strlen(text), sentence); }

static io_sphere_set load_text(const char *text, const io_sphere_reading *reading)
{
	io_sphere_set set;
	sim_error error = { "" };
	if (!load_bytes(text, strlen(text), reading, &set, &error)) {
		CHECK_STR(error.text, "");
		test_stop();
	}
	return set;
}

static void check_sphere(const io_sphere_set *set, int64_t i, double x, double y, double z, double radius)
{
	double s[4];
	REQUIRE(i < set->count);
	io_get_sphere(set, i, s);
	CHECK_NEAR(s[0], x, 0);
	CHECK_NEAR(s[1], y, 0);
	CHECK_NEAR(s[2], z, 0);
	CHECK_NEAR(s[3], radius, 0);
}

// Every finite bit pattern may come up, denormal ones too; radii without the sign.
static io_sphere_set random_set(int64_t count, bool wide, uint64_t seed)
{
	io_sphere_set set;
	REQUIRE(io_allocate_spheres(&set, count, wide));
	for (int64_t i = 0; i < 4 * count; i++) {
		uint64_t bits = test_random(&seed);
		if (wide) {
			if ((bits >> 52 & 0x7ff) == 0x7ff)
				bits ^= (uint64_t)1 << 52;
			double value;
			memcpy(&value, &bits, sizeof value);
			((double *)set.values)[i] = i % 4 == 3 ? fabs(value) : value;
		} else {
			uint32_t low = (uint32_t)bits;
			if ((low >> 23 & 0xff) == 0xff)
				low ^= (uint32_t)1 << 23;
			float value;
			memcpy(&value, &low, sizeof value);
			((float *)set.values)[i] = i % 4 == 3 ? fabsf(value) : value;
		}
	}
	return set;
}

static io_sphere_set save_and_load(const char *name, const io_sphere_set *set, const io_sphere_reading *reading)
{
	sim_error error = { "" };
	io_sphere_set back = { 0 };
	if (!io_save_spheres(temporary(name), set, &error) || !io_load_spheres(temporary(name), reading, &back, &error)) {
		CHECK_STR(error.text, "");
		test_stop();
	}
	remove(temporary(name));
	return back;
}

// ---- Snapshots ----

TEST(sphere_file, snapshot_comes_back_bit_for_bit)
{
	io_sphere_set set = random_set(1000, false, 3);
	set.has_walls = set.has_expected = true;
	for (int axis = 0; axis < 3; axis++) {
		set.lower[axis] = -1.5f - (float)axis;
		set.upper[axis] = 2.25f + (float)axis;
	}
	set.expected_pairs = 0x0123456789abcdefu;
	set.expected_hash = 0xfedcba9876543210u;
	io_sphere_set back = save_and_load("a.sph", &set, &plain);
	CHECK_INT(back.count, 1000);
	CHECK(!back.wide && back.has_radii && back.has_walls && back.has_expected);
	CHECK(memcmp(back.values, set.values, 16000) == 0);
	CHECK(memcmp(back.lower, set.lower, sizeof set.lower) == 0 && memcmp(back.upper, set.upper, sizeof set.upper) == 0);
	CHECK(back.expected_pairs == set.expected_pairs && back.expected_hash == set.expected_hash);
	io_free_spheres(&back);
	io_free_spheres(&set);
	CHECK(is_empty(&set));
}

// x = 1.5, y = -2, z = 0.25, radius 0.5 in walls 0..1, byte by byte as the format says.
static size_t make_snapshot(unsigned char bytes[80])
{
	static const unsigned char header[64] = { 'S', 'P', 'H', 'E', 'R', 'E', 'S', '1',
		1, [30] = 0x80, [31] = 0x3f, [34] = 0x80, [35] = 0x3f, [38] = 0x80, [39] = 0x3f, [40] = 7, [48] = 0x21, [55] = 0x43 };
	static const unsigned char sphere[16] = { 0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0x80, 0x3e, 0, 0, 0, 0x3f };
	memcpy(bytes, header, 64);
	memcpy(bytes + 64, sphere, 16);
	return 80;
}

TEST(sphere_file, snapshot_bytes_are_those_of_the_format)
{
	unsigned char bytes[80];
	const size_t size = make_snapshot(bytes);
	io_sphere_set set;
	sim_error error;
	REQUIRE(load_bytes(bytes, size, &plain, &set, &error));
	CHECK_INT(set.count, 1);
	check_sphere(&set, 0, 1.5, -2, 0.25, 0.5);
	CHECK(set.has_walls && set.lower[2] == 0 && set.upper[0] == 1 && set.upper[2] == 1);
	CHECK(set.has_expected && set.expected_pairs == 7 && set.expected_hash == 0x4300000000000021u);
	REQUIRE(io_save_spheres(temporary("b.SPH"), &set, &error));
	io_free_spheres(&set);
	FILE *file = fopen(temporary("b.SPH"), "rb");
	REQUIRE(file != NULL);
	unsigned char written[100];
	CHECK_INT(fread(written, 1, sizeof written, file), size);
	CHECK(memcmp(written, bytes, size) == 0);
	fclose(file);
	remove(temporary("b.SPH"));
}

TEST(sphere_file, snapshot_damage_is_named)
{
	unsigned char bytes[96] = { 0 };
	const size_t size = make_snapshot(bytes);
	check_refused(bytes, size + 1, "goes on behind the last of its 1 spheres");
	check_refused(bytes, size + 16, "goes on behind the last of its 1 spheres");
	// Wherever it is cut off, it is an error.
	for (size_t cut = 8; cut < 64; cut++)
		check_refused(bytes, cut, "ends too early, in its header");
	for (size_t cut = 64; cut < 80; cut++)
		check_refused(bytes, cut, "ends too early, in sphere 0 of 1");
	// Cut off in the magic word it is text, which is no sphere either.
	for (size_t cut = 1; cut < 8; cut++) {
		io_sphere_set set;
		sim_error error;
		CHECK(!load_bytes(bytes, cut, &plain, &set, &error));
	}
	check_refused(bytes, 0, "is empty");
	static const struct {
		int at;
		unsigned char byte;
		const char *sentence;
	} damages[] = {
		{ 7, '2', "is not a file of spheres: it is neither SPHERES1 nor PLY nor text" },
		{ 8, 2, "ends too early, in sphere 1 of 2" },
		{ 8, 0, "goes on behind the last of its 0 spheres" },
		{ 12, 1, "holds 4294967297 spheres by its header; at most 50000000 can be read" },
		{ 15, 0x80, "holds 9223372036854775809 spheres by its header; at most 50000000 can be read" },
		{ 11, 2, "ends too early, in sphere 1 of 33554433" },
		{ 31, 0xbf, "the box of the walls is damaged: x from 0 to -1" },
		{ 39, 0x7f, "the box of the walls is damaged: z from 0 to inf" },
		{ 56, 1, "is damaged or of another version: the last eight bytes of its header are not zero" },
		{ 63, 1, "is damaged or of another version: the last eight bytes of its header are not zero" },
		{ 67, 0x7f, "sphere 0: x is not finite" },
		{ 79, 0xbf, "sphere 0: the radius is negative" },
	};
	for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
		make_snapshot(bytes);
		bytes[damages[i].at] = damages[i].byte;
		check_refused(bytes, size, damages[i].sentence);
	}
	static const char *const words[] = { "sphere 0: x is not finite", "sphere 0: y is not finite", "sphere 0: z is not finite",
		"sphere 0: the radius is not finite" };
	for (int k = 0; k < 4; k++)
		for (int infinite = 0; infinite < 2; infinite++) {
			make_snapshot(bytes);
			bytes[64 + 4 * k + 3] = 0x7f;
			bytes[64 + 4 * k + 2] = infinite ? 0x80 : 0xc0;
			check_refused(bytes, size, words[k]);
		}
}

TEST(sphere_file, snapshot_without_pairs_or_walls)
{
	unsigned char bytes[80];
	const size_t size = make_snapshot(bytes);
	memset(bytes + 16, 0, 40);
	io_sphere_set set;
	sim_error error;
	REQUIRE(load_bytes(bytes, size, &plain, &set, &error));
	CHECK(!set.has_expected && !set.has_walls);
	// Written again, the walls are the box of the spheres.
	io_sphere_set back = save_and_load("a.sph", &set, &plain);
	CHECK(back.has_walls && !back.has_expected);
	CHECK_NEAR(back.lower[0], 1, 0);
	CHECK_NEAR(back.lower[1], -2.5, 0);
	CHECK_NEAR(back.upper[1], -1.5, 0);
	CHECK_NEAR(back.upper[2], 0.75, 0);
	io_free_spheres(&set);
	io_free_spheres(&back);
	// That box holds spheres whose sides are no floats.
	set = load_text("0.1 16777216 -16777216 0.7\n", &plain);
	back = save_and_load("a.sph", &set, &plain);
	for (int axis = 0; axis < 3; axis++) {
		double s[4];
		io_get_sphere(&set, 0, s);
		CHECK((double)back.lower[axis] <= s[axis] - s[3] && (double)back.upper[axis] >= s[axis] + s[3]);
	}
	io_free_spheres(&set);
	io_free_spheres(&back);
}

TEST(sphere_file, no_spheres_are_a_set_too)
{
	io_sphere_set none = { 0 };
	io_sphere_set back = save_and_load("none.sph", &none, &plain);
	CHECK_INT(back.count, 0);
	CHECK_INT(io_sphere_input(&back).count, 0);
	io_free_spheres(&back);
	back = save_and_load("none.csv", &none, &plain);
	CHECK_INT(back.count, 0);
	io_free_spheres(&back);
}

// ---- CSV ----

TEST(sphere_file, csv_comes_back_bit_for_bit)
{
	for (int wide = 0; wide < 2; wide++) {
		io_sphere_set set = random_set(500, wide, 5);
		const io_sphere_reading reading = { .default_radius = -1, .wide = wide };
		io_sphere_set back = save_and_load("a.CSV", &set, &reading);
		CHECK_INT(back.count, 500);
		CHECK_INT(back.wide, wide);
		CHECK(back.has_radii && !back.has_walls && !back.has_expected);
		CHECK(memcmp(back.values, set.values, wide ? 16000 : 8000) == 0);
		io_free_spheres(&back);
		io_free_spheres(&set);
	}
}

TEST(sphere_file, csv_with_and_without_a_header)
{
	static const char *const texts[] = {
		"1,2,3,0.5\n-4,5e-1,6,0.25\n", "1;2;3;0.5\r\n-4;.5;6;0.25\r\n",
		"1 2 3 0.5\n\n# a comment\n   \n-4\t0.5\t6\t0.25", // blanks, an empty line, no end of the last line
		"x,y,z,r\n1,2,3,0.5\n-4,0.5,6,0.25\n", "\xef\xbb\xbfX, y, z, radius\n 1 , 2 , 3 , 0.5 \n -4 , 0.5 , 6 , 0.25 \n",
		"id,RADIUS,z,y,x,name\n7,0.5,3,2,1,ball one\n8,0.25,6,0.5,-4,\n",
		"\"scale\",\"Points:0\",\"Points:1\",\"Points:2\",\"v,w\"\n0.5,1,2,3,\"a,b\"\n0.25,-4,0.5,6,\"\"\n",
		"#x y z r\n1 2 3 0.5\r-4 0.5 6 0.25\r", // lines ended by CR alone
	};
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		io_sphere_set set = load_text(texts[i], &plain);
		if (!CHECK_INT(set.count, 2))
			printf("  in text %zu\n", i);
		check_sphere(&set, 0, 1, 2, 3, 0.5);
		check_sphere(&set, 1, -4, 0.5, 6, 0.25);
		CHECK(set.has_radii && !set.wide);
		io_free_spheres(&set);
	}
}

TEST(sphere_file, csv_without_radii)
{
	const io_sphere_reading given = { .default_radius = 0.125 };
	static const char *const texts[] = { "1,2,3\n4,5,6\n", "x,y,z\n1,2,3\n4,5,6\n", "z,mass,y,x\n3,9,2,1\n6,9,5,4\n" };
	static const char *const sentences[] = { "line 1: has no radii: there is no column r",
		"line 1: has no radii: there is no column r", "line 1: has no radii: there is no column r" };
	for (int i = 0; i < 3; i++) {
		io_sphere_set set = load_text(texts[i], &given);
		CHECK_INT(set.count, 2);
		CHECK(!set.has_radii);
		check_sphere(&set, 1, 4, 5, 6, 0.125);
		io_free_spheres(&set);
		check_text_refused(texts[i], sentences[i]);
	}
	// Radii of the file go before the default.
	io_sphere_set set = load_text("1,2,3,4\n", &given);
	CHECK(set.has_radii);
	check_sphere(&set, 0, 1, 2, 3, 4);
	io_free_spheres(&set);
}

TEST(sphere_file, csv_numbers_become_floats_or_doubles)
{
	// 1 + 2^-24 + 2^-60: above the middle between two floats, on it as double.
	static const char text[] = "1.000000059604644775391492361737988403547205962240695953369140625,0.1,16777217,0\n";
	const io_sphere_reading wide = { .default_radius = -1, .wide = true };
	io_sphere_set set = load_text(text, &plain);
	check_sphere(&set, 0, 1.00000011920928955078125, (double)0.1f, 16777216, 0);
	io_free_spheres(&set);
	set = load_text(text, &wide);
	CHECK(set.wide);
	check_sphere(&set, 0, 1.000000059604644775390625, 0.1, 16777217, 0);
	io_free_spheres(&set);
	// Beyond the floats, within the doubles.
	check_text_refused("0,0,1e39,1\n", "line 1: z is not finite");
	set = load_text("0,0,1e39,1\n", &wide);
	check_sphere(&set, 0, 0, 0, 1e39, 1);
	io_free_spheres(&set);
}

TEST(sphere_file, csv_says_which_line_is_wrong)
{
	check_text_refused("x,y,z,r\n\n1,2,3,4\n1,two,3,4\n", "line 4: this is not a number: two");
	check_text_refused("1,2,3,4\n1,2,,4\n", "line 2: this is not a number: ");
	check_text_refused("1,2,3,4\n1,2,3x,4\n", "line 2: this is not a number: 3x");
	check_text_refused("1,2,3,4\n# c\r\n1,2,3\r\n", "line 3: has 3 columns; the first line has 4");
	check_text_refused("1,2,3,4\n1,2,3,4,5\n", "line 2: has 5 columns; the first line has 4");
	check_text_refused("x,y,z,r\n1\n", "line 2: has 1 column; the first line has 4");
	check_text_refused(
		"1,2\n", "line 1: has 2 columns; x, y, z and perhaps the radius are wanted, or a line before that names the columns");
	check_text_refused("1,2,3,4,5\n",
		"line 1: has 5 columns; x, y, z and perhaps the radius are wanted, or a line before that names the columns");
	check_text_refused("1,2,c,4\n", "line 1: this is not a number: c");
	check_text_refused("a,b\n1,2\n", "line 1: names no column x; columns x, y, z and r are wanted");
	check_text_refused("x,z,r\n1,2,3\n", "line 1: names no column y; columns x, y, z and r are wanted");
	check_text_refused("x,y,z,r,radius\n1,2,3,4,5\n", "line 1: names two columns radius");
	check_text_refused("1,nan,3,4\n", "line 1: y is not finite");
	check_text_refused("1,2,3,4\n1,2,-inf,4\n", "line 2: z is not finite");
	check_text_refused("1,2,3,inf\n", "line 1: the radius is not finite");
	check_text_refused("1,2,3,-1e-9\n", "line 1: the radius is negative");
	check_text_refused("# nothing\n\n", "holds no spheres");
	check_refused("1,2,3,4\n\0 1,2,3,4\n", 18, "is not a file of spheres: it is neither SPHERES1 nor PLY nor text");
}

// ---- PLY ----

TEST(sphere_file, ply_points_as_text)
{
	static const char *const names[] = { "radius", "r", "scale" };
	for (int i = 0; i < 3; i++) {
		char text[512];
		snprintf(text, sizeof text,
			"ply\r\nformat ascii 1.0\r\nelement camera 1\r\nproperty list uchar int n\r\nelement vertex 2\r\nproperty uchar red\r\n"
			"property double %s\r\nproperty float z\r\nproperty list uchar float w\r\nproperty float y\r\nproperty int x\r\n"
			"end_header\r\n3 7 8 9\r\n255 0.5 3 2 9 9 2 1\r\n0 0.25 6 0 0.5 -4\r\n",
			names[i]);
		io_sphere_set set = load_text(text, &plain);
		CHECK_INT(set.count, 2);
		CHECK(set.has_radii);
		check_sphere(&set, 0, 1, 2, 3, 0.5);
		check_sphere(&set, 1, -4, 0.5, 6, 0.25);
		io_free_spheres(&set);
	}
}

// A row of double x, short y, float z, float radius in both byte orders, written byte by byte.
TEST(sphere_file, ply_points_in_both_byte_orders)
{
	static const unsigned char row[] = { 0x3f, 0xb9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a, /* 0.1 */ 0xff, 0xfe, /* -2 */ 0x40,
		0x48, 0xf5, 0xc3, /* 3.14f */ 0x3e, 0x80, 0, 0 /* 0.25 */ };
	static const int parts[] = { 8, 2, 4, 4 };
	for (int little = 0; little < 2; little++) {
		unsigned char bytes[512];
		size_t size = (size_t)snprintf((char *)bytes, sizeof bytes,
			"ply\nformat binary_%s_endian 1.0\nelement vertex 3\nproperty double x\nproperty short y\nproperty float z\n"
			"property float radius\nend_header\n",
			little ? "little" : "big");
		const size_t header = size;
		for (int i = 0; i < 3; i++)
			for (int part = 0, at = 0; part < 4; at += parts[part++])
				for (int k = 0; k < parts[part]; k++)
					bytes[size++] = row[at + (little ? parts[part] - 1 - k : k)];
		for (int wide = 0; wide < 2; wide++) {
			const io_sphere_reading reading = { .default_radius = -1, .wide = wide };
			io_sphere_set set;
			sim_error error;
			REQUIRE(load_bytes(bytes, size, &reading, &set, &error));
			CHECK_INT(set.count, 3);
			for (int i = 0; i < 3; i++)
				check_sphere(&set, i, wide ? 0.1 : (double)0.1f, -2, (double)3.14f, 0.25);
			io_free_spheres(&set);
		}
		for (size_t cut = 1; cut < size - header; cut++) {
			io_sphere_set set;
			sim_error error;
			CHECK(!load_bytes(bytes, size - cut, &plain, &set, &error));
			CHECK(strstr(error.text, ": ends too early") != NULL && strncmp(error.text, "byte ", 5) == 0);
		}
	}
}

TEST(sphere_file, ply_says_what_is_wrong)
{
#define START "ply\nformat ascii 1.0\n"
#define XYZ "property float x\nproperty float y\nproperty float z\n"
	check_text_refused(
		START "element vertex 1\n" XYZ "end_header\n1 2 3\n", "line 3: has no radii: no property radius, r or scale");
	check_text_refused(START "element vertex 1\nproperty float x\nproperty float z\nproperty float r\nend_header\n1 2 3\n",
		"line 3: the element vertex has no x, y and z");
	check_text_refused(START "element vertex 1\n" XYZ "property float r\nproperty float scale\nend_header\n1 2 3 4 5\n",
		"line 3: the element vertex has more than one radius");
	check_text_refused(START "element vertex 1\n" XYZ "property list uchar float r\nend_header\n1 2 3 1 4\n",
		"line 3: has no radii: no property radius, r or scale");
	check_text_refused(START "element face 0\nproperty list uchar int vertex_indices\nend_header\n",
		"holds no points: there is no element vertex");
	check_text_refused(START "element vertex 2\n" XYZ "property float r\nend_header\n1 2 3 4\n5 6 7 nan\n",
		"line 10: vertex 1: the radius is not finite");
	check_text_refused(
		START "element vertex 1\n" XYZ "property float r\nend_header\n1 2 3 -4\n", "line 9: vertex 0: the radius is negative");
	check_text_refused(
		START "element vertex 1\n" XYZ "property float r\nend_header\n1 2 c 4\n", "line 9: vertex 0: this is not a number: c");
	check_text_refused(START "element vertex 2\n" XYZ "property float r\nend_header\n1 2 3 4\n5 6\n",
		"line 11: ends too early, in vertex 1 of 2");
	check_text_refused(START "element vertex 2000000000\n" XYZ "property float r\nend_header\n1 2 3 4\n",
		"line 10: ends too early: 2000000000 points do not fit in it");
	check_text_refused("ply\nformat morse 1.0\nend_header\n", "line 2: the header names an unknown format: morse");
	const io_sphere_reading given = { .default_radius = 2 };
	io_sphere_set set = load_text(START "element vertex 1\n" XYZ "end_header\n1 2 3\n", &given);
	CHECK(!set.has_radii);
	check_sphere(&set, 0, 1, 2, 3, 2);
	io_free_spheres(&set);
}

// ---- What a file is, and writing ----

static bool is_sphere_file(const char *path)
{
	sim_error error;
	io_input input;
	const bool answer = io_open_input(&input, path, &error) && io_holds_spheres(&input);
	io_close_input(&input);
	return answer;
}

TEST(sphere_file, kinds_are_told_apart)
{
	unsigned char bytes[80];
	make_snapshot(bytes);
	static const char points[] = START "element vertex 1\n" XYZ "end_header\n1 2 3\n";
	static const char mesh[] =
		START "element vertex 1\n" XYZ "element face 0\nproperty list uchar int vertex_indices\nend_header\n1 2 3\n";
	const struct {
		const char *name;
		const void *bytes;
		size_t size;
		bool spheres;
	} files[] = { { "a.bin", bytes, 80, true }, { "a.ply", points, sizeof points - 1, true },
		{ "m.ply", mesh, sizeof mesh - 1, false }, { "a.csv", "1,2,3,4\n", 8, true }, { "a.txt", "1,2,3,4\n", 8, false },
		{ "a.obj", "v 0 0 0\n", 8, false }, { "e.sph", "", 0, false } };
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		write_bytes(files[i].name, files[i].bytes, files[i].size);
		if (!CHECK_INT(is_sphere_file(temporary(files[i].name)), files[i].spheres))
			printf("  of %s\n", files[i].name);
		remove(temporary(files[i].name));
	}
}

TEST(sphere_file, saving_refuses_what_cannot_be_read_back)
{
	sim_error error;
	double values[8] = { 0, 0, 0, 1, 0, 1e39, 0, 1 };
	io_sphere_set set = { .count = 2, .wide = true, .values = values, .has_radii = true };
	CHECK(!io_save_spheres(temporary("x.sph"), &set, &error));
	CHECK_STR(error.text, "sphere 1: y is not finite"); // as float
	CHECK(io_save_spheres(temporary("x.csv"), &set, &error));
	remove(temporary("x.csv"));
	values[7] = -1;
	CHECK(!io_save_spheres(temporary("x.csv"), &set, &error));
	CHECK_STR(error.text, "sphere 1: the radius is negative");
	values[7] = 1;
	CHECK(!io_save_spheres(temporary("x.obj"), &set, &error));
	CHECK_STR(error.text, "no format of spheres has this extension; use .sph or .csv");
	CHECK(!io_save_spheres(temporary("no/x.csv"), &set, &error));
	CHECK_STR(error.text, "cannot be written: No such file or directory");
	CHECK(!io_load_spheres(temporary("x.csv"), &plain, &set, &error));
	CHECK_STR(error.text, "cannot be opened: No such file or directory");
	CHECK(!io_load_spheres(folder, &plain, &set, &error));
	CHECK_STR(error.text, "cannot be read: Is a directory");
	CHECK(!io_allocate_spheres(&set, -1, false) && is_empty(&set));
	CHECK(!io_allocate_spheres(&set, CAROM_MAX_SPHERES + 1, false) && is_empty(&set));
}

// What the library is given, read as it would read it.
TEST(sphere_file, input_names_each_value)
{
	for (int wide = 0; wide < 2; wide++) {
		io_sphere_set set = random_set(10, wide, 9);
		const carom_sphere_input input = io_sphere_input(&set);
		CHECK_INT(input.count, 10);
		CHECK(input.ids == NULL && input.moved < 0);
		for (int64_t i = 0; i < 10; i++) {
			double s[4];
			io_get_sphere(&set, i, s);
			for (int k = 0; k < 4; k++) {
				const carom_strided *array = k < 3 ? &input.centres : &input.radii;
				const char *at = (const char *)array->data + i * array->stride + (k % 3) * (wide ? 8 : 4);
				double value;
				float narrow;
				memcpy(&value, at, wide ? 8 : 4);
				memcpy(&narrow, at, 4);
				CHECK_INT(array->type, wide ? CAROM_FLOAT64 : CAROM_FLOAT32);
				CHECK((wide ? value : (double)narrow) == s[k]);
			}
		}
		io_free_spheres(&set);
	}
}

// The first numbers of splitmix64 from the seeds 1 << 32 | 2 and 3 << 32 | 4, added.
TEST(sphere_file, hash_does_not_depend_on_the_order)
{
	const carom_sphere_pair pairs[] = { { 1, 2 }, { 3, 4 } }, turned[] = { { 3, 4 }, { 1, 2 } };
	uint64_t a = (uint64_t)1 << 32 | 2, b = (uint64_t)3 << 32 | 4;
	const uint64_t expected = test_random(&a) + test_random(&b);
	CHECK(io_hash_sphere_pairs(pairs, 2) == expected);
	CHECK(io_hash_sphere_pairs(turned, 2) == expected);
	CHECK(io_hash_sphere_pairs(pairs, 1) != expected);
	CHECK(io_hash_sphere_pairs(NULL, 0) == 0);
}

// ---- Filling a mesh ----

static carom_mesh *make_mesh(carom_context *context, const sim_mesh *mesh)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ mesh->vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = mesh->vertex_count;
	def.triangles = mesh->triangles;
	def.triangle_count = mesh->triangle_count;
	carom_mesh *made;
	REQUIRE(carom_create_mesh(context, &def, NULL, &made) == CAROM_SUCCESS);
	return made;
}

static io_sphere_set sample(carom_context *context, const sim_mesh *mesh, const scene_sampling *sampling, double *spacing)
{
	io_sphere_set set;
	sim_error error = { "" };
	if (!scene_sample_mesh(context, mesh, sampling, &set, spacing, &error)) {
		CHECK_STR(error.text, "");
		test_stop();
	}
	return set;
}

static int64_t count_outside(carom_context *context, const sim_mesh *mesh, const io_sphere_set *set)
{
	carom_mesh *made = make_mesh(context, mesh);
	int64_t outside = 0;
	for (int64_t i = 0; i < set->count; i++) {
		double s[4];
		bool inside;
		io_get_sphere(set, i, s);
		REQUIRE(carom_mesh_contains(made, (carom_vec3){ s[0], s[1], s[2] }, &inside) == CAROM_SUCCESS);
		outside += !inside;
	}
	carom_release_mesh(made);
	return outside;
}

static int64_t count_touching(const io_sphere_set *set)
{
	int64_t touching = 0;
	for (int64_t i = 0; i < set->count; i++)
		for (int64_t j = i + 1; j < set->count; j++) {
			double a[4], b[4];
			io_get_sphere(set, i, a);
			io_get_sphere(set, j, b);
			const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2], reach = a[3] + b[3];
			touching += x * x + y * y + z * z <= reach * reach;
		}
	return touching;
}

typedef struct sampled {
	carom_context *context;
	sim_mesh mesh;
} sampled;

static sampled begin_sampling(const char *shape, int32_t triangles)
{
	sampled s;
	sim_error error;
	REQUIRE(carom_create_context(NULL, &s.context) == CAROM_SUCCESS);
	REQUIRE(sim_make_shape(shape, triangles, 1, &s.mesh, &error));
	return s;
}

static void end_sampling(sampled *s)
{
	sim_mesh_free(&s->mesh);
	carom_destroy_context(s->context);
}

TEST(sphere_sampling, any_count_is_reached_inside_the_mesh)
{
	static const char *const shapes[] = { "lumpy", "torus" };
	static const int64_t counts[] = { 1, 2, 3, 10, 63, 64, 65, 500, 4321 };
	for (int m = 0; m < 2; m++) {
		sampled s = begin_sampling(shapes[m], 600);
		double last = INFINITY;
		for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
			scene_sampling sampling = scene_default_sampling();
			sampling.count = counts[i];
			sampling.jitter = 0.5;
			double spacing;
			io_sphere_set set = sample(s.context, &s.mesh, &sampling, &spacing);
			CHECK_INT(set.count, counts[i]);
			CHECK_INT(count_outside(s.context, &s.mesh, &set), 0);
			CHECK(spacing <= last);
			last = spacing;
			// Radius 0: as large as they can be without touching.
			double xyzr[4];
			io_get_sphere(&set, 0, xyzr);
			CHECK_NEAR(xyzr[3], 0.25 * spacing, 1e-6 * spacing);
			CHECK_INT(count_touching(&set), 0);
			io_free_spheres(&set);
		}
		end_sampling(&s);
	}
}

// A block of 1 x 1 x 1 holds a known number of lattice points.
TEST(sphere_sampling, the_lattice_of_a_cube)
{
	static float vertices[24];
	static int32_t triangles[36] = { 0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6,
		1, 3, 5, 3, 7, 5 };
	for (int i = 0; i < 24; i++)
		vertices[i] = (float)(i / 3 >> (i % 3) & 1);
	const sim_mesh cube = { .vertex_count = 8, .triangle_count = 12, .vertices = vertices, .triangles = triangles };
	carom_context *context;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	scene_sampling sampling = scene_default_sampling();
	sampling.radius = 0.045; // 2 * 0.045 / 0.9: a spacing of 0.1, ten points a side
	double spacing;
	io_sphere_set set = sample(context, &cube, &sampling, &spacing);
	CHECK_NEAR(spacing, 0.1, 1e-12);
	CHECK_INT(set.count, 1000);
	CHECK_INT(count_outside(context, &cube, &set), 0);
	CHECK_INT(count_touching(&set), 0);
	// Each cell of the lattice has its sphere, off the middle by at most half a tenth of the spacing.
	bool taken[1000] = { false };
	double off = 0;
	for (int64_t i = 0; i < set.count; i++) {
		double s[4];
		io_get_sphere(&set, i, s);
		int cell = 0;
		for (int axis = 2; axis >= 0; axis--) {
			const double at = s[axis] / spacing;
			cell = 10 * cell + (int)at;
			off = fmax(off, fabs(at - floor(at) - 0.5));
		}
		REQUIRE(cell >= 0 && cell < 1000);
		CHECK(!taken[cell]);
		taken[cell] = true;
	}
	CHECK(off <= 0.05 + 1e-6 && off > 0.04);
	io_free_spheres(&set);
	end_sampling(&(sampled){ .context = context });
}

TEST(sphere_sampling, same_seed_same_bytes_and_mixed_radii)
{
	sampled s = begin_sampling("lumpy", 902);
	scene_sampling sampling = scene_default_sampling();
	sampling.count = 3000;
	sampling.radius = 0.02;
	sampling.mix = true;
	double spacing;
	io_sphere_set set = sample(s.context, &s.mesh, &sampling, &spacing);
	io_sphere_set again = sample(s.context, &s.mesh, &sampling, &spacing);
	CHECK(memcmp(set.values, again.values, 3000 * 16) == 0);
	io_free_spheres(&again);
	sampling.seed = 2;
	again = sample(s.context, &s.mesh, &sampling, &spacing);
	CHECK(memcmp(set.values, again.values, 3000 * 16) != 0);
	int64_t halves = 0, descents = 0;
	for (int64_t i = 0; i < 3000; i++) {
		double xyzr[4], next[4];
		io_get_sphere(&set, i, xyzr);
		io_get_sphere(&set, i < 2999 ? i + 1 : i, next);
		CHECK(xyzr[3] == (double)0.02f || xyzr[3] == (double)0.01f);
		halves += xyzr[3] == (double)0.01f;
		descents += next[2] < xyzr[2];
	}
	// Five standard deviations about one half; the order is random too.
	CHECK(llabs(halves - 1500) < 137);
	CHECK(llabs(descents - 1500) < 137);
	io_free_spheres(&set);
	io_free_spheres(&again);
	end_sampling(&s);
}

// The spheres of a torus lie as its volume does: none in the hole, as many on one side as on the other.
TEST(sphere_sampling, fills_evenly)
{
	sampled s = begin_sampling("torus", 600);
	scene_sampling sampling = scene_default_sampling();
	sampling.count = 5000;
	double spacing;
	io_sphere_set set = sample(s.context, &s.mesh, &sampling, &spacing);
	carom_mesh *made = make_mesh(s.context, &s.mesh);
	carom_mass mass;
	REQUIRE(carom_mesh_get_mass(made, &mass) == CAROM_SUCCESS);
	double mean[3] = { 0, 0, 0 };
	for (int64_t i = 0; i < set.count; i++) {
		double xyzr[4];
		io_get_sphere(&set, i, xyzr);
		for (int axis = 0; axis < 3; axis++)
			mean[axis] += xyzr[axis] / (double)set.count;
	}
	CHECK_NEAR(mean[0], mass.centre.x, 0.1 * spacing);
	CHECK_NEAR(mean[1], mass.centre.y, 0.1 * spacing);
	CHECK_NEAR(mean[2], mass.centre.z, 0.1 * spacing);
	carom_release_mesh(made);
	io_free_spheres(&set);
	end_sampling(&s);
}

static void check_not_sampled(const sampled *s, const scene_sampling *sampling, const char *sentence)
{
	io_sphere_set set;
	double spacing;
	sim_error error = { "" };
	CHECK(!scene_sample_mesh(s->context, &s->mesh, sampling, &set, &spacing, &error));
	CHECK_STR(error.text, sentence);
	CHECK(is_empty(&set));
}

TEST(sphere_sampling, says_what_is_wrong)
{
	static const char misuse[] =
		"the sampling is wrong: it needs a radius above 0 or a count of 1 to 50000000, and a jitter from 0 to below 1";
	sampled s = begin_sampling("lumpy", TEST_FEWER > 1 ? 300 : 902);
	scene_sampling sampling = scene_default_sampling();
	check_not_sampled(&s, &sampling, misuse);
	sampling.radius = -1;
	check_not_sampled(&s, &sampling, misuse);
	sampling.radius = NAN;
	check_not_sampled(&s, &sampling, misuse);
	sampling.radius = 0.1;
	sampling.jitter = 1;
	check_not_sampled(&s, &sampling, misuse);
	sampling.jitter = 0.1;
	sampling.count = CAROM_MAX_SPHERES + 1;
	check_not_sampled(&s, &sampling, misuse);
	sampling.count = 0;
	sampling.radius = 1e-9;
	check_not_sampled(&s, &sampling, "would need more than a million spheres along an axis; choose a larger radius");
	sampling.radius = 0.0005;
	check_not_sampled(&s, &sampling, "holds more spheres than the 50000000 that a set can have; choose a larger radius");
	// A ring, whose middle is outside of it.
	sim_mesh thin;
	sim_error error;
	REQUIRE(sim_make_shape("torus", 600, 1, &thin, &error));
	const sampled ring = { s.context, thin };
	sampling.radius = 10;
	check_not_sampled(&ring, &sampling, "has no room for a sphere of this radius: no point of the lattice is inside");
	sampling.radius = 0.1;
	thin.triangle_count--;
	check_not_sampled(&(sampled){ s.context, thin }, &sampling, "is not closed, so it has no inside to fill");
	thin.triangles[4] = 9999;
	CHECK(!scene_sample_mesh(s.context, &thin, &sampling, &(io_sphere_set){ 0 }, &(double){ 0 }, &error));
	CHECK(strstr(error.text, "triangle 1") != NULL);
	sim_mesh_free(&thin);
	end_sampling(&s);
}

// A sheet a millionth as thick as it is wide: an error after a while, not a search for hours.
TEST(sphere_sampling, gives_up_on_a_sheet)
{
	sampled s = begin_sampling("lumpy", 902);
	for (int32_t i = 0; i < s.mesh.vertex_count; i++)
		s.mesh.vertices[3 * i + 2] = s.mesh.vertices[3 * i + 2] * 1e-6f + 0.25f * s.mesh.vertices[3 * i];
	scene_sampling sampling = scene_default_sampling();
	sampling.count = 2000;
	check_not_sampled(&s, &sampling, "is too thin to hold that many spheres");
	end_sampling(&s);
}

// Whichever allocation of the library fails, it is an error, and what was taken is given back.
TEST(sphere_sampling, survives_failing_allocations)
{
	sim_mesh mesh;
	sim_error error;
	REQUIRE(sim_make_shape("torus", 600, 1, &mesh, &error));
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	const long long held = atomic_load(&heap.blocks);
	scene_sampling sampling = scene_default_sampling();
	sampling.count = 50;
	bool done = false;
	int failures = 0;
	while (!done) {
		io_sphere_set set;
		double spacing;
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + failures);
		error.text[0] = '\0';
		done = scene_sample_mesh(context, &mesh, &sampling, &set, &spacing, &error);
		CHECK_INT(atomic_load(&heap.blocks), held);
		if (!done) {
			CHECK(error.text[0] != '\0' && is_empty(&set));
			failures++;
		}
		io_free_spheres(&set);
	}
	CHECK(failures > 3);
	carom_destroy_context(context);
	sim_mesh_free(&mesh);
}

// ---- Spheres at random ----

TEST(sphere_sampling, strewn_spheres_are_uniform)
{
	enum { COUNT = 20000 };
	io_sphere_set set, again;
	REQUIRE(scene_strew_spheres(COUNT, 0.0005, 0.06, 16, 7, &set));
	REQUIRE(scene_strew_spheres(COUNT, 0.0005, 0.06, 16, 7, &again));
	CHECK(memcmp(set.values, again.values, COUNT * 16) == 0);
	io_free_spheres(&again);
	REQUIRE(scene_strew_spheres(COUNT, 0.0005, 0.06, 16, 8, &again));
	CHECK(memcmp(set.values, again.values, COUNT * 16) != 0);
	io_free_spheres(&again);
	CHECK(set.has_walls && set.lower[0] == 0 && set.upper[2] == 16);
	int64_t cells[4][10] = { { 0 } };
	for (int64_t i = 0; i < COUNT; i++) {
		double s[4];
		io_get_sphere(&set, i, s);
		for (int k = 0; k < 4; k++) {
			const double part = k < 3 ? s[k] / 16 : (s[3] - 0.0005) / 0.0595;
			REQUIRE(part > -1e-6 && part < 1 + 1e-6);
			cells[k][part >= 1 ? 9 : part <= 0 ? 0 : (int)(10 * part)]++;
		}
	}
	// A tenth in each, within five standard deviations (42).
	for (int k = 0; k < 4; k++)
		for (int c = 0; c < 10; c++)
			CHECK(llabs(cells[k][c] - COUNT / 10) < 212);
	io_free_spheres(&set);
	CHECK(!scene_strew_spheres(-1, 0, 1, 1, 1, &set) && is_empty(&set));
	REQUIRE(scene_strew_spheres(0, 0, 1, 1, 1, &set));
	CHECK_INT(set.count, 0);
	io_free_spheres(&set);
}

// ---- Real data ----

TEST(sphere_file, snapshots_of_the_collection)
{
	static const struct {
		const char *path;
		int64_t count, pairs;
	} files[] = { { "spheres/dense_100k.sph", 100000, 305867 }, { "spheres/dense_1m.sph", 1000000, 3086736 },
		{ "spheres/floor_250k.sph", 250000, 478197 }, { "spheres/bunny_mix.sph", 82337, 289971 },
		{ "spheres/bunny_half.sph", 82337, 0 } };
	for (int f = 0; f < 5; f++) {
		sim_error error;
		io_sphere_set set;
		REQUIRE(io_load_spheres(test_data_path(files[f].path), &plain, &set, &error));
		CHECK_INT(set.count, files[f].count);
		CHECK_INT(set.expected_pairs, files[f].pairs);
		CHECK_INT(set.has_expected, files[f].pairs != 0);
		CHECK(set.has_walls);
		double s[4];
		io_get_sphere(&set, set.count - 1, s);
		CHECK(s[3] >= 0.0005 && s[3] <= 0.005);
		io_free_spheres(&set);
	}
}
