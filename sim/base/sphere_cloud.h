/// @file sphere_cloud.h
/// Spheres in somebody's memory, to be written or drawn.
#ifndef SIM_SPHERE_CLOUD_H
#define SIM_SPHERE_CLOUD_H

#include "carom/mesh.h"

#include <string.h>

/// count spheres. Nothing is owned; data may be NULL where the comment says so.
typedef struct sim_sphere_cloud {
	int64_t count;            ///< 0 to 2^32 - 16
	carom_strided centres;    ///< x, y, z of each
	carom_strided radii;      ///< one value each
	carom_strided velocities; ///< x, y, z of each; data NULL: none
	/// [count] names that stay when the spheres are re-ordered; NULL: the index
	const uint32_t *ids;
} sim_sphere_cloud;

/// The number that colours spheres in a picture.
typedef enum sim_sphere_color {
	SIM_COLOR_ID,     ///< by id, or by the group of the id
	SIM_COLOR_SPEED,  ///< length of the velocity
	SIM_COLOR_RADIUS, ///< radius
} sim_sphere_color;

/// The components first numbers of element i of an array whose packed elements have as many.
static inline void sim_cloud_read(const carom_strided *array, int components, int64_t i, double *values)
{
	const bool wide = array->type == CAROM_FLOAT64;
	const int64_t packed = components * (int64_t)(wide ? sizeof(double) : sizeof(float));
	const char *element = (const char *)array->data + i * (array->stride ? array->stride : packed);
	if (wide) {
		memcpy(values, element, (size_t)packed);
		return;
	}
	float narrow[3];
	memcpy(narrow, element, (size_t)packed);
	for (int k = 0; k < components; ++k)
		values[k] = narrow[k];
}

/// The name of sphere i.
static inline uint32_t sim_cloud_id(const sim_sphere_cloud *cloud, int64_t i)
{
	return cloud->ids ? cloud->ids[i] : (uint32_t)i;
}

#endif
