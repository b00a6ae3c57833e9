// Shape casts: a bullet in front of a thin wall, and a character that steps up to a fence and
// slides along it.
#include <carom/carom.h>
#include <stdio.h>

static carom_body_id add(carom_world *world, carom_shape shape, carom_vec3 position)
{
	carom_body_def def = carom_default_body_def();
	carom_body_id id = { 0 };
	def.kind = CAROM_STATIC;
	def.shape = shape;
	def.pose.position = position;
	if (carom_world_add_body(world, &def, &id))
		printf("no body\n");
	return id;
}

/// Moves a shape along a way until it meets something. The remaining way is bent along the surface.
static int step(const carom_world *world, const carom_shape *shape, carom_pose *pose, carom_vec3 way)
{
	for (int bend = 0; bend < 3; bend++) {
		const carom_motion motion = carom_straight_motion(*pose, way);
		carom_shape_hit hit;
		bool found;
		if (carom_world_cast_shape(world, shape, &motion, 1e-3, NULL, &found, &hit))
			return 1; // carom_error_text(context) tells why
		*pose = carom_motion_pose(&motion, found ? hit.time : 1);
		if (!found)
			return 0;
		const carom_vec3 n = hit.normal;
		const double rest = 1 - hit.time, into = way.x * n.x + way.y * n.y + way.z * n.z;
		// Away from the surface by twice the tolerance, so that the next cast begins clear.
		pose->position.x += 2e-3 * n.x, pose->position.y += 2e-3 * n.y, pose->position.z += 2e-3 * n.z;
		way = (carom_vec3){ rest * (way.x - into * n.x), rest * (way.y - into * n.y), rest * (way.z - into * n.z) };
	}
	return 0;
}

int main(void)
{
	carom_context *context;
	carom_world *world;
	if (carom_create_context(NULL, &context) || carom_create_world(context, NULL, &world))
		return 1;
	add(world, (carom_shape){ .type = CAROM_PLANE }, (carom_vec3){ 0, 0, 0 });
	add(world, (carom_shape){ .type = CAROM_BOX, .half_extents = { 0.005, 2, 2 } }, (carom_vec3){ 3, 0, 2 });

	// 800 metres a second: 13 metres in one step, through a wall of a centimetre.
	const carom_shape bullet = { .type = CAROM_CAPSULE, .radius = 0.005, .half_length = 0.01 };
	const carom_motion shot = carom_straight_motion((carom_pose){ { 0, 0, 1 }, { 0, 0, 0, 1 } }, (carom_vec3){ 13.3, 0, 0 });
	carom_shape_hit hit;
	bool found;
	if (carom_world_cast_shape(world, &bullet, &shot, 1e-5, NULL, &found, &hit) || !found)
		return 1;
	printf("the bullet meets body %u at x = %.3f\n", hit.body.index1, hit.point.x);

	const carom_shape figure = { .type = CAROM_CAPSULE, .radius = 0.3, .half_length = 0.6 };
	carom_pose pose = { { 2, 0, 0.91 }, { 0, 0, 0, 1 } };
	if (step(world, &figure, &pose, (carom_vec3){ 2, 1, 0 }))
		return 1;
	printf("the figure stands at %.2f %.2f %.2f\n", pose.position.x, pose.position.y, pose.position.z);

	carom_destroy_world(world);
	carom_destroy_context(context);
}
