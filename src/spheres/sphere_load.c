/// carom_spheres_update: is the list of neighbours still proved? If not, copy the spheres in the
/// form that the detectors take and make the structure fit. Nothing is changed before the input has
/// been checked.
#include "base/time.h"
#include "spheres/sphere_frame.h"
#include "spheres/sphere_names.h"
#include "spheres/sphere_state.h"
#include "spheres/wide_tree.h"
#include <math.h>
#include <string.h>

/// The detectors by method.
static const cr_sphere_detector *detector_of(carom_sphere_method method)
{
	switch ((int)method) {
	case CAROM_SPHERES_GRID: return &cr_grid_detector;
	case CAROM_SPHERES_LEVELS: return &cr_levels_detector;
	case CAROM_SPHERES_RAYS: return &cr_rays_detector;
#ifdef CR_HAVE_VULKAN
	case CAROM_SPHERES_DEVICE: return &cr_device_detector; // without Vulkan nobody has a device
	case CR_SPHERES_SLABS: return &cr_slabs_detector;
#endif
	case CR_SPHERES_WIDE: return &cr_wide_detector;
	default: return &cr_tree_detector;
	}
}

/// One update on its way.
typedef struct load {
	const carom_sphere_input *input;
	cr_sphere_view view;
	uint32_t owned;      // spheres that are no ghosts
	cr_name_ranks ranks; // of names of 64 bits, where they were checked
	bool exact;          // double or periodic
	cr_bounds4 bounds, motion;
	double bound; // of the list, if it holds; below 0: unknown
	bool measured;
} load;

// ---- Memory ----

void cr_forget_spheres(carom_spheres *spheres)
{
	spheres->set = (cr_sphere_set){ .context = spheres->context };
	spheres->now = NULL;
	spheres->fits = spheres->has_rows = spheres->has_ids = spheres->has_names = spheres->unread = false;
	spheres->pairs.count = 0;
	spheres->stats.count = spheres->stats.ghosts = spheres->stats.images = spheres->stats.pairs = spheres->stats.tests = 0;
	spheres->stats.kept = spheres->stats.refitted = false;
	spheres->stats.tree_cost = 0;
	cr_end_list(&spheres->list, -1);
}

static void release_state(carom_spheres *spheres, carom_sphere_method method)
{
	if (spheres->states[method])
		detector_of(method)->release(spheres->context, spheres->states[method]);
	spheres->states[method] = NULL;
}

void cr_release_lists(carom_spheres *spheres)
{
	carom_context *context = spheres->context;
	cr_empty_pair_store(spheres->store);
	cr_free_rows(context, &spheres->rows);
	cr_array_free(context, &spheres->pairs);
	cr_array_free(context, &spheres->upper);
	spheres->has_rows = false;
	cr_end_list(&spheres->list, -1);
}

void cr_release_spheres(carom_spheres *spheres)
{
	carom_context *context = spheres->context;
	for (int method = CAROM_SPHERES_GRID; method < CR_STATES; method++)
		release_state(spheres, (carom_sphere_method)method);
	cr_release_lists(spheres);
	cr_array_free(context, &spheres->ids);
	cr_array_free(context, &spheres->names);
	cr_array_free(context, &spheres->moved);
	cr_array_free(context, &spheres->owner);
	cr_array_free(context, &spheres->reference);
	cr_array_free(context, &spheres->exact);
	cr_array_free(context, &spheres->rounded);
	cr_forget_spheres(spheres);
}

size_t cr_state_bytes(const carom_spheres *spheres)
{
	size_t bytes = 0;
	for (int method = CAROM_SPHERES_GRID; method < CR_STATES; method++) {
		if (spheres->states[method])
			bytes += detector_of((carom_sphere_method)method)->bytes(spheres->states[method]);
	}
	return bytes;
}

// ---- Keeping the list ----

/// Are there as many spheres as in the last update, and as many ghosts among them?
static bool is_shared_alike(const carom_spheres *spheres, const load *task)
{
	return task->view.count == spheres->set.real && task->owned == cr_owned_spheres(&spheres->set);
}

/// Check the spheres, and bound their motion if that may help to keep the list.
static carom_result measure(carom_spheres *spheres, load *task)
{
	const cr_kept_list *list = &spheres->list;
	const bool comparable = list->held && task->input->moved < INFINITY && is_shared_alike(spheres, task) &&
		task->exact == spheres->given_exact && cr_same_names(spheres, task->input);
	task->bound = -1;
	if (comparable && task->input->moved >= 0)
		task->bound = list->bound + 2 * task->input->moved;
	task->measured = comparable && !(task->bound >= 0 && cr_list_holds(list, task->bound));
	cr_reference reference = { .exact = spheres->set.reference, .spheres = spheres->set.spheres };
	memcpy(reference.origin, spheres->origin, sizeof reference.origin);
	const carom_result result = cr_measure_input(
		spheres->context, &task->view, &spheres->space, task->measured ? &reference : NULL, &task->bounds, &task->motion);
	if (result != CAROM_SUCCESS || !task->measured)
		return result;
	task->bound = cr_bound_by_box(&task->motion);
	if (!cr_list_holds(list, task->bound)) {
		double shift[3];
		cr_common_translation(&task->motion, shift);
		task->bound = cr_bound_by_distance(
			&task->motion, cr_measure_distance(spheres->context, &task->view, &spheres->space, &reference, shift));
	}
	return CAROM_SUCCESS;
}

static bool keep_list(carom_spheres *spheres, double bound)
{
	if (bound < 0 || !cr_list_holds(&spheres->list, bound))
		return false;
	spheres->list.bound = bound > 0 ? bound : 0;
	spheres->list.updates++;
	spheres->stats.kept = true;
	spheres->stats.refitted = false;
	return true;
}

/// The spheres of a kept list as they are now: beside those that the list was made from.
static carom_result copy_now(carom_spheres *spheres, const load *task)
{
	if (spheres->set.exact) {
		cr_copy_double(spheres->context, &task->view, &spheres->space, spheres->exact.data);
		return CAROM_SUCCESS;
	}
	if (!cr_array_reserve_fresh(spheres->context, &spheres->moved, task->view.count))
		return cr_fail_memory(spheres->context, "spheres");
	cr_copy_single(spheres->context, &task->view, spheres->moved.data);
	spheres->now = spheres->moved.data;
	return CAROM_SUCCESS;
}

// ---- Making the set ----

/// The skin for the next list, and whether the periods leave room for it.
static carom_result choose_skin(const carom_spheres *spheres, const load *task, const cr_kept_list *last, double *skin)
{
	const double r_max = task->bounds.upper[3];
	double most = INFINITY;
	int tightest = 0;
	for (int k = 0; k < 3; k++) {
		// Two spheres touch in one place at most when the period is more than twice their reach.
		const double room = spheres->space.periodic[k] ? spheres->space.period[k] / 2 - 2 * r_max : INFINITY;
		if (room < most) {
			most = room;
			tightest = k;
		}
	}
	*skin = spheres->def.skin >= 0 ? spheres->def.skin
								   : cr_choose_skin(last, 2 * cr_mean_radius(&task->view), fmax(0, 0.99 * most));
	if (*skin < most)
		return CAROM_SUCCESS;
	return cr_fail(spheres->context, CAROM_INVALID_ARGUMENT,
		"carom_spheres_def.period[%d] is %g, not more than 2 * (2 * largest radius %g + skin %g)", tightest,
		spheres->space.period[tightest], r_max, *skin);
}

static void set_bounds(cr_sphere_set *set, const cr_bounds4 *bounds)
{
	for (int k = 0; k < 3; k++) {
		set->lower[k] = (float)bounds->lower[k];
		set->upper[k] = (float)bounds->upper[k];
	}
	set->r_min = (float)bounds->lower[3];
	set->r_max = (float)bounds->upper[3];
}

static carom_result load_single(carom_spheres *spheres, const load *task)
{
	if (!cr_array_reserve_fresh(spheres->context, &spheres->rounded, task->view.count))
		return cr_fail_memory(spheres->context, "spheres");
	cr_copy_single(spheres->context, &task->view, spheres->rounded.data);
	set_bounds(&spheres->set, &task->bounds);
	spheres->set.spheres = spheres->rounded.data;
	memset(spheres->origin, 0, sizeof spheres->origin);
	return CAROM_SUCCESS;
}

/// An upper bound of the change of a distance by rounding to float about the origin: each
/// coordinate is off by at most 2^-24 of the largest, the centres of a pair both (sums of radii err
/// by no more than the relative error that slack leaves aside).
static float slack_of(const cr_bounds4 *bounds)
{
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		const double largest = fmax(fabs(bounds->lower[k]), fabs(bounds->upper[k]));
		sum += largest * largest;
	}
	return (float)(2 * sqrt(sum) * 0x1p-24 * 1.001) + 0x1p-120f;
}

static carom_result load_double(carom_spheres *spheres, const load *task)
{
	carom_context *context = spheres->context;
	const cr_sphere_space *space = &spheres->space;
	// A little more than the reach: the rounding of the sum must not lose an image.
	const double reach = (2 * task->bounds.upper[3] + spheres->set.skin) * (1 + 0x1p-40);
	const int64_t images = cr_is_periodic(space) ? cr_count_images(context, &task->view, space, reach) : 0;
	const int64_t count = task->view.count + images;
	if (!cr_array_reserve_fresh(context, &spheres->exact, 4 * count) ||
		!cr_array_reserve_fresh(context, &spheres->rounded, count) || !cr_array_reserve_fresh(context, &spheres->owner, images))
		return cr_fail_memory(context, "spheres");
	cr_copy_double(context, &task->view, space, spheres->exact.data);
	if (images > 0)
		cr_make_images(space, reach, (uint32_t)task->view.count, spheres->exact.data, spheres->owner.data);
	while (spheres->set.ghost_images < images &&
		(spheres->owner.data[images - 1 - spheres->set.ghost_images] & CR_IMAGE_INDEX) >= task->owned)
		spheres->set.ghost_images++;
	for (int k = 0; k < 3; k++)
		spheres->origin[k] = space->periodic[k] ? space->period[k] / 2
												: task->bounds.lower[k] + (task->bounds.upper[k] - task->bounds.lower[k]) / 2;
	cr_bounds4 rounded;
	cr_round_spheres(context, spheres->exact.data, spheres->origin, (uint32_t)count, spheres->rounded.data, &rounded);
	set_bounds(&spheres->set, &rounded);
	spheres->set.count = (uint32_t)count;
	spheres->set.spheres = spheres->rounded.data;
	spheres->set.exact = spheres->exact.data;
	spheres->set.owner = spheres->owner.data;
	spheres->set.slack = slack_of(&rounded);
	return CAROM_SUCCESS;
}

/// Round the set again with the gaps between its spheres cut out, for which it has to be in double.
static carom_result cut_gaps(carom_spheres *spheres, const load *task)
{
	carom_context *context = spheres->context;
	cr_sphere_set *set = &spheres->set;
	carom_result result = set->exact ? CAROM_SUCCESS : load_double(spheres, task);
	if (result != CAROM_SUCCESS)
		return result;
	cr_bounds4 bounds = { .lower = { [3] = set->r_min }, .upper = { [3] = set->r_max } };
	for (int k = 0; k < 3; k++) {
		bounds.lower[k] = spheres->origin[k] + set->lower[k];
		bounds.upper[k] = spheres->origin[k] + set->upper[k];
	}
	result = cr_cut_gaps(context, set->exact, set->count, set->skin, spheres->rounded.data, &bounds);
	if (result != CAROM_SUCCESS)
		return result;
	set_bounds(set, &bounds);
	set->slack = slack_of(&bounds);
	if (set->skin == 0)
		return CAROM_SUCCESS;
	// Rounded spheres no longer tell where they were.
	if (!cr_array_reserve_fresh(context, &spheres->reference, 4 * (int64_t)set->real))
		return cr_fail_memory(context, "spheres");
	memcpy(spheres->reference.data, set->exact, 4 * (size_t)set->real * sizeof(double));
	set->reference = spheres->reference.data;
	return CAROM_SUCCESS;
}

/// See to it that the spheres can be told apart: without the gaps between them, or else by the wide
/// tree.
static carom_result check_frame(carom_spheres *spheres, const load *task)
{
	bool resolved;
	carom_result result = cr_check_frame(&spheres->set, &resolved);
	if (result != CAROM_SUCCESS || resolved)
		return result;
	result = cut_gaps(spheres, task);
	if (result == CAROM_SUCCESS)
		result = cr_check_frame(&spheres->set, &resolved);
	spheres->wide = !resolved;
	return result;
}

static carom_result load_spheres(carom_spheres *spheres, load *task, double skin)
{
	const uint32_t count = (uint32_t)task->view.count;
	spheres->wide = false;
	spheres->given_exact = task->exact;
	spheres->set = (cr_sphere_set){ .context = spheres->context,
		.count = count,
		.real = count,
		.ghosts = count - task->owned,
		.skin = skin,
		.device = spheres->def.device,
		.devices = spheres->devices,
		.device_count = spheres->device_count };
	carom_result result = cr_take_names(spheres, task->input, &task->ranks);
	if (result == CAROM_SUCCESS && count > 0)
		result = task->exact ? load_double(spheres, task) : load_single(spheres, task);
	if (result == CAROM_SUCCESS)
		result = check_frame(spheres, task);
	if (result != CAROM_SUCCESS)
		return result;
	spheres->now = spheres->rounded.data;
	spheres->stats.count = count;
	spheres->stats.images = spheres->set.count - count;
	spheres->stats.ghosts = spheres->set.ghosts;
	spheres->stats.skin = skin;
	return CAROM_SUCCESS;
}

// ---- The structure ----

/// The method for the set; memory of another one is given back.
static void choose_method(carom_spheres *spheres)
{
	const carom_sphere_method old = spheres->method;
	spheres->method = spheres->wide ? (carom_sphere_method)CR_SPHERES_WIDE : spheres->def.method;
	if (spheres->method == CAROM_SPHERES_DEVICE && spheres->device_count > 1)
		spheres->method = (carom_sphere_method)CR_SPHERES_SLABS;
	if (spheres->method == CAROM_SPHERES_AUTO)
		spheres->method = cr_choose_method(&spheres->choice, &spheres->set);
	if (spheres->method == old)
		return;
	release_state(spheres, old);
	spheres->fits = false;
}

/// Does a device find the pairs, or several?
static bool is_on_device(const carom_spheres *spheres)
{
	return spheres->method == CAROM_SPHERES_DEVICE || (int)spheres->method == CR_SPHERES_SLABS;
}

/// The last fit is over: note its time, with the query that may have followed.
static bool wants_refit(carom_spheres *spheres)
{
	if (!spheres->fits || spheres->fitted_count != spheres->set.count ||
		spheres->fitted_ghosts != spheres->set.ghosts + spheres->set.ghost_images) {
		spheres->upkeep = cr_make_upkeep(&spheres->def);
		return false;
	}
	cr_upkeep_record(&spheres->upkeep, &spheres->fit);
	return !cr_upkeep_rebuilds(&spheres->upkeep);
}

/// Build, or refit if that is possible and thought right.
static carom_result fit_method(carom_spheres *spheres)
{
	const cr_sphere_detector *detector = detector_of(spheres->method);
	void **state = &spheres->states[spheres->method];
	const bool refit = detector->refit && wants_refit(spheres);
	const double start = cr_time_ms();
	spheres->fits = false;
	const carom_result result = refit ? detector->refit(*state, &spheres->set) : detector->build(state, &spheres->set);
	if (result != CAROM_SUCCESS)
		return result;
	const double cost = detector->cost ? detector->cost(*state) : 0;
	spheres->fits = true;
	spheres->fitted_count = spheres->set.count;
	spheres->fitted_ghosts = spheres->set.ghosts + spheres->set.ghost_images;
	spheres->fit = (cr_upkeep_step){ .rebuilt = !refit, .update_ms = cr_time_ms() - start, .query_ms = -1, .cost = cost };
	spheres->stats.method = spheres->wide ? CAROM_SPHERES_TREE : is_on_device(spheres) ? CAROM_SPHERES_DEVICE : spheres->method;
	spheres->stats.refitted = refit;
	spheres->stats.tree_builds += detector->refit && !refit;
	spheres->stats.tree_cost = cost;
	return CAROM_SUCCESS;
}

// ---- The processor in the device's place ----

/// Has the device failed at something that the processor is to do instead? It takes over if so: the
/// tree of the processor is the method until the next update.
static bool falls_back(carom_spheres *spheres, carom_result result)
{
	if (result == CAROM_SUCCESS || !is_on_device(spheres) || !spheres->def.device_fallback)
		return false;
	cr_log(spheres->context, CAROM_LOG_WARNING, "the processor finds pairs of spheres in the device's place: %s",
		carom_error_text(spheres->context));
	release_state(spheres, spheres->method);
	spheres->method = CAROM_SPHERES_TREE;
	spheres->fits = false;
	spheres->stats.device_fallbacks++;
	return true;
}

static carom_result fit_structure(carom_spheres *spheres)
{
	choose_method(spheres);
	spheres->stats.device_fallbacks += spheres->wide && spheres->def.method == CAROM_SPHERES_DEVICE;
	const carom_result result = fit_method(spheres);
	return falls_back(spheres, result) ? fit_method(spheres) : result;
}

/// A sink that remembers whether it was given anything.
typedef struct watched_sink {
	const cr_pair_sink *sink;
	atomic_bool used;
} watched_sink;

static bool take_watched(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	watched_sink *watched = user;
	atomic_store_explicit(&watched->used, true, memory_order_relaxed);
	return watched->sink->take(pairs, count, worker, watched->sink->user);
}

static carom_result search_method(carom_spheres *spheres, const cr_pair_sink *sink, cr_sorted_search *sorted)
{
	const cr_sphere_detector *detector = detector_of(spheres->method);
	const double start = cr_time_ms();
	int64_t tests = 0;
	void *state = spheres->states[spheres->method];
	const carom_result result = sorted && detector->find_sorted
		? detector->find_sorted(state, &spheres->set, sink, sorted, &tests)
		: detector->find(state, &spheres->set, sink, &tests);
	const double ms = cr_time_ms() - start;
	spheres->stats.ms_find += ms;
	spheres->stats.tests += tests;
	if (result != CAROM_SUCCESS) {
		if (sorted)
			sorted->done = false;
		return result;
	}
	spheres->fit.query_ms = ms;
	if (spheres->def.method == CAROM_SPHERES_AUTO && !spheres->wide)
		cr_note_cost(&spheres->choice, spheres->fit.update_ms + ms);
	return CAROM_SUCCESS;
}

carom_result cr_search(carom_spheres *spheres, const cr_pair_sink *sink, cr_sorted_search *sorted)
{
	if (spheres->set.count == 0)
		return CAROM_SUCCESS;
	if (!is_on_device(spheres))
		return search_method(spheres, sink, sorted);
	watched_sink watched = { .sink = sink };
	const cr_pair_sink outer = { take_watched, &watched };
	carom_result result = search_method(spheres, &outer, sorted);
	if (result != CAROM_SUCCESS && !atomic_load(&watched.used) && falls_back(spheres, result)) {
		result = fit_method(spheres);
		if (result == CAROM_SUCCESS)
			result = search_method(spheres, sink, sorted);
	}
	return result;
}

carom_result cr_show_pairs(carom_spheres *spheres, bool there, carom_sphere_device_pairs *shown)
{
#ifdef CR_HAVE_VULKAN
	if (spheres->set.real > 0)
		return cr_show_device_pairs(
			&spheres->states[CAROM_SPHERES_DEVICE], &spheres->set, there ? NULL : &spheres->pairs, shown);
#else
	(void)spheres, (void)there;
#endif
	*shown = (carom_sphere_device_pairs){ 0 };
	return CAROM_SUCCESS;
}

// ---- The update ----

static carom_result rebuild(carom_spheres *spheres, load *task)
{
	double skin;
	cr_kept_list ended = spheres->list;
	cr_end_list(&ended, task->bound);
	carom_result result = choose_skin(spheres, task, &ended, &skin);
	if (result == CAROM_SUCCESS)
		result = cr_check_names(spheres, task->input, task->owned, &task->ranks);
	if (result == CAROM_OUT_OF_MEMORY)
		cr_release_spheres(spheres);
	if (result != CAROM_SUCCESS)
		return result; // nothing else has been changed
	spheres->list = ended;
	const double start = cr_time_ms();
	spheres->has_rows = false;
	result = load_spheres(spheres, task, skin);
	if (result == CAROM_SUCCESS && spheres->set.count > 0)
		result = fit_structure(spheres);
	if (result != CAROM_SUCCESS) {
		cr_release_spheres(spheres);
		return result;
	}
	spheres->stats.kept = false;
	spheres->list.ms_made = cr_time_ms() - start;
	return CAROM_SUCCESS;
}

carom_result cr_load_spheres(carom_spheres *spheres, const carom_sphere_input *input)
{
	load task = { .input = input };
	carom_result result = cr_view_input(spheres->context, input, &task.view);
	if (result != CAROM_SUCCESS)
		return result;
	task.owned = (uint32_t)(input->owned < 0 ? input->count : input->owned);
	if (input->neighbours_only && input->moved >= 0 && is_shared_alike(spheres, &task) &&
		keep_list(spheres, spheres->list.bound + 2 * input->moved)) {
		spheres->unread = true;
		return CAROM_SUCCESS;
	}
	task.exact = task.view.double_centres || task.view.double_radii || cr_is_periodic(&spheres->space);
	result = measure(spheres, &task);
	if (result != CAROM_SUCCESS)
		return result;
	if (!keep_list(spheres, task.bound)) {
		result = rebuild(spheres, &task);
		cr_array_free(spheres->context, &task.ranks);
	} else if ((result = copy_now(spheres, &task)) != CAROM_SUCCESS) {
		cr_release_spheres(spheres);
	}
	if (result == CAROM_SUCCESS)
		spheres->unread = false;
	return result;
}
