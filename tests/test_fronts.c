/// Bodies that have sunk into open meshes with a front, by any part of their size: they are led back to the front.
#include "manifold_fixture.h"

#include "carom/collide.h"
#include <float.h>
#include <string.h>

enum { BODIES = 4, POSES = 120 };

/// A closed L of two bars, about the middle of its box's lower left quarter.
static carom_mesh *make_ell(carom_context *context, double size)
{
	static const double outline[6][2] = { { 0, 0 }, { 3, 0 }, { 3, 1 }, { 1, 1 }, { 1, 3 }, { 0, 3 } };
	static const int32_t triangles[60] = { 0, 2, 1, 0, 3, 2, 0, 4, 3, 0, 5, 4, 6, 7, 8, 6, 8, 9, 6, 9, 10, 6, 10, 11, 0, 1, 7,
		0, 7, 6, 1, 2, 8, 1, 8, 7, 2, 3, 9, 2, 9, 8, 3, 4, 10, 3, 10, 9, 4, 5, 11, 4, 11, 10, 5, 0, 6, 5, 6, 11 };
	static fixture_soup soup;
	for (int i = 0; i < 12; i++) {
		soup.vertices[3 * i] = (float)(size * (outline[i % 6][0] - 1.2));
		soup.vertices[3 * i + 1] = (float)(size * (outline[i % 6][1] - 1.2));
		soup.vertices[3 * i + 2] = (float)(size * (i / 6 - 0.5));
	}
	memcpy(soup.triangles, triangles, sizeof triangles);
	soup.vertex_count = 12;
	soup.triangle_count = 20;
	return fixture_mesh(context, &soup);
}

/// A body, and its corners, by which its height is measured.
typedef struct sunk_body {
	carom_shape shape;
	carom_mesh *mesh;
	const float *corners;
	int32_t count;
	float of_box[24];
} sunk_body;

/// A box, a box as a mesh of 12 or 192 triangles, or an L, of sides that differ by up to ten times.
static void make_body(carom_context *context, int kind, uint64_t *seed, sunk_body *b)
{
	double half[3];
	for (int k = 0; k < 3; k++)
		half[k] = test_random_double(seed, 0.1, 0.33) * (test_random(seed) % 2 ? 1 : 3);
	*b = (sunk_body){ .shape = fixture_box(half[0], half[1], half[2]), .corners = b->of_box, .count = 8 };
	for (int i = 0; i < 24; i++)
		b->of_box[i] = (float)((i / 3 >> i % 3 & 1 ? 1 : -1) * half[i % 3]);
	if (kind == 0)
		return;
	if (kind == 3) {
		b->mesh = make_ell(context, half[0]);
	} else {
		carom_mesh *cube = manifold_cube(context, kind == 1 ? 1 : 4, 1);
		REQUIRE(carom_create_scaled_mesh(context, cube, half, &b->mesh) == CAROM_SUCCESS);
		carom_release_mesh(cube);
	}
	b->shape = fixture_of_mesh(b->mesh);
	b->corners = carom_mesh_get_vertices(b->mesh);
	b->count = carom_mesh_get_report(b->mesh)->vertex_count;
}

/// The lowest and the highest corner of a turned body about its origin.
static void find_heights(const sunk_body *b, carom_quat turn, double heights[2])
{
	heights[0] = DBL_MAX;
	heights[1] = -DBL_MAX;
	for (int32_t i = 0; i < b->count; i++) {
		const v3d p = carom_rotate(turn, v3d_from_floats(&b->corners[3 * i]));
		heights[0] = fmin(heights[0], p.z);
		heights[1] = fmax(heights[1], p.z);
	}
}

/// Contacts of a body with a static open mesh, their normals towards the body.
static void meet_open(
	carom_context *context, const sunk_body *b, carom_pose pose, const carom_mesh *open, bool open_first, manifold_view *view)
{
	carom_world *world = fixture_world(context, NULL);
	if (open_first)
		fixture_add(world, fixture_of_mesh(open), carom_pose_identity(), CAROM_STATIC);
	fixture_add(world, b->shape, pose, CAROM_DYNAMIC);
	if (!open_first)
		fixture_add(world, fixture_of_mesh(open), carom_pose_identity(), CAROM_STATIC);
	fixture_step(world);
	fixture_check_views(world);
	const carom_contact_view c = carom_world_contacts(world);
	view->count = c.count < MANIFOLD_CONTACTS ? c.count : MANIFOLD_CONTACTS;
	for (int i = 0; i < view->count; i++) {
		view->data[i] = c.data[i];
		for (int k = 0; k < 3 && open_first; k++)
			view->data[i].normal[k] = -view->data[i].normal[k];
	}
	carom_destroy_world(world);
}

static const carom_contact *deepest_of(const manifold_view *view)
{
	const carom_contact *deepest = NULL;
	for (const carom_contact *c = view->data; c < view->data + view->count; c++)
		deepest = !deepest || c->depth > deepest->depth ? c : deepest;
	return deepest;
}

/// Ground about z = 0 whose vertices are up to a tenth higher or lower.
static carom_mesh *make_rough(carom_context *context)
{
	enum { CELLS = 40 };
	static float heights[CELLS + 1][CELLS + 1][3];
	static int32_t triangles[6 * CELLS * CELLS];
	uint64_t seed = 8;
	for (int i = 0; i < (CELLS + 1) * (CELLS + 1); i++) {
		float *v = heights[i / (CELLS + 1)][i % (CELLS + 1)];
		v[0] = 0.5f * (float)(i % (CELLS + 1) - CELLS / 2);
		v[1] = 0.5f * (float)(i / (CELLS + 1) - CELLS / 2);
		v[2] = (float)test_random_double(&seed, -0.1, 0.1);
	}
	for (int i = 0; i < CELLS * CELLS; i++) {
		const int32_t a = i / CELLS * (CELLS + 1) + i % CELLS, b = a + 1, d = a + CELLS + 1, c = d + 1;
		memcpy(triangles + 6 * i, (int32_t[6]){ a, b, c, a, c, d }, 6 * sizeof *triangles);
	}
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = heights, .type = CAROM_FLOAT32 };
	def.vertex_count = (CELLS + 1) * (CELLS + 1);
	def.triangles = triangles;
	def.triangle_count = 2 * CELLS * CELLS;
	carom_mesh *mesh;
	REQUIRE(carom_create_mesh(context, &def, NULL, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static bool crosses(carom_context *context, const sunk_body *b, carom_pose pose, const carom_mesh *open)
{
	const carom_shape shape = fixture_of_mesh(open);
	const carom_pose at = carom_pose_identity();
	carom_separation gap;
	REQUIRE(carom_distance(context, &b->shape, &pose, &shape, &at, &gap) == CAROM_SUCCESS);
	return gap.distance < -1e-6;
}

/// What became of poses in which a body crosses an open mesh.
typedef struct outcome {
	int crossing, missed, astray, behind;
} outcome;

/// Sinks bodies of a kind into ground about z = 0: contacts that lead to the back, or far from it to the sides, are astray; the deepest
/// one should bring all corners to the front.
static outcome sink(carom_context *context, const carom_mesh *floor, int kind, uint64_t seed)
{
	outcome o = { 0 };
	for (int i = 0; i < POSES; i++) {
		sunk_body b;
		make_body(context, kind, &seed, &b);
		carom_pose pose = fixture_random_pose(&seed, 3);
		double heights[2];
		find_heights(&b, pose.orientation, heights);
		pose.position.z = -heights[0] - test_random_double(&seed, 0.02, 0.98) * (heights[1] - heights[0]);
		manifold_view view;
		meet_open(context, &b, pose, floor, i % 2, &view);
		o.crossing += crosses(context, &b, pose, floor);
		const carom_contact *deepest = deepest_of(&view);
		o.missed += !deepest && crosses(context, &b, pose, floor);
		o.behind += deepest && heights[0] + pose.position.z + (double)deepest->normal[2] * deepest->depth < -1e-5;
		for (int j = 0; j < view.count; j++)
			o.astray += !(view.data[j].normal[2] > -0.05f);
		carom_release_mesh(b.mesh);
	}
	return o;
}

/// However deep bodies have sunk through a floor, flat and fine or coarse, all that is told leads up.
TEST(fronts, no_body_is_led_through_a_floor)
{
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 2 * BODIES; i++) {
		carom_mesh *floor = manifold_floor(context, i / BODIES ? 20 : 1, 20, CAROM_SIDES_AUTO);
		const outcome o = sink(context, floor, i % BODIES, 31 + (uint64_t)i);
		CHECK_INT(o.crossing, POSES);
		CHECK_INT(o.missed, 0);
		CHECK_INT(o.astray, 0);
		CHECK_INT(o.behind, 0);
		carom_release_mesh(floor);
	}
	carom_destroy_context(context);
}

/// Nor on rough ground, where a body's corners may lie below no triangle that crosses it.
TEST(fronts, no_body_is_led_through_rough_ground)
{
	carom_context *context = fixture_context(1);
	carom_mesh *rough = make_rough(context);
	for (int i = 0; i < BODIES; i++) {
		const outcome o = sink(context, rough, i, 57 + (uint64_t)i);
		CHECK(o.crossing > POSES * 3 / 4);
		CHECK_INT(o.missed, 0);
		CHECK_INT(o.astray, 0);
	}
	carom_release_mesh(rough);
	carom_destroy_context(context);
}
