/// Meshes on the devices of a world: which are there, and where. See device_stages.h.

#include "contact/device_stages.h"
#include "vulkan/vk_commands.h"
#include <math.h>
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

/// Of the tiers of rays: a box of each block, in whole vectors, and the instance of the mesh.
static uint64_t box_bytes(const cr_held_mesh *m)
{
	enum { VECTOR = 16 };
	const uint64_t bytes = (uint64_t)m->collider->tree.block_count * sizeof(VkAabbPositionsKHR);
	return m->structure_bytes > 0 ? (bytes + VECTOR - 1) / VECTOR * VECTOR : 0;
}
static uint64_t instance_bytes(const cr_held_mesh *m)
{
	return m->structure_bytes > 0 ? sizeof(VkAccelerationStructureInstanceKHR) : 0;
}

float cr_size_of_mesh(const cr_collider *c)
{
	float size = 0;
	for (int k = 0; k < 3; k++)
		size = fmaxf(size, fmaxf(fabsf(c->lower[k]), fabsf(c->upper[k])));
	return size;
}

static float box_bound(float bound, float pad) { return (float)((double)bound + (double)pad); }

/// The boxes of the blocks, as their parents in the tree have them, and wider.
static void fill_boxes(const cr_collider *c, VkAabbPositionsKHR *boxes)
{
	const float pad = (float)(CR_GPU_BOX_PAD * (double)cr_size_of_mesh(c));
	for (int32_t n = 0; n < c->tree.node_count; n++) {
		const cr_node8 *node = &c->tree.nodes[n];
		for (uint32_t i = 0; i < node->child_count; i++) {
			if (!(node->child[i] & CR_LEAF_BIT))
				continue;
			boxes[node->child[i] & ~CR_LEAF_BIT] = (VkAabbPositionsKHR){
				.minX = box_bound(node->lower[0][i], -pad),
				.minY = box_bound(node->lower[1][i], -pad),
				.minZ = box_bound(node->lower[2][i], -pad),
				.maxX = box_bound(node->upper[0][i], pad),
				.maxY = box_bound(node->upper[1][i], pad),
				.maxZ = box_bound(node->upper[2][i], pad),
			};
		}
	}
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
	for (int64_t i = 0; i < d->meshes.count; i++) {
		cr_gpu_free_mesh_rays(d->device, &d->meshes.data[i].rays);
		free_ranks(context, &d->meshes.data[i]);
	}
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

/// The bytes that a mesh takes, which is not there yet.
static void measure_mesh(const cr_device_part *d, cr_held_mesh *m)
{
	const cr_collider *c = m->collider;
	const uint64_t align = CR_GPU_SURFACE_ALIGN;
	const bool traced = cr_traces_rays(d);
	m->no_room = m->no_room || (traced && (uint64_t)c->tree.block_count > d->device->rays.most_boxes);
	if (traced && !m->no_room)
		m->structure_bytes = cr_gpu_measure_mesh_rays(d->device, (uint32_t)c->tree.block_count, &m->scratch_bytes);
	const uint64_t bytes = node_bytes(c) + block_bytes(c) + across_bytes(c) + box_bytes(m) + instance_bytes(m) +
		sizeof(cr_gpu_mesh_head) + cell_bytes(c);
	m->bytes = (bytes + align - 1) / align * align;
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
	cr_held_mesh made = { .revision = c->revision, .collider = c, .run = p->run, .place = NOWHERE, .no_room = !fits(c) };
	measure_mesh(d, &made);
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
	for (int64_t i = 0; i < d->meshes.count; i++) {
		d->meshes.data[i].place = NOWHERE;
		cr_gpu_free_mesh_rays(d->device, &d->meshes.data[i].rays);
	}
	forget_placeless(p, d);
	d->used = d->structured = 0;
}

static bool is_missing(const cr_pipeline *p, const cr_held_mesh *m)
{
	return m->run == p->run && m->place == NOWHERE && !m->no_room;
}

/// Bytes of meshes that are wanted and have no place. The scratch memory serves one build after the
/// other.
typedef struct missing_bytes {
	uint64_t surfaces, structures, scratch;
} missing_bytes;

static missing_bytes find_missing(const cr_pipeline *p, const cr_device_part *d)
{
	missing_bytes bytes = { 0 };
	for (int64_t i = 0; i < d->meshes.count; i++) {
		const cr_held_mesh *m = &d->meshes.data[i];
		if (!is_missing(p, m))
			continue;
		bytes.surfaces += m->bytes;
		bytes.structures += m->structure_bytes;
		bytes.scratch = m->scratch_bytes > bytes.scratch ? m->scratch_bytes : bytes.scratch;
	}
	return bytes;
}

static size_t room_for_boxes(const cr_held_mesh *m)
{
	return ((size_t)m->collider->tree.block_count + 1) * sizeof(VkAabbPositionsKHR);
}

/// Make the structures of a mesh, and its boxes and instance in memory of the processor, which the
/// caller frees. Where there are none of it, *boxes is NULL.
static carom_result make_structures(const cr_pipeline *p, cr_device_part *d, cr_held_mesh *m, VkAabbPositionsKHR **boxes,
	VkAccelerationStructureInstanceKHR *instance)
{
	*boxes = NULL;
	if (m->structure_bytes == 0)
		return CAROM_SUCCESS;
	const uint32_t count = (uint32_t)m->collider->tree.block_count;
	const carom_result result = cr_gpu_make_mesh_rays(d->device, &d->casts.structures, d->structured, count, &m->rays);
	if (result != CAROM_SUCCESS)
		return result;
	*boxes = cr_alloc_zero(p->context, room_for_boxes(m));
	if (!*boxes) {
		cr_gpu_free_mesh_rays(d->device, &m->rays);
		return cr_fail_memory(p->context, "meshes for a device");
	}
	fill_boxes(m->collider, *boxes);
	*instance = cr_gpu_mesh_instance(d->device, &m->rays);
	return CAROM_SUCCESS;
}

static carom_result upload_mesh(cr_device_part *d, const cr_held_mesh *m, const VkAabbPositionsKHR *boxes,
	const VkAccelerationStructureInstanceKHR *instance)
{
	const cr_collider *c = m->collider;
	const cr_gpu_mesh_head head = head_of(c);
	const struct {
		const void *data;
		uint64_t bytes;
	} parts[] = { { c->tree.nodes, node_bytes(c) }, { c->blocks, block_bytes(c) }, { c->across, across_bytes(c) },
		{ instance, instance_bytes(m) }, { boxes, box_bytes(m) }, { &head, sizeof head }, { c->grid.cells, cell_bytes(c) } };
	uint64_t at = d->used;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		const carom_result result = parts[i].bytes == 0
			? CAROM_SUCCESS
			: cr_gpu_upload_at(d->device, &d->casts.surfaces, at, parts[i].data, parts[i].bytes);
		if (result != CAROM_SUCCESS)
			return result;
		at += parts[i].bytes;
	}
	return CAROM_SUCCESS;
}

static carom_result put_mesh(const cr_pipeline *p, cr_device_part *d, cr_held_mesh *m)
{
	VkAabbPositionsKHR *boxes;
	VkAccelerationStructureInstanceKHR instance;
	carom_result result = make_structures(p, d, m, &boxes, &instance);
	if (result != CAROM_SUCCESS)
		return result;
	result = upload_mesh(d, m, boxes, &instance);
	cr_free(p->context, boxes, boxes ? room_for_boxes(m) : 0);
	if (result != CAROM_SUCCESS) {
		cr_gpu_free_mesh_rays(d->device, &m->rays);
		return result;
	}
	m->place = (int64_t)d->used;
	d->used += m->bytes;
	d->structured += m->structure_bytes;
	return CAROM_SUCCESS;
}

/// Where its instance and boxes are.
static uint64_t instance_place(const cr_held_mesh *m)
{
	return (uint64_t)m->place + node_bytes(m->collider) + block_bytes(m->collider) + across_bytes(m->collider);
}

/// Build the structures of the meshes from used bytes of the buffer on.
static carom_result build_structures(cr_device_part *d, int64_t used)
{
	carom_result result = cr_gpu_begin(d->device);
	if (result != CAROM_SUCCESS)
		return result;
	for (int64_t i = 0; i < d->meshes.count; i++) {
		const cr_held_mesh *m = &d->meshes.data[i];
		if (m->place < used || m->structure_bytes == 0)
			continue;
		const uint64_t instance = cr_gpu_surface_address(&d->casts, instance_place(m));
		cr_gpu_build_mesh_rays(d->device, &m->rays, instance + instance_bytes(m), instance,
			(uint32_t)m->collider->tree.block_count, d->casts.scratch.address);
	}
	return cr_gpu_finish(d->device);
}

/// Without its structures a mesh is not there.
static void forget_from(cr_device_part *d, int64_t used)
{
	for (int64_t i = 0; i < d->meshes.count; i++) {
		if (d->meshes.data[i].place < used)
			continue;
		d->meshes.data[i].place = NOWHERE;
		cr_gpu_free_mesh_rays(d->device, &d->meshes.data[i].rays);
	}
}

/// Room for the meshes that are missing. Where there is none beside the others, these go.
static carom_result make_room(const cr_pipeline *p, cr_device_part *d, missing_bytes *missing)
{
	carom_result result = CAROM_SUCCESS;
	if (d->used + missing->surfaces > d->casts.surfaces.size ||
		(missing->structures > 0 && d->structured + missing->structures > d->casts.structures.size)) {
		forget_places(p, d);
		*missing = find_missing(p, d);
		result = cr_gpu_reserve_surfaces(d->device, &d->casts, missing->surfaces);
		if (result == CAROM_SUCCESS && missing->structures > 0)
			result = cr_gpu_reserve(d->device, &d->casts.structures, missing->structures);
	}
	if (result == CAROM_SUCCESS && missing->structures > 0)
		result = cr_gpu_reserve(d->device, &d->casts.scratch, missing->scratch);
	return result;
}

carom_result cr_put_meshes(const cr_pipeline *p, cr_device_part *d)
{
	missing_bytes missing = find_missing(p, d);
	if (missing.surfaces == 0)
		return CAROM_SUCCESS;
	carom_result result = make_room(p, d, &missing);
	const int64_t used = (int64_t)d->used;
	for (int64_t i = 0; i < d->meshes.count && result == CAROM_SUCCESS; i++) {
		if (is_missing(p, &d->meshes.data[i]))
			result = put_mesh(p, d, &d->meshes.data[i]);
	}
	if (missing.structures == 0)
		return result;
	if (result == CAROM_SUCCESS)
		result = build_structures(d, used);
	if (result != CAROM_SUCCESS)
		forget_from(d, used);
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
	cr_mesh_addresses at = { nodes, blocks, across, across + across_bytes(c), 0, 0 };
	if (m->structure_bytes > 0) {
		at.structure = cr_gpu_mesh_rays_address(d->device, &m->rays);
		at.boxes = at.head + instance_bytes(m);
		at.head += box_bytes(m) + instance_bytes(m);
	}
	return at;
}

const int32_t *cr_ranks_of(const cr_device_part *d, const cr_collider *c)
{
	return d->meshes.data[find_mesh(d, c->revision)].rank;
}
