/// `carom export` where memory is short: each allocation fails once. Either the command fails, says so and leaves no file, or the file is
/// the one that it writes with memory: none is silently less.
#include "failing_memory.h"
#include "test.h"

#include "io/contact_file.h"
#include "io/mesh_file.h"
#include "io/recording.h"
#include "io/vtk_file.h"
#include "tools/carom/commands.h"
#include "tools/carom/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static float s_vertices[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
static int32_t s_triangles[12] = { 0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3 };

typedef struct place {
	char folder[64]; // what the run left
	char input[96];  // the folder, or a recording of library calls in it
	char output[96];
	char messages[96]; // of the command
	char module[96];
	char *wanted; // [size] the output with memory
	size_t size;
} place;

static void path_in(const place *p, const char *name, char path[128]) { snprintf(path, 128, "%s/%s", p->folder, name); }

static void write_text(const place *p, const char *name, const char *text)
{
	char path[128];
	path_in(p, name, path);
	FILE *file = fopen(path, "wb");
	REQUIRE(file);
	fputs(text, file);
	REQUIRE(fclose(file) == 0);
}

/// A tetrahedron as a mesh, as a hull, and a box, for two frames with a contact each.
static void write_bodies(const place *p)
{
	char path[128];
	sim_error error = { "" };
	const io_recording_info info = { .gravity = { 0, 0, -9.81 },
		.time_step = 0.25,
		.contacts = true,
		.scene_text = "{ \"name\": \"short\", \"camera\": { \"position\": [3, 4, 5], \"target\": [0, 0, 0] } }",
		.scene_name = "short" };
	const io_recorded_mesh mesh = { "wedge", 4, 4, s_vertices, s_triangles };
	const io_recorded_body bodies[3] = { { .kind = CAROM_DYNAMIC, .type = CAROM_MESH },
		{ .kind = CAROM_DYNAMIC, .type = CAROM_HULL },
		{ .kind = CAROM_STATIC, .type = CAROM_CAPSULE, .mesh = -1, .radius = 0.4, .half_length = 0.5 } };
	const io_recorded_contact contact = { .body_a = 0, .body_b = 2, .normal = { 0, 1, 0 }, .depth = 0.01f };
	path_in(p, "recording.h5", path);
	io_recorder *recorder = io_create_recorder(path, &info, &error);
	REQUIRE(recorder && io_recorder_add_mesh(recorder, &mesh, &error));
	for (int i = 0; i < 3; i++)
		REQUIRE(io_recorder_add_body(recorder, &bodies[i], &error));
	for (int i = 0; i < 2; i++) {
		const carom_pose poses[3] = { { { 0.5 * i, 0, 0 }, { 0, 0, 0, 1 } }, { { 3, 0.1 * i, 0 }, { 0, 0, 0, 1 } },
			{ { 0, 0, -0.2 }, { 0, 0, 0, 1 } } };
		REQUIRE(io_recorder_add_frame(recorder, 0.25 * i, poses, &contact, 1, &error));
	}
	REQUIRE(io_close_recorder(recorder, &error));
}

static void write_deforming(const place *p)
{
	char path[128];
	sim_error error = { "" };
	sim_mesh mesh = { .vertices = s_vertices, .vertex_count = 4, .triangles = s_triangles, .triangle_count = 4 };
	sim_contact_points points = { 0 };
	const sim_contact_point point = { SIM_CONTACT_CLOTH, { 1, 2, 3 }, { 0, 0, 1 }, 0.01 };
	path_in(p, "frames", path);
	REQUIRE(mkdir(path, 0777) == 0);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/frames/frame_%06d.ply", p->folder, i);
		REQUIRE(io_save_mesh(path, &mesh, &error));
	}
	REQUIRE(sim_add_contact_point(&points, &point));
	path_in(p, "frames/contacts_000001.csv", path);
	REQUIRE(io_save_contacts(path, &points, &error));
	sim_free_contact_points(&points);
}

static void write_spheres(const place *p)
{
	sim_error error = { "" };
	const double centres[6] = { 0, 0, 0, 1, 1, 1 }, radii[2] = { 0.5, 0.25 };
	const sim_sphere_cloud cloud = { .count = 2, .centres = { centres, 0, CAROM_FLOAT64 }, .radii = { radii, 0, CAROM_FLOAT64 } };
	io_vtk_series *series = io_create_vtk_series(p->folder, "spheres", &error);
	REQUIRE(series && io_vtk_series_add(series, &cloud, 0, 0, &error) && io_vtk_series_add(series, &cloud, 5, 0.5, &error));
	io_destroy_vtk_series(series);
}

static bool write_call(const void *bytes, size_t count, void *user) { return fwrite(bytes, 1, count, user) == count; }

static carom_body_id add_body(carom_world *world, carom_body_kind kind, carom_shape shape, double height)
{
	static const double centres[6] = { 0, 0, 5, 0, 0, 5.9 }, radii[2] = { 0.5, 0.5 };
	carom_body_id id;
	carom_body_def def = carom_default_body_def();
	def.kind = kind;
	def.shape = shape;
	def.thickness = 0.1;
	def.pose.position.z = height;
	if (kind == CAROM_GRANULAR) {
		def.shape = carom_default_body_def().shape;
		def.sphere_count = 2;
		def.centres = (carom_strided){ centres, 0, CAROM_FLOAT64 };
		def.radii = (carom_strided){ radii, 0, CAROM_FLOAT64 };
	}
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

/// Three steps of a world with rigid meshes, a box that comes and goes, cloth and spheres.
static void write_calls(const place *p)
{
	carom_context *context;
	carom_world *world;
	carom_mesh *mesh;
	FILE *file = fopen(p->input, "wb");
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ s_vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = 4;
	def.triangles = s_triangles;
	def.triangle_count = 4;
	REQUIRE(file && carom_create_context(NULL, &context) == CAROM_SUCCESS &&
		carom_create_world(context, NULL, &world) == CAROM_SUCCESS);
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	const carom_shape wedge = { .type = CAROM_MESH, .mesh = mesh }, box = { .type = CAROM_BOX, .half_extents = { 1, 1, 0.1 } };
	add_body(world, CAROM_DYNAMIC, wedge, 0);
	add_body(world, CAROM_STATIC, wedge, 0.3);
	REQUIRE(carom_world_record(world, write_call, file) == CAROM_SUCCESS);
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	const carom_body_id comes = add_body(world, CAROM_DYNAMIC, box, 0.1);
	add_body(world, CAROM_CLOTH, wedge, 2);
	add_body(world, CAROM_GRANULAR, wedge, 0);
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS && carom_world_remove_body(world, comes) == CAROM_SUCCESS);
	REQUIRE(carom_world_step(world) == CAROM_SUCCESS);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
	REQUIRE(fclose(file) == 0);
}

/// A folder with all that a run can leave, and an end for the output's name.
static place make_place(const char *ending)
{
	place p = { .folder = "/tmp/carom_export_XXXXXX" };
	REQUIRE(mkdtemp(p.folder));
	snprintf(p.input, sizeof p.input, "%s", p.folder);
	snprintf(p.output, sizeof p.output, "%s/out%s", p.folder, ending);
	snprintf(p.messages, sizeof p.messages, "%s/messages", p.folder);
	snprintf(p.module, sizeof p.module, "%s/module.wasm", p.folder);
	write_bodies(&p);
	write_deforming(&p);
	write_spheres(&p);
	write_text(&p, "module.wasm", "");
	FILE *module = fopen(p.module, "wb");
	REQUIRE(module && fwrite("\0asm\1\0\0\0", 1, 8, module) == 8 && fclose(module) == 0);
	write_text(&p, "stats.csv", "step,time\n0,0\n");
	write_text(&p, "summary.json",
		"{ \"gravity\": [0, 0, -9.81], \"frame_steps\": 1, \"time_step\": 0.25, \"box_lower\": [0, 0, 0] }");
	return p;
}

static void remove_place(place *p)
{
	char line[128];
	snprintf(line, sizeof line, "rm -rf %s", p->folder);
	CHECK(system(line) == 0);
	free(p->wanted);
}

static char *read_file(const char *path, size_t *size)
{
	struct stat status;
	FILE *file = fopen(path, "rb");
	if (!file || fstat(fileno(file), &status) != 0)
		return NULL;
	*size = (size_t)status.st_size;
	char *bytes = malloc(*size + 1);
	REQUIRE(bytes && fread(bytes, 1, *size, file) == *size);
	bytes[*size] = 0;
	fclose(file);
	return bytes;
}

/// Run the command with its messages in a file.
static bool export_all(void *user)
{
	place *p = user;
	char *argv[] = { "export", p->input, "-o", p->output, "--module", p->module, NULL };
	free(report_json_text(NULL, true)); // the run before this one may have left a failure untold
	const int screen = dup(STDERR_FILENO);
	REQUIRE(screen >= 0 && freopen(p->messages, "wb", stderr));
	const int status = cmd_export(6, argv);
	fflush(stderr);
	dup2(screen, STDERR_FILENO);
	close(screen);
	return status == 0;
}

static void check_output(bool done, void *user)
{
	const place *p = user;
	char part[128];
	size_t size = 0;
	char *messages = read_file(p->messages, &size), *written = read_file(p->output, &size);
	snprintf(part, sizeof part, "%s.part", p->output);
	CHECK(access(part, F_OK) != 0);
	const bool good = done ? written && size == p->size && memcmp(written, p->wanted, size) == 0
						   : !written && (strstr(messages, "memory") || strstr(messages, "OUT_OF_MEMORY"));
	if (!CHECK(good))
		printf("%s: %s\n", done ? "done" : "failed", messages);
	free(messages);
	free(written);
	unlink(p->output);
}

static void check_place(place *p, const char *ending, int stride)
{
	char *argv[] = { "export", p->input, "-o", p->output, "--module", p->module, NULL };
	free(report_json_text(NULL, true)); // so may the case before this one
	REQUIRE(cmd_export(6, argv) == 0);
	p->wanted = read_file(p->output, &p->size);
	REQUIRE(p->wanted && unlink(p->output) == 0);
	const int failures = failing_memory_each(stride * TEST_STRIDE, export_all, check_output, p);
	printf("%s: %d failures\n", ending, failures);
	CHECK(failures > 50 / TEST_STRIDE);
	remove_place(p);
}

static void check_export(const char *ending, int stride)
{
	place p = make_place(ending);
	check_place(&p, ending, stride);
}

/// A recording of library calls: what has been written when memory runs out in the replay is not
/// taken for the whole.
static void check_calls(int stride)
{
	place p = make_place(".html");
	snprintf(p.input, sizeof p.input, "%s/calls.rec", p.folder);
	write_calls(&p);
	check_place(&p, "calls", stride);
}

// What is opened is the same for all; the model of USD fails each of its allocations, the others, which have more, some.
TEST(export_memory, a_usd_model_is_whole_where_any_allocation_fails) { check_export(".usda", 1); }
TEST(export_memory, a_page_is_whole_where_any_allocation_fails) { check_export(".html", 5); }
TEST(export_memory, a_gltf_model_is_whole_where_any_allocation_fails) { check_export(".gltf", 7); }
TEST(export_memory, a_page_of_calls_is_whole_where_any_allocation_fails) { check_calls(5); }
