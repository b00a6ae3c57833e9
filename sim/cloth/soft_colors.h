/// @file soft_colors.h
/// Constraints in colours: no two of a colour move a vertex in common, so all of a colour are
/// solved at once by all threads, with one result whatever their order. Colours follow each other.
#ifndef SIM_SOFT_COLORS_H
#define SIM_SOFT_COLORS_H

#include "sim/cloth/soft_state.h"

/// Constraints of one kind: records that begin with their vertices.
typedef struct soft_things {
	const void *data;
	size_t size; ///< bytes of a record
	int vertices;
	int64_t count;
} soft_things;

/// Deal things to colours. order[count] gets their numbers, colour after colour and each in the
/// order of the list; color[count] and masks (a word for each vertex) are scratch. Vertices of
/// inverse mass 0 never move, so they do not count.
void soft_color_things(const soft_things *things, const double *inverse_mass, int64_t vertex_count, uint64_t *masks,
	uint8_t *color, int32_t *order, soft_colors *colors);

/// Move records of things to the order of their colours. False when memory is short.
bool soft_sort_things(const sim_soft *soft, void *data, size_t size, int vertices, int64_t count, const double *inverse_mass,
	int64_t vertex_count, soft_colors *colors);

/// A visit of all constraints of one kind: run gets ranges of positions in colour order.
typedef struct soft_visit {
	sim_soft *soft;
	const soft_colors *colors;
	void (*run)(const struct soft_visit *visit, int64_t begin, int64_t end, int worker);
	const void *task; ///< for run
	bool back;        ///< from the last to the first
	int64_t first;    ///< of the colour at work; soft_run_visit sets it
} soft_visit;

void soft_run_visit(soft_visit *visit);

/// Position i of a range as the direction of the visit has it.
static inline int64_t soft_position(const soft_visit *visit, int64_t begin, int64_t end, int64_t i)
{
	return visit->back ? begin + end - 1 - i : i;
}

#endif
