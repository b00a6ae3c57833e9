/// Where the edges of cloth pierce a closed mesh, and those of the mesh the cloth.
///
/// The search of near features lists the triangles of cloth and closed meshes that cross
/// (proximity/proximity_cuts.c). Each such pair of triangles has edges that pierce the other one,
/// by exact signs: so an edge that runs along the seam of two faces pierces both or none of a
/// surface that closes. Cost: O(crossing triangles), with a sort.
#include "base/stable_sort.h"
#include "world/surface_cuts.h"
#include "geom/triangle.h"
#include "world/world.h"

bool cr_may_be_cut(const void *user, int32_t mesh_a, int32_t mesh_b)
{
	const carom_world *world = user;
	const cr_body *a = cr_body_of_member(world, mesh_a), *b = cr_body_of_member(world, mesh_b);
	const bool is_cloth = a->kind == CAROM_CLOTH;
	return is_cloth != (b->kind == CAROM_CLOTH) && !a->sensor && !b->sensor && cr_kept_distance(a, b) > 0 &&
		cr_has_outside(world, is_cloth ? mesh_a : mesh_b, is_cloth ? mesh_b : mesh_a);
}

static int compare_pierces(const void *a, const void *b)
{
	const cr_piercing *x = a, *y = b;
	int order = cr_compare_numbers(x->ends[0], y->ends[0]);
	if (order == 0)
		order = cr_compare_numbers(x->ends[1], y->ends[1]);
	if (order == 0)
		order = x->at < y->at ? -1 : x->at > y->at;
	if (order == 0)
		order = cr_compare_numbers(x->triangle, y->triangle);
	return order != 0 ? order : cr_compare_numbers(x->own, y->own);
}

static bool is_same_pierce(const cr_piercing *a, const cr_piercing *b)
{
	return a->ends[0] == b->ends[0] && a->ends[1] == b->ends[1] && a->triangle == b->triangle;
}

/// Sort, each once.
static void put_in_order(cr_piercings *list)
{
	int64_t count = 0;
	if (list->count > 1)
		cr_sort_stably(list->data, list->count, sizeof *list->data, compare_pierces);
	for (int64_t i = 0; i < list->count; i++) {
		if (count == 0 || !is_same_pierce(&list->data[count - 1], &list->data[i]))
			list->data[count++] = list->data[i];
	}
	list->count = count;
}

/// List the edges of a triangle that pierce a triangle of another surface. weld: NULL where
/// vertices keep their own numbers.
static bool list_edges(carom_world *world, const cr_placed *of, int32_t triangle, const int32_t *weld, const cr_placed *other,
	int32_t pierced, cr_piercings *list)
{
	const int32_t *own = &of->faces->triangles[3 * (int64_t)triangle], *c = &other->faces->triangles[3 * (int64_t)pierced];
	const v3d t[3] = { cr_placed_vertex(other, c[0]), cr_placed_vertex(other, c[1]), cr_placed_vertex(other, c[2]) };
	for (int k = 0; k < 3; k++) {
		int32_t p = own[k], q = own[(k + 1) % 3];
		p = weld ? weld[p] : p;
		q = weld ? weld[q] : q;
		cr_piercing now = { .ends = { p < q ? p : q, p < q ? q : p }, .triangle = pierced, .own = triangle, .corner = k };
		const v3d from = cr_placed_vertex(of, now.ends[0]), to = cr_placed_vertex(of, now.ends[1]);
		if (!cr_segment_pierces_triangle(from, to, t[0], t[1], t[2], &now.at))
			continue;
		now.side[0] = cr_orient3d_sign(t[0], t[1], t[2], from);
		now.side[1] = cr_orient3d_sign(t[0], t[1], t[2], to);
		if (!cr_array_reserve_one(&world->memory, list))
			return false;
		list->data[list->count++] = now;
	}
	return true;
}

static bool list_pierces(cr_cut_pair *pair, const cr_near_cut *cuts, int64_t count, cr_cut_lists *lists)
{
	const bool turned = pair->cloth > pair->solid;
	const int32_t *weld = pair->of_solid.faces->weld;
	bool enough = true;
	lists->cloth_edges.count = lists->solid_edges.count = 0;
	for (int64_t i = 0; i < count && enough; i++) {
		const int32_t of_cloth = turned ? cuts[i].triangle_b : cuts[i].triangle_a;
		const int32_t of_solid = turned ? cuts[i].triangle_a : cuts[i].triangle_b;
		enough = list_edges(pair->world, &pair->of_cloth, of_cloth, NULL, &pair->of_solid, of_solid, &lists->cloth_edges) &&
			list_edges(pair->world, &pair->of_solid, of_solid, weld, &pair->of_cloth, of_cloth, &lists->solid_edges);
	}
	put_in_order(&lists->cloth_edges);
	put_in_order(&lists->solid_edges);
	return enough;
}

bool cr_visit_cut_pairs(carom_world *world, cr_cut_pair_fn *fn, void *user)
{
	cr_cut_lists *lists = &world->surface_contacts.cuts;
	const cr_near_cuts *cuts = &world->surface_contacts.near->crossing;
	bool enough = true;
	for (int64_t i = 0, end; i < cuts->count && enough; i = end) {
		const cr_near_cut *cut = &cuts->data[i];
		const bool turned = cr_body_of_member(world, cut->mesh_a)->kind != CAROM_CLOTH;
		for (end = i; end < cuts->count && cuts->data[end].mesh_a == cut->mesh_a && cuts->data[end].mesh_b == cut->mesh_b;)
			end++;
		cr_cut_pair pair = { .world = world,
			.cloth = turned ? cut->mesh_b : cut->mesh_a,
			.solid = turned ? cut->mesh_a : cut->mesh_b,
			.cloth_edges = &lists->cloth_edges,
			.solid_edges = &lists->solid_edges };
		pair.of_cloth = cr_placed_member(world, pair.cloth);
		pair.of_solid = cr_placed_member(world, pair.solid);
		enough = list_pierces(&pair, cut, end - i, lists) && fn(&pair, user);
	}
	return enough;
}

int64_t cr_first_piercing(const cr_piercings *list, int32_t low, int32_t high)
{
	int64_t begin = 0, end = list->count;
	while (begin < end) {
		const int64_t middle = begin + (end - begin) / 2;
		const cr_piercing *p = &list->data[middle];
		if (p->ends[0] < low || (p->ends[0] == low && p->ends[1] < high))
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

void cr_look_around(v3d normal, v3d along, v3d around[CR_DIRECTIONS])
{
	const v3d across = v3d_cross(normal, along);
	int next = 0;
	for (int i = 0; i < 27; i++) {
		const double n = (i / 9 + 1) % 3 - 1, a = (i / 3 % 3 + 1) % 3 - 1, e = (i % 3 + 1) % 3 - 1;
		if (n != 0 || a != 0 || e != 0)
			around[next++] = v3d_normalize(v3d_mad(v3d_mad(v3d_scale(normal, n), a, across), e, along));
	}
}

v3d cr_best_way(v3d normal, cr_way_score_fn *score, const void *region)
{
	v3d around[CR_DIRECTIONS];
	int best = 0;
	cr_way_score least = { INT64_MAX, 0 };
	cr_look_around(normal, cr_across(normal), around);
	for (int i = 0; i < CR_DIRECTIONS; i++) {
		const cr_way_score now = score(region, around[i]);
		if (now.against != least.against ? now.against < least.against : now.lengths < least.lengths) {
			best = i;
			least = now;
		}
	}
	return around[best];
}

v3d cr_normals_around(const cr_placed *cloth, const cr_fans *fans, int32_t place)
{
	v3d sum = { 0, 0, 0 };
	for (int32_t f = fans->first[place]; f < fans->first[place + 1]; f++)
		sum = v3d_add(sum, cr_placed_normal(cloth, fans->corners[f] / 3));
	return sum;
}

void cr_free_cuts(carom_context *memory, cr_cut_lists *lists)
{
	cr_array_free(memory, &lists->crossed);
	cr_array_free(memory, &lists->cloth_edges);
	cr_array_free(memory, &lists->solid_edges);
	cr_array_free(memory, &lists->nodes);
	cr_array_free(memory, &lists->floods);
	cr_array_free(memory, &lists->labels);
	cr_array_free(memory, &lists->faces);
	cr_array_free(memory, &lists->spans);
	cr_array_free(memory, &lists->sharing);
	cr_array_free(memory, &lists->members);
	cr_array_free(memory, &lists->ways);
}
