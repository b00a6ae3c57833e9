// Replays: one variant after the other through the same frames, over and over. See bench_replay.h.
#include "bench_replay.h"

#include "sim/base/sim_clock.h"
#include "sim/base/state_hash.h"
#include "tools/carom/options.h"
#include "tools/carom/progress.h"
#include "tools/carom/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Frames before the measured ones in which caches, pools and temporal data settle.
enum { WARM_UP_FRAMES = 10, QUICK_WARM_UP_FRAMES = 3 };

static bench_variant ray_variant(const char *name, const carom_world_def *def, const carom_lab *lab, int reference, bool no_grid)
{
	bench_variant variant = { .def = *def, .lab = *lab, .reference = reference, .no_grid = no_grid };
	snprintf(variant.name, sizeof variant.name, "%s", name);
	return variant;
}

int bench_make_ray_variants(const bench *b, bench_variant *v)
{
	const carom_world_def full = bench_paper_def(), iterative = bench_paper_iterative_def(), ours = carom_default_world_def();
	const carom_lab paper = bench_paper_lab(), own = carom_default_lab();
	v[BENCH_BASIC] = ray_variant("full, basic", &full, &paper, BENCH_BASIC, true);
	v[BENCH_ITERATIVE_BASIC] = ray_variant("iterative, basic", &iterative, &paper, BENCH_BASIC, true);
	v[BENCH_BASIC].lab.ray_method = v[BENCH_ITERATIVE_BASIC].lab.ray_method = CAROM_RAYS_BASIC;
	v[BENCH_BVH] = ray_variant("full, BVH", &full, &paper, BENCH_BASIC, true);
	v[BENCH_ITERATIVE_BVH] = ray_variant("iterative, BVH", &iterative, &paper, BENCH_BVH, true);
	v[BENCH_CAROM_FULL] = ray_variant("Carom, full", &ours, &own, BENCH_CAROM_FULL, false);
	v[BENCH_CAROM_FULL].def.temporal = CAROM_TEMPORAL_NONE;
	v[BENCH_CAROM_DEFAULT] = ray_variant("Carom, iterative", &ours, &own, BENCH_CAROM_FULL, false);
	for (int i = BENCH_DEVICE_FULL; i < BENCH_RAY_VARIANTS; i++) {
		v[i] = v[i - BENCH_DEVICE_FULL + BENCH_CAROM_FULL];
		v[i].reference = i - BENCH_DEVICE_FULL + BENCH_CAROM_FULL;
		v[i].devices = 1;
	}
	snprintf(v[BENCH_DEVICE_FULL].name, sizeof v->name, "device, full");
	snprintf(v[BENCH_DEVICE_DEFAULT].name, sizeof v->name, "device, iterative");
	return b->on_device ? BENCH_RAY_VARIANTS : BENCH_DEVICE_FULL;
}

const char *bench_ray_name(int variant)
{
	static const char *const names[BENCH_RAY_VARIANTS / 2] = { "basic", "BVH", "Carom", "device" };
	return names[variant / 2];
}

// A variant at work. The simulation is never stepped: it makes the meshes and the bodies'
// definitions.
typedef struct runner {
	const bench_motion *motion;
	carom_context *context;
	carom_device *devices[BENCH_MAX_DEVICES];
	int device_count;                      // 0: the processor
	device_work before[BENCH_MAX_DEVICES]; // before the frames that are measured
	scene_simulation *source;
	carom_world *world;
	carom_mesh **meshes; // [scene.mesh_count] without grids; NULL: those of the simulation
	bench_forms *forms;  // NULL: bodies are what the scene has
	double update;       // milliseconds that meshes took in this frame
	const bench_sheets *sheets;
	carom_body_id *sheet_ids; // of the sheets; NULL before they are there
	carom_body_id *ids;       // [scene.rigid.body_count]
	int32_t present;
	int32_t moving_count;
	carom_body_id *moving_ids; // of the bodies that are not static, as far as they are there
	carom_pose *moving_poses;
	int32_t *moving;
} runner;

static void close_runner(runner *r)
{
	carom_destroy_world(r->world);
	bench_close_forms(r->forms);
	free(r->sheet_ids);
	for (int32_t i = 0; r->meshes && i < r->motion->scene.mesh_count; i++)
		carom_release_mesh(r->meshes[i]);
	free(r->meshes);
	scene_destroy_simulation(r->source);
	for (int i = 0; i < r->device_count; i++)
		carom_destroy_device(r->devices[i]);
	carom_destroy_context(r->context);
	free(r->ids);
	free(r->moving_ids);
	free(r->moving_poses);
	free(r->moving);
	*r = (runner){ 0 };
}

/// Height fields stay those of the simulation.
static int make_plain_meshes(runner *r)
{
	const scene_description *scene = &r->motion->scene;
	r->meshes = bench_allocate((size_t)scene->mesh_count, sizeof(carom_mesh *));
	for (int32_t i = 0; i < scene->mesh_count; i++) {
		sim_error error;
		sim_mesh triangles;
		if (scene->meshes[i].kind == SCENE_MESH_HEIGHT_FIELD)
			continue;
		if (!scene_build_mesh(scene, i, &triangles, &error))
			return report_error(NULL, "%s", error.text);
		carom_mesh_def def = carom_default_mesh_def();
		def.vertices = (carom_strided){ .data = triangles.vertices, .type = CAROM_FLOAT32 };
		def.vertex_count = triangles.vertex_count;
		def.triangles = triangles.triangles;
		def.triangle_count = triangles.triangle_count;
		def.grid_resolution = 0;
		const carom_result result = carom_create_mesh(r->context, &def, NULL, &r->meshes[i]);
		sim_mesh_free(&triangles);
		if (result != CAROM_SUCCESS)
			return report_error(NULL, "mesh %s: %s", scene->meshes[i].name, carom_error_text(r->context));
	}
	return EXIT_DONE;
}

/// Step two bodies of a mesh that go through each other.
static carom_result step_two_bodies(carom_world *world, const carom_mesh *mesh)
{
	enum { STEPS = 5 };
	carom_body_id ids[2];
	carom_result result = CAROM_SUCCESS;
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_DYNAMIC;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	for (int i = 0; i < 2 && result == CAROM_SUCCESS; i++) {
		def.pose.position.x = 0.5 * i;
		result = carom_world_add_body(world, &def, &ids[i]);
	}
	for (int step = 0; step < STEPS && result == CAROM_SUCCESS; step++) {
		def.pose.position.x += 1e-3;
		result = carom_world_set_poses(world, 1, &ids[1], &def.pose);
		if (result == CAROM_SUCCESS)
			result = carom_world_step(world);
	}
	return result;
}

/// The first use of a kernel compiles it, which would be measured as part of a step: here each
/// kernel of meshes runs once.
static int warm_up_device(runner *r, carom_device *device)
{
	sim_error error;
	sim_mesh shape;
	if (!sim_make_shape("lumpy", 80, 1, &shape, &error))
		return report_error(NULL, "%s", error.text);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = shape.vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = shape.vertex_count;
	def.triangles = shape.triangles;
	def.triangle_count = shape.triangle_count;
	carom_mesh *mesh = NULL;
	carom_world *world = NULL;
	carom_result result = carom_create_mesh(r->context, &def, NULL, &mesh);
	if (result == CAROM_SUCCESS)
		result = carom_create_world(r->context, NULL, &world);
	if (result == CAROM_SUCCESS)
		result = carom_world_set_device(world, device, false);
	if (result == CAROM_SUCCESS)
		result = step_two_bodies(world, mesh);
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	sim_mesh_free(&shape);
	return result == CAROM_SUCCESS ? EXIT_DONE : report_error(NULL, "%s", carom_error_text(r->context));
}

/// The device of the bench, as often as the variant wants it, for the world.
static int open_devices(const bench *b, const bench_variant *variant, runner *r)
{
	for (int i = 0; i < variant->devices; i++) {
		r->devices[i] = devices_open(r->context, b->device, CAROM_TIER_COMPUTE, NULL);
		if (!r->devices[i])
			return EXIT_FAILED;
		r->device_count++;
		if (warm_up_device(r, r->devices[i]) != EXIT_DONE)
			return EXIT_FAILED;
	}
	if (carom_world_set_devices(r->world, r->devices, r->device_count, false) != CAROM_SUCCESS)
		return report_error(NULL, "%s: %s", variant->name, carom_error_text(r->context));
	return EXIT_DONE;
}

static int open_runner(const bench *b, const bench_motion *motion, const bench_variant *variant, runner *r)
{
	sim_error error;
	const size_t bodies = (size_t)motion->scene.rigid.body_count;
	*r = (runner){ .motion = motion, .sheets = variant->sheets };
	r->ids = bench_allocate(bodies, sizeof *r->ids);
	r->moving_ids = bench_allocate(bodies, sizeof *r->moving_ids);
	r->moving_poses = bench_allocate(bodies, sizeof *r->moving_poses);
	r->moving = bench_allocate(bodies, sizeof *r->moving);
	r->context = report_create_context(variant->threads ? variant->threads : b->threads, b->simd);
	if (!r->context)
		return EXIT_FAILED;
	r->source = scene_create_simulation(r->context, &motion->scene, NULL, &error);
	if (!r->source)
		return report_error(NULL, "%s", error.text);
	carom_world_def def = variant->def;
	def.lab = variant->no_lab ? NULL : &variant->lab;
	if (carom_create_world(r->context, &def, &r->world) != CAROM_SUCCESS)
		return report_error(NULL, "%s: %s", variant->name, carom_error_text(r->context));
	if (open_devices(b, variant, r) != EXIT_DONE)
		return EXIT_FAILED;
	if (variant->form != BENCH_RIGID) {
		r->forms = bench_open_forms(motion, r->context, variant->form, variant->build, variant->pieces);
		return r->forms ? EXIT_DONE : EXIT_FAILED;
	}
	return variant->no_grid ? make_plain_meshes(r) : EXIT_DONE;
}

static carom_result add_present_bodies(runner *r, int frame, const carom_pose *poses)
{
	for (; r->present < r->motion->present[frame]; r->present++) {
		carom_body_def def = scene_simulation_body_def(r->source, r->present);
		const int32_t mesh = r->motion->scene.rigid.bodies[r->present].shape.mesh;
		if (r->meshes && mesh >= 0 && r->meshes[mesh])
			def.shape.mesh = r->meshes[mesh];
		if (r->forms)
			bench_form_define(r->forms, r->present, &def);
		def.pose = poses[r->present];
		const carom_result result = carom_world_add_body(r->world, &def, &r->ids[r->present]);
		if (result != CAROM_SUCCESS)
			return result;
		if (def.kind != CAROM_STATIC) {
			r->moving[r->moving_count] = r->present;
			r->moving_ids[r->moving_count++] = r->ids[r->present];
		}
	}
	return CAROM_SUCCESS;
}

static carom_result put_sheet(runner *r, int sheet, const carom_mesh *mesh, bool is_new)
{
	const carom_shape shape = { .type = CAROM_MESH, .mesh = mesh };
	if (!is_new)
		return carom_world_set_shape(r->world, r->sheet_ids[sheet], &shape);
	carom_body_def def = carom_default_body_def();
	def.shape = shape;
	def.user_data = (uint64_t)(r->motion->scene.rigid.body_count + sheet);
	return carom_world_add_body(r->world, &def, &r->sheet_ids[sheet]);
}

/// Sheets are rigid bodies that get another mesh in each frame: so pairs with them are worked out
/// in full, and there is no search for impacts, which the paper does not have.
static carom_result move_sheets(runner *r, int frame)
{
	const double start = sim_now_ms();
	const bool are_new = !r->sheet_ids;
	carom_result result = CAROM_SUCCESS;
	if (are_new)
		r->sheet_ids = bench_allocate((size_t)bench_sheet_count(r->sheets), sizeof *r->sheet_ids);
	for (int i = 0; i < bench_sheet_count(r->sheets) && result == CAROM_SUCCESS; i++) {
		carom_mesh *mesh;
		result = bench_sheet_mesh(r->sheets, r->context, i, frame, &mesh);
		if (result == CAROM_SUCCESS)
			result = put_sheet(r, i, mesh, are_new);
		carom_release_mesh(mesh);
	}
	r->update += sim_now_ms() - start;
	return result;
}

static int step_runner(runner *r, int frame)
{
	const carom_pose *poses = r->motion->poses + (size_t)frame * (size_t)r->motion->scene.rigid.body_count;
	carom_result result = add_present_bodies(r, frame, poses);
	r->update = 0;
	for (int32_t i = 0; i < r->moving_count; i++)
		r->moving_poses[i] = poses[r->moving[i]];
	if (result == CAROM_SUCCESS && r->forms)
		result = bench_form_move(r->forms, r->world, r->moving_count, r->moving, r->moving_ids, frame, &r->update);
	else if (result == CAROM_SUCCESS)
		result = carom_world_set_poses(r->world, r->moving_count, r->moving_ids, r->moving_poses);
	if (result == CAROM_SUCCESS && r->sheets)
		result = move_sheets(r, frame);
	if (result == CAROM_SUCCESS)
		result = carom_world_step(r->world);
	if (result != CAROM_SUCCESS)
		return report_error(NULL, "frame %d: %s", frame, carom_error_text(r->context));
	return EXIT_DONE;
}

// ---- Results ----

double bench_narrow_ms(const carom_stats *stats) { return stats->ms_vertex + stats->ms_ray + stats->ms_complete; }

// The colliding pairs of every frame, as a << 32 | b with a < b by number in the scene, sorted.
typedef struct pair_list {
	uint64_t *data;
	size_t count, room;
	size_t *ends; // [frames] after the last pair of each
} pair_list;

static void keep_pairs(pair_list *list, int at, const carom_world *world)
{
	const carom_pair_view pairs = carom_world_pairs(world);
	if (list->count + (size_t)pairs.count > list->room) {
		const size_t room = 2 * (list->count + (size_t)pairs.count);
		uint64_t *data = bench_allocate(room, sizeof *data);
		if (list->count > 0)
			memcpy(data, list->data, list->count * sizeof *data);
		free(list->data);
		list->data = data;
		list->room = room;
	}
	// Bodies were added in the order of the scene and none is ever removed, so the order of ids is
	// that of the numbers.
	const size_t first = list->count;
	for (int32_t i = 0; i < pairs.count; i++) {
		const uint64_t pair = pairs.data[i].user_data_a << 32 | pairs.data[i].user_data_b;
		// Parts of two bodies stand side by side.
		if (list->count == first || list->data[list->count - 1] != pair)
			list->data[list->count++] = pair;
	}
	list->ends[at] = list->count;
}

static void compare_pairs(const pair_list *list, const pair_list *reference, int frames, bench_result *result)
{
	result->pairs = (int64_t)list->count;
	size_t i = 0, j = 0;
	for (int at = 0; at < frames; at++) {
		while (i < list->ends[at] || j < reference->ends[at]) {
			const bool mine = i < list->ends[at] && (j == reference->ends[at] || list->data[i] <= reference->data[j]);
			const bool theirs = j < reference->ends[at] && (i == list->ends[at] || reference->data[j] <= list->data[i]);
			result->extra_pairs += !theirs;
			result->missing_pairs += !mine;
			i += mine;
			j += theirs;
		}
	}
}

// Everything that one call of bench_replay works on.
typedef struct replays {
	const bench *b;
	const bench_motion *motion;
	const bench_window *window;
	const bench_variant *variants;
	int count;
	int repeats;
	pair_list pairs[BENCH_MAX_VARIANTS];
	bench_result *results;
} replays;

/// Numbers beyond those of the scene are sheets.
static bool moves(const scene_description *scene, uint64_t body)
{
	return body >= (uint64_t)scene->rigid.body_count || scene->rigid.bodies[body].kind == CAROM_DYNAMIC;
}

/// Pairs of bodies that move, parts of them taken together.
static void keep_depths(const scene_description *scene, const carom_world *world, int at, bench_result *result)
{
	const carom_pair_view pairs = carom_world_pairs(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	double sum = 0, deepest = 0;
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *pair = &pairs.data[i], *next = i + 1 < pairs.count ? pair + 1 : NULL;
		if (!moves(scene, pair->user_data_a) || !moves(scene, pair->user_data_b))
			continue;
		for (int32_t k = 0; k < pair->contact_count; k++)
			deepest = fmax(deepest, (double)contacts.data[pair->first_contact + k].depth);
		if (next && next->user_data_a == pair->user_data_a && next->user_data_b == pair->user_data_b)
			continue;
		sum += deepest;
		deepest = 0;
		result->touching[at]++;
	}
	result->depths[at] = result->touching[at] > 0 ? sum / result->touching[at] : 0;
}

static int frames_of(const bench_window *window) { return window->end - window->first; }

static void take_frame(replays *all, int variant, int repeat, int at, const runner *r)
{
	carom_stats stats = carom_world_stats(r->world);
	carom_stats *least = &all->results[variant].frames[at];
	stats.ms_trees += r->update;
	stats.ms_total += r->update;
	if (repeat == 0) {
		all->results[variant].hash =
			sim_hash_word(at == 0 ? SIM_HASH_START : all->results[variant].hash, carom_world_hash(r->world));
		keep_pairs(&all->pairs[variant], at, r->world);
		keep_depths(&all->motion->scene, r->world, at, &all->results[variant]);
	}
	if (repeat > 0) {
		stats.ms_trees = fmin(stats.ms_trees, least->ms_trees);
		stats.ms_pair = fmin(stats.ms_pair, least->ms_pair);
	}
	if (repeat == 0 || bench_narrow_ms(&stats) < bench_narrow_ms(least))
		*least = stats;
	least->ms_trees = stats.ms_trees;
	least->ms_pair = stats.ms_pair;
}

static int run_window(replays *all, int variant, int repeat, runner *r)
{
	const bench_window *window = all->window;
	const int warm_up = all->b->quick ? QUICK_WARM_UP_FRAMES : WARM_UP_FRAMES;
	int status = open_runner(all->b, all->motion, &all->variants[variant], r);
	for (int frame = window->first > warm_up ? window->first - warm_up : 0; frame < window->end; frame++) {
		if (status == EXIT_DONE)
			status = step_runner(r, frame);
		if (status != EXIT_DONE)
			return status;
		for (int i = 0; i < r->device_count && frame == window->first - 1; i++)
			r->before[i] = devices_work(r->devices[i]);
		if (frame >= window->first)
			take_frame(all, variant, repeat, frame - window->first, r);
	}
	all->results[variant].work = (device_work){ .count = 0 };
	for (int i = 0; i < r->device_count; i++) {
		const device_work work = devices_work_since(r->devices[i], &r->before[i]);
		devices_add_work(&all->results[variant].work, &work);
	}
	return EXIT_DONE;
}

/// Each repeat begins with another variant.
static int run_all(replays *all)
{
	int status = EXIT_DONE;
	progress bar;
	progress_start(&bar, "replay", (int64_t)all->repeats * all->count);
	for (int i = 0; i < all->repeats * all->count && status == EXIT_DONE; i++) {
		const int repeat = i / all->count;
		runner r;
		status = run_window(all, (i + repeat) % all->count, repeat, &r);
		close_runner(&r);
		progress_update(&bar, i + 1);
	}
	progress_finish(&bar);
	return status;
}

/// Devices must find the contacts of their reference.
static int check_contacts(const bench_variant *variants, int count, const bench_result *results)
{
	for (int i = 0; i < count; i++) {
		if (variants[i].devices > 0 && results[i].hash != results[variants[i].reference].hash)
			return report_error(
				NULL, "\"%s\" and \"%s\" find other contacts", variants[i].name, variants[variants[i].reference].name);
	}
	return EXIT_DONE;
}

int bench_replay(const bench *b, const bench_motion *motion, const bench_window *window, const bench_variant *variants,
	int count, int repeats, bench_result *results)
{
	const size_t frames = (size_t)frames_of(window);
	replays all = {
		.b = b, .motion = motion, .window = window, .variants = variants, .count = count, .repeats = repeats, .results = results
	};
	for (int i = 0; i < count; i++) {
		all.pairs[i].ends = bench_allocate(frames, sizeof *all.pairs[i].ends);
		results[i] = (bench_result){ .frame_count = (int)frames,
			.frames = bench_allocate(frames, sizeof *results->frames),
			.touching = bench_allocate(frames, sizeof *results->touching),
			.depths = bench_allocate(frames, sizeof *results->depths) };
	}
	int status = run_all(&all);
	if (status == EXIT_DONE)
		status = check_contacts(variants, count, results);
	for (int i = 0; i < count && status == EXIT_DONE; i++)
		compare_pairs(&all.pairs[i], &all.pairs[variants[i].reference], (int)frames, &results[i]);
	if (status != EXIT_DONE)
		bench_free_results(results, count);
	for (int i = 0; i < count; i++) {
		free(all.pairs[i].data);
		free(all.pairs[i].ends);
	}
	return status;
}

void bench_free_results(bench_result *results, int count)
{
	for (int i = 0; i < count; i++) {
		free(results[i].frames);
		free(results[i].touching);
		free(results[i].depths);
		results[i] = (bench_result){ 0 };
	}
}

carom_stats bench_sum(const bench_result *result)
{
	carom_stats sum = { 0 };
	for (int i = 0; i < result->frame_count; i++) {
		const carom_stats before = sum, *s = &result->frames[i];
		sum = *s;
		sum.rays_full += before.rays_full;
		sum.rays_iterative += before.rays_iterative;
		sum.rays_predictive += before.rays_predictive;
		sum.rays_lost += before.rays_lost;
		sum.rays_recast += before.rays_recast;
		sum.rays_missed += before.rays_missed;
		sum.backtracks += before.backtracks;
		sum.ms_total += before.ms_total;
		sum.ms_trees += before.ms_trees;
		sum.ms_pair += before.ms_pair;
		sum.ms_vertex += before.ms_vertex;
		sum.ms_ray += before.ms_ray;
		sum.ms_complete += before.ms_complete;
		sum.ms_merge += before.ms_merge;
		sum.ms_sweep += before.ms_sweep;
	}
	return sum;
}

double bench_mean_ms(const bench_result *result, int first, int end)
{
	double sum = 0;
	for (int i = first; i < end; i++)
		sum += bench_narrow_ms(&result->frames[i]);
	return sum / (end - first);
}

double bench_peak_ms(const bench_result *result)
{
	double peak = 0;
	for (int i = 0; i < result->frame_count; i++)
		peak = fmax(peak, bench_narrow_ms(&result->frames[i]));
	return peak;
}

void bench_note_pairs(
	bench_report *report, const char *where, const bench_variant *variants, const bench_result *results, int count)
{
	bool same = true;
	for (int i = 0; i < count; i++) {
		const bench_result *r = &results[i];
		if (r->missing_pairs + r->extra_pairs == 0)
			continue;
		same = false;
		bench_note(report, "%s: \"%s\" missed %lld and added %lld of the %lld colliding pairs of \"%s\"", where,
			variants[i].name, (long long)r->missing_pairs, (long long)r->extra_pairs,
			(long long)results[variants[i].reference].pairs, variants[variants[i].reference].name);
	}
	if (same)
		bench_note(report, "%s: all found the same %lld colliding pairs", where, (long long)results[0].pairs);
}
