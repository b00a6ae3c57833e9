// Recordings: what was written comes back, other programs can read it, and damaged or foreign files give an error.
#include "test.h"

#include "io/recording.h"

#include <hdf5.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FRAMES = 70, BODIES = 3 };

static const float vertices[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
static const int32_t triangles[12] = { 0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3 };

// A file of its own for each case; the case removes it.
static const char *new_path(char path[64])
{
	strcpy(path, "/tmp/carom_recording_XXXXXX");
	const int file = mkstemp(path);
	REQUIRE(file >= 0);
	close(file);
	return path;
}

static carom_pose pose_of(int frame, int body)
{
	return (carom_pose){ { frame + 0.1, body + 1e-17, -frame / 3.0 }, { 0, 0, sin(frame), cos(frame) } };
}

// Frame f has f % 4 contacts.
static io_recorded_contact contact_of(int frame, int i)
{
	return (io_recorded_contact){ .body_a = i % 2,
		.body_b = 2,
		.point = { frame, i, 1.0 / 3 },
		.normal = { 0, 1, 0 },
		.depth = 0.001f * (float)frame,
		.feature_a = 100 * frame + i,
		.feature_b = -1,
		.kind = CAROM_VERTEX_B };
}

// All frames, but not the end: they are in PATH.part now.
static io_recorder *write_frames(const char *path, bool contacts)
{
	sim_error error = { "" };
	const io_recording_info info = { .gravity = { 0, -9.81, 0.5 },
		.time_step = 0.25,
		.contacts = contacts,
		.scene_text = "{\"name\": \"\xc3\xa4\"}",
		.scene_name = "test" };
	io_recorder *recorder = io_create_recorder(path, &info, &error);
	CHECK_STR(error.text, "");
	REQUIRE(recorder != NULL);
	// In another order than that of the alphabet.
	const io_recorded_mesh meshes[2] = {
		{ .name = "z-first", .vertex_count = 4, .triangle_count = 4, .vertices = vertices, .triangles = triangles },
		{ .name = "a_second", .vertex_count = 0, .triangle_count = 0, .vertices = vertices, .triangles = triangles }
	};
	const io_recorded_body bodies[BODIES] = { { .kind = CAROM_STATIC, .type = CAROM_PLANE, .mesh = -1 },
		{ .kind = CAROM_DYNAMIC, .type = CAROM_MESH, .mesh = 0 },
		{ .kind = CAROM_KINEMATIC,
			.type = CAROM_BOX,
			.mesh = -1,
			.radius = 1,
			.half_length = 2,
			.half_extents = { 3, 4, 5 },
			.rounding = 6 } };
	for (int i = 0; i < 2; i++)
		CHECK(io_recorder_add_mesh(recorder, &meshes[i], &error));
	for (int f = 0; f < FRAMES; f++) {
		carom_pose poses[BODIES];
		io_recorded_contact list[4];
		// The third body comes with frame 5.
		if (f == 0 || f == 5)
			for (int i = f == 0 ? 0 : 2; i < (f == 0 ? 2 : 3); i++)
				CHECK(io_recorder_add_body(recorder, &bodies[i], &error));
		for (int i = 0; i < BODIES; i++)
			poses[i] = pose_of(f, i);
		for (int i = 0; i < f % 4; i++)
			list[i] = contact_of(f, i);
		CHECK(io_recorder_add_frame(recorder, 0.25 * f, poses, list, f % 4, &error));
	}
	CHECK_STR(error.text, "");
	return recorder;
}

static void write_all(const char *path, bool contacts)
{
	sim_error error = { "" };
	CHECK(io_close_recorder(write_frames(path, contacts), &error));
	CHECK_STR(error.text, "");
}

static char *read_bytes(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0);
	*size = (size_t)ftell(file);
	char *bytes = malloc(*size + 1);
	rewind(file);
	REQUIRE(bytes != NULL && fread(bytes, 1, *size, file) == *size);
	fclose(file);
	return bytes;
}

static bool starts_like_recording(const char *path)
{
	size_t size;
	char *bytes = read_bytes(path, &size);
	const bool found = io_starts_like_recording(bytes, size);
	free(bytes);
	return found;
}

static void write_bytes(const char *path, const char *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");
	REQUIRE(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

// A recording as earlier versions wrote it: HDF5 without a digest ahead.
static void remove_digest(const char *path)
{
	size_t size;
	char *bytes = read_bytes(path, &size);
	write_bytes(path, bytes + 512, size - 512);
	free(bytes);
}

static io_recording *open_good(const char *path)
{
	sim_error error = { "" };
	io_recording *recording = io_open_recording(path, &error);
	CHECK_STR(error.text, "");
	REQUIRE(recording != NULL);
	return recording;
}

static void check_refused(const char *path, const char *expected)
{
	sim_error error = { "" };
	io_recording *recording = io_open_recording(path, &error);
	CHECK(recording == NULL);
	CHECK(strncmp(error.text, path, strlen(path)) == 0);
	CHECK_STR(strlen(error.text) > strlen(path) ? error.text + strlen(path) : error.text, expected);
	io_close_recording(recording);
}

static void check_frame(io_recording *recording, int f, bool contacts)
{
	carom_pose poses[BODIES];
	io_recorded_contact list[4];
	sim_error error = { "" };
	REQUIRE(io_recording_read_poses(recording, f, poses, &error));
	for (int i = 0; i < BODIES; i++) {
		const carom_pose expected = pose_of(f, i);
		if (f < 5 && i == 2)
			CHECK(isnan(poses[i].position.x) && isnan(poses[i].orientation.w));
		else
			CHECK(memcmp(&poses[i], &expected, sizeof expected) == 0);
	}
	CHECK_NEAR(io_recording_get_time(recording, f), 0.25 * f, 0);
	REQUIRE(io_recording_contact_count(recording, f) == (contacts ? f % 4 : 0));
	REQUIRE(io_recording_read_contacts(recording, f, list, &error));
	for (int i = 0; contacts && i < f % 4; i++) {
		const io_recorded_contact expected = contact_of(f, i);
		CHECK(list[i].body_a == expected.body_a && list[i].body_b == 2 && list[i].kind == CAROM_VERTEX_B);
		CHECK(memcmp(list[i].point, expected.point, sizeof expected.point) == 0);
		CHECK(list[i].normal[1] == 1.0f && list[i].depth == expected.depth);
		CHECK(list[i].feature_a == 100 * f + i && list[i].feature_b == -1);
	}
}

TEST(recording, comes_back_as_written)
{
	for (int contacts = 0; contacts < 2; contacts++) {
		char path[64];
		write_all(new_path(path), contacts);
		CHECK(starts_like_recording(path));
		io_recording *recording = open_good(path);
		const io_recording_info *info = io_recording_get_info(recording);
		CHECK_STR(info->scene_text, "{\"name\": \"\xc3\xa4\"}");
		CHECK_STR(info->scene_name, "test");
		CHECK(info->contacts == contacts);
		CHECK_NEAR(info->gravity.z, 0.5, 0);
		CHECK_NEAR(info->time_step, 0.25, 0);
		REQUIRE(io_recording_mesh_count(recording) == 2);
		const io_recorded_mesh *mesh = io_recording_get_mesh(recording, 0);
		CHECK_STR(mesh->name, "z-first");
		REQUIRE(mesh->vertex_count == 4 && mesh->triangle_count == 4);
		CHECK(memcmp(mesh->vertices, vertices, sizeof vertices) == 0);
		CHECK(memcmp(mesh->triangles, triangles, sizeof triangles) == 0);
		CHECK_INT(io_recording_get_mesh(recording, 1)->vertex_count, 0);
		REQUIRE(io_recording_body_count(recording) == BODIES);
		CHECK_INT(io_recording_get_body(recording, 0)->type, CAROM_PLANE);
		CHECK_INT(io_recording_get_body(recording, 1)->mesh, 0);
		CHECK_INT(io_recording_get_body(recording, 1)->kind, CAROM_DYNAMIC);
		CHECK_NEAR(io_recording_get_body(recording, 2)->half_extents[2], 5, 0);
		CHECK_NEAR(io_recording_get_body(recording, 2)->half_length, 2, 0);
		CHECK_NEAR(io_recording_get_body(recording, 2)->rounding, 6, 0);
		REQUIRE(io_recording_frame_count(recording) == FRAMES);
		for (int f = FRAMES - 1; f >= 0; f--)
			check_frame(recording, f, contacts);
		io_close_recording(recording);
		unlink(path);
	}
}

TEST(recording, empty_ones_are_fine)
{
	char path[64];
	sim_error error = { "" };
	const io_recording_info info = { .time_step = 1 };
	io_recorder *recorder = io_create_recorder(new_path(path), &info, &error);
	REQUIRE(recorder != NULL);
	CHECK(io_recorder_add_frame(recorder, 0, NULL, NULL, 0, &error));
	CHECK(io_close_recorder(recorder, &error));
	io_recording *recording = open_good(path);
	CHECK_INT(io_recording_frame_count(recording), 1);
	CHECK_INT(io_recording_body_count(recording), 0);
	CHECK_STR(io_recording_get_info(recording)->scene_text, "");
	CHECK(io_recording_read_poses(recording, 0, NULL, &error));
	io_close_recording(recording);

	recorder = io_create_recorder(path, &info, &error);
	REQUIRE(recorder != NULL);
	CHECK(io_close_recorder(recorder, &error));
	recording = open_good(path);
	CHECK_INT(io_recording_frame_count(recording), 0);
	io_close_recording(recording);
	io_close_recording(NULL);
	CHECK(io_close_recorder(NULL, &error));
	unlink(path);
}

// A scene's text may be longer than the 64 KiB that an attribute of HDF5 holds.
TEST(recording, long_scene_text)
{
	char path[64];
	sim_error error = { "" };
	char *text = malloc(300001);
	REQUIRE(text != NULL);
	memset(text, 'x', 300000);
	text[300000] = 0;
	const io_recording_info info = { .scene_text = text };
	io_recorder *recorder = io_create_recorder(new_path(path), &info, &error);
	REQUIRE(recorder != NULL);
	CHECK(io_close_recorder(recorder, &error));
	io_recording *recording = open_good(path);
	CHECK(strcmp(io_recording_get_info(recording)->scene_text, text) == 0);
	io_close_recording(recording);
	free(text);
	unlink(path);
}

TEST(recording, foreign_files_are_refused)
{
	char path[64];
	sim_error error;
	check_refused("/nowhere/x.h5", ": cannot be opened: is the path right?");
	check_refused("/tmp", ": not an HDF5 file, so not a recording");
	check_refused(new_path(path), ": not an HDF5 file, so not a recording"); // empty
	CHECK(!starts_like_recording(path));
	const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	H5Fclose(file);
	check_refused(path, ": an HDF5 file, but not a recording of carom (attribute \"format\" is not \"carom-recording\")");
	unlink(path);

	const io_recording_info info = { 0 };
	CHECK(io_create_recorder("/nowhere/x.h5", &info, &error) == NULL);
	CHECK_STR(error.text, "/nowhere/x.h5: cannot be written: No such file or directory");
}

// Change one thing of a good file with HDF5 itself.
static void damage(const char *path, int way)
{
	const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
	REQUIRE(file >= 0);
	const int32_t nine[3] = { 9, 9, 9 };
	const hsize_t rows = 69;
	hid_t object = -1;
	switch (way) {
	case 0:
		object = H5Aopen(file, "version", H5P_DEFAULT);
		H5Awrite(object, H5T_NATIVE_INT32, nine);
		H5Aclose(object);
		break;
	case 1: H5Ldelete(file, "/bodies/mesh", H5P_DEFAULT); break;
	case 2:
		object = H5Dopen2(file, "/bodies/mesh", H5P_DEFAULT);
		H5Dwrite(object, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, nine);
		break;
	case 3:
		object = H5Dopen2(file, "/time", H5P_DEFAULT);
		H5Dset_extent(object, &rows);
		break;
	case 4: H5Adelete(file, "gravity"); break;
	case 5: H5Ldelete(file, "/poses", H5P_DEFAULT); break;
	case 6:
		object = H5Dopen2(file, "/contacts/first", H5P_DEFAULT);
		H5Dset_extent(object, &rows);
		break;
	default: H5Adelete_by_name(file, "/meshes/z-first", "index", H5P_DEFAULT); break;
	}
	if (way == 2 || way == 3 || way == 6)
		H5Dclose(object);
	H5Fclose(file);
}

TEST(recording, damaged_contents_are_named)
{
	static const char *const messages[] = {
		": recording of version 9; this program reads version 1",
		": damaged recording: /bodies/mesh is missing",
		": damaged recording: body 1 has a mesh that is not there",
		": damaged recording: /poses has another number of frames or bodies than /time and /bodies",
		": damaged recording: attribute \"gravity\" is missing",
		": damaged recording: /poses is missing",
		": damaged recording: /contacts/first has another length than the arrays beside it",
		": damaged recording: /meshes/z-first has no valid attribute \"index\"",
	};
	for (int way = 0; way < 8; way++) {
		char path[64];
		write_all(new_path(path), true);
		damage(path, way);
		check_refused(path,
			": damaged recording: its bytes do not have the digest that it begins with (or another program has changed them)");
		remove_digest(path);
		check_refused(path, messages[way]);
		unlink(path);
	}
}

// Until a recording is closed, what lay at its place stays; then it is replaced, and nothing else is left.
TEST(recording, appears_whole_or_not_at_all)
{
	char path[64], part[80];
	sim_error error = { "" };
	size_t size;
	write_bytes(new_path(path), "before", 6);
	snprintf(part, sizeof part, "%s.part", path);
	io_recorder *recorder = write_frames(path, true);
	char *bytes = read_bytes(path, &size);
	CHECK(size == 6 && memcmp(bytes, "before", 6) == 0);
	free(bytes);
	CHECK(access(part, F_OK) == 0);
	CHECK(starts_like_recording(part));
	CHECK(io_close_recorder(recorder, &error));
	CHECK(access(part, F_OK) != 0);
	io_recording *recording = open_good(path);
	CHECK(io_recording_note(recording) == NULL && io_recording_is_finished(recording));
	CHECK_INT(io_recording_moving_count(recording), 1);
	io_close_recording(recording);
	unlink(path);
}

// A run may be killed after any byte: all frames that were whole then are there, and they are what was written.
TEST(recording, a_log_cut_anywhere_keeps_its_whole_frames)
{
	char path[64], part[80];
	sim_error error = { "" };
	size_t size;
	snprintf(part, sizeof part, "%s.part", new_path(path));
	io_recorder *recorder = write_frames(path, true);
	char *bytes = read_bytes(part, &size);
	int before = 0;
	bool rising = true, empty_told = true;
	for (size_t length = 16; length <= size; length += length < 600 || length + 600 > size ? 1 : 37) {
		write_bytes(path, bytes, length);
		io_recording *recording = io_open_recording(path, &error);
		if (!recording) {
			empty_told &= before == 0 && strstr(error.text, "there is nothing in it") != NULL;
			continue;
		}
		const int frames = io_recording_frame_count(recording);
		rising &= frames >= before && !io_recording_is_finished(recording) && io_recording_note(recording) != NULL;
		if (frames > before && io_recording_body_count(recording) == BODIES)
			check_frame(recording, frames - 1, true);
		before = frames;
		io_close_recording(recording);
	}
	CHECK(rising);
	CHECK(empty_told);
	CHECK_INT(before, FRAMES);
	io_recording *recording = open_good(part);
	for (int f = 0; f < FRAMES; f++)
		check_frame(recording, f, true);
	CHECK_STR(io_recording_note(recording), "the recording of a run that goes on or was cut off: 70 frames of it are whole");
	CHECK_STR(io_recording_get_info(recording)->scene_text, "{\"name\": \"\xc3\xa4\"}");
	io_close_recording(recording);
	unlink(path);
	check_refused(path,
		": is not there, but that of a run that goes on or was cut off is, under this name with .part behind it: take that");
	CHECK(io_close_recorder(recorder, &error));
	free(bytes);
	unlink(path);
}

// One bit anywhere, in a finished file or in a log: it is found before anything is believed.
TEST(recording, every_flipped_bit_is_found)
{
	char path[64], part[80];
	sim_error error = { "" };
	snprintf(part, sizeof part, "%s.part", new_path(path));
	io_recorder *recorder = write_frames(path, true);
	for (int finished = 0; finished < 2; finished++) {
		size_t size;
		char *bytes = read_bytes(finished ? path : part, &size);
		bool found = true;
		uint64_t state = 1;
		for (size_t i = 0; i < size; i += i < 600 ? 1 : 1 + size / 500) {
			const char bit = (char)(1 << test_random(&state) % 8);
			bytes[i] ^= bit;
			write_bytes(path, bytes, size);
			bytes[i] ^= bit;
			io_recording *recording = io_open_recording(path, &error);
			found &= recording == NULL && strstr(error.text, path) != NULL;
			io_close_recording(recording);
		}
		CHECK(found);
		free(bytes);
		unlink(path);
		CHECK(finished || io_close_recorder(recorder, &error));
	}
	unlink(path);
}

TEST(recording, those_of_earlier_versions_open_with_a_note)
{
	char path[64];
	write_all(new_path(path), true);
	remove_digest(path);
	io_recording *recording = open_good(path);
	CHECK_STR(
		io_recording_note(recording), "it has no digest, as recordings of earlier versions: damage within it may go unnoticed");
	for (int f = 0; f < FRAMES; f++)
		check_frame(recording, f, true);
	io_close_recording(recording);
	unlink(path);
}

// Recordings of earlier versions know no rounding: it is 0.
TEST(recording, bodies_without_rounding_are_read)
{
	char path[64];
	write_all(new_path(path), true);
	const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
	REQUIRE(file >= 0 && H5Ldelete(file, "/bodies/rounding", H5P_DEFAULT) >= 0);
	H5Fclose(file);
	remove_digest(path);
	io_recording *recording = open_good(path);
	CHECK_NEAR(io_recording_get_body(recording, 2)->rounding, 0, 0);
	CHECK_NEAR(io_recording_get_body(recording, 2)->half_extents[1], 4, 0);
	io_close_recording(recording);
	unlink(path);
}

// Three bodies: of two parts, of one shape, of one part.
static void write_parts(const char *path, const int32_t part[4])
{
	sim_error error = { "" };
	const io_recording_info info = { .time_step = 1, .scene_text = "", .scene_name = "" };
	const carom_pose place = { { 1, 2, 3 }, { 0, 0, 1, 0 } };
	carom_pose poses[4];
	io_recorder *recorder = io_create_recorder(path, &info, &error);
	REQUIRE(recorder != NULL);
	for (int i = 0; i < 4; i++) {
		const io_recorded_body body = {
			.kind = CAROM_DYNAMIC, .type = CAROM_SPHERE, .mesh = -1, .radius = i + 1.0, .part = part[i], .place = place
		};
		CHECK(io_recorder_add_body(recorder, &body, &error));
		poses[i] = pose_of(0, i < 2 ? 0 : i);
	}
	CHECK(io_recorder_add_frame(recorder, 0, poses, NULL, 0, &error));
	CHECK_STR(error.text, "");
	io_close_recorder(recorder, &error);
}

static void check_parts(const char *path)
{
	io_recording *recording = open_good(path);
	CHECK_INT(io_recording_body_count(recording), 4);
	CHECK_INT(io_recording_whole_count(recording), 3);
	CHECK_INT(io_recording_moving_count(recording), 3);
	for (int i = 0; i < 4; i++)
		CHECK_NEAR(io_recording_get_body(recording, i)->radius, i + 1, 0);
	CHECK_INT(io_recording_get_body(recording, 1)->part, 2);
	CHECK_INT(io_recording_get_body(recording, 2)->part, 0);
	CHECK_NEAR(io_recording_get_body(recording, 1)->place.position.z, 3, 0);
	CHECK_NEAR(io_recording_get_body(recording, 3)->place.orientation.z, 1, 0);
	io_close_recording(recording);
}

TEST(recording, parts_come_back)
{
	static const int32_t parts[4] = { 1, 2, 0, 1 };
	char path[64];
	write_parts(new_path(path), parts);
	check_parts(path);
	unlink(path);
}

// The finished file of a bad list cannot be made; its log is refused alike.
TEST(recording, parts_out_of_order_are_refused)
{
	static const struct {
		int32_t part[4];
		int row;
	} bad[] = { { { 2, 1, 0, 1 }, 0 }, { { 1, 3, 0, 1 }, 1 }, { { 1, 2, -1, 1 }, 2 }, { { 1, 2, 0, 2 }, 3 } };
	for (int i = 0; i < 4; i++) {
		char path[64], log[80], message[120];
		write_parts(new_path(path), bad[i].part);
		snprintf(log, sizeof log, "%s.part", path);
		snprintf(message, sizeof message, ": damaged recording: body %d is a part that does not follow the part before it",
			bad[i].row);
		check_refused(log, message);
		unlink(log);
		unlink(path);
	}
}

// Recordings whose bodies have one shape each are those of earlier versions, byte for byte: they have no columns of parts.
TEST(recording, plain_bodies_have_no_columns_of_parts)
{
	static const int32_t parts[2][4] = { { 0 }, { 1, 2, 0, 1 } };
	for (int i = 0; i < 2; i++) {
		char path[64];
		write_parts(new_path(path), parts[i]);
		remove_digest(path);
		const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
		REQUIRE(file >= 0);
		CHECK_INT(H5Lexists(file, "/bodies/part", H5P_DEFAULT) > 0, i);
		CHECK_INT(H5Lexists(file, "/bodies/place", H5P_DEFAULT) > 0, i);
		H5Fclose(file);
		unlink(path);
	}
}

// Put an array in the place of another that claims many rows and stores none of them.
static void claim(const char *path, const char *object, int rank, hid_t type)
{
	const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), properties = H5Pcreate(H5P_DATASET_CREATE);
	const hsize_t size[3] = { INT32_MAX, rank == 3 ? BODIES : 3, 7 }, chunk[3] = { 1024, 1, 1 };
	const hid_t space = H5Screate_simple(rank, size, NULL);
	H5Pset_chunk(properties, rank, chunk);
	REQUIRE(file >= 0 && H5Ldelete(file, object, H5P_DEFAULT) >= 0);
	H5Dclose(H5Dcreate2(file, object, type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
	H5Sclose(space);
	H5Pclose(properties);
	H5Fclose(file);
}

// Memory is taken for what a file stores, not for what it claims.
TEST(recording, claims_without_bytes_are_refused)
{
	static const struct {
		const char *object;
		int rank;
		bool real;
	} arrays[] = { { "/time", 1, true }, { "/bodies/kind", 1, false }, { "/meshes/z-first/vertices", 2, true },
		{ "/meshes/z-first/triangles", 2, false }, { "/poses", 3, true } };
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
		char path[64], expected[120];
		write_all(new_path(path), true);
		claim(path, arrays[i].object, arrays[i].rank, arrays[i].real ? H5T_IEEE_F64LE : H5T_STD_I32LE);
		remove_digest(path);
		snprintf(expected, sizeof expected, ": damaged recording: %s %s", arrays[i].object,
			arrays[i].rank == 3 ? "has another number of frames or bodies than /time and /bodies"
								: "claims more than the file holds");
		check_refused(path, expected);
		unlink(path);
	}
}

// A full disk, in the shape of a limit for the size of files: whatever the byte at which it strikes, the file that was there
// stays, and what was recorded before can be read.
TEST(recording, a_full_disk_costs_nothing)
{
	char path[64], part[80];
	struct rlimit old;
	signal(SIGXFSZ, SIG_IGN);
	REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
	snprintf(part, sizeof part, "%s.part", new_path(path));
	int early = 0, late = 0, kept = 0;
	for (rlim_t limit = 100; limit < 22000; limit += 700) {
		sim_error error = { "" };
		io_recording_info info = { .contacts = true, .scene_text = "text", .scene_name = "test" };
		write_bytes(path, "before", 6);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ limit, old.rlim_max });
		io_recorder *recorder = io_create_recorder(path, &info, &error);
		bool done = recorder != NULL;
		int frames = 0;
		for (; done && frames < 100; frames += done) {
			const io_recorded_contact contact = contact_of(frames, 0);
			done = io_recorder_add_frame(recorder, frames, NULL, &contact, 1, &error);
		}
		early += recorder && !done;
		CHECK(done || strstr(error.text, "cannot be written: File too large") != NULL);
		if (recorder && !io_close_recorder(recorder, &error)) {
			late += done;
			CHECK(strstr(error.text, path) != NULL);
			done = false;
		}
		setrlimit(RLIMIT_FSIZE, &old);
		size_t size;
		char *bytes = read_bytes(path, &size);
		CHECK(done == (size != 6 || memcmp(bytes, "before", 6) != 0));
		free(bytes);
		io_recording *recording = io_open_recording(part, &error);
		CHECK((recording != NULL) == (recorder && !done));
		kept += recording != NULL;
		CHECK(!recording || io_recording_frame_count(recording) == frames);
		io_close_recording(recording);
		unlink(part);
	}
	CHECK(early > 0 && late > 0 && kept == early + late);
	unlink(path);
}

// A file that was cut off at any place: an error, no crash, and nothing printed.
TEST(recording, truncated_files_are_refused)
{
	char path[64], cut[64];
	sim_error error;
	size_t size;
	write_all(new_path(path), true);
	new_path(cut);
	char *bytes = read_bytes(path, &size);

	fflush(stderr);
	FILE *messages = tmpfile();
	REQUIRE(messages != NULL);
	const int saved = dup(STDERR_FILENO);
	dup2(fileno(messages), STDERR_FILENO);
	bool all_refused = true, all_explained = true;
	for (size_t length = 0; length < size; length += 1 + size / 60) {
		write_bytes(cut, bytes, length);
		error.text[0] = 0;
		io_recording *recording = io_open_recording(cut, &error);
		all_refused &= recording == NULL;
		all_explained &= strstr(error.text, cut) != NULL;
		io_close_recording(recording);
	}
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	CHECK(all_refused);
	CHECK(all_explained);
	fseek(messages, 0, SEEK_END);
	CHECK_INT(ftell(messages), 0);
	fclose(messages);
	free(bytes);
	unlink(path);
	unlink(cut);
}

// h5py reads a recording without our code.
TEST(recording, python_reads_it)
{
	char path[64], script[64], command[200];
	if (system("/usr/bin/python3 -c 'import h5py' 2>/dev/null") != 0)
		test_skip("python3-h5py is not installed");
	write_all(new_path(path), true);
	FILE *file = fopen(new_path(script), "w");
	REQUIRE(file != NULL);
	fputs("import sys, h5py, math\n"
		  "f = h5py.File(sys.argv[1], 'r')\n"
		  "assert f.attrs['format'] == b'carom-recording' or f.attrs['format'] == 'carom-recording'\n"
		  "assert f.attrs['version'] == 1 and f.attrs['gravity'][1] == -9.81 and f.attrs['time_step'] == 0.25\n"
		  "assert f['scene'][()].decode() == '{\"name\": \"\\u00e4\"}'\n"
		  "assert f['meshes/z-first/vertices'].shape == (4, 3) and f['meshes/z-first/vertices'].dtype == '<f4'\n"
		  "assert f['meshes/z-first/triangles'][1].tolist() == [0, 1, 3] and f['meshes/z-first'].attrs['index'] == 0\n"
		  "assert f['poses'].shape == (70, 3, 7) and f['poses'].dtype == '<f8' and f['poses'].compression == 'gzip'\n"
		  "assert math.isnan(f['poses'][4, 2, 0]) and f['poses'][7, 1, 0] == 7.1 and f['time'][8] == 2\n"
		  "assert f['bodies/kind'][:].tolist() == [0, 2, 1] and f['bodies/mesh'][:].tolist() == [-1, 0, -1]\n"
		  "first = f['contacts/first']\n"
		  "assert first.shape == (71,) and first[3] - first[2] == 2\n"
		  "assert f['contacts/feature_a'][first[3]:first[4]].tolist() == [300, 301, 302]\n"
		  "assert f['contacts/point'].shape == (first[70], 3)\n",
		file);
	fclose(file);
	snprintf(command, sizeof command, "/usr/bin/python3 %s %s", script, path);
	CHECK_INT(system(command), 0);
	unlink(path);
	unlink(script);
}
