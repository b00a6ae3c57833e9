/// From pairs of leaves to impacts. See sweep/sweep_worker.h.
#include "sweep/sweep_worker.h"
#include "base/time.h"

#include <math.h>
#include <string.h>

enum {
	// Queries gathered of each kind: their lists stay in the second-level cache.
	MOST_QUERIES = 4096,
	MOST_FACES_AT_ONCE = CR_SWEEP_LEAVES * CR_MOST_VERTEX_FACE,
	MOST_EDGES_AT_ONCE = CR_SWEEP_LEAVES * CR_MOST_EDGE_EDGE,
	// Queries of one call: as many impacts may come of it.
	AT_ONCE = 512,
};

// ---- Order ----

int32_t cr_mesh_of_vertex(const int32_t *mesh_vertices, int32_t mesh_count, int32_t vertex)
{
	int32_t low = 0, high = mesh_count - 1;
	while (low < high) {
		const int32_t middle = low + (high - low + 1) / 2;
		if (mesh_vertices[middle] <= vertex)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/// The first vertex of the second feature.
static int32_t second_vertex(const cr_sweep_impact *impact)
{
	return impact->vertices[impact->kind == CR_SWEPT_VERTEX_FACE ? 1 : 2];
}

bool cr_impact_is_before(const cr_sweep_job *job, const cr_sweep_impact *a, const cr_sweep_impact *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind;
	const int32_t a0 = cr_mesh_of_vertex(job->mesh_vertices, job->mesh_count, a->vertices[0]);
	const int32_t b0 = cr_mesh_of_vertex(job->mesh_vertices, job->mesh_count, b->vertices[0]);
	if (a0 != b0)
		return a0 < b0;
	const int32_t a1 = cr_mesh_of_vertex(job->mesh_vertices, job->mesh_count, second_vertex(a));
	const int32_t b1 = cr_mesh_of_vertex(job->mesh_vertices, job->mesh_count, second_vertex(b));
	if (a1 != b1)
		return a1 < b1;
	for (int k = 0; k < 4; k++) {
		if (a->vertices[k] != b->vertices[k])
			return a->vertices[k] < b->vertices[k];
	}
	return a->triangle < b->triangle;
}

// ---- Tests ----

static cr_swept_queries make_queries(const cr_sweep_worker *w, cr_swept_kind kind)
{
	const int32_t(*vertices)[4] =
		kind == CR_SWEPT_VERTEX_FACE ? (const int32_t(*)[4])w->queries.faces : (const int32_t(*)[4])w->queries.edges;
	return (cr_swept_queries){ .kind = kind,
		.begin = w->job->begin,
		.end = w->job->end,
		.vertices = vertices,
		.halves = w->job->halves,
		.most_thickness = w->job->most_thickness };
}

static cr_sweep_impact make_impact(const cr_sweep_worker *w, const cr_swept_queries *queries, const cr_swept_impact *from)
{
	cr_sweep_impact impact = { .kind = (uint8_t)queries->kind, .status = from->status, .triangle = -1, .time = from->time };
	const cr_sweep_order *order = w->job->order;
	if (queries->kind == CR_SWEPT_VERTEX_FACE)
		impact.triangle = order->given_triangles[w->queries.face_triangle[from->query]];
	for (int k = 0; k < 4; k++)
		impact.vertices[k] = order->given_vertices[queries->vertices[from->query][k]];
	memcpy(impact.weight, from->weight, sizeof impact.weight);
	memcpy(impact.normal, from->normal, sizeof impact.normal);
	return impact;
}

// ---- Arcs ----

/// A query with the vertices of the mesh that turns. Returns false where none of its meshes does.
static bool make_arc_query(const cr_sweep_worker *w, const cr_swept_queries *queries, int64_t number, cr_arc_query *q)
{
	const cr_sweep_job *job = w->job;
	*q = (cr_arc_query){ .kind = queries->kind };
	for (int v = 0; v < 4; v++) {
		const int32_t vertex = queries->vertices[number][v], given = job->order->given_vertices[vertex];
		const int32_t mesh = cr_mesh_of_vertex(job->mesh_vertices, job->mesh_count, given);
		memcpy(q->begin[v], &job->begin[3 * (int64_t)vertex], sizeof q->begin[v]);
		memcpy(q->end[v], &job->end[3 * (int64_t)vertex], sizeof q->end[v]);
		q->number[v] = job->arcs[mesh].turns ? given - job->mesh_vertices[mesh] : -1;
		q->arc = job->arcs[mesh].turns ? &job->arcs[mesh] : q->arc;
	}
	return q->arc != NULL;
}

/// The test of a query that allowances for the bulge of arcs have not ruled out. *impact: that of
/// the wider test, which this one takes the place of.
static bool test_again(cr_sweep_worker *w, const cr_swept_queries *queries, cr_swept_impact *impact)
{
	const int64_t query = impact->query;
	cr_arc_query arc;
	cr_swept_stats counted = { 0 };
	const bool found = make_arc_query(w, queries, query, &arc)
		? cr_test_arc(&arc, &w->options, impact)
		: cr_swept_find(queries, query, 1, &w->options, impact, &counted) > 0;
	impact->query = query;
	return found;
}

static int32_t find_with_arcs(cr_sweep_worker *w, const cr_swept_queries *queries, int32_t first, int32_t count)
{
	cr_swept_options wide = w->options;
	wide.min_separation += w->job->bulge * (1 + 0x1p-40);
	const int32_t more = cr_swept_find(queries, first, count, &wide, w->impacts, &w->tests[queries->kind]);
	int32_t kept = 0;
	for (int32_t i = 0; i < more; i++) {
		cr_swept_impact impact = w->impacts[i];
		if (test_again(w, queries, &impact))
			w->impacts[kept++] = impact;
	}
	return kept;
}

// ---- All impacts, or the earliest ----

bool cr_sweep_worker_keep(cr_sweep_worker *w, const cr_swept_queries *queries, const cr_swept_impact *impacts, int32_t count)
{
	cr_sweep_impacts *found = &w->found[queries->kind];
	w->total += count;
	if (w->total > w->job->most_found)
		return true;
	if (!cr_array_reserve(w->job->context, found, found->count + count))
		return false;
	for (int32_t i = 0; i < count; i++)
		found->data[found->count++] = make_impact(w, queries, &impacts[i]);
	return true;
}

static void find_all(cr_sweep_worker *w, const cr_swept_queries *queries, int32_t first, int32_t count)
{
	const int32_t more = w->job->arcs ? find_with_arcs(w, queries, first, count)
									  : cr_swept_find(queries, first, count, &w->options, w->impacts, &w->tests[queries->kind]);
	if (!cr_sweep_worker_keep(w, queries, w->impacts, more))
		w->failed = true;
}

static double load_earliest(cr_sweep_job *job)
{
	const unsigned long long bits = atomic_load_explicit(&job->earliest_bits, memory_order_relaxed);
	double time;
	memcpy(&time, &bits, sizeof time);
	return time;
}

static void lower_earliest(cr_sweep_job *job, double time)
{
	unsigned long long bits, now = atomic_load_explicit(&job->earliest_bits, memory_order_relaxed);
	memcpy(&bits, &time, sizeof bits);
	while (bits < now && !atomic_compare_exchange_weak(&job->earliest_bits, &now, bits)) {
	}
}

/// The earliest impact so far of the worker, NULL if there is none.
static cr_sweep_impact *earliest_of(cr_sweep_worker *w)
{
	for (int kind = 0; kind < 2; kind++) {
		if (w->found[kind].count > 0)
			return &w->found[kind].data[0];
	}
	return NULL;
}

static void keep_earliest(cr_sweep_worker *w, const cr_sweep_impact *impact)
{
	const cr_sweep_impact *best = earliest_of(w);
	if (best && (impact->time > best->time || (impact->time == best->time && !cr_impact_is_before(w->job, impact, best))))
		return;
	cr_sweep_impacts *found = &w->found[impact->kind];
	if (!cr_array_reserve(w->job->context, found, 1)) {
		w->failed = true;
		return;
	}
	w->found[0].count = w->found[1].count = 0;
	found->data[found->count++] = *impact;
	lower_earliest(w->job, impact->time);
}

/// The first query to beat the bound tells the time; all that happen then are compared by the order
/// of impacts.
static void find_earliest(cr_sweep_worker *w, const cr_swept_queries *queries, int32_t first, int32_t count)
{
	cr_swept_impact best = cr_swept_no_impact();
	best.time = load_earliest(w->job);
	cr_swept_find_earliest(queries, first, count, &w->options, &best, &w->tests[queries->kind]);
	if (best.query == INT64_MAX)
		return;
	cr_swept_options until = w->options;
	until.t_max = best.time;
	cr_swept_stats again = { 0 };
	const int32_t more = cr_swept_find(queries, first, count, &until, w->impacts, &again);
	for (int32_t i = 0; i < more; i++) {
		const cr_sweep_impact impact = make_impact(w, queries, &w->impacts[i]);
		keep_earliest(w, &impact);
	}
}

/// Hand queries to who takes them in place of the swept tests.
static void hand_on(cr_sweep_worker *w, const cr_swept_queries *queries, int32_t count)
{
	w->tests[queries->kind].queries += count;
	if (count > 0 && !w->job->taker.take(w->job->taker.user, w->number, queries, w->queries.face_triangle, count))
		w->failed = true;
}

static void test_queries(cr_sweep_worker *w, cr_swept_kind kind, int32_t count)
{
	const double start = cr_time_ms();
	const cr_swept_queries queries = make_queries(w, kind);
	if (w->job->taker.take)
		hand_on(w, &queries, count);
	for (int32_t first = 0; first < count && !w->job->taker.take; first += AT_ONCE) {
		const int32_t here = count - first < AT_ONCE ? count - first : AT_ONCE;
		if (w->job->earliest)
			find_earliest(w, &queries, first, here);
		else
			find_all(w, &queries, first, here);
	}
	w->ms_tests += cr_time_ms() - start;
}

static void test_faces(cr_sweep_worker *w)
{
	test_queries(w, CR_SWEPT_VERTEX_FACE, w->queries.face_count);
	w->queries.face_count = 0;
}

static void test_edges(cr_sweep_worker *w)
{
	test_queries(w, CR_SWEPT_EDGE_EDGE, w->queries.edge_count);
	w->queries.edge_count = 0;
}

void cr_sweep_worker_add(cr_sweep_worker *w, cr_swept_kind kind, const cr_feature_pair *pair)
{
	if (kind == CR_SWEPT_VERTEX_FACE) {
		memcpy(w->queries.faces[w->queries.face_count], pair->vertices, sizeof pair->vertices);
		w->queries.face_triangle[w->queries.face_count++] = pair->b;
		if (w->queries.face_count == MOST_QUERIES)
			test_faces(w);
	} else {
		memcpy(w->queries.edges[w->queries.edge_count++], pair->vertices, sizeof pair->vertices);
		if (w->queries.edge_count == MOST_QUERIES)
			test_edges(w);
	}
}

// ---- Filters ----

/// The mesh of a vertex of the scene; most often it is the one that is guessed.
static int32_t guess_mesh(const cr_sweep_worker *w, int32_t number, int32_t guess)
{
	const cr_sweep_job *job = w->job;
	const int32_t vertex = job->order->given_vertices[number];
	if (vertex >= job->mesh_vertices[guess] && vertex < job->mesh_vertices[guess + 1])
		return guess;
	return cr_mesh_of_vertex(job->mesh_vertices, job->mesh_count, vertex);
}

static bool ask_meshes(const cr_sweep_job *job, int32_t a, int32_t b)
{
	const cr_sweep_filter *f = &job->filters[a], *g = &job->filters[b];
	const bool pass =
		f->group != 0 && f->group == g->group ? f->group > 0 : (f->category & g->mask) != 0 && (g->category & f->mask) != 0;
	return pass && (!job->verdict || job->verdict(job->verdict_user, a, b));
}

static bool do_meshes_meet(cr_sweep_worker *w, int32_t a, int32_t b)
{
	cr_mesh_verdict *known = &w->verdicts[((uint32_t)a * 31 + (uint32_t)b) % CR_SWEEP_VERDICTS];
	if (known->a != a || known->b != b)
		*known = (cr_mesh_verdict){ a, b, ask_meshes(w->job, a, b) };
	return known->meet;
}

bool cr_sweep_worker_admits(cr_sweep_worker *w, int32_t vertex_a, int32_t vertex_b)
{
	if (!w->job->filters)
		return true;
	const int32_t a = w->last_mesh[0] = guess_mesh(w, vertex_a, w->last_mesh[0]);
	const int32_t b = w->last_mesh[1] = guess_mesh(w, vertex_b, w->last_mesh[1]);
	return a == b || do_meshes_meet(w, a < b ? a : b, a < b ? b : a);
}

static int32_t corner_of_node(const cr_sweep_tree *tree, int32_t node)
{
	return tree->scene->triangles[3 * (int64_t)~tree->nodes[node].right];
}

/// Leave out the pairs of leaves whose meshes do not meet.
static void filter_leaves(cr_sweep_worker *w)
{
	cr_sweep_walk *walk = &w->walk;
	int32_t kept = 0;
	for (int32_t i = 0; i < walk->leaf_count; i++) {
		const cr_leaf_pair p = walk->leaves[i];
		if (cr_sweep_worker_admits(w, corner_of_node(walk->tree, p.nodes.a), corner_of_node(walk->tree, p.nodes.b)))
			walk->leaves[kept++] = p;
	}
	walk->leaf_count = kept;
}

// ---- Lists that a walk hands on ----

static void take_leaves(cr_sweep_walk *walk)
{
	cr_sweep_worker *w = (cr_sweep_worker *)walk;
	if (w->job->filters)
		filter_leaves(w);
	w->leaf_pairs += walk->leaf_count;
	const cr_sweep_taker *taker = &w->job->taker;
	if (taker->leaves && !taker->leaves(taker->user, w->number, walk->leaves, walk->leaf_count))
		w->failed = true;
	if (taker->leaves && !taker->take)
		return; // nobody wants features
	if (w->queries.face_count > MOST_QUERIES - MOST_FACES_AT_ONCE)
		test_faces(w);
	if (w->queries.edge_count > MOST_QUERIES - MOST_EDGES_AT_ONCE)
		test_edges(w);
	w->job->kernels->list_features(walk->tree, walk->leaves, walk->leaf_count, w->job->every, &w->queries);
}

/// Keep a block of the front that is being made, unless that is too large, or lost already. The
/// block is the list's, or empty, afterwards.
static void keep_block(cr_sweep_worker *w, cr_front_block *block)
{
	cr_sweep_job *job = w->job;
	const int64_t more = cr_front_block_bytes(block->count, block->leaf_count);
	const int64_t before = atomic_fetch_add(&job->front_bytes, more);
	block->task = w->task;
	block->order = w->order++;
	if (before + more > job->front_limit || atomic_load(&job->front_lost) || !cr_front_add(job->context, &w->blocks, block)) {
		cr_front_free_block(job->context, block);
		atomic_store(&job->front_lost, true);
		w->walk.keep_stops = false;
	}
}

static void take_stops(cr_sweep_walk *walk)
{
	cr_sweep_worker *w = (cr_sweep_worker *)walk;
	cr_front_block block;
	if (cr_front_make_block(w->job->context, walk, &block)) {
		keep_block(w, &block);
	} else {
		atomic_store(&w->job->front_lost, true);
		walk->keep_stops = false;
	}
}

static void end_task(cr_sweep_worker *w)
{
	if (w->walk.stop_count + w->walk.leaf_stop_count > 0)
		take_stops(&w->walk);
	w->walk.stop_count = w->walk.leaf_stop_count = 0;
}

void cr_sweep_worker_walk(cr_sweep_worker *w, int32_t task, cr_sweep_pair from)
{
	w->task = task;
	w->order = 0;
	w->job->kernels->walk(&w->walk, from);
	end_task(w);
}

void cr_sweep_worker_follow(cr_sweep_worker *w, int32_t task, cr_front_block *block)
{
	w->task = task;
	w->order = 1;
	w->job->kernels->follow(&w->walk, block);
	end_task(w);
	w->order = 0; // nodes that stayed come before those that were listed
	keep_block(w, block);
	*block = (cr_front_block){ 0 };
}

void cr_sweep_worker_finish(cr_sweep_worker *w)
{
	if (w->walk.leaf_count > 0)
		take_leaves(&w->walk);
	w->walk.leaf_count = 0;
	test_faces(w);
	test_edges(w);
}

// ---- Making ----

cr_sweep_worker *cr_make_sweep_worker(carom_context *context, int number)
{
	cr_sweep_worker *w = cr_alloc_zero(context, sizeof *w);
	if (!w)
		return NULL;
	w->number = number;
	w->queries.faces = cr_alloc(context, MOST_QUERIES * sizeof *w->queries.faces);
	w->queries.face_triangle = cr_alloc(context, MOST_QUERIES * sizeof *w->queries.face_triangle);
	w->queries.edges = cr_alloc(context, MOST_QUERIES * sizeof *w->queries.edges);
	w->queries.room = cr_alloc(context, CR_SWEEP_FEATURE_ROOM);
	w->impacts = cr_alloc(context, AT_ONCE * sizeof *w->impacts);
	w->boxes = cr_alloc(context, sizeof *w->boxes);
	if (w->queries.faces && w->queries.face_triangle && w->queries.edges && w->queries.room && w->impacts && w->boxes)
		return w;
	cr_free_sweep_worker(context, w);
	return NULL;
}

void cr_free_sweep_worker(carom_context *context, cr_sweep_worker *w)
{
	if (!w)
		return;
	cr_free(context, w->queries.faces, MOST_QUERIES * sizeof *w->queries.faces);
	cr_free(context, w->queries.face_triangle, MOST_QUERIES * sizeof *w->queries.face_triangle);
	cr_free(context, w->queries.edges, MOST_QUERIES * sizeof *w->queries.edges);
	cr_free(context, w->queries.room, CR_SWEEP_FEATURE_ROOM);
	cr_free(context, w->impacts, AT_ONCE * sizeof *w->impacts);
	cr_free(context, w->boxes, sizeof *w->boxes);
	for (int kind = 0; kind < 2; kind++)
		cr_array_free(context, &w->found[kind]);
	cr_front_free_blocks(context, &w->blocks);
	cr_free(context, w, sizeof *w);
}

void cr_start_sweep_worker(cr_sweep_worker *w, cr_sweep_job *job, bool keep_front)
{
	cr_sweep_walk *walk = &w->walk;
	walk->tree = job->tree;
	walk->keep_adjacent = job->every;
	walk->keep_stops = keep_front;
	walk->prune = false;
	walk->leaves_full = take_leaves;
	walk->stops_full = take_stops;
	walk->leaf_count = walk->stop_count = walk->leaf_stop_count = 0;
	walk->tests = walk->stop_total = walk->leaf_stop_total = walk->adjacent = 0;
	walk->kept = walk->sprouted = walk->replaced = walk->pruned = 0;
	walk->sampled = walk->stale = 0;
	w->job = job;
	w->options = job->options;
	w->options.boxes = w->boxes;
	w->queries.face_count = w->queries.edge_count = 0;
	w->found[0].count = w->found[1].count = w->total = 0;
	w->leaf_pairs = 0;
	w->last_mesh[0] = w->last_mesh[1] = 0;
	for (int i = 0; i < CR_SWEEP_VERDICTS; i++)
		w->verdicts[i].a = -1;
	w->tests[0] = w->tests[1] = (cr_swept_stats){ 0 };
	w->ms_tests = 0;
	w->failed = false;
}
