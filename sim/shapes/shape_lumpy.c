// A lumpy body with ears, as a surface seen whole from one inner point: its distance along a
// direction is a smooth maximum over ellipsoids that all contain that point. Triangles whose
// corners turn the same way seen from there cannot cross, so the surface never cuts itself. Steps:
// points on the sphere as dense as the surface needs, their hull, and rounds of edge flips
// (Delaunay) and of moves along the surface that even out the triangles.
#include "sim/shapes/shape_parts.h"
#include <stdlib.h>

enum { MAX_LOBES = 10, LUMPS = SIM_SINES, GRID_ROWS = 128, GRID_COLUMNS = 256 };

// An ellipsoid that contains the origin. axes: unit vectors divided by the half lengths.
typedef struct lobe {
	carom_vec3 axes[3];
	carom_vec3 centre; // in units of the axes
	double depth;      // of the origin: 0 on the ellipsoid, -1 at its centre
} lobe;

// A wave over the surface.
typedef struct lump {
	carom_vec3 direction;
	double phase;
} lump;

typedef struct creature {
	lobe lobes[MAX_LOBES];
	int lobe_count;
	lump lumps[LUMPS];
} creature;

/// splitmix64 (Steele, Lea, Flood 2014).
static double random_unit(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	x ^= x >> 31;
	return (double)(x >> 11) / 9007199254740992.0;
}

/// Vary a length by up to 6 %.
static double vary(uint64_t *state, double value) { return value * (0.94 + 0.12 * random_unit(state)); }

static void add_ellipsoid(
	creature *c, uint64_t *state, carom_vec3 centre, carom_vec3 along, double length, double wide, double thin)
{
	carom_vec3 w = sim_unit(along), x = { 1, 0, 0 };
	carom_vec3 u = sim_unit(sim_mad(x, -sim_dot(x, w), w)), v = sim_cross(w, u);
	lobe *l = &c->lobes[c->lobe_count++];
	l->axes[0] = sim_scale(u, 1 / vary(state, wide));
	l->axes[1] = sim_scale(v, 1 / vary(state, thin));
	l->axes[2] = sim_scale(w, 1 / length);
	l->centre = (carom_vec3){ sim_dot(l->axes[0], centre), sim_dot(l->axes[1], centre), sim_dot(l->axes[2], centre) };
	l->depth = sim_dot(l->centre, l->centre) - 1;
}

/// A lobe from the origin to its tip: the near end lies a little behind the origin.
static void add_limb(creature *c, uint64_t *state, carom_vec3 tip, double wide, double thin)
{
	carom_vec3 end = { vary(state, tip.x), vary(state, tip.y), vary(state, tip.z) };
	add_ellipsoid(c, state, sim_scale(end, 0.46), end, 0.54 * sim_length(end), wide, thin);
}

/// Axes: x across, y forwards, z up; the origin is in the neck.
static void make_creature(creature *c, uint64_t seed)
{
	uint64_t state = seed;
	c->lobe_count = 0;
	add_ellipsoid(c, &state, (carom_vec3){ 0, -0.25, -0.36 }, (carom_vec3){ 0, -0.5, -0.4 }, 0.56, 0.39, 0.42);
	add_ellipsoid(c, &state, (carom_vec3){ 0, 0.1, 0.08 }, (carom_vec3){ 0, 1, 0 }, 0.32, 0.25, 0.26);
	add_limb(c, &state, (carom_vec3){ 0, 0.62, 0.02 }, 0.14, 0.13);    // snout
	add_limb(c, &state, (carom_vec3){ 0.36, -0.14, 1.06 }, 0.15, 0.1); // ears
	add_limb(c, &state, (carom_vec3){ -0.36, -0.14, 1.06 }, 0.15, 0.1);
	add_limb(c, &state, (carom_vec3){ 0.22, 0.38, -0.76 }, 0.14, 0.14); // front feet
	add_limb(c, &state, (carom_vec3){ -0.22, 0.38, -0.76 }, 0.14, 0.14);
	add_limb(c, &state, (carom_vec3){ 0.42, -0.1, -0.78 }, 0.17, 0.2); // hind feet
	add_limb(c, &state, (carom_vec3){ -0.42, -0.1, -0.78 }, 0.17, 0.2);
	add_limb(c, &state, (carom_vec3){ 0, -0.84, -0.3 }, 0.13, 0.13); // tail
	for (int i = 0; i < LUMPS; i++) {
		lump *l = &c->lumps[i];
		l->direction = (carom_vec3){ random_unit(&state) - 0.5, random_unit(&state) - 0.5, random_unit(&state) - 0.5 };
		l->phase = random_unit(&state);
	}
}

/// Where a ray from the origin leaves the ellipsoid.
static double lobe_radius(const lobe *l, carom_vec3 direction)
{
	carom_vec3 d = { sim_dot(l->axes[0], direction), sim_dot(l->axes[1], direction), sim_dot(l->axes[2], direction) };
	double a = sim_dot(d, d), b = sim_dot(d, l->centre);
	return (b + sqrt(b * b - a * l->depth)) / a;
}

/// The smooth maximum is the norm with exponent 8: powers and roots by squares only.
static double surface_radius(const creature *c, carom_vec3 direction)
{
	double sum = 0;
	for (int i = 0; i < c->lobe_count; i++) {
		double r = lobe_radius(&c->lobes[i], direction), r2 = r * r, r4 = r2 * r2;
		sum += r4 * r4;
	}
	double lumps = 1, turns[LUMPS], sines[LUMPS];
	for (int i = 0; i < LUMPS; i++)
		turns[i] = 5 * sim_dot(c->lumps[i].direction, direction) + c->lumps[i].phase;
	sim_sines(turns, sines);
	for (int i = 0; i < LUMPS; i++)
		lumps += 0.012 * sines[i];
	return sqrt(sqrt(sqrt(sum))) * lumps;
}

static carom_vec3 on_surface(const creature *c, carom_vec3 towards)
{
	carom_vec3 direction = sim_unit(towards);
	return sim_scale(direction, surface_radius(c, direction));
}

static carom_vec3 grid_direction(double row, double column)
{
	double z = 1 - 2 * row / GRID_ROWS, radius = sqrt(1 - z * z), sine, cosine;
	sim_sincos(column / GRID_COLUMNS, &sine, &cosine);
	return (carom_vec3){ radius * cosine, radius * sine, z };
}

// sums[row][column]: area of the surface in the row up to the column; rows[row]: area of the rows
// up to it.
typedef struct area_grid {
	double sums[GRID_ROWS][GRID_COLUMNS + 1];
	double rows[GRID_ROWS + 1];
} area_grid;

static void place_row(const creature *c, int row, carom_vec3 points[GRID_COLUMNS + 1])
{
	for (int column = 0; column <= GRID_COLUMNS; column++)
		points[column] = on_surface(c, grid_direction(row, column));
}

static void measure(const creature *c, area_grid *grid)
{
	carom_vec3 places[2][GRID_COLUMNS + 1];
	grid->rows[0] = 0;
	place_row(c, 0, places[0]);
	for (int row = 0; row < GRID_ROWS; row++) {
		const carom_vec3 *upper = places[row % 2], *lower = places[(row + 1) % 2];
		place_row(c, row + 1, places[(row + 1) % 2]);
		grid->sums[row][0] = 0;
		for (int column = 0; column < GRID_COLUMNS; column++) {
			carom_vec3 down = sim_sub(lower[column + 1], upper[column]), up = sim_sub(lower[column], upper[column + 1]);
			double area = 0.5 * sim_length(sim_cross(down, up));
			grid->sums[row][column + 1] = grid->sums[row][column] + area;
		}
		grid->rows[row + 1] = grid->rows[row] + grid->sums[row][GRID_COLUMNS];
	}
}

/// Where a rising table reaches a share of its last value, as a fraction of cells; *cell: the cell.
static double inverse(const double *table, int cells, double share, int *cell)
{
	double wanted = share * table[cells];
	int low = 0, high = cells;
	while (high - low > 1) {
		int middle = (low + high) / 2;
		if (table[middle] <= wanted) {
			low = middle;
		} else {
			high = middle;
		}
	}
	*cell = low;
	return low + (wanted - table[low]) / (table[low + 1] - table[low]);
}

/// The points of the golden spiral, moved so that equal areas of the surface get equally many.
static void spread_points(const creature *c, area_grid *grid, int32_t count, carom_vec3 *points)
{
	const double golden = 0.618033988749894848;
	measure(c, grid);
	for (int32_t i = 0; i < count; i++) {
		int row, column;
		double turn = i * golden;
		double down = inverse(grid->rows, GRID_ROWS, (i + 0.5) / count, &row);
		double around = inverse(grid->sums[row], GRID_COLUMNS, turn - floor(turn), &column);
		points[i] = grid_direction(down, around);
	}
}

/// Sides are numbered 3 * triangle + k, from corner k to corner k + 1.
static int32_t next_side(int32_t side) { return side % 3 == 2 ? side - 2 : side + 1; }
static int32_t previous_side(int32_t side) { return side % 3 == 0 ? side + 2 : side - 1; }

// The working state of the rounds.
typedef struct relaxation {
	const creature *creature;
	sim_surface *surface;
	int32_t *side_at;   // [vertices] some side that starts there
	double min_turning; // least volume of origin and triangle, for points at distance 1
} relaxation;

/// Do three points turn counter-clockwise seen from outside, by more than rounding can undo?
static bool turns_outward(const relaxation *r, carom_vec3 a, carom_vec3 b, carom_vec3 c)
{
	return sim_dot(a, sim_cross(b, c)) > r->min_turning * sim_length(a) * sim_length(b) * sim_length(c);
}

static bool all_outward(const relaxation *r)
{
	const sim_surface *s = r->surface;
	for (int32_t i = 0; i < s->triangle_count; i++) {
		const int32_t *corner = s->triangles + 3 * i;
		if (!turns_outward(r, s->points[corner[0]], s->points[corner[1]], s->points[corner[2]])) {
			return false;
		}
	}
	return true;
}

/// Cotangent of the angle at p in the triangle p, q, r.
static double cotangent(carom_vec3 p, carom_vec3 q, carom_vec3 r)
{
	carom_vec3 a = sim_sub(q, p), b = sim_sub(r, p);
	return sim_dot(a, b) / (sim_length(sim_cross(a, b)) + 1e-300);
}

static void join_sides(sim_surface *s, int32_t a, int32_t b)
{
	s->neighbours[a] = b;
	s->neighbours[b] = a;
}

static void set_triangle(relaxation *r, int32_t triangle, int32_t a, int32_t b, int32_t c)
{
	const int32_t corner[3] = { a, b, c };
	for (int k = 0; k < 3; k++) {
		r->surface->triangles[3 * triangle + k] = corner[k];
		r->side_at[corner[k]] = 3 * triangle + k;
	}
}

/// Exchange the diagonal a-b of the two triangles a, b, c and b, a, d for c-d where the angles at c
/// and d add up to more than half a turn, if both new triangles face outwards.
static void try_flip(relaxation *r, int32_t side)
{
	sim_surface *s = r->surface;
	int32_t other = s->neighbours[side];
	int32_t a = s->triangles[side], b = s->triangles[other];
	int32_t c = s->triangles[previous_side(side)], d = s->triangles[previous_side(other)];
	const carom_vec3 *p = s->points;
	if (cotangent(p[c], p[a], p[b]) + cotangent(p[d], p[b], p[a]) > -1e-6) {
		return;
	}
	if (!turns_outward(r, p[a], p[d], p[c]) || !turns_outward(r, p[b], p[c], p[d])) {
		return;
	}
	int32_t bc = s->neighbours[next_side(side)], ca = s->neighbours[previous_side(side)];
	int32_t ad = s->neighbours[next_side(other)], db = s->neighbours[previous_side(other)];
	int32_t first = side / 3, second = other / 3;
	set_triangle(r, first, a, d, c);
	set_triangle(r, second, b, c, d);
	join_sides(s, 3 * first, ad);
	join_sides(s, 3 * first + 2, ca);
	join_sides(s, 3 * second, bc);
	join_sides(s, 3 * second + 2, db);
	join_sides(s, 3 * first + 1, 3 * second + 1);
}

/// The move of a vertex towards the middle of its triangles, each counted by its area, without the
/// part along the normal.
static carom_vec3 wanted_move(const relaxation *r, int32_t vertex)
{
	const sim_surface *s = r->surface;
	carom_vec3 here = s->points[vertex], normal = { 0, 0, 0 }, sum = { 0, 0, 0 };
	double weights = 0;
	int32_t side = r->side_at[vertex];
	do {
		carom_vec3 b = sim_sub(s->points[s->triangles[next_side(side)]], here);
		carom_vec3 c = sim_sub(s->points[s->triangles[previous_side(side)]], here);
		carom_vec3 area = sim_cross(b, c);
		double weight = sim_length(area);
		normal = sim_mad(normal, 1, area);
		sum = sim_mad(sum, weight / 3, sim_mad(b, 1, c));
		weights += weight;
		side = s->neighbours[previous_side(side)];
	} while (side != r->side_at[vertex]);
	carom_vec3 move = sim_scale(sum, 1 / weights);
	return sim_mad(move, -sim_dot(move, normal) / sim_dot(normal, normal), normal);
}

static bool fits(const relaxation *r, int32_t vertex, carom_vec3 place)
{
	const sim_surface *s = r->surface;
	int32_t side = r->side_at[vertex];
	do {
		carom_vec3 b = s->points[s->triangles[next_side(side)]], c = s->points[s->triangles[previous_side(side)]];
		if (!turns_outward(r, place, b, c)) {
			return false;
		}
		side = s->neighbours[previous_side(side)];
	} while (side != r->side_at[vertex]);
	return true;
}

static void move_vertex(relaxation *r, int32_t vertex)
{
	carom_vec3 move = wanted_move(r, vertex), here = r->surface->points[vertex];
	for (double step = 0.6; step > 0.1; step /= 2) {
		carom_vec3 place = on_surface(r->creature, sim_mad(here, step, move));
		if (fits(r, vertex, place)) {
			r->surface->points[vertex] = place;
			return;
		}
	}
}

static void relax(relaxation *r)
{
	sim_surface *s = r->surface;
	// Small meshes get as many rounds as they profit from; large ones start out even and would take
	// long.
	int32_t rounds = 4000000 / s->triangle_count;
	rounds = rounds < 10 ? 10 : rounds > 200 ? 200 : rounds;
	for (int32_t round = 0; round < rounds; round++) {
		for (int32_t side = 0; side < 3 * s->triangle_count; side++) {
			try_flip(r, side);
		}
		for (int32_t vertex = 0; vertex < s->vertex_count; vertex++) {
			move_vertex(r, vertex);
		}
	}
}

/// Lift the hull onto the surface. False when it does not turn outwards everywhere, as with very
/// few points.
static bool lift(relaxation *r)
{
	sim_surface *s = r->surface;
	for (int32_t i = 0; i < s->vertex_count; i++) {
		s->points[i] = on_surface(r->creature, s->points[i]);
	}
	for (int32_t side = 0; side < 3 * s->triangle_count; side++) {
		r->side_at[s->triangles[side]] = side;
	}
	return all_outward(r);
}

static bool build(relaxation *r, area_grid *grid)
{
	sim_surface *s = r->surface;
	spread_points(r->creature, grid, s->vertex_count, s->points);
	if (!sim_sphere_hull(s) || !lift(r)) {
		sim_fibonacci_sphere(s->vertex_count, s->points);
		if (!sim_sphere_hull(s) || !lift(r)) {
			return false;
		}
	}
	relax(r);
	return true;
}

bool sim_make_lumpy(int32_t triangles, uint64_t seed, sim_surface *surface, sim_error *error)
{
	if (triangles % 2 != 0) {
		return sim_fail(error, "a closed body has an even number of triangles: take %d or %d", triangles - 1, triangles + 1);
	}
	if (!sim_surface_alloc(surface, triangles / 2 + 2, triangles)) {
		return false;
	}
	creature c;
	make_creature(&c, seed);
	// An even triangulation of the sphere has volumes of 8 pi / n; the sides of ears are seen at a
	// flat angle.
	relaxation r = { &c, surface, malloc((size_t)surface->vertex_count * sizeof(int32_t)), 0.05 / triangles };
	area_grid *grid = malloc(sizeof *grid);
	bool made = r.side_at != NULL && grid != NULL && build(&r, grid);
	free(grid);
	free(r.side_at);
	return made;
}
