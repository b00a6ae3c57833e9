/// See grain_columns.h.
#include "grain_columns.h"
#include <stdlib.h>
#include <string.h>

static const double LARGE = 4; // times the mean radius

enum {
	WIDTH = 64,          // cells: a column is no wider. A layer of it fits into the second cache
	MOST_COLUMNS = 1024, // along an axis: then columns are wider
	FARTHEST = 1 << 20,  // cells from the origin: spheres beyond count as there
	DIGIT = 11,          // bits, by which keys are sorted at once
};

void grain_columns_free(grain_columns *columns)
{
	free(columns->keys);
	free(columns->other);
	free(columns->cells);
	*columns = (grain_columns){ 0 };
}

static bool reserve(grain_columns *columns, const grain_spheres *spheres)
{
	if (spheres->count > columns->room) {
		columns->room = spheres->count + spheres->count / 8 + 64;
		free(columns->cells);
		columns->cells = malloc((size_t)columns->room * sizeof *columns->cells);
	}
	if (spheres->own > columns->own_room) {
		columns->own_room = spheres->own + spheres->own / 8 + 64;
		free(columns->keys);
		free(columns->other);
		columns->keys = malloc((size_t)columns->own_room * sizeof *columns->keys);
		columns->other = malloc((size_t)columns->own_room * sizeof *columns->other);
	}
	const bool lacks = (columns->room > 0 && !columns->cells) || (columns->own_room > 0 && (!columns->keys || !columns->other));
	if (lacks)
		grain_columns_free(columns);
	return !lacks;
}

/// The cell of a coordinate, of those of space.
static int64_t find_cell(double at, double per)
{
	const double cell = at * per, inside = cell > -FARTHEST ? cell : -FARTHEST;
	const int64_t whole = (int64_t)(inside < FARTHEST ? inside : FARTHEST);
	return whole - (whole > inside);
}

/// The mean radius of own spheres; 1 if they have none.
static double find_mean(const grain_spheres *spheres)
{
	double sum = 0;
	for (int64_t i = 0; i < spheres->own; i++)
		sum += spheres->radii[i];
	return sum > 0 ? sum / (double)spheres->own : 1;
}

/// Cells of all spheres in the order of z, y and x. They are a mean diameter wide.
static void find_cells(grain_columns *columns, const grain_spheres *spheres)
{
	const double mean = find_mean(spheres), per = 0.5 / mean;
	columns->large = LARGE * mean;
	for (int axis = 0; axis < 3; axis++) {
		double low = 0, high = 0;
		for (int64_t i = 0; i < spheres->count; i++) {
			const double at = spheres->centres[3 * i + axis];
			low = i == 0 || at < low ? at : low;
			high = i == 0 || at > high ? at : high;
		}
		columns->low[axis] = find_cell(low, per);
		columns->size[axis] = (uint64_t)(find_cell(high, per) - columns->low[axis] + 1);
	}
	for (int64_t i = 0; i < spheres->count; i++) {
		uint64_t cell = 0;
		for (int axis = 2; axis >= 0; axis--)
			cell = cell * columns->size[axis] + (uint64_t)(find_cell(spheres->centres[3 * i + axis], per) - columns->low[axis]);
		columns->cells[i] = cell;
	}
}

/// How many columns lie along an axis, and how many cells wide they are.
static uint64_t count_columns(uint64_t cells, uint64_t *width)
{
	uint64_t count = (cells + WIDTH - 1) / WIDTH;
	count = count < MOST_COLUMNS ? count : MOST_COLUMNS;
	*width = (cells + count - 1) / count;
	return count;
}

/// Columns of own spheres. Returns how many there may be.
static uint64_t find_columns(grain_columns *columns, const grain_spheres *spheres)
{
	const uint64_t *const size = columns->size;
	uint64_t width_x, width_y;
	const uint64_t across = count_columns(size[0], &width_x), count = across * count_columns(size[1], &width_y);
	for (int64_t i = 0; i < spheres->own; i++) {
		const uint64_t cell = columns->cells[i], x = cell % size[0], y = cell / size[0] % size[1];
		columns->keys[i] = (grain_key){ cell, (uint32_t)i, (uint32_t)(y / width_y * across + x / width_x) };
	}
	return count;
}

/// Sort by some bits of the cell, or by some of the column; what is equal there keeps its order.
static void sort_digit(const grain_key *from, grain_key *to, int64_t count, int shift, bool column)
{
	int64_t first[(1 << DIGIT) + 1] = { 0 };
	const uint64_t mask = (1 << DIGIT) - 1;
	for (int64_t i = 0; i < count; i++)
		first[((column ? from[i].column : from[i].cell) >> shift & mask) + 1]++;
	for (uint64_t d = 0; d < mask; d++)
		first[d + 1] += first[d];
	for (int64_t i = 0; i < count; i++)
		to[first[(column ? from[i].column : from[i].cell) >> shift & mask]++] = from[i];
}

/// Sort by all digits of numbers up to `most`.
static void sort_digits(grain_key *keys, grain_key *other, int64_t count, uint64_t most, bool column)
{
	for (int shift = 0; shift < 64 && most >> shift > 0; shift += DIGIT) {
		sort_digit(keys, other, count, shift, column);
		memcpy(keys, other, (size_t)count * sizeof *keys);
	}
}

void grain_columns_sort(const grain_columns *columns, grain_key *keys, grain_key *other, int64_t count)
{
	sort_digits(keys, other, count, columns->size[0] * columns->size[1] * columns->size[2] - 1, false);
}

bool grain_columns_cut(grain_columns *columns, const grain_spheres *spheres)
{
	if (!reserve(columns, spheres))
		return false;
	find_cells(columns, spheres);
	if (spheres->own == 0)
		return true;
	const uint64_t count = find_columns(columns, spheres);
	grain_columns_sort(columns, columns->keys, columns->other, spheres->own);
	sort_digits(columns->keys, columns->other, spheres->own, count - 1, true);
	return true;
}

size_t grain_columns_bytes(const grain_columns *columns)
{
	return (size_t)columns->room * sizeof *columns->cells + 2 * (size_t)columns->own_room * sizeof *columns->keys;
}
