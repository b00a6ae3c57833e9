// Light, patterns and workers of pictures.
#include "view/light.h"

/// Inigo Quilez, "Box filtering checkers", 2014: the integral of the pattern is a triangle wave.
double view_checker(carom_vec3 point, carom_vec3 normal, double cell, double window)
{
	carom_vec3 first, second;
	sim_tangents(normal, &first, &second);
	const double at[2] = { sim_dot(point, first) / cell, sim_dot(point, second) / cell };
	const double w = fmax(window / cell, 1e-4);
	double product = 1;
	for (int i = 0; i < 2; ++i) {
		const double low = 0.5 * (at[i] - 0.5 * w), high = 0.5 * (at[i] + 0.5 * w);
		product *= 2 * (fabs(low - floor(low) - 0.5) - fabs(high - floor(high) - 0.5)) / w;
	}
	return product;
}

double view_checker_cell(const view_frame *view)
{
	const double size = view->distance / 12;
	const double power = pow(10, floor(log10(size)));
	const double digit = size / power;
	return power * (digit >= 5 ? 5 : (digit >= 2 ? 2 : 1));
}

carom_vec3 view_sun_direction(const view_frame *view, carom_vec3 asked)
{
	if (sim_length(asked) > 0)
		return sim_normalize(asked);
	const carom_vec3 level = sim_normalize(sim_cross(view->up, view->right));
	const carom_vec3 sideways = sim_add(sim_scale(view->right, -0.75), sim_scale(level, -0.35));
	return sim_normalize(sim_add(sideways, view->up));
}

uint8_t view_encode_gamma(double linear)
{
	const double c = fmin(fmax(linear, 0), 1);
	return (uint8_t)(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1 / 2.4) - 0.055) + 0.5);
}

int view_sample_side(int samples)
{
	for (int side = 1; side <= 4; ++side) {
		if (side * side == samples)
			return side;
	}
	return 0;
}

carom_context *view_create_workers(int threads)
{
	enum { MOST_THREADS = 256 }; // of a context
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads < MOST_THREADS ? threads : MOST_THREADS;
	carom_context *workers = NULL;
	carom_create_context(&def, &workers);
	return workers;
}

void view_run_pieces(carom_context *workers, int64_t count, carom_task_fn *work, void *job)
{
	if (workers)
		carom_parallel_for(workers, work, count, 1, job);
	else if (count > 0)
		work(0, count, 0, job);
}
