// Actions of the lives (fuzz_life.c) that ask about surfaces that deform: where they cross, and what their velocity rays hit.
#include "life.h"

#include <math.h>

static carom_vec3 corner_of(const carom_vertex_view *view, int32_t vertex)
{
	return (carom_vec3){ view->data[3 * vertex], view->data[3 * vertex + 1], view->data[3 * vertex + 2] };
}

// Crossings of a deforming body with itself are those of each two triangles.
static void check_own_crossings(life *l, carom_body_id id, const carom_crossing *found, int32_t count)
{
	carom_body_def def;
	carom_vertex_view view;
	if (carom_world_get_body_def(l->world[0], id, &def) != CAROM_SUCCESS ||
		carom_world_get_vertices(l->world[0], id, &view) != CAROM_SUCCESS)
		return;
	const int32_t *t = carom_mesh_get_triangles(def.shape.mesh),
				  triangles = carom_mesh_get_report(def.shape.mesh)->triangle_count;
	int32_t next = 0;
	for (int32_t i = 0; i < triangles; i++)
		for (int32_t j = i + 1; j < triangles; j++) {
			const int32_t *p = t + 3 * i, *q = t + 3 * j;
			bool apart = p[0] != p[1] && p[1] != p[2] && p[2] != p[0] && q[0] != q[1] && q[1] != q[2] && q[2] != q[0];
			for (int k = 0; k < 9; k++)
				apart &= p[k / 3] != q[k % 3];
			const carom_vec3 a[3] = { corner_of(&view, p[0]), corner_of(&view, p[1]), corner_of(&view, p[2]) },
							 b[3] = { corner_of(&view, q[0]), corner_of(&view, q[1]), corner_of(&view, q[2]) };
			if (!apart || !carom_triangles_intersect(a, b))
				continue;
			while (next < count && found[next].body_a.index1 != found[next].body_b.index1)
				next++;
			FUZZ_REQUIRE(next < count && found[next].triangle_a == i && found[next].triangle_b == j,
				"triangles %d and %d of body %u cross", i, j, id.index1);
			next++;
		}
	while (next < count && found[next].body_a.index1 != found[next].body_b.index1)
		next++;
	FUZZ_REQUIRE(next >= count, "crossing %d of %d is none", next, count);
}

static void ask_crossings(life *l)
{
	enum { MOST = 4096 };
	static carom_crossing found[2][MOST];
	const carom_body_id id = life_id_of(l, LIFE_SOFT);
	carom_result result[2];
	int32_t count[2] = { 0, 0 };
	const carom_body_id asked = life_choose(l, 4) ? id : (carom_body_id){ 0, 0 };
	LIFE_BOTH(l, result, carom_world_find_crossings(l->world[w], asked, NULL, MOST, found[w], &count[w]));
	if (result[0] != CAROM_SUCCESS)
		return;
	FUZZ_REQUIRE(count[0] == count[1], "%d and %d crossings", count[0], count[1]);
	for (int i = 0; i < count[0] && i < MOST; i++)
		FUZZ_REQUIRE(found[0][i].triangle_a == found[1][i].triangle_a && found[0][i].triangle_b == found[1][i].triangle_b &&
				found[0][i].body_b.index1 == found[1][i].body_b.index1,
			"crossing %d", i);
	if (asked.index1 && count[0] <= MOST)
		check_own_crossings(l, asked, found[0], count[0]);
}

static void ask_velocity_rays(life *l)
{
	enum { MOST = 1024 };
	static carom_velocity_hit hits[2][MOST];
	const carom_body_id id = life_id_of(l, LIFE_SOFT);
	const carom_velocity_rays rays = { life_choose(l, 2) ? 0 : 0.3, life_choose(l, 2), life_choose(l, 3) };
	carom_vertex_view view = { 0 };
	double ways[3 * 256];
	carom_world_get_vertices(l->world[0], id, &view);
	for (int i = 0; i < 3 * 256; i++)
		ways[i] = 0.3 * life_signed(l);
	const carom_strided given = { ways, 0, CAROM_FLOAT64 };
	const bool own = view.count > 256 || life_choose(l, 2);
	carom_result result[2];
	int32_t count[2] = { 0, 0 };
	LIFE_BOTH(
		l, result, carom_world_cast_velocity_rays(l->world[w], id, own ? NULL : &given, &rays, NULL, MOST, hits[w], &count[w]));
	if (result[0] != CAROM_SUCCESS)
		return;
	FUZZ_REQUIRE(count[0] == count[1], "%d and %d hits", count[0], count[1]);
	for (int i = 0; i < count[0] && i < MOST; i++) {
		const carom_velocity_hit *a = &hits[0][i], *b = &hits[1][i];
		FUZZ_REQUIRE(
			a->vertex == b->vertex && a->triangle == b->triangle && a->distance == b->distance && a->behind == b->behind,
			"hit %d", i);
		FUZZ_REQUIRE(fuzz_is_unit(a->normal.x, a->normal.y, a->normal.z) && a->distance >= 0 && isfinite(a->point.x),
			"hit %d: distance %g, normal %g %g %g", i, a->distance, a->normal.x, a->normal.y, a->normal.z);
		FUZZ_REQUIRE(i == 0 || hits[0][i - 1].vertex < a->vertex ||
				(hits[0][i - 1].vertex == a->vertex && !hits[0][i - 1].behind && a->behind),
			"hit %d is out of order", i);
	}
}

const life_action life_surface_actions[] = {
	{ "crossings", ask_crossings, 4 },
	{ "velocity rays", ask_velocity_rays, 4 },
	{ 0 },
};
