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

void spring_store_reset(spring_store *store, int numbers)
{
	free(store->values);
	free(store->partners);
	store->values = NULL;
	store->partners = NULL;
	store->count = store->capacity = 0;
	store->most = 0;
	store->list = NULL;
	store->numbers = numbers;
	if (store->places > 0)
		memset(store->number, 0, (size_t)store->places * sizeof *store->number);
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
	store->values = resize(store->values, capacity * store->numbers, sizeof *store->values, &failed);
	store->partners = resize(store->partners, capacity, sizeof *store->partners, &failed);
	if (failed)
		return false;
	store->capacity = capacity;
	return true;
}

/// The spring between a sphere and its partner. NULL: there is none.
static const double *find_spring(const spring_store *store, uint32_t sphere, uint64_t partner)
{
	int64_t low = store->first[sphere], high = low + store->number[sphere];
	const int64_t end = high;
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if (store->partners[middle] < partner)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && store->partners[low] == partner ? store->values + low * store->numbers : NULL;
}

/// What is done with an entry of the list: near and far are places.
typedef void visit(spring_store *store, grain_list *list, int64_t near, int64_t far, int64_t entry);

static void visit_entries(spring_store *store, grain_list *list, visit *see)
{
	int64_t near = 0, large = 0;
	for (int64_t c = 0; c < list->column_count; c++) {
		for (; near < list->columns[c].end; near++) {
			for (int64_t e = list->first[near]; e < list->first[near + 1] && !grain_list_is_empty(list, e); e++)
				see(store, list, near, grain_list_far(list, near, e, large), e);
		}
		large = list->columns[c].large_end;
	}
}

/// The spring of an entry is that of either end that is own.
static void give_spring(spring_store *store, grain_list *list, int64_t near, int64_t far, int64_t entry)
{
	const bool guest = list->sources[near] & GRAIN_GUEST;
	const uint32_t sphere = list->sources[guest ? far : near] & GRAIN_SPHERE;
	const double *const spring = find_spring(store, sphere, list->ids[guest ? near : far]);
	if (!spring)
		return;
	for (int axis = 0; axis < store->numbers; axis++)
		*grain_list_spring(list, entry, axis) = guest && axis < GRAIN_SLIDES ? -spring[axis] : spring[axis];
	list->live[entry / ENTRIES_AT_ONCE] = 1;
}

void spring_store_hand_over(spring_store *store, grain_list *list)
{
	visit_entries(store, list, give_spring);
	store->list = list;
	store->taken = -1;
}

static bool is_stretched(const grain_list *list, int64_t entry)
{
	bool any = false;
	for (int axis = 0; axis < list->spring_numbers; axis++)
		any |= *grain_list_spring(list, entry, axis) != 0;
	return any;
}

static void count_spring(spring_store *store, grain_list *list, int64_t near, int64_t far, int64_t entry)
{
	const uint32_t ends[2] = { list->sources[near], list->sources[far] };
	for (int k = 0; k < 2 && is_stretched(list, entry); k++)
		store->number[ends[k] & GRAIN_SPHERE] += !(ends[k] & GRAIN_GUEST);
}

/// Behind those that a sphere has already.
static void take_spring(spring_store *store, grain_list *list, int64_t near, int64_t far, int64_t entry)
{
	const int64_t ends[2] = { near, far };
	for (int k = 0; k < 2 && is_stretched(list, entry); k++) {
		const uint32_t source = list->sources[ends[k]], sphere = source & GRAIN_SPHERE;
		if (source & GRAIN_GUEST)
			continue;
		const int64_t at = store->first[sphere] + store->number[sphere]++;
		store->partners[at] = list->ids[ends[1 - k]];
		for (int axis = 0; axis < store->numbers; axis++)
			store->values[at * store->numbers + axis] =
				(k && axis < GRAIN_SLIDES ? -1 : 1) * *grain_list_spring(list, entry, axis);
	}
}

/// Sort springs by partners (Shell 1959, gaps of Ciura 2001 and beyond). Most spheres have few.
static void sort_springs(uint64_t *partners, double *values, size_t numbers, int64_t count)
{
	static const int64_t GAPS[] = { 8861, 3938, 1750, 701, 301, 132, 57, 23, 10, 4, 1 };
	for (int g = count > 4 ? 0 : 10; g < 11; g++) {
		for (int64_t i = GAPS[g]; i < count; i++) {
			const uint64_t partner = partners[i];
			double value[GRAIN_ROLLS];
			const size_t bytes = numbers * sizeof *value;
			memcpy(value, values + (size_t)i * numbers, bytes);
			int64_t k = i;
			for (; k >= GAPS[g] && partners[k - GAPS[g]] > partner; k -= GAPS[g]) {
				partners[k] = partners[k - GAPS[g]];
				memcpy(values + (size_t)k * numbers, values + (size_t)(k - GAPS[g]) * numbers, bytes);
			}
			partners[k] = partner;
			memcpy(values + (size_t)k * numbers, value, bytes);
		}
	}
}

bool spring_store_settle(spring_store *store)
{
	grain_list *const list = store->list;
	if (!list || store->taken == list->steps)
		return true;
	store->count = 0;
	store->most = 0;
	memset(store->number, 0, (size_t)list->own * sizeof *store->number);
	visit_entries(store, list, count_spring);
	int64_t count = 0;
	for (int64_t i = 0; i < list->own; i++) {
		store->first[i] = count;
		count += store->number[i];
	}
	if (!reserve(store, count))
		return false;
	memset(store->number, 0, (size_t)list->own * sizeof *store->number);
	visit_entries(store, list, take_spring);
	for (int64_t i = 0; i < list->own; i++) {
		sort_springs(store->partners + store->first[i], store->values + store->first[i] * store->numbers,
			(size_t)store->numbers, store->number[i]);
		store->most = store->most > store->number[i] ? store->most : store->number[i];
	}
	store->count = count;
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
	const size_t width = (size_t)store->numbers;
	for (int64_t k = store->first[i]; k < store->first[i] + store->number[i]; k++, out += 1 + width) {
		memcpy(out, &store->partners[k], sizeof *out);
		memcpy(out + 1, store->values + (size_t)k * width, width * sizeof *out);
	}
	return spring_store_size(store, i);
}

int64_t spring_store_unpack(spring_store *store, int64_t i, const double *numbers)
{
	const double number = numbers[0];
	if (!(number >= 0 && number < INT32_MAX / (1 + GRAIN_ROLLS)))
		return -2;
	if (!reserve(store, (int64_t)number))
		return -1;
	store->first[i] = store->count;
	store->number[i] = (int32_t)number;
	const size_t width = (size_t)store->numbers;
	const double *in = numbers + 1;
	for (int64_t k = 0; k < (int64_t)number; k++, in += 1 + width) {
		memcpy(&store->partners[store->count], in, sizeof *in);
		memcpy(store->values + (size_t)store->count++ * width, in + 1, width * sizeof *in);
	}
	store->most = store->most > store->number[i] ? store->most : store->number[i];
	return spring_store_size(store, i);
}
