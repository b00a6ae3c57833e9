/// Rays by Embree 3 behind carom_ray_plugin: an example of a further ray algorithm in one file,
/// public headers only. Input: the triangles of a mesh, then batches of rays in its frame. Output:
/// the nearest hit of each ray. A scene is never changed after it was built, so casts from several
/// threads need no lock.

#include "embree.h"

#include <embree3/rtcore.h>
#include <stdlib.h>
#include <string.h>

/// The plug-in with the device that its scenes are made on.
typedef struct embree_plugin {
	carom_ray_plugin interface;
	RTCDevice device;
} embree_plugin;

/// One mesh.
typedef struct embree_mesh {
	RTCScene scene;
	int32_t *number; // of each of Embree's triangles
} embree_mesh;

static void mesh_destroy(void *state, void *user)
{
	embree_mesh *mesh = state;
	(void)user;
	if (mesh->scene != NULL) {
		rtcReleaseScene(mesh->scene);
	}
	free(mesh->number);
	free(mesh);
}

/// Copy the triangles into a geometry of the scene. False when Embree is out of memory.
static bool fill_scene(RTCDevice device, RTCScene scene, const float *vertices, int32_t vertex_count, const int32_t *triangles,
	int32_t triangle_count)
{
	RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
	if (geometry == NULL) {
		return false;
	}
	size_t vertex_size = 3 * sizeof(float), triangle_size = 3 * sizeof(uint32_t);
	void *v = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, vertex_size, (size_t)vertex_count);
	void *t =
		rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, triangle_size, (size_t)triangle_count);
	bool filled = v != NULL && t != NULL;
	if (filled) {
		memcpy(v, vertices, vertex_size * (size_t)vertex_count);
		memcpy(t, triangles, triangle_size * (size_t)triangle_count);
		rtcCommitGeometry(geometry);
		rtcAttachGeometry(scene, geometry);
	}
	rtcReleaseGeometry(geometry);
	return filled;
}

static void *mesh_build(const float *vertices, int32_t vertex_count, const int32_t *triangles, const int32_t *number,
	int32_t triangle_count, void *user)
{
	const embree_plugin *plugin = user;
	embree_mesh *mesh = calloc(1, sizeof *mesh);
	if (mesh == NULL) {
		return NULL;
	}
	size_t number_size = sizeof *number * (size_t)triangle_count;
	mesh->number = malloc(number_size > 0 ? number_size : 1);
	mesh->scene = rtcNewScene(plugin->device);
	if (mesh->number == NULL || mesh->scene == NULL) {
		mesh_destroy(mesh, user);
		return NULL;
	}
	rtcSetSceneFlags(mesh->scene, RTC_SCENE_FLAG_ROBUST);
	rtcSetSceneBuildQuality(mesh->scene, RTC_BUILD_QUALITY_HIGH);
	bool filled = true;
	if (triangle_count > 0) {
		memcpy(mesh->number, number, number_size);
		filled = fill_scene(plugin->device, mesh->scene, vertices, vertex_count, triangles, triangle_count);
	}
	rtcCommitScene(mesh->scene);
	if (!filled || rtcGetDeviceError(plugin->device) != RTC_ERROR_NONE) {
		mesh_destroy(mesh, user);
		return NULL;
	}
	return mesh;
}

/// Ray i in Embree's form, with no hit yet.
static struct RTCRayHit make_query(const carom_ray_batch *rays, int32_t i)
{
	struct RTCRayHit query = { .ray = { .tnear = 0, .mask = UINT32_MAX } };
	query.ray.org_x = rays->origin[0][i];
	query.ray.org_y = rays->origin[1][i];
	query.ray.org_z = rays->origin[2][i];
	query.ray.dir_x = rays->direction[0][i];
	query.ray.dir_y = rays->direction[1][i];
	query.ray.dir_z = rays->direction[2][i];
	query.ray.tfar = rays->t_max[i];
	query.hit.primID = RTC_INVALID_GEOMETRY_ID;
	query.hit.geomID = RTC_INVALID_GEOMETRY_ID;
	query.hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
	return query;
}

static void mesh_cast(void *state, const carom_ray_batch *rays, const carom_hit_batch *hits, void *user)
{
	const embree_mesh *mesh = state;
	(void)user;
	struct RTCIntersectContext context;
	rtcInitIntersectContext(&context);
	for (int32_t i = 0; i < rays->count; i++) {
		struct RTCRayHit query = make_query(rays, i);
		rtcIntersect1(mesh->scene, &context, &query);
		bool found = query.hit.geomID != RTC_INVALID_GEOMETRY_ID;
		// Embree's normal is e1 x e2 of the triangle as given, not of unit length.
		float along = query.hit.Ng_x * query.ray.dir_x + query.hit.Ng_y * query.ray.dir_y + query.hit.Ng_z * query.ray.dir_z;
		hits->triangle[i] = found ? mesh->number[query.hit.primID] : -1;
		hits->t[i] = query.ray.tfar;
		hits->back_face[i] = found && along > 0;
	}
}

const carom_ray_plugin *carom_create_embree_plugin(void)
{
	embree_plugin *plugin = calloc(1, sizeof *plugin);
	if (plugin == NULL) {
		return NULL;
	}
	// One thread: the library decides on parallel work, and a build by one thread gives the same
	// tree each time.
	plugin->device = rtcNewDevice("threads=1");
	if (plugin->device == NULL) {
		free(plugin);
		return NULL;
	}
	plugin->interface =
		(carom_ray_plugin){ .name = "embree", .build = mesh_build, .cast = mesh_cast, .destroy = mesh_destroy, .user = plugin };
	return &plugin->interface;
}

void carom_destroy_embree_plugin(const carom_ray_plugin *plugin)
{
	if (plugin != NULL) {
		embree_plugin *owner = plugin->user;
		rtcReleaseDevice(owner->device);
		free(owner);
	}
}
