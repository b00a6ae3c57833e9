// Continuous collision: a bullet that flies through a thin wall between two steps, and a blade that
// swings past a ball, unless the bodies are marked continuous.
#include <carom/carom.h>
#include <stdio.h>

enum { STEPS = 4 };
static const double dt = 1.0 / 60;

static carom_body_id add(carom_world *world, carom_body_kind kind, carom_shape shape, carom_vec3 position, bool continuous)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id = { 0 };
	def.kind = kind;
	def.shape = shape;
	def.pose.position = position;
	def.continuous = continuous;
	if (carom_world_add_body(world, &def, &id))
		printf("no body\n");
	return id;
}

/// Four steps of 1/60 s. The solver is a wall of lead: the bullet stops where it meets something.
static int run(carom_context *context, bool continuous)
{
	carom_world *world;
	if (carom_create_world(context, NULL, &world))
		return 1; // carom_error_text(context) tells why
	const carom_shape bullet_shape = { .type = CAROM_SPHERE, .radius = 0.01 };
	const carom_shape wall_shape = { .type = CAROM_BOX, .half_extents = { 0.005, 2, 2 } };
	const carom_shape blade_shape = { .type = CAROM_BOX, .half_extents = { 1, 0.01, 0.1 } };
	const carom_shape ball_shape = { .type = CAROM_SPHERE, .radius = 0.1 };
	carom_pose bullet_pose = { { -5, 0, 1 }, { 0, 0, 0, 1 } };
	const carom_body_id bullet = add(world, CAROM_DYNAMIC, bullet_shape, bullet_pose.position, continuous);
	add(world, CAROM_STATIC, wall_shape, (carom_vec3){ 0, 0, 1 }, false);
	const carom_body_id blade = add(world, CAROM_KINEMATIC, blade_shape, (carom_vec3){ 0, 10, 0 }, false);
	add(world, CAROM_DYNAMIC, ball_shape, (carom_vec3){ 0.61, 10.35, 0 }, continuous);
	if (carom_world_step(world))
		return 1;

	double speed = 200;
	carom_pose blade_pose = { { 0, 10, 0 }, { 0, 0, 0, 1 } };
	for (int step = 1; step <= STEPS; step++) {
		const carom_motion way = carom_straight_motion(bullet_pose, (carom_vec3){ speed * dt, 0, 0 });
		bullet_pose = way.end;
		// A fifth of a turn about z, 74 degrees, in each step.
		const carom_quat q = blade_pose.orientation;
		blade_pose.orientation = (carom_quat){ 0, 0, 0.8 * q.z + 0.6 * q.w, 0.8 * q.w - 0.6 * q.z };
		if (carom_world_set_pose(world, bullet, &bullet_pose) || carom_world_set_pose(world, blade, &blade_pose) ||
			carom_world_step(world))
			return 1;
		const carom_body_impact_view impacts = carom_world_body_impacts(world);
		for (int32_t i = 0; i < impacts.count; i++) {
			const carom_body_impact *hit = &impacts.data[i];
			if (hit->status == CAROM_TOI_TOUCHING)
				continue;
			printf("step %d: bodies %u and %u meet at %.2f of it\n", step, hit->body_a.index1, hit->body_b.index1, hit->time);
			if (hit->body_a.index1 == bullet.index1) {
				bullet_pose = carom_motion_pose(&way, hit->time);
				speed = 0;
				const carom_motion stop = { bullet_pose, bullet_pose }; // no way leads there
				if (carom_world_set_motions(world, 1, &bullet, &stop))
					return 1;
			}
		}
		if (carom_world_contacts(world).count > 0)
			printf("step %d: contacts\n", step);
	}
	printf("%s: the bullet is at x = %.2f\n", continuous ? "continuous" : "not continuous", bullet_pose.position.x);
	carom_destroy_world(world);
	return 0;
}

int main(void)
{
	carom_context *context;
	if (carom_create_context(NULL, &context))
		return 1;
	const int failed = run(context, false) || run(context, true);
	carom_destroy_context(context);
	return failed;
}
