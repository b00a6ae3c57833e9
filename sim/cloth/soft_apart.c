// Bodies that cross are led apart. Surfaces cross along lines, and vertices are moved so that these
// lines get shorter (carom_sweep_find_ways_apart). That is done before a step begins, with places
// alone. The step itself lets no vertex pass a face and no edge an edge, so each edge crosses then
// the triangles that it crossed before: nothing is lost, and no search is needed where nothing
// crosses.
//
// Inside a sheet the ways along a line are about zero, and those of its ends have to take it along.
// So the sum of the ways along a line is added to each. A line has two sides: the surfaces A and B
// that cross there. Along it edges of A cross triangles of B, and edges of B those of A. Which of
// the two an edge belongs to is told by the segments of the line: in each of them two triangles
// cross, and both ends of the segment are crossings of these two.
#include "sim/cloth/soft_apart.h"
#include "sim/cloth/soft_topology.h"
#include "sim/base/sim_clock.h"

#include <stdlib.h>
#include <string.h>

// Times that the ways are followed before a step, and turns that hold shapes after each.
enum { MOST_LEADS = 4, HOLDING_TURNS = 3, RINGS = 4 };

// The way of a feature at most, as a part of the mean edge of the body, and as a part of how near
// the centre of a sphere may be.
static const double EDGE_PART = 0.15, CLEAR_PART = 0.5 / MOST_LEADS;
// Ways that are shorter lead nowhere.
static const double NO_WAY = 1e-6;
// A way that is longer counts as one of this length in a sum.
static const double MOST_WAY = 2;

struct soft_apart {
	carom_sweep *sweep;
	double *moves;     // [3*vertex_count]
	double *masses;    // [vertex_count] inverse, 0 of vertices that stay
	int32_t *ring;     // [vertex_count] edges from a vertex that is led, -1: far away
	int32_t *queue;    // [vertex_count]
	int32_t *led;      // [part_count] 1: vertices of the part were led before this step
	double *mean_edge; // [part_count] INFINITY of bodies that keep their form
	size_t bytes;
};

// ---- Making ----

static bool say(const sim_soft *s, sim_error *error) { return sim_fail(error, "%s", carom_error_text(s->context)); }

static bool add_part(const sim_soft *s, const soft_part *part, sim_error *error)
{
	const size_t corners = 3 * (size_t)part->triangle_count;
	int32_t *triangles = soft_alloc(s, corners * sizeof *triangles), number;
	if (!triangles)
		return sim_fail(error, "out of memory");
	for (size_t i = 0; i < corners; i++)
		triangles[i] = s->triangles[3 * (size_t)part->first_triangle + i] - part->first_vertex;
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertices = (carom_strided){ s->place + 3 * (int64_t)part->first_vertex, 0, CAROM_FLOAT64 };
	def.vertex_count = part->vertex_count;
	def.triangles = triangles;
	def.triangle_count = part->triangle_count;
	def.is_rigid = soft_keeps_form(part);
	def.self = !def.is_rigid;
	const bool added = carom_sweep_add_mesh(s->apart->sweep, &def, &number) == CAROM_SUCCESS || say(s, error);
	soft_free(s, triangles, corners * sizeof *triangles);
	return added;
}

/// The mean length of the edges of each part that deforms. mean and count [parts] are zero, and so
/// is count afterwards.
static void measure_edges(const sim_soft *s, double *mean, int32_t *count)
{
	for (int64_t k = 0; k < s->edge_count; k++) {
		const int32_t part = s->part_of[s->edges[k].vertices[0]];
		mean[part] += s->edges[k].length;
		count[part]++;
	}
	for (int32_t i = 0; i < s->part_count; i++) {
		mean[i] = count[i] > 0 && !soft_keeps_form(&s->parts[i]) ? mean[i] / (double)count[i] : INFINITY;
		count[i] = 0;
	}
}

static bool make_apart(sim_soft *s, sim_error *error)
{
	const size_t n = (size_t)s->vertex_count, parts = (size_t)s->part_count, head = (sizeof *s->apart + 63) / 64 * 64;
	const size_t bytes = head + (4 * n + parts) * sizeof(double) + (2 * n + parts) * sizeof(int32_t);
	char *memory = soft_alloc(s, bytes);
	if (!memory)
		return sim_fail(error, "out of memory");
	memset(memory, 0, bytes);
	soft_apart *a = s->apart = (soft_apart *)memory;
	a->bytes = bytes;
	a->moves = (double *)(memory + head);
	a->masses = a->moves + 3 * n;
	a->mean_edge = a->masses + n;
	a->ring = (int32_t *)(a->mean_edge + parts);
	a->queue = a->ring + n;
	a->led = a->queue + n;
	measure_edges(s, a->mean_edge, a->led);
	bool made = carom_create_sweep(s->context, NULL, &a->sweep) == CAROM_SUCCESS || say(s, error);
	for (int32_t i = 0; i < s->part_count && made; i++)
		made = add_part(s, &s->parts[i], error);
	if (!made)
		soft_destroy_apart(s);
	return made;
}

void soft_destroy_apart(sim_soft *s)
{
	if (!s->apart)
		return;
	carom_destroy_sweep(s->apart->sweep);
	soft_free(s, s->apart, s->apart->bytes);
	s->apart = NULL;
}

// ---- Looking ----

/// Tell the search where all vertices are.
static bool place_parts(sim_soft *s, sim_error *error)
{
	if (!s->apart && !make_apart(s, error))
		return false;
	for (int32_t i = 0; i < s->part_count; i++) {
		const carom_strided at = { s->place + 3 * (int64_t)s->parts[i].first_vertex, 0, CAROM_FLOAT64 };
		if (!s->parts[i].rests && carom_sweep_place_mesh(s->apart->sweep, i, &at) != CAROM_SUCCESS)
			return sim_fail(error, "body \"%s\": %s", s->parts[i].name, carom_error_text(s->context));
	}
	return true;
}

/// The vertices of a crossing: the two of its edge, then the three of its triangle.
static void get_vertices(const sim_soft *s, const carom_sweep_crossing *c, int32_t vertices[5])
{
	const soft_part *a = &s->parts[c->mesh_a], *b = &s->parts[c->mesh_b];
	for (int i = 0; i < 2; i++)
		vertices[i] = a->first_vertex + c->vertices[i];
	memcpy(vertices + 2, s->triangles + 3 * (int64_t)(b->first_triangle + c->triangle), 3 * sizeof *vertices);
}

/// Does nothing lead the two apart, since neither may move?
static bool is_stuck(const sim_soft *s, const carom_sweep_crossing *c)
{
	int32_t v[5];
	bool moves = false;
	get_vertices(s, c, v);
	for (int i = 0; i < 5; i++)
		moves = moves || (!soft_keeps_form(&s->parts[i < 2 ? c->mesh_a : c->mesh_b]) && s->inverse_mass[v[i]] > 0);
	return !moves;
}

bool soft_count_crossings(sim_soft *s, int64_t *count, int32_t stuck[2], sim_error *error)
{
	carom_sweep_crossings crossings;
	if (!place_parts(s, error))
		return false;
	if (carom_sweep_find_crossings(s->apart->sweep, &crossings) != CAROM_SUCCESS)
		return say(s, error);
	*count = crossings.count;
	for (int64_t i = crossings.count; i-- > 0 && stuck;) {
		if (!is_stuck(s, &crossings.data[i]))
			continue;
		stuck[0] = crossings.data[i].mesh_a;
		stuck[1] = crossings.data[i].mesh_b;
	}
	return true;
}

// ---- Lines ----

/// One of two triangles has an edge that crosses the other one.
typedef struct line_end {
	int32_t low, high; // the triangles
	int32_t crossing;
	bool of_low; // the edge is of the triangle low
} line_end;

typedef struct line_ends {
	line_end *data;
	int64_t count, capacity;
} line_ends;

/// A crossing in the forest of the crossings along one line.
typedef struct line_node {
	int32_t parent;
	bool turned;   // its edge is of the other surface than that of the parent
	double sum[3]; // of roots: how the surface of its edge should move against the other one
} line_node;

static int compare_ends(const void *a, const void *b)
{
	const line_end *p = a, *q = b;
	if (p->low != q->low)
		return p->low < q->low ? -1 : 1;
	if (p->high != q->high)
		return p->high < q->high ? -1 : 1;
	return (p->crossing > q->crossing) - (p->crossing < q->crossing);
}

static bool add_end(const sim_soft *s, line_ends *ends, line_end end)
{
	if (ends->count == ends->capacity) {
		const int64_t capacity = 2 * ends->capacity + 256;
		line_end *larger = soft_alloc(s, (size_t)capacity * sizeof *larger);
		if (!larger)
			return false;
		if (ends->count > 0)
			memcpy(larger, ends->data, (size_t)ends->count * sizeof *larger);
		soft_free(s, ends->data, (size_t)ends->capacity * sizeof *larger);
		*ends = (line_ends){ larger, ends->count, capacity };
	}
	ends->data[ends->count++] = end;
	return true;
}

/// The ends of segments, in the order of their triangles. False when memory is short.
static bool list_ends(const sim_soft *s, carom_sweep_ways_apart ways, line_ends *ends)
{
	for (int32_t i = 0; i < (int32_t)ways.count; i++) {
		const carom_sweep_crossing *c = &ways.data[i].crossing;
		const int32_t other = s->parts[c->mesh_b].first_triangle + c->triangle;
		int32_t v[5];
		get_vertices(s, c, v);
		for (int64_t k = s->around_first[v[0]]; k < s->around_first[v[0] + 1]; k++) {
			const int32_t own = s->around[k];
			const line_end end = { own < other ? own : other, own < other ? other : own, i, own < other };
			if (soft_has_corner(s->triangles + 3 * (int64_t)own, v[1]) && !add_end(s, ends, end))
				return false;
		}
	}
	if (ends->count > 1)
		qsort(ends->data, (size_t)ends->count, sizeof *ends->data, compare_ends);
	return true;
}

/// The root of the line of a crossing. *turned: its edge is of the other surface than that of the
/// root.
static int32_t find_line(const line_node *nodes, int32_t i, bool *turned)
{
	*turned = false;
	while (nodes[i].parent != i) {
		*turned = *turned != nodes[i].turned;
		i = nodes[i].parent;
	}
	return i;
}

/// Join the crossings of each two triangles to lines.
static void join_lines(const line_ends *ends, line_node *nodes, int32_t count)
{
	for (int32_t i = 0; i < count; i++)
		nodes[i] = (line_node){ .parent = i };
	for (int64_t i = 1; i < ends->count; i++) {
		const line_end *p = &ends->data[i - 1], *q = &ends->data[i];
		if (p->low != q->low || p->high != q->high)
			continue;
		bool of_p, of_q;
		const int32_t a = find_line(nodes, p->crossing, &of_p), b = find_line(nodes, q->crossing, &of_q);
		if (a == b)
			continue;
		const int32_t from = a > b ? a : b, to = a > b ? b : a;
		nodes[from].turned = (p->of_low != q->of_low) != (of_p != of_q);
		nodes[from].parent = to;
	}
	// Each one right below its root: of a forest whose roots have the lowest numbers.
	for (int32_t i = 0; i < count; i++) {
		bool turned;
		const int32_t root = find_line(nodes, i, &turned);
		nodes[i].parent = root;
		nodes[i].turned = turned;
	}
}

/// How the edge of a way should move against its triangle.
static void way_of(const carom_sweep_way_apart *w, double most, double way[3])
{
	for (int k = 0; k < 3; k++)
		way[k] = w->edge_way[k] - w->triangle_way[k];
	const double length = sqrt(soft_dot(way, way));
	for (int k = 0; k < 3 && length > most; k++)
		way[k] *= most / length;
}

/// The unit normal of a triangle.
static void normal_of(const sim_soft *s, const int32_t corners[3], double normal[3])
{
	const double *a = s->place + 3 * (int64_t)corners[0], *b = s->place + 3 * (int64_t)corners[1],
				 *c = s->place + 3 * (int64_t)corners[2];
	const double d[3] = { b[0] - a[0], b[1] - a[1], b[2] - a[2] }, e[3] = { c[0] - a[0], c[1] - a[1], c[2] - a[2] };
	soft_cross(d, e, normal);
	const double length = sqrt(soft_dot(normal, normal));
	for (int k = 0; k < 3 && length > 0; k++)
		normal[k] /= length;
}

/// Is a part a surface that has no inside?
static bool is_open(const sim_soft *s, int32_t part) { return s->parts[part].kind == SIM_SOFT_CLOTH; }

static void add_centre(const sim_soft *s, int32_t part, double factor, double sum[3])
{
	const soft_part *p = &s->parts[part];
	for (int64_t i = p->first_vertex; i < p->first_vertex + p->vertex_count; i++) {
		for (int k = 0; k < 3; k++)
			sum[k] += factor / p->vertex_count * s->place[3 * i + k];
	}
}

/// Two sheets whose lines run from border to border have hardly a way that makes these shorter. So
/// each one of two goes to the side of the other on which most of it lies, by the normals along the
/// lines. Crossings from first to end are those of edges of one part and triangles of another one.
/// Returns how far the first part is on the side of the normals, in metres.
static double side_of(const sim_soft *s, carom_sweep_ways_apart ways, int64_t first, int64_t end)
{
	const carom_sweep_crossing *c = &ways.data[first].crossing;
	double apart[3] = { 0, 0, 0 }, mean[3] = { 0, 0, 0 };
	add_centre(s, c->mesh_a, 1, apart);
	add_centre(s, c->mesh_b, -1, apart);
	for (int64_t i = first; i < end; i++) {
		double normal[3];
		int32_t v[5];
		get_vertices(s, &ways.data[i].crossing, v);
		normal_of(s, v + 2, normal);
		for (int k = 0; k < 3; k++)
			mean[k] += normal[k] / (double)(end - first);
	}
	return soft_dot(apart, mean);
}

static void add_sides(const sim_soft *s, carom_sweep_ways_apart ways, line_node *nodes)
{
	for (int64_t first = 0, end; first < ways.count; first = end) {
		const int32_t a = ways.data[first].crossing.mesh_a, b = ways.data[first].crossing.mesh_b;
		for (end = first + 1; end < ways.count && ways.data[end].crossing.mesh_a == a && ways.data[end].crossing.mesh_b == b;)
			end++;
		if (a == b || !is_open(s, a) || !is_open(s, b))
			continue;
		const double side = side_of(s, ways, first, end), weight = side / (fabs(side) + s->apart->mean_edge[b]);
		for (int64_t i = first; i < end; i++) {
			double normal[3];
			int32_t v[5];
			get_vertices(s, &ways.data[i].crossing, v);
			normal_of(s, v + 2, normal);
			for (int k = 0; k < 3; k++)
				nodes[nodes[i].parent].sum[k] += (nodes[i].turned ? -weight : weight) * normal[k];
		}
	}
}

/// The sum of ways along each line. Where that is nothing, as of two sheets that lie in one plane,
/// or cross as a plus sign does, one surface goes along the normal of the other one.
static void sum_lines(const sim_soft *s, carom_sweep_ways_apart ways, line_node *nodes)
{
	for (int32_t i = 0; i < (int32_t)ways.count; i++) {
		double way[3];
		way_of(&ways.data[i], MOST_WAY, way);
		for (int k = 0; k < 3; k++)
			nodes[nodes[i].parent].sum[k] += nodes[i].turned ? -way[k] : way[k];
	}
	add_sides(s, ways, nodes);
	for (int32_t i = 0; i < (int32_t)ways.count; i++) {
		int32_t v[5];
		get_vertices(s, &ways.data[i].crossing, v);
		if (nodes[i].parent == i && sqrt(soft_dot(nodes[i].sum, nodes[i].sum)) < NO_WAY)
			normal_of(s, v + 2, nodes[i].sum);
	}
}

// ---- Leading ----

/// Add the moves of the five vertices of a way.
static void add_moves(const sim_soft *s, const carom_sweep_way_apart *w, const line_node *nodes, int32_t number, double clear)
{
	const soft_apart *a = s->apart;
	const line_node *node = &nodes[number];
	const double *sum = nodes[node->parent].sum;
	const double weights[5] = { 1 - w->along, w->along, -w->weights[0], -w->weights[1], -w->weights[2] };
	double way[3], square = 0;
	int32_t v[5];
	get_vertices(s, &w->crossing, v);
	way_of(w, INFINITY, way);
	for (int k = 0; k < 3; k++)
		way[k] += node->turned ? -sum[k] : sum[k];
	for (int i = 0; i < 5; i++)
		square += weights[i] * weights[i] * a->masses[v[i]];
	const double edge = fmin(a->mean_edge[w->crossing.mesh_a], a->mean_edge[w->crossing.mesh_b]);
	const double most = fmin(EDGE_PART * edge, clear);
	if (!(square > 0) || !(most < INFINITY))
		return;
	const double by = most / (square * sqrt(soft_dot(way, way) + 1));
	for (int i = 0; i < 5; i++) {
		for (int k = 0; k < 3; k++)
			a->moves[3 * (int64_t)v[i] + k] += by * weights[i] * a->masses[v[i]] * way[k];
	}
}

/// Move vertices by at most a part of an edge.
static void move_vertices(sim_soft *s, double clear)
{
	for (int32_t i = 0; i < s->vertex_count; i++) {
		const double *move = s->apart->moves + 3 * (int64_t)i;
		const double length = sqrt(soft_dot(move, move)), most = fmin(EDGE_PART * s->apart->mean_edge[s->part_of[i]], clear);
		const double part = length > most ? most / length : 1;
		s->apart->ring[i] = length > 0 ? 0 : -1;
		for (int k = 0; k < 3 && length > 0; k++)
			s->place[3 * (int64_t)i + k] += part * move[k];
	}
}

/// Number the vertices around those that are led, edge by edge.
static void number_rings(const sim_soft *s)
{
	int32_t *ring = s->apart->ring, *queue = s->apart->queue, filled = 0;
	for (int32_t i = 0; i < s->vertex_count; i++) {
		if (ring[i] == 0)
			queue[filled++] = i;
	}
	for (int32_t next = 0; next < filled && ring[queue[next]] < RINGS; next++) {
		const int32_t v = queue[next];
		for (int64_t k = s->around_first[v]; k < s->around_first[v + 1]; k++) {
			for (int c = 0; c < 3; c++) {
				const int32_t other = s->triangles[3 * (int64_t)s->around[k] + c];
				if (ring[other] >= 0)
					continue;
				ring[other] = ring[v] + 1;
				queue[filled++] = other;
			}
		}
	}
}

/// Inverse masses of vertices that may be led: those of solids stay.
static void list_masses(const sim_soft *s, bool near_alone)
{
	for (int32_t i = 0; i < s->vertex_count; i++) {
		const bool stays = s->parts[s->part_of[i]].kind == SIM_SOFT_SOLID || (near_alone && s->apart->ring[i] < 0);
		s->apart->masses[i] = stays ? 0 : s->inverse_mass[i];
	}
}

/// Take up bends and stretches of leading, near the lines alone: elsewhere something may lie
/// upon the surface.
static void hold_shapes(sim_soft *s)
{
	double *own = s->inverse_mass;
	number_rings(s);
	list_masses(s, true);
	s->inverse_mass = s->apart->masses;
	for (int turn = 0; turn < HOLDING_TURNS; turn++)
		soft_hold_shapes(s, s->def.time_step / s->def.substeps);
	s->inverse_mass = own;
	for (int32_t i = 0; i < s->vertex_count; i++)
		s->apart->led[s->part_of[i]] |= s->apart->ring[i] >= 0;
}

/// Keep each vertex so near to where the step before left it.
static void limit_ways(sim_soft *s, double most)
{
	for (int64_t i = 0; i < s->vertex_count && most < INFINITY; i++) {
		double *p = s->place + 3 * i;
		const double *q = s->committed + 3 * i, way[3] = { p[0] - q[0], p[1] - q[1], p[2] - q[2] };
		const double length = sqrt(soft_dot(way, way));
		for (int k = 0; k < 3 && length > most; k++)
			p[k] = q[k] + most / length * way[k];
	}
}

/// Follow the ways once. False when memory is short.
static bool follow(sim_soft *s, carom_sweep_ways_apart ways, double clear)
{
	line_ends ends = { 0 };
	line_node *nodes = soft_alloc(s, (size_t)ways.count * sizeof *nodes);
	const bool done = nodes && list_ends(s, ways, &ends);
	if (done) {
		join_lines(&ends, nodes, (int32_t)ways.count);
		sum_lines(s, ways, nodes);
		list_masses(s, false);
		memset(s->apart->moves, 0, (size_t)s->vertex_count * 3 * sizeof *s->apart->moves);
		for (int32_t i = 0; i < (int32_t)ways.count; i++)
			add_moves(s, &ways.data[i], nodes, i, clear);
		move_vertices(s, clear);
		hold_shapes(s);
	}
	soft_free(s, ends.data, (size_t)ends.capacity * sizeof *ends.data);
	soft_free(s, nodes, (size_t)ways.count * sizeof *nodes);
	return done;
}

bool soft_lead_apart(sim_soft *s, sim_error *error)
{
	const double start = sim_now_ms(), clear = CLEAR_PART * soft_clear_of_spheres(s);
	carom_sweep_ways_apart ways = { 0 };
	bool done = place_parts(s, error);
	if (done)
		memset(s->apart->led, 0, (size_t)s->part_count * sizeof *s->apart->led);
	for (int lead = 0; done; lead++) {
		if (carom_sweep_find_ways_apart(s->apart->sweep, &ways) != CAROM_SUCCESS)
			done = say(s, error);
		if (!done || ways.count == 0 || lead == MOST_LEADS)
			break;
		s->step.leads++;
		done = follow(s, ways, clear) || sim_fail(error, "out of memory");
		limit_ways(s, s->step.leads * clear);
		done = done && place_parts(s, error);
	}
	s->step.crossings = ways.count;
	s->step.ms_detection += sim_now_ms() - start;
	return done;
}

/// Shorten the velocities of a body so that it has no more energy of motion than it began the step
/// with, and the velocity that gravity has given.
static void calm_part(sim_soft *s, const soft_part *part)
{
	double before = 0, now = 0, given = 0;
	for (int64_t i = part->first_vertex; i < part->first_vertex + part->vertex_count; i++) {
		const double mass = s->inverse_mass[i] > 0 ? 1 / s->inverse_mass[i] : 0;
		const double *u = s->committed_velocity + 3 * i, *v = s->velocity + 3 * i;
		before += 0.5 * mass * soft_dot(u, u);
		now += 0.5 * mass * soft_dot(v, v);
		for (int k = 0; k < 3; k++)
			given += 0.5 * mass * s->def.time_step * s->def.gravity[k] * (u[k] + v[k]);
	}
	const double allowed = fmax(before + given, 0), scale = now > allowed ? sqrt(allowed / now) : 1;
	for (int64_t i = part->first_vertex; i < part->first_vertex + part->vertex_count; i++) {
		for (int k = 0; k < 3 && s->inverse_mass[i] > 0; k++)
			s->velocity[3 * i + k] *= scale;
	}
}

void soft_calm_led(sim_soft *s)
{
	for (int32_t i = 0; i < s->part_count; i++) {
		if (s->apart->led[i] && !soft_keeps_form(&s->parts[i]))
			calm_part(s, &s->parts[i]);
	}
}
