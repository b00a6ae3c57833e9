/// Normals of vertices and edges on demand. See mesh/fans.h. Sums have the order of a whole build,
/// so they have its bits.
#include "mesh/fans.h"
#include "math/trig.h"
#include <string.h>

bool cr_fans_build(carom_context *context, const cr_topology *t, cr_fans *fans)
{
	*fans = (cr_fans){ .vertex_count = t->vertex_count };
	fans->first = cr_alloc_zero(context, ((size_t)t->vertex_count + 1) * sizeof *fans->first);
	if (!fans->first)
		return false;
	for (int64_t i = 0; i < 3 * (int64_t)t->triangle_count; i++)
		fans->first[t->weld[t->triangles[i]] + 1] += t->used[i / 3];
	for (int32_t v = 0; v < t->vertex_count; v++)
		fans->first[v + 1] += fans->first[v];
	const int32_t count = fans->first[t->vertex_count];
	fans->corners = cr_alloc_array(context, (size_t)count, sizeof *fans->corners);
	if (!fans->corners && count > 0) {
		cr_fans_free(context, fans);
		return false;
	}
	for (int64_t i = 0; i < 3 * (int64_t)t->triangle_count; i++) {
		if (t->used[i / 3])
			fans->corners[fans->first[t->weld[t->triangles[i]]]++] = (int32_t)i;
	}
	// Every list ended where the next one began.
	memmove(fans->first + 1, fans->first, (size_t)t->vertex_count * sizeof *fans->first);
	fans->first[0] = 0;
	return true;
}

void cr_fans_free(carom_context *context, cr_fans *fans)
{
	cr_free(context, fans->corners, fans->first ? (size_t)fans->first[fans->vertex_count] * sizeof *fans->corners : 0);
	cr_free(context, fans->first, ((size_t)fans->vertex_count + 1) * sizeof *fans->first);
	*fans = (cr_fans){ 0 };
}

static v3d rounded(v3d sum)
{
	float normal[3];
	cr_store_normal(sum, normal);
	return v3d_from_floats(normal);
}

v3d cr_fan_vertex_normal(const cr_topology *t, const cr_fans *fans, int32_t vertex)
{
	const int32_t v = t->weld[vertex];
	v3d sum = { 0, 0, 0 };
	// Angles are made three at a time, of as many triangles.
	for (int32_t i = fans->first[v]; i < fans->first[v + 1]; i += 3) {
		const int count = fans->first[v + 1] - i < 3 ? fans->first[v + 1] - i : 3;
		v3d normals[3];
		double cosines[3] = { 0 }, angles[3];
		for (int k = 0; k < count; k++)
			cr_corner_cosine(t, fans->corners[i + k] / 3, fans->corners[i + k] % 3, &normals[k], &cosines[k]);
		cr_acos_three(cosines, angles);
		for (int k = 0; k < count; k++)
			sum = v3d_mad(sum, angles[k], normals[k]);
	}
	return rounded(sum);
}

v3d cr_fan_edge_normal(const cr_topology *t, const cr_fans *fans, int32_t triangle, int k)
{
	const int32_t *corners = &t->triangles[3 * (int64_t)triangle];
	const int32_t from = t->weld[corners[k]], to = t->weld[corners[(k + 1) % 3]];
	v3d sum = { 0, 0, 0 };
	for (int32_t i = fans->first[from]; i < fans->first[from + 1]; i++) {
		const int32_t *other = &t->triangles[fans->corners[i] - fans->corners[i] % 3];
		if (t->weld[other[0]] == to || t->weld[other[1]] == to || t->weld[other[2]] == to)
			sum = v3d_add(sum, cr_face_normal(t, fans->corners[i] / 3));
	}
	return rounded(sum);
}
