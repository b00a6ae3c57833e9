/// A second opinion on the intersection of two triangles: CGAL's predicates, filtered and exact. Built where CGAL is found.

#include "carom/math.h"

#include <CGAL/Exact_predicates_inexact_constructions_kernel.h>
#include <CGAL/Triangle_3.h>

using Kernel = CGAL::Exact_predicates_inexact_constructions_kernel;

static Kernel::Triangle_3 make_triangle(const carom_vec3 c[3])
{
	return { { c[0].x, c[0].y, c[0].z }, { c[1].x, c[1].y, c[1].z }, { c[2].x, c[2].y, c[2].z } };
}

/// Declared in oracle.h, which is C only.
extern "C" bool oracle_cgal_triangles_intersect(const carom_vec3 a[3], const carom_vec3 b[3])
{
	return CGAL::do_intersect(make_triangle(a), make_triangle(b));
}
