/// The calls of carom/sweep.h: meshes and their motion, and the order of a search. The work is in
/// sweep_tree.c (boxes), sweep_search.c (traversal and tests) and sweep_sort.c (results).
#include "base/parallel.h"
#include "base/time.h"
#include "sweep/device_sweep.h"
#include "sweep/sweep_cookies.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	FIELD_SIZE = 96,
	PLACES_AT_ONCE = 4096, // vertices put in order by one worker at a time: about 20 microseconds
};

// ---- Making ----

carom_sweep_def carom_default_sweep_def(void)
{
	carom_sweep_def def;
	memset(&def, 0, sizeof def);
	def.cookie = CR_SWEEP_COOKIE;
	def.method = CAROM_SWEEP_AUTO;
	def.volume = CAROM_SWEEP_DOP18;
	def.build = CAROM_SWEEP_MEDIAN;
	def.test = CAROM_SWEEP_CERTIFIED;
	def.tolerance = 1e-6;
	def.orphan_sets = true;
	def.prune_front = true;
	def.rebuild_sprouted = 0.3;
	def.rebuild_replaced = 0.45;
	def.front_budget = (size_t)256 << 20;
	return def;
}

carom_sweep_mesh_def carom_default_sweep_mesh_def(void)
{
	carom_sweep_mesh_def def;
	memset(&def, 0, sizeof def);
	def.cookie = CR_SWEEP_MESH_COOKIE;
	def.self = true;
	def.category = 1;
	def.mask = UINT64_MAX;
	return def;
}

carom_result carom_create_sweep(carom_context *context, const carom_sweep_def *def, carom_sweep **sweep)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!sweep)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_create_sweep: sweep is NULL");
	*sweep = NULL;
	const carom_sweep_def default_def = carom_default_sweep_def();
	if (!def)
		def = &default_def;
	const carom_result result = cr_check_sweep_def(context, def);
	if (result != CAROM_SUCCESS)
		return result;
	carom_sweep *made = cr_alloc_zero(context, sizeof *made);
	if (!made)
		return cr_fail_memory(context, "a sweep");
	made->parent = context;
	cr_context_init_child(&made->context, context, 0);
	made->def = *def;
	if (!cr_array_reserve(&made->context, &made->mesh_vertices, 1)) {
		cr_free(context, made, sizeof *made);
		return cr_fail_memory(context, "a sweep");
	}
	made->mesh_vertices.data[0] = 0;
	atomic_fetch_add(&context->live_objects, 1);
	*sweep = made;
	return CAROM_SUCCESS;
}

static size_t place_bytes(const carom_sweep *s) { return 3 * (size_t)s->order.vertex_count * sizeof(double); }

static void free_places(carom_sweep *s)
{
	cr_array_free(&s->context, &s->sizes);
	cr_array_free(&s->context, &s->halves);
	cr_free(&s->context, s->scene_begin, place_bytes(s));
	cr_free(&s->context, s->scene_end, place_bytes(s));
	s->scene_begin = s->scene_end = NULL;
}

/// Forget all that is on a device. A library without Vulkan has none.
static void leave_device(carom_sweep *s)
{
#ifdef CR_HAVE_VULKAN
	cr_free_device_sweep(s);
#else
	(void)s;
#endif
}

/// Everything that the first search made, and the last one found.
static void forget_search(carom_sweep *s)
{
	leave_device(s);
	cr_front_free(&s->context, &s->front);
	s->front_held = s->front_due = s->front_over = false;
	if (s->line)
		s->def.lab->drop(&s->context, s->line);
	s->line = NULL;
	cr_sweep_tree_free(&s->context, &s->tree);
	cr_sweep_scene_free(&s->context, &s->scene);
	free_places(s);
	cr_sweep_order_free(&s->context, &s->order);
	s->built = s->bounded = false;
	s->adjacent = 0;
}

void carom_destroy_sweep(carom_sweep *sweep)
{
	if (!sweep)
		return;
	carom_context *context = &sweep->context;
	forget_search(sweep);
	cr_free_sweep_workers(sweep);
	cr_array_free(context, &sweep->meshes);
	cr_array_free(context, &sweep->filters);
	cr_array_free(context, &sweep->arcs);
	cr_array_free(context, &sweep->mesh_vertices);
	cr_array_free(context, &sweep->triangles);
	cr_array_free(context, &sweep->triangle_numbers);
	cr_array_free(context, &sweep->begin);
	cr_array_free(context, &sweep->end);
	cr_array_free(context, &sweep->wanted);
	cr_array_free(context, &sweep->tasks);
	cr_array_free(context, &sweep->next_tasks);
	cr_array_free(context, &sweep->keys);
	cr_array_free(context, &sweep->scratch);
	cr_array_free(context, &sweep->found);
	cr_array_free(context, &sweep->hits);
	cr_array_free(context, &sweep->crossings);
	cr_array_free(context, &sweep->ways_apart);
	cr_array_free(context, &sweep->candidates);
	atomic_fetch_sub(&sweep->parent->live_objects, 1);
	cr_free(sweep->parent, sweep, sizeof *sweep);
}

// ---- Meshes ----

void cr_begin_sweep_step(carom_sweep *s)
{
	s->bounded = s->swept = false;
	s->hits.count = 0;
	if (!s->searched)
		return;
	s->searched = false;
	for (int64_t i = 0; i < s->arcs.count; i++)
		s->arcs.data[i].turns = false;
	if (s->end.count > 0)
		memcpy(s->begin.data, s->end.data, (size_t)s->end.count * sizeof *s->begin.data);
	for (int64_t i = 0; i < s->meshes.count; i++)
		s->meshes.data[i].largest_begin = s->meshes.data[i].largest_end;
}

static bool is_degenerate(const int32_t *t) { return t[0] == t[1] || t[1] == t[2] || t[2] == t[0]; }

/// Append the triangles of a mesh; there is room.
static void append_triangles(carom_sweep *s, const carom_sweep_mesh_def *def, int32_t first_vertex)
{
	for (int32_t i = 0; i < def->triangle_count; i++) {
		const int32_t *t = &def->triangles[3 * (int64_t)i];
		if (is_degenerate(t))
			continue;
		for (int k = 0; k < 3; k++)
			s->triangles.data[s->triangles.count++] = first_vertex + t[k];
		s->triangle_numbers.data[s->triangle_numbers.count++] = i;
	}
}

/// Take the triangles back from the order, which is about to go. False when out of memory.
static bool restore_triangles(carom_sweep *s)
{
	const cr_sweep_order *order = &s->order;
	const int64_t count = 3 * s->triangle_numbers.count;
	if (s->triangles.count == count)
		return true;
	if (!cr_array_reserve(&s->context, &s->triangles, count))
		return false;
	for (int64_t i = 0; i < count; i++)
		s->triangles.data[3 * (int64_t)order->given_triangles[i / 3] + i % 3] = order->given_vertices[order->corners[i]];
	s->triangles.count = count;
	return true;
}

static int32_t vertices_of(const carom_sweep *s) { return s->mesh_vertices.data[s->meshes.count]; }

/// own: vertices whose places the sweep keeps.
static bool reserve_mesh(carom_sweep *s, const carom_sweep_mesh_def *def, int32_t own)
{
	carom_context *context = &s->context;
	return restore_triangles(s) && cr_array_reserve(context, &s->meshes, s->meshes.count + 1) &&
		cr_array_reserve(context, &s->filters, s->meshes.count + 1) &&
		cr_array_reserve(context, &s->arcs, s->meshes.count + 1) &&
		cr_array_reserve(context, &s->mesh_vertices, s->meshes.count + 2) &&
		cr_array_reserve(context, &s->triangles, s->triangles.count + 3 * (int64_t)def->triangle_count) &&
		cr_array_reserve(context, &s->triangle_numbers, s->triangle_numbers.count + def->triangle_count) &&
		cr_array_reserve(context, &s->begin, s->begin.count + 3 * (int64_t)own) &&
		cr_array_reserve(context, &s->end, s->end.count + 3 * (int64_t)own);
}

static carom_result check_size(carom_sweep *s, const carom_sweep_mesh_def *def)
{
	// Numbers of coordinates and corners fit into 31 bits.
	const int64_t most = INT32_MAX / 3;
	if ((int64_t)vertices_of(s) + def->vertex_count > most)
		return cr_fail(&s->context, CAROM_INVALID_ARGUMENT,
			"carom_sweep_mesh_def.vertex_count is %d: a sweep has at most %lld vertices", def->vertex_count, (long long)most);
	if (s->triangle_numbers.count + def->triangle_count > most)
		return cr_fail(&s->context, CAROM_INVALID_ARGUMENT,
			"carom_sweep_mesh_def.triangle_count is %d: a sweep has at most %lld triangles", def->triangle_count,
			(long long)most);
	return CAROM_SUCCESS;
}

/// Read the places of the mesh that is added; there is room.
static double read_own(carom_sweep *s, const carom_sweep_mesh_def *def)
{
	const double largest = cr_read_sweep_vertices(&def->vertices, def->vertex_count, s->end.data + s->end.count);
	if (def->vertex_count > 0)
		memcpy(
			s->begin.data + s->begin.count, s->end.data + s->end.count, 3 * (size_t)def->vertex_count * sizeof *s->begin.data);
	s->begin.count = s->end.count += 3 * (int64_t)def->vertex_count;
	return largest;
}

static carom_result add_mesh(carom_sweep *sweep, const carom_sweep_mesh_def *def, bool lent, int32_t *mesh)
{
	carom_context *context = &sweep->context;
	carom_result result = cr_check_sweep_mesh(context, def);
	if (result == CAROM_SUCCESS && !lent)
		result = cr_check_sweep_vertices(
			context, "carom_sweep_mesh_def.vertices", &def->vertices, def->vertex_count, CAROM_INVALID_MESH);
	if (result == CAROM_SUCCESS)
		result = check_size(sweep, def);
	if (result != CAROM_SUCCESS)
		return result;
	if (!reserve_mesh(sweep, def, lent ? 0 : def->vertex_count))
		return cr_fail_memory(context, "a mesh of a sweep");
	cr_begin_sweep_step(sweep);
	forget_search(sweep);
	const int32_t first = vertices_of(sweep), own = lent ? -1 : (int32_t)(sweep->end.count / 3);
	append_triangles(sweep, def, first);
	const double largest = lent ? 0 : read_own(sweep, def);
	*mesh = (int32_t)sweep->meshes.count;
	sweep->meshes.data[sweep->meshes.count++] = (cr_sweep_mesh){ .first_vertex = first,
		.vertex_count = def->vertex_count,
		.self = def->self,
		.is_rigid = def->is_rigid,
		.thickness = def->thickness,
		.own_first = own,
		.largest_begin = largest,
		.largest_end = largest };
	sweep->arcs.data[sweep->arcs.count++] = (cr_sweep_arc){ .turns = false };
	sweep->filters.data[sweep->filters.count++] = (cr_sweep_filter){ def->category, def->mask, def->group };
	sweep->mesh_vertices.data[sweep->meshes.count] = first + def->vertex_count;
	return CAROM_SUCCESS;
}

carom_result carom_sweep_add_mesh(carom_sweep *sweep, const carom_sweep_mesh_def *def, int32_t *mesh)
{
	if (!sweep)
		return CAROM_INVALID_ARGUMENT;
	if (!def || !mesh)
		return cr_fail(&sweep->context, CAROM_INVALID_ARGUMENT, "carom_sweep_add_mesh: %s is NULL", def ? "mesh" : "def");
	return add_mesh(sweep, def, false, mesh);
}

carom_result cr_add_lent_mesh(carom_sweep *sweep, const carom_sweep_mesh_def *def, int32_t *mesh)
{
	return add_mesh(sweep, def, true, mesh);
}

void cr_lend_sweep_places(
	carom_sweep *sweep, int32_t mesh, const double *begin, const double *end, double largest_begin, double largest_end)
{
	cr_sweep_mesh *m = &sweep->meshes.data[mesh];
	m->lent_begin = begin;
	m->lent_end = end;
	m->largest_begin = largest_begin;
	m->largest_end = largest_end;
}

static double largest_of(const cr_sweep_mesh *m) { return fmax(m->largest_begin, m->largest_end); }

void cr_turn_sweep_mesh(carom_sweep *s, int32_t mesh, const cr_motion *motion, const float *vertices, double reach)
{
	const double bulge = cr_bulge_of(motion, reach);
	// Turns below the rounding of the places are none.
	const bool turns = bulge > 0x1p-60 * largest_of(&s->meshes.data[mesh]);
	s->arcs.data[mesh] = (cr_sweep_arc){ turns, *motion, vertices, bulge };
}

double cr_sweep_bulge(const carom_sweep *s)
{
	double bulge = 0;
	for (int64_t i = 0; i < s->arcs.count; i++)
		bulge = s->arcs.data[i].turns ? fmax(bulge, s->arcs.data[i].bulge) : bulge;
	return bulge;
}

carom_result cr_check_sweep_mesh_number(carom_sweep *sweep, const char *call, int32_t mesh)
{
	if (!sweep)
		return CAROM_INVALID_ARGUMENT;
	if (mesh < 0 || mesh >= sweep->meshes.count)
		return cr_fail(&sweep->context, CAROM_INVALID_ARGUMENT, "%s: mesh is %d, but there are %lld", call, mesh,
			(long long)sweep->meshes.count);
	return CAROM_SUCCESS;
}

/// Check the arguments of a call that puts the vertices of a mesh somewhere, in its argument of the
/// given name, and begin the step.
static carom_result begin_motion(
	carom_sweep *sweep, const char *call, int32_t mesh, const char *name, const carom_strided *vertices)
{
	carom_result result = cr_check_sweep_mesh_number(sweep, call, mesh);
	if (result != CAROM_SUCCESS)
		return result;
	if (!vertices)
		return cr_fail(&sweep->context, CAROM_INVALID_ARGUMENT, "%s, mesh %d: %s is NULL", call, mesh, name);
	char field[FIELD_SIZE];
	snprintf(field, sizeof field, "%s, mesh %d: %s", call, mesh, name);
	result = cr_check_sweep_vertices(
		&sweep->context, field, vertices, sweep->meshes.data[mesh].vertex_count, CAROM_INVALID_ARGUMENT);
	if (result == CAROM_SUCCESS)
		cr_begin_sweep_step(sweep);
	return result;
}

carom_result carom_sweep_move_mesh(carom_sweep *sweep, int32_t mesh, const carom_strided *end)
{
	const carom_result result = begin_motion(sweep, "carom_sweep_move_mesh", mesh, "end", end);
	if (result != CAROM_SUCCESS)
		return result;
	cr_sweep_mesh *m = &sweep->meshes.data[mesh];
	m->largest_end = cr_read_sweep_vertices(end, m->vertex_count, sweep->end.data + 3 * (int64_t)m->own_first);
	return CAROM_SUCCESS;
}

carom_result cr_place_sweep_mesh(carom_sweep *sweep, const char *call, int32_t mesh, const carom_strided *vertices)
{
	const carom_result result = begin_motion(sweep, call, mesh, "vertices", vertices);
	if (result != CAROM_SUCCESS)
		return result;
	cr_sweep_mesh *m = &sweep->meshes.data[mesh];
	const int64_t at = 3 * (int64_t)m->own_first;
	cr_read_sweep_vertices(vertices, m->vertex_count, sweep->begin.data + at);
	m->largest_begin = m->largest_end = cr_read_sweep_vertices(vertices, m->vertex_count, sweep->end.data + at);
	return CAROM_SUCCESS;
}

carom_result carom_sweep_place_mesh(carom_sweep *sweep, int32_t mesh, const carom_strided *vertices)
{
	return cr_place_sweep_mesh(sweep, "carom_sweep_place_mesh", mesh, vertices);
}

cr_sweep_places cr_get_sweep_places(carom_sweep *s, int32_t mesh)
{
	cr_sweep_mesh *m = &s->meshes.data[mesh];
	const int64_t at = 3 * (int64_t)m->own_first;
	return (cr_sweep_places){ s->begin.data + at, s->end.data + at, &m->largest_begin, &m->largest_end, m->vertex_count };
}

void cr_set_sweep_verdict(carom_sweep *s, cr_sweep_verdict_fn *verdict, void *user)
{
	s->verdict = verdict;
	s->verdict_user = user;
}

carom_result cr_set_sweep_filter(
	carom_sweep *sweep, const char *call, int32_t mesh, uint64_t category, uint64_t mask, int32_t group)
{
	const carom_result result = cr_check_sweep_mesh_number(sweep, call, mesh);
	if (result != CAROM_SUCCESS)
		return result;
	sweep->hits.count = 0;
	sweep->filters.data[mesh] = (cr_sweep_filter){ category, mask, group };
	return CAROM_SUCCESS;
}

carom_result carom_sweep_set_filter(carom_sweep *sweep, int32_t mesh, uint64_t category, uint64_t mask, int32_t group)
{
	return cr_set_sweep_filter(sweep, "carom_sweep_set_filter", mesh, category, mask, group);
}

// ---- Searching ----

int32_t cr_group_of_mesh(const carom_sweep *s, int64_t mesh)
{
	const cr_sweep_mesh *m = &s->meshes.data[mesh];
	return m->is_rigid ? 0 : m->self ? -1 : (int32_t)mesh + 1;
}

static void make_groups(const carom_sweep *s, int32_t *groups)
{
	for (int64_t i = 0; i < s->triangle_numbers.count; i++) {
		const int32_t mesh = cr_mesh_of_vertex(s->mesh_vertices.data, (int32_t)s->meshes.count, s->triangles.data[3 * i]);
		groups[i] = cr_group_of_mesh(s, mesh);
	}
}

/// Where the vertices of a mesh begin the step.
static const double *begin_of(const carom_sweep *s, const cr_sweep_mesh *m)
{
	return m->own_first < 0 ? m->lent_begin : s->begin.data + 3 * (int64_t)m->own_first;
}

static const double *end_of(const carom_sweep *s, const cr_sweep_mesh *m)
{
	return m->own_first < 0 ? m->lent_end : s->end.data + 3 * (int64_t)m->own_first;
}

/// Gather where all vertices begin, as the tree's builder wants them.
static void gather_places(const carom_sweep *s, double *places)
{
	for (int64_t i = 0; i < s->meshes.count; i++) {
		const cr_sweep_mesh *m = &s->meshes.data[i];
		if (m->vertex_count > 0)
			memcpy(places + 3 * (int64_t)m->first_vertex, begin_of(s, m), 3 * (size_t)m->vertex_count * sizeof *places);
	}
}

static bool build_tree(carom_sweep *s, int32_t triangles)
{
	const size_t bytes = 3 * (size_t)vertices_of(s) * sizeof(double);
	int32_t *groups = cr_alloc_array(&s->context, (size_t)triangles, sizeof *groups);
	double *places = cr_alloc(&s->context, bytes);
	bool done = groups && places;
	if (done) {
		make_groups(s, groups);
		gather_places(s, places);
		done = cr_sweep_tree_build(&s->context, s->triangles.data, triangles, places, groups, s->def.build, &s->tree);
	}
	cr_free(&s->context, places, bytes);
	cr_free(&s->context, groups, (size_t)triangles * sizeof *groups);
	return done;
}

static bool build_scene(carom_sweep *s, int32_t triangles, int32_t vertices)
{
	const cr_sweep_order *order = &s->order;
	uint8_t *alone = cr_alloc(&s->context, (size_t)vertices);
	for (int32_t i = 0; alone && i < vertices; i++) {
		const int32_t mesh = cr_mesh_of_vertex(s->mesh_vertices.data, (int32_t)s->meshes.count, order->given_vertices[i]);
		alone[i] = !s->meshes.data[mesh].self || s->meshes.data[mesh].is_rigid;
	}
	const bool done = alone &&
		cr_sweep_scene_build(&s->context, order->corners, triangles, order->given_vertices, vertices, alone, &s->scene);
	cr_free(&s->context, alone, (size_t)vertices);
	return done;
}

/// The tree gives the order of the scene, and gets the scene.
static bool build(carom_sweep *s)
{
	const int32_t triangles = (int32_t)s->triangle_numbers.count, vertices = vertices_of(s);
	if (!build_tree(s, triangles) || !cr_sweep_order_make(&s->context, &s->tree, s->triangles.data, vertices, &s->order) ||
		!build_scene(s, triangles, vertices) || !cr_sweep_tree_attach(&s->context, &s->scene, s->def.volume, &s->tree))
		return false;
	s->scene_begin = cr_alloc(&s->context, place_bytes(s));
	s->scene_end = cr_alloc(&s->context, place_bytes(s));
	if (!s->scene_begin || !s->scene_end)
		return false;
	if (!s->taker.take)
		cr_array_free(&s->context, &s->triangles);
	return true;
}

/// The largest coordinate of a mesh at either end of the step.
static void order_places(int64_t begin, int64_t end, int worker, void *context)
{
	(void)worker;
	const carom_sweep *s = context;
	const cr_sweep_mesh *mesh = NULL;
	const double *from = NULL, *to = NULL;
	for (int64_t i = begin; i < end; i++) {
		const int32_t given = s->order.given_vertices[i];
		// Most are of the mesh of the one before.
		if (!mesh || given < mesh->first_vertex || given >= mesh->first_vertex + mesh->vertex_count) {
			mesh = &s->meshes.data[cr_mesh_of_vertex(s->mesh_vertices.data, (int32_t)s->meshes.count, given)];
			to = end_of(s, mesh);
			from = s->resting ? to : begin_of(s, mesh);
		}
		const int64_t at = 3 * (int64_t)(given - mesh->first_vertex);
		for (int k = 0; k < 3; k++) {
			s->scene_begin[3 * i + k] = from[at + k];
			s->scene_end[3 * i + k] = to[at + k];
		}
		if (s->sizes.count > 0)
			s->sizes.data[i] = (float)(largest_of(mesh) * (1 + 0x1p-20));
		if (s->halves.count > 0)
			s->halves.data[i] = 0.5 * mesh->thickness;
	}
}

/// From how many times another one's size on a mesh counts as another size: below that boxes are
/// not worth telling apart.
#define OTHER_SIZE 1024

double cr_sweep_thickness(const carom_sweep *s)
{
	double most = 0;
	for (int64_t i = 0; i < s->meshes.count; i++)
		most = fmax(most, s->meshes.data[i].thickness);
	return most;
}

/// Make room for the sizes and thicknesses of vertices where meshes differ. False when out of
/// memory.
static bool reserve_sizes(carom_sweep *s)
{
	double least = INFINITY, most = 0;
	for (int64_t i = 0; i < s->meshes.count; i++) {
		least = fmin(least, largest_of(&s->meshes.data[i]));
		most = fmax(most, largest_of(&s->meshes.data[i]));
	}
	s->sizes.count = most > OTHER_SIZE * least ? s->order.vertex_count : 0;
	s->halves.count = cr_sweep_thickness(s) > 0 ? s->order.vertex_count : 0;
	return cr_array_reserve(&s->context, &s->sizes, s->sizes.count) &&
		cr_array_reserve(&s->context, &s->halves, s->halves.count);
}

/// Make the tree and put places in order as far as that is not done. There are triangles.
static carom_result place_features(carom_sweep *s)
{
	if (!s->built && !(s->built = build(s))) {
		forget_search(s);
		return cr_fail_memory(&s->context, "the tree of a sweep");
	}
	if (s->bounded)
		return CAROM_SUCCESS;
	if (!reserve_sizes(s))
		return cr_fail_memory(&s->context, "the boxes of a sweep");
	cr_parallel_for(&s->context, order_places, s->order.vertex_count, PLACES_AT_ONCE, s);
	return CAROM_SUCCESS;
}

carom_result cr_place_at_rest(carom_sweep *s)
{
	s->bounded = false;
	s->resting = true;
	const carom_result result = place_features(s);
	s->resting = false;
	return result;
}

double cr_sweep_largest(const carom_sweep *s)
{
	double largest = 0;
	for (int64_t i = 0; i < s->meshes.count; i++)
		largest = fmax(largest, largest_of(&s->meshes.data[i]));
	return largest;
}

void cr_bound_sweep(carom_sweep *s, double until)
{
	const double separation = s->def.min_separation + cr_sweep_bulge(s);
	const cr_sweep_bounds bounds = { s->scene_begin, s->scene_end, cr_sweep_largest(s), separation, s->def.tolerance, until,
		s->sizes.count > 0 ? s->sizes.data : NULL, s->halves.count > 0 ? s->halves.data : NULL };
	cr_sweep_tree_refit(&s->context, &s->tree, &bounds);
}

void cr_fit_sweep_boxes(carom_sweep *s)
{
	if (s->built && !s->bounded)
		cr_bound_sweep(s, 1);
	s->bounded = s->built;
}

static void count_scene(carom_sweep *s)
{
	s->stats = (carom_sweep_stats){
		.vertices = vertices_of(s),
		.edges = s->built ? s->scene.edge_count : 0,
		.triangles = s->triangle_numbers.count,
		.nodes = s->built ? s->tree.node_count : 0,
		.orphans_vf = s->built ? s->scene.orphan_faces.count : 0,
		.orphans_ee = s->built ? s->scene.orphan_edges.count : 0,
		.device_fallbacks = s->device_fallbacks,
	};
}

static void count_memory(carom_sweep *s)
{
	s->stats.bytes = atomic_load(&s->context.memory_in_use);
	s->stats.bytes_peak = atomic_load(&s->context.memory_peak);
}

/// Whoever takes pairs in place of the tests begins.
static carom_result start_taker(carom_sweep *s)
{
	const bool started = !s->taker.start || s->taker.start(s->taker.user);
	return started ? CAROM_SUCCESS : cr_fail_memory(&s->context, "the pairs of a proximity scene");
}

static carom_result search_on_processor(carom_sweep *s, bool earliest, double start)
{
	const carom_result result = start_taker(s);
	if (result != CAROM_SUCCESS)
		return result;
	cr_fit_sweep_boxes(s);
	s->stats.ms_trees = cr_time_ms() - start;
	return cr_search_sweep(s, earliest) ? CAROM_SUCCESS : cr_fail_memory(&s->context, "the impacts of a sweep");
}

/// Does the processor search in the place of a device that has failed?
static bool falls_back(carom_sweep *s)
{
	leave_device(s);
	if (!s->def.device_fallback)
		return false;
	cr_log(&s->context, CAROM_LOG_WARNING, "the processor finds the %s in the device's place: %s",
		s->taker.take ? "pairs of a proximity scene" : "impacts of a sweep", carom_error_text(&s->context));
	s->device_fallbacks++;
	count_scene(s);
	return true;
}

/// Both searches: the impacts are in the lists of the workers. There are none where there are no
/// triangles.
static carom_result search(carom_sweep *s, bool earliest, double start)
{
	s->hits.count = 0;
	count_scene(s);
	carom_result result = start_taker(s);
	if (result != CAROM_SUCCESS || s->triangle_numbers.count == 0)
		return result;
	result = place_features(s);
	if (result != CAROM_SUCCESS)
		return result;
	count_scene(s);
	if (!s->def.device)
		return search_on_processor(s, earliest, start);
	s->stats.ms_trees = cr_time_ms() - start;
	result = cr_search_sweep_on_device(s, earliest);
	return result != CAROM_SUCCESS && falls_back(s) ? search_on_processor(s, earliest, start) : result;
}

/// A search succeeded: the next motion begins a new step. (After one that failed it belongs to the
/// same step.)
static void finish_search(carom_sweep *s, double start)
{
	s->searched = true;
	count_memory(s);
	s->stats.ms_total = cr_time_ms() - start;
}

/// A search for impacts succeeded, the earliest of which is at this time; infinite: there is none.
static void finish_impacts(carom_sweep *s, double earliest, double start)
{
	s->swept = true;
	s->earliest = earliest;
	finish_search(s, start);
}

carom_result cr_search_near(carom_sweep *s, double separation, cr_sweep_taker taker)
{
	const double start = cr_time_ms();
	s->bounded = s->bounded && s->def.min_separation == separation;
	s->def.min_separation = separation;
	s->taker = taker;
	const carom_result result = search(s, false, start);
	if (result == CAROM_SUCCESS)
		finish_search(s, start);
	return result;
}

carom_result cr_search_candidates(carom_sweep *s, double distance, cr_sweep_taker taker)
{
	const double start = cr_time_ms(), separation = s->def.min_separation;
	s->bounded = false;
	s->def.min_separation = distance;
	s->taker = taker;
	const carom_result result = search(s, false, start);
	s->taker = (cr_sweep_taker){ 0 };
	s->def.min_separation = separation;
	s->bounded = false;
	if (result == CAROM_SUCCESS)
		finish_search(s, start);
	return result;
}

carom_result carom_sweep_find(carom_sweep *sweep, carom_sweep_hits *hits)
{
	if (!sweep)
		return CAROM_INVALID_ARGUMENT;
	if (!hits)
		return cr_fail(&sweep->context, CAROM_INVALID_ARGUMENT, "carom_sweep_find: hits is NULL");
	*hits = (carom_sweep_hits){ 0 };
	const double start = cr_time_ms();
	carom_result result = search(sweep, false, start);
	if (result == CAROM_SUCCESS && sweep->triangle_numbers.count > 0)
		result = cr_check_found(sweep, "carom_sweep_find", "impacts");
	if (result != CAROM_SUCCESS)
		return result;
	if (sweep->triangle_numbers.count > 0) {
		const double sorting = cr_time_ms();
		if (!cr_sort_sweep_hits(sweep))
			return cr_fail_memory(&sweep->context, "the hits of a sweep");
		sweep->stats.ms_sort = cr_time_ms() - sorting;
	}
	double earliest = INFINITY;
	for (int64_t i = 0; i < sweep->hits.count; i++) {
		earliest = fmin(earliest, sweep->hits.data[i].time);
		sweep->stats.hits_vf += sweep->hits.data[i].kind == CAROM_SWEEP_VERTEX_FACE;
		sweep->stats.undecided += sweep->hits.data[i].status == CAROM_SWEEP_UNDECIDED;
	}
	sweep->stats.hits_ee = sweep->hits.count - sweep->stats.hits_vf;
	*hits = (carom_sweep_hits){ sweep->hits.data, sweep->hits.count };
	finish_impacts(sweep, earliest, start);
	return CAROM_SUCCESS;
}

/// The earliest impact that the workers found; NULL if there is none.
static const cr_sweep_impact *pick_earliest(const carom_sweep *s)
{
	const cr_sweep_impact *best = NULL;
	for (int i = 0; i < s->context.thread_count; i++) {
		for (int kind = 0; kind < 2; kind++) {
			const cr_sweep_impacts *found = &s->workers[i]->found[kind];
			if (found->count == 0)
				continue;
			const cr_sweep_impact *impact = found->data;
			if (!best || impact->time < best->time || (impact->time == best->time && cr_impact_is_before(&s->job, impact, best)))
				best = impact;
		}
	}
	return best;
}

carom_result cr_find_earliest_impact(carom_sweep *s, const cr_sweep_impact **best)
{
	const double start = cr_time_ms();
	const carom_result result = search(s, true, start);
	*best = result == CAROM_SUCCESS && s->triangle_numbers.count > 0 ? pick_earliest(s) : NULL;
	if (result != CAROM_SUCCESS)
		return result;
	if (*best) {
		s->stats.hits_vf = (*best)->kind == CR_SWEPT_VERTEX_FACE;
		s->stats.hits_ee = 1 - s->stats.hits_vf;
		s->stats.undecided = (*best)->status == CR_SWEPT_UNDECIDED;
	}
	finish_impacts(s, *best ? (*best)->time : INFINITY, start);
	return CAROM_SUCCESS;
}

carom_result carom_sweep_find_earliest(carom_sweep *sweep, carom_sweep_hit *hit, bool *found)
{
	if (!sweep)
		return CAROM_INVALID_ARGUMENT;
	if (!hit || !found)
		return cr_fail(&sweep->context, CAROM_INVALID_ARGUMENT, "carom_sweep_find_earliest: %s is NULL", hit ? "found" : "hit");
	*hit = (carom_sweep_hit){ 0 };
	const cr_sweep_impact *best;
	const carom_result result = cr_find_earliest_impact(sweep, &best);
	*found = best != NULL;
	if (best)
		*hit = cr_make_sweep_hit(sweep, best);
	return result;
}

carom_sweep_stats carom_sweep_get_stats(const carom_sweep *sweep) { return sweep ? sweep->stats : (carom_sweep_stats){ 0 }; }
