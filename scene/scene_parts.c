// Readers that several parts of a scene share: see scene_parts.h.
#include "scene/scene_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scene_read_vec3(const io_json_node *object, const char *name, double most, carom_vec3 *value)
{
	double v[3] = { value->x, value->y, value->z };
	if (io_json_numbers(object, name, 3, -most, most, v))
		*value = (carom_vec3){ v[0], v[1], v[2] };
}

void scene_read_int32(const io_json_node *object, const char *name, int32_t low, int32_t high, int32_t *value)
{
	int64_t wide = *value;
	if (io_json_integer(object, name, low, high, &wide))
		*value = (int32_t)wide;
}

void scene_read_name(const io_json_node *object, const char *name, char value[SCENE_NAME_SIZE])
{
	char *text = NULL;
	if (io_json_string(object, name, &text) && text) {
		if (strlen(text) >= SCENE_NAME_SIZE)
			io_json_member_error(object, name, "is longer than %d bytes", SCENE_NAME_SIZE - 1);
		else
			snprintf(value, SCENE_NAME_SIZE, "%s", text);
	}
	free(text);
}

void scene_forbid_both(const io_json_node *object, const char *a, const char *b)
{
	if (io_json_has(object, a) && io_json_has(object, b))
		io_json_member_error(object, b, "cannot be given together with \"%s\"", a);
}

char *scene_resolve_path(const char *scene_file, const char *path)
{
	const char *slash = strrchr(scene_file, '/');
	const size_t folder = *path == '/' || !slash ? 0 : (size_t)(slash - scene_file) + 1;
	char *full = malloc(folder + strlen(path) + 1);
	if (full) {
		memcpy(full, scene_file, folder);
		strcpy(full + folder, path);
	}
	return full;
}

void *scene_append(const io_json_node *node, void **array, int32_t *count, size_t size)
{
	if ((*count & (*count - 1)) == 0) {
		const size_t room = *count ? 2 * (size_t)*count : 1;
		void *larger = realloc(*array, room * size);
		if (!larger) {
			io_json_error(node, "out of memory");
			return NULL;
		}
		*array = larger;
	}
	char *element = (char *)*array + (size_t)(*count)++ * size;
	memset(element, 0, size);
	return element;
}
