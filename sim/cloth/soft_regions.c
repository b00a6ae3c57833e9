// Regions of solid bodies. A region is what is connected, along edges and through the body, within
// a ball. Its strain is that of the linear map F which fits the motion of its vertices best,
// weighted with their shares w of the volume:
//
//   F = sum(x w (X - C)^T) M^-1,   M = sum(w (X - C) (X - C)^T),
//
// with x places now, X places at the start, C their weighted mean (as of moving least squares:
// Mueller et al., Point Based Animation of Elastic, Plastic and Melting Objects, 2004). So F is a
// sum of places times constant slopes. The energy is that of a corotated solid, modulus * volume *
// |F - R|^2; its force on a vertex is 2 * modulus * volume * (F - R) times the slope, whatever R
// does, since R is the rotation at which the energy is least. Slopes add up to zero and (F - R) F^T
// is symmetric: momentum and angular momentum are kept. The volumes of the regions of a body add up
// to its volume, so a body that is sheared or drawn evenly resists as its modulus says.
//
// Two layers of balls: large ones in the middle between two sides of the body, which feel limbs
// bend and blocks flatten, and smaller ones below the surface, which feel dents. A region that
// would be nearly flat grows until it is not. Inside out has an energy too, and its force leads
// back.
#include "sim/cloth/soft_regions.h"

#include <string.h>

/// How deep the middle of a ball lies below its first vertex, and its radius, as parts of the
/// thickness of the body there.
typedef struct layer {
	double depth, radius;
} layer;

static const layer LAYERS[] = { { 0.5, 0.75 }, { 0.25, 0.35 } };

enum {
	LAYER_COUNT = sizeof LAYERS / sizeof *LAYERS,
	LEAST_MEMBERS = 6,
	MOST_TURNS = 16, // of Newton's iteration; it needs five to eight
	SWEEPS = 12,     // of Jacobi's
};

// Regions whose det(M) / (trace(M) / 3)^3 is smaller are nearly flat, or a line.
static const double LEAST_ROUND = 0.02;
// Smaller ones have no strain.
static const double LEAST_INVERTIBLE = 1e-9;
static const double GROWTH = 1.25;
// Vertices whose own middle is that near to the middle of a ball, in radii, begin no other.
static const double COVERED = 0.5;
// Where a matrix is flatter or mirrored, det / |F|^3, Newton's iteration does not do.
static const double LEAST_DETERMINANT = 1e-3;

// ---- Rotations ----

static double determinant(const double m[9], double cofactors[9])
{
	for (int i = 0; i < 3; i++) {
		const double *b = m + 3 * ((i + 1) % 3), *c = m + 3 * ((i + 2) % 3);
		soft_cross(b, c, cofactors + 3 * i);
	}
	return soft_dot(m, cofactors);
}

static double square_of(const double m[9])
{
	double sum = 0;
	for (int i = 0; i < 9; i++)
		sum += m[i] * m[i];
	return sum;
}

/// Higham, Computing the Polar Decomposition, 1986. False where the matrix is too flat, or
/// mirrored.
static bool iterate_rotation(const double f[9], double r[9])
{
	double square = square_of(f);
	memcpy(r, f, 9 * sizeof *r);
	for (int turn = 0; turn < MOST_TURNS; turn++) {
		double c[9], change = 0;
		const double det = determinant(r, c);
		if (turn == 0 && !(det > LEAST_DETERMINANT * square * sqrt(square)))
			return false;
		const double scale = sqrt(sqrt(square_of(c) / (det * det * square)));
		for (int i = 0; i < 9; i++) {
			const double next = 0.5 * (scale * r[i] + c[i] / (scale * det));
			change += (next - r[i]) * (next - r[i]);
			r[i] = next;
		}
		if (change < 1e-20)
			return true;
		square = square_of(r);
	}
	return true;
}

/// One rotation of Jacobi's iteration for a symmetric matrix, and of its vectors (columns).
static void rotate_pair(double a[4][4], double v[4][4], int p, int q)
{
	if (a[p][q] == 0)
		return;
	const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
	const double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
	const double c = 1 / sqrt(t * t + 1), s = t * c;
	for (int k = 0; k < 4; k++) {
		const double x = a[k][p], y = a[k][q];
		a[k][p] = c * x - s * y;
		a[k][q] = s * x + c * y;
	}
	for (int k = 0; k < 4; k++) {
		const double x = a[p][k], y = a[q][k];
		a[p][k] = c * x - s * y;
		a[q][k] = s * x + c * y;
	}
	for (int k = 0; k < 4; k++) {
		const double x = v[k][p], y = v[k][q];
		v[k][p] = c * x - s * y;
		v[k][q] = s * x + c * y;
	}
}

/// Horn, Closed-form Solution of Absolute Orientation Using Unit Quaternions, 1987: the vector of
/// the largest eigenvalue.
static void fit_rotation(const double f[9], double r[9])
{
	double a[4][4] = { { f[0] + f[4] + f[8], f[7] - f[5], f[2] - f[6], f[3] - f[1] },
		{ 0, f[0] - f[4] - f[8], f[1] + f[3], f[2] + f[6] }, { 0, 0, f[4] - f[0] - f[8], f[5] + f[7] },
		{ 0, 0, 0, f[8] - f[0] - f[4] } };
	double v[4][4] = { { 1, 0, 0, 0 }, { 0, 1, 0, 0 }, { 0, 0, 1, 0 }, { 0, 0, 0, 1 } };
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < i; k++)
			a[i][k] = a[k][i];
	}
	for (int sweep = 0; sweep < SWEEPS; sweep++) {
		for (int p = 0; p < 3; p++) {
			for (int q = p + 1; q < 4; q++)
				rotate_pair(a, v, p, q);
		}
	}
	int best = 0;
	for (int i = 1; i < 4; i++) {
		if (a[i][i] > a[best][best])
			best = i;
	}
	const double w = v[0][best], x = v[1][best], y = v[2][best], z = v[3][best];
	const double rows[9] = { 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z),
		1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y) };
	memcpy(r, rows, sizeof rows);
}

void soft_find_rotation(const double matrix[9], double rotation[9])
{
	if (!iterate_rotation(matrix, rotation))
		fit_rotation(matrix, rotation);
}

// ---- Strain ----

/// F - R of a region, and how long that is.
static double find_strain(const sim_soft *s, const soft_region *region, const double *places, double strain[9])
{
	const int32_t *v = s->regions->vertices + region->first;
	const double *slope = s->regions->slopes + 3 * region->first, *origin = places + 3 * (int64_t)v[0];
	double f[9] = { 0 }, r[9];
	for (int32_t i = 0; i < region->count; i++, slope += 3) {
		const double *p = places + 3 * (int64_t)v[i];
		for (int row = 0; row < 3; row++) {
			const double d = p[row] - origin[row];
			for (int k = 0; k < 3; k++)
				f[3 * row + k] += d * slope[k];
		}
	}
	soft_find_rotation(f, r);
	for (int i = 0; i < 9; i++)
		strain[i] = f[i] - r[i];
	return sqrt(square_of(strain));
}

/// sum(inverse mass * |direction * slope|^2).
static double weigh_direction(const double spread[6], const double n[9])
{
	double sum = 0;
	for (int row = 0; row < 3; row++) {
		const double x = n[3 * row], y = n[3 * row + 1], z = n[3 * row + 2];
		sum += x * x * spread[0] + y * y * spread[1] + z * z * spread[2] +
			2 * (x * y * spread[3] + x * z * spread[4] + y * z * spread[5]);
	}
	return sum;
}

static void solve_region(const sim_soft *s, soft_region *region, double square)
{
	double strain[9];
	const double size = find_strain(s, region, s->place, strain), soft = region->compliance * square;
	if (!(size > 0))
		return;
	for (int i = 0; i < 9; i++)
		strain[i] /= size;
	const double sum = weigh_direction(region->spread, strain);
	if (sum == 0)
		return;
	const double more = (size - soft * region->force) / (sum + soft);
	const int32_t *v = s->regions->vertices + region->first;
	const double *slope = s->regions->slopes + 3 * region->first;
	region->force += more;
	for (int32_t i = 0; i < region->count; i++, slope += 3) {
		double *p = s->place + 3 * (int64_t)v[i];
		const double share = more * s->inverse_mass[v[i]];
		for (int row = 0; row < 3 && share > 0; row++)
			p[row] -= share * soft_dot(strain + 3 * row, slope);
	}
}

void soft_solve_regions(sim_soft *s, int32_t part, double square, bool back)
{
	const int32_t first = s->regions->first[part], end = s->regions->first[part + 1];
	for (int32_t i = first; i < end; i++) {
		soft_region *region = &s->regions->region[back ? first + end - 1 - i : i];
		region->force = back ? region->force : 0;
		solve_region(s, region, square);
	}
}

double soft_measure_regions(const sim_soft *s, const double *places)
{
	double sum = 0, strain[9];
	for (int32_t i = 0; i < s->regions->count; i++) {
		const soft_region *region = &s->regions->region[i];
		const double size = find_strain(s, region, places, strain);
		sum += 0.5 * size * size / region->compliance;
	}
	return sum;
}

// ---- Finding regions ----

typedef struct builder {
	const sim_soft *soft;
	const soft_part *part;
	soft_regions *regions;
	double *normal;    // [3*count] of vertices, into the body
	double *thickness; // [count] of the body there
	double *side;      // [count] longest edge of a vertex
	double *weight;    // [count] share of the volume
	int32_t *across;   // [count] a vertex on the other side, -1: none is seen
	int32_t *members;  // [count] of the region in work
	int32_t *mark;     // [count] number of the last region that a vertex was tried for
	int32_t *uses;     // [count] regions that it is in
	bool *covered;     // [count]
	float *rays;       // [8*count]
	int32_t *hits;     // [count]
	uint8_t *backs;    // [count]
	int32_t member_count, tries;
	bool whole; // is a region of all vertices there?
	char *memory;
	size_t size;
} builder;

static void *take(char *memory, size_t *used, size_t bytes)
{
	void *array = memory ? memory + *used : NULL;
	*used += (bytes + 15) / 16 * 16;
	return array;
}

static size_t lay_out(builder *b, char *memory)
{
	const size_t n = (size_t)b->part->vertex_count;
	size_t used = 0;
	b->normal = take(memory, &used, 3 * n * sizeof *b->normal);
	b->thickness = take(memory, &used, n * sizeof *b->thickness);
	b->side = take(memory, &used, n * sizeof *b->side);
	b->weight = take(memory, &used, n * sizeof *b->weight);
	b->across = take(memory, &used, n * sizeof *b->across);
	b->members = take(memory, &used, n * sizeof *b->members);
	b->mark = take(memory, &used, n * sizeof *b->mark);
	b->uses = take(memory, &used, n * sizeof *b->uses);
	b->covered = take(memory, &used, n * sizeof *b->covered);
	b->rays = take(memory, &used, 8 * n * sizeof *b->rays);
	b->hits = take(memory, &used, n * sizeof *b->hits);
	b->backs = take(memory, &used, n * sizeof *b->backs);
	return used;
}

static const double *place_of(const builder *b, int32_t i) { return b->soft->place + 3 * (int64_t)(b->part->first_vertex + i); }

/// The corners of a triangle of the part, counted from its first vertex.
static void corners_of(const builder *b, int32_t triangle, int32_t corners[3])
{
	for (int i = 0; i < 3; i++)
		corners[i] = b->soft->triangles[3 * (int64_t)triangle + i] - b->part->first_vertex;
}

/// Unit normals into the body, the areas of vertices, which go into weight, and the longest edges.
static void measure_surface(builder *b)
{
	const soft_part *part = b->part;
	for (int32_t t = part->first_triangle; t < part->first_triangle + part->triangle_count; t++) {
		int32_t c[3];
		double d[3][3], n[3];
		corners_of(b, t, c);
		for (int i = 0; i < 3; i++) {
			for (int k = 0; k < 3; k++)
				d[i][k] = place_of(b, c[(i + 1) % 3])[k] - place_of(b, c[i])[k];
		}
		soft_cross(d[0], d[1], n);
		for (int i = 0; i < 3; i++) {
			const double length = sqrt(soft_dot(d[i], d[i]));
			b->weight[c[i]] += sqrt(soft_dot(n, n)) / 6;
			b->side[c[i]] = fmax(b->side[c[i]], length);
			b->side[c[(i + 1) % 3]] = fmax(b->side[c[(i + 1) % 3]], length);
			for (int k = 0; k < 3; k++)
				b->normal[3 * (int64_t)c[i] + k] -= n[k];
		}
	}
	for (int32_t i = 0; i < part->vertex_count; i++) {
		double *n = b->normal + 3 * (int64_t)i;
		const double length = sqrt(soft_dot(n, n));
		for (int k = 0; k < 3 && length > 0; k++)
			n[k] /= length;
	}
}

/// Where the ray inwards from each vertex leaves the body.
static bool look_across(builder *b, sim_error *error)
{
	const int32_t n = b->part->vertex_count;
	float *r[8];
	for (int i = 0; i < 8; i++)
		r[i] = b->rays + (size_t)i * (size_t)n;
	for (int32_t i = 0; i < n; i++) {
		const double *p = place_of(b, i), *d = b->normal + 3 * (int64_t)i;
		for (int k = 0; k < 3; k++) {
			r[k][i] = (float)(p[k] + 1e-3 * b->side[i] * d[k]);
			r[3 + k][i] = (float)d[k];
		}
		r[6][i] = INFINITY;
	}
	carom_mesh *mesh = soft_make_mesh(b->soft, b->part, error);
	if (!mesh)
		return false;
	const carom_ray_batch rays = { n, { r[0], r[1], r[2] }, { r[3], r[4], r[5] }, r[6] };
	const carom_hit_batch hits = { b->hits, r[7], b->backs };
	const bool done =
		carom_mesh_cast_rays(mesh, &rays, &hits) == CAROM_SUCCESS || sim_fail(error, "%s", carom_error_text(b->soft->context));
	carom_release_mesh(mesh);
	return done;
}

/// The thickness of the body at each vertex, the vertex across, and shares of the volume.
static void measure_thickness(builder *b)
{
	const int32_t n = b->part->vertex_count;
	const float *t = b->rays + 7 * (size_t)n;
	double sum = 0;
	for (int32_t i = 0; i < n; i++) {
		const bool seen = b->hits[i] >= 0 && b->backs[i];
		double nearest = INFINITY;
		b->thickness[i] = seen ? (double)t[i] : b->side[i];
		b->across[i] = -1;
		int32_t c[3];
		if (seen)
			corners_of(b, b->part->first_triangle + b->hits[i], c);
		for (int k = 0; k < 3 && seen; k++) {
			double d[3];
			for (int axis = 0; axis < 3; axis++)
				d[axis] = place_of(b, c[k])[axis] - place_of(b, i)[axis] - b->thickness[i] * b->normal[3 * (int64_t)i + axis];
			const double square = soft_dot(d, d);
			b->across[i] = square < nearest ? c[k] : b->across[i];
			nearest = fmin(nearest, square);
		}
		b->weight[i] *= b->thickness[i];
		sum += b->weight[i];
	}
	for (int32_t i = 0; i < n; i++)
		b->weight[i] *= b->part->volume / sum;
}

static double square_between(const builder *b, int32_t i, double depth, const double middle[3])
{
	double d[3];
	for (int k = 0; k < 3; k++)
		d[k] = place_of(b, i)[k] + depth * b->thickness[i] * b->normal[3 * (int64_t)i + k] - middle[k];
	return soft_dot(d, d);
}

static void try_member(builder *b, int32_t i, const double middle[3], double radius)
{
	if (i < 0 || b->mark[i] == b->tries)
		return;
	b->mark[i] = b->tries;
	if (square_between(b, i, 0, middle) <= radius * radius)
		b->members[b->member_count++] = i;
}

/// All that is connected to a vertex within a ball, along edges or across.
static void gather(builder *b, int32_t from, const double middle[3], double radius)
{
	b->tries++;
	b->members[0] = from;
	b->mark[from] = b->tries;
	b->member_count = 1;
	for (int32_t next = 0; next < b->member_count; next++) {
		const int32_t v = b->members[next];
		const int64_t *around = b->soft->around_first + b->part->first_vertex + v;
		for (int64_t i = around[0]; i < around[1]; i++) {
			int32_t c[3];
			corners_of(b, b->soft->around[i], c);
			for (int k = 0; k < 3; k++)
				try_member(b, c[k], middle, radius);
		}
		try_member(b, b->across[v], middle, radius);
	}
}

/// M and C of the text above. Returns how round the region is.
static double weigh(const builder *b, double moment[9], double centre[3])
{
	double sum = 0, c[9];
	centre[0] = centre[1] = centre[2] = 0;
	for (int32_t i = 0; i < b->member_count; i++) {
		sum += b->weight[b->members[i]];
		for (int k = 0; k < 3; k++)
			centre[k] += b->weight[b->members[i]] * place_of(b, b->members[i])[k];
	}
	for (int k = 0; k < 3; k++)
		centre[k] /= sum;
	memset(moment, 0, 9 * sizeof *moment);
	for (int32_t i = 0; i < b->member_count; i++) {
		const double *p = place_of(b, b->members[i]);
		for (int k = 0; k < 9; k++)
			moment[k] += b->weight[b->members[i]] * (p[k / 3] - centre[k / 3]) * (p[k % 3] - centre[k % 3]);
	}
	const double third = (moment[0] + moment[4] + moment[8]) / 3;
	return third > 0 ? determinant(moment, c) / (third * third * third) : 0;
}

// ---- Making ----

static bool grow(const sim_soft *s, void **array, int64_t count, int64_t capacity, size_t size)
{
	void *larger = soft_alloc(s, (size_t)capacity * size);
	if (!larger)
		return false;
	if (count > 0)
		memcpy(larger, *array, (size_t)count * size);
	*array = larger;
	return true;
}

/// Room for one more region and its members.
static bool make_room(builder *b)
{
	soft_regions *r = b->regions;
	const sim_soft *s = b->soft;
	if (r->count == r->capacity) {
		const int32_t capacity = 2 * r->capacity + 64;
		soft_region *old = r->region;
		if (!grow(s, (void **)&r->region, r->count, capacity, sizeof *r->region))
			return false;
		soft_free(s, old, (size_t)r->capacity * sizeof *r->region);
		r->capacity = capacity;
	}
	if (r->member_count + b->member_count > r->member_capacity) {
		const int64_t capacity = 2 * r->member_capacity + b->member_count + 1024;
		int32_t *vertices = r->vertices;
		double *slopes = r->slopes;
		if (!grow(s, (void **)&r->vertices, r->member_count, capacity, sizeof *r->vertices))
			return false;
		if (!grow(s, (void **)&r->slopes, 3 * r->member_count, 3 * capacity, sizeof *r->slopes)) {
			soft_free(s, r->vertices, (size_t)capacity * sizeof *r->vertices);
			r->vertices = vertices;
			return false;
		}
		soft_free(s, vertices, (size_t)r->member_capacity * sizeof *r->vertices);
		soft_free(s, slopes, 3 * (size_t)r->member_capacity * sizeof *r->slopes);
		r->member_capacity = capacity;
	}
	return true;
}

/// The members in hand are a region. moment: M of the text above.
static bool add_region(builder *b, const double moment[9], const double centre[3])
{
	soft_regions *r = b->regions;
	double inverse[9];
	const double det = determinant(moment, inverse); // of a symmetric matrix
	if (!make_room(b))
		return false;
	soft_region *region = &r->region[r->count++];
	*region = (soft_region){ .first = r->member_count, .count = b->member_count };
	for (int32_t i = 0; i < b->member_count; i++, r->member_count++) {
		const int32_t v = b->members[i];
		double *slope = r->slopes + 3 * r->member_count, d[3];
		for (int k = 0; k < 3; k++)
			d[k] = place_of(b, v)[k] - centre[k];
		for (int k = 0; k < 3; k++)
			slope[k] = b->weight[v] * soft_dot(inverse + 3 * k, d) / det;
		r->vertices[r->member_count] = b->part->first_vertex + v;
		b->uses[v]++;
	}
	return true;
}

/// The region that begins at a vertex.
static bool begin_region(builder *b, const layer *l, int32_t v)
{
	const int32_t all = b->part->vertex_count;
	double middle[3], moment[9], centre[3], round = 0;
	double radius = l->radius * b->thickness[v] + b->side[v];
	for (int k = 0; k < 3; k++)
		middle[k] = place_of(b, v)[k] + l->depth * b->thickness[v] * b->normal[3 * (int64_t)v + k];
	for (int32_t before = -1;; radius *= GROWTH) {
		gather(b, v, middle, radius);
		round = b->member_count >= LEAST_MEMBERS || b->member_count == all ? weigh(b, moment, centre) : 0;
		const bool stuck = before == b->member_count && radius > 4 * b->thickness[v] + 8 * b->side[v];
		if (round > LEAST_ROUND || b->member_count == all || stuck)
			break;
		before = b->member_count;
	}
	for (int32_t i = 0; i < b->member_count; i++) {
		const double reach = COVERED * radius;
		b->covered[b->members[i]] |= square_between(b, b->members[i], l->depth, middle) <= reach * reach;
	}
	const bool again = b->member_count == all && b->whole;
	b->whole |= b->member_count == all;
	return again || !(round > LEAST_INVERTIBLE) || add_region(b, moment, centre);
}

/// The regions of a part share its volume.
static void share_volume(builder *b, int32_t first)
{
	soft_regions *r = b->regions;
	for (int32_t i = first; i < r->count; i++) {
		soft_region *region = &r->region[i];
		double volume = 0;
		for (int64_t k = region->first; k < region->first + region->count; k++) {
			const int32_t v = r->vertices[k] - b->part->first_vertex;
			volume += b->weight[v] / b->uses[v];
		}
		region->compliance = 1 / (2 * b->part->shear * volume);
	}
}

static bool add_regions(builder *b, sim_error *error)
{
	const int32_t first = b->regions->count;
	b->size = lay_out(b, NULL);
	b->memory = soft_alloc(b->soft, b->size);
	if (!b->memory)
		return sim_fail(error, "out of memory");
	memset(b->memory, 0, b->size);
	lay_out(b, b->memory);
	measure_surface(b);
	if (!look_across(b, error))
		return false;
	measure_thickness(b);
	for (int i = 0; i < LAYER_COUNT; i++) {
		memset(b->covered, 0, (size_t)b->part->vertex_count * sizeof *b->covered);
		for (int32_t v = 0; v < b->part->vertex_count; v++) {
			if (b->covered[v])
				continue;
			b->covered[v] = true;
			if (!begin_region(b, &LAYERS[i], v))
				return sim_fail(error, "out of memory");
		}
	}
	share_volume(b, first);
	return true;
}

void soft_weigh_regions(const sim_soft *s, soft_regions *r)
{
	static const int rows[6] = { 0, 1, 2, 0, 0, 1 }, columns[6] = { 0, 1, 2, 1, 2, 2 };
	for (int32_t i = 0; i < r->count; i++) {
		soft_region *region = &r->region[i];
		memset(region->spread, 0, sizeof region->spread);
		for (int64_t m = region->first; m < region->first + region->count; m++) {
			const double mass = s->inverse_mass[r->vertices[m]], *slope = r->slopes + 3 * m;
			for (int k = 0; k < 6; k++)
				region->spread[k] += mass * slope[rows[k]] * slope[columns[k]];
		}
	}
}

soft_regions *soft_create_regions(const sim_soft *s, sim_error *error)
{
	soft_regions *r = soft_alloc(s, sizeof *r);
	int32_t *first = soft_alloc(s, ((size_t)s->part_count + 1) * sizeof *first);
	bool done = (r && first) || sim_fail(error, "out of memory");
	if (r)
		*r = (soft_regions){ .first = first, .part_count = s->part_count };
	for (int32_t i = 0; i < s->part_count && done; i++) {
		builder b = { .soft = s, .part = &s->parts[i], .regions = r };
		first[i] = r->count;
		done = !(b.part->shear > 0) || add_regions(&b, error);
		soft_free(s, b.memory, b.size);
	}
	if (done) {
		first[s->part_count] = r->count;
		soft_weigh_regions(s, r);
		return r;
	}
	if (!r)
		soft_free(s, first, ((size_t)s->part_count + 1) * sizeof *first);
	soft_destroy_regions(s, r);
	return NULL;
}

void soft_destroy_regions(const sim_soft *s, soft_regions *r)
{
	if (!r)
		return;
	soft_free(s, r->first, ((size_t)r->part_count + 1) * sizeof *r->first);
	soft_free(s, r->region, (size_t)r->capacity * sizeof *r->region);
	soft_free(s, r->vertices, (size_t)r->member_capacity * sizeof *r->vertices);
	soft_free(s, r->slopes, 3 * (size_t)r->member_capacity * sizeof *r->slopes);
	soft_free(s, r, sizeof *r);
}
