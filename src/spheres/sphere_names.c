/// Names of spheres. See spheres/sphere_names.h.
#include "spheres/sphere_names.h"
#include "tree/morton.h"
#include <string.h>

bool cr_same_names(const carom_spheres *spheres, const carom_sphere_input *input)
{
	const size_t count = (size_t)input->count;
	if (spheres->has_names || input->ids64)
		return spheres->has_names && input->ids64 && memcmp(spheres->names.data, input->ids64, count * sizeof(uint64_t)) == 0;
	if (!spheres->has_ids || !input->ids)
		return !spheres->has_ids && !input->ids;
	return memcmp(spheres->ids.data, input->ids, count * sizeof(uint32_t)) == 0;
}

// ---- Twins ----

/// Names below so many times the number of spheres are looked through for twins: with a bit for
/// each, 4 bytes a sphere at most.
enum { TWIN_RANGE = 32 };

/// Owned spheres with one name cannot be told apart: rows would stand in no fixed order. The second
/// one is at i.
static carom_result refuse_twins(carom_context *context, const uint32_t *ids, int64_t i)
{
	int64_t first = 0;
	while (ids[first] != ids[i])
		first++;
	return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_sphere_input.ids of spheres %lld and %lld are both %u",
		(long long)first, (long long)i, ids[i]);
}

static carom_result find_twins(carom_context *context, const uint32_t *ids, int64_t count)
{
	uint32_t most = 0;
	for (int64_t i = 0; i < count; i++)
		most = ids[i] > most ? ids[i] : most;
	if (most / TWIN_RANGE >= count)
		return CAROM_SUCCESS; // strewn so thinly that looking would cost more than it is worth
	const size_t bytes = ((size_t)most / 64 + 1) * sizeof(uint64_t);
	uint64_t *seen = cr_alloc_zero(context, bytes);
	if (!seen)
		return cr_fail_memory(context, "ids of spheres");
	carom_result result = CAROM_SUCCESS;
	for (int64_t i = 0; i < count && result == CAROM_SUCCESS; i++) {
		const uint64_t bit = 1ull << ids[i] % 64;
		if (seen[ids[i] / 64] & bit)
			result = refuse_twins(context, ids, i);
		seen[ids[i] / 64] |= bit;
	}
	cr_free(context, seen, bytes);
	return result;
}

// ---- Ranks ----

/// Ranks from sorted names. Of namesakes, which stand in the order of the spheres, the first two
/// are owned if any two are.
static carom_result rank_sorted(carom_context *context, const cr_key *keys, int64_t count, uint32_t owned, cr_name_ranks *ranks)
{
	uint32_t rank = 0;
	for (int64_t i = 0; i < count; i++) {
		const bool namesake = i > 0 && keys[i].key == keys[i - 1].key;
		if (namesake && keys[i].value < owned)
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "carom_sphere_input.ids64 of spheres %u and %u are both %llu",
				keys[i - 1].value, keys[i].value, (unsigned long long)keys[i].key);
		rank += i > 0 && !namesake;
		ranks->data[keys[i].value] = rank;
	}
	ranks->count = count;
	return CAROM_SUCCESS;
}

static carom_result rank_names(
	carom_context *context, const uint64_t *names, int64_t count, uint32_t owned, cr_name_ranks *ranks)
{
	const size_t bytes = (size_t)count * sizeof(cr_key);
	cr_key *keys = cr_alloc(context, bytes), *scratch = cr_alloc(context, bytes);
	carom_result result = CAROM_SUCCESS;
	if (!keys || !scratch || !cr_array_reserve(context, ranks, count))
		result = cr_fail_memory(context, "names of spheres");
	for (int64_t i = 0; result == CAROM_SUCCESS && i < count; i++)
		keys[i] = (cr_key){ names[i], (uint32_t)i };
	if (result == CAROM_SUCCESS)
		result = cr_sort_keys(context, keys, scratch, count, 64);
	if (result == CAROM_SUCCESS)
		result = rank_sorted(context, keys, count, owned, ranks);
	cr_free(context, keys, bytes);
	cr_free(context, scratch, bytes);
	return result;
}

// ---- Calls ----

carom_result cr_check_names(const carom_spheres *spheres, const carom_sphere_input *input, uint32_t owned, cr_name_ranks *ranks)
{
	if (input->count == 0)
		return CAROM_SUCCESS;
	if (!input->ids && !input->ids64)
		return CAROM_SUCCESS;
	// Those of the last update were checked and ranked then.
	if (spheres->has_ids && input->count == spheres->set.real && owned <= cr_owned_spheres(&spheres->set) &&
		cr_same_names(spheres, input))
		return CAROM_SUCCESS;
	return input->ids64 ? rank_names(spheres->context, input->ids64, input->count, owned, ranks)
						: find_twins(spheres->context, input->ids, owned);
}

carom_result cr_take_names(carom_spheres *spheres, const carom_sphere_input *input, cr_name_ranks *ranks)
{
	carom_context *context = spheres->context;
	const int64_t count = input->count;
	spheres->has_ids = (input->ids || input->ids64) && count > 0;
	spheres->has_names = input->ids64 && count > 0;
	if (!spheres->has_ids || (spheres->has_names && ranks->count == 0))
		return CAROM_SUCCESS; // or the ranks of the last update serve again
	if (spheres->has_names && !cr_array_reserve_fresh(context, &spheres->names, count))
		return cr_fail_memory(context, "names of spheres");
	if (!cr_array_reserve_fresh(context, &spheres->ids, count))
		return cr_fail_memory(context, "ids of spheres");
	memcpy(spheres->ids.data, input->ids64 ? ranks->data : input->ids, (size_t)count * sizeof(uint32_t));
	if (spheres->has_names)
		memcpy(spheres->names.data, input->ids64, (size_t)count * sizeof(uint64_t));
	return CAROM_SUCCESS;
}
