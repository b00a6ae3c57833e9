/// @file view.h
/// A camera made ready to turn pixels into rays and points into pixels.
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include "sim/base/sim_error.h"
#include "sim/base/vectors.h"
#include "view/renderer.h"

/// A camera with its frame: right, down and forward are unit vectors.
typedef struct view_frame {
	carom_vec3 position;
	carom_vec3 right, down, forward;
	carom_vec3 up;    ///< the camera's, unit: away from the ground
	double distance;  ///< from the position to the target
	double pixel;     ///< side of a pixel at distance 1 in front of the camera
	double centre[2]; ///< the pixel position of the line of sight
} view_frame;

/// Make a view of width x height pixels. False, with the reason in error, when the camera cannot be
/// used (see view_camera).
bool view_make_frame(const view_camera *camera, int width, int height, view_frame *view, sim_error *error);

/// The unit direction of the ray through pixel position (x, y); (0, 0) is the top left corner of
/// the picture.
static inline carom_vec3 view_direction(const view_frame *view, double x, double y)
{
	const carom_vec3 across = sim_scale(view->right, (x - view->centre[0]) * view->pixel);
	const carom_vec3 along = sim_scale(view->down, (y - view->centre[1]) * view->pixel);
	return sim_normalize(sim_add(view->forward, sim_add(across, along)));
}

/// The pixel position of a point. False when it is not in front of the camera.
static inline bool view_project(const view_frame *view, carom_vec3 point, double *x, double *y)
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
