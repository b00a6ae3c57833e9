// Pictures of a world. A first pass casts one ray through the middle of each pixel; a second
// replaces the pixels that differ from a neighbour by the mean of several samples. Workers take
// tiles and write each pixel once, and the colour depends on nothing but the pixel: the picture is
// the same for any number of threads.
#include "view/renderer.h"
#include "sim/base/rotations.h"
#include "view/light.h"
#include "view/overlay.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 32 };

// All that a worker reads, and the state that the workers share.
typedef struct render_job {
	const carom_world *world;
	const view_picture_options *options;
	view_frame view;
	carom_vec3 sun;
	double cell;            // side of the squares of the ground
	double fade;            // distance at which the ground melts into the sky
	const view_image *base; // the first pass while the second runs, else NULL
	view_image *image;
	carom_context *workers;
	atomic_bool failed; // the world refused a query
	// What rays from the eye see, and what stops light; NULL where all bodies are solid.
	const carom_query_filter *seen, *shading;
} render_job;

// Surfaces that a ray from the eye passes before the rest is left out.
enum { MOST_LAYERS = 16 };

// ---- Bodies that can be seen through ----

static float clear_of(const view_picture_options *options, carom_body_id body, int32_t shape)
{
	const int index = (int)body.index1 - 1 + shape;
	return options->looks && index < options->look_count ? options->looks[index].clear : 0;
}

static bool is_seen(carom_body_id body, int32_t shape, uint64_t user_data, void *user)
{
	(void)user_data;
	return clear_of(user, body, shape) < 1;
}

static bool is_solid(carom_body_id body, int32_t shape, uint64_t user_data, void *user)
{
	(void)user_data;
	return clear_of(user, body, shape) == 0;
}

static bool has_clear_bodies(const view_picture_options *options)
{
	for (int i = 0; options->looks && i < options->look_count; ++i) {
		if (options->looks[i].clear > 0)
			return true;
	}
	return false;
}

// ---- Surfaces ----

// A point to be shaded: its look, the normal to shade with, and where its shadow ray starts.
typedef struct surface {
	view_look look;
	carom_vec3 normal;
	carom_vec3 shadow_origin;
} surface;

/// The pose of the shape that was hit: of the body, or of its part.
static bool find_pose(const carom_world *world, const carom_ray_hit *hit, carom_pose *pose)
{
	carom_body_def def;
	if (carom_world_get_body_def(world, hit->body, &def) != CAROM_SUCCESS)
		return false;
	*pose = def.pose;
	if (def.part_count == 0)
		return true;
	const carom_pose *part = &def.parts[hit->shape].pose;
	pose->position = carom_transform_point(def.pose, part->position);
	pose->orientation = sim_multiply(def.pose.orientation, part->orientation);
	return true;
}

/// Interpolate the corner normals, and lift the origin of the shadow ray from the flat triangle to
/// the curved surface that they pretend: else the border of a body's own shadow shows its
/// triangles. Hanika, "Hacking the shadow terminator", Ray Tracing Gems II, 2021. Seen from inside
/// (side -1) the curved surface lies on the side of the inside, or the origin would be shaded by
/// the triangle itself.
static bool smooth_surface(const render_job *job, const carom_ray_hit *hit, double side, surface *s)
{
	carom_pose pose;
	if (!find_pose(job->world, hit, &pose))
		return false;
	const view_smooth_mesh *smooth = s->look.surface;
	const float *normals = smooth->normals + 9 * (size_t)hit->triangle;
	const int32_t *corners = carom_mesh_get_triangles(smooth->mesh) + 3 * (size_t)hit->triangle;
	const double weights[3] = { 1.0 - hit->u - hit->v, hit->u, hit->v };
	const carom_vec3 point = carom_inverse_transform_point(pose, hit->point);
	carom_vec3 normal = { 0, 0, 0 }, lift = { 0, 0, 0 };
	for (int i = 0; i < 3; ++i) {
		const float *v = carom_mesh_get_vertices(smooth->mesh) + 3 * (size_t)corners[i];
		const carom_vec3 n = { normals[3 * i], normals[3 * i + 1], normals[3 * i + 2] };
		const double below = side * sim_dot(sim_subtract(point, (carom_vec3){ v[0], v[1], v[2] }), n);
		normal = sim_add(normal, sim_scale(n, weights[i]));
		lift = sim_add(lift, sim_scale(n, -side * weights[i] * fmin(below, 0)));
	}
	normal = carom_rotate(pose.orientation, normal);
	if (sim_dot(normal, hit->normal) > 0)
		s->normal = sim_normalize(normal);
	s->shadow_origin = sim_add(hit->point, carom_rotate(pose.orientation, lift));
	return true;
}

static bool find_surface(const render_job *job, const carom_ray_hit *hit, double distance, surface *s)
{
	const int index = (int)hit->body.index1 - 1 + hit->shape;
	const bool known = job->options->looks && index < job->options->look_count;
	s->look = known ? job->options->looks[index] : view_make_look(CAROM_MESH, CAROM_DYNAMIC, index);
	s->normal = hit->normal;
	s->shadow_origin = hit->point;
	const double side = hit->back_face ? -1 : 1;
	if (s->look.surface && !smooth_surface(job, hit, side, s))
		return false;
	// The inside of a surface is lit like its outside. Rounding must not put the origin behind the
	// surface.
	s->normal = sim_scale(s->normal, side);
	s->shadow_origin = sim_add(s->shadow_origin, sim_scale(hit->normal, side * 1e-5 * distance));
	return true;
}

/// The part of the sun's light that arrives: 0 in shadow, else the cosine to the normal.
static bool sun_part(const render_job *job, const surface *s, double *part)
{
	*part = fmax(sim_dot(s->normal, job->sun), 0);
	if (*part == 0)
		return true;
	const carom_ray ray = { s->shadow_origin, job->sun, 0, 1e3 * job->view.distance };
	bool shadow;
	if (carom_world_cast_ray_any(job->world, &ray, job->shading, &shadow) != CAROM_SUCCESS)
		return false;
	if (shadow)
		*part = 0;
	return true;
}

static bool shade(const render_job *job, carom_vec3 direction, const carom_ray_hit *hit, view_color *result)
{
	surface s;
	double sun;
	if (!find_surface(job, hit, hit->t, &s) || !sun_part(job, &s, &sun))
		return false;
	double tone = 1;
	if (s.look.checker) {
		const double slope = fmax(fabs(sim_dot(direction, hit->normal)), 1e-3);
		tone += 0.09 * view_checker(hit->point, hit->normal, job->cell, hit->t * job->view.pixel / slope);
	}
	const view_color ambient = view_mix_colors(VIEW_BOUNCE, VIEW_SKYLIGHT, 0.5 + 0.5 * sim_dot(s.normal, job->view.up));
	const float *albedo = s.look.color;
	const view_color lit = { tone * albedo[0] * (ambient.r + sun * VIEW_SUNLIGHT.r),
		tone * albedo[1] * (ambient.g + sun * VIEW_SUNLIGHT.g), tone * albedo[2] * (ambient.b + sun * VIEW_SUNLIGHT.b) };
	const double far = hit->t / job->fade;
	*result = view_mix_colors(view_sky_color(&job->view, direction), lit, exp(-far * far));
	return true;
}

// ---- Pixels ----

static view_color trace(render_job *job, double x, double y)
{
	const carom_vec3 direction = view_direction(&job->view, x, y);
	carom_ray ray = { job->view.position, direction, 0, 10 * job->fade };
	view_color sum = { 0, 0, 0 };
	double left = 1; // of the light from behind the surfaces so far
	for (int layer = 0; layer < MOST_LAYERS && left > 0; ++layer) {
		bool found;
		carom_ray_hit hit = { 0 };
		view_color seen = view_sky_color(&job->view, direction);
		if (carom_world_cast_ray(job->world, &ray, job->seen, &found, &hit) != CAROM_SUCCESS ||
			(found && !shade(job, direction, &hit, &seen))) {
			atomic_store(&job->failed, true);
			return sum;
		}
		const double clear = found ? (double)clear_of(job->options, hit.body, hit.shape) : 0, part = left * (1 - clear);
		sum = (view_color){ sum.r + part * seen.r, sum.g + part * seen.g, sum.b + part * seen.b };
		left *= clear;
		ray.t_min = hit.t * (1 + 1e-6);
	}
	return sum;
}

static void sample_pixel(render_job *job, int x, int y, int side)
{
	view_color sum = { 0, 0, 0 };
	for (int i = 0; i < side * side; ++i) {
		// Clamped before the mean: a bright sample must not hide the others.
		const view_color c = trace(job, x + (i % side + 0.5) / side, y + (i / side + 0.5) / side);
		sum.r += fmin(c.r, 1);
		sum.g += fmin(c.g, 1);
		sum.b += fmin(c.b, 1);
	}
	uint8_t *pixel = view_image_pixel(job->image, x, y);
	const double share = 1.0 / (side * side);
	pixel[0] = view_encode_gamma(sum.r * share);
	pixel[1] = view_encode_gamma(sum.g * share);
	pixel[2] = view_encode_gamma(sum.b * share);
}

/// Does a pixel of the first pass differ from one beside it by more than the eye lets pass?
static bool on_edge(const view_image *base, int x, int y)
{
	const uint8_t *pixel = view_image_pixel(base, x, y);
	for (int j = y > 0 ? y - 1 : y; j <= y + 1 && j < base->height; ++j) {
		for (int i = x > 0 ? x - 1 : x; i <= x + 1 && i < base->width; ++i) {
			const uint8_t *other = view_image_pixel(base, i, j);
			if (abs(pixel[0] - other[0]) > 12 || abs(pixel[1] - other[1]) > 12 || abs(pixel[2] - other[2]) > 12)
				return true;
		}
	}
	return false;
}

static void draw_tile(render_job *job, int tile)
{
	const view_image *image = job->image;
	const int columns = (image->width + TILE - 1) / TILE;
	const int left = tile % columns * TILE, top = tile / columns * TILE;
	const int side = view_sample_side(job->options->samples);
	for (int y = top; y < top + TILE && y < image->height; ++y) {
		for (int x = left; x < left + TILE && x < image->width; ++x) {
			if (!job->base)
				sample_pixel(job, x, y, 1);
			else if (on_edge(job->base, x, y))
				sample_pixel(job, x, y, side);
		}
	}
}

static void draw_tiles(int64_t begin, int64_t end, int worker, void *argument)
{
	(void)worker;
	render_job *job = argument;
	for (int64_t tile = begin; tile < end && !atomic_load(&job->failed); ++tile)
		draw_tile(job, (int)tile);
}

static void run_pass(render_job *job)
{
	const int columns = (job->image->width + TILE - 1) / TILE, rows = (job->image->height + TILE - 1) / TILE;
	view_run_pieces(job->workers, (int64_t)columns * rows, draw_tiles, job);
}

// ---- The picture ----

view_picture_options view_default_picture_options(void)
{
	return (view_picture_options){ .width = 1280, .height = 720, .samples = 4 };
}

static bool check_options(const view_picture_options *options, sim_error *error)
{
	if (view_sample_side(options->samples) == 0) {
		return sim_fail(error, "samples is %d; it must be 1, 4, 9 or 16", options->samples);
	}
	if (options->threads < 0 || options->contact_count < 0 || options->look_count < 0) {
		return sim_fail(error, "threads, contact_count and look_count must not be negative");
	}
	return true;
}

/// Both passes into job->image. False when memory is short or the world refuses a query.
static bool draw_world(render_job *job)
{
	run_pass(job);
	if (job->options->samples == 1 || atomic_load(&job->failed))
		return !atomic_load(&job->failed);
	view_image base;
	sim_error reason;
	if (!view_create_image(job->image->width, job->image->height, &base, &reason))
		return false;
	memcpy(base.pixels, job->image->pixels, 3 * (size_t)base.width * (size_t)base.height);
	job->base = &base;
	run_pass(job);
	job->base = NULL;
	view_destroy_image(&base);
	return !atomic_load(&job->failed);
}

bool view_render_world(const carom_world *world, const view_camera *camera, const view_picture_options *options,
	view_image *image, sim_error *error)
{
	*image = (view_image){ 0 };
	render_job job = { .world = world, .options = options, .image = image };
	if (!check_options(options, error))
		return false;
	if (!view_make_frame(camera, options->width, options->height, &job.view, error) ||
		!view_create_image(options->width, options->height, image, error))
		return false;
	job.cell = view_checker_cell(&job.view);
	job.fade = 5 * job.view.distance;
	job.sun = view_sun_direction(&job.view, options->sun);
	carom_query_filter seen = carom_default_query_filter(), shading = seen;
	if (has_clear_bodies(options)) {
		seen.body_filter = is_seen;
		shading.body_filter = is_solid;
		seen.filter_user = shading.filter_user = (void *)(uintptr_t)options;
		job.seen = &seen;
		job.shading = &shading;
	}
	job.workers = view_create_workers(options->threads);
	const bool drawn = draw_world(&job) && view_draw_overlay(world, &job.view, options, image);
	carom_destroy_context(job.workers);
	if (drawn)
		return true;
	sim_fail(error, "out of memory, or the world cannot be drawn: %s", carom_error_text(carom_world_context(world)));
	view_destroy_image(image);
	return false;
}
