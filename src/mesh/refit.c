/// Refitting a topology. See mesh/refit.h.
///
/// Three sweeps read the triangles of the surroundings in order: the first finds those with a
/// corner that moved, the second sums the normals of all vertices of these, the third stores them.
/// Sums have the order of a whole build, so they have its bits.

#include "mesh/refit.h"
#include "base/radix.h"
#include <string.h>

static const int32_t *corners_of(const cr_topology *t, int32_t triangle) { return &t->triangles[3 * (int64_t)triangle]; }

static void points_of(const cr_topology *t, int32_t triangle, v3d points[3])
{
	for (int k = 0; k < 3; k++)
		points[k] = v3d_from_floats(&t->vertices[3 * (int64_t)corners_of(t, triangle)[k]]);
}

// ---- The moved vertices ----

/// moved: vertices that move.
static bool make_room(carom_context *context, int32_t moved, int32_t room, cr_change *c)
{
	const int64_t entries = 3 * (int64_t)room + moved;
	if (entries > 1 << 29)
		return false;
	*c = (cr_change){ .room = room, .normal_room = 16 };
	while (c->normal_room < 2 * entries)
		c->normal_room *= 2;
	for (int k = 0; k < 3; k++) {
		c->lower[k] = INFINITY;
		c->upper[k] = -INFINITY;
	}
	c->triangles = cr_alloc_array(context, (size_t)room, sizeof *c->triangles);
	c->normals = cr_alloc_zero(context, (size_t)c->normal_room * sizeof *c->normals);
	return (room == 0 || c->triangles) && c->normals;
}

void cr_change_free(carom_context *context, cr_change *c)
{
	cr_free(context, c->triangles, (size_t)c->room * sizeof *c->triangles);
	cr_free(context, c->normals, c->normals ? (size_t)c->normal_room * sizeof *c->normals : 0);
	*c = (cr_change){ 0 };
}

/// List the triangles with a corner that moves. The table holds such vertices for that long.
static void list_triangles(
	const cr_topology *t, const int32_t *vertices, int32_t count, const cr_surroundings *near, cr_change *c)
{
	for (int32_t i = 0; i < count; i++)
		*cr_find_numbered(c, vertices[i]) = (cr_numbered){ vertices[i] + 1, 0 };
	for (int32_t i = 0; i < near->count; i++) {
		const int32_t triangle = near->triangles[i], *v = corners_of(t, triangle);
		// All bits of one that does not move are set.
		if ((cr_changed_normal(c, v[0]) & cr_changed_normal(c, v[1]) & cr_changed_normal(c, v[2])) >= 0)
			c->triangles[c->triangle_count++] = triangle;
	}
	memset(c->normals, 0, (size_t)c->normal_room * sizeof *c->normals);
}

/// Number the vertices whose normals change: all corners of the triangles listed.
static void number_normals(const cr_topology *t, cr_change *c)
{
	for (int32_t i = 0; i < c->triangle_count; i++) {
		for (int k = 0; k < 3; k++) {
			const int32_t vertex = t->weld[corners_of(t, c->triangles[i])[k]];
			cr_numbered *entry = cr_find_numbered(c, vertex);
			if (entry->vertex1 == 0)
				*entry = (cr_numbered){ vertex + 1, c->normal_count++ };
		}
	}
}

/// Add the triangles listed to the box, and to the sums with a sign. false: one has no area.
static bool measure(const cr_topology *t, double sign, cr_change *c)
{
	if (c->triangle_count == 0)
		return true;
	// Volumes are those of tetrahedra from a point near by: the volume between the two surfaces
	// does not depend on the point.
	const v3d from = v3d_from_floats(&t->vertices[3 * (int64_t)corners_of(t, c->triangles[0])[0]]);
	const v3d origin = { from.x, from.y, 0 };
	for (int32_t i = 0; i < c->triangle_count; i++) {
		v3d p[3];
		points_of(t, c->triangles[i], p);
		const v3d area = v3d_cross(v3d_sub(p[1], p[0]), v3d_sub(p[2], p[0]));
		if (area.x == 0 && area.y == 0 && area.z == 0)
			return false;
		c->area += sign * 0.5 * v3d_length(area);
		c->volume += sign * v3d_dot(v3d_sub(p[0], origin), area) / 6;
		for (int k = 0; k < 9; k++) {
			const float x = t->vertices[3 * (int64_t)corners_of(t, c->triangles[i])[k / 3] + k % 3];
			c->lower[k % 3] = x < c->lower[k % 3] ? x : c->lower[k % 3];
			c->upper[k % 3] = x > c->upper[k % 3] ? x : c->upper[k % 3];
		}
	}
	return true;
}

// ---- Normals ----

/// Sum the normals of the vertices that are numbered, over all triangles around them.
static void sum_normals(const cr_topology *t, const cr_change *c, const cr_surroundings *near, v3d *sums)
{
	for (int32_t i = 0; i < near->count; i++) {
		const int32_t triangle = near->triangles[i], *v = corners_of(t, triangle);
		int32_t number[3];
		for (int k = 0; k < 3; k++)
			number[k] = cr_changed_normal(c, t->weld[v[k]]);
		if ((number[0] & number[1] & number[2]) < 0)
			continue;
		v3d normal;
		double angles[3];
		cr_triangle_angles(t, triangle, &normal, angles);
		for (int k = 0; k < 3; k++) {
			if (number[k] >= 0)
				sums[number[k]] = v3d_mad(sums[number[k]], angles[k], normal);
		}
	}
}

/// Store the normals of all vertices at the places that are numbered. false: one has none.
static bool store_normals(cr_topology *t, const cr_change *c, const cr_surroundings *near, const v3d *sums)
{
	bool all = true;
	for (int64_t i = 0; i < 3 * (int64_t)near->count; i++) {
		const int32_t vertex = corners_of(t, near->triangles[i / 3])[i % 3], number = cr_changed_normal(c, t->weld[vertex]);
		if (number < 0)
			continue;
		float *normal = &t->normals[3 * (int64_t)vertex];
		cr_store_normal(sums[number], normal);
		all = all && (normal[0] != 0 || normal[1] != 0 || normal[2] != 0);
	}
	return all;
}

/// An edge by its ends as welded, the smaller first.
static uint64_t key_of(const cr_topology *t, int64_t side)
{
	const int64_t first = side / 3 * 3;
	const uint64_t a = (uint64_t)t->weld[t->triangles[side]],
				   b = (uint64_t)t->weld[t->triangles[first + (side - first + 1) % 3]];
	return a < b ? a << 32 | b : b << 32 | a;
}

/// The side of a triangle that is an edge.
static int64_t side_at(const cr_topology *t, int32_t triangle, uint64_t key)
{
	int64_t side = 3 * (int64_t)triangle;
	while (key_of(t, side) != key)
		side++;
	return side;
}

/// Mend the normals of the edges between two triangles; list the other ones as keys. Returns their
/// number.
static int64_t mend_edges(cr_topology *t, const cr_change *c, cr_key *others)
{
	int64_t count = 0;
	for (int64_t i = 0; i < 3 * (int64_t)c->triangle_count; i++) {
		const int32_t triangle = c->triangles[i / 3];
		const int64_t side = 3 * (int64_t)triangle + i % 3;
		const int32_t across = t->neighbours[side];
		const uint64_t key = key_of(t, side);
		if (across < 0) {
			others[count++] = (cr_key){ key, 0 };
			continue;
		}
		if (across < triangle && cr_has_changed(c, across))
			continue; // it was mended from there
		const v3d zero = { 0, 0, 0 };
		const v3d sum = v3d_add(v3d_add(zero, cr_face_normal(t, triangle)), cr_face_normal(t, across));
		cr_store_normal(sum, &t->edge_normals[3 * side]);
		cr_store_normal(sum, &t->edge_normals[3 * side_at(t, across, key)]);
	}
	return count;
}

/// Mend the normals of edges at borders, and where more than two triangles meet: all of these
/// count.
static bool mend_other_edges(carom_context *context, cr_topology *t, const cr_surroundings *near, cr_key *keys, int64_t count)
{
	v3d *sums = cr_alloc_zero(context, (size_t)count * sizeof *sums);
	if (!sums)
		return count == 0;
	cr_radix_sort(keys, keys + count, count, 64);
	for (int store = 0; store < 2; store++) {
		for (int64_t i = 0; i < 3 * (int64_t)near->count; i++) {
			const int64_t side = 3 * (int64_t)near->triangles[i / 3] + i % 3;
			if (t->neighbours[side] >= 0)
				continue;
			const int64_t at = cr_find_key(keys, count, key_of(t, side));
			if (at >= 0 && store)
				cr_store_normal(sums[at], &t->edge_normals[3 * side]);
			else if (at >= 0)
				sums[at] = v3d_add(sums[at], cr_face_normal(t, (int32_t)(side / 3)));
		}
	}
	cr_free(context, sums, (size_t)count * sizeof *sums);
	return true;
}

static bool mend_all_edges(carom_context *context, cr_topology *t, const cr_change *c, const cr_surroundings *near)
{
	const size_t bytes = 6 * (size_t)c->triangle_count * sizeof(cr_key);
	cr_key *keys = cr_alloc(context, bytes);
	if (!keys)
		return bytes == 0;
	const int64_t count = mend_edges(t, c, keys);
	const bool enough = count == 0 || mend_other_edges(context, t, near, keys, count);
	cr_free(context, keys, bytes);
	return enough;
}

static carom_result mend_normals(carom_context *context, cr_topology *t, const cr_change *c, const cr_surroundings *near)
{
	const size_t bytes = (size_t)c->normal_count * sizeof(v3d);
	v3d *sums = cr_alloc_zero(context, bytes);
	if (!sums && bytes > 0)
		return CAROM_OUT_OF_MEMORY;
	sum_normals(t, c, near, sums);
	const bool all = store_normals(t, c, near, sums);
	cr_free(context, sums, bytes);
	if (t->edge_normals && !mend_all_edges(context, t, c, near))
		return CAROM_OUT_OF_MEMORY;
	return all ? CAROM_SUCCESS : CAROM_INVALID_MESH;
}

void cr_surroundings_free(carom_context *context, cr_surroundings *s)
{
	cr_free(context, s->triangles, (size_t)s->count * sizeof *s->triangles);
	*s = (cr_surroundings){ 0 };
}

carom_result cr_topology_refit(carom_context *context, cr_topology *t, const int32_t *vertices, const float *places,
	int32_t count, const cr_surroundings *near, cr_change *c)
{
	if (!make_room(context, count, near->count, c))
		return cr_fail_memory(context, "what changed in a mesh");
	list_triangles(t, vertices, count, near, c);
	measure(t, -1, c);
	for (int32_t i = 0; i < count; i++)
		memcpy(&t->vertices[3 * (int64_t)vertices[i]], &places[3 * (int64_t)i], 3 * sizeof *places);
	const bool same = measure(t, 1, c);
	number_normals(t, c);
	if (!same)
		return CAROM_INVALID_MESH;
	const carom_result result = mend_normals(context, t, c, near);
	return result == CAROM_OUT_OF_MEMORY ? cr_fail_memory(context, "the normals of a mesh") : result;
}
