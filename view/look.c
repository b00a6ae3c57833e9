// How bodies look: colours by number, and normals for smooth shading.
#include "view/renderer.h"
#include "view/view.h"

#include <stdlib.h>

// Muted colours that stand apart from each other and from the signal colours of contacts; sRGB.
static const uint8_t PALETTE[12][3] = {
	{ 224, 122, 95 },
	{ 129, 178, 154 },
	{ 242, 204, 143 },
	{ 84, 120, 165 },
	{ 233, 196, 106 },
	{ 152, 193, 217 },
	{ 181, 101, 118 },
	{ 60, 150, 140 },
	{ 244, 162, 97 },
	{ 128, 110, 150 },
	{ 234, 226, 214 },
	{ 150, 175, 95 },
};

view_look view_make_look(carom_shape_type shape, carom_body_kind kind, int number)
{
	view_look look = { .color = { 0.42f, 0.42f, 0.40f }, .checker = shape == CAROM_PLANE };
	if (shape == CAROM_PLANE || kind == CAROM_STATIC)
		return look;
	const unsigned n = (unsigned)number;
	// Each round through the palette begins elsewhere and is a little lighter or darker.
	const unsigned round = n / 12;
	const uint8_t *color = PALETTE[(n * 5 + round * 7) % 12];
	const double shade = 0.86 + 0.07 * (round * 3 % 5);
	for (int i = 0; i < 3; ++i)
		look.color[i] = (float)fmin(shade * pow(color[i] / 255.0, 2.2), 1);
	return look;
}

// ---- Smooth normals ----

static carom_vec3 vertex_at(const float *vertices, int32_t index)
{
	const float *v = vertices + 3 * (size_t)index;
	return (carom_vec3){ v[0], v[1], v[2] };
}

/// Twice the area times the unit normal.
static carom_vec3 triangle_normal(const float *vertices, const int32_t *triangle)
{
	const carom_vec3 a = vertex_at(vertices, triangle[0]);
	return sim_cross(sim_subtract(vertex_at(vertices, triangle[1]), a), sim_subtract(vertex_at(vertices, triangle[2]), a));
}

/// The triangles around each vertex: those of vertex v are around[start[v]] to around[start[v + 1]
/// - 1].
static void list_triangles_around(
	int32_t vertex_count, int32_t corner_count, const int32_t *triangles, int32_t *start, int32_t *around)
{
	for (int32_t i = 0; i < corner_count; ++i)
		++start[triangles[i] + 1];
	for (int32_t v = 0; v < vertex_count; ++v)
		start[v + 1] += start[v];
	for (int32_t i = corner_count; i-- > 0;)
		around[--start[triangles[i] + 1]] = i / 3;
	// Filling from the end has moved each start one place down.
	for (int32_t v = 0; v < vertex_count; ++v)
		start[v] = start[v + 1];
	start[vertex_count] = corner_count;
}

/// The area-weighted mean of the faces around a corner that meet its own face at less than 50
/// degrees: edges of boxes stay sharp.
static carom_vec3 corner_normal(
	const float *vertices, const int32_t *triangles, int32_t own, const int32_t *around, int32_t count)
{
	const carom_vec3 n = sim_normalize(triangle_normal(vertices, triangles + 3 * (size_t)own));
	carom_vec3 sum = { 0, 0, 0 };
	for (int32_t i = 0; i < count; ++i) {
		const carom_vec3 other = triangle_normal(vertices, triangles + 3 * (size_t)around[i]);
		if (sim_dot(n, other) >= 0.64 * sim_length(other))
			sum = sim_add(sum, other);
	}
	return sim_length(sum) > 0 ? sim_normalize(sum) : n;
}

bool view_create_smooth_mesh(const carom_mesh *mesh, view_smooth_mesh *smooth)
{
	const carom_mesh_report *report = carom_mesh_get_report(mesh);
	const float *vertices = carom_mesh_get_vertices(mesh);
	const int32_t *triangles = carom_mesh_get_triangles(mesh);
	const int32_t corner_count = 3 * report->triangle_count;
	*smooth = (view_smooth_mesh){ .mesh = mesh };
	smooth->normals = malloc(((size_t)corner_count * 3 + 1) * sizeof *smooth->normals);
	int32_t *start = calloc((size_t)report->vertex_count + 2, sizeof *start);
	int32_t *around = malloc(((size_t)corner_count + 1) * sizeof *around);
	const bool enough = smooth->normals && start && around;
	if (enough) {
		list_triangles_around(report->vertex_count, corner_count, triangles, start, around);
		for (int32_t i = 0; i < corner_count; ++i) {
			const int32_t v = triangles[i];
			const carom_vec3 n = corner_normal(vertices, triangles, i / 3, around + start[v], start[v + 1] - start[v]);
			smooth->normals[3 * (size_t)i] = (float)n.x;
			smooth->normals[3 * (size_t)i + 1] = (float)n.y;
			smooth->normals[3 * (size_t)i + 2] = (float)n.z;
		}
	}
	free(start);
	free(around);
	if (!enough)
		view_destroy_smooth_mesh(smooth);
	return enough;
}

void view_destroy_smooth_mesh(view_smooth_mesh *smooth)
{
	free(smooth->normals);
	*smooth = (view_smooth_mesh){ 0 };
}
