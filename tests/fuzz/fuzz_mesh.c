// Mesh files: whatever a reader accepts must go through the library without harm.
#include "fuzz.h"

#include "carom/carom.h"
#include "io/mesh_file.h"
#include "io/obj_file.h"
#include "io/off_file.h"
#include "io/ply_file.h"
#include "io/stl_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Larger meshes are read but not used: their time would be better spent on other inputs.
enum { MOST_USED = 400 };

static void check_contacts(const carom_world *world)
{
	const carom_contact_view view = carom_world_contacts(world);
	for (int32_t i = 0; i < view.count; i++) {
		const carom_contact *c = &view.data[i];
		FUZZ_REQUIRE(fuzz_is_unit((double)c->normal[0], (double)c->normal[1], (double)c->normal[2]), "contact %d", i);
		FUZZ_REQUIRE(
			isfinite(c->depth) && isfinite(c->point[0]) && isfinite(c->point[1]) && isfinite(c->point[2]), "contact %d", i);
	}
}

static void use_in_world(carom_context *context, const carom_mesh *mesh, const carom_pose *pose)
{
	carom_world *world;
	FUZZ_REQUIRE(carom_create_world(context, NULL, &world) == CAROM_SUCCESS, "%s", carom_error_text(context));
	for (int i = 0; i < 2; i++) {
		carom_body_id id;
		carom_body_def body = carom_default_body_def();
		body.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
		if (i)
			body.pose = *pose;
		if (carom_world_add_body(world, &body, &id) != CAROM_SUCCESS)
			break;
	}
	for (int i = 0; i < 2; i++) {
		FUZZ_REQUIRE(carom_world_step(world) == CAROM_SUCCESS, "%s", carom_error_text(context));
		check_contacts(world);
	}
	carom_destroy_world(world);
}

static void query(carom_context *context, const carom_mesh *mesh, const carom_mesh_report *report)
{
	int32_t count;
	carom_mass mass;
	carom_tree_info tree;
	FUZZ_REQUIRE(carom_mesh_self_intersections(mesh, 0, NULL, &count) == CAROM_SUCCESS, "%s", carom_error_text(context));
	(void)carom_mesh_get_mass(mesh, &mass);
	FUZZ_REQUIRE(carom_mesh_get_tree_info(mesh, true, &tree) == CAROM_SUCCESS, "%s", carom_error_text(context));
	FUZZ_REQUIRE(tree.epo >= 0, "epo %g", tree.epo);
	const carom_vec3 middle = { (report->lower[0] + report->upper[0]) / 2, (report->lower[1] + report->upper[1]) / 2,
		(report->lower[2] + report->upper[2]) / 2 };
	if (!isfinite(middle.x) || !isfinite(middle.y) || !isfinite(middle.z))
		return; // no triangle takes part
	bool inside, found;
	carom_mesh_point nearest;
	carom_mesh_gap gap;
	carom_pose pose = carom_pose_identity();
	pose.position.x = (report->upper[0] - report->lower[0]) * 0.7;
	(void)carom_mesh_contains(mesh, middle, &inside);
	(void)carom_mesh_closest_point(mesh, middle, INFINITY, &found, &nearest);
	(void)carom_mesh_distance(mesh, NULL, mesh, &pose, INFINITY, &found, &gap);
	use_in_world(context, mesh, &pose);
}

static void use(const sim_mesh *mesh)
{
	static carom_context *context;
	if (!context)
		context = fuzz_context(CAROM_SIMD_AUTO);
	const size_t before = carom_memory_in_use(context);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ mesh->vertices, 0, CAROM_FLOAT32 };
	def.vertex_count = mesh->vertex_count;
	def.triangles = mesh->triangles;
	def.triangle_count = mesh->triangle_count;
	def.grid_resolution = 6;
	carom_mesh_report checked, report;
	carom_mesh *made;
	FUZZ_REQUIRE(carom_check_mesh(context, &def, &checked) == CAROM_SUCCESS, "%s", carom_error_text(context));
	const carom_result result = carom_create_mesh(context, &def, &report, &made);
	FUZZ_REQUIRE((result == CAROM_SUCCESS) == checked.usable, "%s", carom_error_text(context));
	if (result == CAROM_SUCCESS)
		query(context, made, &report);
	carom_release_mesh(made);
	FUZZ_REQUIRE(carom_memory_in_use(context) == before, "%zu and %zu bytes", before, carom_memory_in_use(context));
}

typedef bool reader_fn(char *bytes, size_t size, sim_mesh *mesh, sim_error *error);

static bool read_ply(char *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	return io_read_ply(bytes, size, mesh, error);
}

static bool read_and_use(reader_fn *read, const uint8_t *data, size_t size)
{
	char *bytes = malloc(size + 1);
	sim_error error = { "" };
	FUZZ_REQUIRE(bytes, "out of memory");
	memcpy(bytes, data, size);
	bytes[size] = '\0';
	sim_mesh mesh;
	const bool sound = read(bytes, size, &mesh, &error);
	if (sound) {
		// The file can have no more elements than bytes.
		FUZZ_REQUIRE((size_t)mesh.vertex_count <= size && (size_t)mesh.triangle_count <= size, "%d vertices", mesh.vertex_count);
		if (mesh.vertex_count <= MOST_USED && mesh.triangle_count <= MOST_USED) {
			use(&mesh);
			FUZZ_REQUIRE(io_weld_mesh(&mesh), "out of memory");
			use(&mesh);
		}
	} else {
		FUZZ_REQUIRE(
			error.text[0] && !mesh.vertices && !mesh.triangles, "a failure without a word, or with a mesh: %s", error.text);
	}
	sim_mesh_free(&mesh);
	free(bytes);
	return sound;
}

// ---- Seeds ----

// The bytes that io_save_mesh writes for a small shape.
static void keep_shape(const char *shape, int32_t triangles, const char *extension, fuzz_keep_fn *keep, void *user)
{
	sim_mesh mesh;
	char name[64];
	sim_error error;
	uint8_t bytes[1 << 14];
	FUZZ_REQUIRE(sim_make_shape(shape, triangles, 1, &mesh, &error), "%s", error.text);
	const char *path = fuzz_file((const uint8_t *)"", 0, extension);
	FUZZ_REQUIRE(io_save_mesh(path, &mesh, &error), "%s", error.text);
	FILE *file = fopen(path, "rb");
	const size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
	FUZZ_REQUIRE(size > 0 && size < sizeof bytes, "%s", path);
	fclose(file);
	snprintf(name, sizeof name, "%s%d%s", shape, triangles, extension);
	keep(name, bytes, size, user);
	sim_mesh_free(&mesh);
}

static void keep_shapes(const char *extension, fuzz_keep_fn *keep, void *user)
{
	keep_shape("box", 12, extension, keep, user);
	keep_shape("L", 28, extension, keep, user);
	keep_shape("lumpy", 60, extension, keep, user);
}

static void seeds_obj(fuzz_keep_fn *keep, void *user) { keep_shapes(".obj", keep, user); }
static void seeds_ply(fuzz_keep_fn *keep, void *user) { keep_shapes(".ply", keep, user); }
static void seeds_stl(fuzz_keep_fn *keep, void *user) { keep_shapes(".stl", keep, user); }

FUZZ_TARGET(obj, seeds_obj, false) { return read_and_use(io_read_obj, data, size); }
FUZZ_TARGET(ply, seeds_ply, false) { return read_and_use(read_ply, data, size); }
FUZZ_TARGET(stl, seeds_stl, false) { return read_and_use(io_read_stl, data, size); }
FUZZ(off) { return read_and_use(io_read_off, data, size); }
