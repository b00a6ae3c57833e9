/// Wide search of points and normals of a hull. Compiled once for each instruction set (CR_ISA).
///
/// Each product with the direction is x dx + y dy + z dz in this order, as v3d_dot has it, so that
/// the search finds the vector that a loop finds. A loop branches on each vector that is farther,
/// and processors foretell a few of these branches wrongly. Here each chunk has one branch.

#include "geom/hull_isa.h"

enum { CHUNK = 4 }; // blocks

static inline d8 along_block(const double *rows, const d8 d[3])
{
	const d8 x = d8_mul(d8_load(rows), d[0]), y = d8_mul(d8_load(rows + CR_ROW_WIDTH), d[1]),
			 z = d8_mul(d8_load(rows + 2 * CR_ROW_WIDTH), d[2]);
	return d8_add(d8_add(x, y), z);
}

static inline double highest(d8 a)
{
	double v[CR_ROW_WIDTH];
	d8_store(v, a);
	for (int half = CR_ROW_WIDTH / 2; half > 0; half /= 2) {
		for (int i = 0; i < half; i++)
			v[i] = v[i] > v[i + half] ? v[i] : v[i + half];
	}
	return v[0];
}

/// The first lane of at most four blocks that is not below most; 0 where all are.
static inline int32_t first_of(const d8 *along, int32_t count, double most)
{
	const d8 level = d8_set1(most);
	uint32_t above = 0;
	for (int32_t i = 0; i < count; i++)
		above |= (~d8_lt(along[i], level) & 0xff) << (CR_ROW_WIDTH * i);
	return above ? __builtin_ctz(above) : 0;
}

static int32_t farthest(const double *rows, int32_t blocks, const double d[3])
{
	const d8 direction[3] = { d8_set1(d[0]), d8_set1(d[1]), d8_set1(d[2]) };
	double most = -(double)INFINITY;
	int32_t best = 0;
	for (int32_t first = 0; first < blocks; first += CHUNK) {
		const int32_t count = blocks - first < CHUNK ? blocks - first : CHUNK;
		d8 along[CHUNK];
		d8 top = along[0] = along_block(rows + (int64_t)CR_ROW_DOUBLES * first, direction);
		for (int32_t i = 1; i < count; i++) {
			along[i] = along_block(rows + (int64_t)CR_ROW_DOUBLES * (first + i), direction);
			top = d8_max(along[i], top);
		}
		const double reached = highest(top);
		if (reached > most) {
			most = reached;
			best = CR_ROW_WIDTH * first + first_of(along, count, most);
		}
	}
	return best;
}

const cr_hull_kernels CR_ISA_NAME(cr_hull_kernels) = { farthest };
