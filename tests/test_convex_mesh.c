/// Convex bodies ahead of and deep in meshes and height fields, against the distance to every triangle.
#include "manifold_fixture.h"

#include "frame/shape_table.h"
#include "geom/convex_query.h"
#include "geom/separation.h"

enum { FORMS = 6, SURFACES = 7, POSES = 80 / TEST_FEWER };

static const double NEAR = 0.05;

static void make_forms(carom_context *context, carom_shape forms[FORMS], carom_mesh *hulls[2])
{
	uint64_t seed = 3;
	float points[72], corners[24];
	for (int i = 0; i < 72; i++)
		points[i] = (float)test_random_double(&seed, -0.5, 0.5);
	for (int i = 0; i < 24; i++)
		corners[i] = (i / 3 >> i % 3 & 1 ? 1.0f : -1.0f) * (0.2f + 0.1f * (float)(i % 3));
	hulls[0] = fixture_hull_mesh(context, points, 24);
	hulls[1] = fixture_hull_mesh(context, corners, 8);
	forms[0] = fixture_hull(hulls[0]);
	forms[1] = fixture_hull(hulls[1]);
	forms[2] = fixture_cylinder(0.3, 0.5);
	forms[3] = fixture_cone(0.4, 0.4);
	forms[4] = fixture_ellipsoid(0.5, 0.3, 0.2);
	forms[5] = fixture_box(0.2, 0.3, 0.1);
	forms[5].rounding = 0.05;
}

/// What bodies come near to. To an open one from above, at places up to width from its middle.
typedef struct surface {
	const char *name;
	carom_mesh *mesh;
	carom_body_kind kind;
	double width;
	double middle; // along x and y
} surface;

static carom_mesh *rough_field(carom_context *context)
{
	uint64_t seed = 4;
	float heights[81];
	const double spacing[2] = { 0.4, 0.4 };
	carom_mesh *mesh;
	for (int i = 0; i < 81; i++)
		heights[i] = (float)test_random_double(&seed, -0.2, 0.2);
	REQUIRE(carom_create_height_field(context, 9, 9, heights, spacing, 1, &mesh) == CAROM_SUCCESS);
	return mesh;
}

static void make_surfaces(carom_context *context, surface s[SURFACES])
{
	static const float tetrahedron[12] = { 0.6f, 0, -0.25f, -0.3f, 0.5f, -0.25f, -0.3f, -0.5f, -0.25f, 0, 0, 0.6f };
	s[0] = (surface){ "box of 12 triangles", fixture_box_mesh(context, 0.3, 0.4, 0.5), CAROM_STATIC, 0, 0 };
	s[1] = (surface){ "tetrahedron", fixture_hull_mesh(context, tetrahedron, 4), CAROM_DYNAMIC, 0, 0 };
	s[2] = (surface){ "sphere", manifold_made_mesh(context, "sphere", 320), CAROM_STATIC, 0, 0 };
	s[3] = (surface){ "torus", fixture_torus_mesh(context, 9, 6, 0.4, 0.3), CAROM_DYNAMIC, 0, 0 };
	s[4] = (surface){ "rough field", rough_field(context), CAROM_STATIC, 1, 1.6 };
	s[5] = (surface){ "open floor", manifold_floor(context, 3, 2, CAROM_SIDES_AUTO), CAROM_STATIC, 1.1, 0 };
	s[6] = (surface){ "open floor with two sides", manifold_floor(context, 3, 2, CAROM_SIDES_AUTO), CAROM_DYNAMIC, 1.1, 0 };
}

/// The least distance of a body from the triangles of a mesh at the origin; below zero: it meets one.
static double distance_from(const carom_shape *shape, carom_pose pose, const carom_mesh *mesh)
{
	const cr_convex convex = cr_convex_of(shape);
	const m3d turn = m3d_from_quat(pose.orientation);
	const cr_relative mesh_in_body = { m3d_transposed(&turn), v3d_neg(m3d_tmul(&turn, pose.position)) };
	const float *vertices = carom_mesh_get_vertices(mesh);
	const int32_t *corners = carom_mesh_get_triangles(mesh), count = carom_mesh_get_report(mesh)->triangle_count;
	double least = INFINITY;
	for (int32_t t = 0; t < count; t++) {
		cr_convex triangle = { .core = CR_CORE_TRIANGLE };
		for (int k = 0; k < 3; k++)
			triangle.corner[k] = v3d_from_floats(&vertices[3 * (int64_t)corners[3 * (int64_t)t + k]]);
		cr_separation s;
		cr_convex_separation(&convex, &triangle, &mesh_in_body, &s);
		least = fmin(least, s.gap);
	}
	return least;
}

/// Brings a body to a mesh from afar until it is 0.001 to 0.045 away; false: it passes it.
static bool approach(const carom_shape *shape, const surface *s, uint64_t *seed, carom_pose *pose, double *distance)
{
	const carom_pose side = fixture_random_pose(seed, 1);
	v3d from = v3d_scale(v3d_normalize(side.position), 3), to = { 0, 0, 0 };
	if (s->width > 0) {
		to = (v3d){ s->middle + side.position.x * s->width, s->middle + side.position.y * s->width, -3 };
		from = (v3d){ to.x, to.y, 3 };
	}
	const v3d way = v3d_normalize(v3d_sub(to, from));
	*pose = fixture_random_pose(seed, 1);
	pose->position = from;
	for (int i = 0; i < 60; i++) {
		*distance = distance_from(shape, *pose, s->mesh);
		if (*distance > 0.001 && *distance < 0.045)
			return true;
		pose->position = v3d_mad(pose->position, 0.9 * (*distance - 0.01), way);
	}
	return false;
}

/// Lowers a body that is near a mesh into it along the way that it came: how far is drawn at random between two lengths.
static void sink(const surface *s, uint64_t *seed, const double range[2], carom_pose *pose)
{
	const v3d middle = { s->middle, s->middle, 0 };
	const v3d way = s->width > 0 ? (v3d){ 0, 0, -1 } : v3d_normalize(v3d_sub(middle, pose->position));
	pose->position = v3d_mad(pose->position, test_random_double(seed, range[0], range[1]), way);
}

typedef struct tally {
	int near, missed, too_long, too_short;
} tally;

enum { MOST_CONTACTS = 64 };

typedef struct found_contacts {
	carom_contact data[MOST_CONTACTS]; // normals towards the body
	int count;
	carom_contact deepest; // of depth -INFINITY: there is none
} found_contacts;

/// The contacts of a body and a mesh.
static found_contacts contacts_of(
	carom_context *context, const carom_shape *shape, carom_pose pose, const surface *s, bool mesh_first, int most)
{
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = NEAR;
	def.max_contacts_per_pair = (int32_t)most;
	carom_world *world = fixture_world(context, &def);
	if (mesh_first)
		fixture_add(world, fixture_of_mesh(s->mesh), carom_pose_identity(), s->kind);
	fixture_add(world, *shape, pose, CAROM_DYNAMIC);
	if (!mesh_first)
		fixture_add(world, fixture_of_mesh(s->mesh), carom_pose_identity(), s->kind);
	fixture_step(world);
	fixture_check_views(world);
	const carom_contact_view view = carom_world_contacts(world);
	found_contacts found = { .deepest = { .depth = -INFINITY } };
	REQUIRE(view.count <= MOST_CONTACTS);
	for (int i = 0; i < view.count; i++) {
		found.data[i] = view.data[i];
		for (int k = 0; k < 3 && mesh_first; k++)
			found.data[i].normal[k] = -found.data[i].normal[k];
		if (view.data[i].depth > found.deepest.depth)
			found.deepest = found.data[i];
	}
	found.count = view.count;
	carom_destroy_world(world);
	return found;
}

/// The shortest move out of all contacts: one after the other gives or takes back a push, so that it is just left (Hildreth, A
/// quadratic programming procedure, 1957). false: not found.
static bool move_out_of_all(const found_contacts *c, v3d *move)
{
	double push[MOST_CONTACTS] = { 0 }, left = INFINITY;
	*move = (v3d){ 0, 0, 0 };
	for (int round = 0; round < 20000 && left > 1e-8; round++) {
		left = 0;
		for (int i = 0; i < c->count; i++) {
			const v3d n = fixture_normal(&c->data[i]);
			const double missing = c->data[i].depth > 0 ? c->data[i].depth - v3d_dot(n, *move) : 0;
			const double more = fmax(missing, -push[i]);
			push[i] += more;
			*move = v3d_mad(*move, more, n);
			left = fmax(left, fabs(more));
		}
	}
	return left <= 1e-8;
}

static void check_distances(carom_context *context, const carom_shape *shape, const surface *s, tally *t)
{
	uint64_t seed = 5;
	for (int i = 0; i < POSES; i++) {
		carom_pose pose;
		double distance;
		if (!approach(shape, s, &seed, &pose, &distance))
			continue;
		const double least = -(double)contacts_of(context, shape, pose, s, i % 2, 8).deepest.depth;
		t->near++;
		t->missed += !(least < INFINITY);
		t->too_long += least > distance + 1e-6;
		t->too_short += least < 0.9 * distance - 3e-3;
	}
}

/// Is a place inside a closed mesh?
static bool is_inside(carom_context *context, const surface *s, v3d place)
{
	const carom_shape tiny = fixture_sphere(1e-9);
	const carom_pose at = { place, { 0, 0, 0, 1 } };
	carom_world *world = fixture_world(context, NULL);
	carom_body_id found[1];
	int32_t count;
	fixture_add(world, fixture_of_mesh(s->mesh), carom_pose_identity(), s->kind);
	REQUIRE(carom_world_overlap_shape(world, &tiny, &at, NULL, 1, found, &count) == CAROM_SUCCESS);
	carom_destroy_world(world);
	return count > 0;
}

static bool is_parted(carom_context *context, const carom_shape *shape, carom_pose pose, const surface *s, v3d move)
{
	pose.position = v3d_add(pose.position, move);
	return distance_from(shape, pose, s->mesh) > -1e-5 && (s->width > 0 || !is_inside(context, s, pose.position));
}

typedef struct depths {
	int most; // contacts of a pair
	int deep, parted, far;
} depths;

static void check_depths(
	carom_context *context, const carom_shape *shape, const surface *s, uint64_t seed, const double range[2], depths *t)
{
	for (int i = 0; i < POSES; i++) {
		carom_pose pose;
		double distance;
		if (!approach(shape, s, &seed, &pose, &distance))
			continue;
		sink(s, &seed, range, &pose);
		if (distance_from(shape, pose, s->mesh) > -1e-4 && (s->width > 0 || !is_inside(context, s, pose.position)))
			continue;
		const found_contacts c = contacts_of(context, shape, pose, s, i % 2, t->most);
		v3d move = v3d_scale(fixture_normal(&c.deepest), c.deepest.depth);
		t->deep++;
		if (!(c.deepest.depth > 0))
			continue;
		t->far += c.deepest.depth > 2.5;
		t->parted += is_parted(context, shape, pose, s, move) ||
			(move_out_of_all(&c, &move) && is_parted(context, shape, pose, s, move));
	}
}

/// Surfaces from first to last.
static void check_parting(int first, int last, uint64_t seed, const double range[2], int most)
{
	carom_context *context = fixture_context(1);
	carom_shape forms[FORMS];
	carom_mesh *hulls[2];
	surface surfaces[SURFACES];
	make_forms(context, forms, hulls);
	make_surfaces(context, surfaces);
	for (int s = first; s <= last; s++) {
		depths t = { .most = most };
		for (int f = 0; f < FORMS; f++)
			check_depths(context, &forms[f], &surfaces[s], seed, range, &t);
		CHECK(t.deep > POSES);
		// One in some hundred poses deep in a sphere or a rough field is not parted (docs/convex.md).
		if (!CHECK(t.parted >= t.deep - (s == 2 || s == 4)) || !CHECK_INT(t.far, 0))
			CHECK_STR(surfaces[s].name, "");
	}
	for (int s = 0; s < SURFACES; s++)
		carom_release_mesh(surfaces[s].mesh);
	carom_release_mesh(hulls[0]);
	carom_release_mesh(hulls[1]);
	carom_destroy_context(context);
}

/// However deep a body has sunk in, the shortest move out of all contacts parts it from every triangle, or the move by the
/// deepest one does.
TEST(convex_mesh, contacts_part) { check_parting(0, SURFACES - 1, 6, (double[]){ 0.03, 0.8 }, 8); }

/// So it does where the contacts tell small depths: because the body has just come in, or though it has sunk in deep.
TEST(convex_mesh, shallow_contacts_part) { check_parting(0, SURFACES - 1, 7, (double[]){ 0.005, 0.1 }, MOST_CONTACTS); }

static void put_triangle(fixture_soup *soup, int32_t a, int32_t b, int32_t c)
{
	int32_t *t = &soup->triangles[3 * soup->triangle_count++];
	t[0] = a;
	t[1] = b;
	t[2] = c;
}

/// An L that is extruded along y.
static void add_solid_corner(fixture_soup *soup)
{
	static const int profile[6][2] = { { -1, -1 }, { 4, -1 }, { 4, 0 }, { 0, 0 }, { 0, 4 }, { -1, 4 } };
	static const int32_t ends[4][3] = { { 0, 1, 3 }, { 1, 2, 3 }, { 0, 3, 5 }, { 3, 4, 5 } };
	for (int32_t i = 0; i < 12; i++, soup->vertex_count++) {
		float *v = &soup->vertices[3 * i];
		v[0] = (float)profile[i % 6][0];
		v[1] = i < 6 ? -1 : 5;
		v[2] = (float)profile[i % 6][1];
	}
	for (int32_t i = 0; i < 6; i++) {
		const int32_t j = (i + 1) % 6;
		put_triangle(soup, i, j + 6, j);
		put_triangle(soup, i, i + 6, j + 6);
	}
	for (int i = 0; i < 4; i++) {
		put_triangle(soup, ends[i][0], ends[i][1], ends[i][2]);
		put_triangle(soup, ends[i][0] + 6, ends[i][2] + 6, ends[i][1] + 6);
	}
}

/// A floor z = 0 and a wall x = 0: an open mesh of cells, or sides of a closed one.
static carom_mesh *corner_mesh(carom_context *context, bool closed)
{
	static fixture_soup soup;
	soup.vertex_count = soup.triangle_count = 0;
	if (closed) {
		add_solid_corner(&soup);
	} else {
		manifold_add_square(&soup, 8, (v3d){ 0, 0, 0 }, (v3d){ 4, 0, 0 }, (v3d){ 0, 4, 0 });
		manifold_add_square(&soup, 8, (v3d){ 0, 0, 0 }, (v3d){ 0, 4, 0 }, (v3d){ 0, 0, 4 });
	}
	return fixture_mesh(context, &soup);
}

/// How far a shape reaches from its middle against the normal of a plane through the origin.
static double reach_against(const carom_shape *shape, carom_quat turn, v3d normal)
{
	const cr_convex convex = cr_convex_of(shape);
	const m3d m = m3d_from_quat(turn);
	const v3d down = v3d_neg(m3d_tmul(&m, normal));
	return v3d_dot(down, cr_convex_support(&convex, down)) + convex.rounding;
}

enum { FLOOR, WALL, OTHER, INTO, KINDS };

/// Puts a body so deep into the floor and the wall, and counts its contacts by their directions. Returns the greatest depth.
static double corner_contacts(carom_context *context, const carom_shape *shape, carom_quat turn, const carom_mesh *mesh,
	const double sunk[2], int counts[KINDS])
{
	static const v3d up = { 0, 0, 1 }, out = { 1, 0, 0 };
	const carom_shape corner = fixture_of_mesh(mesh);
	const carom_pose pose = {
		{ reach_against(shape, turn, out) - sunk[WALL], 2.1, reach_against(shape, turn, up) - sunk[FLOOR] }, turn
	};
	carom_contact found[MOST_CONTACTS];
	int32_t count;
	double deepest = -INFINITY;
	REQUIRE(carom_collide(context, shape, &pose, &corner, NULL, 0, MOST_CONTACTS, found, &count) == CAROM_SUCCESS);
	for (int k = 0; k < KINDS; k++)
		counts[k] = 0;
	for (int i = 0; i < count; i++) {
		const v3d n = fixture_normal(&found[i]);
		counts[n.z > 0.9999 ? FLOOR : n.x > 0.9999 ? WALL : fmin(n.x, n.z) < -1e-3 ? INTO : OTHER]++;
		deepest = fmax(deepest, found[i].depth);
	}
	return deepest;
}

/// A body that stands in a corner of one mesh keeps both patches: each as deep as the body is in that side, and nothing between.
TEST(convex_mesh, a_floor_and_a_wall_of_one_mesh_both_push)
{
	carom_context *context = fixture_context(1);
	carom_shape forms[FORMS];
	carom_mesh *hulls[2];
	make_forms(context, forms, hulls);
	for (int closed = 0; closed < 2; closed++) {
		carom_mesh *mesh = corner_mesh(context, closed);
		uint64_t seed = 8;
		CHECK_INT(carom_mesh_get_report(mesh)->closed, closed);
		for (int i = 0; i < 40 * FORMS; i++) {
			const int f = i % FORMS;
			const double sunk[2] = { test_random_double(&seed, 2e-4, 5e-3), pow(10, test_random_double(&seed, -5, -2.4)) };
			int counts[KINDS];
			if (f == 0 || f == 3) // no flat side stands upright; only its rim is in the wall
				continue;
			const double deepest = corner_contacts(context, &forms[f], (carom_quat){ 0, 0, 0, 1 }, mesh, sunk, counts);
			CHECK(counts[FLOOR] >= (f == 4 ? 1 : 3));
			CHECK(counts[WALL] >= (f == 4 ? 1 : 2));
			CHECK_INT(counts[OTHER] + counts[INTO], 0);
			CHECK_NEAR(deepest, fmax(sunk[0], sunk[1]), 1e-6);
		}
		carom_release_mesh(mesh);
	}
	carom_release_mesh(hulls[0]);
	carom_release_mesh(hulls[1]);
	carom_destroy_context(context);
}

/// However a body is turned that is a little in a floor and a wall, no contact pushes it into either, and none is deeper than the
/// way out of both.
TEST(convex_mesh, nothing_pushes_into_a_corner)
{
	carom_context *context = fixture_context(1);
	carom_shape forms[FORMS];
	carom_mesh *hulls[2];
	make_forms(context, forms, hulls);
	for (int closed = 0; closed < 2; closed++) {
		carom_mesh *mesh = corner_mesh(context, closed);
		uint64_t seed = 9;
		for (int i = 0; i < 100 * FORMS / TEST_FEWER; i++) {
			const double sunk[2] = { test_random_double(&seed, 5e-4, 5e-3), test_random_double(&seed, 5e-4, 5e-3) };
			const carom_quat turn = fixture_random_pose(&seed, 1).orientation;
			int counts[KINDS];
			const double deepest = corner_contacts(context, &forms[i % FORMS], turn, mesh, sunk, counts);
			CHECK_INT(counts[INTO], 0);
			CHECK(deepest > 0.9 * fmax(sunk[0], sunk[1]) && deepest < 1.01 * hypot(sunk[0], sunk[1]) + 1e-5);
		}
		carom_release_mesh(mesh);
	}
	carom_release_mesh(hulls[0]);
	carom_release_mesh(hulls[1]);
	carom_destroy_context(context);
}

/// A way that ends inside a closed mesh, clear of its surface, parts nothing.
TEST(convex_mesh, no_way_ends_inside) { check_parting(2, 2, 1, (double[]){ 0.5, 0.7 }, 8); }

/// The nearest contact is never farther than the nearest triangle, and there is one wherever a triangle is near.
TEST(convex_mesh, distances_ahead_are_those_of_the_nearest_triangle)
{
	carom_context *context = fixture_context(1);
	carom_shape forms[FORMS];
	carom_mesh *hulls[2];
	surface surfaces[SURFACES];
	make_forms(context, forms, hulls);
	make_surfaces(context, surfaces);
	for (int s = 0; s < SURFACES; s++) {
		tally t = { 0 };
		for (int f = 0; f < FORMS; f++)
			check_distances(context, &forms[f], &surfaces[s], &t);
		CHECK(t.near > POSES);
		if (!CHECK_INT(t.missed, 0) || !CHECK_INT(t.too_long, 0) || !CHECK_INT(t.too_short, 0))
			CHECK_STR(surfaces[s].name, "");
	}
	for (int s = 0; s < SURFACES; s++)
		carom_release_mesh(surfaces[s].mesh);
	carom_release_mesh(hulls[0]);
	carom_release_mesh(hulls[1]);
	carom_destroy_context(context);
}

/// Half extents of a box that is a closed mesh. It is so thick that a body with its centre in a side comes out soonest through that side.
static const double SLAB[3] = { 1.5, 2, 1 };

/// A pose of a body whose centre lies in a side of the slab, or off it by no more than floats round. *out: the outward normal of the
/// side. turned: the body is turned against the slab.
static carom_pose pose_in_side(uint64_t *seed, bool turned, v3d *out)
{
	static const double off[5] = { 0, 1e-17, 1e-9, 3e-8, 1e-7 };
	const int axis = (int)(test_random(seed) % 3);
	const double sign = test_random(seed) % 2 ? 1 : -1;
	double at[3], normal[3] = { 0 };
	for (int k = 0; k < 3; k++)
		at[k] = test_random(seed) % 3 ? test_random_double(seed, -0.3, 0.3) : 0;
	at[axis] = sign * (SLAB[axis] + (test_random(seed) % 2 ? 1 : -1) * off[test_random(seed) % 5]);
	normal[axis] = sign;
	*out = v3d_from_doubles(normal);
	const carom_quat upright = { 0, 0, 0, 1 };
	return (carom_pose){ v3d_from_doubles(at), turned ? fixture_random_pose(seed, 1).orientation : upright };
}

/// A body whose centre lies in a side of a closed mesh is led out through that side, whichever of the two is A, and wherever they are.
TEST(convex_mesh, a_centre_in_the_surface_is_led_out)
{
	carom_context *context = fixture_context(1);
	carom_shape forms[FORMS];
	carom_mesh *hulls[2], *slab = fixture_box_mesh(context, SLAB[0], SLAB[1], SLAB[2]);
	const carom_shape mesh = fixture_of_mesh(slab), plane = { .type = CAROM_PLANE };
	make_forms(context, forms, hulls);
	uint64_t seed = 12;
	for (int i = 0; i < 600; i++) {
		const carom_shape *form = &forms[1 + i % (FORMS - 1)]; // the first one's centre is not its origin
		v3d out;
		const carom_pose body = pose_in_side(&seed, i % 4 > 1, &out);
		const carom_pose frame = i % 3 ? fixture_random_pose(&seed, 2) : carom_pose_identity();
		const carom_pose placed = fixture_compose(frame, body);
		// The plane of the side tells how deep the body is.
		const carom_pose side = fixture_compose(frame,
			(carom_pose){ { out.x * SLAB[0], out.y * SLAB[1], out.z * SLAB[2] },
				out.z < 0       ? fixture_turn((v3d){ 1, 0, 0 }, FIXTURE_PI)
					: out.z > 0 ? (carom_quat){ 0, 0, 0, 1 }
								: fixture_turn((v3d){ -out.y, out.x, 0 }, FIXTURE_PI / 2) });
		carom_separation expected;
		REQUIRE(carom_distance(context, form, &placed, &plane, &side, &expected) == CAROM_SUCCESS);
		for (int swapped = 0; swapped < 2; swapped++) {
			carom_contact contacts[8];
			int32_t count;
			double depth = -INFINITY;
			REQUIRE((swapped ? carom_collide(context, form, &placed, &mesh, &frame, 0, 8, contacts, &count)
							 : carom_collide(context, &mesh, &frame, form, &placed, 0, 8, contacts, &count)) == CAROM_SUCCESS);
			for (int k = 0; k < count && k < 8; k++)
				depth = fmax(depth, contacts[k].depth);
			CHECK(count > 0);
			CHECK(depth >= -expected.distance - 1e-5 && depth <= -expected.distance * 1.001);
		}
	}
	carom_release_mesh(slab);
	carom_release_mesh(hulls[0]);
	carom_release_mesh(hulls[1]);
	carom_destroy_context(context);
}

/// Is there a contact at the place and of the depth of another one?
static bool has_contact(const carom_contact *contacts, int32_t count, const carom_contact *wanted)
{
	for (int32_t i = 0; i < count; i++) {
		const v3d d = v3d_sub(fixture_point(&contacts[i]), fixture_point(wanted));
		if (fabs(contacts[i].depth - wanted->depth) < 1e-5 && v3d_length(d) < 1e-4)
			return true;
	}
	return false;
}

/// A body that leans over a flat surface, above it or in it, has the contacts there that it has with a plane, also those of its far
/// end, which are ahead. Found by Box3D's CapsuleTriangleFaceDeepTest.
TEST(convex_mesh, a_leaning_body_over_a_flat_mesh_is_met_as_by_a_plane)
{
	carom_context *context = fixture_context(1);
	static const float flat[49] = { 0 };
	float corners[24];
	for (int i = 0; i < 24; i++)
		corners[i] = (i / 3 >> i % 3 & 1 ? 1.0f : -1.0f) * (i % 3 == 0 ? 1.0f : 0.1f * (float)(i % 3));
	carom_mesh *hull = fixture_hull_mesh(context, corners, 8),
			   *meshes[4] = { fixture_box_mesh(context, 3, 3, 3), fixture_sheet_mesh(context, 8, 6),
				   manifold_floor(context, 1, 6, CAROM_SIDES_AUTO) };
	REQUIRE(carom_create_height_field(context, 7, 7, flat, (double[]){ 1, 1 }, 1, &meshes[3]) == CAROM_SUCCESS);
	carom_shape bodies[4] = { fixture_hull(hull), fixture_hull(hull), fixture_cylinder(0.1, 1), fixture_capsule(0.1, 1) };
	bodies[1].rounding = 0.05;
	const carom_shape plane = { .type = CAROM_PLANE };
	const carom_pose at[4] = { fixture_at(0, 0, -3), fixture_at(0, 0, 0), fixture_at(0, 0, 0), fixture_at(-3, -3, 0) };
	uint64_t seed = 1;
	for (int i = 0; i < 400 / TEST_FEWER; i++) {
		const carom_shape *body = &bodies[i % 4];
		const double lying = i % 4 < 2 ? 0 : 0.5 * FIXTURE_PI, lean = test_random_double(&seed, -0.3, 0.3);
		const carom_pose yaw = { { test_random_double(&seed, -1, 1), test_random_double(&seed, -1, 1), 0 },
			fixture_turn((v3d){ 0, 0, 1 }, test_random_double(&seed, -3, 3)) };
		carom_pose pose = fixture_compose(yaw, (carom_pose){ { 0, 0, 0 }, fixture_turn((v3d){ 0, 1, 0 }, lying + lean) });
		carom_separation s;
		REQUIRE(carom_distance(context, body, &pose, &plane, NULL, &s) == CAROM_SUCCESS);
		pose.position.z += test_random_double(&seed, -0.05, 0.05) - s.distance;
		carom_contact wanted[8], contacts[8];
		int32_t wanted_count, count;
		REQUIRE(carom_collide(context, body, &pose, &plane, NULL, 0.4, 8, wanted, &wanted_count) == CAROM_SUCCESS);
		CHECK(wanted_count >= 1);
		for (int k = 0; k < 4; k++) {
			const carom_shape floor = fixture_of_mesh(meshes[k]);
			REQUIRE(carom_collide(context, body, &pose, &floor, &at[k], 0.4, 8, contacts, &count) == CAROM_SUCCESS);
			for (int32_t w = 0; w < wanted_count; w++)
				CHECK(has_contact(contacts, count, &wanted[w]));
		}
	}
	for (int k = 0; k < 4; k++)
		carom_release_mesh(meshes[k]);
	carom_release_mesh(hull);
	carom_destroy_context(context);
}

/// A slab of denormal thickness: in the frame of the body its narrow sides are segments, which have no normal.
TEST(convex_mesh, triangles_that_lose_their_width_give_no_contact)
{
	carom_context *context = fixture_context(1);
	static const float places[24] = { -5e-41f, -0.5f, -0.5f, 5e-41f, -0.5f, -0.5f, -5e-41f, 0.5f, -0.5f, 5e-41f, 0.5f, -0.5f,
		-5e-41f, -0.5f, 0.5f, 5e-41f, -0.5f, 0.5f, -5e-41f, 0.5f, 0.5f, 5e-41f, 0.5f, 0.5f };
	static const int32_t corners[36] = { 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4, 2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6,
		2, 1, 3, 7, 1, 7, 5 };
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ places, 0, CAROM_FLOAT32 };
	def.vertex_count = 8;
	def.triangles = corners;
	def.triangle_count = 12;
	carom_mesh *slab = NULL;
	REQUIRE(carom_create_mesh(context, &def, NULL, &slab) == CAROM_SUCCESS);
	uint64_t seed = 41;
	int contacts = 0;
	for (int round = 0; round < 300; round++) {
		carom_world *world = fixture_world(context, NULL);
		carom_shape shapes[3] = { fixture_cylinder(0.4, 0.3), fixture_cone(0.4, 0.3), fixture_box(0.3, 0.4, 0.2) };
		shapes[round % 3].rounding = 0.2;
		fixture_add(world, fixture_of_mesh(slab), fixture_random_pose(&seed, 0.2), CAROM_KINEMATIC);
		fixture_add(world, shapes[round % 3], fixture_random_pose(&seed, 0.8), CAROM_DYNAMIC);
		fixture_step(world);
		const carom_contact_view view = carom_world_contacts(world);
		contacts += view.count;
		for (int32_t i = 0; i < view.count; i++) {
			const float *n = view.data[i].normal;
			CHECK_NEAR(n[0] * n[0] + n[1] * n[1] + n[2] * n[2], 1, 1e-5);
		}
		carom_destroy_world(world);
	}
	CHECK(contacts > 100);
	carom_release_mesh(slab);
	carom_destroy_context(context);
}

/// The scratch of one step of so many cylinders that lie on a floor of triangles.
static size_t scratch_of_cylinders(carom_context *context, carom_mesh *floor, int count)
{
	carom_world *world = fixture_world(context, NULL);
	fixture_add(world, fixture_of_mesh(floor), fixture_at(0, 0, 0), CAROM_STATIC);
	for (int i = 0; i < count; i++)
		fixture_add(world, fixture_cylinder(0.4, 0.4), fixture_at(i % 8 - 3.5, i / 8 - 3.5, 0.39), CAROM_DYNAMIC);
	fixture_step(world);
	const carom_stats stats = carom_world_stats(world);
	CHECK_INT(stats.colliding_pairs, count);
	carom_destroy_world(world);
	return stats.scratch_peak;
}

TEST(convex_mesh, pairs_take_their_scratch_one_after_the_other)
{
	carom_context *context = fixture_context(1);
	carom_mesh *floor = manifold_floor(context, 20, 20, CAROM_SIDES_AUTO);
	const size_t few = scratch_of_cylinders(context, floor, 2), many = scratch_of_cylinders(context, floor, 64);
	// Further ones add their contacts alone, of 56 bytes, at most 8 each, in a list that doubles.
	CHECK(few > 1000);
	CHECK(many < few + 62 * 2 * 8 * 56);
	carom_release_mesh(floor);
	carom_destroy_context(context);
}

/// The local box of a convex body is the one that its support points span, to the bit.
TEST(convex_mesh, local_boxes)
{
	static const carom_shape_type types[] = { CAROM_BOX, CAROM_CYLINDER, CAROM_CONE, CAROM_ELLIPSOID, CAROM_HULL };
	static const m3d identity = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	uint64_t seed = 31;
	carom_context *context = fixture_context(1);
	for (int i = 0; i < 500; i++) {
		float points[3 * 12];
		for (int k = 0; k < 3 * 12; k++)
			points[k] = (float)test_random_double(&seed, -3, 2);
		carom_mesh *hull = fixture_hull_mesh(context, points, 12);
		carom_shape shape = {
			.type = types[i % 5], .mesh = hull, .rounding = i % 3 || i % 5 == 0 ? test_random_double(&seed, 0.01, 1) : 0
		};
		shape.radius = test_random_double(&seed, 0.01, 2);
		shape.half_length = test_random_double(&seed, 0.01, 2);
		for (int k = 0; k < 3; k++)
			shape.half_extents[k] = test_random_double(&seed, 0.01, 2);
		const cr_body body = { .shape = { .def = shape, .family = cr_family_of(&shape) },
			.pose = fixture_random_pose(&seed, 5) };
		const cr_convex convex = cr_convex_of(&shape);
		const cr_local_box box = cr_local_box_of(&body);
		double lower[3], upper[3];
		REQUIRE(body.shape.family == CR_FAMILY_CONVEX);
		cr_convex_bounds(&convex, &identity, lower, upper);
		for (int k = 0; k < 3; k++) {
			CHECK(v3d_get(box.centre, k) == 0.5 * (lower[k] + upper[k]));
			CHECK(v3d_get(box.half, k) == 0.5 * (upper[k] - lower[k]));
		}
		carom_release_mesh(hull);
	}
	carom_destroy_context(context);
}
