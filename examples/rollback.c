// A game over a network: every frame is saved; when an input arrives late, go back, and forward
// again with it.
#include <carom/carom.h>
#include <inttypes.h>
#include <stdio.h>

enum { FRAMES = 12, KEPT = 8 };

static carom_world *world;
static carom_body_id ball;
static carom_snapshot *snapshots[KEPT]; // of the last frames, in turn

/// One frame: the input pushes the ball along x; it rolls towards the wall by itself.
static int play(int frame, double input)
{
	carom_pose pose;
	if (carom_world_save(world, snapshots[frame % KEPT]) || carom_world_get_pose(world, ball, &pose))
		return 1;
	pose.position.x += 0.1 + input;
	if (carom_world_set_pose(world, ball, &pose) || carom_world_step(world))
		return 1;
	// Peers exchange this hash: the first frame in which it differs is the one that went wrong.
	printf("frame %d: %d contacts, state before it %016" PRIx64 "\n", frame, carom_world_contacts(world).count,
		carom_snapshot_hash(snapshots[frame % KEPT]));
	return 0;
}

int main(void)
{
	carom_context *context;
	if (carom_create_context(NULL, &context) || carom_create_world(context, NULL, &world))
		return 1; // carom_error_text(context) tells why
	for (int i = 0; i < KEPT; i++) {
		if (carom_create_snapshot(world, &snapshots[i]))
			return 1;
	}
	carom_body_def def = carom_default_body_def();
	def.shape = (carom_shape){ .type = CAROM_SPHERE, .radius = 0.5 };
	if (carom_world_add_body(world, &def, &ball))
		return 1;
	carom_body_id wall;
	def.kind = CAROM_STATIC;
	def.shape = (carom_shape){ .type = CAROM_BOX, .half_extents = { 0.5, 2, 2 } };
	def.pose.position.x = 2;
	if (carom_world_add_body(world, &def, &wall))
		return 1;

	for (int frame = 0; frame < FRAMES; frame++) {
		if (play(frame, 0))
			return 1;
	}
	printf("the input of frame 6 was -1\n");
	if (carom_world_restore(world, snapshots[6 % KEPT]))
		return 1;
	for (int frame = 6; frame < FRAMES; frame++) {
		if (play(frame, frame == 6 ? -1 : 0))
			return 1;
	}

	for (int i = 0; i < KEPT; i++)
		carom_destroy_snapshot(snapshots[i]);
	carom_destroy_world(world);
	carom_destroy_context(context);
}
