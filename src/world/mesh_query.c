/// Stateless queries of one mesh (carom/mesh_query.h): triangles that intersect each other (meshes
/// with doubles: surface_pairs.c), rays.
#include "base/radix.h"
#include "carom/mesh_query.h"
#include "contact/contact.h"
#include "geom/triangle.h"
#include "world/surface_pairs.h"

// ---- Intersections ----

bool carom_triangles_intersect(const carom_vec3 a[3], const carom_vec3 b[3]) { return a && b && cr_triangles_intersect(a, b); }

int carom_orientation(carom_vec3 a, carom_vec3 b, carom_vec3 c, carom_vec3 d) { return cr_orient3d_sign(a, b, c, d); }

static bool share_vertex(const cr_topology *t, int32_t a, int32_t b)
{
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++) {
			if (t->triangles[3 * (int64_t)a + i] == t->triangles[3 * (int64_t)b + k])
				return true;
		}
	}
	return false;
}

static bool is_crossing(const cr_collider *c, cr_candidate pair)
{
	// The walk of the tree with itself finds each pair twice.
	if (pair.a >= pair.b || share_vertex(c->topology, pair.a, pair.b))
		return false;
	v3d a[3], b[3];
	cr_collider_triangle(c, pair.a, a);
	cr_collider_triangle(c, pair.b, b);
	return cr_triangles_intersect(a, b);
}

/// Sort the crossing pairs and write them out.
static carom_result write_pairs(
	cr_arena *arena, const cr_candidates *found, int32_t crossing, int32_t capacity, int32_t (*pairs)[2])
{
	cr_key *keys = cr_arena_alloc(arena, (size_t)crossing * sizeof *keys);
	cr_key *scratch = cr_arena_alloc(arena, (size_t)crossing * sizeof *scratch);
	if (!keys || !scratch)
		return CAROM_OUT_OF_MEMORY;
	for (int32_t i = 0; i < crossing; i++)
		keys[i] = (cr_key){ (uint64_t)found->data[i].a << 32 | (uint32_t)found->data[i].b, 0 };
	cr_radix_sort(keys, scratch, crossing, 64);
	for (int32_t i = 0; i < crossing && i < capacity; i++) {
		pairs[i][0] = (int32_t)(keys[i].key >> 32);
		pairs[i][1] = (int32_t)(keys[i].key & UINT32_MAX);
	}
	return CAROM_SUCCESS;
}

static carom_result find_crossings(
	const cr_collider *c, const cr_bvh_kernels *kernels, cr_arena *arena, int32_t capacity, int32_t (*pairs)[2], int32_t *count)
{
	const cr_transform identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } }, { 0, 0, 0 } };
	cr_candidates found = { .arena = arena };
	kernels->pairs(c, c, &identity, &identity, 0, &found);
	if (found.failed)
		return CAROM_OUT_OF_MEMORY;
	int32_t crossing = 0;
	for (int32_t i = 0; i < found.count; i++) {
		if (is_crossing(c, found.data[i]))
			found.data[crossing++] = found.data[i];
	}
	*count = crossing;
	return capacity > 0 && crossing > 0 ? write_pairs(arena, &found, crossing, capacity, pairs) : CAROM_SUCCESS;
}

carom_result carom_mesh_self_intersections(const carom_mesh *mesh, int32_t capacity, int32_t (*pairs)[2], int32_t *count)
{
	static const char *const name = "carom_mesh_self_intersections";
	if (!mesh)
		return CAROM_INVALID_ARGUMENT;
	if (!count || (capacity > 0 && !pairs))
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, count ? "pairs" : "count");
	*count = 0;
	if (capacity < 0)
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "%s: capacity is %d", name, capacity);
	if (mesh->exact)
		return cr_find_self_pairs(mesh, capacity, pairs, count)
			? CAROM_SUCCESS
			: cr_fail_memory(mesh->context, "the self-intersections of a mesh");
	if (mesh->collider.triangle_count == 0)
		return CAROM_SUCCESS;
	cr_arena arena;
	cr_arena_init(&arena, mesh->context);
	const carom_result result =
		find_crossings(&mesh->collider, cr_get_bvh_kernels(mesh->context->simd), &arena, capacity, pairs, count);
	cr_arena_free(&arena);
	if (result == CAROM_SUCCESS)
		return result;
	*count = 0;
	return cr_fail_memory(mesh->context, "the self-intersections of a mesh");
}

carom_result cr_check_rays(const carom_mesh *mesh, const char *name, const carom_ray_batch *rays, const carom_hit_batch *hits)
{
	if (!rays || !hits)
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", name, rays ? "hits" : "rays");
	if (rays->count < 0)
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "%s: rays->count is %d", name, rays->count);
	bool complete = rays->t_max && hits->triangle && hits->t && hits->back_face;
	for (int k = 0; k < 3; k++)
		complete = complete && rays->origin[k] && rays->direction[k];
	if (rays->count > 0 && !complete)
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "%s: an array of the rays or of the hits is NULL", name);
	return CAROM_SUCCESS;
}

carom_result carom_mesh_cast_rays(const carom_mesh *mesh, const carom_ray_batch *rays, const carom_hit_batch *hits)
{
	if (!mesh)
		return CAROM_INVALID_ARGUMENT;
	const carom_result result = cr_check_rays(mesh, "carom_mesh_cast_rays", rays, hits);
	if (result != CAROM_SUCCESS)
		return result;
	cr_get_bvh_kernels(mesh->context->simd)->cast(&mesh->collider, rays, 0, rays->count, hits);
	for (int32_t i = 0; i < rays->count; i++) {
		if (hits->triangle[i] < 0) {
			hits->t[i] = INFINITY;
			hits->back_face[i] = 0;
		}
	}
	return CAROM_SUCCESS;
}
