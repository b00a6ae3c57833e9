// Mass properties of a closed mesh from integrals over its faces (Eberly, Polyhedral Mass
// Properties, 2002), in double. The integrals are taken about the mean of the corners, so that a
// mesh far from its origin loses nothing.
#include "mesh/topology.h"
#include <string.h>

// Integrals over the solid: volume; first moments x, y, z; second moments xx, yy, zz, xy, yz, zx.
typedef struct moments {
	double volume;
	double first[3];
	double square[3];
	double mixed[3];
} moments;

// The three sums of one axis and the three weights that the mixed moments need (Eberly's f1..f3,
// g0..g2).
typedef struct face_sums {
	double f1, f2, f3, g[3];
} face_sums;

static face_sums sums_of(double w0, double w1, double w2)
{
	face_sums s;
	double pair = w0 + w1, square = w0 * w0, both = square + w1 * pair;
	s.f1 = pair + w2;
	s.f2 = both + w2 * s.f1;
	s.f3 = w0 * square + w1 * both + w2 * s.f2;
	s.g[0] = s.f2 + w0 * (s.f1 + w0);
	s.g[1] = s.f2 + w1 * (s.f1 + w1);
	s.g[2] = s.f2 + w2 * (s.f1 + w2);
	return s;
}

static void add_face(moments *sum, const v3d corner[3])
{
	v3d d = v3d_cross(v3d_sub(corner[1], corner[0]), v3d_sub(corner[2], corner[0]));
	double volume = 0;
	for (int axis = 0; axis < 3; axis++) {
		int other = (axis + 1) % 3;
		face_sums s = sums_of(v3d_get(corner[0], axis), v3d_get(corner[1], axis), v3d_get(corner[2], axis));
		double weight = v3d_get(d, axis);
		volume += axis == 0 ? weight * s.f1 : 0;
		sum->first[axis] += weight * s.f2;
		sum->square[axis] += weight * s.f3;
		sum->mixed[axis] += weight *
			(v3d_get(corner[0], other) * s.g[0] + v3d_get(corner[1], other) * s.g[1] + v3d_get(corner[2], other) * s.g[2]);
	}
	sum->volume += volume;
}

static v3d corner_of(const cr_topology *topology, int32_t triangle, int k)
{
	return v3d_from_floats(topology->vertices + 3 * (int64_t)topology->triangles[3 * (int64_t)triangle + k]);
}

static v3d mean_corner(const cr_topology *topology)
{
	v3d sum = { 0, 0, 0 };
	double count = 0;
	for (int32_t triangle = 0; triangle < topology->triangle_count; triangle++) {
		for (int k = 0; topology->used[triangle] && k < 3; k++) {
			sum = v3d_add(sum, corner_of(topology, triangle, k));
			count++;
		}
	}
	return count > 0 ? v3d_scale(sum, 1 / count) : sum;
}

// Moments about the origin to the tensor about the centre.
static void inertia_of(const moments *sum, const double centre[3], double inertia[6])
{
	double square[3], mixed[3];
	for (int axis = 0; axis < 3; axis++) {
		int other = (axis + 1) % 3;
		square[axis] = sum->square[axis] / 60 - sum->volume * centre[axis] * centre[axis];
		mixed[axis] = sum->mixed[axis] / 120 - sum->volume * centre[axis] * centre[other];
	}
	inertia[0] = square[1] + square[2];
	inertia[1] = square[2] + square[0];
	inertia[2] = square[0] + square[1];
	inertia[3] = -mixed[0];
	inertia[4] = -mixed[2];
	inertia[5] = -mixed[1];
}

void cr_topology_mass(const cr_topology *topology, carom_mass *mass)
{
	memset(mass, 0, sizeof *mass);
	v3d origin = mean_corner(topology);
	mass->centre = origin;
	moments sum;
	memset(&sum, 0, sizeof sum);
	for (int32_t triangle = 0; triangle < topology->triangle_count; triangle++) {
		if (topology->used[triangle]) {
			v3d corner[3];
			for (int k = 0; k < 3; k++) {
				corner[k] = v3d_sub(corner_of(topology, triangle, k), origin);
			}
			add_face(&sum, corner);
		}
	}
	sum.volume /= 6;
	if (sum.volume <= 0) {
		return; // no solid: no mass, and no centre to divide for
	}
	double centre[3];
	for (int axis = 0; axis < 3; axis++) {
		centre[axis] = sum.first[axis] / (24 * sum.volume);
	}
	mass->mass = sum.volume;
	mass->centre = v3d_add(origin, v3d_make(centre[0], centre[1], centre[2]));
	inertia_of(&sum, centre, mass->inertia);
}
