// Two L-shaped solids hook into each other: find their contacts and print them.
#include <carom/carom.h>
#include <stdio.h>

static const float vertices[12][3] = { { 0, 0, 0 }, { 3, 0, 0 }, { 3, 1, 0 }, { 1, 1, 0 }, { 1, 3, 0 }, { 0, 3, 0 },
	{ 0, 0, 1 }, { 3, 0, 1 }, { 3, 1, 1 }, { 1, 1, 1 }, { 1, 3, 1 }, { 0, 3, 1 } };
static const int32_t triangles[20][3] = { { 0, 2, 1 }, { 0, 3, 2 }, { 0, 4, 3 }, { 0, 5, 4 }, { 6, 7, 8 }, { 6, 8, 9 },
	{ 6, 9, 10 }, { 6, 10, 11 }, { 0, 1, 7 }, { 0, 7, 6 }, { 1, 2, 8 }, { 1, 8, 7 }, { 2, 3, 9 }, { 2, 9, 8 }, { 3, 4, 10 },
	{ 3, 10, 9 }, { 4, 5, 11 }, { 4, 11, 10 }, { 5, 0, 6 }, { 5, 6, 11 } };
static const carom_pose poses[2] = { { { 0, 0, 0 }, { 0, 0, 0, 1 } }, { { 3.9, 3.5, 0.2 }, { 0, 0, 1, 0 } } };

int main(void)
{
	carom_context *context;
	carom_world *world;
	carom_mesh *mesh;
	carom_mesh_def mesh_def = carom_default_mesh_def();
	mesh_def.vertices = (carom_strided){ .data = vertices, .type = CAROM_FLOAT32 };
	mesh_def.vertex_count = 12;
	mesh_def.triangles = triangles[0];
	mesh_def.triangle_count = 20;
	if (carom_create_context(NULL, &context) || carom_create_world(context, NULL, &world) ||
		carom_create_mesh(context, &mesh_def, NULL, &mesh))
		return 1; // carom_error_text(context) tells why

	for (int i = 0; i < 2; i++) {
		carom_body_id id;
		carom_body_def def = carom_default_body_def();
		def.kind = CAROM_DYNAMIC;
		def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
		def.pose = poses[i];
		if (carom_world_add_body(world, &def, &id))
			return 1;
	}
	if (carom_world_step(world))
		return 1;
	const carom_contact_view contacts = carom_world_contacts(world);
	printf("%d contacts\n", contacts.count);
	for (const carom_contact *c = contacts.data; c < contacts.data + contacts.count; c++)
		printf("at (%.2f %.2f %.2f) depth %.2f\n", c->point[0], c->point[1], c->point[2], c->depth);

	carom_destroy_world(world);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
