/// The centre of a mesh that lies far from the origin of its coordinates (carom_mesh_def.centre).
///
/// A float has 24 bits. Of a mesh whose box has half the size s and its middle at m, the float of a
/// coordinate spends log2(m / s) of them on where the mesh is. The rule: an axis gets the middle of
/// the box where that is more than FAR sizes from 0, and 0 otherwise.
///
/// Nothing is lost then, since c / 2 <= v <= 2 c for all vertices v and the centre c, and the
/// difference of two such doubles is exact (Sterbenz, Floating-Point Computation, 1974). The centre
/// is rounded to a multiple of a power of two near s / 4, which keeps it short to write.
#include "mesh/strided.h"
#include "mesh/topology.h"
#include <math.h>

static const double FAR = 16;

typedef struct span {
	double lower[3], upper[3];
	int64_t count; // of vertices in it
} span;

/// The box of the vertices that are finite.
static span find_span(const carom_strided *vertices, int32_t count)
{
	span s = { .lower = { INFINITY, INFINITY, INFINITY }, .upper = { -INFINITY, -INFINITY, -INFINITY } };
	for (int32_t i = 0; i < count; i++) {
		double p[3];
		cr_read_vertex(vertices, i, p);
		if (!isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2]))
			continue;
		s.count++;
		for (int k = 0; k < 3; k++) {
			s.lower[k] = fmin(s.lower[k], p[k]);
			s.upper[k] = fmax(s.upper[k], p[k]);
		}
	}
	return s;
}

/// The largest half side of the box.
static double size_of(const span *s)
{
	double size = 0;
	for (int k = 0; k < 3; k++)
		size = fmax(size, 0.5 * s->upper[k] - 0.5 * s->lower[k]);
	return size;
}

static double centre_of(double lower, double upper, double size)
{
	const double middle = 0.5 * lower + 0.5 * upper;
	if (!(fabs(middle) > FAR * size))
		return 0;
	if (size == 0)
		return middle;
	const double step = ldexp(1, ilogb(size) - 2), rounded = step * rint(middle / step);
	return isfinite(rounded) ? rounded : middle;
}

carom_result carom_find_mesh_centre(carom_context *context, const carom_strided *vertices, int32_t count, carom_vec3 *centre)
{
	static const char *const name = "carom_find_mesh_centre";
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!centre)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: centre is NULL", name);
	*centre = (carom_vec3){ 0, 0, 0 };
	if (!vertices)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: vertices is NULL", name);
	if (count < 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: count is %d, below 0", name, (int)count);
	const carom_result result = cr_check_strided(context, "carom_find_mesh_centre: vertices", vertices, count, "vertices", 3);
	if (result != CAROM_SUCCESS)
		return result;
	const span s = find_span(vertices, count);
	if (s.count == 0)
		return CAROM_SUCCESS;
	const double size = size_of(&s);
	*centre = (carom_vec3){ centre_of(s.lower[0], s.upper[0], size), centre_of(s.lower[1], s.upper[1], size),
		centre_of(s.lower[2], s.upper[2], size) };
	return CAROM_SUCCESS;
}
