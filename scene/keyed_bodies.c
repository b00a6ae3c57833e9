// Rigid bodies that go from key to key: see keyed_bodies.h. Where they are depends on the time
// alone, so a run that goes on from a checkpoint needs nothing else to do it.
#include "scene/keyed_bodies.h"

void scene_aim_keyed(const scene_description *scene, sim_dynamics *dynamics, int32_t first, double from, double to)
{
	for (int32_t i = 0; i < scene->rigid.keyed_count; i++) {
		const scene_keyed_body *keyed = &scene->rigid.keyed[i];
		const carom_pose begin = sim_keys_pose(&keyed->keys, from), end = sim_keys_pose(&keyed->keys, to);
		carom_vec3 velocity, spin;
		sim_pose_velocity(&begin, &end, to - from, &velocity, &spin);
		sim_dynamics_set_velocity(dynamics, first + keyed->body, velocity, spin);
	}
}

void scene_place_keyed(const scene_description *scene, sim_dynamics *dynamics, int32_t first, double time)
{
	for (int32_t i = 0; i < scene->rigid.keyed_count; i++) {
		const carom_pose pose = sim_keys_pose(&scene->rigid.keyed[i].keys, time);
		sim_dynamics_set_pose(dynamics, first + scene->rigid.keyed[i].body, &pose);
	}
}
