/// The walk goes down the tree over bodies. Where it comes to a granular body that the query sees,
/// it goes on in that body's tree over spheres, with the searcher's key and limit. So a sphere is
/// looked at as a body of its own would be, and the answers are equal. The tree over spheres is
/// made along the Morton curve by the first query that comes near them after they were set:
/// O(n log n), about 60 bytes a sphere.
#include "world/query_index.h"
#include "geom/volume.h"

typedef struct index_walk {
	const carom_world *world;
	cr_index_search *search;
	int32_t granular; // the body whose spheres are walked
	bool stopped;     // by the searcher, or by an item that could not be shown
	carom_result result;
} index_walk;

// ---- Boxes ----

static bool body_box(const void *user, int64_t item, double lower[3], double upper[3])
{
	const carom_world *world = user;
	const cr_body *body = &world->bodies.data[item];
	if (!body->alive || (cr_granular_of(body) && cr_granular_of(body)->count == 0))
		return false;
	cr_body_bounds(body, world->context->simd, lower, upper);
	return true;
}

static bool sphere_box(const void *user, int64_t item, double lower[3], double upper[3])
{
	const double *s = user;
	cr_sphere_bounds(s + 4 * item, lower, upper);
	return true;
}

// ---- Items ----

const cr_body *cr_see_item(const carom_world *world, cr_query_item item, cr_body *room, carom_result *result)
{
	const cr_body *whole = &world->bodies.data[item.body];
	if (item.sphere < 0)
		return cr_see_body(whole, result);
	const double *s = &cr_granular_of(whole)->spheres.data[4 * (int64_t)item.sphere];
	*room = (cr_body){
		.alive = true,
		.kind = whole->kind,
		.shape = { .def = { .type = CAROM_SPHERE, .radius = s[3] }, .family = CR_FAMILY_ROUND },
		.pose = { { s[0], s[1], s[2] }, { 0, 0, 0, 1 } },
	};
	return room;
}

// ---- The filter's function ----

/// A world that this thread asks a filter's function about, and those around it: the function may
/// ask further questions.
typedef struct asked_world {
	const carom_world *world;
	const struct asked_world *outer;
} asked_world;

static _Thread_local const asked_world *s_asked;

bool cr_is_asking_filter(const carom_world *world)
{
	const asked_world *asked = s_asked;
	while (asked && asked->world != world)
		asked = asked->outer;
	return asked != NULL;
}

bool cr_ask_body_filter(const carom_query_filter *filter, const carom_world *world, cr_query_item item)
{
	const asked_world asked = { world, s_asked };
	s_asked = &asked;
	const bool accepted = filter->body_filter(cr_id_of(world->bodies.data, item.body), cr_item_shape(world, item),
		world->bodies.data[item.body].user_data, filter->filter_user);
	s_asked = asked.outer;
	return accepted;
}

// ---- The walk ----

static bool is_wanted(const index_walk *w, int32_t body)
{
	return !w->search->wants || w->search->wants(w->search->user, body);
}

/// Show an item to the searcher, if the filter's function lets it through. Returns whether to go
/// on.
static bool visit_item(index_walk *w, cr_query_item item, double *limit)
{
	cr_body room;
	if (!w->search->visit_asks && !cr_query_accepts(w->search->filter, w->world, item))
		return true;
	const cr_body *seen = cr_see_item(w->world, item, &room, &w->result);
	w->stopped = !seen || !w->search->visit(w->search->user, item, seen, limit);
	return !w->stopped;
}

static bool visit_sphere(void *user, int32_t sphere, double *limit)
{
	index_walk *w = user;
	// A body that was found is not to be found again.
	return visit_item(w, (cr_query_item){ w->granular, sphere }, limit) && is_wanted(w, w->granular);
}

static void walk_spheres(index_walk *w, double *limit)
{
	const cr_granular *g = cr_granular_of(&w->world->bodies.data[w->granular]);
	const cr_boxed_items spheres = { g->count, g->count, sphere_box, g->spheres.data, true };
	cr_box_search search = { w->search->key, w->search->keys, w->search->user, visit_sphere, w, *limit, false };
	w->result = cr_box_index_search(g->index, w->world->context, &spheres, &search);
	*limit = search.limit;
}

static bool visit_body(void *user, int32_t body, double *limit)
{
	index_walk *w = user;
	if (!cr_query_passes(w->search->filter, w->world, body) || !is_wanted(w, body))
		return true;
	if (!cr_granular_of(&w->world->bodies.data[body]))
		return visit_item(w, (cr_query_item){ body, -1 }, limit);
	w->granular = body;
	walk_spheres(w, limit);
	return !w->stopped && w->result == CAROM_SUCCESS;
}

carom_result cr_search_body_boxes(const carom_world *world, cr_box_search *search)
{
	const cr_boxed_items bodies = { world->bodies.count, world->shape_count, body_box, world, false };
	return cr_box_index_search(world->query_index, world->context, &bodies, search);
}

carom_result cr_query_index_search(const carom_world *world, cr_index_search *search)
{
	index_walk w = { .world = world, .search = search };
	cr_box_search boxes = { search->key, search->keys, search->user, visit_body, &w, search->limit, search->takes_lone };
	const carom_result result = cr_search_body_boxes(world, &boxes);
	search->limit = boxes.limit;
	return result == CAROM_SUCCESS ? w.result : result;
}
