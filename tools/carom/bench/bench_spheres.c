// Scenes of spheres simulated, and pairs found in several ways, for the benches of spheres. See
// bench_spheres.h.
#include "bench_spheres.h"

#include "bench_motion.h"
#include "sim/grains/granular_output.h"
#include "tools/carom/devices.h"
#include "tools/carom/options.h"
#include "tools/carom/progress.h"
#include "tools/carom/report.h"
#include "io/json_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Scenes ----

static int read_scene(const bench *b, const char *file, scene_description *scene)
{
	char path[IO_PATH_MAX];
	sim_error error;
	size_t size;
	if (!bench_find_scene(b, file, path))
		return EXIT_FAILED;
	char *text = io_read_text(path, &size, &error);
	if (!text)
		return report_error(NULL, "%s", error.text);
	const bool done = scene_parse(path, text, size, scene, &error);
	free(text);
	return done ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

/// r^3 of radii uniform in a range, on average.
static double mean_cube(double least, double most) { return 0.25 * (least + most) * (least * least + most * most); }

/// The axis along which gravity is at the beginning, and whether it points up along it.
static int gravity_axis(const sim_granular_def *def, bool *upward)
{
	int axis = 0;
	for (int k = 1; k < 3; k++) {
		if (fabs(def->gravity[k]) > fabs(def->gravity[axis]))
			axis = k;
	}
	*upward = def->gravity[axis] > 0;
	return axis;
}

// Strewn one after the other, spheres of many sizes that may not touch fill little more than a
// fifth of the space.
static const double FILLED_PART = 0.15;

enum { HEAP_LAYERS = 10 };

/// Where a heap comes to be: a bin along gravity, whose floor is as wide as ten layers take.
static void pack_heap(scene_sphere_source *source, sim_granular_def *def, double volume)
{
	const double settled = 0.6, diameter = 2 * source->radius[1];
	const double area = fmax(volume * FILLED_PART / (settled * HEAP_LAYERS * diameter), 25 * diameter * diameter);
	const double depth = volume / area + diameter;
	bool upward;
	const int axis = gravity_axis(def, &upward);
	for (int k = 0; k < 3; k++) {
		const double side = k == axis ? depth : sqrt(area);
		if (k == axis && upward)
			def->lower[k] = def->upper[k] - side;
		else
			def->upper[k] = def->lower[k] + side;
		source->lower[k] = def->lower[k];
		source->upper[k] = def->upper[k];
	}
}

static void pack(scene_sphere_source *source, sim_granular_def *def, bench_packing packing)
{
	const double pi = 3.14159265358979323846;
	const double volume = (double)source->count * 4.0 / 3.0 * pi * mean_cube(source->radius[0], source->radius[1]) / FILLED_PART;
	const double least = 4 * source->radius[1];
	source->apart = true;
	if (packing == BENCH_CROWD) {
		const double side = fmax(cbrt(volume) + 2 * source->radius[1], least);
		for (int k = 0; k < 3; k++) {
			source->lower[k] = 0.5 * (def->lower[k] + def->upper[k] - side);
			source->upper[k] = source->lower[k] + side;
		}
		return;
	}
	pack_heap(source, def, volume);
}

static void set_moving(scene_sphere_source *source, const sim_granular_def *def, const bench_sphere_case *which)
{
	const double *g = def->gravity;
	const double length = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
	for (int k = 0; k < 3 && which->speed > 0; k++) {
		if (which->packing == BENCH_CROWD)
			source->velocity_spread[k] = which->speed;
		else
			source->velocity[k] = length > 0 ? which->speed * g[k] / length : 0;
	}
}

int bench_open_sphere_scene(const bench *b, const bench_sphere_case *which, scene_description *scene)
{
	sim_error error;
	*scene = (scene_description){ 0 };
	if (read_scene(b, which->file, scene) != EXIT_DONE)
		return EXIT_FAILED;
	if (which->count > 0 && !scene_set_sphere_count(scene, which->count, &error))
		return report_error(NULL, "%s", error.text);
	for (int32_t i = 0; i < scene->spheres.source_count; i++) {
		scene_sphere_source *source = &scene->spheres.sources[i];
		if (which->mesh_most > 0 && source->kind == SCENE_SPHERES_MESH && source->count > which->mesh_most)
			source->count = which->mesh_most;
		if (which->packing != BENCH_AS_IN_SCENE && source->kind == SCENE_SPHERES_RANDOM)
			pack(source, &scene->spheres.def, which->packing);
		set_moving(source, &scene->spheres.def, which);
	}
	return EXIT_DONE;
}

// ---- Simulation ----

/// The parts of a step by the device's own clock: kernels of the list are those that are neither of
/// forces nor of motion.
static void take_kernels(const carom_device *device, const device_work *before, int steps, bench_sphere_cost *cost)
{
	const device_work work = devices_work_since(device, before);
	cost->ms_detection = devices_work_ms(&work, "grains_force") / steps;
	cost->ms_update = (devices_work_ms(&work, "grains_move") + devices_work_ms(&work, "grains_sum")) / steps;
	cost->ms_build = devices_work_ms(&work, NULL) / steps - cost->ms_detection - cost->ms_update;
}

static int run_steps(sim_granular *granular, const carom_device *device, const bench_sphere_case *which, bench_sphere_cost *cost)
{
	sim_error error;
	sim_granular_step step;
	progress bar;
	double contacts = 0;
	device_work before = { .count = 0 };
	progress_start(&bar, "simulate", which->warm_up + which->steps);
	for (int i = 0; i < which->warm_up + which->steps; i++) {
		if (!sim_granular_advance(granular, &step, &error)) {
			progress_finish(&bar);
			return report_error(NULL, "%s: %s", which->file, error.text);
		}
		progress_update(&bar, i + 1);
		if (device && i + 1 == which->warm_up)
			before = devices_work(device);
		if (i < which->warm_up)
			continue;
		const double ms = step.ms_build + step.ms_detection + step.ms_update;
		cost->ms_build += step.ms_build / which->steps;
		cost->ms_detection += step.ms_detection / which->steps;
		cost->ms_update += step.ms_update / which->steps;
		cost->ms_total += ms / which->steps;
		cost->ms_least = i == which->warm_up ? ms : fmin(cost->ms_least, ms);
		cost->list_builds += step.list_built;
		contacts += (double)step.contacts / which->steps;
	}
	progress_finish(&bar);
	if (device)
		take_kernels(device, &before, which->steps, cost);
	const sim_granular_info info = sim_granular_get_info(granular);
	cost->exact = info.device.exact;
	cost->count = info.count;
	cost->contacts_per_sphere = 2 * contacts / (double)info.count;
	cost->bytes_per_sphere = (double)(info.bytes + info.bytes_detector) / (double)info.count;
	cost->skin = info.skin / info.mean_radius;
	return EXIT_DONE;
}

int bench_settle_spheres(carom_context *context, carom_device *device, const scene_description *scene,
	const bench_sphere_case *which, scene_granular_filling *filling)
{
	sim_error error;
	sim_granular_def def = scene_filled_def(scene, filling);
	def.device = device;
	def.spheres.restitution = def.walls.restitution = 0;
	def.stability = SIM_GRANULAR_REPORT;
	def.gravity_rate = 0;
	for (int k = 0; k < 3; k++)
		def.gravity[k] *= 4;
	sim_granular *granular = sim_create_granular(context, &def, &error);
	bool done = granular != NULL;
	progress bar;
	progress_start(&bar, "settle", which->settle);
	for (int i = 0; i < which->settle && done; i++) {
		done = sim_granular_advance(granular, NULL, &error);
		progress_update(&bar, i + 1);
	}
	progress_finish(&bar);
	done = done && sim_granular_fetch(granular, &error);
	if (done)
		sim_granular_get_state(granular, filling->centres, NULL, filling->velocities, NULL);
	sim_destroy_granular(granular);
	return done ? EXIT_DONE : report_error(NULL, "%s: %s", which->file, error.text);
}

bool bench_hash_grains(sim_granular *granular, uint64_t *hash)
{
	sim_granular_frame frame;
	sim_error error;
	if (!sim_granular_fetch(granular, &error) || !sim_take_granular_frame(granular, &frame))
		return false;
	*hash = sim_hash_granular_frame(&frame);
	sim_free_granular_frame(&frame);
	return true;
}

/// Simulate on the device of def, or the processor. hash: of the state at the end.
static int simulate(carom_context *context, const sim_granular_def *def, const bench_sphere_case *which,
	bench_sphere_cost *cost, uint64_t *hash)
{
	sim_error error;
	*cost = (bench_sphere_cost){ 0 };
	sim_granular *granular = sim_create_granular(context, def, &error);
	int status =
		granular ? run_steps(granular, def->device, which, cost) : report_error(NULL, "%s: %s", which->file, error.text);
	if (status == EXIT_DONE && !bench_hash_grains(granular, hash))
		status = report_error(NULL, "%s: the state cannot be read", which->file);
	sim_destroy_granular(granular);
	return status;
}

/// On the processor, then on the device if there is one.
static int simulate_both(carom_context *context, sim_granular_def *def, carom_device *device, const bench_sphere_case *which,
	bench_sphere_cost *cost)
{
	uint64_t hashes[2];
	int status = simulate(context, def, which, cost, &hashes[0]);
	if (status != EXIT_DONE || !device)
		return status;
	const double ms_processor = cost->ms_total;
	def->device = device;
	status = simulate(context, def, which, cost, &hashes[1]);
	cost->ms_processor = ms_processor;
	if (status == EXIT_DONE && cost->exact && hashes[0] != hashes[1])
		return report_error(NULL, "%s, %s: device and processor end in different states", which->file, which->state);
	return status;
}

int bench_simulate_spheres(const bench *b, const bench_sphere_case *which, bench_sphere_cost *cost)
{
	sim_error error;
	scene_description scene;
	scene_granular_filling filling = { 0 };
	carom_device *device = NULL;
	int status = bench_open_sphere_scene(b, which, &scene);
	carom_context *context = status == EXIT_DONE ? report_create_context(b->threads, b->simd) : NULL;
	if (!context || (b->on_device && !(device = devices_open(context, b->device, CAROM_TIER_COMPUTE, NULL))))
		status = EXIT_FAILED;
	if (status == EXIT_DONE && !scene_fill_spheres(context, &scene, &filling, &error))
		status = report_error(NULL, "%s", error.text);
	if (status == EXIT_DONE && which->settle > 0)
		status = bench_settle_spheres(context, device, &scene, which, &filling);
	if (status == EXIT_DONE) {
		sim_granular_def def = scene_filled_def(&scene, &filling);
		if (which->turned > 0)
			def.gravity_rate = which->turned * (3.14159265358979323846 / 180) / (which->warm_up * def.time_step);
		status = simulate_both(context, &def, device, which, cost);
	}
	scene_destroy_filling(&filling);
	carom_destroy_device(device);
	carom_destroy_context(context);
	scene_destroy(&scene);
	return status;
}

// ---- Pairs ----

double bench_side_for(int64_t count, double side_of_million) { return side_of_million * cbrt(1e-6 * (double)count); }

static bench_finder *add_finder(bench_finders *finders, carom_sphere_method method)
{
	bench_finder *finder = &finders->of[finders->count++];
	finder->def = carom_default_spheres_def();
	finder->def.method = method;
	finder->def.upkeep = CAROM_UPKEEP_REBUILD;
	snprintf(finder->name, sizeof finder->name, "%s", carom_sphere_method_name(method));
	return finder;
}

static int add_device_finder(const bench *b, carom_context *context, int tier, bench_finders *finders)
{
	carom_device *device = devices_open(context, b->device, tier, NULL);
	if (!device)
		return EXIT_FAILED;
	finders->devices[finders->count] = device;
	bench_finder *finder = add_finder(finders, CAROM_SPHERES_DEVICE);
	finder->def.device = device;
	snprintf(finder->name, sizeof finder->name, "device %s", device_tier_words[tier]);
	return EXIT_DONE;
}

int bench_open_finders(const bench *b, carom_context *context, bool few, bench_finders *finders)
{
	static const carom_sphere_method methods[BENCH_METHODS] = { CAROM_SPHERES_GRID, CAROM_SPHERES_LEVELS, CAROM_SPHERES_TREE,
		CAROM_SPHERES_RAYS, CAROM_SPHERES_AUTO };
	*finders = (bench_finders){ .count = 0 };
	for (int i = 0; i < BENCH_METHODS; i++)
		add_finder(finders, methods[i]);
	if (!b->on_device)
		return EXIT_DONE;
	const int first = b->tier == CAROM_TIER_AUTO ? CAROM_TIER_COMPUTE : b->tier;
	int status = add_device_finder(b, context, first, finders);
	if (status != EXIT_DONE)
		return status;
	const carom_device_info info = carom_device_get_info(finders->devices[BENCH_METHODS]);
	for (int tier = first + 1; tier <= CAROM_TIER_PIPELINE && b->tier == CAROM_TIER_AUTO && !few && status == EXIT_DONE;
		 tier++) {
		if (devices_has_tier(&info, tier))
			status = add_device_finder(b, context, tier, finders);
	}
	return status;
}

void bench_close_finders(bench_finders *finders)
{
	for (int i = 0; i < finders->count; i++)
		carom_destroy_device(finders->devices[i]);
	*finders = (bench_finders){ .count = 0 };
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, by_value);
	return 0.5 * (values[(count - 1) / 2] + values[count / 2]);
}

static bool find_once(carom_spheres *spheres, const carom_sphere_input *input, int repeat, bench_finding *finding)
{
	carom_sphere_pairs pairs;
	if (carom_spheres_update(spheres, input) != CAROM_SUCCESS || carom_spheres_find_pairs(spheres, &pairs) != CAROM_SUCCESS)
		return false;
	const carom_sphere_stats stats = carom_spheres_get_stats(spheres);
	const double total = stats.ms_update + stats.ms_find;
	if (repeat == 0)
		finding->hash = io_hash_sphere_pairs(pairs.pairs, pairs.count);
	if (repeat > 0 && total >= finding->ms_total)
		return true;
	finding->ms_build = stats.ms_update;
	finding->ms_find = stats.ms_find;
	finding->ms_sort = stats.ms_sort;
	finding->ms_total = total;
	finding->pairs = pairs.count;
	finding->tests = stats.tests;
	finding->method = stats.method;
	finding->bytes_per_sphere = input->count > 0 ? (double)(stats.bytes - stats.bytes_lists) / (double)input->count : 0;
	return true;
}

static int check_findings(
	const char *name, const io_sphere_set *set, const bench_finders *finders, const bench_finding *findings)
{
	for (int i = 0; i < finders->count; i++) {
		const bench_finding *f = &findings[i];
		if (f->pairs != findings[0].pairs || f->hash != findings[0].hash)
			return report_error(NULL, "%s: \"%s\" found %lld pairs and \"%s\" %lld: not the same", name, finders->of[0].name,
				(long long)findings[0].pairs, finders->of[i].name, (long long)f->pairs);
		if (set->has_expected && (set->expected_pairs != (uint64_t)f->pairs || set->expected_hash != f->hash))
			return report_error(NULL, "%s: \"%s\" found %lld pairs, and the snapshot's header tells of %llu", name,
				finders->of[i].name, (long long)f->pairs, (unsigned long long)set->expected_pairs);
	}
	return EXIT_DONE;
}

static int find_in_turns(carom_context *context, carom_spheres **spheres, const carom_sphere_input *input, int count,
	int repeats, bench_finding *findings)
{
	double totals[BENCH_MAX_FINDERS][BENCH_MAX_FIND_REPEATS];
	progress bar;
	progress_start(&bar, "find", (int64_t)count * repeats);
	for (int i = 0; i < count * repeats; i++) {
		// Each repeat begins with another one.
		const int repeat = i / count, which = (i + repeat) % count;
		if (!find_once(spheres[which], input, repeat, &findings[which])) {
			progress_finish(&bar);
			return report_error(NULL, "%s", carom_error_text(context));
		}
		const carom_sphere_stats stats = carom_spheres_get_stats(spheres[which]);
		totals[which][repeat] = stats.ms_update + stats.ms_find;
		progress_update(&bar, i + 1);
	}
	progress_finish(&bar);
	for (int i = 0; i < count; i++)
		findings[i].ms_median = median(totals[i], repeats);
	return EXIT_DONE;
}

int bench_find_pairs(carom_context *context, const char *name, const io_sphere_set *set, const bench_finders *finders,
	int repeats, bench_finding *findings)
{
	const carom_sphere_input input = io_sphere_input(set);
	const int count = finders->count;
	carom_spheres *spheres[BENCH_MAX_FINDERS] = { NULL };
	int status = EXIT_DONE;
	memset(findings, 0, (size_t)count * sizeof *findings);
	for (int i = 0; i < count && status == EXIT_DONE; i++) {
		if (carom_create_spheres(context, &finders->of[i].def, &spheres[i]) != CAROM_SUCCESS)
			status = report_error(NULL, "%s: %s", finders->of[i].name, carom_error_text(context));
	}
	if (status == EXIT_DONE)
		status = find_in_turns(context, spheres, &input, count, repeats, findings);
	if (status == EXIT_DONE)
		status = check_findings(name, set, finders, findings);
	for (int i = 0; i < count; i++)
		carom_destroy_spheres(spheres[i]);
	return status;
}
