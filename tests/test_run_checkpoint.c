/// Checkpoints of scenes of any sections as files: parts come back, damage is refused, an old file stays where a new one fails.
#include "scene/run_checkpoint.h"
#include "io/hdf5_file.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Each case is a process, and several run at a time.
static const char *path(void)
{
	static char name[64];
	if (name[0] == 0)
		snprintf(name, sizeof name, "run_checkpoint_%d.h5", (int)getpid());
	return name;
}

static const char *part(void)
{
	static char name[80];
	snprintf(name, sizeof name, "%s.part", path());
	return name;
}

static void write_two(const char *first, const char *second)
{
	sim_error error = { "" };
	scene_checkpoint_part parts[2] = { { "scene", { .writing = true } }, { "bodies", { .writing = true } } };
	sim_tape_move(&parts[0].tape, (void *)first, strlen(first));
	sim_tape_move(&parts[1].tape, (void *)second, strlen(second));
	CHECK(scene_write_checkpoint(path(), parts, 2, &error));
	CHECK_STR(error.text, "");
	for (int i = 0; i < 2; i++)
		sim_free_tape(&parts[i].tape);
}

/// Read the parts "scene" and name. The reason of a failure is in error.
static bool read_two(const char *name, const char *first, const char *second, sim_error *error)
{
	scene_checkpoint_part parts[2] = { { .name = "scene" }, { .name = name } };
	const bool done = scene_read_checkpoint(path(), parts, 2, error);
	if (done) {
		CHECK_STR((const char *)parts[0].tape.bytes, first);
		CHECK_STR((const char *)parts[1].tape.bytes, second);
	}
	for (int i = 0; i < 2; i++)
		sim_free_tape(&parts[i].tape);
	return done;
}

TEST(run_checkpoint, parts_come_back)
{
	sim_error error = { "" };
	write_two("a text", "");
	CHECK(read_two("bodies", "a text", "", &error));
	write_two("another", "state");
	CHECK(read_two("bodies", "another", "state", &error));
	CHECK(!read_two("spheres", NULL, NULL, &error));
	CHECK(strstr(error.text, "holds no \"spheres\"; the scene does") != NULL);
	unlink(path());
	CHECK(!read_two("bodies", NULL, NULL, &error));
	CHECK(strstr(error.text, "cannot be read") != NULL);
}

static void put(const char *bytes, size_t size)
{
	FILE *file = fopen(path(), "wb");
	REQUIRE(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

TEST(run_checkpoint, damaged_files_are_refused)
{
	static char bytes[1 << 16];
	sim_error error;
	write_two("a text of a scene", "state of bodies");
	FILE *file = fopen(path(), "rb");
	REQUIRE(file);
	const size_t size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	REQUIRE(size > 1000 && size < sizeof bytes);
	bool refused = true;
	for (size_t at = 0; at < size; at += at < 540 ? 7 : 31) {
		bytes[at] ^= 0x10;
		put(bytes, size);
		bytes[at] ^= 0x10;
		error.text[0] = 0;
		refused &= !read_two("bodies", "", "", &error) && strncmp(error.text, path(), strlen(path())) == 0;
	}
	CHECK(refused);
	for (size_t cut = 0; cut < size; cut += size / 20) {
		put(bytes, cut);
		CHECK(!read_two("bodies", "", "", &error));
	}
	put(bytes, size);
	CHECK(read_two("bodies", "a text of a scene", "state of bodies", &error));
	unlink(path());
}

/// A whole file of this format, as another program may write it.
static void write_head(const char *format, int32_t version)
{
	const hid_t file = io_create_hdf5(part()), type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
	H5Tset_size(type, strlen(format) + 1);
	const hid_t first = H5Acreate2(file, "format", type, space, H5P_DEFAULT, H5P_DEFAULT);
	const hid_t second = H5Acreate2(file, "version", H5T_NATIVE_INT32, space, H5P_DEFAULT, H5P_DEFAULT);
	const bool written = H5Awrite(first, type, format) >= 0 && H5Awrite(second, H5T_NATIVE_INT32, &version) >= 0;
	H5Aclose(first);
	H5Aclose(second);
	H5Sclose(space);
	H5Tclose(type);
	REQUIRE(io_finish_hdf5(file, part(), path(), written));
}

TEST(run_checkpoint, files_of_other_versions_and_kinds_are_refused)
{
	static const struct {
		const char *format;
		int32_t version;
		const char *text;
	} cases[] = { { "carom-scene", 1, "is a checkpoint of another version" },
		{ "carom-scene", 2, "is a checkpoint of another version" }, { "carom-other", 1, "is no checkpoint" },
		{ "a format whose name is longer than any that we write", 1, "is no checkpoint" },
		{ "carom-granular", 2, "is a checkpoint of a scene of spheres alone, and this scene holds more" },
		{ "carom-scene", 3, "holds no \"scene\"; the scene does" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		sim_error error = { "" };
		write_head(cases[i].format, cases[i].version);
		CHECK(!read_two("bodies", "", "", &error));
		CHECK(strstr(error.text, cases[i].text) != NULL);
	}
	unlink(path());
}

TEST(run_checkpoint, what_cannot_be_written_leaves_the_old_one)
{
	sim_error error = { "" };
	scene_checkpoint_part one = { "scene", { .writing = true } };
	write_two("old", "old");
	REQUIRE(mkdir(part(), 0777) == 0); // so that no file can be made there
	CHECK(!scene_write_checkpoint(path(), &one, 1, &error));
	CHECK(strstr(error.text, "cannot be written") != NULL);
	rmdir(part());
	CHECK(read_two("bodies", "old", "old", &error));
	unlink(path());
	CHECK(!scene_write_checkpoint("no/such/folder.h5", &one, 1, &error));
	char *longest = calloc(1, 5000);
	REQUIRE(longest);
	memset(longest, 'x', 4990);
	CHECK(!scene_write_checkpoint(longest, &one, 1, &error));
	CHECK(strstr(error.text, "the path is too long") != NULL);
	free(longest);
}

static void check_differs(const char *a, const char *b, const char *field)
{
	char at[200];
	CHECK(!scene_texts_agree(a, b, at, sizeof at));
	CHECK_STR(at, field);
	CHECK(!scene_texts_agree(b, a, at, sizeof at));
	CHECK_STR(at, field);
}

TEST(run_checkpoint, scenes_differ_in_a_field_that_is_named)
{
	char at[200];
	CHECK(scene_texts_agree("{\"a\": [1, {\"b\": true}], \"steps\": 3}",
		"{ \"steps\": 4, \"camera\": 7, \"a\": [1.0, {\"b\": true}] }", at, sizeof at));
	CHECK_STR(at, "");
	check_differs("{\"a\": 1}", "{\"a\": 2}", "a");
	check_differs("{\"a\": {\"steps\": 1}}", "{\"a\": {\"steps\": 2}}", "a.steps");
	check_differs("{\"a\": [1, [2, 3]]}", "{\"a\": [1, [2, 4]]}", "a[1][1]");
	check_differs("{\"a\": [1, 2]}", "{\"a\": [1]}", "a[1]");
	check_differs("{\"a\": {}}", "{\"a\": {\"b\": \"x\"}}", "a.b");
	check_differs("{\"a\": {\"b\": \"y\"}}", "{\"a\": {\"b\": \"x\"}}", "a.b");
	check_differs("{\"a\": true}", "{\"a\": false}", "a");
	check_differs("{\"a\": true}", "no text", "the scene");
}

TEST(run_checkpoint, tapes_end)
{
	int32_t number = 7, got = 0;
	sim_tape tape = { .writing = true };
	sim_tape_move(&tape, &number, sizeof number);
	sim_tape_expect(&tape, 5);
	tape.writing = false;
	sim_tape_move(&tape, &got, sizeof got);
	CHECK_INT(got, 7);
	CHECK(!sim_tape_is_done(&tape));
	sim_tape_expect(&tape, 5);
	CHECK(sim_tape_is_done(&tape));
	sim_tape_move(&tape, &got, 1);
	CHECK(tape.failed && !sim_tape_is_done(&tape));
	tape.failed = false;
	tape.at = sizeof number;
	sim_tape_expect(&tape, 6);
	CHECK(tape.failed);
	sim_free_tape(&tape);
}
