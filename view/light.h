/// @file light.h
/// The common part of all pictures: colours of sun, sky and ground, the checkered pattern, the
/// workers that draw.
#ifndef VIEW_LIGHT_H
#define VIEW_LIGHT_H

#include "view/view.h"

/// A colour or an amount of light, linear, not clamped.
typedef struct view_color {
	double r, g, b;
} view_color;

// Light that falls on a white surface: from the sun, from the sky above, from the ground below; and
// the colours of the sky.
static const view_color VIEW_SUNLIGHT = { 1.02, 0.94, 0.80 };
static const view_color VIEW_SKYLIGHT = { 0.34, 0.40, 0.50 };
static const view_color VIEW_BOUNCE = { 0.16, 0.145, 0.125 };
static const view_color VIEW_HORIZON = { 0.76, 0.83, 0.90 };
static const view_color VIEW_ZENITH = { 0.22, 0.41, 0.72 };

/// From a (weight 0) to b (weight 1).
static inline view_color view_mix_colors(view_color a, view_color b, double weight)
{
	return (view_color){ a.r + weight * (b.r - a.r), a.g + weight * (b.g - a.g), a.b + weight * (b.b - a.b) };
}

/// The sky in a unit direction.
static inline view_color view_sky_color(const view_frame *view, carom_vec3 direction)
{
	const double height = fmax(sim_dot(direction, view->up), 0);
	return view_mix_colors(VIEW_HORIZON, VIEW_ZENITH, sqrt(height));
}

/// A checkerboard of -1 and 1 on the plane through the origin, averaged over a square window, so
/// that it fades to 0 in the distance instead of flickering.
double view_checker(carom_vec3 point, carom_vec3 normal, double cell, double window);

/// The side of the squares of the ground: the largest of 1, 2 and 5 times a power of ten that is
/// not above a twelfth of the distance to the target of the view.
double view_checker_cell(const view_frame *view);

/// The unit direction towards the sun: asked, or, where that is zero, over the viewer's left
/// shoulder.
carom_vec3 view_sun_direction(const view_frame *view, carom_vec3 asked);

/// A linear part of colour, clamped to 0..1, with the gamma of sRGB (IEC 61966-2-1).
uint8_t view_encode_gamma(double linear);

/// Side of the square of samples in a pixel: of 1, 4, 9 or 16 samples; 0 for other numbers.
int view_sample_side(int samples);

/// Make a context whose workers draw. threads: 0: one for each core. Returns NULL where memory is
/// short: view_run_pieces takes it.
carom_context *view_create_workers(int threads);

/// Call work(begin, end, worker, job) over the pieces 0..count-1 on all workers and return when all
/// are done. NULL: on this thread alone.
void view_run_pieces(carom_context *workers, int64_t count, carom_task_fn *work, void *job);

#endif
