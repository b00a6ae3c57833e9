/// @file light.h
/// The common part of all pictures: colours of sun, sky and ground, the checkered pattern, the
/// workers that draw.
#ifndef SIM_LIGHT_H
#define SIM_LIGHT_H

#include "view/view.h"

/// A colour or an amount of light, linear, not clamped.
typedef struct sim_color {
	double r, g, b;
} sim_color;

// Light that falls on a white surface: from the sun, from the sky above, from the ground below; and
// the colours of the sky.
static const sim_color SIM_SUNLIGHT = { 1.02, 0.94, 0.80 };
static const sim_color SIM_SKYLIGHT = { 0.34, 0.40, 0.50 };
static const sim_color SIM_BOUNCE = { 0.16, 0.145, 0.125 };
static const sim_color SIM_HORIZON = { 0.76, 0.83, 0.90 };
static const sim_color SIM_ZENITH = { 0.22, 0.41, 0.72 };

/// From a (weight 0) to b (weight 1).
static inline sim_color sim_mix_colors(sim_color a, sim_color b, double weight)
{
	return (sim_color){ a.r + weight * (b.r - a.r), a.g + weight * (b.g - a.g), a.b + weight * (b.b - a.b) };
}

/// The sky in a unit direction.
static inline sim_color sim_sky_color(const sim_view *view, carom_vec3 direction)
{
	const double height = fmax(sim_dot(direction, view->up), 0);
	return sim_mix_colors(SIM_HORIZON, SIM_ZENITH, sqrt(height));
}

/// A checkerboard of -1 and 1 on the plane through the origin, averaged over a square window, so
/// that it fades to 0 in the distance instead of flickering.
double sim_checker(carom_vec3 point, carom_vec3 normal, double cell, double window);

/// The side of the squares of the ground: the largest of 1, 2 and 5 times a power of ten that is
/// not above a twelfth of the distance to the target of the view.
double sim_checker_cell(const sim_view *view);

/// The unit direction towards the sun: asked, or, where that is zero, over the viewer's left
/// shoulder.
carom_vec3 sim_sun_direction(const sim_view *view, carom_vec3 asked);

/// A linear part of colour, clamped to 0..1, with the gamma of sRGB (IEC 61966-2-1).
uint8_t sim_encode_gamma(double linear);

/// Side of the square of samples in a pixel: of 1, 4, 9 or 16 samples; 0 for other numbers.
int sim_sample_side(int samples);

/// Make a context whose workers draw. threads: 0: one for each core. Returns NULL where memory is
/// short: sim_run_pieces takes it.
carom_context *sim_create_workers(int threads);

/// Call work(begin, end, worker, job) over the pieces 0..count-1 on all workers and return when all
/// are done. NULL: on this thread alone.
void sim_run_pieces(carom_context *workers, int64_t count, carom_task_fn *work, void *job);

#endif
