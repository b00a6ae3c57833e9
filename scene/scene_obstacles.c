// Obstacles: rigid bodies that a section of a scene names, because what it holds meets them.
#include "scene/scene_parts.h"
#include "sim/base/words.h"

#include <stdlib.h>
#include <string.h>

/// Say that no body has a name, and which one it may have been.
static void refuse_name(const io_json_node *node, const scene_description *scene, const char *name)
{
	const char **names = calloc((size_t)scene->rigid.body_count + 1, sizeof *names);
	int32_t count = 0;
	for (int32_t i = 0; names && i < scene->rigid.body_count; i++) {
		// Those of a grid or a source have one name, and follow each other.
		if (scene->rigid.bodies[i].name[0] && (count == 0 || strcmp(names[count - 1], scene->rigid.bodies[i].name) != 0))
			names[count++] = scene->rigid.bodies[i].name;
	}
	const char *nearest = names && *name ? sim_nearest_word(name, names) : NULL;
	if (nearest)
		io_json_error(node, "there are no bodies \"%.100s\"; did you mean \"%s\"?", name, nearest);
	else
		io_json_error(node, "must be the name of bodies of the section \"bodies\"");
	free(names);
}

/// A name of rigid bodies: all that have it.
static void read_obstacle(
	const io_json_node *node, scene_description *scene, scene_obstacle_fault_fn *fault_of, const scene_obstacle_list *list)
{
	const char *name = cJSON_IsString(node->item) ? node->item->valuestring : "";
	bool found = false;
	for (int32_t i = 0; i < scene->rigid.body_count && !node->json->failed; i++) {
		if (!*name || strcmp(scene->rigid.bodies[i].name, name) != 0)
			continue;
		const char *fault = fault_of(scene, &scene->rigid.bodies[i]);
		if (fault)
			io_json_error(node, "\"%s\" %s", name, fault);
		int32_t *number = scene_append(node, (void **)list->numbers, list->count, sizeof *number);
		if (!number)
			return;
		*number = i;
		found = true;
	}
	if (!found)
		refuse_name(node, scene, name);
}

/// All bodies that can be obstacles.
static void take_all(const io_json_node *node, const scene_description *scene, scene_obstacle_fault_fn *fault_of,
	const scene_obstacle_list *list)
{
	for (int32_t i = 0; i < scene->rigid.body_count; i++) {
		int32_t *number = fault_of(scene, &scene->rigid.bodies[i])
			? NULL
			: scene_append(node, (void **)list->numbers, list->count, sizeof *number);
		if (number)
			*number = i;
	}
	if (*list->count == 0)
		io_json_error(node, "is \"all\", and no body of the section \"bodies\" can be one");
}

static int compare_numbers(const void *a, const void *b)
{
	const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return x < y ? -1 : x > y;
}

void scene_read_obstacles(
	const io_json_node *section, scene_description *scene, scene_obstacle_fault_fn *fault_of, scene_obstacle_list list)
{
	io_json_node names;
	const bool given = io_json_member(section, "obstacles", &names);
	const bool all = given && cJSON_IsString(names.item) && !strcmp(names.item->valuestring, "all");
	if (all)
		take_all(&names, scene, fault_of, &list);
	if (given && !all && !cJSON_IsArray(names.item))
		io_json_error(&names, "must be an array of names, or \"all\"");
	const int count = given && !all ? io_json_count(&names, true) : 0;
	for (int i = 0; i < count && !section->json->failed; i++) {
		const io_json_node node = io_json_child(&names, i);
		read_obstacle(&node, scene, fault_of, &list);
	}
	if (*list.count > 1)
		qsort(*list.numbers, (size_t)*list.count, sizeof **list.numbers, compare_numbers);
	for (int32_t i = 1; i < *list.count; i++) {
		if ((*list.numbers)[i] == (*list.numbers)[i - 1])
			io_json_error(&names, "names \"%s\" twice", scene->rigid.bodies[(*list.numbers)[i]].name);
	}
	io_json_bool(section, "two_way", list.two_way);
	if (*list.two_way && *list.count == 0)
		io_json_member_error(section, "two_way", "needs \"obstacles\": they are what is pushed back");
}
