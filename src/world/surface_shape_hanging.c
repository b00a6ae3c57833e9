/// Vertices of cloth without a memory of a side, near a shape that is no mesh, take that of the
/// cloth around them.
///
/// A sheet has passed a ball within a step. The vertices that came in are led back up
/// (surface_shape_passing.c), and draw those beside them in under the ball. These meet it from
/// below for the first time: by themselves they would be held there, and the sheet would be drawn
/// to both sides. So entries are settled by those that they hang together with, from neighbour to
/// neighbour over edges of the cloth:
///
/// 1. Entries that the last step knew, and that are beyond the shape or deeper than the distance to
///    be kept, stand. A neighbour that has come in or near in this step, at a place that looks away
///    from their way, takes this way. Where it is over that plane it is free. One that came in
///    beside keeps its own way, and passes nothing on.
/// 2. A vertex that has come out of the shape beside its entry is through if a neighbour is beyond;
///    else it is on its own side.
///
/// So cloth that wraps a body keeps its sides: cloth on it is not deep, and cloth around a corner
/// does not look away from its neighbour.
///
/// Cost: a pass over the entries. Where some stand: the near vertices of this cloth and shape, and
/// a binary search for each neighbour of an entry that is through.
#include "frame/shape_table.h"
#include "proximity/proximity_state.h"
#include "world/surface_contacts.h"
#include "world/world.h"

/// The entries of one cloth and one shape, side by side in the list.
typedef struct work {
	carom_world *world;
	int32_t part_a, part_b;
	int64_t first, end;
	const cr_topology *topology; // of the cloth
	const cr_fans *fans;
	bool only_doubtful; // the second round
} work;

static cr_shape_entry *entry_at(const work *w, int64_t i) { return &w->world->surface_contacts.shape_entries.data[i]; }

/// Where the entries of the pair of one end.
static int64_t end_of_pair(const cr_surface_contacts *m, int64_t begin)
{
	const cr_shape_entry *e = m->shape_entries.data;
	int64_t end = begin;
	while (end < m->shape_entries.count && e[end].part_a == e[begin].part_a && e[end].part_b == e[begin].part_b)
		end++;
	return end;
}

/// Does an entry of the last step stand?
static bool is_seed(const work *w, const cr_shape_entry *e)
{
	bool outside;
	double depth;
	if (e->kind != CR_SHAPE_ENTRY_HELD)
		return false;
	const double kept = cr_kept_distance(&w->world->bodies.data[w->part_a], &w->world->bodies.data[w->part_b]);
	return e->beyond || (cr_is_below_entry(w->world, w->part_a, w->part_b, e->vertex, e->way, &outside, &depth) && depth > kept);
}

// ---- From neighbour to neighbour ----

static bool push(const work *w, int64_t entry)
{
	cr_surface_contacts *m = &w->world->surface_contacts;
	if (!cr_array_reserve_one(&w->world->memory, &m->entry_queue))
		return false;
	m->entry_queue.data[m->entry_queue.count++] = (int32_t)entry;
	return true;
}

/// Let a neighbour take the side of an entry. Returns whether it is through by that.
static bool take_side(const work *w, const cr_shape_entry *from, cr_shape_entry *e)
{
	double depth;
	bool outside;
	if (e->kind == CR_SHAPE_ENTRY_DOUBTFUL) {
		e->kind = CR_SHAPE_ENTRY_HELD;
		return from->beyond;
	}
	if (w->only_doubtful || (e->kind != CR_SHAPE_ENTRY_NEW && e->kind != CR_SHAPE_ENTRY_NEAR) ||
		!(v3d_dot(e->way, from->way) < CR_AWAY))
		return false;
	if (!cr_is_below_entry(w->world, w->part_a, w->part_b, e->vertex, from->way, &outside, &depth)) {
		e->kind = CR_SHAPE_ENTRY_DROPPED;
		return false;
	}
	e->kind = CR_SHAPE_ENTRY_HELD;
	e->way = from->way;
	e->beyond = outside;
	return true;
}

/// Ask the neighbours of an entry that is through.
static bool ask_around(const work *w, int64_t entry)
{
	const cr_shape_entry from = *entry_at(w, entry);
	const int32_t place = w->topology->weld[from.vertex];
	bool enough = true;
	for (int32_t f = 3 * w->fans->first[place]; f < 3 * w->fans->first[place + 1] && enough; f++) {
		const int32_t vertex = w->topology->triangles[w->fans->corners[f / 3] / 3 * 3 + f % 3];
		const cr_shape_entry *found = cr_entry_of(w->world, w->part_a, w->part_b, vertex);
		const int64_t at = found ? found - w->world->surface_contacts.shape_entries.data : -1;
		enough = !found || !take_side(w, &from, entry_at(w, at)) || push(w, at);
	}
	return enough;
}

static bool spread(work *w)
{
	cr_surface_contacts *m = &w->world->surface_contacts;
	m->entry_queue.count = 0;
	bool enough = true;
	for (int64_t i = w->first; i < w->end && enough; i++) {
		const cr_shape_entry *e = entry_at(w, i);
		const bool begins = w->only_doubtful ? e->kind == CR_SHAPE_ENTRY_NEW && e->beyond : is_seed(w, e);
		enough = !begins || push(w, i);
	}
	for (int64_t next = 0; next < m->entry_queue.count && enough; next++)
		enough = ask_around(w, m->entry_queue.data[next]);
	return enough;
}

// ---- Vertices that have come near ----

/// Append the vertices of a pair of the search, from pair i to end, that have come near the shape
/// in this step and have no entry, if an entry of the two stands.
static bool append_near(carom_world *world, const carom_proximity_view *view, int64_t i, int64_t end)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const int32_t part_a = m->members.list.data[view->shape_pairs[i].mesh].body,
				  part_b = m->shapes.data[view->shape_pairs[i].shape];
	const double kept = cr_kept_distance(&world->bodies.data[part_a], &world->bodies.data[part_b]);
	const int64_t count = m->shape_entries.count;
	work w = { .world = world, .part_a = part_a, .part_b = part_b };
	bool stands = false;
	for (int64_t k = 0; k < count && !stands; k++) {
		const cr_shape_entry *e = &m->shape_entries.data[k];
		stands = e->part_a == part_a && e->part_b == part_b && is_seed(&w, e);
	}
	for (; stands && i < end; i++) {
		const carom_proximity_shape_pair *pair = &view->shape_pairs[i];
		if (pair->vertices[1] >= 0 || !(pair->gap < kept) || cr_last_of_shape_vertex(world, part_a, part_b, pair->vertices[0]))
			continue;
		if (!cr_array_reserve_one(&world->memory, &m->shape_entries))
			return false;
		m->shape_entries.data[m->shape_entries.count++] = (cr_shape_entry){
			.part_b = part_b, .part_a = part_a, .vertex = pair->vertices[0], .kind = CR_SHAPE_ENTRY_NEAR, .way = pair->normal
		};
	}
	return true;
}

// ---- All of it ----

static bool settle_pair(carom_world *world, int64_t first, int64_t end)
{
	cr_surface_contacts *m = &world->surface_contacts;
	const cr_shape_entry *e = &m->shape_entries.data[first];
	const int32_t member = cr_find_member(&m->members.list, e->part_a);
	if (!cr_make_surface_fans(world, e->part_a))
		return false;
	work w = { .world = world,
		.part_a = e->part_a,
		.part_b = e->part_b,
		.first = first,
		.end = end,
		.topology = cr_deforming_of(&world->bodies.data[e->part_a])->surface.faces,
		.fans = &m->fans.data[member] };
	if (!spread(&w))
		return false;
	w.only_doubtful = true;
	return spread(&w);
}

/// Leave the entries of vertices that are through.
static void drop_others(cr_surface_contacts *m)
{
	int64_t left = 0;
	for (int64_t i = 0; i < m->shape_entries.count; i++) {
		const cr_shape_entry *e = &m->shape_entries.data[i];
		if (e->kind == CR_SHAPE_ENTRY_HELD || e->kind == CR_SHAPE_ENTRY_NEW)
			m->shape_entries.data[left++] = *e;
	}
	m->shape_entries.count = left;
}

bool cr_settle_shape_entries(carom_world *world, const carom_proximity_view *view)
{
	cr_surface_contacts *m = &world->surface_contacts;
	bool enough = true;
	for (int64_t i = 0, end; i < view->shape_pair_count && m->shape_entries.count > 0 && enough; i = end) {
		const carom_proximity_shape_pair *pair = &view->shape_pairs[i];
		for (end = i; end < view->shape_pair_count && view->shape_pairs[end].mesh == pair->mesh &&
			 view->shape_pairs[end].shape == pair->shape;)
			end++;
		enough = append_near(world, view, i, end);
	}
	cr_sort_shape_entries(m);
	for (int64_t i = 0, end; i < m->shape_entries.count && enough; i = end) {
		end = end_of_pair(m, i);
		enough = settle_pair(world, i, end);
	}
	drop_others(m);
	return enough;
}
