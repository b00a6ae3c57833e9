// A cloth falls on the tip of a pyramid: find when and where they first meet.
#include <carom/carom.h>
#include <stdio.h>

enum { SIDE = 16, COUNT = SIDE * SIDE };

static const float pyramid_vertices[5][3] = { { -1, -1, 0 }, { 1, -1, 0 }, { 1, 1, 0 }, { -1, 1, 0 }, { 0, 0, 1 } };
static const int32_t pyramid_triangles[6][3] = { { 0, 1, 4 }, { 1, 2, 4 }, { 2, 3, 4 }, { 3, 0, 4 }, { 0, 2, 1 }, { 0, 3, 2 } };

static float places[COUNT][3];
static int32_t triangles[2 * (SIDE - 1) * (SIDE - 1)][3];

static carom_result add(carom_world *world, const carom_mesh_def *mesh_def, carom_body_kind kind, carom_body_id *id)
{
	carom_mesh *mesh;
	carom_result result = carom_create_mesh(carom_world_context(world), mesh_def, NULL, &mesh);
	if (result)
		return result;
	carom_body_def def = carom_default_body_def();
	def.kind = kind;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	result = carom_world_add_body(world, &def, id);
	carom_release_mesh(mesh); // the body has a reference of its own
	return result;
}

int main(void)
{
	for (int i = 0; i < COUNT; i++) {
		places[i][0] = 0.1f * (float)(i % SIDE) - 0.73f;
		places[i][1] = 0.1f * (float)(i / SIDE) - 0.76f;
		places[i][2] = 1.55f;
	}
	int32_t count = 0;
	for (int32_t v = 0; v < COUNT - SIDE; v++) {
		if (v % SIDE == SIDE - 1)
			continue;
		const int32_t corners[6] = { v, v + 1, v + SIDE, v + 1, v + SIDE + 1, v + SIDE };
		for (int k = 0; k < 6; k++)
			triangles[count + k / 3][k % 3] = corners[k];
		count += 2;
	}
	carom_context *context;
	carom_world *world;
	carom_body_id pyramid, cloth;
	carom_mesh_def pyramid_def = carom_default_mesh_def(), cloth_def = carom_default_mesh_def();
	pyramid_def.vertices = (carom_strided){ .data = pyramid_vertices, .type = CAROM_FLOAT32 };
	pyramid_def.vertex_count = 5;
	pyramid_def.triangles = pyramid_triangles[0];
	pyramid_def.triangle_count = 6;
	cloth_def.vertices = (carom_strided){ .data = places, .type = CAROM_FLOAT32 };
	cloth_def.vertex_count = COUNT;
	cloth_def.triangles = triangles[0];
	cloth_def.triangle_count = count;
	if (carom_create_context(NULL, &context) || carom_create_world(context, NULL, &world) ||
		add(world, &pyramid_def, CAROM_STATIC, &pyramid) || add(world, &cloth_def, CAROM_CLOTH, &cloth))
		return 1; // carom_error_text(context) tells why

	for (int step = 1; carom_world_impacts(world).count == 0; step++) {
		for (int i = 0; i < COUNT; i++)
			places[i][2] -= 0.1f;
		if (carom_world_set_vertices(world, cloth, NULL, &cloth_def.vertices) || carom_world_step(world))
			return 1;
		printf("step %d: %lld impacts\n", step, (long long)carom_world_impacts(world).count);
	}
	const carom_impact *first = carom_world_earliest_impact(world);
	printf("at time %.2f vertex %d of body %u meets triangle %d of body %u\n", first->time, first->vertices[0],
		first->body_a.index1, first->triangle, first->body_b.index1);

	carom_destroy_world(world);
	carom_destroy_context(context);
}
