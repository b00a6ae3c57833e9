// Greedy colours: each constraint gets the lowest one that none of its vertices has seen. A sheet
// takes 7 or 8 for its edges and about 20 for its hinges. Where more than 63 constraints meet in a
// vertex, as at the pole of a fine sphere, the others go into a last group that one thread visits
// in order.
#include "sim/cloth/soft_colors.h"

#include <string.h>

enum {
	ONE_THREAD = SOFT_MOST_COLORS - 1, // the number of the last group
	MIN_RANGE = 256,                   // constraints worth handing out
};

static const int32_t *vertices_of(const soft_things *things, int64_t i)
{
	return (const int32_t *)((const char *)things->data + (size_t)i * things->size);
}

static int lowest_free(uint64_t used)
{
	int color = 0;
	while (color < ONE_THREAD && used >> color & 1)
		color++;
	return color;
}

static int choose_color(const int32_t *vertices, int count, const double *inverse_mass, uint64_t *masks)
{
	uint64_t used = 0;
	for (int i = 0; i < count; i++)
		used |= inverse_mass[vertices[i]] > 0 ? masks[vertices[i]] : 0;
	const int color = lowest_free(used);
	for (int i = 0; i < count; i++)
		masks[vertices[i]] |= (uint64_t)1 << color;
	return color;
}

void soft_color_things(const soft_things *things, const double *inverse_mass, int64_t vertex_count, uint64_t *masks,
	uint8_t *color, int32_t *order, soft_colors *colors)
{
	memset(masks, 0, (size_t)vertex_count * sizeof *masks);
	*colors = (soft_colors){ 0 };
	for (int64_t i = 0; i < things->count; i++) {
		color[i] = (uint8_t)choose_color(vertices_of(things, i), things->vertices, inverse_mass, masks);
		colors->first[color[i] + 1]++;
	}
	for (int c = 0; c < SOFT_MOST_COLORS; c++) {
		colors->count = colors->first[c + 1] > 0 ? c + 1 : colors->count;
		colors->first[c + 1] += colors->first[c];
	}
	int64_t next[SOFT_MOST_COLORS];
	memcpy(next, colors->first, sizeof next);
	for (int64_t i = 0; i < things->count; i++)
		order[next[color[i]]++] = (int32_t)i;
}

static void run_piece(int64_t begin, int64_t end, int worker, void *task)
{
	const soft_visit *visit = task;
	visit->run(visit, visit->first + begin, visit->first + end, worker);
}

void soft_run_visit(soft_visit *visit)
{
	const soft_colors *colors = visit->colors;
	for (int i = 0; i < colors->count; i++) {
		const int c = visit->back ? colors->count - 1 - i : i;
		visit->first = colors->first[c];
		carom_parallel_for(visit->soft->context, run_piece, colors->first[c + 1] - visit->first,
			c == ONE_THREAD ? INT64_MAX : MIN_RANGE, visit);
	}
}

// ---- The constraints of a simulation ----

bool soft_sort_things(const sim_soft *s, void *data, size_t size, int vertices, int64_t count, const double *inverse_mass,
	int64_t vertex_count, soft_colors *colors)
{
	const size_t masks = (size_t)vertex_count * sizeof(uint64_t);
	const size_t bytes = masks + (size_t)count * (size + sizeof(int32_t) + sizeof(uint8_t));
	char *memory = soft_alloc(s, bytes);
	if (!memory)
		return false;
	char *copy = memory + masks;
	int32_t *order = (int32_t *)(copy + (size_t)count * size);
	const soft_things things = { data, size, vertices, count };
	soft_color_things(&things, inverse_mass, vertex_count, (uint64_t *)memory, (uint8_t *)(order + count), order, colors);
	for (int64_t i = 0; i < count; i++)
		memcpy(copy + (size_t)i * size, (const char *)data + (size_t)order[i] * size, size);
	if (count > 0)
		memcpy(data, copy, (size_t)count * size);
	soft_free(s, memory, bytes);
	return true;
}

bool soft_color_shapes(sim_soft *s)
{
	return soft_sort_things(
			   s, s->edges, sizeof *s->edges, 2, s->edge_count, s->inverse_mass, s->vertex_count, &s->edge_colors) &&
		soft_sort_things(s, s->hinges, sizeof *s->hinges, 4, s->hinge_count, s->inverse_mass, s->vertex_count, &s->hinge_colors);
}

bool soft_color_contacts(sim_soft *s)
{
	const size_t size = sizeof(int32_t) + sizeof(uint8_t);
	if (s->contact_room < s->contacts.count) {
		soft_free(s, s->contact_order, (size_t)s->contact_room * size);
		s->contact_room = 0;
		s->contact_order = soft_alloc(s, (size_t)s->contacts.capacity * size);
		if (!s->contact_order)
			return false;
		s->contact_room = s->contacts.capacity;
	}
	const soft_things things = { s->contacts.data, sizeof *s->contacts.data, 4, s->contacts.count };
	soft_color_things(&things, s->inverse_mass, s->vertex_count, s->color_masks,
		(uint8_t *)(s->contact_order + s->contact_room), s->contact_order, &s->contact_colors);
	return true;
}

void soft_free_colors(sim_soft *s)
{
	soft_free(s, s->contact_order, (size_t)s->contact_room * (sizeof(int32_t) + sizeof(uint8_t)));
}
