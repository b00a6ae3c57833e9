// Baked meshes: bytes that are damaged are refused; bytes that somebody forged, with the digest set
// right, give wrong results at worst.
#include "fuzz.h"

#include "carom/carom.h"
#include "world/baked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 64, SIZE_AT = 16, DIGEST_AT = 24 };

/// Results may be anything: only memory and time matter.
static void use(carom_context *context, const carom_mesh *mesh)
{
	carom_world *world;
	FUZZ_REQUIRE(carom_create_world(context, NULL, &world) == CAROM_SUCCESS, "%s", carom_error_text(context));
	for (int i = 0; i < 3; i++) {
		carom_body_def body = carom_default_body_def();
		carom_body_id id;
		body.shape = (carom_shape){ .type = i == 1 ? CAROM_HULL : CAROM_MESH, .mesh = mesh };
		body.pose.position = (carom_vec3){ 0.3 * i, 0.1 * i, 0.2 * i };
		(void)carom_world_add_body(world, &body, &id);
	}
	for (int i = 0; i < 2; i++)
		(void)carom_world_step(world);
	carom_destroy_world(world);
	int32_t count;
	bool inside, found;
	carom_mass mass;
	carom_tree_info info;
	carom_mesh_point point;
	carom_mesh_gap gap;
	carom_pose pose = carom_pose_identity();
	pose.position.x = 1.5;
	(void)carom_mesh_get_mass(mesh, &mass);
	(void)carom_mesh_get_tree_info(mesh, true, &info);
	(void)carom_mesh_self_intersections(mesh, 0, NULL, &count);
	(void)carom_mesh_contains(mesh, (carom_vec3){ 0.1, 0.2, 0.1 }, &inside);
	(void)carom_mesh_closest_point(mesh, (carom_vec3){ 1, 2, 3 }, INFINITY, &found, &point);
	(void)carom_mesh_distance(mesh, NULL, mesh, &pose, INFINITY, &found, &gap);
}

static bool load_and_use(carom_context *context, const uint8_t *bytes, size_t size)
{
	carom_mesh *mesh;
	const size_t before = carom_memory_in_use(context);
	const carom_result result = carom_mesh_load(context, bytes, size, true, &mesh);
	FUZZ_REQUIRE(
		result == CAROM_SUCCESS || (result == CAROM_INVALID_MESH && !mesh && carom_error_text(context)[0]), "%d", (int)result);
	if (mesh)
		use(context, mesh);
	carom_release_mesh(mesh);
	FUZZ_REQUIRE(carom_memory_in_use(context) == before, "%zu and %zu bytes", before, carom_memory_in_use(context));
	return result == CAROM_SUCCESS;
}

static bool keep_bytes(const void *bytes, size_t count, void *user)
{
	void **call = user;
	fuzz_keep_fn *keep = *(fuzz_keep_fn **)call[0];
	keep(call[1], bytes, count, call[2]);
	return true;
}

static void keep_mesh(const carom_mesh *mesh, char *seed, fuzz_keep_fn *keep, void *user)
{
	void *call[3] = { &keep, seed, user };
	FUZZ_REQUIRE(carom_mesh_save(mesh, keep_bytes, call) == CAROM_SUCCESS, "%s", seed);
}

static void seeds_baked(fuzz_keep_fn *keep, void *user)
{
	static const float corners[18] = { 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1 };
	static const int32_t triangles[24] = { 0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5 };
	carom_context *context = fuzz_context(CAROM_SIMD_AUTO);
	carom_mesh *mesh;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ corners, 0, CAROM_FLOAT32 };
	def.vertex_count = 6;
	def.triangles = triangles;
	def.triangle_count = 8;
	FUZZ_REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS, "%s", carom_error_text(context));
	keep_mesh(mesh, "closed", keep, user);
	carom_release_mesh(mesh);
	def.triangle_count = 5;
	FUZZ_REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS, "%s", carom_error_text(context));
	keep_mesh(mesh, "open", keep, user);
	carom_release_mesh(mesh);
	FUZZ_REQUIRE(carom_create_hull(context, &def.vertices, 6, &mesh) == CAROM_SUCCESS, "%s", carom_error_text(context));
	keep_mesh(mesh, "hull", keep, user);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

FUZZ_TARGET(baked, seeds_baked, false)
{
	static carom_context *context;
	if (!context)
		context = fuzz_context(CAROM_SIMD_AUTO);
	const bool sound = load_and_use(context, data, size);
	if (sound || size < HEAD)
		return sound;
	size -= size % HEAD; // of no other size is a digest
	uint8_t *forged = malloc(size);
	if (!forged)
		return false;
	memcpy(forged, data, size);
	const uint64_t told = size;
	memcpy(forged + SIZE_AT, &told, sizeof told);
	const uint64_t digest = cr_baked_digest(forged, size);
	memcpy(forged + DIGEST_AT, &digest, sizeof digest);
	(void)load_and_use(context, forged, size);
	free(forged);
	return false;
}
