/// Regions of cloth in a shape that is no mesh, which go out one way.
///
/// A sheet lies across the middle of a ball or a box. The nearest ways out of its features turn
/// around from one to the next, as in a closed mesh (surface_regions.c). So features that overlap
/// the shape and hang together, a region, leave along one direction, each as far as it has to be
/// moved to be clear of the shape. Triangles that overlap it are features, so the faces around the
/// vertices inside belong to the region, and a coarse sheet without a vertex inside has one too.
///
/// - Features of which the last step knows a way out (surface_shapes.c) keep it. Those that began
///   in the shape make regions of their own.
/// - A region whose nearest ways lie within a cone about their mean keeps them, unless they lead
///   against the cloth around it.
/// - So does one that lies along the surface, as cloth that is draped over a ball and has sunk in:
///   nearly all of its nearest ways lead to one side of the cloth, whatever the cloth around it
///   does, which hangs down beside the ball.
/// - Else it takes the best of 26 directions about the normal of the cloth: one that as few corners
///   outside as possible speak against, since the cloth there would go in; then the one with the
///   lowest way out in the mean, rather to the side that other regions of this cloth leave the same
///   body by.
/// - While a region leaves, its direction is the normal of its contacts (led), which is its memory.
///   Features that have come to it since join it. Where features with shorter nearest ways had
///   these, the last ones lost the direction, and sheets went back through the shape.
///
/// Cost: a look at a flag for each contact. Where a region begins or goes on: O(vertices of the
/// cloth), and for each region 26 slides for at most 64 of its features and one for each feature.
#include "base/union_find.h"
#include "world/surface_cuts.h"
#include "world/world.h"

/// The contacts of one cloth with one shape.
typedef struct work {
	carom_world *world;
	cr_shape_region_lists *lists;
	const cr_fans *fans; // of the cloth
	int32_t part;        // of the shape
	cr_shape_leaving out;
	carom_surface_shape_contact *contacts;
	uint8_t *ways; // cr_shape_way
	int64_t count;
	const cr_key *first, *end; // the region in hand, as values: its contacts
	v3d others;                // the sum of the directions of other regions
} work;

static int32_t place_of(const work *w, int32_t vertex) { return w->out.of_cloth.faces->weld[vertex]; }

// ---- Regions ----

static void unite(const work *w, int32_t vertex, int32_t with)
{
	cr_unite(w->lists->roots.data, (uint32_t)place_of(w, vertex), (uint32_t)place_of(w, with));
}

/// The triangles that a feature is of: those at an edge, or its own. Returns how many, at most
/// most. A vertex has none here: its triangles overlap the shape, and are features.
static int triangles_of(const work *w, const carom_surface_shape_contact *c, int32_t *triangles, int most)
{
	const cr_topology *t = w->out.of_cloth.faces;
	int count = 0;
	if (c->triangle >= 0)
		triangles[count++] = c->triangle;
	if (cr_corners_of(c) != 2)
		return count;
	const int32_t place = place_of(w, c->vertices[0]), other = place_of(w, c->vertices[1]);
	for (int32_t f = w->fans->first[place]; f < w->fans->first[place + 1] && count < most; f++) {
		const int32_t triangle = w->fans->corners[f] / 3;
		bool has = false;
		for (int k = 0; k < 3; k++)
			has = has || place_of(w, t->triangles[3 * (int64_t)triangle + k]) == other;
		if (has)
			triangles[count++] = triangle;
	}
	return count;
}

enum { MOST_TRIANGLES = 8 }; // at an edge

static void unite_feature(const work *w, const carom_surface_shape_contact *c)
{
	int32_t triangles[MOST_TRIANGLES];
	const int count = triangles_of(w, c, triangles, MOST_TRIANGLES);
	for (int k = 1; k < cr_corners_of(c); k++)
		unite(w, c->vertices[0], c->vertices[k]);
	for (int i = 0; i < 3 * count; i++)
		unite(w, c->vertices[0], w->out.of_cloth.faces->triangles[3 * (int64_t)triangles[i / 3] + i % 3]);
}

static bool takes_part(const work *w, int64_t i, bool goes_on)
{
	return w->contacts[i].distance < 0 && (goes_on || w->ways[i] == CR_SHAPE_WAY_BEGAN);
}

/// Sort the contacts that take part by region.
static bool list_regions(work *w, bool goes_on)
{
	cr_shape_region_lists *lists = w->lists;
	const int32_t vertices = w->out.of_cloth.faces->vertex_count;
	int64_t count = 0;
	if (!cr_array_reserve_fresh(&w->world->memory, &lists->roots, vertices) ||
		!cr_array_reserve_fresh(&w->world->memory, &lists->inside, vertices) ||
		!cr_array_reserve_fresh(&w->world->memory, &lists->order, 2 * w->count))
		return false;
	for (int32_t v = 0; v < vertices; v++) {
		lists->roots.data[v] = (uint32_t)v;
		lists->inside.data[v] = false;
	}
	for (int64_t i = 0; i < w->count; i++) {
		const carom_surface_shape_contact *c = &w->contacts[i];
		if (cr_corners_of(c) == 1 && c->distance < 0)
			lists->inside.data[place_of(w, c->vertices[0])] = true;
		if (takes_part(w, i, goes_on))
			unite_feature(w, c);
	}
	for (int64_t i = 0; i < w->count; i++) {
		if (!takes_part(w, i, goes_on))
			continue;
		const uint32_t place = (uint32_t)place_of(w, w->contacts[i].vertices[0]);
		lists->order.data[count++] = (cr_key){ cr_find_root(lists->roots.data, place), (uint32_t)i };
	}
	if (count > 0)
		cr_radix_sort(lists->order.data, lists->order.data + count, count, 32);
	lists->order.count = count;
	return true;
}

/// Gather the directions from the features of the region to the corners outside.
static bool list_rim(work *w)
{
	cr_shape_region_lists *lists = w->lists;
	lists->rim.count = 0;
	for (const cr_key *of = w->first; of < w->end; of++) {
		const carom_surface_shape_contact *c = &w->contacts[of->value];
		int32_t triangles[MOST_TRIANGLES];
		const int count = triangles_of(w, c, triangles, MOST_TRIANGLES);
		v3d foot = { 0, 0, 0 };
		for (int k = 0; k < cr_corners_of(c); k++)
			foot = v3d_mad(foot, c->weight[k], cr_placed_vertex(&w->out.of_cloth, c->vertices[k]));
		for (int i = 0; i < 3 * count; i++) {
			const int32_t corner = w->out.of_cloth.faces->triangles[3 * (int64_t)triangles[i / 3] + i % 3];
			if (lists->inside.data[place_of(w, corner)])
				continue;
			if (!cr_array_reserve_one(&w->world->memory, &lists->rim))
				return false;
			lists->rim.data[lists->rim.count++] = v3d_normalize(v3d_sub(cr_placed_vertex(&w->out.of_cloth, corner), foot));
		}
	}
	return true;
}

// ---- Directions ----

/// How many corners outside a direction is against, of each strideth.
static int64_t count_against(const work *w, v3d direction, int64_t stride)
{
	int64_t against = 0;
	for (int64_t i = 0; i < w->lists->rim.count; i += stride)
		against += v3d_dot(w->lists->rim.data[i], direction) < CR_AGAINST_RIM;
	return against;
}

/// Do the nearest ways of the region lie within a cone, and lead away from the cloth around it?
static bool do_ways_agree(const work *w)
{
	v3d mean = { 0, 0, 0 };
	bool agree = true;
	for (const cr_key *of = w->first; of < w->end; of++)
		mean = v3d_add(mean, w->contacts[of->value].normal);
	mean = v3d_normalize(mean);
	for (const cr_key *of = w->first; of < w->end && agree; of++)
		agree = v3d_dot(mean, w->contacts[of->value].normal) >= CR_WITHIN_CONE;
	return agree && CR_LEAST_AGAINST * count_against(w, mean, 1) <= w->lists->rim.count;
}

/// Does the region lie along the surface of the shape, so that its nearest ways are all to one side
/// of the cloth?
static bool lies_along(const work *w)
{
	cr_sides_along along = { 0 };
	for (const cr_key *of = w->first; of < w->end; of++) {
		const carom_surface_shape_contact *c = &w->contacts[of->value];
		cr_count_side(&along, cr_normals_around(&w->out.of_cloth, w->fans, place_of(w, c->vertices[0])), c->normal);
	}
	return cr_lie_along(&along);
}

/// The normal of the cloth in the region.
static v3d normal_of_region(const work *w)
{
	v3d sum = { 0, 0, 0 };
	for (const cr_key *of = w->first; of < w->end; of++) {
		const int32_t place = place_of(w, w->contacts[of->value].vertices[0]);
		sum = v3d_add(sum, cr_normals_around(&w->out.of_cloth, w->fans, place));
	}
	sum = v3d_normalize(sum);
	return v3d_length(sum) > 0.5 ? sum : (v3d){ 0, 0, 1 };
}

/// How far a feature has to go along a direction to be clear of the shape.
static double leave(const work *w, const carom_surface_shape_contact *c, v3d direction)
{
	double by;
	cr_leave_shape(&w->out, c, direction, &by);
	return by;
}

static cr_way_score try_direction(const void *region, v3d direction)
{
	const work *w = region;
	const int64_t stride = cr_sample_stride(w->end - w->first);
	cr_way_score s = { count_against(w, direction, cr_sample_stride(w->lists->rim.count)), 0 };
	for (const cr_key *of = w->first; of < w->end; of += stride <= w->end - of ? stride : w->end - of)
		s.lengths += leave(w, &w->contacts[of->value], direction);
	if (v3d_dot(direction, w->others) < 0)
		s.lengths *= CR_OPPOSED;
	return s;
}

/// The mean of the directions that features of the region were led along; zero: none was.
static v3d last_direction(const work *w)
{
	v3d sum = { 0, 0, 0 };
	for (const cr_key *of = w->first; of < w->end; of++) {
		if (w->ways[of->value] == CR_SHAPE_WAY_LED)
			sum = v3d_add(sum, cr_last_way_out(w->world, w->part, &w->contacts[of->value]));
	}
	return v3d_normalize(sum);
}

// ---- Ways out ----

/// Lead the region in hand out, if its nearest ways do not. goes_on: only if it was led.
static bool lead_region(work *w, bool goes_on)
{
	v3d direction = { 0, 0, 0 };
	if (goes_on) {
		direction = last_direction(w);
		if (!(v3d_length(direction) > 0.5))
			return true;
	} else {
		if (!list_rim(w))
			return false;
		if (do_ways_agree(w) || lies_along(w))
			return true;
		direction = cr_best_way(normal_of_region(w), try_direction, w);
	}
	w->others = v3d_add(w->others, direction);
	for (const cr_key *of = w->first; of < w->end; of++) {
		carom_surface_shape_contact *c = &w->contacts[of->value];
		w->ways[of->value] = CR_SHAPE_WAY_KNOWN;
		cr_lead_out_of_shape(&w->out, direction, c);
		c->led = true;
	}
	return true;
}

static bool lead_all(work *w, bool goes_on)
{
	bool enough = list_regions(w, goes_on);
	const cr_key *order = w->lists->order.data;
	for (int64_t i = 0, end; i < w->lists->order.count && enough; i = end) {
		for (end = i; end < w->lists->order.count && order[end].key == order[i].key;)
			end++;
		w->first = order + i;
		w->end = order + end;
		enough = lead_region(w, goes_on);
	}
	return enough;
}

/// The sum of the directions by which this cloth leaves parts of the body before this one.
static v3d directions_of_body(const carom_world *world, int64_t first)
{
	const carom_surface_shape_contact *c = world->surface_contacts.next_shapes.data, *own = &c[first];
	v3d sum = { 0, 0, 0 };
	for (int64_t i = first; i-- > 0 && cr_compare_ids(c[i].body_b, own->body_b) == 0;) {
		if (c[i].led && cr_compare_ids(c[i].body_a, own->body_a) == 0)
			sum = v3d_add(sum, c[i].normal);
	}
	return sum;
}

bool cr_lead_shape_regions(carom_world *world, int32_t member, int32_t part, int64_t first, bool goes_on)
{
	cr_surface_contacts *m = &world->surface_contacts;
	if (!cr_make_surface_fans(world, m->members.list.data[member].body))
		return false;
	work w = { .world = world,
		.lists = &m->shape_regions,
		.fans = &m->fans.data[member],
		.part = part,
		.out = cr_leaving_of(world, m->members.list.data[member].body, part),
		.contacts = m->next_shapes.data + first,
		.ways = m->shape_regions.ways.data,
		.count = m->next_shapes.count - first,
		.others = directions_of_body(world, first) };
	return (!goes_on || lead_all(&w, true)) && lead_all(&w, false);
}

void cr_free_shape_regions(carom_context *memory, cr_shape_region_lists *lists)
{
	cr_array_free(memory, &lists->ways);
	cr_array_free(memory, &lists->roots);
	cr_array_free(memory, &lists->inside);
	cr_array_free(memory, &lists->order);
	cr_array_free(memory, &lists->rim);
}
