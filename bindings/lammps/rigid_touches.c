/// See rigid_touches.h.
#include "rigid_touches.h"

#include <stdlib.h>
#include <string.h>

void rigid_touches_free(rigid_touches *t)
{
	for (int64_t i = 0; i < t->places; i++)
		free(t->lists[i].data);
	free(t->lists);
	*t = (rigid_touches){ 0 };
}

bool rigid_touches_grow(rigid_touches *t, int64_t places)
{
	if (places <= t->places)
		return true;
	rigid_touch_list *lists = realloc(t->lists, (size_t)places * sizeof *lists);
	if (!lists)
		return false;
	memset(lists + t->places, 0, (size_t)(places - t->places) * sizeof *lists);
	t->lists = lists;
	t->places = places;
	return true;
}

static bool reserve(rigid_touch_list *list, int32_t count)
{
	if (count <= list->capacity)
		return true;
	const int32_t capacity = count + count / 2 + 4;
	rigid_touch *data = realloc(list->data, (size_t)capacity * sizeof *data);
	if (!data)
		return false;
	list->data = data;
	list->capacity = capacity;
	return true;
}

/// Take count touches. False: out of memory.
static bool take(rigid_touches *t, int64_t i, const void *touches, int32_t count)
{
	rigid_touch_list *list = &t->lists[i];
	if (!reserve(list, count))
		return false;
	if (count > 0)
		memcpy(list->data, touches, (size_t)count * sizeof *list->data);
	list->count = count;
	t->most = count > t->most ? count : t->most;
	return true;
}

bool rigid_touches_add(rigid_touches *t, int64_t i, const rigid_touch *touch)
{
	rigid_touch_list *list = &t->lists[i];
	if (!reserve(list, list->count + 1))
		return false;
	list->data[list->count++] = *touch;
	t->most = list->count > t->most ? list->count : t->most;
	return true;
}

bool rigid_touches_copy(rigid_touches *t, int64_t from, int64_t to)
{
	return from == to || take(t, to, t->lists[from].data, t->lists[from].count);
}

int64_t rigid_touches_pack(const rigid_touches *t, int64_t i, double *numbers)
{
	const rigid_touch_list *list = &t->lists[i];
	numbers[0] = list->count;
	if (list->count > 0)
		memcpy(numbers + 1, list->data, (size_t)list->count * sizeof *list->data);
	return rigid_touches_size(t, i);
}

int64_t rigid_touches_unpack(rigid_touches *t, int64_t i, const double *numbers)
{
	if (!(numbers[0] >= 0 && numbers[0] <= 1e6))
		return -2;
	return take(t, i, numbers + 1, (int32_t)numbers[0]) ? rigid_touches_size(t, i) : -1;
}
