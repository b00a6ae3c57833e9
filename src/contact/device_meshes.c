/// Meshes on the devices of a world: which are there, and where. See device_stages.h.

#include "contact/device_stages.h"
#include "vulkan/vk_commands.h"
#include <string.h>

enum { NOWHERE = -1 };

static bool is_odd(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	bits &= INT32_MAX;
	return (bits != 0 && bits < 0x00800000u) || bits >= (uint32_t)(127 + CR_GPU_MESH_EXPONENT) << 23;
}

/// Can the kernels go through a mesh? See gpu_casts.h.
static bool fits(const cr_collider *c)
{
	if (c->tree.node_count == 0 || c->tree.depth > CR_GPU_TREE_DEPTH || !c->across)
		return false;
	for (int32_t b = 0; b < c->tree.block_count; b++) {
		const float *corners = &c->blocks[b].corner[0][0][0];
		for (size_t i = 0; i < sizeof c->blocks->corner / sizeof *corners; i++) {
			if (is_odd(corners[i]))
				return false;
		}
	}
	return true;
}

static uint64_t node_bytes(const cr_collider *c) { return (uint64_t)c->tree.node_count * sizeof *c->tree.nodes; }
static uint64_t block_bytes(const cr_collider *c) { return (uint64_t)c->tree.block_count * sizeof *c->blocks; }
static uint64_t across_bytes(const cr_collider *c) { return (uint64_t)c->tree.block_count * sizeof *c->across; }

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

bool cr_want_mesh(const cr_pipeline *p, cr_device_part *d, const cr_collider *c)
{
	const int64_t at = find_mesh(d, c->revision);
	cr_held_mesh *m = d->meshes.data + at;
	if (at < d->meshes.count && m->revision == c->revision) {
		m->run = p->run;
		m->collider = c;
		return true;
	}
	if (!cr_array_reserve_one(p->context, &d->meshes))
		return false;
	m = d->meshes.data + at;
	memmove(m + 1, m, (size_t)(d->meshes.count++ - at) * sizeof *m);
	const uint64_t bytes = node_bytes(c) + block_bytes(c) + across_bytes(c), align = CR_GPU_SURFACE_ALIGN;
	*m = (cr_held_mesh){ c->revision, c, p->run, NOWHERE, (bytes + align - 1) / align * align, !fits(c) };
	return true;
}

/// Let go of the meshes that this step does not want, and of all places.
static void forget_places(const cr_pipeline *p, cr_device_part *d)
{
	int64_t kept = 0;
	for (int64_t i = 0; i < d->meshes.count; i++) {
		cr_held_mesh *m = &d->meshes.data[i];
		m->place = NOWHERE;
		if (m->run == p->run)
			d->meshes.data[kept++] = *m;
	}
	d->meshes.count = kept;
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
	const struct {
		const void *data;
		uint64_t bytes;
	} parts[] = { { c->tree.nodes, node_bytes(c) }, { c->blocks, block_bytes(c) }, { c->across, across_bytes(c) } };
	uint64_t at = d->used;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		const carom_result result = cr_gpu_upload_at(d->device, &d->casts.surfaces, at, parts[i].data, parts[i].bytes);
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
	const uint64_t nodes = cr_gpu_surface_address(&d->casts, (uint64_t)m->place), blocks = nodes + node_bytes(c);
	return (cr_mesh_addresses){ nodes, blocks, blocks + block_bytes(c) };
}
