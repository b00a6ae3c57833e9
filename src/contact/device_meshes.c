/// Meshes on the devices of a world: which are there, and where. See device_stages.h.

#include "contact/device_stages.h"
#include "vulkan/vk_commands.h"
#include <string.h>

enum { NOWHERE = -1 };

static bool is_odd(float x, int exponent)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	bits &= INT32_MAX;
	return (bits != 0 && bits < 0x00800000u) || bits >= (uint32_t)(127 + exponent) << 23;
}

bool cr_has_odd_float(const float *x, size_t count, int exponent)
{
	for (size_t i = 0; i < count; i++) {
		if (is_odd(x[i], exponent))
			return true;
	}
	return false;
}

/// Has a box of the tree a number that devices may take for 0?
static bool has_odd_boxes(const cr_tree8 *tree)
{
	for (int32_t n = 0; n < tree->node_count; n++) {
		const cr_node8 *node = &tree->nodes[n];
		for (int k = 0; k < 3; k++) {
			if (cr_has_odd_float(node->lower[k], node->child_count, CR_GPU_MESH_EXPONENT + 1) ||
				cr_has_odd_float(node->upper[k], node->child_count, CR_GPU_MESH_EXPONENT + 1))
				return true;
		}
	}
	return false;
}

static bool has_odd_grid(const cr_grid *g)
{
	enum { MOST = 126 };
	return g->cells && (cr_has_odd_float(g->origin, 3, MOST) || is_odd(g->inverse_cell, MOST));
}

/// Can the kernels go through a mesh? See gpu_casts.h.
static bool fits(const cr_collider *c)
{
	if (c->tree.node_count == 0 || c->tree.depth > CR_GPU_TREE_DEPTH || !c->across || has_odd_grid(&c->grid) ||
		has_odd_boxes(&c->tree))
		return false;
	const size_t corners = sizeof c->blocks->corner / sizeof(float);
	for (int32_t b = 0; b < c->tree.block_count; b++) {
		if (cr_has_odd_float(&c->blocks[b].corner[0][0][0], corners, CR_GPU_MESH_EXPONENT))
			return false;
	}
	return true;
}

static uint64_t node_bytes(const cr_collider *c) { return (uint64_t)c->tree.node_count * sizeof *c->tree.nodes; }
static uint64_t block_bytes(const cr_collider *c) { return (uint64_t)c->tree.block_count * sizeof *c->blocks; }
static uint64_t across_bytes(const cr_collider *c) { return (uint64_t)c->tree.block_count * sizeof *c->across; }
/// Whole words: there are CR_GRID_PADDING bytes behind the cells.
static uint64_t cell_bytes(const cr_collider *c)
{
	const cr_grid *g = &c->grid;
	return g->cells ? ((uint64_t)g->size[0] * (uint64_t)g->size[1] * (uint64_t)g->size[2] + 3) / 4 * 4 : 0;
}

static cr_gpu_mesh_head head_of(const cr_collider *c)
{
	const cr_grid *g = &c->grid;
	cr_gpu_mesh_head head = { .inverse_cell = g->inverse_cell, .has_cells = g->cells != NULL };
	for (int k = 0; k < 3; k++) {
		head.lower[k] = c->lower[k];
		head.upper[k] = c->upper[k];
		head.origin[k] = g->origin[k];
		head.size[k] = (uint32_t)g->size[k];
	}
	return head;
}

/// The order in which a walk of the tree takes its blocks: those of a node at once, then the last
/// of its other children first.
static void rank_blocks(const cr_tree8 *tree, int32_t *rank)
{
	uint32_t stack[CR_TREE_STACK];
	int32_t top = 0, next = 0;
	for (stack[top++] = 0; top > 0 && tree->node_count > 0;) {
		const cr_node8 *node = &tree->nodes[stack[--top]];
		for (uint32_t i = 0; i < node->child_count; i++) {
			if (node->child[i] & CR_LEAF_BIT)
				rank[node->child[i] & ~CR_LEAF_BIT] = next++;
			else
				stack[top++] = node->child[i];
		}
	}
}

/// false: out of memory.
static bool make_ranks(carom_context *context, cr_held_mesh *m)
{
	m->rank_count = m->collider->tree.block_count;
	m->rank = cr_alloc_array(context, (size_t)m->rank_count, sizeof *m->rank);
	if (m->rank)
		rank_blocks(&m->collider->tree, m->rank);
	return m->rank != NULL;
}

static void free_ranks(carom_context *context, cr_held_mesh *m)
{
	cr_free(context, m->rank, (size_t)m->rank_count * sizeof *m->rank);
}

void cr_free_meshes(carom_context *context, cr_device_part *d)
{
	for (int64_t i = 0; i < d->meshes.count; i++)
		free_ranks(context, &d->meshes.data[i]);
	cr_array_free(context, &d->meshes);
}

/// Where a mesh of a revision is in the list, or belongs.
static int64_t find_mesh(const cr_device_part *d, uint64_t revision)
{
	int64_t low = 0, high = d->meshes.count;
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (d->meshes.data[middle].revision < revision)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/// Let go of the meshes that this step does not want and that have no place: those of earlier
/// revisions, for example.
static void forget_placeless(const cr_pipeline *p, cr_device_part *d)
{
	int64_t kept = 0;
	for (int64_t i = 0; i < d->meshes.count; i++) {
		cr_held_mesh *m = &d->meshes.data[i];
		if (m->run == p->run || m->place != NOWHERE)
			d->meshes.data[kept++] = *m;
		else
			free_ranks(p->context, m);
	}
	d->meshes.count = kept;
}

bool cr_want_mesh(const cr_pipeline *p, cr_device_part *d, const cr_collider *c)
{
	int64_t at = find_mesh(d, c->revision);
	cr_held_mesh *m = d->meshes.data + at;
	if (at < d->meshes.count && m->revision == c->revision) {
		m->run = p->run;
		m->collider = c;
		return true;
	}
	forget_placeless(p, d);
	at = find_mesh(d, c->revision);
	if (!cr_array_reserve_one(p->context, &d->meshes))
		return false;
	const uint64_t bytes = node_bytes(c) + block_bytes(c) + across_bytes(c) + sizeof(cr_gpu_mesh_head) + cell_bytes(c),
				   align = CR_GPU_SURFACE_ALIGN;
	cr_held_mesh made = { c->revision, c, p->run, NOWHERE, (bytes + align - 1) / align * align, !fits(c), NULL, 0 };
	if (!made.no_room && !make_ranks(p->context, &made))
		return false;
	m = d->meshes.data + at;
	memmove(m + 1, m, (size_t)(d->meshes.count++ - at) * sizeof *m);
	*m = made;
	return true;
}

/// Let go of the meshes that this step does not want, and of all places.
static void forget_places(const cr_pipeline *p, cr_device_part *d)
{
	for (int64_t i = 0; i < d->meshes.count; i++)
		d->meshes.data[i].place = NOWHERE;
	forget_placeless(p, d);
	d->used = 0;
}

/// Bytes of meshes that are wanted and have no place.
static uint64_t missing_bytes(const cr_pipeline *p, const cr_device_part *d)
{
	uint64_t bytes = 0;
	for (int64_t i = 0; i < d->meshes.count; i++) {
		const cr_held_mesh *m = &d->meshes.data[i];
		if (m->run == p->run && m->place == NOWHERE && !m->no_room)
			bytes += m->bytes;
	}
	return bytes;
}

static carom_result put_mesh(cr_device_part *d, cr_held_mesh *m)
{
	const cr_collider *c = m->collider;
	const cr_gpu_mesh_head head = head_of(c);
	const struct {
		const void *data;
		uint64_t bytes;
	} parts[] = { { c->tree.nodes, node_bytes(c) }, { c->blocks, block_bytes(c) }, { c->across, across_bytes(c) },
		{ &head, sizeof head }, { c->grid.cells, cell_bytes(c) } };
	uint64_t at = d->used;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		const carom_result result = parts[i].bytes == 0
			? CAROM_SUCCESS
			: cr_gpu_upload_at(d->device, &d->casts.surfaces, at, parts[i].data, parts[i].bytes);
		if (result != CAROM_SUCCESS)
			return result;
		at += parts[i].bytes;
	}
	m->place = (int64_t)d->used;
	d->used += m->bytes;
	return CAROM_SUCCESS;
}

carom_result cr_put_meshes(const cr_pipeline *p, cr_device_part *d)
{
	uint64_t missing = missing_bytes(p, d);
	if (missing == 0)
		return CAROM_SUCCESS;
	if (d->used + missing > d->casts.surfaces.size) {
		forget_places(p, d);
		missing = missing_bytes(p, d);
		const carom_result result = cr_gpu_reserve_surfaces(d->device, &d->casts, missing);
		if (result != CAROM_SUCCESS)
			return result;
	}
	carom_result result = CAROM_SUCCESS;
	for (int64_t i = 0; i < d->meshes.count && result == CAROM_SUCCESS; i++) {
		cr_held_mesh *m = &d->meshes.data[i];
		if (m->run == p->run && m->place == NOWHERE && !m->no_room)
			result = put_mesh(d, m);
	}
	return result;
}

bool cr_is_on_device(const cr_device_part *d, const cr_collider *c)
{
	return !d->meshes.data[find_mesh(d, c->revision)].no_room;
}

cr_mesh_addresses cr_addresses_of(const cr_device_part *d, const cr_collider *c)
{
	const cr_held_mesh *m = &d->meshes.data[find_mesh(d, c->revision)];
	const uint64_t nodes = cr_gpu_surface_address(&d->casts, (uint64_t)m->place), blocks = nodes + node_bytes(c),
				   across = blocks + block_bytes(c);
	return (cr_mesh_addresses){ nodes, blocks, across, across + across_bytes(c) };
}

const int32_t *cr_ranks_of(const cr_device_part *d, const cr_collider *c)
{
	return d->meshes.data[find_mesh(d, c->revision)].rank;
}
