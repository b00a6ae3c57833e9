/// @file sphere_picture.h
/// Pictures of many spheres: up to tens of millions in seconds, with the light, the ground and the
/// band of text of all our pictures (view/renderer.h).
///
/// Each sphere is projected once to a buffer of the nearest sphere at each sample, and once to a
/// map of the sun's view. At every sample that a sphere covers, depth and normal are those of the
/// exact sphere; a sphere smaller than a sample is met as often as its area says, so that dust
/// looks like dust. Surfaces that others stand close to get less light of the sky (Mittring,
/// Finding Next Gen: CryEngine 2, 2007).
#ifndef VIEW_SPHERE_PICTURE_H
#define VIEW_SPHERE_PICTURE_H

#include "sim/base/sim_error.h"
#include "view/renderer.h"
#include "sim/base/sphere_cloud.h"

/// The settings of a picture. Start from view_default_sphere_picture.
typedef struct view_sphere_picture_options {
	int width;   ///< pixels, 1280 at first
	int height;  ///< pixels, 720 at first
	int samples; ///< in each pixel: 1, 4 (at first), 9 or 16; each takes 8 bytes
	int threads; ///< 0 (at first): one for each core; the picture does not depend on it
	sim_sphere_color color;
	/// [group_count] with SIM_COLOR_ID: rising ids; those from one to before the next have one
	/// colour.
	const uint32_t *groups;
	int32_t group_count; ///< 0 (at first): a colour for each id
	/// Speed or radius of the first and the last colour; both 0 (at first): speeds from 0 to the
	/// largest, radii from the least to the largest.
	double lowest, highest;
	bool draw_box; ///< draw the edges of box (false at first)
	carom_aabb box;
	bool draw_ground; ///< a checkered ground (false at first)
	double ground;    ///< its height along the camera's up
	/// direction towards the sun, any length; zero (at first): over the viewer's left shoulder
	carom_vec3 sun;
	const char *caption; ///< a line of text at the bottom, or NULL (at first)
} view_sphere_picture_options;

view_sphere_picture_options view_default_sphere_picture(void);

/// The box around the spheres. False when there are none.
bool view_bounds_of_spheres(const sim_sphere_cloud *cloud, carom_aabb *box);

/// Draw the spheres. *image is made here (free it with view_destroy_image). False, with the reason
/// in error, when an option or the camera cannot be used or memory is short; *image is empty then.
/// Thread-safe.
bool view_draw_spheres(const sim_sphere_cloud *cloud, const view_camera *camera, const view_sphere_picture_options *options,
	view_image *image, sim_error *error);

#endif
