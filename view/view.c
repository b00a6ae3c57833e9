// Where pictures are taken from: the frame of a camera, and a camera that sees given bodies.
#include "view/view.h"

#include "sim/base/rotations.h"

#include <stdlib.h>

bool view_make_frame(const view_camera *camera, int width, int height, view_frame *view, sim_error *error)
{
	const carom_vec3 sight = sim_subtract(camera->target, camera->position);
	view->position = camera->position;
	view->distance = sim_length(sight);
	view->forward = sim_normalize(sight);
	view->up = sim_normalize(camera->up);
	const carom_vec3 right = sim_cross(view->forward, view->up);
	if (!(camera->field_of_view > 0 && camera->field_of_view < 180 && isfinite(view->distance) && sim_length(right) > 1e-6)) {
		return sim_fail(error,
			"the camera cannot be used: its position and target must differ, up must not point along the line of sight, and the "
			"field of view must lie between 0 and 180 degrees");
	}
	view->right = sim_normalize(right);
	view->down = sim_cross(view->forward, view->right);
	view->pixel = 2 * tan(camera->field_of_view * SIM_PI / 360) / height;
	view->centre[0] = 0.5 * width;
	view->centre[1] = 0.5 * height;
	return true;
}

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/// The sides of the bounded bodies, six rows of capacity doubles: lower x, y, z, upper x, y, z.
/// Returns how many bodies there are.
static int collect_sides(const carom_world *world, const carom_body_id *ids, int count, double *sides)
{
	int used = 0;
	for (int i = 0; i < count; ++i) {
		carom_aabb box;
		if (carom_world_get_aabb(world, ids[i], &box) != CAROM_SUCCESS)
			continue;
		const double of_box[6] = { box.lower.x, box.lower.y, box.lower.z, box.upper.x, box.upper.y, box.upper.z };
		bool bounded = true;
		for (int k = 0; k < 6; ++k) {
			bounded = bounded && isfinite(of_box[k]);
			sides[k * count + used] = of_box[k];
		}
		used += bounded;
	}
	return used;
}

bool view_bounds_of_bodies(const carom_world *world, const carom_body_id *ids, int count, carom_aabb *box)
{
	double *sides = malloc(((size_t)count * 6 + 1) * sizeof *sides);
	if (!sides)
		return false;
	const int used = collect_sides(world, ids, count, sides);
	if (used > 0) {
		const int dropped = used > 100 ? used / 100 : 0;
		for (int k = 0; k < 6; ++k)
			qsort(sides + k * count, (size_t)used, sizeof *sides, compare_doubles);
		const int first = dropped, last = used - 1 - dropped;
		box->lower = (carom_vec3){ sides[first], sides[count + first], sides[2 * count + first] };
		box->upper = (carom_vec3){ sides[3 * count + last], sides[4 * count + last], sides[5 * count + last] };
	}
	free(sides);
	return used > 0;
}

static double width_of(const carom_aabb *box)
{
	return fmax(box->upper.x - box->lower.x, fmax(box->upper.y - box->lower.y, box->upper.z - box->lower.z));
}

void view_widen_box(carom_aabb *box, const carom_aabb *more)
{
	box->lower =
		(carom_vec3){ fmin(box->lower.x, more->lower.x), fmin(box->lower.y, more->lower.y), fmin(box->lower.z, more->lower.z) };
	box->upper =
		(carom_vec3){ fmax(box->upper.x, more->upper.x), fmax(box->upper.y, more->upper.y), fmax(box->upper.z, more->upper.z) };
}

/// Those of a kind to `of_kind`; returns how many.
static int list_kind(const carom_world *world, const carom_body_id *ids, int count, bool kinematic, carom_body_id *of_kind)
{
	int found = 0;
	for (int i = 0; i < count; i++) {
		carom_body_def def;
		if (carom_world_get_body_def(world, ids[i], &def) == CAROM_SUCCESS && def.kind != CAROM_STATIC &&
			(def.kind == CAROM_KINEMATIC) == kinematic)
			of_kind[found++] = ids[i];
	}
	return found;
}

bool view_bounds_of_moving(const carom_world *world, const carom_body_id *ids, int count, carom_aabb *box)
{
	carom_body_id *some = calloc((size_t)count + 1, sizeof *some);
	if (!some)
		return false;
	const int free_count = list_kind(world, ids, count, false, some);
	bool found = view_bounds_of_bodies(world, some, free_count, box);
	const int driven = list_kind(world, ids, count, true, some);
	const double most = found ? VIEW_WIDER * width_of(box) : 0;
	carom_aabb own;
	for (int i = 0; found && i < driven; i++) {
		if (view_bounds_of_bodies(world, &some[i], 1, &own) && width_of(&own) <= most)
			view_widen_box(box, &own);
	}
	if (!found)
		found = view_bounds_of_bodies(world, some, driven, box) || view_bounds_of_bodies(world, ids, count, box);
	free(some);
	return found;
}

// One axis of the picture: how far back (distance) and aside (shift) the camera must stand so that
// all corners appear between the borders, -lower <= (across - shift) / (forward + distance) <=
// upper, with across and forward relative to the target. The corners give two bounds: at_lower <=
// lower * distance - shift and at_upper <= upper * distance + shift.
typedef struct fit {
	double lower, upper; // slopes of the borders
	double at_lower, at_upper;
} fit;

static void fit_corner(fit *f, double across, double forward)
{
	f->at_lower = fmax(f->at_lower, -across - f->lower * forward);
	f->at_upper = fmax(f->at_upper, across - f->upper * forward);
}

static double fit_distance(const fit *f) { return (f->at_lower + f->at_upper) / (f->lower + f->upper); }

/// The middle of the shifts that are possible at a distance.
static double fit_shift(const fit *f, double distance)
{
	return 0.5 * (f->at_upper - f->upper * distance + f->lower * distance - f->at_lower);
}

carom_vec3 view_up_against(carom_vec3 gravity, carom_vec3 without_gravity)
{
	if (gravity.x == 0 && gravity.y == 0 && gravity.z == 0)
		return without_gravity;
	return (carom_vec3){ -gravity.x, -gravity.y, -gravity.z };
}

view_camera view_frame_box(const carom_aabb *box, carom_vec3 up, double aspect)
{
	const double elevation = 26 * SIM_PI / 180, azimuth = -60 * SIM_PI / 180;
	view_camera camera = { .up = sim_normalize(up), .field_of_view = 35 };
	camera.target = sim_scale(sim_add(box->lower, box->upper), 0.5);
	carom_vec3 first, second;
	sim_tangents(camera.up, &first, &second);
	const carom_vec3 level = sim_add(sim_scale(first, cos(azimuth)), sim_scale(second, sin(azimuth)));
	const carom_vec3 backward = sim_add(sim_scale(level, cos(elevation)), sim_scale(camera.up, sin(elevation)));

	view_frame view;
	camera.position = sim_add(camera.target, backward);
	// An up vector along the line of sight, if any, is the caller's to hear of when the picture is
	// taken.
	view_make_frame(&camera, 1, 1, &view, NULL);
	const double slope = tan(camera.field_of_view * SIM_PI / 360);
	// A small margin, and room for the line of text below.
	fit across = { .lower = 0.95 * slope * aspect, .upper = 0.95 * slope * aspect, .at_lower = -INFINITY, .at_upper = -INFINITY };
	fit along = { .lower = 0.92 * slope, .upper = 0.88 * slope, .at_lower = -INFINITY, .at_upper = -INFINITY };
	for (int corner = 0; corner < 8; ++corner) {
		const carom_vec3 point = { corner & 1 ? box->upper.x : box->lower.x, corner & 2 ? box->upper.y : box->lower.y,
			corner & 4 ? box->upper.z : box->lower.z };
		const carom_vec3 d = sim_subtract(point, camera.target);
		fit_corner(&across, sim_dot(d, view.right), sim_dot(d, view.forward));
		fit_corner(&along, sim_dot(d, view.down), sim_dot(d, view.forward));
	}
	double distance = fmax(fit_distance(&across), fit_distance(&along));
	if (!(distance > 0)) // a point
		distance = 1;
	const carom_vec3 shift =
		sim_add(sim_scale(view.right, fit_shift(&across, distance)), sim_scale(view.down, fit_shift(&along, distance)));
	camera.target = sim_add(camera.target, shift);
	camera.position = sim_add(camera.target, sim_scale(backward, distance));
	return camera;
}
