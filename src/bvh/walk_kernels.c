/// Walks of lines over the triangles of a mesh: from a triangle to the neighbour across an edge
/// that the line passes outside of, until a triangle holds the line (Lehericey 2013, section 2.1.2,
/// algorithms 1 and 2). Compiled once for each instruction set (CR_ISA).
///
/// Two lines of the thesis are put right: the neighbour becomes the current triangle, and only an
/// edge that is violated is crossed, also beyond a corner. Corners are sheared into the line's
/// space and the edge functions formed as the watertight rays do, operation for operation. So the
/// function of an edge seen from one triangle is the negation, to the bit, of that seen from the
/// other, no line slips between two triangles, and where a walk and a cast meet the same triangle
/// they agree on t.
///
/// Eight lines at a time. Most walks end at the first triangle, where lines are read side by side;
/// those that go on are moved together.

#include "bvh/bvh_isa.h"
#include "math/simd.h"

enum {
	WALK_CHUNK = 128,                   // lines whose state is kept at a time
	BLOCK_FLOATS = sizeof(cr_tri8) / 4, // see corner_at
	ACROSS_INTS = sizeof(cr_across8) / 4,
	// Beyond this many blocks (8 GiB of them) the index of a coordinate does not fit in 32 bits.
	MAX_WALK_BLOCKS = INT32_MAX / BLOCK_FLOATS,
};

_Static_assert(BLOCK_FLOATS == 88 && ACROSS_INTS == 24, "corner_at and across_at count on it");

/// Eight lines in the form that the triangles want.
typedef struct line8 {
	f8 origin[3]; // in the order of the shear's axes
	f8 sx, sy, sz;
	i8 axis[3]; // row of a corner's coordinate in a block, times CR_WIDTH
} line8;

/// The lines of a chunk, and those whose walk goes on.
typedef struct walk_chunk {
	float origin[3][WALK_CHUNK];
	float shear[3][WALK_CHUNK];
	int32_t axis[3][WALK_CHUNK];
	int32_t line[WALK_CHUNK + CR_WIDTH]; // active: which of the chunk
	int32_t place[WALK_CHUNK + CR_WIDTH];
	int32_t active;
} walk_chunk;

/// The findings of eight lines at a triangle each. The lanes in neither mask go on.
typedef struct step8 {
	uint32_t met;
	uint32_t lost;
	uint32_t back;
	f8 t;
	i8 next; // place; -1: a border
} step8;

/// The axis of the largest |direction| becomes z, as in cr_ray_shear_init; x and y keep their order
/// even where z is negative, which turns the signs of the edge functions and nothing else.
static void shear_lines(const f8 origin[3], const f8 direction[3], line8 *line)
{
	const f8 x = f8_abs(direction[0]), y = f8_abs(direction[1]), z = f8_abs(direction[2]);
	const m8 along_x = m8_and(f8_le(y, x), f8_le(z, x)), along_y = f8_le(z, y);
	f8 d[3];
	for (int k = 0; k < 3; k++) {
		// where axis k of the shear is for z along x, y, z
		const int a = (k + 1) % 3, b = (k + 2) % 3, c = k;
		line->origin[k] = f8_select(along_x, origin[a], f8_select(along_y, origin[b], origin[c]));
		d[k] = f8_select(along_x, direction[a], f8_select(along_y, direction[b], direction[c]));
		line->axis[k] =
			i8_select(along_x, i8_set1(CR_WIDTH * a), i8_select(along_y, i8_set1(CR_WIDTH * b), i8_set1(CR_WIDTH * c)));
	}
	line->sx = f8_div(d[0], d[2]);
	line->sy = f8_div(d[1], d[2]);
	line->sz = f8_div(f8_set1(1), d[2]);
}

/// Index of the first coordinate of corner 0: 88 * block + lane = 10 * (8 * block) + place.
static inline i8 corner_at(i8 place)
{
	const i8 block = i8_and(place, i8_set1(~(CR_WIDTH - 1)));
	return i8_add(i8_add(i8_shift_left(block, 3), i8_shift_left(block, 1)), place);
}

/// Index of edge 0: 24 * block + lane.
static inline i8 across_at(i8 place) { return i8_add(i8_shift_left(i8_and(place, i8_set1(~(CR_WIDTH - 1))), 1), place); }

/// The edge to cross, times CR_WIDTH, where one is violated. u, v, w: functions of the edges 1, 2,
/// 0, turned so that negative is outside. Of two the more violated one: on a sphere, a torus, a
/// knot and two lumpy bodies that took the fewest steps or as few as a fixed order, a hash and
/// alternating, and lost about as many lines (fewest for moves of 30 % of the size, 0.07 % more on
/// a lumpy body for moves of 2 %).
static inline i8 choose_edge(f8 u, f8 v, f8 w)
{
	const m8 v_lowest = m8_and(f8_le(v, u), f8_le(v, w)), w_lower = f8_le(w, u);
	return i8_select(v_lowest, i8_set1(2 * CR_WIDTH), i8_select(w_lower, i8_set1(0), i8_set1(CR_WIDTH)));
}

static inline void step(const cr_collider *c, const line8 *line, i8 place, step8 *s)
{
	const float *corners = &c->blocks[0].corner[0][0][0];
	const i8 at = corner_at(place);
	const i8 row[3] = { i8_add(at, line->axis[0]), i8_add(at, line->axis[1]), i8_add(at, line->axis[2]) };
	f8 x[3], y[3], z[3];
	for (int k = 0; k < 3; k++) {
		const float *corner = corners + 3 * CR_WIDTH * k;
		x[k] = f8_sub(f8_gather(corner, row[0]), line->origin[0]);
		y[k] = f8_sub(f8_gather(corner, row[1]), line->origin[1]);
		z[k] = f8_sub(f8_gather(corner, row[2]), line->origin[2]);
		x[k] = f8_sub(x[k], f8_mul(line->sx, z[k]));
		y[k] = f8_sub(y[k], f8_mul(line->sy, z[k]));
		z[k] = f8_mul(line->sz, z[k]);
	}
	const f8 u = f8_sub(f8_mul(x[2], y[1]), f8_mul(y[2], x[1]));
	const f8 v = f8_sub(f8_mul(x[0], y[2]), f8_mul(y[0], x[2]));
	const f8 w = f8_sub(f8_mul(x[1], y[0]), f8_mul(y[1], x[0]));
	const f8 det = f8_add(f8_add(u, v), w), zero = f8_set1(0), infinite = f8_set1(INFINITY);
	s->t = f8_div(f8_add(f8_add(f8_mul(u, z[0]), f8_mul(v, z[1])), f8_mul(w, z[2])), det);

	const m8 turned = f8_lt(det, zero);
	const f8 pu = f8_select(turned, f8_neg(u), u), pv = f8_select(turned, f8_neg(v), v), pw = f8_select(turned, f8_neg(w), w);
	const uint32_t outside = m8_bits(m8_or(m8_or(f8_lt(pu, zero), f8_lt(pv, zero)), f8_lt(pw, zero)));
	const f8 size = f8_abs(det);
	// sz is 0 for an infinite direction.
	const m8 finite = m8_and(f8_lt(size, infinite), f8_lt(zero, f8_abs(line->sz)));
	const uint32_t usable = m8_bits(m8_and(f8_lt(zero, size), finite));
	const uint32_t hit = usable & ~outside & m8_bits(f8_lt(f8_abs(s->t), infinite));
	const uint32_t going = usable & outside;
	s->met = hit;
	s->back = m8_bits(turned) ^ m8_bits(f8_lt(line->sz, zero));
	s->next = i8_set1(-1);
	s->lost = 0xff & ~(hit | going);
	if (going) {
		s->next = i8_gather(&c->across[0].edge[0][0], i8_add(across_at(place), choose_edge(pu, pv, pw)));
		s->lost |= going & m8_bits(i8_lt(s->next, i8_set1(0)));
	}
}

static void load_lines(const cr_walk_lines *lines, int32_t begin, int32_t count, line8 *line)
{
	float rest[6][CR_WIDTH] = { { 0 } };
	f8 rows[6];
	for (int k = 0; k < 6; k++) {
		const float *row = (k < 3 ? lines->origin[k] : lines->direction[k - 3]) + begin;
		for (int32_t i = 0; count < CR_WIDTH && i < count; i++)
			rest[k][i] = row[i];
		rows[k] = f8_load(count < CR_WIDTH ? rest[k] : row);
	}
	shear_lines(rows, rows + 3, line);
}

static void store_lines(const line8 *line, int32_t at, walk_chunk *chunk)
{
	f8_store(&chunk->shear[0][at], line->sx);
	f8_store(&chunk->shear[1][at], line->sy);
	f8_store(&chunk->shear[2][at], line->sz);
	for (int k = 0; k < 3; k++) {
		f8_store(&chunk->origin[k][at], line->origin[k]);
		i8_store(&chunk->axis[k][at], line->axis[k]);
	}
}

static void gather_lines(const walk_chunk *chunk, i8 at, line8 *line)
{
	line->sx = f8_gather(chunk->shear[0], at);
	line->sy = f8_gather(chunk->shear[1], at);
	line->sz = f8_gather(chunk->shear[2], at);
	for (int k = 0; k < 3; k++) {
		line->origin[k] = f8_gather(chunk->origin[k], at);
		line->axis[k] = i8_gather(chunk->axis[k], at);
	}
}

static uint8_t end_of_lane(const step8 *s, int lane)
{
	if (!(s->met >> lane & 1))
		return CR_WALK_LOST;
	return s->back >> lane & 1 ? CR_WALK_BACK : CR_WALK_FRONT;
}

/// The first triangle of up to eight lines, begin of the batch and at of the chunk. The lines are
/// lost until they are found.
static void begin_walks(
	const cr_collider *c, const cr_walk_lines *lines, int32_t begin, int32_t count, int32_t at, walk_chunk *chunk)
{
	int32_t place[CR_WIDTH], next[CR_WIDTH];
	float t[CR_WIDTH];
	uint32_t started = 0;
	for (int32_t i = 0; i < CR_WIDTH; i++) {
		const int32_t from = i < count ? lines->place[begin + i] : -1;
		started |= (uint32_t)(from >= 0) << i;
		place[i] = from >= 0 ? from : 0;
	}
	line8 line;
	step8 s;
	load_lines(lines, begin, count, &line);
	step(c, &line, i8_load(place), &s);
	s.met &= started;
	f8_store(t, s.t);
	for (int32_t i = 0; i < count; i++) {
		lines->end[begin + i] = end_of_lane(&s, i);
		lines->t[begin + i] = s.met >> i & 1 ? t[i] : 0;
	}
	uint32_t going = started & ~(s.met | s.lost);
	if (!going)
		return;
	store_lines(&line, at, chunk);
	i8_store(next, s.next);
	do {
		const int i = cr_take_lowest_bit(&going);
		chunk->line[chunk->active] = at + i;
		chunk->place[chunk->active++] = next[i];
	} while (going);
}

/// One more triangle for up to eight active lines, from position from on; those that go on are put
/// at position to and after. begin: of the chunk in the batch.
static int32_t continue_walks(
	const cr_collider *c, const cr_walk_lines *lines, int32_t begin, int32_t from, int32_t count, int32_t to, walk_chunk *chunk)
{
	int32_t number[CR_WIDTH], place[CR_WIDTH], next[CR_WIDTH];
	float t[CR_WIDTH];
	const i8 at = i8_load(&chunk->line[from]), here = i8_load(&chunk->place[from]);
	i8_store(number, at);
	i8_store(place, here);
	line8 line;
	step8 s;
	gather_lines(chunk, at, &line);
	step(c, &line, here, &s);
	const uint32_t used = (1u << count) - 1;
	uint32_t met = s.met & used, going = used & ~(s.met | s.lost);
	if (met)
		f8_store(t, s.t);
	while (met) {
		const int i = cr_take_lowest_bit(&met);
		const int32_t k = begin + number[i];
		lines->place[k] = place[i];
		lines->t[k] = t[i];
		lines->end[k] = end_of_lane(&s, i);
	}
	if (going)
		i8_store(next, s.next);
	while (going) {
		const int i = cr_take_lowest_bit(&going);
		chunk->line[to] = number[i];
		chunk->place[to++] = next[i];
	}
	return to;
}

/// Returns the triangles visited.
static int64_t walk_lines_of_chunk(
	const cr_collider *c, const cr_walk_lines *lines, int32_t begin, int32_t count, int32_t max_walk)
{
	walk_chunk chunk;
	chunk.active = 0;
	int64_t visited = 0;
	for (int32_t i = 0; i < count; i++)
		visited += lines->place[begin + i] >= 0;
	for (int32_t i = 0; i < count; i += CR_WIDTH)
		begin_walks(c, lines, begin + i, count - i < CR_WIDTH ? count - i : CR_WIDTH, i, &chunk);
	for (int32_t round = 1; round < max_walk && chunk.active > 0; round++) {
		visited += chunk.active;
		// The last eight are filled up with lines that exist.
		for (int32_t i = chunk.active; i % CR_WIDTH != 0; i++) {
			chunk.line[i] = chunk.line[0];
			chunk.place[i] = chunk.place[0];
		}
		int32_t left = 0;
		for (int32_t i = 0; i < chunk.active; i += CR_WIDTH) {
			const int32_t lanes = chunk.active - i < CR_WIDTH ? chunk.active - i : CR_WIDTH;
			left = continue_walks(c, lines, begin, i, lanes, left, &chunk);
		}
		chunk.active = left;
	}
	return visited;
}

void CR_ISA_NAME(cr_walk)(
	const cr_collider *c, const cr_walk_lines *lines, int32_t begin, int32_t end, int32_t max_walk, int64_t *visited)
{
	if (c->tree.block_count == 0 || c->tree.block_count > MAX_WALK_BLOCKS || max_walk < 1) {
		for (int32_t i = begin; i < end; i++) {
			lines->end[i] = CR_WALK_LOST;
			lines->t[i] = 0;
		}
		return;
	}
	for (int32_t i = begin; i < end; i += WALK_CHUNK)
		*visited += walk_lines_of_chunk(c, lines, i, end - i < WALK_CHUNK ? end - i : WALK_CHUNK, max_walk);
}
