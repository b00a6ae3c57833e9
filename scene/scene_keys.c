// "keys" of a scene file: poses at given times, of rigid bodies and of movers.
#include "scene/scene_parts.h"

#include <stdlib.h>

enum { MOST_KEYS = 100000 };

/// What a key does not say is as it was at the key before.
static void read_key(const io_json_node *node, const sim_key *before, sim_key *key)
{
	static const char *const fields[] = { "time", "position", "orientation", "rotation", NULL };
	if (before)
		key->pose = before->pose;
	else
		key->pose = carom_pose_identity();
	if (!io_json_fields(node, fields))
		return;
	if (!io_json_has(node, "time"))
		io_json_member_error(node, "time", "is missing: a key needs it");
	io_json_number(node, "time", 0, 1e6, &key->time);
	if (before && !(key->time >= before->time + 1e-9))
		io_json_member_error(node, "time", "must be later than that of the key before, which is %.9g", before->time);
	scene_read_vec3(node, "position", SCENE_FARTHEST, &key->pose.position);
	scene_read_orientation(node, &key->pose.orientation);
}

static void read_list(const io_json_node *node, sim_keys *keys, sim_key **made)
{
	io_json_node list;
	if (!io_json_member(node, "list", &list)) {
		io_json_member_error(node, "list", "is missing: it holds the keys");
		return;
	}
	const int count = io_json_count(&list, true);
	if (count < 1 || count > MOST_KEYS) {
		io_json_error(&list, "must hold 1 to %d keys", MOST_KEYS);
		return;
	}
	*made = calloc((size_t)count, sizeof **made);
	if (!*made) {
		io_json_error(&list, "out of memory");
		return;
	}
	for (int i = 0; i < count && !node->json->failed; i++) {
		const io_json_node key = io_json_child(&list, i);
		read_key(&key, i > 0 ? *made + i - 1 : NULL, *made + i);
	}
	keys->list = *made;
	keys->count = count;
}

sim_key *scene_read_keys(const io_json_node *body, sim_keys *keys)
{
	static const char *const fields[] = { "list", "between", "loop", NULL };
	static const char *const others[] = { "position", "orientation", "rotation", "velocity", "angular_velocity", "motion" };
	static const char *const ways[] = { "linear", "smooth", NULL };
	io_json_node node;
	sim_key *made = NULL;
	int32_t fault = 0;
	int way = 1;
	*keys = (sim_keys){ 0 };
	if (!io_json_member(body, "keys", &node) || !io_json_fields(&node, fields))
		return NULL;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		if (io_json_has(body, others[i]))
			io_json_member_error(body, others[i], "cannot be given together with \"keys\", which say where the body is");
	}
	io_json_choice(&node, "between", ways, &way);
	io_json_bool(&node, "loop", &keys->loop);
	keys->smooth = way == 1;
	read_list(&node, keys, &made);
	if (!body->json->failed && sim_keys_fault(keys, &fault))
		io_json_member_error(&node, "loop", "the last key must have another time and the pose of the first one");
	return made;
}
