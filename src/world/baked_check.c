/// Are the parts of a baked mesh such that nothing can go wrong in memory? All loops are over whole
/// arrays and linear. Where a loop only gathers a maximum the compiler makes it wide: loading a
/// mesh must be far cheaper than making one.

#include "world/baked.h"
#include <string.h>

// ---- Numbers ----

/// Is any of count floats NaN or infinite?
static bool is_any_wild(const float *values, int64_t count)
{
	const uint32_t exponent = 0x7f800000;
	uint32_t wild = 0;
	for (int64_t i = 0; i < count; i++) {
		uint32_t bits;
		__builtin_memcpy(&bits, &values[i], sizeof bits);
		wild |= (uint32_t)((bits & exponent) == exponent);
	}
	return wild != 0;
}

static bool is_any_wild_double(const double *values, int64_t count)
{
	uint64_t wild = 0;
	for (int64_t i = 0; i < count; i++) {
		uint64_t bits;
		__builtin_memcpy(&bits, &values[i], sizeof bits);
		wild |= (uint64_t)((bits >> 52 & 0x7ff) == 0x7ff);
	}
	return wild != 0;
}

static bool is_any_huge(const float *values, int64_t count)
{
	uint32_t huge = 0;
	for (int64_t i = 0; i < count; i++)
		huge |= (uint32_t) !(fabsf(values[i]) <= (float)CAROM_MAX_COORDINATE);
	return huge != 0;
}

/// Are all of count numbers in least..end-1?
static bool are_in_range(const int32_t *numbers, int64_t count, int32_t least, int32_t end)
{
	uint32_t wrong = 0;
	const uint32_t span = (uint32_t)end - (uint32_t)least;
	for (int64_t i = 0; i < count; i++)
		wrong |= (uint32_t)((uint32_t)numbers[i] - (uint32_t)least >= span);
	return wrong == 0;
}

static bool are_at_most(const uint8_t *values, int64_t count, uint8_t most)
{
	uint8_t wrong = 0;
	for (int64_t i = 0; i < count; i++)
		wrong |= (uint8_t)(values[i] > most);
	return wrong == 0;
}

// ---- Topology and facets ----

/// Every neighbour is a triangle and has the triangle as a neighbour too: walks around a vertex
/// come back, or end.
static bool neighbours_agree(const cr_topology *t)
{
	bool agree = true;
	for (int32_t own = 0; own < t->triangle_count; own++) {
		for (int k = 0; k < 3; k++) {
			const int32_t other = t->neighbours[3 * (int64_t)own + k];
			if (other == -1)
				continue;
			if ((uint32_t)other >= (uint32_t)t->triangle_count)
				return false;
			const int32_t *back = &t->neighbours[3 * (int64_t)other];
			agree &= t->used[own] != 0 && ((back[0] == own) | (back[1] == own) | (back[2] == own));
		}
	}
	return agree;
}

static bool welds_are_first(const cr_topology *t)
{
	for (int32_t i = 0; i < t->vertex_count; i++) {
		if (t->weld[i] < 0 || t->weld[i] > i || t->weld[t->weld[i]] != t->weld[i])
			return false;
	}
	return true;
}

static const char *check_topology(const cr_topology *t, int32_t used)
{
	const int64_t vertices = t->vertex_count, triangles = t->triangle_count;
	int64_t sum = 0;
	if (is_any_huge(t->vertices, 3 * vertices))
		return "vertices";
	if (!are_in_range(t->triangles, 3 * triangles, 0, t->vertex_count))
		return "triangles";
	if (!welds_are_first(t))
		return "weld";
	if (!are_at_most(t->used, triangles, 1))
		return "used";
	for (int64_t i = 0; i < triangles; i++)
		sum += t->used[i];
	if (sum != used)
		return "used";
	if (!neighbours_agree(t))
		return "neighbours";
	if (is_any_wild(t->normals, 3 * vertices) || (t->edge_normals && is_any_wild(t->edge_normals, 9 * triangles)))
		return "normals";
	return NULL;
}

/// The facets share out the used triangles one after the other.
static bool facets_fill(const cr_facets *f, int32_t used)
{
	int32_t first = 0;
	for (int32_t i = 0; i < f->count; i++) {
		const cr_facet *facet = &f->data[i];
		if (facet->first != first || facet->count < 1 || facet->count > used - first)
			return false;
		first += facet->count;
		const double values[5] = { facet->normal.x, facet->normal.y, facet->normal.z, facet->offset, facet->area };
		if (is_any_wild_double(values, 5))
			return false;
	}
	return first == used;
}

/// The facets with a record have their own triangles, and the others are one triangle each.
static bool thin_facets_fill(const cr_facets *f, const cr_topology *t)
{
	int32_t listed = 0;
	for (int32_t i = 0; i < f->count; i++) {
		const cr_facet *facet = &f->data[i];
		const double values[5] = { facet->normal.x, facet->normal.y, facet->normal.z, facet->offset, facet->area };
		if (facet->count == 0)
			continue; // was edited away
		if (facet->first < 0 || facet->count < 0 || facet->count > f->listed - facet->first || is_any_wild_double(values, 5))
			return false;
		for (int32_t k = 0; k < facet->count; k++) {
			if (f->of_triangle[f->triangles[facet->first + k]] != i)
				return false;
		}
		listed += facet->count;
	}
	for (int32_t i = 0; i < f->triangle_count; i++) {
		const int32_t own = f->of_triangle[i];
		if ((own >= 0) != (t->used[i] != 0) || own < -1 || (own >= f->count && own != (CR_LONE_FACET | i)))
			return false;
		listed -= own >= 0 && own < f->count;
	}
	return listed == 0;
}

/// A small hull has few facets and corners, and its edges join these.
static bool edges_agree(const cr_facets *f, const cr_topology *t)
{
	if (f->edge_count > 0 && (!f->convex || f->count > CR_FEW_FACETS || f->few_count == 0))
		return false;
	for (int32_t i = 0; i < f->edge_count; i++) {
		const cr_hull_edge *e = &f->edges[i];
		if (e->half_edge < 0 || e->half_edge / 3 >= f->triangle_count || e->pieces < 1 || e->from >= f->few_count ||
			e->to >= f->few_count)
			return false;
		const int32_t across = t->neighbours[e->half_edge];
		if (across < 0 || f->of_triangle[across] < 0 || f->of_triangle[e->half_edge / 3] < 0)
			return false;
	}
	return f->slack >= 0 && !is_any_wild_double(&f->slack, 1);
}

static const char *check_lists(const cr_facets *f, const cr_topology *t, int32_t used)
{
	if (!are_in_range(f->triangles, f->listed, 0, f->triangle_count))
		return "triangles of facets";
	if (f->thin)
		return !f->convex && thin_facets_fill(f, t) ? NULL : "facets";
	if (f->listed != used || !facets_fill(f, used))
		return "facets";
	if (!are_in_range(f->of_triangle, f->triangle_count, -1, f->count))
		return "facet of triangles";
	for (int32_t i = 0; i < f->triangle_count; i++) {
		if ((f->of_triangle[i] >= 0) != (t->used[i] != 0))
			return "facet of triangles";
	}
	for (int32_t i = 0; i < used; i++) {
		if (!t->used[f->triangles[i]])
			return "triangles of facets";
	}
	return NULL;
}

static const char *check_facets(const cr_facets *f, const cr_topology *t, int32_t used)
{
	const char *fault = check_lists(f, t, used);
	if (fault)
		return fault;
	if (!are_at_most(f->crease, f->triangle_count, 7))
		return "creases";
	if (!are_at_most(f->corner, f->vertex_count, 1))
		return "corners";
	if (!are_in_range(f->few, f->few_count, 0, f->vertex_count))
		return "few";
	return edges_agree(f, t) ? NULL : "edges of a hull";
}

// ---- Trees ----

/// A wide tree: each node and each block has one parent, and none is deeper than a walk's stack
/// allows.
static bool is_tree(const cr_tree8 *t, int32_t primitives)
{
	if (primitives == 0)
		return t->node_count == 0 && t->block_count == 0;
	struct {
		int32_t node, depth;
	} stack[CR_TREE_STACK + CR_WIDTH - 1];
	int top = 0;
	int32_t nodes = 1, blocks = 0;
	if (t->node_count < 1)
		return false;
	stack[top].node = 0;
	stack[top++].depth = 1;
	while (top > 0) {
		const int32_t at = stack[--top].node, depth = stack[top].depth;
		const cr_node8 *node = &t->nodes[at];
		if (node->child_count < 1 || node->child_count > CR_WIDTH || depth > t->depth)
			return false;
		for (uint32_t i = 0; i < CR_WIDTH; i++) {
			const uint32_t child = node->child[i];
			if (i >= node->child_count) {
				if (child != CR_LEAF_BIT)
					return false;
			} else if (child & CR_LEAF_BIT) {
				blocks++;
				if ((child & ~CR_LEAF_BIT) >= (uint32_t)t->block_count || blocks > t->block_count)
					return false;
			} else {
				nodes++;
				if (child <= (uint32_t)at || child >= (uint32_t)t->node_count || nodes > t->node_count || depth >= t->depth)
					return false;
				stack[top].node = (int32_t)child;
				stack[top++].depth = depth + 1;
			}
		}
	}
	return nodes == t->node_count && blocks == t->block_count;
}

/// The blocks of a wide tree share out the primitives. Where there are no lists, the blocks have
/// their counts themselves, which are checked with them.
static bool blocks_fill(const cr_tree8 *t, int32_t primitives)
{
	int64_t sum = 0;
	if (!t->block_first && t->block_count > 0)
		return true;
	for (int32_t b = 0; b < t->block_count; b++) {
		const int32_t first = t->block_first[b], size = t->block_size[b];
		if (size < 1 || size > CR_WIDTH || first < 0 || first > primitives - size)
			return false;
		sum += size;
	}
	return sum == primitives;
}

static bool boxes_are_sound(const cr_tree8 *t)
{
	for (int32_t i = 0; i < t->node_count; i++) {
		if (is_any_wild(&t->nodes[i].lower[0][0], 6 * CR_WIDTH))
			return false;
	}
	return true;
}

static bool binary_boxes_are_sound(const cr_tree2 *t)
{
	for (int32_t i = 0; i < t->node_count; i++) {
		if (is_any_wild(t->nodes[i].lower, 3) || is_any_wild(t->nodes[i].upper, 3))
			return false;
	}
	return true;
}

static const char *check_trees(const cr_collider *c)
{
	// That of a field with all its triangles in use is left out, and so are the lists of blocks.
	const bool compact = c->lean && !c->triangle_number;
	const int32_t primitives = compact ? 0 : c->triangle_count;
	if (c->binary.primitive_count != primitives || !cr_tree2_check_links(&c->binary, primitives) ||
		!are_in_range(c->binary.order, c->binary.primitive_count, 0, c->binary.primitive_count) ||
		!binary_boxes_are_sound(&c->binary))
		return "binary tree";
	if (c->tree.block_count > 0 && (c->tree.block_first == NULL) != compact)
		return "tree";
	if (c->sample_tree.block_count > 0 && (c->sample_tree.block_first == NULL) != compact)
		return "tree of samples";
	if (!is_tree(&c->tree, c->triangle_count) || !blocks_fill(&c->tree, c->triangle_count) || !boxes_are_sound(&c->tree))
		return "tree";
	if (!is_tree(&c->sample_tree, c->sample_count) || !blocks_fill(&c->sample_tree, c->sample_count) ||
		!boxes_are_sound(&c->sample_tree))
		return "tree of samples";
	return NULL;
}

// ---- Collider ----

/// The numbers of the triangles in use, rising. A field without them uses all.
static bool numbers_rise(const cr_collider *c)
{
	int32_t last = -1;
	if (c->lean && !c->triangle_number)
		return c->triangle_count > 0 && c->triangle_count == c->topology->triangle_count;
	if (!c->triangle_number)
		return c->triangle_count == 0;
	for (int32_t i = 0; i < c->triangle_count; i++) {
		const int32_t number = c->triangle_number[i];
		if (number <= last || number >= c->topology->triangle_count || !c->topology->used[number])
			return false;
		last = number;
	}
	return true;
}

/// May a block have so many primitives?
static bool is_count(const cr_tree8 *t, int32_t block, int32_t count)
{
	return t->block_size ? count == t->block_size[block] : count >= 1 && count <= CR_WIDTH;
}

/// Is a number -1 or the place of a triangle? The sizes of the blocks are known to be right.
static bool is_place_or_none(const cr_collider *c, int32_t place)
{
	const uint32_t at = (uint32_t)place;
	return place == -1 ||
		(at < (uint32_t)CR_WIDTH * (uint32_t)c->tree.block_count && at % CR_WIDTH < (uint32_t)c->blocks[at / CR_WIDTH].count);
}

static const char *check_blocks(const cr_collider *c)
{
	const int32_t triangles = c->topology->triangle_count;
	int64_t sum = 0;
	for (int32_t b = 0; b < c->tree.block_count; b++) {
		const cr_tri8 *block = &c->blocks[b];
		sum += block->count;
		if (!is_count(&c->tree, b, block->count) || !are_in_range(block->number, CR_WIDTH, 0, triangles) ||
			is_any_wild(&block->corner[0][0][0], 9 * CR_WIDTH))
			return "blocks";
		for (int lane = 0; lane < block->count; lane++) {
			const int32_t number = block->number[lane];
			// places of triangles that are not in use are refused below
			if (c->place[number] != CR_WIDTH * b + lane)
				return "places";
		}
		for (int lane = block->count; lane < CR_WIDTH; lane++) {
			if (block->number[lane] != block->number[0])
				return "blocks";
		}
	}
	if (sum != c->triangle_count)
		return "blocks";
	// As many places were right as triangles are in use, and no two the same.
	uint32_t wrong = 0;
	for (int32_t i = 0; i < triangles && c->place; i++)
		wrong |= (uint32_t)((c->place[i] == -1) == (c->topology->used[i] != 0));
	if (wrong)
		return "places";
	bool sound = true;
	for (int32_t b = 0; b < c->tree.block_count; b++) {
		const int32_t *edges = &c->across[b].edge[0][0];
		for (int i = 0; i < 3 * CR_WIDTH; i++)
			sound &= is_place_or_none(c, edges[i]);
	}
	return sound ? NULL : "edges of blocks";
}

static const char *check_samples(const cr_collider *c)
{
	int64_t sum = 0;
	for (int32_t b = 0; b < c->sample_tree.block_count; b++) {
		const cr_sample8 *block = &c->samples[b];
		sum += block->count;
		if (!is_count(&c->sample_tree, b, block->count) ||
			!are_in_range(block->number, CR_WIDTH, 0, c->topology->vertex_count) ||
			is_any_wild(&block->point[0][0], 6 * CR_WIDTH))
			return "samples";
		for (int lane = 0; lane < CR_WIDTH; lane++) {
			if (!(block->exit[lane] >= 0))
				return "samples";
		}
	}
	return sum == c->sample_count ? NULL : "samples";
}

static const char *check_box(const cr_collider *c)
{
	if (c->triangle_count == 0)
		return NULL;
	const float values[3] = { c->scale, c->diagonal, c->extent };
	if (is_any_huge(c->lower, 3) || is_any_huge(c->upper, 3) || is_any_wild(values, 3))
		return "box";
	for (int k = 0; k < 3; k++) {
		if (!(c->lower[k] <= c->upper[k]) || !(values[k] >= 0))
			return "box";
	}
	return NULL;
}

// ---- Grid ----

/// Which of eight bytes are 0, as bits.
static uint64_t find_zeros(const uint8_t bytes[8])
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7f;
	uint64_t word;
	memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	const uint64_t zero = ~(((word & low) + low) | word | low); // the highest bit of each such byte
	// The product moves bit 8 i to bit 56 + i, and no two of its terms meet.
	return (zero >> 7) * 0x0102040810204080 >> 56;
}

/// Which of up to 64 cells are touched.
static uint64_t find_touched(const uint8_t *cells, int64_t count)
{
	uint64_t touched = 0;
	int64_t i = 0;
	for (; i + 8 <= count; i += 8)
		touched |= find_zeros(cells + i) << i;
	for (; i < count; i++)
		touched |= (uint64_t)(cells[i] == 0) << i;
	return touched;
}

/// The words tell of each cell whether it is touched, and where the records begin.
static bool words_tell(const cr_grid *g, int64_t cells)
{
	for (int64_t first = 0; first < cells; first += 64) {
		const cr_cell_word *word = &g->words[first / 64];
		const uint64_t touched = find_touched(g->cells + first, cells - first < 64 ? cells - first : 64);
		// An edit moves the records of a word to the end.
		if (word->touched != touched || word->before < 0 || word->before > g->touched_count - __builtin_popcountll(touched))
			return false;
	}
	return true;
}

/// Do the touched cells name triangles alone? Places beyond their counts hold such numbers too, or
/// 0.
static bool cells_list_triangles(const cr_collider *c)
{
	const cr_grid *g = &c->grid;
	uint32_t wrong = 0;
	const uint32_t end = (uint32_t)c->topology->triangle_count;
	for (int64_t i = 0; i < g->touched_count; i++) {
		const cr_touched_cell *cell = &g->touched[i];
		wrong |= (uint32_t)(cell->count > CR_CELL_TRIANGLES);
		for (int k = 0; k < CR_CELL_TRIANGLES; k++)
			wrong |= (uint32_t)((uint32_t)cell->triangle[k] >= end);
	}
	return wrong == 0;
}

static const char *check_grid(const cr_collider *c)
{
	const cr_grid *g = &c->grid;
	if (!g->cells)
		return NULL;
	const float values[5] = { g->origin[0], g->origin[1], g->origin[2], g->cell, g->inverse_cell };
	if (!c->closed || is_any_wild(values, 5) || !(g->cell > 0) || !(g->inverse_cell > 0))
		return "grid";
	if (!words_tell(g, (int64_t)g->size[0] * g->size[1] * g->size[2]))
		return "words of cells";
	if (!cells_list_triangles(c))
		return "touched cells";
	if ((g->planes == NULL) != c->lean)
		return "planes";
	return g->planes && is_any_wild(&g->planes[0][0], 4 * (int64_t)g->plane_count) ? "planes" : NULL;
}

// ---- Hull ----

/// Do firsts rise from 0 to an end, each by at least a number?
static bool firsts_rise(const int32_t *first, int32_t count, int32_t least, int32_t end)
{
	if (first[0] != 0 || first[count] != end)
		return false;
	for (int32_t i = 0; i < count; i++) {
		if (first[i + 1] < first[i] || first[i + 1] - first[i] < least)
			return false;
	}
	return true;
}

static const char *check_hull(const cr_hull_data *d, const cr_topology *t)
{
	const cr_hull *h = &d->hull;
	if (h->vertex_count == 0)
		return NULL;
	if (h->vertex_count != t->vertex_count || d->triangle_count != t->triangle_count || h->face_count < 4)
		return "hull";
	if (is_any_wild_double(&h->vertices->x, 3 * (int64_t)h->vertex_count))
		return "hull vertices";
	if (is_any_wild_double(&h->normals->x, 3 * (int64_t)h->face_count))
		return "hull normals";
	const int32_t half_edges = 3 * d->triangle_count;
	if (!are_in_range(d->triangles, half_edges, 0, h->vertex_count))
		return "hull triangles";
	const int32_t corners = h->face_first[h->face_count];
	if (!firsts_rise(h->face_first, h->face_count, 3, corners) || corners > half_edges ||
		!are_in_range(h->corners, corners, 0, h->vertex_count))
		return "hull corners";
	if (!firsts_rise(h->neighbour_first, h->vertex_count, 1, half_edges) ||
		!are_in_range(h->neighbours, half_edges, 0, h->vertex_count))
		return "hull neighbours";
	return NULL;
}

const char *cr_check_baked(const cr_mesh_parts *p)
{
	const cr_collider *c = &p->collider;
	const char *fault = check_topology(&p->topology, c->triangle_count);
	fault = fault ? fault : check_facets(&p->facets, &p->topology, c->triangle_count);
	fault = fault ? fault : numbers_rise(c) ? check_box(c) : "triangle numbers";
	fault = fault ? fault : check_trees(c);
	fault = fault ? fault : check_blocks(c);
	fault = fault ? fault : check_samples(c);
	fault = fault ? fault : check_grid(c);
	fault = fault ? fault : check_hull(&p->hull, &p->topology);
	if (!fault && p->exact && is_any_wild_double(p->exact, 3 * (int64_t)p->topology.vertex_count))
		return "vertices as given";
	return fault;
}
