// Convex shapes without a world: how far apart, where they touch, when they first meet.
#include <carom/carom.h>
#include <stdio.h>

static const float corners[8][3] = { { -1, -1, -1 }, { 1, -1, -1 }, { -1, 1, -1 }, { 1, 1, -1 }, { -1, -1, 1 }, { 1, -1, 1 },
	{ -1, 1, 1 }, { 1, 1, 1 } };

int main(void)
{
	carom_context *context;
	carom_mesh *mesh;
	const carom_strided points = { corners, 0, CAROM_FLOAT32 };
	if (carom_create_context(NULL, &context) || carom_create_hull(context, &points, 8, &mesh))
		return 1; // carom_error_text(context) tells why
	const carom_shape crate = { .type = CAROM_HULL, .mesh = mesh };
	const carom_shape wheel = { .type = CAROM_CYLINDER, .radius = 0.5, .half_length = 0.25 };
	const carom_pose above = { { 0.2, 0, 2 }, { 0, 0, 0, 1 } }, on = { { 0.2, 0, 1.249 }, { 0, 0, 0, 1 } };

	carom_separation s;
	if (carom_distance(context, &wheel, &above, &crate, NULL, &s))
		return 1;
	printf("apart by %.3f, normal (%.0f %.0f %.0f)\n", s.distance, s.normal.x, s.normal.y, s.normal.z);

	carom_manifold m;
	if (carom_collide_convex(context, &wheel, &on, &crate, NULL, 0, &m))
		return 1;
	printf("%d contacts, the first %.3f deep\n", m.count, m.points[0].depth);

	// Thrown from high above through the crate in one step.
	const carom_motion fall = { { { 0, 0, 10 }, { 0, 0, 0, 1 } }, { { 0, 0, -10 }, { 0.6, 0, 0, 0.8 } } };
	carom_toi toi;
	if (carom_time_of_impact(context, &wheel, &fall, &crate, NULL, 1e-4, &toi))
		return 1;
	printf("meets it at %.3f of the step\n", toi.time);

	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
