// Cloth that tears (Mueller, Heidelberger, Hennix and Ratcliff, Position Based Dynamics, 2007,
// 4.4): where an edge is stretched beyond what the cloth bears, one of its ends is split by the
// plane through it that is perpendicular to the edge. The triangles on either side that hang
// together keep a vertex of their own. So a tear goes along edges, across the pull, and from vertex
// to vertex; no triangle is added or removed.
//
// Vertices come from spare ones behind those of their body. Each step begins with the tears that
// its places ask for, so what is torn is a function of the state. All that depends on triangles is
// made again from the places at the start, as in a simulation that goes on from a checkpoint.
// Detectors take the new mesh under their bodies (carom_world_set_mesh).
//
// The lips of a tear begin a little apart, each moved towards its own triangles. Where that would
// make anything cross, the step tears nothing.
#include "sim/cloth/soft_tear.h"

#include "sim/cloth/soft_apart.h"
#include "sim/cloth/soft_topology.h"

#include <string.h>

// Lips begin so far from where they were: at most this part of the thickness, and of an edge.
static const double LIP_OF_THICKNESS = 0.05, LIP_OF_EDGE = 0.02;

enum {
	MOST_TEARS = 32, // vertices of a body that are split in a step
	MOST_AROUND = 64,
	SPARE_VERTICES = 64, // besides as many as there are
};

int32_t soft_spare_vertices(const sim_soft_body *body)
{
	if (!(body->tear_stretch > 0))
		return 0;
	const int64_t most = 3 * (int64_t)body->triangle_count - body->vertex_count;
	const int64_t spare = (int64_t)body->vertex_count + SPARE_VERTICES;
	return (int32_t)(most < spare ? (most > 0 ? most : 0) : spare);
}

void soft_lay_up_spares(sim_soft *s, const soft_part *part)
{
	const int32_t first = part->first_vertex + part->vertex_count;
	for (int32_t v = first; v < part->first_vertex + part->vertex_room; v++) {
		memcpy(s->place + 3 * (int64_t)v, s->place + 3 * (int64_t)part->first_vertex, 3 * sizeof *s->place);
		s->part_of[v] = s->part_of[part->first_vertex];
		s->carrier[v] = SIM_SOFT_PINNED;
		if (s->break_count > 0)
			s->pin_of[v] = -1;
		if (!s->lets_go)
			continue;
		s->until[v] = INFINITY;
		s->holder[v] = SIM_SOFT_FREE;
	}
}

/// A spare vertex becomes a twin of another one.
static void wake_spare(sim_soft *s, int32_t vertex, int32_t twin)
{
	const int64_t v = vertex, t = twin;
	s->torn_from[v] = twin;
	s->carrier[v] = SIM_SOFT_FREE;
	memcpy(s->rest + 3 * v, s->rest + 3 * t, 3 * sizeof *s->rest);
	memcpy(s->committed + 3 * v, s->committed + 3 * t, 3 * sizeof *s->committed);
	memcpy(s->committed_velocity + 3 * v, s->committed_velocity + 3 * t, 3 * sizeof *s->committed_velocity);
}

// ---- The triangles around a vertex ----

typedef struct fan {
	int32_t vertex, count, pieces;
	int32_t triangles[MOST_AROUND];
	int piece[MOST_AROUND];
	bool above[MOST_AROUND];
	double middle[MOST_AROUND][3]; // from the vertex
} fan;

/// Have two triangles of a fan an edge at its vertex in common?
static bool hang_together(const sim_soft *s, const fan *f, int i, int k)
{
	const int32_t *a = s->triangles + 3 * (int64_t)f->triangles[i], *b = s->triangles + 3 * (int64_t)f->triangles[k];
	for (int c = 0; c < 3; c++) {
		if (a[c] != f->vertex && soft_has_corner(b, a[c]))
			return true;
	}
	return false;
}

static bool take_fan(const sim_soft *s, int32_t vertex, fan *f)
{
	const int64_t count = s->around_first[vertex + 1] - s->around_first[vertex];
	f->vertex = vertex;
	f->count = (int32_t)count;
	if (count > MOST_AROUND)
		return false;
	for (int i = 0; i < f->count; i++) {
		f->triangles[i] = s->around[s->around_first[vertex] + i];
		const int32_t *corners = s->triangles + 3 * (int64_t)f->triangles[i];
		for (int k = 0; k < 3; k++) {
			double sum = 0;
			for (int c = 0; c < 3; c++)
				sum += s->committed[3 * (int64_t)corners[c] + k];
			f->middle[i][k] = sum / 3 - s->committed[3 * (int64_t)vertex + k];
		}
	}
	return true;
}

/// Divide the fan by a side of each triangle, above or not, into what hangs together. False where
/// all lies on one side.
static bool divide(const sim_soft *s, fan *f)
{
	int stack[MOST_AROUND], above = 0;
	f->pieces = 0;
	for (int i = 0; i < f->count; i++) {
		f->piece[i] = -1;
		above += f->above[i];
	}
	for (int i = 0; i < f->count; i++) {
		if (f->piece[i] >= 0)
			continue;
		int height = 0;
		f->piece[i] = f->pieces;
		stack[height++] = i;
		while (height > 0) {
			const int at = stack[--height];
			for (int k = 0; k < f->count; k++) {
				if (f->piece[k] >= 0 || f->above[k] != f->above[at] || !hang_together(s, f, at, k))
					continue;
				f->piece[k] = f->pieces;
				stack[height++] = k;
			}
		}
		f->pieces++;
	}
	return above > 0 && above < f->count;
}

/// Divide the fan by the plane across an edge to another vertex.
static bool divide_by_plane(const sim_soft *s, fan *f, int32_t other)
{
	double normal[3];
	for (int k = 0; k < 3; k++)
		normal[k] = s->committed[3 * (int64_t)other + k] - s->committed[3 * (int64_t)f->vertex + k];
	for (int i = 0; i < f->count; i++)
		f->above[i] = soft_dot(f->middle[i], normal) > 0;
	return divide(s, f);
}

/// Where all lies ahead, as at the rims of narrow strips: triangles with the edge on one side.
static bool divide_by_edge(const sim_soft *s, fan *f, int32_t other)
{
	for (int i = 0; i < f->count; i++)
		f->above[i] = soft_has_corner(s->triangles + 3 * (int64_t)f->triangles[i], other);
	return divide(s, f);
}

/// Is the vertex at a border: does a neighbour of it share one triangle alone?
static bool is_at_border(const sim_soft *s, const fan *f)
{
	for (int i = 0; i < f->count; i++) {
		const int32_t *corners = s->triangles + 3 * (int64_t)f->triangles[i];
		for (int c = 0; c < 3; c++) {
			int count = 0;
			for (int k = 0; k < f->count; k++)
				count += soft_has_corner(s->triangles + 3 * (int64_t)f->triangles[k], corners[c]);
			if (count == 1)
				return true;
		}
	}
	return false;
}

// ---- Splitting ----

static double shortest_edge(const sim_soft *s, const fan *f)
{
	double least = INFINITY;
	for (int i = 0; i < 3 * f->count; i++) {
		const int32_t v = s->triangles[3 * (int64_t)f->triangles[i / 3] + i % 3];
		const double *a = s->committed + 3 * (int64_t)v, *b = s->committed + 3 * (int64_t)f->vertex;
		const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
		least = v == f->vertex ? least : fmin(least, soft_dot(d, d));
	}
	return sqrt(least);
}

/// Move the vertex of a piece towards the triangles of the piece.
static void open_lip(const sim_soft *s, const fan *f, int piece, int32_t vertex, double way)
{
	double to[3] = { 0, 0, 0 };
	for (int i = 0; i < f->count; i++) {
		for (int k = 0; k < 3 && f->piece[i] == piece; k++)
			to[k] += f->middle[i][k];
	}
	const double length = sqrt(soft_dot(to, to));
	for (int k = 0; k < 3 && length > 0; k++)
		s->committed[3 * (int64_t)vertex + k] += way * to[k] / length;
}

static void lock_fan(const sim_soft *s, const fan *f, int32_t *locked)
{
	for (int i = 0; i < 3 * f->count; i++)
		locked[s->triangles[3 * (int64_t)f->triangles[i / 3] + i % 3]] = 1;
}

/// Give each piece but the first one a vertex of its own.
static void split(sim_soft *s, soft_part *part, const fan *f, int32_t *locked)
{
	const double way = fmin(LIP_OF_THICKNESS * s->def.thickness, LIP_OF_EDGE * shortest_edge(s, f));
	const int32_t first = part->first_vertex + part->vertex_count - 1;
	lock_fan(s, f, locked);
	for (int p = 1; p < f->pieces; p++) {
		wake_spare(s, first + p, f->vertex);
		locked[first + p] = 1;
	}
	for (int p = 0; p < f->pieces; p++)
		open_lip(s, f, p, p == 0 ? f->vertex : first + p, way);
	for (int i = 0; i < f->count; i++) {
		int32_t *corners = s->triangles + 3 * (int64_t)f->triangles[i];
		for (int c = 0; c < 3 && f->piece[i] > 0; c++)
			corners[c] = corners[c] == f->vertex ? first + f->piece[i] : corners[c];
	}
	part->vertex_count += f->pieces - 1;
}

typedef bool divide_fn(const sim_soft *s, fan *f, int32_t other);

/// Can this end of an edge be split? The fan is divided then.
static bool can_split(const sim_soft *s, const soft_part *part, int32_t end, int32_t other, divide_fn *by, fan *f)
{
	return s->carrier[end] == SIM_SOFT_FREE && take_fan(s, end, f) && by(s, f, other) &&
		part->vertex_count + f->pieces - 1 <= part->vertex_room;
}

/// A tear goes on rather than another one begins: an end at a border goes first.
static bool tear_edge(sim_soft *s, soft_part *part, const int32_t ends[2], int32_t *locked)
{
	divide_fn *const ways[] = { divide_by_plane, divide_by_edge };
	for (int i = 0; i < 2; i++) {
		fan fans[2];
		const bool first = can_split(s, part, ends[0], ends[1], ways[i], &fans[0]);
		const bool second = can_split(s, part, ends[1], ends[0], ways[i], &fans[1]);
		if (!first && !second)
			continue;
		const bool goes_on = first && second && is_at_border(s, &fans[1]) && !is_at_border(s, &fans[0]);
		split(s, part, &fans[!first || goes_on], locked);
		return true;
	}
	return false;
}

// ---- A step's tears ----

/// The edge that is stretched most of those without a vertex that is locked; -1: none is too long.
static int64_t find_worst(const sim_soft *s, const int32_t *locked, const int32_t *tears)
{
	double most = 1;
	int64_t worst = -1;
	for (int64_t i = 0; i < s->edge_count; i++) {
		const soft_edge *e = &s->edges[i];
		const int32_t number = s->part_of[e->vertices[0]];
		const double bears = 1 + s->parts[number].tear_stretch;
		if (bears == 1 || locked[e->vertices[0]] || locked[e->vertices[1]] || tears[number] == MOST_TEARS)
			continue;
		const double *a = s->committed + 3 * (int64_t)e->vertices[0], *b = s->committed + 3 * (int64_t)e->vertices[1];
		const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] }, square = soft_dot(d, d) / (e->length * e->length);
		if (!(square > bears * bears) || !(square > most))
			continue;
		most = square;
		worst = i;
	}
	return worst;
}

/// Split vertices until no edge asks for it, or enough are. Returns how many were.
static int32_t tear_all(sim_soft *s)
{
	int32_t *locked = s->zone, *tears = s->zone_anchor, count = 0; // scratch
	memset(locked, 0, (size_t)s->vertex_count * sizeof *locked);
	memset(tears, 0, (size_t)s->vertex_count * sizeof *tears);
	for (int64_t at = find_worst(s, locked, tears); at >= 0; at = find_worst(s, locked, tears)) {
		const int32_t *ends = s->edges[at].vertices, number = s->part_of[ends[0]];
		const bool torn = tear_edge(s, &s->parts[number], ends, locked);
		locked[ends[0]] = locked[ends[1]] = 1;
		tears[number] += torn;
		count += torn;
	}
	return count;
}

/// Put all back as it was.
static void mend_all(sim_soft *s)
{
	memcpy(s->committed, s->begin, (size_t)s->vertex_count * 3 * sizeof *s->committed);
	for (int32_t i = 0; i < s->part_count; i++) {
		soft_part *part = &s->parts[i];
		const int32_t end = part->first_vertex + part->whole_count;
		for (int64_t k = 3 * (int64_t)part->first_triangle; k < 3 * (int64_t)(part->first_triangle + part->triangle_count);
			 k++) {
			while (part->tear_stretch > 0 && s->triangles[k] >= end)
				s->triangles[k] = s->torn_from[s->triangles[k]];
		}
		for (int32_t v = end; v < part->first_vertex + part->vertex_count && part->tear_stretch > 0; v++) {
			s->carrier[v] = SIM_SOFT_PINNED;
			memset(s->committed_velocity + 3 * (int64_t)v, 0, 3 * sizeof *s->committed_velocity);
		}
		part->vertex_count = part->tear_stretch > 0 ? part->whole_count : part->vertex_count;
	}
}

// ---- All that depends on triangles ----

/// The inverse masses of a part that tears, from the places at the start.
static void weigh(sim_soft *s, const soft_part *part, double *inverse)
{
	soft_weigh_part(s, part, s->bodies[part - s->parts].density, inverse);
	for (int32_t v = part->first_vertex; v < part->first_vertex + part->vertex_count; v++)
		inverse[v] = soft_is_held_for_good(s, v) ? 0 : 1 / inverse[v];
}

/// Constraints and their colours, at the places of the start.
static bool connect_all(sim_soft *s)
{
	double *inverse = s->lets_go ? s->let_go_mass : s->inverse_mass;
	bool closed, connected = true;
	s->edge_count = s->hinge_count = 0;
	for (int32_t i = 0; i < s->part_count && connected; i++) {
		if (soft_keeps_form(&s->parts[i]))
			continue;
		connected = soft_connect_part(s, &s->parts[i], &s->bodies[i], &closed);
		if (s->parts[i].tear_stretch > 0)
			weigh(s, &s->parts[i], inverse);
	}
	if (s->lets_go)
		memcpy(s->inverse_mass, inverse, (size_t)s->vertex_count * sizeof *inverse);
	connected = connected && soft_color_shapes(s);
	soft_hold_masses(s);
	return connected;
}

static bool make_again(sim_soft *s, sim_error *error)
{
	double *now = s->place;
	soft_list_around(s);
	s->place = s->rest;
	bool made = connect_all(s) || sim_fail(error, "out of memory");
	s->place = s->committed;
	made = made && soft_change_meshes(s, s->rest_detector, error) && soft_change_meshes(s, s->near_detector, error) &&
		soft_change_meshes(s, s->sure_detector, error);
	s->place = now;
	if (!made)
		return false;
	soft_list_pulls(s);
	soft_destroy_apart(s);
	s->contacts.count = s->found.count = 0;
	if (!soft_change_search(s, error))
		return false;
	s->half_torn = s->read_torn = false;
	return true;
}

bool soft_tear(sim_soft *s, sim_error *error)
{
	if (!s->tears)
		return true;
	if (s->half_torn) // the step is tried again
		return make_again(s, error);
	if (s->read_torn && !make_again(s, error))
		return false;
	for (int32_t i = 0; i < s->part_count; i++)
		s->parts[i].whole_count = s->parts[i].vertex_count;
	memcpy(s->begin, s->committed, (size_t)s->vertex_count * 3 * sizeof *s->begin);
	const int32_t count = tear_all(s);
	if (count == 0)
		return true;
	int32_t crossings = 0;
	if (!sim_soft_count_crossings(s, &crossings)) {
		mend_all(s);
		return sim_fail(error, "%s", carom_error_text(s->context));
	}
	if (crossings > s->crossings) {
		mend_all(s);
		return true;
	}
	s->step.tears = count;
	s->torn += count;
	s->half_torn = true;
	return make_again(s, error);
}

// ---- Looking ----

void soft_show(sim_soft *s)
{
	int32_t shown = 0;
	for (int32_t i = 0; i < s->part_count && s->tears; i++) {
		const soft_part *part = &s->parts[i];
		const int64_t from = 3 * (int64_t)part->first_vertex, to = 3 * (int64_t)shown;
		const size_t bytes = 3 * (size_t)part->vertex_count * sizeof *s->shown_places;
		memcpy(s->shown_places + to, s->committed + from, bytes);
		memcpy(s->shown_velocities + to, s->committed_velocity + from, bytes);
		for (int64_t k = 3 * (int64_t)part->first_triangle; k < 3 * (int64_t)(part->first_triangle + part->triangle_count); k++)
			s->shown_triangles[k] = s->triangles[k] - part->first_vertex + shown;
		s->shown_vertices[i] = shown;
		shown += part->vertex_count;
	}
	if (s->tears)
		s->shown_vertices[s->part_count] = shown;
}

// ---- State ----

/// Wake the spare vertices of a part that a tape tells of.
static bool read_torn(sim_soft *s, soft_part *part, sim_tape *tape)
{
	int32_t count = part->vertex_count;
	const int32_t whole = count;
	sim_tape_move(tape, &count, sizeof count);
	if (tape->failed || count < whole || count > part->vertex_room)
		return false;
	sim_tape_move(
		tape, s->triangles + 3 * (int64_t)part->first_triangle, 3 * (size_t)part->triangle_count * sizeof *s->triangles);
	for (int32_t v = part->first_vertex + whole; v < part->first_vertex + count; v++) {
		int32_t twin = -1;
		sim_tape_move(tape, &twin, sizeof twin);
		if (tape->failed || twin < part->first_vertex || twin >= v)
			return false;
		wake_spare(s, v, twin);
	}
	for (int64_t k = 3 * (int64_t)part->first_triangle; k < 3 * (int64_t)(part->first_triangle + part->triangle_count); k++) {
		if (s->triangles[k] < part->first_vertex || s->triangles[k] >= part->first_vertex + count)
			return false;
	}
	part->vertex_count = count;
	return true;
}

static void write_torn(sim_soft *s, const soft_part *part, sim_tape *tape)
{
	int32_t count = part->vertex_count;
	sim_tape_move(tape, &count, sizeof count);
	sim_tape_move(
		tape, s->triangles + 3 * (int64_t)part->first_triangle, 3 * (size_t)part->triangle_count * sizeof *s->triangles);
	sim_tape_move(tape, s->torn_from + part->first_vertex + s->bodies[part - s->parts].vertex_count,
		(size_t)(count - s->bodies[part - s->parts].vertex_count) * sizeof *s->torn_from);
}

bool soft_move_tears(sim_soft *s, sim_tape *tape, sim_error *error)
{
	if (!s->tears)
		return true;
	sim_tape_move(tape, &s->torn, sizeof s->torn);
	for (int32_t i = 0; i < s->part_count; i++) {
		if (!(s->parts[i].tear_stretch > 0))
			continue;
		if (tape->writing)
			write_torn(s, &s->parts[i], tape);
		else if (!read_torn(s, &s->parts[i], tape))
			return sim_fail(error, "the tears of body \"%s\" do not fit", s->parts[i].name);
	}
	s->read_torn = s->read_torn || !tape->writing;
	return true;
}
