/// See spring_store.h.
#include "spring_store.h"
#include <stdlib.h>
#include <string.h>

void spring_store_free(spring_store *store)
{
	free(store->first);
	free(store->number);
	free(store->values);
	free(store->partners);
	*store = (spring_store){ 0 };
}

/// An array with room for count elements, or as it was, and *failed.
static void *resize(void *array, int64_t count, size_t element, bool *failed)
{
	void *resized = realloc(array, (size_t)count * element);
	*failed |= !resized;
	return resized ? resized : array;
}

bool spring_store_grow(spring_store *store, int64_t places)
{
	if (places <= store->places)
		return true;
	bool failed = false;
	store->first = resize(store->first, places, sizeof *store->first, &failed);
	store->number = resize(store->number, places, sizeof *store->number, &failed);
	if (failed)
		return false;
	const size_t more = (size_t)(places - store->places);
	memset(store->first + store->places, 0, more * sizeof *store->first);
	memset(store->number + store->places, 0, more * sizeof *store->number);
	store->places = places;
	return true;
}

static bool reserve(spring_store *store, int64_t more)
{
	const int64_t wanted = store->count + more + 1;
	if (wanted <= store->capacity)
		return true;
	const int64_t capacity = wanted + wanted / 4 + 1024;
	bool failed = false;
	store->values = resize(store->values, capacity, sizeof *store->values, &failed);
	store->partners = resize(store->partners, capacity, sizeof *store->partners, &failed);
	if (failed)
		return false;
	store->capacity = capacity;
	return true;
}

void spring_store_hand_over(spring_store *store, grain_list *list)
{
	for (int64_t i = 0; i < list->places; i++) {
		if (list->first[i] == list->first[i + 1])
			continue; // a guest, too, whose number is not its own
		const uint32_t source = list->sources[i];
		int64_t old = store->first[source];
		const int64_t end = old + store->number[source];
		for (int64_t e = list->first[i]; e < list->first[i + 1] && old < end; e++) {
			const uint64_t partner = list->ids[list->ends[e][1]];
			while (old < end && store->partners[old] < partner)
				old++;
			if (old == end || store->partners[old] != partner)
				continue;
			list->slots[e] = 1; // any that is not 0
			memcpy(list->springs[e], store->values[old++], sizeof *store->values);
			list->springs[e][3] = 0;
		}
	}
	store->list = list;
	store->taken = -1;
}

static int64_t count_sides(const grain_list *list)
{
	int64_t count = 0;
	for (int64_t k = 0; k < list->row[list->places]; k++)
		count += list->slots[list->sides[k] >> 1] != 0;
	return count;
}

/// Of row i, from its sides.
static void take_row(spring_store *store, const grain_list *list, int64_t i)
{
	const uint32_t source = list->sources[i];
	store->first[source] = store->count;
	for (int64_t k = list->row[i]; k < list->row[i + 1]; k++) {
		const uint32_t side = list->sides[k], entry = side >> 1;
		if (list->slots[entry] == 0)
			continue;
		const double *spring = list->springs[entry], sign = side & 1 ? -1 : 1;
		for (int axis = 0; axis < 3; axis++)
			store->values[store->count][axis] = sign * spring[axis];
		store->partners[store->count++] = list->ids[grain_list_other(list, side)];
	}
	store->number[source] = (int32_t)(store->count - store->first[source]);
	store->most = store->most > store->number[source] ? store->most : store->number[source];
}

bool spring_store_settle(spring_store *store)
{
	const grain_list *const list = store->list;
	if (!list || store->taken == list->steps)
		return true;
	store->count = 0;
	store->most = 0;
	if (!reserve(store, count_sides(list)))
		return false;
	memset(store->number, 0, (size_t)list->own * sizeof *store->number);
	for (int64_t i = 0; i < list->places; i++) {
		if (list->row[i] < list->row[i + 1])
			take_row(store, list, i);
	}
	store->taken = list->steps;
	return true;
}

bool spring_store_take_back(spring_store *store)
{
	if (!spring_store_settle(store))
		return false;
	store->list = NULL;
	return true;
}

int64_t spring_store_pack(const spring_store *store, int64_t i, double *numbers)
{
	numbers[0] = store->number[i];
	double *out = numbers + 1;
	for (int64_t k = store->first[i]; k < store->first[i] + store->number[i]; k++, out += SPRING_NUMBERS) {
		memcpy(out, &store->partners[k], sizeof *out);
		memcpy(out + 1, store->values[k], sizeof store->values[k]);
	}
	return spring_store_size(store, i);
}

int64_t spring_store_unpack(spring_store *store, int64_t i, const double *numbers)
{
	const double number = numbers[0];
	if (!(number >= 0 && number < INT32_MAX / SPRING_NUMBERS))
		return -2;
	if (!reserve(store, (int64_t)number))
		return -1;
	store->first[i] = store->count;
	store->number[i] = (int32_t)number;
	for (const double *in = numbers + 1; in < numbers + 1 + SPRING_NUMBERS * (int64_t)number; in += SPRING_NUMBERS) {
		memcpy(&store->partners[store->count], in, sizeof *in);
		memcpy(store->values[store->count++], in + 1, sizeof *store->values);
	}
	store->most = store->most > store->number[i] ? store->most : store->number[i];
	return spring_store_size(store, i);
}
