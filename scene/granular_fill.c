// From the sources of a scene to its spheres. Each source makes its spheres once, in a frame of its
// own; then they are copied.
#include "scene/granular_fill.h"

#include "sim/base/rotations.h"
#include "io/sphere_file.h"
#include "scene/grain_sizes.h"
#include "scene/sphere_sampling.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIES = 1000 };

// Data that the functions below share.
typedef struct fill {
	carom_context *context;
	const scene_description *scene;
	scene_granular_filling *filling;
	sim_error *error;
} fill;

static bool refuse(const fill *f, const scene_sphere_source *source, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static bool refuse(const fill *f, const scene_sphere_source *source, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	sim_fail_list(f->error, format, arguments);
	va_end(arguments);
	return sim_fail_in(f->error, "%s:%d: field \"spheres.list[%d]\": ", f->scene->file, source->line, source->number);
}

/// Uniform in low..high.
static double random_between(uint64_t *state, double low, double high)
{
	return low + (high - low) * (0.5 * sim_random_unit(state) + 0.5);
}

// ---- Random spheres ----

// A coarse grid of lists, so that a new sphere finds those that it may touch: they lie in its cell
// or one beside.
typedef struct crowd {
	const double *spheres; // x, y, z, radius of each
	double lower[3], scale[3];
	int cells[3];
	int32_t *heads; // of the list of each cell, -1: empty
	int32_t *next;  // of each sphere
} crowd;

static bool make_crowd(const scene_sphere_source *source, const double *spheres, crowd *c)
{
	// Wider than the largest diameter by more than rounding, and not many more cells than spheres.
	double width = 2 * source->radius[1] * (1 + 1e-9), total;
	*c = (crowd){ .spheres = spheres };
	for (;; width *= 1.25) {
		total = 1;
		for (int k = 0; k < 3; ++k) {
			const double count = floor((source->upper[k] - source->lower[k]) / width);
			c->cells[k] = count < 1 ? 1 : (int)fmin(count, 1e6);
			total *= c->cells[k];
		}
		if (total <= 2 * (double)source->count + 64)
			break;
	}
	for (int k = 0; k < 3; ++k) {
		c->lower[k] = source->lower[k];
		c->scale[k] = c->cells[k] / (source->upper[k] - source->lower[k]);
	}
	c->heads = malloc((size_t)total * sizeof *c->heads);
	c->next = malloc((size_t)source->count * sizeof *c->next);
	if (!c->heads || !c->next)
		return false;
	memset(c->heads, 0xff, (size_t)total * sizeof *c->heads);
	return true;
}

static void cell_of(const crowd *c, const double *p, int cell[3])
{
	for (int k = 0; k < 3; ++k) {
		const int at = (int)((p[k] - c->lower[k]) * c->scale[k]);
		cell[k] = at < c->cells[k] ? at : c->cells[k] - 1;
	}
}

static int32_t *head_of(const crowd *c, int x, int y, int z)
{
	return &c->heads[((size_t)z * (size_t)c->cells[1] + (size_t)y) * (size_t)c->cells[0] + (size_t)x];
}

static bool touches(const double *a, const double *b)
{
	const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] }, sum = a[3] + b[3];
	return d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= sum * sum;
}

static bool has_room(const crowd *c, const double *sphere)
{
	int cell[3];
	cell_of(c, sphere, cell);
	for (int z = cell[2] > 0 ? cell[2] - 1 : 0; z <= cell[2] + 1 && z < c->cells[2]; ++z) {
		for (int y = cell[1] > 0 ? cell[1] - 1 : 0; y <= cell[1] + 1 && y < c->cells[1]; ++y) {
			for (int x = cell[0] > 0 ? cell[0] - 1 : 0; x <= cell[0] + 1 && x < c->cells[0]; ++x) {
				for (int32_t i = *head_of(c, x, y, z); i >= 0; i = c->next[i]) {
					if (touches(sphere, c->spheres + 4 * (size_t)i))
						return false;
				}
			}
		}
	}
	return true;
}

static void join_crowd(crowd *c, int32_t i)
{
	int cell[3];
	cell_of(c, c->spheres + 4 * (size_t)i, cell);
	int32_t *head = head_of(c, cell[0], cell[1], cell[2]);
	c->next[i] = *head;
	*head = i;
}

static void place_at_random(const scene_sphere_source *source, uint64_t *state, double *sphere)
{
	for (int k = 0; k < 3; ++k)
		sphere[k] = random_between(state, source->lower[k] + sphere[3], source->upper[k] - sphere[3]);
}

/// Spheres at uniform places inside the box; where they must be apart, one that touches an earlier
/// one is placed again.
static bool strew(const fill *f, const scene_sphere_source *source, io_sphere_set *set)
{
	crowd c = { 0 };
	uint64_t state = source->seed;
	if (!io_allocate_spheres(set, source->count, true) || (source->apart && !make_crowd(source, set->values, &c))) {
		free(c.heads);
		free(c.next);
		return refuse(f, source, "out of memory");
	}
	int64_t placed = 0;
	while (placed < source->count) {
		double *sphere = (double *)set->values + 4 * placed;
		int tries = 0;
		sphere[3] = scene_next_radius(source, &state);
		do
			place_at_random(source, &state, sphere);
		while (source->apart && !has_room(&c, sphere) && ++tries < MOST_TRIES);
		if (tries == MOST_TRIES)
			break;
		if (source->apart)
			join_crowd(&c, (int32_t)placed);
		++placed;
	}
	free(c.heads);
	free(c.next);
	if (placed == source->count)
		return true;
	return refuse(f, source,
		"after %lld of %lld spheres there is no room for one more in %d tries; let them touch (\"apart\": false), "
		"or take fewer",
		(long long)placed, (long long)source->count, MOST_TRIES);
}

// ---- Spheres of files and meshes ----

static bool read_set(const fill *f, const scene_sphere_source *source, io_sphere_set *set)
{
	const io_sphere_reading reading = { .default_radius = source->radius[1], .wide = true };
	sim_error reason;
	if (!io_load_spheres(source->file, &reading, set, &reason))
		return refuse(f, source, "%s: %s", source->file, reason.text);
	return true;
}

static bool sample_set(const fill *f, const scene_sphere_source *source, io_sphere_set *set)
{
	scene_sampling sampling = scene_default_sampling();
	sampling.radius = source->radius[1];
	sampling.count = source->count;
	sampling.mix = source->mix;
	sampling.jitter = source->jitter;
	sampling.seed = source->seed;
	sim_error reason;
	double spacing;
	sim_mesh mesh;
	if (!scene_build_mesh(f->scene, source->mesh, &mesh, f->error))
		return false;
	const bool done = scene_sample_mesh(f->context, &mesh, &sampling, set, &spacing, &reason);
	sim_mesh_free(&mesh);
	return done || refuse(f, source, "mesh \"%s\": %s", f->scene->meshes[source->mesh].name, reason.text);
}

static bool make_set(const fill *f, const scene_sphere_source *source, io_sphere_set *set)
{
	if (source->kind == SCENE_SPHERES_RANDOM)
		return strew(f, source, set);
	return source->kind == SCENE_SPHERES_FILE ? read_set(f, source, set) : sample_set(f, source, set);
}

// ---- Copies ----

// Where the copies of a source lie; random ones keep their boxes apart.
typedef struct placing {
	uint64_t state;
	double (*boxes)[6]; // lower, upper of the copies so far (random ones)
} placing;

static void add_copy(
	const scene_sphere_source *source, const io_sphere_set *set, carom_quat rotation, scene_granular_filling *filling)
{
	const double scale = source->kind == SCENE_SPHERES_FILE ? source->scale : 1;
	filling->copy_starts[filling->copy_count++] = (uint32_t)filling->count;
	for (int64_t i = 0; i < set->count; ++i) {
		double sphere[4];
		io_get_sphere(set, i, sphere);
		const carom_vec3 turned =
			carom_rotate(rotation, (carom_vec3){ scale * sphere[0], scale * sphere[1], scale * sphere[2] });
		double *centre = filling->centres + 3 * (filling->count + i);
		centre[0] = turned.x;
		centre[1] = turned.y;
		centre[2] = turned.z;
		filling->radii[filling->count + i] = scale * sphere[3];
	}
}

/// The box around the spheres of the copy that was added last.
static void box_of_copy(const scene_granular_filling *filling, int64_t count, double box[6])
{
	for (int k = 0; k < 3; ++k) {
		box[k] = DBL_MAX;
		box[3 + k] = -DBL_MAX;
	}
	for (int64_t i = filling->count; i < filling->count + count; ++i) {
		for (int k = 0; k < 3; ++k) {
			box[k] = fmin(box[k], filling->centres[3 * i + k] - filling->radii[i]);
			box[3 + k] = fmax(box[3 + k], filling->centres[3 * i + k] + filling->radii[i]);
		}
	}
}

static bool boxes_meet(const double a[6], const double b[6])
{
	for (int k = 0; k < 3; ++k) {
		if (a[k] > b[3 + k] || b[k] > a[3 + k])
			return false;
	}
	return true;
}

/// A shift that puts a copy somewhere in the source's box, away from the copies before.
static bool place_copy(
	const fill *f, const scene_sphere_source *source, int32_t copy, int64_t count, placing *p, double shift[3])
{
	double own[6], moved[6];
	box_of_copy(f->filling, count, own);
	for (int tries = 0; tries < MOST_TRIES; ++tries) {
		bool good = true;
		for (int k = 0; k < 3; ++k) {
			const double low = source->copies_lower[k] - own[k], high = source->copies_upper[k] - own[3 + k];
			if (low > high)
				return refuse(f, source, "copy %d is larger than the box of the copies", copy);
			shift[k] = random_between(&p->state, low, high);
			moved[k] = own[k] + shift[k];
			moved[3 + k] = own[3 + k] + shift[k];
		}
		for (int32_t i = 0; i < copy && good; ++i)
			good = !boxes_meet(moved, p->boxes[i]);
		if (good) {
			memcpy(p->boxes[copy], moved, sizeof moved);
			return true;
		}
	}
	return refuse(f, source, "copy %d found no room in %d tries", copy, MOST_TRIES);
}

static void grid_shift(const scene_sphere_source *source, int32_t copy, double shift[3])
{
	const int32_t at[3] = { copy % source->grid[0], copy / source->grid[0] % source->grid[1],
		copy / source->grid[0] / source->grid[1] };
	for (int k = 0; k < 3; ++k)
		shift[k] = source->position[k] + at[k] * source->spacing[k];
}

static void set_in_motion(const scene_sphere_source *source, int64_t first, int64_t end, scene_granular_filling *filling)
{
	uint64_t state = source->velocity_seed;
	for (int64_t i = first; i < end; ++i) {
		for (int k = 0; k < 3; ++k) {
			const double spread = source->velocity_spread[k];
			filling->velocities[3 * i + k] = source->velocity[k] + (spread > 0 ? spread * sim_random_unit(&state) : 0);
			if (filling->angular_velocities)
				filling->angular_velocities[3 * i + k] = source->angular_velocity[k];
		}
	}
}

static bool add_copies(const fill *f, const scene_sphere_source *source, const io_sphere_set *set)
{
	scene_granular_filling *filling = f->filling;
	const int64_t first = filling->count;
	placing p = { .state = source->copies_seed, .boxes = malloc((size_t)source->copies * sizeof *p.boxes) };
	bool good = p.boxes || refuse(f, source, "out of memory");
	for (int32_t copy = 0; copy < source->copies && good; ++copy) {
		double shift[3];
		const carom_quat rotation =
			source->degrees > 0 ? sim_random_rotation(&p.state, source->degrees * SIM_PI / 180) : (carom_quat){ 0, 0, 0, 1 };
		add_copy(source, set, rotation, filling);
		if (source->copies_kind == SCENE_COPIES_GRID)
			grid_shift(source, copy, shift);
		else
			good = place_copy(f, source, copy, set->count, &p, shift);
		for (int64_t i = 0; i < set->count && good; ++i) {
			for (int k = 0; k < 3; ++k)
				filling->centres[3 * (filling->count + i) + k] += shift[k];
		}
		filling->count += set->count;
	}
	free(p.boxes);
	set_in_motion(source, first, filling->count, filling);
	return good;
}

// ---- The whole ----

/// Count the spheres of all sources. Random ones are counted before they are made: too many are
/// refused at once.
static bool count_spheres(const fill *f, const io_sphere_set *sets, int64_t *spheres)
{
	*spheres = 0;
	for (int32_t i = 0; i < f->scene->spheres.source_count; ++i) {
		const scene_sphere_source *source = &f->scene->spheres.sources[i];
		*spheres += source->copies * (source->kind == SCENE_SPHERES_RANDOM ? source->count : sets[i].count);
		if (*spheres > CAROM_MAX_SPHERES)
			return refuse(
				f, source, "with it the scene has %lld spheres; there may be %d", (long long)*spheres, CAROM_MAX_SPHERES);
	}
	return true;
}

static bool reserve(const fill *f, const io_sphere_set *sets)
{
	int64_t spheres, copies = 0;
	bool turning = false;
	if (!count_spheres(f, sets, &spheres))
		return false;
	for (int32_t i = 0; i < f->scene->spheres.source_count; ++i) {
		const scene_sphere_source *source = &f->scene->spheres.sources[i];
		copies += source->copies;
		for (int k = 0; k < 3; ++k)
			turning |= source->angular_velocity[k] != 0;
	}
	scene_granular_filling *filling = f->filling;
	filling->centres = malloc((size_t)spheres * 3 * sizeof(double) + 1);
	filling->radii = malloc((size_t)spheres * sizeof(double) + 1);
	filling->velocities = malloc((size_t)spheres * 3 * sizeof(double) + 1);
	filling->angular_velocities = turning ? malloc((size_t)spheres * 3 * sizeof(double) + 1) : NULL;
	filling->copy_starts = malloc((size_t)copies * sizeof(uint32_t) + 1);
	if (filling->centres && filling->radii && filling->velocities && (filling->angular_velocities || !turning) &&
		filling->copy_starts)
		return true;
	return sim_fail(f->error, "%s: out of memory", f->scene->file);
}

bool scene_fill_spheres(
	carom_context *context, const scene_description *scene, scene_granular_filling *filling, sim_error *error)
{
	const fill f = { context, scene, filling, error };
	*filling = (scene_granular_filling){ 0 };
	io_sphere_set *sets = calloc((size_t)scene->spheres.source_count + 1, sizeof *sets);
	if (!sets) {
		return sim_fail(error, "%s: out of memory", scene->file);
	}
	int64_t known;
	bool good = count_spheres(&f, sets, &known);
	for (int32_t i = 0; i < scene->spheres.source_count && good; ++i)
		good = make_set(&f, &scene->spheres.sources[i], &sets[i]);
	good = good && reserve(&f, sets);
	for (int32_t i = 0; i < scene->spheres.source_count && good; ++i)
		good = add_copies(&f, &scene->spheres.sources[i], &sets[i]);
	for (int32_t i = 0; i < scene->spheres.source_count; ++i)
		io_free_spheres(&sets[i]);
	free(sets);
	if (!good)
		scene_destroy_filling(filling);
	return good;
}

void scene_destroy_filling(scene_granular_filling *filling)
{
	free(filling->centres);
	free(filling->radii);
	free(filling->velocities);
	free(filling->angular_velocities);
	free(filling->copy_starts);
	*filling = (scene_granular_filling){ 0 };
}

sim_granular_def scene_filled_def(const scene_description *scene, const scene_granular_filling *filling)
{
	sim_granular_def def = scene->spheres.def;
	def.count = filling->count;
	def.centres = (carom_strided){ filling->centres, 0, CAROM_FLOAT64 };
	def.radii = (carom_strided){ filling->radii, 0, CAROM_FLOAT64 };
	def.velocities = (carom_strided){ filling->velocities, 0, CAROM_FLOAT64 };
	def.angular_velocities = (carom_strided){ filling->angular_velocities, 0, CAROM_FLOAT64 };
	return def;
}
