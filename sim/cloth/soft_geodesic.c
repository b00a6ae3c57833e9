// Distances by a front that goes out from a vertex, nearest vertex first (Dijkstra). A corner of a
// triangle whose other two are known gets the distance from where the source lies when everything
// is unfolded into the plane of the triangle (Novotni and Klein 2002): two circles about the known
// corners meet there. Where the straight way leaves the triangle's side, the way goes along an
// edge.
#include "sim/cloth/soft_geodesic.h"

#include <string.h>

typedef struct heap_item {
	double distance;
	int32_t vertex;
} heap_item;

struct soft_geodesic {
	const sim_soft *soft;
	double *distance; // [vertex_count], INFINITY but for those in touched
	uint8_t *state;   // [vertex_count]
	int32_t *touched; // [vertex_count]
	int32_t touched_count;
	heap_item *heap;
	int64_t heap_count, heap_room;
	size_t size; // of all of this but the heap
};

enum { SETTLED = 1, WANTED = 2 };

// ---- The heap ----

static bool push(soft_geodesic *g, double distance, int32_t vertex)
{
	if (g->heap_count == g->heap_room) {
		const int64_t room = g->heap_room ? 2 * g->heap_room : 1024;
		heap_item *larger = soft_alloc(g->soft, (size_t)room * sizeof *larger);
		if (!larger)
			return false;
		if (g->heap_count > 0)
			memcpy(larger, g->heap, (size_t)g->heap_count * sizeof *larger);
		soft_free(g->soft, g->heap, (size_t)g->heap_room * sizeof *larger);
		g->heap = larger;
		g->heap_room = room;
	}
	int64_t i = g->heap_count++;
	for (; i > 0 && g->heap[(i - 1) / 2].distance > distance; i = (i - 1) / 2)
		g->heap[i] = g->heap[(i - 1) / 2];
	g->heap[i] = (heap_item){ distance, vertex };
	return true;
}

static heap_item pop(soft_geodesic *g)
{
	const heap_item top = g->heap[0], last = g->heap[--g->heap_count];
	int64_t i = 0;
	for (int64_t child = 1; child < g->heap_count; child = 2 * i + 1) {
		child += child + 1 < g->heap_count && g->heap[child + 1].distance < g->heap[child].distance;
		if (!(g->heap[child].distance < last.distance))
			break;
		g->heap[i] = g->heap[child];
		i = child;
	}
	g->heap[i] = last;
	return top;
}

// ---- The front ----

static double square_between(const sim_soft *s, int32_t a, int32_t b)
{
	const double *p = s->place + 3 * (int64_t)a, *q = s->place + 3 * (int64_t)b;
	const double d[3] = { p[0] - q[0], p[1] - q[1], p[2] - q[2] };
	return soft_dot(d, d);
}

static bool offer(soft_geodesic *g, int32_t vertex, double distance)
{
	if (!(distance < g->distance[vertex]))
		return true;
	if (g->distance[vertex] == INFINITY)
		g->touched[g->touched_count++] = vertex;
	g->distance[vertex] = distance;
	return push(g, distance, vertex);
}

/// The distance to c over the side from a to b, whose distances are known; INFINITY when the
/// straight way does not cross that side.
static double unfold(const soft_geodesic *g, int32_t a, int32_t b, int32_t c)
{
	const double da = g->distance[a], db = g->distance[b], side = sqrt(square_between(g->soft, a, b));
	const double ac = square_between(g->soft, a, c), bc = square_between(g->soft, b, c);
	// In a frame with a at the origin and b on the x axis; the source below it, c above.
	const double sx = (da * da - db * db + side * side) / (2 * side), sy = da * da - sx * sx;
	const double cx = (ac - bc + side * side) / (2 * side), cy = ac - cx * cx;
	const double low = sqrt(sy > 0 ? sy : 0), high = sqrt(cy > 0 ? cy : 0);
	const double over = low + high > 0 ? sx + (cx - sx) * low / (low + high) : -1;
	if (!(over >= 0 && over <= side))
		return INFINITY;
	return sqrt((cx - sx) * (cx - sx) + (low + high) * (low + high));
}

/// Offer distances to the neighbours of a vertex that is settled now.
static bool go_on(soft_geodesic *g, int32_t v)
{
	for (int64_t i = g->soft->around_first[v]; i < g->soft->around_first[v + 1]; i++) {
		const int32_t *corner = g->soft->triangles + 3 * (int64_t)g->soft->around[i];
		for (int k = 0; k < 3; k++) {
			const int32_t a = corner[k], b = corner[(k + 1) % 3], c = a == v ? b : a;
			const int32_t other = corner[(k + 2) % 3];
			if (a != v && b != v)
				continue;
			if (!(g->state[c] & SETTLED) && !offer(g, c, g->distance[v] + sqrt(square_between(g->soft, v, c))))
				return false;
			if (g->state[c] & SETTLED && !(g->state[other] & SETTLED) && !offer(g, other, unfold(g, v, c, other)))
				return false;
		}
	}
	return true;
}

static void forget(soft_geodesic *g)
{
	for (int32_t i = 0; i < g->touched_count; i++) {
		g->distance[g->touched[i]] = INFINITY;
		g->state[g->touched[i]] = 0;
	}
	g->touched_count = 0;
	g->heap_count = 0;
}

bool soft_find_distances(soft_geodesic *g, int32_t from, const int32_t *to, int32_t count, double *distances)
{
	int32_t open = 0;
	for (int32_t i = 0; i < count; i++) {
		open += !(g->state[to[i]] & WANTED);
		g->state[to[i]] |= WANTED;
	}
	bool done = offer(g, from, 0);
	while (done && g->heap_count > 0 && open > 0) {
		const heap_item item = pop(g);
		if (g->state[item.vertex] & SETTLED)
			continue;
		g->state[item.vertex] |= SETTLED;
		open -= (g->state[item.vertex] & WANTED) != 0;
		done = go_on(g, item.vertex);
	}
	for (int32_t i = 0; i < count; i++) {
		distances[i] = g->state[to[i]] & SETTLED ? g->distance[to[i]] : INFINITY;
		g->state[to[i]] &= (uint8_t)~WANTED;
	}
	forget(g);
	return done;
}

// ---- Life ----

soft_geodesic *soft_create_geodesic(const sim_soft *s)
{
	const size_t n = (size_t)s->vertex_count;
	const size_t size = sizeof(soft_geodesic) + n * (sizeof(double) + sizeof(int32_t) + sizeof(uint8_t));
	soft_geodesic *g = soft_alloc(s, size);
	if (!g)
		return NULL;
	*g = (soft_geodesic){ .soft = s, .size = size };
	g->distance = (double *)(g + 1);
	g->touched = (int32_t *)(void *)(g->distance + n);
	g->state = (uint8_t *)(g->touched + n);
	memset(g->state, 0, n);
	for (size_t i = 0; i < n; i++)
		g->distance[i] = INFINITY;
	return g;
}

void soft_destroy_geodesic(soft_geodesic *g)
{
	if (!g)
		return;
	const sim_soft *s = g->soft;
	soft_free(s, g->heap, (size_t)g->heap_room * sizeof *g->heap);
	soft_free(s, g, g->size);
}
