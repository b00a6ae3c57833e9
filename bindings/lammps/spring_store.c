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
	free(store->entries);
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
	if (capacity > UINT32_MAX)
		return false;
	bool failed = false;
	store->values = resize(store->values, capacity, sizeof *store->values, &failed);
	store->partners = resize(store->partners, capacity, sizeof *store->partners, &failed);
	if (failed)
		return false;
	store->capacity = capacity;
	if (store->count == 0)
		store->count = 1; // the first one is nobody's
	return true;
}

uint32_t spring_store_new(spring_store *store, uint64_t partner)
{
	uint32_t spring = store->unused;
	if (spring != 0) {
		store->unused = (uint32_t)store->partners[spring];
	} else {
		if (!reserve(store, 1))
			return 0;
		spring = (uint32_t)store->count++;
	}
	store->partners[spring] = partner;
	memset(store->values[spring], 0, sizeof store->values[spring]);
	return spring;
}

bool spring_store_open(spring_store *store, const int64_t *row_first, int64_t rows)
{
	const int64_t count = rows > 0 ? row_first[rows] : 0;
	if (count > UINT32_MAX)
		return false;
	if (count + 1 > store->entry_capacity || !store->entries) {
		free(store->entries);
		store->entry_capacity = count + count / 4 + 1;
		store->entries = malloc((size_t)store->entry_capacity * sizeof *store->entries);
		if (!store->entries)
			return false;
	}
	store->row_first = row_first;
	store->rows = rows;
	return true;
}

/// Springs in the order of their entries.
static void gather(spring_store *store, double (*values)[3], uint64_t *partners)
{
	int64_t count = 1;
	store->most = 0;
	for (int64_t i = 0; i < store->rows; i++) {
		store->first[i] = count;
		for (int64_t k = store->row_first[i]; k < store->row_first[i + 1]; k++) {
			const uint32_t spring = store->entries[k];
			if (spring == 0)
				continue;
			memcpy(values[count], store->values[spring], sizeof *values);
			partners[count++] = store->partners[spring];
		}
		store->number[i] = (int32_t)(count - store->first[i]);
		store->most = store->most > store->number[i] ? store->most : store->number[i];
	}
	store->count = count;
}

bool spring_store_settle(spring_store *store)
{
	if (!store->row_first || store->count == 0) {
		store->row_first = NULL;
		return true;
	}
	double(*values)[3] = malloc((size_t)store->capacity * sizeof *values);
	uint64_t *partners = malloc((size_t)store->capacity * sizeof *partners);
	if (!values || !partners) {
		free(values);
		free(partners);
		return false;
	}
	gather(store, values, partners);
	free(store->values);
	free(store->partners);
	store->values = values;
	store->partners = partners;
	store->unused = 0;
	store->row_first = NULL;
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
