// Spheres for ParaView, read back by a reader that knows only what the VTK documentation says of the form.
#include "io/vtk_file.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static void make_folder(void)
{
	snprintf(folder, sizeof folder, "/tmp/carom_vtk_XXXXXX");
	REQUIRE(mkdtemp(folder) != NULL);
}

static void path_of(const char *name, char path[128]) { snprintf(path, 128, "%s/%s", folder, name); }

static void remove_file(const char *name)
{
	char path[128];
	path_of(name, path);
	CHECK_INT(remove(path), 0);
}

static char *read_all(const char *name, size_t *size)
{
	char path[128];
	path_of(name, path);
	FILE *file = fopen(path, "rb");
	REQUIRE(file != NULL);
	char *text = calloc(1, 1 << 20);
	REQUIRE(text != NULL);
	*size = fread(text, 1, (1 << 20) - 1, file);
	fclose(file);
	return text;
}

// The data of an array by its name, and its length in bytes; NULL when the file has none of that name.
static const void *find_array(const char *text, const char *name, const char *type, uint64_t *bytes)
{
	char pattern[120];
	snprintf(pattern, sizeof pattern, "<DataArray type=\"%s\" Name=\"%s\"", type, name);
	const char *place = strstr(text, pattern);
	if (!place)
		return NULL;
	const char *offset = strstr(place, "offset=\""), *data = strstr(text, "<AppendedData encoding=\"raw\">\n_");
	REQUIRE(offset != NULL && data != NULL);
	const char *block = data + strlen("<AppendedData encoding=\"raw\">\n_") + strtoull(offset + 8, NULL, 10);
	memcpy(bytes, block, sizeof *bytes);
	return block + sizeof *bytes;
}

static const double spheres[] = { 1, 2, 3, 0.5, -4, 5.25, 1e-3, 0.125, 7, 8, 9, 2 };
static const float velocities[] = { 1, 0, 0, 0, 2, 0, 0, 0, -3 };
static const uint32_t ids[] = { 2, 0, 1 };

static sim_sphere_cloud make_cloud(int64_t count)
{
	return (sim_sphere_cloud){
		.count = count,
		.centres = { spheres, 4 * sizeof(double), CAROM_FLOAT64 },
		.radii = { spheres + 3, 4 * sizeof(double), CAROM_FLOAT64 },
		.velocities = { velocities, 0, CAROM_FLOAT32 },
		.ids = ids,
	};
}

TEST(vtk_file, every_array_comes_back)
{
	char path[128];
	sim_error error = { "" };
	const sim_sphere_cloud cloud = make_cloud(3);
	make_folder();
	path_of("x.vtp", path);
	REQUIRE(io_write_vtp(path, &cloud, 0.25, &error));
	size_t size;
	char *text = read_all("x.vtp", &size);
	CHECK(strstr(text, "<Piece NumberOfPoints=\"3\" NumberOfVerts=\"1\">") != NULL);
	CHECK(strstr(text, "Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">0.25<") != NULL);
	CHECK(strstr(text, "header_type=\"UInt64\"") != NULL);
	CHECK(size > 30 && !strcmp(text + size - strlen("\n</AppendedData>\n</VTKFile>\n"), "\n</AppendedData>\n</VTKFile>\n"));
	uint64_t bytes;
	float values[9];
	const void *data = find_array(text, "centre", "Float32", &bytes);
	REQUIRE(data != NULL && bytes == sizeof values);
	memcpy(values, data, sizeof values);
	for (int i = 0; i < 9; ++i)
		CHECK_NEAR(values[i], (float)spheres[4 * (i / 3) + i % 3], 0);
	data = find_array(text, "radius", "Float32", &bytes);
	REQUIRE(data != NULL && bytes == 3 * sizeof(float));
	memcpy(values, data, 3 * sizeof(float));
	for (int i = 0; i < 3; ++i)
		CHECK_NEAR(values[i], (float)spheres[4 * i + 3], 0);
	data = find_array(text, "velocity", "Float32", &bytes);
	REQUIRE(data != NULL && bytes == sizeof velocities);
	CHECK(memcmp(data, velocities, sizeof velocities) == 0);
	data = find_array(text, "id", "UInt32", &bytes);
	REQUIRE(data != NULL && bytes == sizeof ids);
	CHECK(memcmp(data, ids, sizeof ids) == 0);
	// One cell of all points.
	static const int32_t cell[] = { 0, 1, 2 }, end[] = { 3 };
	data = find_array(text, "connectivity", "Int32", &bytes);
	REQUIRE(data != NULL && bytes == sizeof cell);
	CHECK(memcmp(data, cell, sizeof cell) == 0);
	data = find_array(text, "offsets", "Int32", &bytes);
	REQUIRE(data != NULL && bytes == sizeof end);
	CHECK(memcmp(data, end, sizeof end) == 0);
	// The arrays fill the block from its beginning to its end: the last one in the file is that of the cell's end.
	CHECK((const char *)data + bytes == text + size - strlen("\n</AppendedData>\n</VTKFile>\n"));
	free(text);
	remove_file("x.vtp");
	CHECK_INT(rmdir(folder), 0);
}

TEST(vtk_file, none_many_and_without_velocities)
{
	enum { COUNT = 10001 }; // more than are written at a time
	char path[128];
	sim_error error = { "" };
	sim_sphere_cloud cloud = make_cloud(0);
	make_folder();
	path_of("x.vtp", path);
	REQUIRE(io_write_vtp(path, &cloud, 0, &error));
	size_t size;
	uint64_t bytes = 1;
	char *text = read_all("x.vtp", &size);
	CHECK(strstr(text, "<Piece NumberOfPoints=\"0\" NumberOfVerts=\"0\">") != NULL);
	REQUIRE(find_array(text, "offsets", "Int32", &bytes) != NULL);
	CHECK_INT(bytes, 0);
	free(text);
	float *many = malloc(sizeof(float[4]) * COUNT);
	REQUIRE(many != NULL);
	for (int i = 0; i < 4 * COUNT; ++i)
		many[i] = (float)i;
	cloud =
		(sim_sphere_cloud){ .count = COUNT, .centres = { many, 16, CAROM_FLOAT32 }, .radii = { many + 3, 16, CAROM_FLOAT32 } };
	REQUIRE(io_write_vtp(path, &cloud, 0, &error));
	text = read_all("x.vtp", &size);
	CHECK(find_array(text, "velocity", "Float32", &bytes) == NULL);
	const char *data = find_array(text, "centre", "Float32", &bytes);
	REQUIRE(data != NULL && bytes == sizeof(float[3]) * COUNT);
	int wrong = 0;
	for (int i = 0; i < COUNT; ++i)
		wrong += memcmp(data + sizeof(float[3]) * (size_t)i, many + 4 * i, sizeof(float[3])) != 0;
	CHECK_INT(wrong, 0);
	// Without ids, a sphere's name is its index.
	data = find_array(text, "id", "UInt32", &bytes);
	REQUIRE(data != NULL && bytes == sizeof(uint32_t) * COUNT);
	uint32_t last;
	memcpy(&last, data + sizeof(uint32_t) * (COUNT - 1), sizeof last);
	CHECK_INT(last, COUNT - 1);
	free(text);
	free(many);
	remove_file("x.vtp");
	CHECK_INT(rmdir(folder), 0);
}

TEST(vtk_file, a_collection_is_whole_after_each_file)
{
	sim_error error = { "" };
	const sim_sphere_cloud cloud = make_cloud(3);
	make_folder();
	io_vtk_series *series = io_create_vtk_series(folder, "run", &error);
	REQUIRE(series != NULL);
	for (int i = 0; i < 70; ++i) {
		REQUIRE(io_vtk_series_add(series, &cloud, 10 * i, 0.5 * i, &error));
		size_t size;
		char *text = read_all("run.pvd", &size), line[120];
		int count = 0;
		for (const char *place = text; (place = strstr(place, "<DataSet ")); ++place)
			++count;
		CHECK_INT(count, i + 1);
		snprintf(line, sizeof line,
			"<DataSet timestep=\"%.17g\" part=\"0\" file=\"run_%09d.vtp\"/>\n</Collection>\n</VTKFile>\n", 0.5 * i, 10 * i);
		CHECK(size > strlen(line) && !strcmp(text + size - strlen(line), line));
		free(text);
	}
	CHECK_INT(io_vtk_series_count(series), 70);
	io_destroy_vtk_series(series);
	io_destroy_vtk_series(NULL);
	for (int i = 0; i < 70; ++i) {
		char name[40];
		snprintf(name, sizeof name, "run_%09d.vtp", 10 * i);
		remove_file(name);
	}
	remove_file("run.pvd");
	CHECK_INT(rmdir(folder), 0);
}

TEST(vtk_file, a_collection_goes_on_behind_a_step)
{
	sim_error error = { "" };
	const sim_sphere_cloud cloud = make_cloud(3);
	make_folder();
	for (int round = 0; round < 2; ++round) {
		// 0, 10, ... 40; then from 25 on, which drops 30 and 40.
		io_vtk_series *series = io_create_vtk_series(folder, "run", &error);
		REQUIRE(series != NULL);
		int64_t last = 7;
		REQUIRE(io_vtk_series_continue(series, 25, &last, &error));
		CHECK_INT(last, round == 0 ? -1 : 20);
		CHECK_INT(io_vtk_series_count(series), round == 0 ? 0 : 3);
		for (int i = 0; i < 5 && round == 0; ++i)
			REQUIRE(io_vtk_series_add(series, &cloud, 10 * i, 0.1 * i, &error));
		if (round == 1)
			REQUIRE(io_vtk_series_add(series, &cloud, 35, 0.35, &error));
		io_destroy_vtk_series(series);
	}
	size_t size;
	char *text = read_all("run.pvd", &size), lines[400];
	snprintf(lines, sizeof lines,
		"<DataSet timestep=\"%.17g\" part=\"0\" file=\"run_000000010.vtp\"/>\n"
		"<DataSet timestep=\"%.17g\" part=\"0\" file=\"run_000000020.vtp\"/>\n"
		"<DataSet timestep=\"%.17g\" part=\"0\" file=\"run_000000035.vtp\"/>\n</Collection>\n</VTKFile>\n",
		0.1, 0.1 * 2, 0.35);
	CHECK(size > strlen(lines) && !strcmp(text + size - strlen(lines), lines));
	free(text);
	static const char *const names[] = { "run_000000000.vtp", "run_000000010.vtp", "run_000000020.vtp", "run_000000030.vtp",
		"run_000000040.vtp", "run_000000035.vtp", "run.pvd" };
	for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
		remove_file(names[i]);
	CHECK_INT(rmdir(folder), 0);
}

/// A collection is continued by the run that began it, or by one that does not say which it is.
TEST(vtk_file, a_collection_of_another_run_is_refused)
{
	sim_error error = { "" };
	const sim_sphere_cloud cloud = make_cloud(3);
	make_folder();
	static const struct {
		uint64_t run;
		bool done;
	} rounds[] = { { 0x1234567890abcdef, true }, { 0x1234567890abcdef, true }, { 7, false }, { 0, true }, { 7, true } };
	for (int i = 0; i < 5; ++i) {
		io_vtk_series *series = io_create_vtk_series(folder, "run", &error);
		REQUIRE(series != NULL);
		io_vtk_series_set_run(series, rounds[i].run);
		int64_t last = 7;
		CHECK(io_vtk_series_continue(series, 100, &last, &error) == rounds[i].done);
		if (rounds[i].done)
			CHECK(io_vtk_series_add(series, &cloud, i, i, &error));
		else
			CHECK(
				strstr(error.text, "run.pvd: is that of another run than the one to be continued: take another --out") != NULL);
		io_destroy_vtk_series(series);
	}
	static const char *const names[] = { "run_000000000.vtp", "run_000000001.vtp", "run_000000003.vtp", "run_000000004.vtp",
		"run.pvd" };
	for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
		remove_file(names[i]);
	CHECK_INT(rmdir(folder), 0);
}

TEST(vtk_file, what_cannot_be_written)
{
	char path[128], long_name[100];
	sim_error error = { "" };
	sim_sphere_cloud cloud = make_cloud(3);
	make_folder();
	path_of("nowhere/x.vtp", path);
	CHECK(!io_write_vtp(path, &cloud, 0, &error));
	CHECK(strstr(error.text, "nowhere/x.vtp: cannot be written") != NULL);
	cloud.count = INT64_C(1) << 31;
	path_of("x.vtp", path);
	CHECK(!io_write_vtp(path, &cloud, 0, &error));
	CHECK(strstr(error.text, "0 to 2147483647 spheres") != NULL);
	CHECK(access(path, F_OK) != 0);
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = 0;
	CHECK(io_create_vtk_series(folder, long_name, &error) == NULL);
	CHECK_STR(error.text, "the path is too long");
	path_of("nowhere", path);
	io_vtk_series *series = io_create_vtk_series(path, "run", &error);
	REQUIRE(series != NULL);
	cloud.count = 3;
	CHECK(!io_vtk_series_add(series, &cloud, 0, 0, &error));
	CHECK(strstr(error.text, "run_000000000.vtp: cannot be written") != NULL);
	CHECK_INT(io_vtk_series_count(series), 0);
	io_destroy_vtk_series(series);
	CHECK_INT(rmdir(folder), 0);
}
