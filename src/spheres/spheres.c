/// The calls of carom/spheres.h: arguments, and the steps of each call. The work is in
/// sphere_load.c (update), neighbours.c (lists), sphere_forces.c and the detectors.
#include "base/time.h"
#include "spheres/sphere_order.h"
#include "spheres/sphere_cookie.h"
#include "spheres/sphere_forces.h"
#include "spheres/sphere_state.h"
#include "vulkan/gpu_device.h"
#include <math.h>
#include <string.h>

// A shorter period would have no place of its own for its last digits in float.
static const double MIN_PERIOD = 1e-12;

// ---- Making ----

carom_spheres_def carom_default_spheres_def(void)
{
	carom_spheres_def def;
	memset(&def, 0, sizeof def);
	def.cookie = CR_SPHERES_COOKIE;
	def.method = CAROM_SPHERES_AUTO;
	def.upkeep = CAROM_UPKEEP_AUTO;
	def.rebuild_interval = 8;
	def.max_cost_growth = 1.5;
	return def;
}

carom_sphere_input carom_default_sphere_input(void)
{
	return (carom_sphere_input){ .cookie = CR_SPHERE_INPUT_COOKIE, .owned = -1, .moved = -1 };
}

const char *carom_sphere_method_name(carom_sphere_method method)
{
	switch (method) {
	case CAROM_SPHERES_AUTO: return "auto";
	case CAROM_SPHERES_GRID: return "grid";
	case CAROM_SPHERES_LEVELS: return "levels";
	case CAROM_SPHERES_TREE: return "tree";
	case CAROM_SPHERES_RAYS: return "rays";
	case CAROM_SPHERES_DEVICE: return "device";
	}
	return "unknown";
}

static carom_result check_periods(carom_context *context, const carom_spheres_def *def)
{
	for (int k = 0; k < 3; k++) {
		if (def->periodic[k] && !(def->period[k] >= MIN_PERIOD && def->period[k] <= CAROM_MAX_COORDINATE))
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_spheres_def.period[%d] is %g, not in %g to %g", k,
				def->period[k], MIN_PERIOD, CAROM_MAX_COORDINATE);
	}
	return CAROM_SUCCESS;
}

static carom_result check_device(carom_context *context, const carom_spheres_def *def)
{
	if (def->method != CAROM_SPHERES_DEVICE)
		return CAROM_SUCCESS;
	if (!def->device)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_spheres_def.device is NULL, but the method is DEVICE");
	return cr_check_device_context(context, def->device, "carom_spheres_def.device");
}

static carom_result check_def(carom_context *context, const carom_spheres_def *def)
{
	const carom_result bad = CAROM_INVALID_ARGUMENT;
	if (def->cookie != CR_SPHERES_COOKIE)
		return cr_fail(context, bad, "carom_spheres_def.cookie: start from carom_default_spheres_def");
	if ((int)def->method < CAROM_SPHERES_AUTO || def->method > CAROM_SPHERES_DEVICE)
		return cr_fail(context, bad, "carom_spheres_def.method is %d, none of carom_sphere_method", (int)def->method);
	if (isnan(def->skin) || def->skin > CAROM_MAX_COORDINATE)
		return cr_fail(context, bad, "carom_spheres_def.skin is %g, not a length up to %g", def->skin, CAROM_MAX_COORDINATE);
	if ((int)def->upkeep < CAROM_UPKEEP_AUTO || def->upkeep > CAROM_UPKEEP_QUALITY)
		return cr_fail(context, bad, "carom_spheres_def.upkeep is %d, none of carom_tree_upkeep", (int)def->upkeep);
	if (def->upkeep == CAROM_UPKEEP_INTERVAL && def->rebuild_interval < 1)
		return cr_fail(context, bad, "carom_spheres_def.rebuild_interval is %d, below 1", def->rebuild_interval);
	if (def->upkeep == CAROM_UPKEEP_QUALITY && !(def->max_cost_growth > 1))
		return cr_fail(context, bad, "carom_spheres_def.max_cost_growth is %g, not above 1", def->max_cost_growth);
	const carom_result result = check_device(context, def);
	return result == CAROM_SUCCESS ? check_periods(context, def) : result;
}

carom_result carom_create_spheres(carom_context *context, const carom_spheres_def *def, carom_spheres **spheres)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!spheres)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_create_spheres: spheres is NULL");
	*spheres = NULL;
	const carom_spheres_def default_def = carom_default_spheres_def();
	if (!def)
		def = &default_def;
	const carom_result result = check_def(context, def);
	if (result != CAROM_SUCCESS)
		return result;
	carom_spheres *made = cr_alloc_zero(context, sizeof *made);
	if (!made)
		return cr_fail_memory(context, "spheres");
	cr_context_init_child(&made->memory, context, def->memory_budget);
	cr_pair_store *store = cr_make_pair_store(&made->memory);
	if (!store) {
		const carom_result failed = cr_fail_memory(context, "spheres");
		const carom_result explained = cr_explain_refusal(&made->memory, "carom_create_spheres", 0, failed);
		cr_free(context, made, sizeof *made);
		return explained;
	}
	made->context = &made->memory;
	made->def = *def;
	made->space = cr_make_space(def);
	made->store = store;
	made->upkeep = cr_make_upkeep(def);
	made->method = def->method != CAROM_SPHERES_AUTO ? def->method : CAROM_SPHERES_GRID;
	made->stats.method = made->method;
	made->stats.skin = fmax(def->skin, 0);
	cr_forget_spheres(made);
	atomic_fetch_add(&context->live_objects, 1);
	*spheres = made;
	return CAROM_SUCCESS;
}

static carom_result check_devices(carom_spheres *spheres, carom_device *const *devices, int32_t count)
{
	static const char CALL[] = "carom_spheres_set_devices";
	carom_context *context = spheres->memory.parent;
	const carom_result bad = CAROM_INVALID_ARGUMENT;
	if (spheres->def.method != CAROM_SPHERES_DEVICE)
		return cr_fail(context, bad, "%s: carom_spheres_def.method is %s, not device", CALL,
			carom_sphere_method_name(spheres->def.method));
	if (count < 1 || count > CAROM_MAX_DEVICES)
		return cr_fail(context, bad, "%s: count is %d, not 1 to %d", CALL, (int)count, (int)CAROM_MAX_DEVICES);
	if (!devices)
		return cr_fail(context, bad, "%s: devices is NULL", CALL);
	for (int32_t i = 0; i < count; i++) {
		if (!devices[i])
			return cr_fail(context, bad, "%s: devices[%d] is NULL", CALL, (int)i);
		for (int32_t k = 0; k < i; k++) {
			if (devices[k] == devices[i])
				return cr_fail(context, bad, "%s: devices[%d] is devices[%d] again", CALL, (int)i, (int)k);
		}
		if (cr_check_device_context(context, devices[i], CALL) != CAROM_SUCCESS)
			return cr_fail(context, bad, "%s: devices[%d] is of another context", CALL, (int)i);
	}
	return CAROM_SUCCESS;
}

carom_result carom_spheres_set_devices(carom_spheres *spheres, carom_device *const *devices, int32_t count)
{
	if (!spheres)
		return CAROM_INVALID_ARGUMENT;
	const carom_result result = check_devices(spheres, devices, count);
	if (result != CAROM_SUCCESS)
		return result;
	cr_release_spheres(spheres);
	spheres->def.device = devices[0];
	spheres->device_count = count;
	memcpy(spheres->devices, devices, (size_t)count * sizeof *devices);
	return CAROM_SUCCESS;
}

void carom_destroy_spheres(carom_spheres *spheres)
{
	if (!spheres)
		return;
	carom_context *context = spheres->memory.parent;
	cr_release_spheres(spheres);
	cr_free_pair_store(spheres->store);
	atomic_fetch_sub(&context->live_objects, 1);
	cr_free(context, spheres, sizeof *spheres);
}

// ---- Calls ----

carom_result carom_spheres_update(carom_spheres *spheres, const carom_sphere_input *input)
{
	if (!spheres)
		return CAROM_INVALID_ARGUMENT;
	if (!input)
		return cr_fail(spheres->context, CAROM_INVALID_ARGUMENT, "carom_spheres_update: input is NULL");
	const double start = cr_time_ms();
	const unsigned refusals = atomic_load(&spheres->memory.refusals);
	const carom_result result = cr_load_spheres(spheres, input);
	if (result != CAROM_SUCCESS)
		return cr_explain_refusal(&spheres->memory, "carom_spheres_update", refusals, result);
	spheres->stats.updates++;
	spheres->stats.ms_update = cr_time_ms() - start;
	return CAROM_SUCCESS;
}

/// The conditions of every search.
static carom_result check_call(carom_spheres *spheres, const char *call, bool has_result)
{
	if (!spheres)
		return CAROM_INVALID_ARGUMENT;
	if (!has_result)
		return cr_fail(spheres->context, CAROM_INVALID_ARGUMENT, "%s: an argument is NULL", call);
	if (spheres->unread)
		return cr_fail(
			spheres->context, CAROM_INVALID_ARGUMENT, "%s: the last update was for neighbours_only and read no sphere", call);
	return CAROM_SUCCESS;
}

/// The fields of the stats about the last search are of this one from here on. Returns the
/// allocations that the budget has refused so far.
static unsigned begin_search(carom_spheres *spheres)
{
	spheres->stats.ms_find = spheres->stats.ms_sort = 0;
	spheres->stats.pairs = spheres->stats.tests = 0;
	return atomic_load(&spheres->memory.refusals);
}

/// The result of a search: one that ran out of memory keeps no part of a list, and says whether the
/// budget was the reason.
static carom_result end_search(carom_spheres *spheres, const char *call, unsigned refusals, carom_result result)
{
	if (result == CAROM_OUT_OF_MEMORY)
		cr_release_lists(spheres);
	return cr_explain_refusal(&spheres->memory, call, refusals, result);
}

/// Is there a list, or should there be one, to read pairs off?
static bool uses_list(const carom_spheres *spheres) { return spheres->set.skin > 0 || spheres->has_rows; }

static carom_result search_sorted(carom_spheres *spheres, cr_sorted_search *sorted)
{
	if (!cr_open_pair_store(spheres->store, spheres->set.real, cr_owned_spheres(&spheres->set), false))
		return cr_fail_memory(spheres->context, "pairs of spheres");
	const cr_pair_sink sink = cr_store_sink(spheres->store);
	const carom_result result = cr_search(spheres, &sink, sorted);
	if (result != CAROM_SUCCESS || sorted->done)
		return result;
	const double start = cr_time_ms();
	if (cr_pair_store_failed(spheres->store) || !cr_sort_pairs(spheres->store, &spheres->pairs))
		return cr_fail_memory(spheres->context, "pairs of spheres");
	spheres->stats.ms_sort += cr_time_ms() - start;
	return CAROM_SUCCESS;
}

/// All touching pairs, sorted: in spheres->pairs, or where the search has left them.
static carom_result find_pairs(carom_spheres *spheres, cr_sorted_search *sorted)
{
	if (!uses_list(spheres))
		return search_sorted(spheres, sorted);
	const carom_result result = cr_make_rows(spheres);
	if (result == CAROM_SUCCESS && !cr_sort_touching(spheres))
		return cr_fail_memory(spheres->context, "pairs of spheres");
	return result;
}

carom_result carom_spheres_find_pairs(carom_spheres *spheres, carom_sphere_pairs *pairs)
{
	carom_result result = check_call(spheres, "carom_spheres_find_pairs", pairs != NULL);
	if (result != CAROM_SUCCESS)
		return result;
	*pairs = (carom_sphere_pairs){ 0 };
	const unsigned refusals = begin_search(spheres);
	cr_sorted_search sorted = { .pairs = &spheres->pairs };
	result = find_pairs(spheres, &sorted);
	if (result == CAROM_SUCCESS) {
		*pairs = sorted.done ? sorted.shown : (carom_sphere_pairs){ spheres->pairs.data, spheres->pairs.count };
		spheres->stats.pairs = pairs->count;
	}
	return end_search(spheres, "carom_spheres_find_pairs", refusals, result);
}

carom_result carom_spheres_find_device_pairs(carom_spheres *spheres, carom_sphere_device_pairs *pairs)
{
	static const char CALL[] = "carom_spheres_find_device_pairs";
	carom_result result = check_call(spheres, CALL, pairs != NULL);
	if (result != CAROM_SUCCESS)
		return result;
	*pairs = (carom_sphere_device_pairs){ 0 };
	if (spheres->def.method != CAROM_SPHERES_DEVICE)
		return cr_fail(spheres->context, CAROM_INVALID_ARGUMENT, "%s: carom_spheres_def.method is %s, not device", CALL,
			carom_sphere_method_name(spheres->def.method));
	const unsigned refusals = begin_search(spheres);
	cr_sorted_search sorted = { 0 };
	result = find_pairs(spheres, &sorted);
	if (result == CAROM_SUCCESS)
		result = cr_show_pairs(spheres, sorted.done, pairs);
	if (result == CAROM_SUCCESS)
		spheres->stats.pairs = pairs->count;
	return end_search(spheres, CALL, refusals, result);
}

/// The caller's function as a sink that counts.
typedef struct visitor {
	carom_sphere_pairs_fn *fn;
	void *user;
	atomic_llong pairs;
	atomic_bool ended;
} visitor;

static bool visit(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	visitor *v = user;
	if (atomic_load_explicit(&v->ended, memory_order_relaxed))
		return false; // by another worker
	atomic_fetch_add_explicit(&v->pairs, count, memory_order_relaxed);
	if (v->fn(pairs, count, worker, v->user))
		return true;
	atomic_store_explicit(&v->ended, true, memory_order_relaxed);
	return false;
}

/// Search for the visitor. The time of a search that was ended early says nothing about the method
/// or the tree.
static carom_result search_visiting(carom_spheres *spheres, const cr_pair_sink *sink, const visitor *v)
{
	const cr_method_choice choice = spheres->choice;
	const double query_ms = spheres->fit.query_ms;
	const carom_result result = cr_search(spheres, sink, NULL);
	if (atomic_load(&v->ended)) {
		spheres->choice = choice;
		spheres->fit.query_ms = query_ms;
	}
	return result;
}

carom_result carom_spheres_visit_pairs(carom_spheres *spheres, carom_sphere_pairs_fn *fn, void *user)
{
	carom_result result = check_call(spheres, "carom_spheres_visit_pairs", fn != NULL);
	if (result != CAROM_SUCCESS)
		return result;
	visitor v = { .fn = fn, .user = user };
	const cr_pair_sink sink = { visit, &v };
	const unsigned refusals = begin_search(spheres);
	if (uses_list(spheres)) {
		result = cr_make_rows(spheres);
		if (result == CAROM_SUCCESS)
			cr_filter_rows(spheres, &sink);
	} else {
		result = search_visiting(spheres, &sink, &v);
	}
	spheres->stats.pairs = atomic_load(&v.pairs);
	return end_search(spheres, "carom_spheres_visit_pairs", refusals, result);
}

carom_result carom_spheres_sum_forces(
	carom_spheres *spheres, carom_sphere_force_fn *fn, void *user, double *forces, double *torques)
{
	carom_result result = check_call(spheres, "carom_spheres_sum_forces",
		fn != NULL && (forces != NULL || (spheres && cr_owned_spheres(&spheres->set) == 0)));
	if (result != CAROM_SUCCESS)
		return result;
	const unsigned refusals = begin_search(spheres);
	result = cr_make_rows(spheres);
	if (result == CAROM_SUCCESS)
		cr_sum_forces(spheres, fn, user, forces, torques);
	return end_search(spheres, "carom_spheres_sum_forces", refusals, result);
}

carom_result carom_spheres_get_neighbours(carom_spheres *spheres, carom_sphere_neighbours *neighbours)
{
	if (!spheres)
		return CAROM_INVALID_ARGUMENT;
	if (!neighbours)
		return cr_fail(spheres->context, CAROM_INVALID_ARGUMENT, "carom_spheres_get_neighbours: neighbours is NULL");
	*neighbours = (carom_sphere_neighbours){ 0 };
	const unsigned refusals = spheres->has_rows ? 0 : begin_search(spheres);
	const carom_result result = cr_make_rows(spheres);
	if (result != CAROM_SUCCESS)
		return end_search(spheres, "carom_spheres_get_neighbours", refusals, result);
	*neighbours = (carom_sphere_neighbours){
		.first = spheres->rows.first.data,
		.other = spheres->rows.other.data,
		.count = cr_owned_spheres(&spheres->set),
		.build = (uint64_t)spheres->stats.list_builds,
	};
	return CAROM_SUCCESS;
}

carom_result carom_spheres_get_order(carom_spheres *spheres, uint32_t *order)
{
	if (!spheres)
		return CAROM_INVALID_ARGUMENT;
	if (spheres->set.real == 0)
		return CAROM_SUCCESS;
	if (!order)
		return cr_fail(spheres->context, CAROM_INVALID_ARGUMENT, "carom_spheres_get_order: order is NULL");
	const unsigned refusals = atomic_load(&spheres->memory.refusals);
	const carom_result result = cr_morton_order(spheres->context, &spheres->set, order);
	return cr_explain_refusal(&spheres->memory, "carom_spheres_get_order", refusals, result);
}

// ---- Numbers ----

#define ARRAY_BYTES(array) ((size_t)(array).capacity * sizeof *(array).data)

carom_sphere_stats carom_spheres_get_stats(const carom_spheres *spheres)
{
	if (!spheres)
		return (carom_sphere_stats){ 0 };
	carom_sphere_stats stats = spheres->stats;
	stats.bytes_lists = cr_pair_store_bytes(spheres->store) + ARRAY_BYTES(spheres->pairs) + ARRAY_BYTES(spheres->upper) +
		ARRAY_BYTES(spheres->rows.first) + ARRAY_BYTES(spheres->rows.other) + ARRAY_BYTES(spheres->moved);
	stats.bytes = stats.bytes_lists + sizeof *spheres + ARRAY_BYTES(spheres->rounded) + ARRAY_BYTES(spheres->exact) +
		ARRAY_BYTES(spheres->reference) + ARRAY_BYTES(spheres->owner) + ARRAY_BYTES(spheres->ids) +
		ARRAY_BYTES(spheres->names) + cr_state_bytes(spheres);
	stats.bytes_peak = carom_memory_peak(&spheres->memory) + sizeof *spheres;
	return stats;
}
