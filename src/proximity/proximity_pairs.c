/// From candidates to pairs in order. Workers measure candidates and keep those that are near under
/// numbers that run through all meshes; radix sorts put them in order, and the caller's numbers
/// come last.
#include "base/parallel.h"
#include "geom/feature_distance.h"
#include "proximity/proximity_state.h"

#include <string.h>

enum { PAIRS_PER_TASK = 512 };

// ---- Measuring ----

static carom_proximity_type type_of(const carom_proximity_pair *pair)
{
	int parts[2] = { 0, 0 };
	const int first = pair->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
	for (int k = 0; k < 4; k++)
		parts[k >= first] += pair->weight[k] > 0;
	if (parts[0] == 2 && parts[1] == 2)
		return CAROM_PROXIMITY_EDGE_EDGE;
	const int sum = parts[0] + parts[1];
	return sum <= 2 ? CAROM_PROXIMITY_VERTEX_VERTEX : sum == 3 ? CAROM_PROXIMITY_VERTEX_EDGE : CAROM_PROXIMITY_VERTEX_FACE;
}

void cr_fill_near_pair(const cr_near *near, v3d origin, carom_proximity_pair *pair)
{
	memcpy(pair->weight, near->weight, sizeof pair->weight);
	pair->type = type_of(pair);
	pair->point_a = v3d_add(near->on_a, origin);
	pair->point_b = v3d_add(near->on_b, origin);
	pair->distance2 = near->distance2;
	pair->gap = near->gap;
}

/// Keep a pair, unless there are too many to be reported: then they are counted alone. False when
/// out of memory.
static bool keep_pair(carom_proximity *p, cr_near_worker *w, const carom_proximity_pair *pair)
{
	w->total++;
	if (p->max_pairs > 0 && w->total > p->max_pairs)
		return true;
	if (!cr_array_reserve_one(p->context, &w->found[pair->kind]))
		return false;
	w->found[pair->kind].data[w->found[pair->kind].count++] = *pair;
	return true;
}

bool cr_take_near_pairs(void *user, int worker, const cr_swept_queries *queries, const int32_t *triangles, int32_t count)
{
	carom_proximity *p = user;
	const cr_sweep_order *order = &p->sweep->order;
	const bool faces = queries->kind == CR_SWEPT_VERTEX_FACE;
	carom_proximity_pair pair = { .kind = faces ? CAROM_SWEEP_VERTEX_FACE : CAROM_SWEEP_EDGE_EDGE };
	for (int32_t i = 0; i < count; i++) {
		const int32_t *vertices = queries->vertices[i];
		v3d at[4];
		cr_near near;
		for (int k = 0; k < 4; k++) {
			const double *from = &queries->begin[3 * (int64_t)vertices[k]];
			at[k] = (v3d){ from[0], from[1], from[2] };
		}
		if (!cr_are_near(queries->kind, at, p->reach, &near))
			continue;
		cr_fill_near_pair(&near, at[0], &pair);
		for (int k = 0; k < 4; k++)
			pair.vertices[k] = order->given_vertices[vertices[k]];
		pair.triangle = faces ? order->given_triangles[triangles[i]] : -1;
		if (p->keep && !p->keep(p->keep_user, &pair))
			continue;
		if (!keep_pair(p, &p->workers[worker], &pair))
			return false;
	}
	return true;
}

// ---- Workers ----

bool cr_start_near_workers(void *user)
{
	carom_proximity *p = user;
	const size_t count = (size_t)p->context->thread_count;
	if (!p->workers)
		p->workers = cr_alloc_zero(p->context, count * sizeof *p->workers);
	for (size_t i = 0; p->workers && i < count; i++) {
		cr_near_worker *w = &p->workers[i];
		w->found[0].count = w->found[1].count = w->total = w->cuts.count = 0;
		w->asked_a = w->asked_b = -1;
	}
	return p->workers != NULL;
}

void cr_free_near_workers(carom_proximity *p)
{
	for (int i = 0; p->workers && i < p->context->thread_count; i++) {
		for (int kind = 0; kind < 2; kind++)
			cr_array_free(p->context, &p->workers[i].found[kind]);
		cr_array_free(p->context, &p->workers[i].cuts);
	}
	cr_free(p->context, p->workers, (size_t)p->context->thread_count * sizeof *p->workers);
	cr_array_free(p->context, &p->listed);
	cr_array_free(p->context, &p->pair_keys);
	cr_array_free(p->context, &p->scratch);
	cr_array_free(p->context, &p->crossing);
}

int64_t cr_count_near_pairs(const carom_proximity *p)
{
	int64_t count = 0;
	for (int i = 0; i < p->context->thread_count; i++)
		count += p->workers[i].total;
	return count;
}

// ---- Order ----

typedef enum sort_part { BY_TRIANGLE, BY_LAST, BY_FIRST, BY_MESHES, PART_COUNT } sort_part;

static uint64_t join_numbers(int32_t high, int32_t low) { return (uint64_t)(uint32_t)high << 32 | (uint32_t)low; }

static int32_t mesh_of(const carom_sweep *s, int32_t vertex)
{
	return cr_mesh_of_vertex(s->mesh_vertices.data, (int32_t)s->meshes.count, vertex);
}

static int32_t second_vertex(const carom_proximity_pair *pair)
{
	return pair->vertices[pair->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2];
}

static uint64_t key_of(const carom_sweep *s, const carom_proximity_pair *pair, sort_part part)
{
	const int32_t *v = pair->vertices;
	switch (part) {
	case BY_TRIANGLE: return (uint32_t)pair->triangle;
	case BY_LAST: return join_numbers(v[2], v[3]);
	case BY_FIRST: return join_numbers(v[0], v[1]);
	default: return join_numbers(mesh_of(s, v[0]), mesh_of(s, second_vertex(pair)));
	}
}

/// Append the pairs of a kind to the list, and sort their keys.
static void sort_kind(carom_proximity *p, carom_sweep_kind kind)
{
	const int64_t first = p->listed.count;
	for (int i = 0; i < p->context->thread_count; i++) {
		for (int64_t k = 0; k < p->workers[i].found[kind].count; k++)
			p->listed.data[p->listed.count++] = &p->workers[i].found[kind].data[k];
	}
	const int64_t count = p->listed.count - first;
	if (count == 0)
		return;
	cr_key *keys = p->pair_keys.data + first;
	for (int64_t i = 0; i < count; i++)
		keys[i].value = (uint32_t)(first + i);
	const sort_part end = p->sweep->meshes.count > 1 ? PART_COUNT : BY_MESHES;
	for (sort_part part = kind == CAROM_SWEEP_VERTEX_FACE ? BY_TRIANGLE : BY_LAST; part < end; part++) {
		for (int64_t i = 0; i < count; i++)
			keys[i].key = key_of(p->sweep, p->listed.data[keys[i].value], part);
		cr_radix_sort(keys, p->scratch.data, count, 64);
	}
}

static void fill_pairs(int64_t begin, int64_t end, int worker, void *task)
{
	(void)worker;
	carom_proximity *p = task;
	const carom_sweep *s = p->sweep;
	for (int64_t i = begin; i < end; i++) {
		carom_proximity_pair *pair = &p->pairs.data[i];
		*pair = *p->listed.data[p->pair_keys.data[i].value];
		const int of_a = pair->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
		pair->mesh_a = mesh_of(s, pair->vertices[0]);
		pair->mesh_b = mesh_of(s, second_vertex(pair));
		for (int k = 0; k < 4; k++)
			pair->vertices[k] -= s->mesh_vertices.data[k < of_a ? pair->mesh_a : pair->mesh_b];
		if (pair->triangle >= 0)
			pair->triangle = s->triangle_numbers.data[pair->triangle];
	}
}

bool cr_sort_near_pairs(carom_proximity *p)
{
	const int64_t count = cr_count_near_pairs(p);
	p->pairs.count = p->listed.count = 0;
	// Keys have 32 bits for the place of a pair.
	if (count > UINT32_MAX || !cr_array_reserve_fresh(p->context, &p->listed, count) ||
		!cr_array_reserve_fresh(p->context, &p->pair_keys, count) || !cr_array_reserve_fresh(p->context, &p->scratch, count) ||
		!cr_array_reserve_fresh(p->context, &p->pairs, count))
		return false;
	sort_kind(p, CAROM_SWEEP_VERTEX_FACE);
	const int64_t faces = p->listed.count;
	sort_kind(p, CAROM_SWEEP_EDGE_EDGE);
	cr_parallel_for(p->context, fill_pairs, count, PAIRS_PER_TASK, p);
	p->pairs.count = count;
	p->sweep->stats.hits_vf = faces;
	p->sweep->stats.hits_ee = count - faces;
	return true;
}
