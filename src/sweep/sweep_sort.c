/// Impacts of all workers in the order of carom_sweep_hits, by the numbers of the caller. Radix
/// sorts from the least significant part of the order to the most significant one; each skips bytes
/// in which all keys agree.
#include "base/parallel.h"
#include "sweep/sweep_state.h"

#include <string.h>

static uint64_t join_keys(int32_t high, int32_t low) { return (uint64_t)(uint32_t)high << 32 | (uint32_t)low; }

static int32_t second_vertex(const cr_sweep_impact *impact)
{
	return impact->vertices[impact->kind == CR_SWEPT_VERTEX_FACE ? 1 : 2];
}

typedef enum sort_part { BY_TRIANGLE, BY_LAST, BY_FIRST, BY_MESHES, BY_KIND, PART_COUNT } sort_part;

static uint64_t key_of(const carom_sweep *s, const cr_sweep_impact *impact, sort_part part)
{
	const int32_t *v = impact->vertices, *first = s->mesh_vertices.data;
	const int32_t meshes = (int32_t)s->meshes.count;
	switch (part) {
	case BY_TRIANGLE: return (uint32_t)impact->triangle;
	case BY_LAST: return join_keys(v[2], v[3]);
	case BY_FIRST: return join_keys(v[0], v[1]);
	case BY_MESHES:
		return join_keys(cr_mesh_of_vertex(first, meshes, v[0]), cr_mesh_of_vertex(first, meshes, second_vertex(impact)));
	default: return impact->kind;
	}
}

static bool gather(carom_sweep *s)
{
	int64_t count = 0;
	for (int i = 0; i < s->context.thread_count; i++)
		count += s->workers[i]->found[0].count + s->workers[i]->found[1].count;
	if (!cr_array_reserve(&s->context, &s->found, count) || !cr_array_reserve(&s->context, &s->keys, count) ||
		!cr_array_reserve(&s->context, &s->scratch, count))
		return false;
	s->found.count = 0;
	for (int kind = 0; kind < 2; kind++) {
		for (int i = 0; i < s->context.thread_count; i++) {
			const cr_sweep_impacts *found = &s->workers[i]->found[kind];
			for (int64_t k = 0; k < found->count; k++)
				s->found.data[s->found.count++] = &found->data[k];
		}
	}
	return true;
}

carom_sweep_hit cr_make_sweep_hit(const carom_sweep *s, const cr_sweep_impact *impact)
{
	const int32_t *first = s->mesh_vertices.data;
	const int32_t meshes = (int32_t)s->meshes.count;
	carom_sweep_hit hit = {
		.kind = impact->kind == CR_SWEPT_VERTEX_FACE ? CAROM_SWEEP_VERTEX_FACE : CAROM_SWEEP_EDGE_EDGE,
		.status = cr_sweep_status_of(impact->status),
		.mesh_a = cr_mesh_of_vertex(first, meshes, impact->vertices[0]),
		.mesh_b = cr_mesh_of_vertex(first, meshes, second_vertex(impact)),
		.triangle = impact->triangle < 0 ? -1 : s->triangle_numbers.data[impact->triangle],
		.time = impact->time,
	};
	const int of_first = impact->kind == CR_SWEPT_VERTEX_FACE ? 1 : 2;
	for (int k = 0; k < 4; k++)
		hit.vertices[k] = impact->vertices[k] - first[k < of_first ? hit.mesh_a : hit.mesh_b];
	memcpy(hit.weight, impact->weight, sizeof hit.weight);
	memcpy(hit.normal, impact->normal, sizeof hit.normal);
	return hit;
}

static void fill_hits(int64_t begin, int64_t end, int worker, void *context)
{
	(void)worker;
	carom_sweep *s = context;
	for (int64_t i = begin; i < end; i++)
		s->hits.data[i] = cr_make_sweep_hit(s, s->found.data[s->keys.data[i].value]);
}

bool cr_sort_sweep_impacts(carom_sweep *s)
{
	if (!gather(s))
		return false;
	const int64_t count = s->found.count;
	cr_key *keys = s->keys.data;
	for (int64_t i = 0; i < count; i++)
		keys[i].value = (uint32_t)i;
	for (sort_part part = BY_TRIANGLE; part < PART_COUNT; part++) {
		for (int64_t i = 0; i < count; i++)
			keys[i].key = key_of(s, s->found.data[keys[i].value], part);
		if (count > 0)
			cr_radix_sort(keys, s->scratch.data, count, 64);
	}
	return true;
}

bool cr_sort_sweep_hits(carom_sweep *s)
{
	s->hits.count = 0;
	if (!cr_sort_sweep_impacts(s) || !cr_array_reserve(&s->context, &s->hits, s->found.count))
		return false;
	s->hits.count = s->found.count;
	cr_parallel_for(&s->context, fill_hits, s->hits.count, 1024, s);
	return true;
}
