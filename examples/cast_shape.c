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

static double dot(carom_vec3 a, carom_vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static carom_vec3 along(carom_vec3 way, carom_vec3 normal)
{
	const double into = dot(way, normal);
	return (carom_vec3){ way.x - into * normal.x, way.y - into * normal.y, way.z - into * normal.z };
}

/// Bends a way along the surface met last, and along the crease of it and an earlier one if it
/// would go into that.
static carom_vec3 bend(carom_vec3 way, const carom_vec3 *normals, int count)
{
	const carom_vec3 n = normals[count - 1], bent = along(way, n);
	for (int i = 0; i < count - 1; i++) {
		const carom_vec3 m = normals[i], crease = { n.y * m.z - n.z * m.y, n.z * m.x - n.x * m.z, n.x * m.y - n.y * m.x };
		const double square = dot(crease, crease), share = square > 0 ? dot(way, crease) / square : 0;
		if (dot(bent, m) < -1e-9)
			return (carom_vec3){ share * crease.x, share * crease.y, share * crease.z };
	}
	return bent;
}

/// Moves a shape along a way until it meets something. The remaining way is bent along the surface.
/// The shape may stand on a floor or at a wall: what the motion leaves or goes along does not stop
/// it.
static int step(const carom_world *world, const carom_shape *shape, carom_pose *pose, carom_vec3 way)
{
	carom_query_filter filter = carom_default_query_filter();
	carom_vec3 normals[4];
	filter.skip_separating = true;
	for (int count = 0; count < 4;) {
		const carom_motion motion = carom_straight_motion(*pose, way);
		carom_shape_hit hit;
		bool found;
		if (carom_world_cast_shape(world, shape, &motion, 1e-3, &filter, &found, &hit))
			return 1; // carom_error_text(context) tells why
		*pose = carom_motion_pose(&motion, found ? hit.time : 1);
		if (!found)
			return 0;
		const double rest = 1 - hit.time;
		normals[count++] = hit.normal;
		way = bend((carom_vec3){ rest * way.x, rest * way.y, rest * way.z }, normals, count);
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
	// Down to the floor and up to the fence, then along it, then away.
	if (step(world, &figure, &pose, (carom_vec3){ 1, 0, -0.1 }) || step(world, &figure, &pose, (carom_vec3){ 1, 1, -0.1 }))
		return 1;
	printf("the figure stands at %.2f %.2f %.2f\n", pose.position.x, pose.position.y, pose.position.z);
	if (step(world, &figure, &pose, (carom_vec3){ -1, 0, 0 }))
		return 1;
	printf("it goes back to %.2f %.2f %.2f\n", pose.position.x, pose.position.y, pose.position.z);

	carom_destroy_world(world);
	carom_destroy_context(context);
}
