/// @file view.h
/// A camera made ready to turn pixels into rays and points into pixels, and the few operations on vectors that pictures need.
#ifndef SIM_VIEW_H
#define SIM_VIEW_H

#include "sim/renderer.h"

#include <math.h>

static inline carom_vec3 sim_add(carom_vec3 a, carom_vec3 b) { return (carom_vec3){ a.x + b.x, a.y + b.y, a.z + b.z }; }

static inline carom_vec3 sim_subtract(carom_vec3 a, carom_vec3 b) { return (carom_vec3){ a.x - b.x, a.y - b.y, a.z - b.z }; }

static inline carom_vec3 sim_scale(carom_vec3 a, double factor)
{
	return (carom_vec3){ a.x * factor, a.y * factor, a.z * factor };
}

static inline double sim_dot(carom_vec3 a, carom_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static inline carom_vec3 sim_cross(carom_vec3 a, carom_vec3 b)
{
	return (carom_vec3){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}

static inline double sim_length(carom_vec3 a) { return sqrt(sim_dot(a, a)); }

/// a at length 1; zero stays zero.
static inline carom_vec3 sim_normalize(carom_vec3 a)
{
	const double length = sim_length(a);
	return length > 0 ? sim_scale(a, 1 / length) : a;
}

/// Two unit vectors that with the unit vector n make a right-handed frame (first, second, n); x and y for n = z.
static inline void sim_tangents(carom_vec3 n, carom_vec3 *first, carom_vec3 *second)
{
	const carom_vec3 axis = fabs(n.x) < 0.9 ? (carom_vec3){ 1, 0, 0 } : (carom_vec3){ 0, 1, 0 };
	*second = sim_normalize(sim_cross(n, axis));
	*first = sim_cross(*second, n);
}

/// A camera with its frame: right, down and forward are unit vectors.
typedef struct sim_view {
	carom_vec3 position;
	carom_vec3 right, down, forward;
	carom_vec3 up;    ///< the camera's, unit: away from the ground
	double distance;  ///< from the position to the target
	double pixel;     ///< side of a pixel at distance 1 in front of the camera
	double centre[2]; ///< the pixel position of the line of sight
} sim_view;

/// Make a view of width x height pixels. False, with the reason in error, when the camera cannot be used (see sim_camera).
bool sim_make_view(const sim_camera *camera, int width, int height, sim_view *view, char *error, size_t error_size);

/// The unit direction of the ray through pixel position (x, y); (0, 0) is the top left corner of the picture.
static inline carom_vec3 sim_view_direction(const sim_view *view, double x, double y)
{
	const carom_vec3 across = sim_scale(view->right, (x - view->centre[0]) * view->pixel);
	const carom_vec3 along = sim_scale(view->down, (y - view->centre[1]) * view->pixel);
	return sim_normalize(sim_add(view->forward, sim_add(across, along)));
}

/// The pixel position of a point. False when it is not in front of the camera.
static inline bool sim_view_project(const sim_view *view, carom_vec3 point, double *x, double *y)
{
	const carom_vec3 d = sim_subtract(point, view->position);
	const double depth = sim_dot(d, view->forward);
	if (depth < 1e-6 * view->distance)
		return false;
	*x = view->centre[0] + sim_dot(d, view->right) / (depth * view->pixel);
	*y = view->centre[1] + sim_dot(d, view->down) / (depth * view->pixel);
	return true;
}

#endif
