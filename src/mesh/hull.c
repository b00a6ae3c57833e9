/// Quickhull (Barber, Dobkin and Huhdanpaa, The Quickhull Algorithm for Convex Hulls, 1996) on
/// exact orientation signs.
///
/// Invariant: the faces that are not gone form a closed surface of triangles, convex and exact: no
/// point that was added lies strictly above any of them. A point that waits is in the list of one
/// face below it. The farthest point of a list sees some faces; these are connected, since the
/// surface is convex, and a loop of edges, the horizon, bounds them. They give way to triangles
/// from the horizon to the point. None of these is without area: a point on the line of a horizon
/// edge would lie in the plane of the face behind that edge, and would not be strictly above it.

#include "mesh/hull.h"
#include "base/array.h"
#include "geom/predicates.h"
#include "geom/triangle.h"
#include <string.h>

// Corners that lie this part of the size off a plane count as in it: a float has some 6e-8.
static const double FLAT = 1e-6;

typedef struct hull_face {
	int32_t corner[3];
	int32_t neighbour[3]; // across the edge from corner k to corner k + 1
	int32_t waiting;      // first point of its list; -1: none
	int32_t region;       // of merging
	bool gone;
	bool seen;
} hull_face;

typedef struct horizon_edge {
	int32_t from, to;
	int32_t outer; // the face that stays
} horizon_edge;

typedef struct builder {
	carom_context *context;
	const v3d *points;
	int32_t count;
	double size;
	int32_t *next; // [count] of the lists of waiting points
	int32_t *at;   // [count] the new face that begins at a vertex; later the new number of a vertex
	CR_ARRAY(hull_face) faces;
	CR_ARRAY(horizon_edge) horizon;
	CR_ARRAY(int32_t) stack;
	CR_ARRAY(int32_t) visible;
} builder;

static v3d corner_of(const builder *b, int32_t face, int k) { return b->points[b->faces.data[face].corner[k]]; }

static v3d normal_of(const builder *b, int32_t face)
{
	const v3d p = corner_of(b, face, 0);
	return v3d_cross(v3d_sub(corner_of(b, face, 1), p), v3d_sub(corner_of(b, face, 2), p));
}

static bool is_above(const builder *b, int32_t face, int32_t point)
{
	return cr_orient3d_sign(corner_of(b, face, 0), corner_of(b, face, 1), corner_of(b, face, 2), b->points[point]) > 0;
}

static int32_t add_face(builder *b, int32_t i, int32_t j, int32_t k)
{
	if (!cr_array_reserve_one(b->context, &b->faces))
		return -1;
	b->faces.data[b->faces.count] = (hull_face){ { i, j, k }, { -1, -1, -1 }, -1, -1, false, false };
	return (int32_t)b->faces.count++;
}

// ---- The first tetrahedron ----

/// The point farthest along a direction from an origin, by absolute value where both is set.
static int32_t farthest(const builder *b, v3d from, v3d direction, bool both)
{
	int32_t best = 0;
	double most = -INFINITY;
	for (int32_t i = 0; i < b->count; i++) {
		const double along = v3d_dot(direction, v3d_sub(b->points[i], from));
		const double far = both ? fabs(along) : along;
		if (far > most) {
			most = far;
			best = i;
		}
	}
	return best;
}

static int32_t farthest_from_line(const builder *b, v3d p, v3d q)
{
	const v3d along = v3d_normalize(v3d_sub(q, p));
	int32_t best = 0;
	double most = -1;
	for (int32_t i = 0; i < b->count; i++) {
		const double far = v3d_length(v3d_cross(v3d_sub(b->points[i], p), along));
		if (far > most) {
			most = far;
			best = i;
		}
	}
	return best;
}

/// Any point that is exactly out of the plane of three, or -1. For points so flat that rounding
/// hides which one is farthest.
static int32_t any_off_plane(const builder *b, const int32_t c[3])
{
	for (int32_t i = 0; i < b->count; i++) {
		if (cr_orient3d_sign(b->points[c[0]], b->points[c[1]], b->points[c[2]], b->points[i]) != 0)
			return i;
	}
	return -1;
}

/// Corners of a tetrahedron with a volume, turned so that the fourth lies below the first three.
/// False: all lie in a plane.
static bool find_tetrahedron(const builder *b, int32_t c[4])
{
	c[0] = farthest(b, b->points[0], (v3d){ -1, 0, 0 }, false);
	double longest = -1;
	c[1] = c[0];
	static const v3d axes[3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
	for (int k = 0; k < 3; k++) {
		const int32_t end = farthest(b, b->points[c[0]], axes[k], true);
		const double length = v3d_length(v3d_sub(b->points[end], b->points[c[0]]));
		if (length > longest) {
			longest = length;
			c[1] = end;
		}
	}
	const v3d p = b->points[c[0]];
	c[2] = farthest_from_line(b, p, b->points[c[1]]);
	for (int32_t i = 0; i < b->count && cr_projection_axis(p, b->points[c[1]], b->points[c[2]]) < 0; i++)
		c[2] = i; // rounding hid which one is off the line
	const v3d n = v3d_cross(v3d_sub(b->points[c[1]], p), v3d_sub(b->points[c[2]], p));
	c[3] = farthest(b, p, n, true);
	if (cr_orient3d_sign(p, b->points[c[1]], b->points[c[2]], b->points[c[3]]) == 0)
		c[3] = any_off_plane(b, c);
	if (c[3] < 0)
		return false;
	if (cr_orient3d_sign(p, b->points[c[1]], b->points[c[2]], b->points[c[3]]) > 0) {
		const int32_t swap = c[1];
		c[1] = c[2];
		c[2] = swap;
	}
	return true;
}

/// Put a point into the list of the first of some faces that it is above.
static void make_wait(builder *b, int32_t point, int64_t first, int64_t end)
{
	for (int64_t f = first; f < end; f++) {
		if (!is_above(b, (int32_t)f, point))
			continue;
		b->next[point] = b->faces.data[f].waiting;
		b->faces.data[f].waiting = point;
		return;
	}
}

/// The face on the other side of each edge of the first four.
static void link_tetrahedron(builder *b)
{
	for (int32_t f = 0; f < 4; f++) {
		for (int k = 0; k < 3; k++) {
			hull_face *face = &b->faces.data[f];
			const int32_t from = face->corner[k], to = face->corner[(k + 1) % 3];
			for (int32_t g = 0; g < 4; g++) {
				for (int m = 0; m < 3; m++) {
					if (b->faces.data[g].corner[m] == to && b->faces.data[g].corner[(m + 1) % 3] == from)
						face->neighbour[k] = g;
				}
			}
		}
	}
}

static carom_result start(builder *b)
{
	int32_t c[4];
	if (!find_tetrahedron(b, c))
		return CAROM_INVALID_MESH;
	if (add_face(b, c[0], c[1], c[2]) < 0 || add_face(b, c[0], c[3], c[1]) < 0 || add_face(b, c[1], c[3], c[2]) < 0 ||
		add_face(b, c[2], c[3], c[0]) < 0)
		return CAROM_OUT_OF_MEMORY;
	link_tetrahedron(b);
	for (int32_t i = 0; i < b->count; i++)
		make_wait(b, i, 0, 4);
	return CAROM_SUCCESS;
}

// ---- Adding a point ----

static int32_t farthest_waiting(const builder *b, int32_t face)
{
	const v3d n = normal_of(b, face), p = corner_of(b, face, 0);
	int32_t best = b->faces.data[face].waiting;
	double most = v3d_dot(n, v3d_sub(b->points[best], p));
	for (int32_t i = b->next[best]; i >= 0; i = b->next[i]) {
		const double far = v3d_dot(n, v3d_sub(b->points[i], p));
		if (far > most || (far == most && i < best)) {
			most = far;
			best = i;
		}
	}
	return best;
}

/// Put a face on the stack of a search. Returns false when memory runs out.
static bool push_face(builder *b, int32_t face)
{
	if (!cr_array_reserve_one(b->context, &b->stack))
		return false;
	b->stack.data[b->stack.count++] = face;
	return true;
}

/// The faces that a point sees, from one of them on, and the edges between them and the others.
static bool find_horizon(builder *b, int32_t face, int32_t point)
{
	b->visible.count = b->horizon.count = b->stack.count = 0;
	b->faces.data[face].seen = true;
	if (!push_face(b, face))
		return false;
	while (b->stack.count > 0) {
		const int32_t f = b->stack.data[--b->stack.count];
		if (!cr_array_reserve_one(b->context, &b->visible))
			return false;
		b->visible.data[b->visible.count++] = f;
		for (int k = 0; k < 3; k++) {
			const hull_face *here = &b->faces.data[f];
			const int32_t other = here->neighbour[k];
			if (b->faces.data[other].seen)
				continue;
			if (is_above(b, other, point)) {
				b->faces.data[other].seen = true;
				if (!push_face(b, other))
					return false;
			} else {
				if (!cr_array_reserve_one(b->context, &b->horizon))
					return false;
				b->horizon.data[b->horizon.count++] = (horizon_edge){ here->corner[k], here->corner[(k + 1) % 3], other };
			}
		}
	}
	return true;
}

/// Triangles from the horizon to the point, linked to each other and to the triangles that stay.
static bool add_cone(builder *b, int32_t point)
{
	for (int64_t i = 0; i < b->horizon.count; i++) {
		const horizon_edge e = b->horizon.data[i];
		const int32_t f = add_face(b, e.from, e.to, point);
		if (f < 0)
			return false;
		b->faces.data[f].neighbour[0] = e.outer;
		b->at[e.from] = f;
		for (int k = 0; k < 3; k++) {
			hull_face *outer = &b->faces.data[e.outer];
			if (outer->corner[k] == e.to && outer->corner[(k + 1) % 3] == e.from)
				outer->neighbour[k] = f;
		}
	}
	for (int64_t i = 0; i < b->horizon.count; i++) {
		const int32_t f = b->at[b->horizon.data[i].from], after = b->at[b->horizon.data[i].to];
		b->faces.data[f].neighbour[1] = after;
		b->faces.data[after].neighbour[2] = f;
	}
	return true;
}

static carom_result add_point(builder *b, int32_t face)
{
	const int32_t point = farthest_waiting(b, face);
	if (!find_horizon(b, face, point))
		return CAROM_OUT_OF_MEMORY;
	const int64_t first = b->faces.count;
	if (!add_cone(b, point))
		return CAROM_OUT_OF_MEMORY;
	for (int64_t i = 0; i < b->visible.count; i++) {
		hull_face *old = &b->faces.data[b->visible.data[i]];
		old->gone = true;
		for (int32_t p = old->waiting; p >= 0;) {
			const int32_t next = b->next[p];
			if (p != point)
				make_wait(b, p, first, b->faces.count);
			p = next;
		}
	}
	return CAROM_SUCCESS;
}

// ---- From triangles to polygons ----

/// Close up the list of faces: gone ones leave, and neighbours get their new numbers. False: out of
/// memory.
static bool drop_gone(builder *b)
{
	int32_t *number = cr_alloc_array(b->context, (size_t)b->faces.count, sizeof *number);
	if (!number)
		return false;
	int32_t kept = 0;
	for (int64_t f = 0; f < b->faces.count; f++) {
		number[f] = kept;
		if (!b->faces.data[f].gone)
			b->faces.data[kept++] = b->faces.data[f];
	}
	for (int32_t f = 0; f < kept; f++) {
		for (int k = 0; k < 3; k++)
			b->faces.data[f].neighbour[k] = number[b->faces.data[f].neighbour[k]];
	}
	cr_free(b->context, number, (size_t)b->faces.count * sizeof *number);
	b->faces.count = kept;
	return true;
}

static bool in_plane(const builder *b, int32_t face, v3d normal, v3d origin)
{
	for (int k = 0; k < 3; k++) {
		if (!(fabs(v3d_dot(normal, v3d_sub(corner_of(b, face, k), origin))) <= FLAT * b->size))
			return false;
	}
	const v3d n = normal_of(b, face);
	return !(v3d_dot(n, normal) < 0);
}

/// Give a face, and all that join it in its plane, to a region. False: out of memory.
static bool spread_region(builder *b, int32_t seed, int32_t region)
{
	const v3d normal = v3d_normalize(normal_of(b, seed)), origin = corner_of(b, seed, 0);
	b->stack.count = 0;
	b->faces.data[seed].region = region;
	if (!push_face(b, seed))
		return false;
	while (b->stack.count > 0) {
		const int32_t f = b->stack.data[--b->stack.count];
		for (int k = 0; k < 3; k++) {
			const int32_t other = b->faces.data[f].neighbour[k];
			if (b->faces.data[other].region >= 0 || !in_plane(b, other, normal, origin))
				continue;
			b->faces.data[other].region = region;
			if (!push_face(b, other))
				return false;
		}
	}
	return true;
}

typedef struct seed {
	double area;
	int32_t face;
} seed;

static bool comes_first(const seed *a, const seed *b) { return a->area > b->area || (a->area == b->area && a->face < b->face); }

/// Largest first; a shell sort, since the list is short.
static void sort_seeds(seed *seeds, int64_t count)
{
	for (int64_t gap = count / 2; gap > 0; gap /= 2) {
		for (int64_t i = gap; i < count; i++) {
			const seed moved = seeds[i];
			int64_t at = i;
			for (; at >= gap && comes_first(&moved, &seeds[at - gap]); at -= gap)
				seeds[at] = seeds[at - gap];
			seeds[at] = moved;
		}
	}
}

/// Number the regions of faces in one plane, from the largest face on, which is their entry in
/// b->visible. Returns how many; -1: out of memory.
static int32_t find_regions(builder *b)
{
	const int64_t count = b->faces.count;
	seed *seeds = cr_alloc_array(b->context, (size_t)count, sizeof *seeds);
	if (!seeds)
		return -1;
	for (int64_t f = 0; f < count; f++)
		seeds[f] = (seed){ v3d_length(normal_of(b, (int32_t)f)), (int32_t)f };
	sort_seeds(seeds, count);
	int32_t regions = 0;
	b->visible.count = 0;
	for (int64_t i = 0; i < count && regions >= 0; i++) {
		if (b->faces.data[seeds[i].face].region >= 0)
			continue;
		const bool done = spread_region(b, seeds[i].face, regions) && cr_array_reserve_one(b->context, &b->visible);
		if (done)
			b->visible.data[b->visible.count++] = seeds[i].face;
		regions = done ? regions + 1 : -1;
	}
	cr_free(b->context, seeds, (size_t)count * sizeof *seeds);
	return regions;
}

/// The edge of a region that follows after the one that ends at corner k of a face; walks about
/// that corner.
static void next_rim_edge(const builder *b, int32_t *face, int *k)
{
	const int32_t region = b->faces.data[*face].region;
	*k = (*k + 1) % 3;
	for (;;) {
		const hull_face *f = &b->faces.data[*face];
		const int32_t other = f->neighbour[*k];
		if (b->faces.data[other].region != region)
			return;
		const int32_t from = f->corner[*k];
		*face = other;
		// In the other face that edge runs back to `from`: go on with the edge that begins there.
		for (int m = 0; m < 3; m++) {
			if (b->faces.data[other].corner[m] == from)
				*k = m;
		}
	}
}

/// Append the polygon of a region, from the rim edge k of a face on, to corners (room for all is
/// there). Returns how many corners.
static int32_t append_polygon(const builder *b, int32_t face, int k, int32_t *corners)
{
	const int32_t first_face = face;
	const int first_edge = k;
	int32_t count = 0;
	do {
		corners[count++] = b->at[b->faces.data[face].corner[k]];
		next_rim_edge(b, &face, &k);
	} while (face != first_face || k != first_edge);
	return count;
}

// ---- Output ----

/// Number the vertices that faces use, in the order of the points, into b->at; -1 for others.
/// Returns how many.
static int32_t number_vertices(builder *b)
{
	for (int32_t i = 0; i < b->count; i++)
		b->at[i] = -1;
	for (int64_t f = 0; f < b->faces.count; f++) {
		for (int k = 0; k < 3; k++)
			b->at[b->faces.data[f].corner[k]] = 0;
	}
	int32_t used = 0;
	for (int32_t i = 0; i < b->count; i++)
		b->at[i] = b->at[i] < 0 ? -1 : used++;
	return used;
}

bool cr_hull_make_rows(carom_context *context, cr_hull *hull)
{
	const size_t count = cr_hull_count_rows(hull);
	hull->rows = count > 0 ? cr_alloc_array(context, count, sizeof *hull->rows) : NULL;
	return count == 0 || hull->rows;
}

size_t cr_hull_row_bytes(const cr_hull *hull)
{
	return (size_t)CR_ROW_DOUBLES * (size_t)(hull->vertex_blocks + hull->normal_blocks) * sizeof *hull->rows;
}

void cr_hull_free_rows(carom_context *context, cr_hull *hull)
{
	cr_free(context, hull->rows, cr_hull_row_bytes(hull));
	hull->rows = NULL;
}

static bool allocate(carom_context *context, cr_hull_data *d, int32_t vertices, int32_t triangles, int32_t faces)
{
	cr_hull *h = &d->hull;
	d->triangle_count = triangles;
	h->vertex_count = vertices;
	h->face_count = faces;
	// polygons have no more corners, vertices no more neighbours
	const size_t half_edges = 3 * (size_t)triangles;
	d->triangles = cr_alloc_array(context, half_edges, sizeof *d->triangles);
	h->vertices = cr_alloc_array(context, (size_t)vertices, sizeof *h->vertices);
	h->corners = cr_alloc_array(context, half_edges, sizeof *h->corners);
	h->face_first = cr_alloc_array(context, (size_t)faces + 1, sizeof *h->face_first);
	h->normals = cr_alloc_array(context, (size_t)faces, sizeof *h->normals);
	h->neighbours = cr_alloc_array(context, half_edges, sizeof *h->neighbours);
	h->neighbour_first = cr_alloc_zero(context, ((size_t)vertices + 1) * sizeof *h->neighbour_first);
	return d->triangles && h->vertices && h->corners && h->face_first && h->normals && h->neighbours && h->neighbour_first &&
		cr_hull_make_rows(context, h);
}

/// Each half edge names the neighbour at its end. Filled from the back, so that the firsts come out
/// right.
static void fill_neighbours(const cr_hull_data *d)
{
	const cr_hull *h = &d->hull;
	const int64_t count = 3 * (int64_t)d->triangle_count;
	for (int64_t i = 0; i < count; i++)
		h->neighbour_first[d->triangles[i]]++;
	for (int32_t v = 0; v < h->vertex_count; v++)
		h->neighbour_first[v + 1] += h->neighbour_first[v];
	for (int64_t i = count; i-- > 0;) {
		const int64_t next = i % 3 == 2 ? i - 2 : i + 1;
		h->neighbours[--h->neighbour_first[d->triangles[i]]] = d->triangles[next];
	}
}

static void fill_vertices(const builder *b, cr_hull_data *d)
{
	v3d sum = { 0, 0, 0 };
	for (int32_t i = 0; i < b->count; i++) {
		if (b->at[i] < 0)
			continue;
		d->hull.vertices[b->at[i]] = b->points[i];
		sum = v3d_add(sum, b->points[i]);
	}
	d->hull.centre = v3d_scale(sum, 1.0 / d->hull.vertex_count);
	d->hull.size = 0;
	for (int32_t i = 0; i < d->hull.vertex_count; i++)
		d->hull.size = fmax(d->hull.size, v3d_length(v3d_sub(d->hull.vertices[i], d->hull.centre)));
	for (int64_t f = 0; f < b->faces.count; f++) {
		for (int k = 0; k < 3; k++)
			d->triangles[3 * f + k] = b->at[b->faces.data[f].corner[k]];
	}
}

static void fill_faces(const builder *b, cr_hull *h)
{
	int32_t written = 0, corners = 0;
	// A region is written where its first rim edge comes. Its entry in b->visible, the largest
	// face, gives the normal, and then -1.
	for (int64_t f = 0; f < b->faces.count; f++) {
		const hull_face *face = &b->faces.data[f];
		int32_t *largest = &b->visible.data[face->region];
		for (int k = 0; k < 3 && *largest >= 0; k++) {
			if (b->faces.data[face->neighbour[k]].region == face->region)
				continue;
			h->face_first[written] = corners;
			h->normals[written++] = v3d_normalize(normal_of(b, *largest));
			corners += append_polygon(b, (int32_t)f, k, h->corners + corners);
			*largest = -1;
		}
	}
	h->face_first[written] = corners;
}

static carom_result finish(builder *b, cr_hull_data *data)
{
	if (!drop_gone(b))
		return CAROM_OUT_OF_MEMORY;
	const int32_t regions = find_regions(b);
	if (regions < 0)
		return CAROM_OUT_OF_MEMORY;
	const int32_t vertices = number_vertices(b);
	if (!allocate(b->context, data, vertices, (int32_t)b->faces.count, regions))
		return CAROM_OUT_OF_MEMORY;
	fill_vertices(b, data);
	fill_neighbours(data);
	fill_faces(b, &data->hull);
	cr_hull_set_starts(&data->hull);
	cr_hull_fill_rows(&data->hull, b->context->simd);
	return CAROM_SUCCESS;
}

static double size_of(const v3d *points, int32_t count)
{
	double size = 0;
	for (int32_t i = 0; i < count; i++)
		size = fmax(size, v3d_length(v3d_sub(points[i], points[0])));
	return size;
}

static void free_builder(builder *b)
{
	cr_free(b->context, b->next, (size_t)b->count * sizeof *b->next);
	cr_free(b->context, b->at, (size_t)b->count * sizeof *b->at);
	cr_array_free(b->context, &b->faces);
	cr_array_free(b->context, &b->horizon);
	cr_array_free(b->context, &b->stack);
	cr_array_free(b->context, &b->visible);
}

carom_result cr_hull_build(carom_context *context, const v3d *points, int32_t count, cr_hull_data *data)
{
	builder b = { .context = context, .points = points, .count = count };
	*data = (cr_hull_data){ 0 };
	if (count < 4)
		return CAROM_INVALID_MESH;
	b.size = size_of(points, count);
	b.next = cr_alloc_array(context, (size_t)count, sizeof *b.next);
	b.at = cr_alloc_array(context, (size_t)count, sizeof *b.at);
	carom_result result = b.next && b.at ? start(&b) : CAROM_OUT_OF_MEMORY;
	for (int64_t f = 0; result == CAROM_SUCCESS && f < b.faces.count; f++) {
		while (result == CAROM_SUCCESS && !b.faces.data[f].gone && b.faces.data[f].waiting >= 0)
			result = add_point(&b, (int32_t)f);
	}
	if (result == CAROM_SUCCESS)
		result = finish(&b, data);
	free_builder(&b);
	if (result != CAROM_SUCCESS)
		cr_hull_free(context, data);
	return result;
}

void cr_hull_free(carom_context *context, cr_hull_data *d)
{
	cr_hull *h = &d->hull;
	const size_t half_edges = 3 * (size_t)d->triangle_count, vertices = (size_t)h->vertex_count;
	cr_free(context, d->triangles, half_edges * sizeof *d->triangles);
	cr_free(context, h->vertices, vertices * sizeof *h->vertices);
	cr_free(context, h->corners, half_edges * sizeof *h->corners);
	cr_free(context, h->face_first, ((size_t)h->face_count + 1) * sizeof *h->face_first);
	cr_free(context, h->normals, (size_t)h->face_count * sizeof *h->normals);
	cr_free(context, h->neighbours, half_edges * sizeof *h->neighbours);
	cr_free(context, h->neighbour_first, (vertices + 1) * sizeof *h->neighbour_first);
	cr_hull_free_rows(context, h);
	*d = (cr_hull_data){ 0 };
}

size_t cr_hull_bytes(const cr_hull_data *d)
{
	const size_t half_edges = 3 * (size_t)d->triangle_count, vertices = (size_t)d->hull.vertex_count;
	if (vertices == 0)
		return 0;
	return half_edges * (2 * sizeof(int32_t) + sizeof(int32_t)) + vertices * sizeof(v3d) + (vertices + 1) * sizeof(int32_t) +
		(size_t)d->hull.face_count * (sizeof(v3d) + sizeof(int32_t)) + cr_hull_row_bytes(&d->hull);
}
