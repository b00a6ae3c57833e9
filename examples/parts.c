/// Bodies of several shapes: a table of five boxes and a dumbbell of two spheres and a capsule
/// stand on a floor. Each two parts that touch are a pair; two bodies are one pair of bodies.
#include <carom/carom.h>
#include <stdio.h>

int main(void)
{
	carom_context *context;
	carom_world *world;
	if (carom_create_context(NULL, &context) != CAROM_SUCCESS)
		return 1;
	if (carom_create_world(context, NULL, &world) != CAROM_SUCCESS)
		return 1;
	carom_body_id floor, table, dumbbell;

	carom_body_def floor_def = carom_default_body_def();
	floor_def.kind = CAROM_STATIC;
	floor_def.shape = (carom_shape){ .type = CAROM_PLANE };
	carom_world_add_body(world, &floor_def, &floor);

	// Each part has a pose of its own, in the frame of the body.
	carom_part boards[5] = { 0 };
	boards[0].shape = (carom_shape){ .type = CAROM_BOX, .half_extents = { 1, 0.6, 0.05 } };
	boards[0].pose = carom_pose_identity();
	boards[0].pose.position.z = 0.75;
	for (int leg = 0; leg < 4; leg++) {
		boards[1 + leg].shape = (carom_shape){ .type = CAROM_BOX, .half_extents = { 0.05, 0.05, 0.35 } };
		boards[1 + leg].pose = carom_pose_identity();
		boards[1 + leg].pose.position = (carom_vec3){ leg & 1 ? 0.9 : -0.9, leg & 2 ? 0.5 : -0.5, 0.35 };
	}
	carom_body_def table_def = carom_default_body_def();
	table_def.parts = boards;
	table_def.part_count = 5;
	table_def.pose.position.z = -0.001;
	carom_world_add_body(world, &table_def, &table);

	carom_part bells[3] = { 0 };
	for (int i = 0; i < 3; i++)
		bells[i].pose = carom_pose_identity();
	bells[0].shape = bells[1].shape = (carom_shape){ .type = CAROM_SPHERE, .radius = 0.5 };
	bells[0].pose.position.z = -1;
	bells[1].pose.position.z = 1;
	bells[2].shape = (carom_shape){ .type = CAROM_CAPSULE, .radius = 0.1, .half_length = 1 };
	carom_body_def dumbbell_def = carom_default_body_def();
	dumbbell_def.parts = bells;
	dumbbell_def.part_count = 3;
	dumbbell_def.pose.position = (carom_vec3){ 4, 0, 0.499 };
	// lying along x
	dumbbell_def.pose.orientation = (carom_quat){ 0, 0.70710678118654752, 0, 0.70710678118654752 };
	carom_world_add_body(world, &dumbbell_def, &dumbbell);

	// List pairs of bodies too. 0: keep all contacts of the pairs of parts.
	if (carom_world_set_body_pairs(world, true, 0) != CAROM_SUCCESS || carom_world_step(world) != CAROM_SUCCESS) {
		fprintf(stderr, "%s\n", carom_error_text(context));
		return 1;
	}
	const carom_pair_view pairs = carom_world_pairs(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	printf("%d bodies, %d pairs, %d contacts\n", carom_world_body_count(world), pairs.count, contacts.count);
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *pair = &pairs.data[i];
		const carom_contact *first = &contacts.data[pair->first_contact];
		printf("part %d of the %s: %d contacts, the first at (%.2f, %.2f), %.3f deep\n", pair->shape_b,
			pair->body_b.index1 == table.index1 ? "table" : "dumbbell", pair->contact_count, first->point[0], first->point[1],
			first->depth);
	}

	// A solver wants few contacts: at most 6 for two bodies, which span all four feet.
	carom_world_set_body_pairs(world, true, 6);
	// The dumbbell is lifted: the two pairs of its parts end, and with them the pair of bodies.
	dumbbell_def.pose.position.z = 2;
	if (carom_world_set_pose(world, dumbbell, &dumbbell_def.pose) != CAROM_SUCCESS || carom_world_step(world) != CAROM_SUCCESS) {
		fprintf(stderr, "%s\n", carom_error_text(context));
		return 1;
	}
	static const char *const words[] = { "begin to touch", "touch", "part" };
	const carom_body_event_view events = carom_world_body_events(world);
	const carom_body_pair_view both = carom_world_body_pairs(world);
	for (int32_t i = 0; i < events.count; i++) {
		const carom_body_event *event = &events.data[i];
		printf("the floor and the %s %s", event->body_b.index1 == table.index1 ? "table" : "dumbbell", words[event->kind]);
		if (event->body_pair >= 0)
			printf(": %d pairs of parts, %d contacts of %d", both.data[event->body_pair].pair_count,
				both.data[event->body_pair].contact_count, both.data[event->body_pair].found_count);
		printf("\n");
	}
	carom_destroy_world(world);
	carom_destroy_context(context);
	return 0;
}
