/// Worlds: misuse is refused with a text that names function and field, and changes nothing; bodies, filters, boxes, threads.
#include "fixture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// A world with two bodies that touch.
typedef struct small {
	carom_context *context;
	carom_world *world;
	carom_mesh *mesh;
	carom_body_id a, b;
	size_t empty; // bytes of the context alone
} small;

static void open_small(small *s)
{
	s->context = fixture_context(1);
	s->empty = carom_memory_in_use(s->context);
	s->world = fixture_world(s->context, NULL);
	s->mesh = fixture_sphere_mesh(s->context, 0.5, 8);
	s->a = fixture_add(s->world, fixture_of_mesh(s->mesh), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	s->b = fixture_add(s->world, fixture_of_mesh(s->mesh), fixture_at(0.8, 0, 0), CAROM_DYNAMIC);
	fixture_step(s->world);
	CHECK(carom_world_contacts(s->world).count > 0);
}

static void close_small(small *s)
{
	carom_destroy_world(s->world);
	carom_release_mesh(s->mesh);
	CHECK_INT(carom_memory_in_use(s->context), s->empty);
	carom_destroy_context(s->context);
}

/// The text of the last failure names the function and the field.
static void check_text(const small *s, const char *function, const char *field)
{
	const char *text = carom_error_text(s->context);
	if (!CHECK(strstr(text, function) != NULL && strstr(text, field) != NULL))
		CHECK_STR(text, field); // prints it
}

/// After any misuse: nothing changed, and a step gives what it gave.
static void check_unharmed(small *s, uint64_t hash)
{
	CHECK(carom_world_hash(s->world) == hash);
	CHECK_INT(carom_world_body_count(s->world), 2);
	fixture_step(s->world);
	CHECK(carom_world_hash(s->world) == hash);
	fixture_check_views(s->world);
}

// ---- Misuse ----

static void refuse_world(small *s, const carom_world_def *def, const char *field)
{
	carom_world *world = s->world;
	CHECK_INT(carom_create_world(s->context, def, &world), CAROM_INVALID_ARGUMENT);
	CHECK(world == NULL);
	check_text(s, "carom_create_world", field);
}

TEST(world, misuse_of_create_world)
{
	small s;
	open_small(&s);
	const uint64_t hash = carom_world_hash(s.world);
	carom_world *world;
	CHECK_INT(carom_create_world(NULL, NULL, &world), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_create_world(s.context, NULL, NULL), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_create_world", "world");
	carom_world_def def;
	memset(&def, 0, sizeof def);
	refuse_world(&s, &def, "carom_default_world_def");
#define REFUSE(field, value)         \
	def = carom_default_world_def(); \
	def.field = value;               \
	refuse_world(&s, &def, #field)
#define REFUSE_LAB(field, value)      \
	def = carom_default_world_def();  \
	fixture_lab(&def)->field = value; \
	refuse_world(&s, &def, #field)
	REFUSE(broad_phase, (carom_broad_phase)2);
	REFUSE(broad_phase, (carom_broad_phase)-1);
	REFUSE_LAB(ray_method, (carom_ray_method)99);
	REFUSE_LAB(ray_method, (carom_ray_method)-1);
	REFUSE(max_contacts_per_pair, -1);
	REFUSE(max_contacts_per_pair, 257);
	REFUSE_LAB(max_depth_ratio, 0.5);
	REFUSE_LAB(max_depth_ratio, -1);
	REFUSE_LAB(max_depth_ratio, NAN);
	REFUSE(speculative_distance, -0.1);
	REFUSE(speculative_distance, NAN);
	REFUSE(speculative_distance, INFINITY);
	REFUSE(match_distance, -0.1);
	REFUSE(match_distance, NAN);
	REFUSE_LAB(ray_method, CAROM_RAYS_PLUGIN);
	REFUSE(temporal, (carom_temporal)3);
	REFUSE(temporal, (carom_temporal)-1);
	REFUSE_LAB(lost_rays, (carom_lost_rays)2);
	REFUSE_LAB(lost_rays, (carom_lost_rays)-1);
	REFUSE_LAB(max_walk, 0);
	REFUSE_LAB(max_walk, 65537);
	REFUSE_LAB(displacement_threshold, -1e-9);
	REFUSE_LAB(displacement_threshold, NAN);
	REFUSE_LAB(displacement_threshold, INFINITY);
	REFUSE_LAB(distance_extension, -1e-9);
	REFUSE_LAB(distance_extension, NAN);
	REFUSE_LAB(distance_extension, INFINITY);
	REFUSE(contact_normal, (carom_contact_normal)3);
	REFUSE(contact_normal, (carom_contact_normal)-1);
	REFUSE(internal_edge_angle, -0.01);
	REFUSE(internal_edge_angle, 3.1416);
	REFUSE(internal_edge_angle, NAN);
	REFUSE(long_edge_share, -0.01);
	REFUSE(long_edge_share, NAN);
	REFUSE_LAB(stages, (carom_stages)2);
	REFUSE_LAB(stages, (carom_stages)-1);
	REFUSE_LAB(ray_buffers, (carom_ray_buffers)3);
	REFUSE_LAB(ray_buffers, (carom_ray_buffers)-1);
	REFUSE_LAB(ray_predictor, (carom_ray_predictor)2);
	REFUSE_LAB(ray_predictor, (carom_ray_predictor)-1);
	REFUSE_LAB(buffer_confidence, 0.999);
	REFUSE_LAB(buffer_confidence, NAN);
	REFUSE_LAB(buffer_confidence, INFINITY);
	REFUSE_LAB(worker_groups, -1);
	REFUSE_LAB(worker_groups, CAROM_MAX_WORKER_GROUPS + 1);
#undef REFUSE
#undef REFUSE_LAB
	const carom_lab nothing = { 0 };
	def = carom_default_world_def();
	def.lab = &nothing;
	refuse_world(&s, &def, "carom_default_lab");
	const carom_ray_plugin half = { .name = "half" };
	def = carom_default_world_def();
	fixture_lab(&def)->ray_method = CAROM_RAYS_PLUGIN;
	fixture_lab(&def)->ray_plugin = &half;
	refuse_world(&s, &def, "ray_plugin");
	check_unharmed(&s, hash);
	carom_destroy_world(NULL);
	close_small(&s);
}

TEST(world, misuse_of_threshold_and_extension)
{
	small s;
	open_small(&s);
	carom_world_def def = carom_default_world_def();
	fixture_lab(&def)->displacement_threshold = 0.02;
	fixture_lab(&def)->distance_extension = 0.01;
	refuse_world(&s, &def, "displacement_threshold");
	check_text(&s, "distance_extension, 0.01", "could enter"); // and why
	// Equal, either one alone, or without prediction: all fine.
	const double fine[4][3] = { { 0.01, 0.01, 1 }, { 0.02, 0, 1 }, { 0, 0.01, 1 }, { 0.02, 0.01, 0 } };
	for (int i = 0; i < 4; i++) {
		fixture_lab(&def)->displacement_threshold = fine[i][0];
		fixture_lab(&def)->distance_extension = fine[i][1];
		def.temporal = fine[i][2] != 0 ? CAROM_TEMPORAL_PREDICTIVE : CAROM_TEMPORAL_ITERATIVE;
		carom_world *world;
		if (CHECK_INT(carom_create_world(s.context, &def, &world), CAROM_SUCCESS))
			carom_destroy_world(world);
	}
	close_small(&s);
}

TEST(world, limits_of_settings_are_legal)
{
	small s;
	open_small(&s);
	for (int most = 0; most < 2; most++) {
		carom_world_def def = carom_default_world_def();
		def.temporal = CAROM_TEMPORAL_PREDICTIVE;
		fixture_lab(&def)->lost_rays = most ? CAROM_LOST_DROP : CAROM_LOST_RECAST;
		fixture_lab(&def)->max_walk = most ? 65536 : 1;
		fixture_lab(&def)->displacement_threshold = fixture_lab(&def)->distance_extension = most ? CAROM_MAX_COORDINATE : 0;
		def.contact_normal = most ? CAROM_NORMAL_TRIANGLE : CAROM_NORMAL_RAY;
		def.internal_edge_angle = most ? acos(-1) : 0;
		fixture_lab(&def)->stages = most ? CAROM_STAGES_NAIVE : CAROM_STAGES_LISTS;
		fixture_lab(&def)->ray_buffers = most ? CAROM_BUFFERS_BACKTRACK : CAROM_BUFFERS_EXACT;
		fixture_lab(&def)->ray_predictor = most ? CAROM_PREDICTOR_LAST : CAROM_PREDICTOR_PAIRS;
		fixture_lab(&def)->buffer_confidence = most ? 1e6 : 1;
		fixture_lab(&def)->worker_groups = most ? CAROM_MAX_WORKER_GROUPS : 0;
		carom_world *world;
		REQUIRE(carom_create_world(s.context, &def, &world) == CAROM_SUCCESS);
		fixture_add(world, fixture_of_mesh(s.mesh), fixture_at(0, 0, 0), CAROM_DYNAMIC);
		fixture_add(world, fixture_of_mesh(s.mesh), fixture_at(0.8, 0, 0), CAROM_DYNAMIC);
		for (int step = 0; step < 3; step++)
			fixture_step(world);
		CHECK(carom_world_contacts(world).count > 0);
		carom_destroy_world(world);
	}
	close_small(&s);
}

TEST(world, group_stats_of_no_group_are_zero)
{
	small s;
	open_small(&s);
	const int numbers[] = { -1, 0, 1, CAROM_MAX_WORKER_GROUPS, INT32_MAX };
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		const carom_group_stats g = carom_lab_group_stats(s.world, numbers[i]); // a world without groups
		CHECK(g.pairs == 0 && g.new_pairs == 0 && g.rays == 0);
	}
	close_small(&s);
}

static void refuse_body(small *s, const carom_body_def *def, const char *field)
{
	carom_body_id id = { 5, 5 };
	CHECK_INT(carom_world_add_body(s->world, def, &id), CAROM_INVALID_ARGUMENT);
	CHECK(id.index1 == 0 && id.generation == 0);
	check_text(s, "carom_world_add_body", field);
}

TEST(world, misuse_of_add_body)
{
	small s;
	open_small(&s);
	const uint64_t hash = carom_world_hash(s.world);
	carom_body_def def;
	memset(&def, 0, sizeof def);
	refuse_body(&s, NULL, "def");
	refuse_body(&s, &def, "carom_default_body_def");
	const carom_body_def good = { .cookie = carom_default_body_def().cookie,
		.kind = CAROM_DYNAMIC,
		.shape = { .type = CAROM_SPHERE, .radius = 1 },
		.pose = { { 0, 0, 0 }, { 0, 0, 0, 1 } },
		.category = 1,
		.mask = 1 };
	CHECK_INT(carom_world_add_body(s.world, &good, NULL), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_add_body", "id");
#define REFUSE(field, value, name) \
	def = good;                    \
	def.field = value;             \
	refuse_body(&s, &def, name)
	REFUSE(kind, (carom_body_kind)3, "kind");
	REFUSE(kind, (carom_body_kind)-1, "kind");
	REFUSE(shape.type, (carom_shape_type)99, "shape.type");
	REFUSE(shape.type, (carom_shape_type)-1, "shape.type");
	REFUSE(shape.type, CAROM_PLANE, "kind");
	REFUSE(shape.type, CAROM_MESH, "shape.mesh");
	static const double wrong[] = { 0, -1, NAN, INFINITY, -INFINITY, 1e13 };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		REFUSE(shape.radius, wrong[i], "shape.radius");
		for (int k = 0; k < 3; k++) {
			def = good;
			def.shape = fixture_box(1, 1, 1);
			def.shape.half_extents[k] = wrong[i];
			const char *names[3] = { "shape.half_extents[0]", "shape.half_extents[1]", "shape.half_extents[2]" };
			refuse_body(&s, &def, names[k]);
		}
		REFUSE(shape, fixture_capsule(wrong[i], 1), "shape.radius");
		if (wrong[i] != 0) {
			REFUSE(shape, fixture_capsule(1, wrong[i]), "shape.half_length");
		}
	}
	REFUSE(pose.position.x, NAN, "pose.position");
	REFUSE(pose.position.y, INFINITY, "pose.position");
	REFUSE(pose.position.z, -INFINITY, "pose.position");
	REFUSE(pose.orientation.w, 0, "pose.orientation");
	REFUSE(pose.orientation.w, 1.002, "pose.orientation");
	REFUSE(pose.orientation.x, 0.1, "pose.orientation");
	REFUSE(pose.orientation.x, NAN, "pose.orientation");
#undef REFUSE
	// A mesh of another context.
	carom_context *other = fixture_context(1);
	carom_mesh *foreign = fixture_box_mesh(other, 1, 1, 1);
	def = good;
	def.shape = fixture_of_mesh(foreign);
	refuse_body(&s, &def, "shape.mesh");
	carom_release_mesh(foreign);
	carom_destroy_context(other);
	check_unharmed(&s, hash);
	close_small(&s);
}

/// Every call that takes an id, with an id that names no body.
static void refuse_id(small *s, carom_body_id id)
{
	const carom_pose pose = carom_pose_identity();
	carom_pose pose_out;
	carom_aabb box;
	uint64_t data;
	CHECK(!carom_world_is_body(s->world, id));
	CHECK_INT(carom_world_remove_body(s->world, id), CAROM_INVALID_BODY);
	check_text(s, "carom_world_remove_body", "id");
	CHECK_INT(carom_world_set_pose(s->world, id, &pose), CAROM_INVALID_BODY);
	check_text(s, "carom_world_set_pose", "id");
	CHECK_INT(carom_world_get_pose(s->world, id, &pose_out), CAROM_INVALID_BODY);
	check_text(s, "carom_world_get_pose", "id");
	CHECK_INT(carom_world_get_user_data(s->world, id, &data), CAROM_INVALID_BODY);
	check_text(s, "carom_world_get_user_data", "id");
	CHECK_INT(carom_world_set_user_data(s->world, id, 1), CAROM_INVALID_BODY);
	check_text(s, "carom_world_set_user_data", "id");
	CHECK_INT(carom_world_set_filter(s->world, id, 1, 1, 0), CAROM_INVALID_BODY);
	check_text(s, "carom_world_set_filter", "id");
	CHECK_INT(carom_world_get_aabb(s->world, id, &box), CAROM_INVALID_BODY);
	check_text(s, "carom_world_get_aabb", "id");
}

TEST(world, misuse_of_ids)
{
	small s;
	open_small(&s);
	const carom_body_id gone = fixture_add(s.world, fixture_sphere(1), fixture_at(50, 0, 0), CAROM_DYNAMIC);
	REQUIRE(carom_world_remove_body(s.world, gone) == CAROM_SUCCESS);
	fixture_step(s.world);
	const uint64_t hash = carom_world_hash(s.world);
	refuse_id(&s, (carom_body_id){ 0, 0 });
	refuse_id(&s, (carom_body_id){ 0, 1 });
	refuse_id(&s, gone);
	refuse_id(&s, (carom_body_id){ s.a.index1, s.a.generation + 1 });
	refuse_id(&s, (carom_body_id){ s.a.index1, 0 });
	refuse_id(&s, (carom_body_id){ 1000, 1 });
	refuse_id(&s, (carom_body_id){ UINT32_MAX, UINT32_MAX });
	// Of a world with more bodies.
	carom_world *other = fixture_world(s.context, NULL);
	carom_body_id foreign = { 0, 0 };
	for (int i = 0; i < 10; i++)
		foreign = fixture_add(other, fixture_sphere(1), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	refuse_id(&s, foreign);
	carom_destroy_world(other);
	check_unharmed(&s, hash);
	close_small(&s);
}

TEST(world, misuse_of_poses)
{
	small s;
	open_small(&s);
	const uint64_t hash = carom_world_hash(s.world);
	CHECK_INT(carom_world_set_pose(s.world, s.a, NULL), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_set_pose", "pose");
	const carom_body_id ids[3] = { s.a, s.b, { 9, 9 } }, with_null[2] = { s.a, { 0, 0 } };
	carom_pose poses[3] = { fixture_at(5, 0, 0), fixture_at(6, 0, 0), fixture_at(7, 0, 0) };
	CHECK_INT(carom_world_set_poses(s.world, -1, ids, poses), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_set_poses", "count");
	CHECK_INT(carom_world_set_poses(s.world, 2, NULL, poses), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_set_poses", "ids");
	CHECK_INT(carom_world_set_poses(s.world, 2, ids, NULL), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_set_poses", "poses");
	CHECK_INT(carom_world_set_poses(s.world, 0, NULL, NULL), CAROM_SUCCESS);
	// All or nothing.
	CHECK_INT(carom_world_set_poses(s.world, 3, ids, poses), CAROM_INVALID_BODY);
	check_text(&s, "carom_world_set_poses: ids[2]:", "(9, 9)");
	CHECK_INT(carom_world_set_poses(s.world, 2, with_null, poses), CAROM_INVALID_BODY);
	check_text(&s, "carom_world_set_poses: ids[1]:", "null");
	poses[1].position.y = NAN;
	CHECK_INT(carom_world_set_poses(s.world, 2, ids, poses), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_set_poses: poses[1].position", "finite");
	poses[1] = fixture_at(0, 0, 0);
	poses[1].orientation.w = 0.9;
	CHECK_INT(carom_world_set_poses(s.world, 2, ids, poses), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_set_poses: poses[1].orientation", "unit");
	CHECK_INT(carom_world_set_pose(s.world, s.b, &poses[1]), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_set_pose: pose.orientation", "unit");
	CHECK_INT(carom_world_set_pose(s.world, ids[2], &poses[0]), CAROM_INVALID_BODY);
	check_text(&s, "carom_world_set_pose:", "(9, 9)");
	carom_pose pose;
	REQUIRE(carom_world_get_pose(s.world, s.a, &pose) == CAROM_SUCCESS);
	CHECK_NEAR(pose.position.x, 0, 0);
	check_unharmed(&s, hash);
	close_small(&s);
}

TEST(world, misuse_of_impulses)
{
	small s;
	open_small(&s);
	const uint64_t hash = carom_world_hash(s.world);
	const int32_t count = carom_world_contacts(s.world).count;
	CHECK_INT(carom_world_set_impulse(s.world, -1, (float[3]){ 0 }), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_set_impulse", "contact");
	CHECK_INT(carom_world_set_impulse(s.world, count, (float[3]){ 0 }), CAROM_INVALID_ARGUMENT);
	CHECK_INT(carom_world_set_impulse(s.world, 0, (float[3]){ 1, NAN, 1 }), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_set_impulse", "impulse[1]");
	CHECK_INT(carom_world_set_impulse(s.world, 0, (float[3]){ 1, 1, INFINITY }), CAROM_INVALID_ARGUMENT);
	CHECK_NEAR(carom_world_contacts(s.world).data[0].impulse[0], 0, 0);
	check_unharmed(&s, hash);
	close_small(&s);
}

/// Results that have nowhere to go.
TEST(world, misuse_of_outputs)
{
	small s;
	open_small(&s);
	const uint64_t hash = carom_world_hash(s.world);
	CHECK_INT(carom_world_get_pose(s.world, s.a, NULL), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_get_pose", "pose");
	CHECK_INT(carom_world_get_user_data(s.world, s.a, NULL), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_get_user_data", "user_data");
	CHECK_INT(carom_world_get_aabb(s.world, s.a, NULL), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_get_aabb", "box");
	CHECK_INT(carom_world_set_impulse(s.world, 0, NULL), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_set_impulse", "impulse");
	check_unharmed(&s, hash);
	close_small(&s);
}

// ---- Bodies ----

TEST(world, ids_are_used_again_with_new_generations)
{
	small s;
	open_small(&s);
	enum { ROUNDS = 100 };
	carom_body_id seen[ROUNDS];
	for (int i = 0; i < ROUNDS; i++) {
		seen[i] = fixture_add(s.world, fixture_sphere(1), fixture_at(50, 0, 0), CAROM_DYNAMIC);
		CHECK_INT(seen[i].index1, 3);
		CHECK(seen[i].generation != 0);
		for (int k = 0; k < i; k++)
			CHECK(!fixture_same_id(seen[i], seen[k]) && !carom_world_is_body(s.world, seen[k]));
		CHECK(carom_world_is_body(s.world, seen[i]));
		REQUIRE(carom_world_remove_body(s.world, seen[i]) == CAROM_SUCCESS);
		if (i % 3 == 0)
			fixture_step(s.world);
	}
	CHECK_INT(carom_world_body_count(s.world), 2);
	close_small(&s);
}

TEST(world, poses_and_user_data_come_back)
{
	small s;
	open_small(&s);
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_sphere(1);
	def.user_data = UINT64_MAX - 5;
	def.pose = (carom_pose){ { 1e7, -2e-7, 3 }, { 0, 0, 0.6 * 1.0005, 0.8 * 1.0005 } };
	carom_body_id id;
	REQUIRE(carom_world_add_body(s.world, &def, &id) == CAROM_SUCCESS);
	uint64_t data = 0;
	carom_pose pose;
	REQUIRE(carom_world_get_user_data(s.world, id, &data) == CAROM_SUCCESS);
	CHECK(data == UINT64_MAX - 5);
	REQUIRE(carom_world_get_pose(s.world, id, &pose) == CAROM_SUCCESS);
	CHECK_NEAR(pose.position.x, 1e7, 0);
	CHECK_NEAR(pose.position.y, -2e-7, 0);
	CHECK_NEAR(pose.orientation.z, 0.6, 1e-15); // normalised
	CHECK_NEAR(pose.orientation.w, 0.8, 1e-15);
	REQUIRE(carom_world_set_user_data(s.world, id, 17) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_user_data(s.world, id, &data) == CAROM_SUCCESS);
	CHECK_INT(data, 17);
	// In the views: as it is at the step.
	REQUIRE(carom_world_set_user_data(s.world, s.b, 99) == CAROM_SUCCESS);
	fixture_step(s.world);
	CHECK_INT(carom_world_pairs(s.world).data[0].user_data_b, 99);
	CHECK(carom_world_context(s.world) == s.context);
	// Of a body named twice, the last pose counts.
	const carom_body_id twice[2] = { id, id };
	const carom_pose poses[2] = { fixture_at(1, 1, 1), fixture_at(2, 2, 2) };
	REQUIRE(carom_world_set_poses(s.world, 2, twice, poses) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_pose(s.world, id, &pose) == CAROM_SUCCESS);
	CHECK_NEAR(pose.position.x, 2, 0);
	close_small(&s);
}

TEST(world, filters_come_back)
{
	small s;
	open_small(&s);
	uint64_t category = 0, mask = 0;
	int32_t group = 9;
	REQUIRE(carom_world_get_filter(s.world, s.a, &category, &mask, &group) == CAROM_SUCCESS);
	CHECK(category == 1 && mask == UINT64_MAX && group == 0);
	REQUIRE(carom_world_set_filter(s.world, s.a, 6, 5, -4) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_filter(s.world, s.a, &category, &mask, &group) == CAROM_SUCCESS);
	CHECK(category == 6 && mask == 5 && group == -4);
	CHECK_INT(carom_world_get_filter(s.world, s.a, NULL, &mask, &group), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_get_filter", "category");
	CHECK_INT(carom_world_get_filter(s.world, s.a, &category, NULL, &group), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_get_filter", "mask");
	CHECK_INT(carom_world_get_filter(s.world, s.a, &category, &mask, NULL), CAROM_INVALID_ARGUMENT);
	check_text(&s, "carom_world_get_filter", "group");
	CHECK_INT(carom_world_get_filter(s.world, (carom_body_id){ 7, 1 }, &category, &mask, &group), CAROM_INVALID_BODY);
	check_text(&s, "carom_world_get_filter", "(7, 1)");
	close_small(&s);
}

TEST(world, all_bodies_are_listed)
{
	small s;
	open_small(&s);
	carom_body_id added[5], ids[8];
	for (int i = 0; i < 5; i++)
		added[i] = fixture_add(s.world, fixture_sphere(1), fixture_at(9, 9, i), CAROM_DYNAMIC);
	REQUIRE(carom_world_remove_body(s.world, s.b) == CAROM_SUCCESS);
	REQUIRE(carom_world_remove_body(s.world, added[2]) == CAROM_SUCCESS);
	const carom_body_id again = fixture_add(s.world, fixture_sphere(1), fixture_at(0, 9, 0), CAROM_DYNAMIC);
	CHECK_INT(again.index1, added[2].index1);
	const carom_body_id expected[6] = { s.a, added[0], added[1], again, added[3], added[4] };
	for (int capacity = 0; capacity <= 8; capacity++) {
		memset(ids, 0, sizeof ids);
		CHECK_INT(carom_world_body_ids(s.world, capacity, capacity > 0 ? ids : NULL), 6);
		for (int i = 0; i < 8; i++)
			CHECK(fixture_same_id(ids[i], i < capacity && i < 6 ? expected[i] : (carom_body_id){ 0, 0 }));
	}
	CHECK_INT(carom_world_body_ids(s.world, -1, NULL), 6);
	close_small(&s);
}

TEST(world, definitions_come_back)
{
	small s;
	open_small(&s);
	const carom_shape shapes[] = { fixture_sphere(1), fixture_box(1, 2, 3), fixture_capsule(0.5, 1), { .type = CAROM_PLANE },
		fixture_of_mesh(s.mesh), fixture_of_mesh(s.mesh) };
	const carom_body_kind kinds[] = { CAROM_DYNAMIC, CAROM_KINEMATIC, CAROM_DYNAMIC, CAROM_STATIC, CAROM_DYNAMIC,
		CAROM_DEFORMABLE };
	for (int i = 0; i < 6; i++) {
		carom_body_def def = carom_default_body_def(), got = { 0 }, second;
		def.shape = shapes[i];
		def.kind = kinds[i];
		def.pose = fixture_at(i, 2, 3);
		def.sensor = i == 2;
		def.self_collision = i != 5;
		def.category = 8;
		def.user_data = 77;
		carom_body_id id, copy;
		REQUIRE(carom_world_add_body(s.world, &def, &id) == CAROM_SUCCESS);
		if (i != 5) {
			def.pose = fixture_at(4, 5, i);
			REQUIRE(carom_world_set_pose(s.world, id, &def.pose) == CAROM_SUCCESS);
		}
		def.mask = 3;
		def.group = -2;
		REQUIRE(carom_world_set_filter(s.world, id, def.category, def.mask, def.group) == CAROM_SUCCESS);
		REQUIRE(carom_world_get_body_def(s.world, id, &got) == CAROM_SUCCESS);
		CHECK(got.shape.type == def.shape.type && got.shape.radius == def.shape.radius && got.shape.mesh == def.shape.mesh);
		CHECK(got.shape.half_length == def.shape.half_length);
		CHECK(memcmp(got.shape.half_extents, def.shape.half_extents, sizeof def.shape.half_extents) == 0);
		CHECK(got.kind == def.kind && memcmp(&got.pose, &def.pose, sizeof def.pose) == 0);
		CHECK(got.category == 8 && got.mask == 3 && got.group == -2 && got.user_data == 77);
		CHECK(got.sensor == def.sensor && got.self_collision == def.self_collision && got.contacts == def.contacts);
		// It makes a like body.
		REQUIRE(carom_world_add_body(s.world, &got, &copy) == CAROM_SUCCESS);
		REQUIRE(carom_world_get_body_def(s.world, copy, &second) == CAROM_SUCCESS);
		CHECK(memcmp(&second.pose, &got.pose, sizeof got.pose) == 0 && second.shape.type == got.shape.type);
		CHECK_INT(carom_world_get_body_def(s.world, id, NULL), CAROM_INVALID_ARGUMENT);
		check_text(&s, "carom_world_get_body_def", "def");
		REQUIRE(carom_world_remove_body(s.world, id) == CAROM_SUCCESS);
		CHECK_INT(carom_world_get_body_def(s.world, id, &got), CAROM_INVALID_BODY);
	}
	close_small(&s);
}

/// The mesh of a body outlives it where another reference was taken.
TEST(world, the_mesh_of_a_body_may_be_kept)
{
	small s;
	open_small(&s);
	carom_body_def def;
	REQUIRE(carom_world_get_body_def(s.world, s.a, &def) == CAROM_SUCCESS);
	carom_mesh *kept = carom_retain_mesh(def.shape.mesh);
	carom_release_mesh(s.mesh);
	REQUIRE(carom_world_remove_body(s.world, s.a) == CAROM_SUCCESS);
	REQUIRE(carom_world_remove_body(s.world, s.b) == CAROM_SUCCESS);
	CHECK(carom_mesh_get_report(kept)->closed);
	fixture_add(s.world, fixture_of_mesh(kept), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	s.mesh = kept;
	close_small(&s);
}

TEST(world, views_of_results_stay_until_the_next_step)
{
	small s;
	open_small(&s);
	const carom_contact_view contacts = carom_world_contacts(s.world);
	const carom_pair_view pairs = carom_world_pairs(s.world);
	const carom_event_view events = carom_world_events(s.world);
	REQUIRE(contacts.count > 0 && contacts.count < 16 && pairs.count == 1 && events.count == 1);
	carom_contact copies[16];
	const carom_pair pair = pairs.data[0];
	const carom_event event = events.data[0];
	memcpy(copies, contacts.data, (size_t)contacts.count * sizeof *copies);
	for (int i = 0; i < 200; i++)
		fixture_add(s.world, fixture_sphere(1), fixture_at(0, 0, i), CAROM_DYNAMIC);
	REQUIRE(carom_world_set_pose(s.world, s.a, &(carom_pose){ { 3, 3, 3 }, { 0, 0, 0, 1 } }) == CAROM_SUCCESS);
	REQUIRE(carom_world_set_user_data(s.world, s.a, 4) == CAROM_SUCCESS);
	REQUIRE(carom_world_remove_body(s.world, s.b) == CAROM_SUCCESS);
	CHECK(memcmp(copies, contacts.data, (size_t)contacts.count * sizeof *copies) == 0);
	CHECK(memcmp(&pair, pairs.data, sizeof pair) == 0 && memcmp(&event, events.data, sizeof event) == 0);
	for (int i = 0; i < contacts.count; i++) {
		REQUIRE(carom_world_set_impulse(s.world, i, (float[3]){ (float)i, 1, 2 }) == CAROM_SUCCESS);
		CHECK(contacts.data[i].impulse[0] == (float)i);
	}
	CHECK(carom_world_contacts(s.world).data == contacts.data);
	close_small(&s);
}

TEST(world, bodies_of_empty_meshes_have_no_box)
{
	small s;
	open_small(&s);
	carom_mesh *none = NULL;
	const carom_mesh_def empty = carom_default_mesh_def();
	REQUIRE(carom_create_mesh(s.context, &empty, NULL, &none) == CAROM_SUCCESS);
	for (int i = 0; i < 2; i++) {
		const carom_body_id id =
			fixture_add(s.world, fixture_of_mesh(none), fixture_at(1, 2, 3), i ? CAROM_CLOTH : CAROM_DYNAMIC);
		carom_aabb box;
		REQUIRE(carom_world_get_aabb(s.world, id, &box) == CAROM_SUCCESS);
		CHECK(box.lower.x == INFINITY && box.lower.y == INFINITY && box.lower.z == INFINITY);
		CHECK(box.upper.x == -INFINITY && box.upper.y == -INFINITY && box.upper.z == -INFINITY);
	}
	carom_release_mesh(none);
	close_small(&s);
}

/// A plug-in that refuses what it should never be asked for.
static void *build_some(const float *vertices, int32_t vertex_count, const int32_t *triangles, const int32_t *number,
	int32_t triangle_count, void *user)
{
	CHECK(vertices != NULL && vertex_count > 0 && triangles != NULL && number != NULL);
	++*(int *)user;
	return triangle_count > 0 ? user : NULL;
}

static void cast_nothing(void *state, const carom_ray_batch *rays, const carom_hit_batch *hits, void *user)
{
	CHECK(state != NULL && state == user);
	for (int32_t i = 0; i < rays->count; i++)
		hits->triangle[i] = -1;
}

static void destroy_some(void *state, void *user)
{
	CHECK(state != NULL);
	--*(int *)user;
}

TEST(world, plugins_are_not_asked_about_empty_meshes)
{
	int states = 0;
	const carom_ray_plugin plugin = { "some", build_some, cast_nothing, destroy_some, &states };
	carom_context *context = fixture_context(1);
	carom_world_def def = carom_default_world_def();
	fixture_lab(&def)->ray_method = CAROM_RAYS_PLUGIN;
	fixture_lab(&def)->ray_plugin = &plugin;
	carom_world *world = fixture_world(context, &def);
	carom_mesh *none = NULL, *ball = fixture_sphere_mesh(context, 0.5, 8);
	const carom_mesh_def empty = carom_default_mesh_def();
	REQUIRE(carom_create_mesh(context, &empty, NULL, &none) == CAROM_SUCCESS);
	carom_body_id ids[4];
	for (int i = 0; i < 4; i++)
		ids[i] = fixture_add(world, fixture_of_mesh(i % 2 ? ball : none), fixture_at(0.2 * i, 0, 0), CAROM_DYNAMIC);
	CHECK_INT(states, 1);
	fixture_step(world);
	fixture_step(world);
	CHECK_INT(carom_world_pairs(world).count, 1); // by its crossing triangles
	for (int i = 0; i < 4; i++)
		REQUIRE(carom_world_remove_body(world, ids[i]) == CAROM_SUCCESS);
	CHECK_INT(states, 0);
	carom_destroy_world(world);
	carom_release_mesh(none);
	carom_release_mesh(ball);
	carom_destroy_context(context);
}

/// Bodies hold their mesh; a world gives all back.
TEST(world, bodies_keep_their_mesh_alive)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *mesh = fixture_torus_mesh(context, 12, 6, 0.4, 0);
	fixture_add(world, fixture_of_mesh(mesh), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	const carom_body_id b = fixture_add(world, fixture_of_mesh(mesh), fixture_at(0.3, 0, 0), CAROM_DYNAMIC);
	fixture_add(world, fixture_box(1, 1, 1), fixture_at(0, 0.5, 0), CAROM_DYNAMIC);
	carom_release_mesh(mesh);
	fixture_step(world);
	const int32_t contacts = carom_world_contacts(world).count;
	CHECK(contacts > 0);
	REQUIRE(carom_world_remove_body(world, b) == CAROM_SUCCESS);
	fixture_step(world);
	CHECK(carom_world_contacts(world).count < contacts);
	carom_destroy_world(world);
	carom_destroy_context(context);
	CHECK_INT(atomic_load(&heap.blocks), 0);
}

TEST(world, nothing_and_little)
{
	for (int broad = CAROM_BROAD_TREE; broad <= FIXTURE_BROAD_BRUTE; broad++) {
		carom_context *context = fixture_context(2);
		carom_world_def def = carom_default_world_def();
		fixture_set_broad(&def, broad);
		carom_world *world = fixture_world(context, &def);
		CHECK_INT(carom_world_contacts(world).count, 0);
		CHECK_INT(carom_world_stats(world).step, 0);
		const uint64_t before = carom_world_hash(world);
		fixture_step(world);
		fixture_check_views(world);
		CHECK(carom_world_hash(world) == before);
		CHECK_INT(carom_world_stats(world).step, 1);
		const carom_body_id id = fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 0), CAROM_DYNAMIC);
		fixture_step(world);
		CHECK_INT(carom_world_stats(world).bodies, 1);
		CHECK_INT(carom_world_pairs(world).count, 0);
		REQUIRE(carom_world_remove_body(world, id) == CAROM_SUCCESS);
		fixture_step(world);
		fixture_check_views(world);
		CHECK_INT(carom_world_stats(world).bodies, 0);
		CHECK_INT(carom_world_stats(world).step, 3);
		carom_destroy_world(world);
		carom_destroy_context(context);
	}
}

/// Half the size of the mesh's own box, turned: what a simple box of the body would have.
static v3d turned_half(const carom_mesh_report *r, carom_quat q)
{
	v3d sum = { 0, 0, 0 };
	for (int k = 0; k < 3; k++) {
		const double h = 0.5 * (r->upper[k] - r->lower[k]);
		const carom_vec3 side = carom_rotate(q, (carom_vec3){ k == 0 ? h : 0, k == 1 ? h : 0, k == 2 ? h : 0 });
		sum = v3d_add(sum, (v3d){ fabs(side.x), fabs(side.y), fabs(side.z) });
	}
	return sum;
}

TEST(world, boxes_hold_their_bodies)
{
	small s;
	open_small(&s);
	carom_mesh *torus = fixture_torus_mesh(s.context, 16, 8, 0.4, 0.3);
	const float *v = carom_mesh_get_vertices(torus);
	const carom_mesh_report *r = carom_mesh_get_report(torus);
	const carom_body_id id = fixture_add(s.world, fixture_of_mesh(torus), fixture_at(0, 0, 0), CAROM_DYNAMIC);
	uint64_t seed = 33;
	double size = 0, turned_size = 0;
	for (int i = 0; i < 300; i++) {
		const carom_pose pose = fixture_random_pose(&seed, i % 3 == 0 ? 1e7 : 2);
		REQUIRE(carom_world_set_pose(s.world, id, &pose) == CAROM_SUCCESS);
		carom_aabb box;
		REQUIRE(carom_world_get_aabb(s.world, id, &box) == CAROM_SUCCESS); // without a step
		int outside = 0;
		for (int32_t k = 0; k < r->vertex_count; k++) {
			const carom_vec3 p = carom_transform_point(pose, (carom_vec3){ v[3 * k], v[3 * k + 1], v[3 * k + 2] });
			outside += p.x < box.lower.x || p.y < box.lower.y || p.z < box.lower.z;
			outside += p.x > box.upper.x || p.y > box.upper.y || p.z > box.upper.z;
		}
		CHECK_INT(outside, 0);
		const v3d half = turned_half(r, pose.orientation);
		const double slack = 1e-5;
		CHECK(box.upper.x - box.lower.x <= 2 * half.x + slack && box.upper.y - box.lower.y <= 2 * half.y + slack &&
			box.upper.z - box.lower.z <= 2 * half.z + slack);
		size += box.upper.x - box.lower.x;
		turned_size += 2 * half.x;
	}
	CHECK(size < 0.95 * turned_size);
	carom_release_mesh(torus);
	close_small(&s);
}

TEST(world, boxes_of_volumes)
{
	small s;
	open_small(&s);
	const carom_quat turned = fixture_turn((v3d){ 0, 1, 0 }, FIXTURE_PI / 4);
	const carom_pose pose = { { 1, 2, 3 }, turned };
	carom_aabb box;
	const carom_body_id sphere = fixture_add(s.world, fixture_sphere(0.5), pose, CAROM_DYNAMIC);
	REQUIRE(carom_world_get_aabb(s.world, sphere, &box) == CAROM_SUCCESS);
	CHECK_NEAR(box.lower.x, 0.5, 1e-12);
	CHECK_NEAR(box.upper.z, 3.5, 1e-12);
	const carom_body_id cube = fixture_add(s.world, fixture_box(1, 1, 1), pose, CAROM_DYNAMIC);
	REQUIRE(carom_world_get_aabb(s.world, cube, &box) == CAROM_SUCCESS);
	CHECK_NEAR(box.upper.x, 1 + sqrt(2), 1e-12);
	CHECK_NEAR(box.upper.y, 3, 1e-12);
	const carom_body_id capsule = fixture_add(s.world, fixture_capsule(0.5, 1), pose, CAROM_DYNAMIC);
	REQUIRE(carom_world_get_aabb(s.world, capsule, &box) == CAROM_SUCCESS);
	CHECK_NEAR(box.lower.z, 3 - sqrt(0.5) - 0.5, 1e-12);
	CHECK_NEAR(box.upper.y, 2.5, 1e-12);
	const carom_body_id plane = fixture_add(s.world, (carom_shape){ .type = CAROM_PLANE }, pose, CAROM_STATIC);
	REQUIRE(carom_world_get_aabb(s.world, plane, &box) == CAROM_SUCCESS);
	CHECK(box.lower.x == -INFINITY && box.upper.z == INFINITY);
	close_small(&s);
}

// ---- What may collide ----

static int32_t pairs_of(carom_world *world)
{
	fixture_step(world);
	fixture_check_views(world);
	return carom_world_pairs(world).count;
}

TEST(world, kinds)
{
	for (int broad = CAROM_BROAD_TREE; broad <= FIXTURE_BROAD_BRUTE; broad++) {
		for (int a = CAROM_STATIC; a <= CAROM_DYNAMIC; a++) {
			for (int b = CAROM_STATIC; b <= CAROM_DYNAMIC; b++) {
				carom_context *context = fixture_context(1);
				carom_world_def def = carom_default_world_def();
				fixture_set_broad(&def, broad);
				carom_world *world = fixture_world(context, &def);
				fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 0), (carom_body_kind)a);
				fixture_add(world, fixture_sphere(1), fixture_at(1, 0, 0), (carom_body_kind)b);
				CHECK_INT(pairs_of(world), a == CAROM_DYNAMIC || b == CAROM_DYNAMIC);
				carom_destroy_world(world);
				carom_destroy_context(context);
			}
		}
	}
}

TEST(world, categories_masks_and_groups)
{
	static const struct {
		uint64_t category_a, mask_a;
		int32_t group_a;
		uint64_t category_b, mask_b;
		int32_t group_b;
		bool collide;
	} cases[] = {
		{ 1, UINT64_MAX, 0, 1, UINT64_MAX, 0, true }, { 1, 2, 0, 2, 1, 0, true },
		{ 1, 2, 0, 2, 4, 0, false }, // b does not want a
		{ 1, 4, 0, 2, 1, 0, false }, // a does not want b
		{ 0, UINT64_MAX, 0, 1, UINT64_MAX, 0, false }, { (uint64_t)1 << 63, 1, 0, 1, (uint64_t)1 << 63, 0, true },
		{ 3, 2, 0, 6, 2, 0, true }, // one bit in common is enough
		{ 1, 1, -3, 1, 1, -3, false }, { 1, 1, -3, 1, 1, -4, true }, { 1, 1, -3, 1, 1, 3, true },
		{ 1, 0, 5, 1, 0, 5, true },                               // a positive group beats the masks
		{ 1, 0, 5, 1, 0, 6, false }, { 1, 0, 0, 1, 0, 0, false }, // group 0 is none
	};
	for (int broad = CAROM_BROAD_TREE; broad <= FIXTURE_BROAD_BRUTE; broad++) {
		carom_context *context = fixture_context(1);
		carom_world_def def = carom_default_world_def();
		fixture_set_broad(&def, broad);
		carom_world *world = fixture_world(context, &def);
		const carom_body_id a = fixture_add(world, fixture_sphere(1), fixture_at(0, 0, 0), CAROM_DYNAMIC);
		const carom_body_id b = fixture_add(world, fixture_sphere(1), fixture_at(1, 0, 0), CAROM_STATIC);
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
			REQUIRE(carom_world_set_filter(world, a, cases[i].category_a, cases[i].mask_a, cases[i].group_a) == CAROM_SUCCESS);
			REQUIRE(carom_world_set_filter(world, b, cases[i].category_b, cases[i].mask_b, cases[i].group_b) == CAROM_SUCCESS);
			CHECK_INT(pairs_of(world), cases[i].collide);
			CHECK_INT(carom_world_stats(world).box_pairs, cases[i].collide);
		}
		carom_destroy_world(world);
		carom_destroy_context(context);
	}
}

enum { CROWD = 60 };

/// What the filter was asked.
typedef struct asked {
	atomic_int count;
	atomic_int wrong;
	atomic_int by_pair[CROWD + 1][CROWD + 1];
} asked;

static bool ask(carom_body_id a, carom_body_id b, uint64_t user_data_a, uint64_t user_data_b, void *user)
{
	asked *q = user;
	atomic_fetch_add(&q->count, 1);
	if (a.index1 >= b.index1 || b.index1 > CROWD || user_data_a != 100 + a.index1 || user_data_b != 100 + b.index1 ||
		a.generation != 1)
		atomic_fetch_add(&q->wrong, 1);
	else
		atomic_fetch_add(&q->by_pair[a.index1][b.index1], 1);
	return (a.index1 + b.index1) % 2 == 0;
}

TEST(world, filter_callback_in_threads)
{
	uint64_t hash[2];
	for (int threads = 1; threads <= 2; threads++) {
		carom_context *context = fixture_context(4 * threads - 3);
		static asked q;
		memset(&q, 0, sizeof q);
		carom_world_def def = carom_default_world_def();
		def.pair_filter = ask;
		def.filter_user = &q;
		carom_world *world = fixture_world(context, &def);
		uint64_t seed = 5;
		for (int i = 0; i < CROWD; i++) {
			carom_body_def body = carom_default_body_def();
			body.shape = fixture_sphere(0.8);
			body.pose = fixture_random_pose(&seed, 2);
			body.user_data = 101 + (uint64_t)i;
			carom_body_id id;
			REQUIRE(carom_world_add_body(world, &body, &id) == CAROM_SUCCESS);
		}
		const int32_t pairs = pairs_of(world);
		CHECK(pairs > 20);
		CHECK_INT(atomic_load(&q.wrong), 0);
		CHECK_INT(atomic_load(&q.count), carom_world_stats(world).box_pairs);
		for (int i = 1; i <= CROWD; i++) {
			for (int k = i + 1; k <= CROWD; k++)
				CHECK(atomic_load(&q.by_pair[i][k]) <= 1);
		}
		const carom_pair_view view = carom_world_pairs(world);
		for (int32_t i = 0; i < view.count; i++)
			CHECK((view.data[i].body_a.index1 + view.data[i].body_b.index1) % 2 == 0);
		hash[threads - 1] = carom_world_hash(world);
		carom_destroy_world(world);
		carom_destroy_context(context);
	}
	CHECK(hash[0] == hash[1]);
}

// ---- Threads ----

typedef struct life {
	carom_context *context;
	const carom_mesh *mesh;
	uint64_t seed;
	uint64_t hash;
	bool good;
} life;

/// A world of its own, from making to destroying, with failing calls in between. No check macros: they are for one thread.
static void *live(void *user)
{
	life *l = user;
	carom_world *world = NULL;
	l->good = carom_create_world(l->context, NULL, &world) == CAROM_SUCCESS;
	uint64_t seed = l->seed;
	carom_body_id ids[40];
	for (int i = 0; i < 40 && l->good; i++) {
		carom_body_def def = carom_default_body_def();
		def.shape = i % 4 ? fixture_of_mesh(l->mesh) : fixture_box(0.3, 0.4, 0.5);
		def.pose = fixture_random_pose(&seed, 1.5);
		l->good = carom_world_add_body(world, &def, &ids[i]) == CAROM_SUCCESS;
	}
	for (int step = 0; step < 10 && l->good; step++) {
		for (int i = 0; i < 40; i++) {
			const carom_pose pose = fixture_random_pose(&seed, 1.5);
			l->good &= carom_world_set_pose(world, ids[i], &pose) == CAROM_SUCCESS;
		}
		l->good &= carom_world_remove_body(world, (carom_body_id){ 0, 0 }) == CAROM_INVALID_BODY;
		l->good &= carom_world_step(world) == CAROM_SUCCESS;
		l->hash = l->hash * 31 + carom_world_hash(world);
	}
	carom_destroy_world(world);
	return NULL;
}

TEST(world, two_worlds_of_one_context_in_two_threads)
{
	carom_context *context = fixture_context(2);
	const size_t empty = carom_memory_in_use(context);
	carom_mesh *mesh = fixture_torus_mesh(context, 12, 6, 0.4, 0.3);
	life alone[2], together[2];
	for (int i = 0; i < 2; i++) {
		alone[i] = together[i] = (life){ context, mesh, 60 + (uint64_t)i, 0, false };
		live(&alone[i]);
		CHECK(alone[i].good);
	}
	fixture_run_two(live, (void *[]){ &together[0], &together[1] });
	for (int i = 0; i < 2; i++) {
		CHECK(together[i].good);
		CHECK(together[i].hash == alone[i].hash);
	}
	CHECK(alone[0].hash != alone[1].hash);
	carom_release_mesh(mesh);
	CHECK_INT(carom_memory_in_use(context), empty);
	carom_destroy_context(context);
}

/// Add a body of a mesh; no check macros here: they are for one thread.
static bool add_quietly(carom_world *world, const carom_mesh *mesh, double x)
{
	carom_body_def def = carom_default_body_def();
	def.shape = fixture_of_mesh(mesh);
	def.pose.position.x = x;
	carom_body_id id;
	return carom_world_add_body(world, &def, &id) == CAROM_SUCCESS;
}

/// Make and give up meshes and worlds, one mesh shared with the other thread, and calls that fail.
static void *make_things(void *argument)
{
	life *l = argument;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ carom_mesh_get_vertices(l->mesh), 0, CAROM_FLOAT32 };
	def.vertex_count = carom_mesh_get_report(l->mesh)->vertex_count;
	def.triangles = carom_mesh_get_triangles(l->mesh);
	def.triangle_count = carom_mesh_get_report(l->mesh)->triangle_count;
	for (int i = 0; i < 20; i++) {
		carom_mesh *kept = carom_retain_mesh(l->mesh), *own = NULL, *none;
		carom_world *world = NULL;
		l->good &= carom_create_mesh(l->context, &def, NULL, &own) == CAROM_SUCCESS;
		l->good &= carom_create_world(l->context, NULL, &world) == CAROM_SUCCESS;
		l->good &= add_quietly(world, own, 0) && add_quietly(world, kept, 0.5);
		carom_release_mesh(own);
		carom_release_mesh(kept);
		l->good &= carom_world_step(world) == CAROM_SUCCESS;
		l->hash = l->hash * 31 + carom_world_hash(world);
		l->good &= carom_create_mesh(l->context, NULL, NULL, &none) == CAROM_INVALID_ARGUMENT;
		carom_destroy_world(world);
	}
	return NULL;
}

TEST(world, meshes_and_worlds_are_made_in_two_threads)
{
	carom_context *context = fixture_context(2);
	const size_t empty = carom_memory_in_use(context);
	carom_mesh *mesh = fixture_torus_mesh(context, 12, 6, 0.4, 0.3);
	life together[2] = { { context, mesh, 0, 0, true }, { context, mesh, 0, 0, true } };
	fixture_run_two(make_things, (void *[]){ &together[0], &together[1] });
	CHECK(together[0].good && together[1].good);
	CHECK(together[0].hash == together[1].hash);
	carom_release_mesh(mesh);
	CHECK_INT(carom_memory_in_use(context), empty);
	carom_destroy_context(context);
}

TEST(world, determinism)
{
	uint64_t first = 0;
	for (int variant = 0; variant < 9; variant++) {
		carom_context *context = fixture_context(1 + variant % 3);
		carom_mesh *mesh = fixture_torus_mesh(context, 12, 6, 0.4, 0.3);
		carom_world_def def = carom_default_world_def();
		fixture_set_broad(&def, variant / 3);
		carom_world *world = fixture_world(context, &def);
		uint64_t seed = 3, hash = 0;
		carom_body_id ids[60];
		for (int i = 0; i < 60; i++) {
			const carom_shape shapes[4] = { fixture_of_mesh(mesh), fixture_sphere(0.4), fixture_box(0.3, 0.2, 0.4),
				fixture_capsule(0.2, 0.3) };
			ids[i] = fixture_add(world, shapes[i % 4], fixture_random_pose(&seed, 1.5), i % 5 ? CAROM_DYNAMIC : CAROM_STATIC);
		}
		for (int step = 0; step < 5; step++) {
			for (int i = step; i < 60; i += 2) {
				const carom_pose pose = fixture_random_pose(&seed, 1.5);
				REQUIRE(carom_world_set_pose(world, ids[i], &pose) == CAROM_SUCCESS);
			}
			fixture_step(world);
			fixture_check_views(world);
			hash = hash * 31 + carom_world_hash(world);
		}
		first = variant == 0 ? hash : first;
		CHECK(hash == first);
		carom_destroy_world(world);
		carom_release_mesh(mesh);
		carom_destroy_context(context);
	}
}

/// Bytes that the allocator gave for boxes that lie apart, after a step: equal ones, or each of another size; on a mesh, or on nothing.
/// Then all are removed except the last one.
static long long bytes_of_boxes(int count, bool equal, bool on_mesh)
{
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	carom_mesh *floor = fixture_box_mesh(context, 100, 100, 1);
	fixture_add(world, fixture_of_mesh(floor), fixture_at(50, 50, on_mesh ? -1.2 : -10), CAROM_STATIC);
	const long long before = heap.bytes;
	carom_body_id *ids = malloc((size_t)count * sizeof *ids);
	REQUIRE(ids);
	for (int i = 0; i < count; i++) {
		const carom_shape box = fixture_box(0.5, 0.4, equal ? 0.3 : 0.3 + 0.001 * i);
		ids[i] = fixture_add(world, box, fixture_at(2.0 * (i % 30), 2.0 * (i / 30), 0), CAROM_DYNAMIC);
	}
	if (!on_mesh)
		fixture_step(world);
	const long long bytes = heap.bytes - before;
	if (on_mesh)
		fixture_step(world);
	CHECK_INT(carom_world_stats(world).colliding_pairs, on_mesh ? count : 0);
	for (int i = 0; i + 1 < count; i++)
		CHECK_INT(carom_world_remove_body(world, ids[i]), CAROM_SUCCESS);
	fixture_step(world);
	free(ids);
	carom_release_mesh(floor);
	carom_destroy_world(world);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
	return bytes;
}

TEST(world, a_million_boxes_take_less_than_a_gigabyte)
{
	// Equal or not: a box has no mesh before it meets one.
	for (int equal = 0; equal < 2; equal++) {
		for (int on_mesh = 0; on_mesh < 2; on_mesh++)
			CHECK(bytes_of_boxes(1000, equal, on_mesh) < 1000 * 1000);
	}
}

TEST(world, boxes_that_share_a_mesh_collide_as_boxes_of_their_own)
{
	uint64_t hashes[2];
	for (int between = 0; between < 2; between++) {
		carom_context *context = fixture_context(1);
		carom_world *world = fixture_world(context, NULL);
		for (int i = 0; i < 3; i++) {
			fixture_add(world, fixture_box(0.5, 0.4, 0.3), fixture_at(0.3 * i, 0.1 * i, 0.5 * i), CAROM_DYNAMIC);
			// Many other sizes take the place of the kept mesh: the next box makes a new one.
			for (int k = 0; k < 500 * between; k++) {
				const carom_shape other = fixture_box(1, 1, 1 + 0.001 * k);
				const carom_body_id id = fixture_add(world, other, fixture_at(50, 0, 0), CAROM_DYNAMIC);
				CHECK_INT(carom_world_remove_body(world, id), CAROM_SUCCESS);
			}
		}
		fixture_step(world);
		const carom_contact_view view = carom_world_contacts(world);
		CHECK(view.count > 4);
		hashes[between] = 0;
		for (int32_t i = 0; i < view.count; i++) {
			uint64_t bits[3];
			memcpy(bits, view.data[i].point, sizeof bits);
			hashes[between] = ((hashes[between] * 31 + bits[0]) * 31 + bits[1]) * 31 + bits[2];
		}
		carom_destroy_world(world);
		carom_destroy_context(context);
	}
	CHECK(hashes[0] == hashes[1]);
}

// ---- Many at once ----

TEST(world, many_bodies_are_added_and_read_as_one_by_one)
{
	carom_context *context = fixture_context(1);
	carom_mesh *mesh = fixture_box_mesh(context, 1, 1, 1);
	carom_world *at_once = fixture_world(context, NULL), *singly = fixture_world(context, NULL);
	enum { COUNT = 20 };
	carom_body_def defs[COUNT];
	carom_body_id ids[COUNT], id;
	carom_pose poses[COUNT], pose;
	uint64_t seed = 3;
	for (int i = 0; i < COUNT; i++) {
		defs[i] = carom_default_body_def();
		defs[i].shape = i % 3 == 0 ? fixture_of_mesh(mesh) : fixture_sphere(0.5);
		defs[i].kind = i % 4 == 0 ? CAROM_STATIC : CAROM_DYNAMIC;
		defs[i].pose = fixture_random_pose(&seed, 3);
		REQUIRE(carom_world_add_body(singly, &defs[i], &id) == CAROM_SUCCESS);
	}
	REQUIRE(carom_world_add_bodies(at_once, COUNT, defs, ids) == CAROM_SUCCESS);
	REQUIRE(carom_world_get_poses(at_once, COUNT, ids, poses) == CAROM_SUCCESS);
	for (int i = 0; i < COUNT; i++) {
		REQUIRE(carom_world_get_pose(singly, ids[i], &pose) == CAROM_SUCCESS);
		CHECK(memcmp(&pose, &poses[i], sizeof pose) == 0);
	}
	fixture_step(at_once);
	fixture_step(singly);
	CHECK(carom_world_contacts(at_once).count > 0);
	CHECK(carom_world_hash(at_once) == carom_world_hash(singly));
	CHECK_INT(carom_world_add_bodies(at_once, 0, NULL, NULL), CAROM_SUCCESS);
	CHECK_INT(carom_world_get_poses(at_once, 0, NULL, NULL), CAROM_SUCCESS);
	carom_destroy_world(at_once);
	carom_destroy_world(singly);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}

TEST(world, of_many_bodies_all_are_added_or_none)
{
	static fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	enum { COUNT = 40 };
	carom_body_def defs[COUNT];
	carom_body_id ids[COUNT];
	carom_pose poses[COUNT] = { { { 7, 7, 7 }, { 0, 0, 0, 1 } } };
	carom_part part = { .shape = fixture_sphere(1), .pose = fixture_at(0, 0, 0) };
	for (int i = 0; i < COUNT; i++) {
		defs[i] = carom_default_body_def();
		defs[i].parts = &part; // each takes memory
		defs[i].part_count = 1;
	}
	fixture_expect_wrong(context, carom_world_add_bodies(world, -1, defs, ids), "count is -1");
	fixture_expect_wrong(context, carom_world_add_bodies(world, 1, NULL, ids), "defs is NULL");
	fixture_expect_wrong(context, carom_world_add_bodies(world, 1, defs, NULL), "ids is NULL");
	defs[3].kind = (carom_body_kind)17;
	fixture_expect_wrong(
		context, carom_world_add_bodies(world, COUNT, defs, ids), "carom_world_add_bodies: defs[3]: kind is 17");
	defs[3].kind = CAROM_DYNAMIC;
	defs[5].pose.orientation.w = 2;
	fixture_expect_wrong(context, carom_world_add_bodies(world, COUNT, defs, ids), "defs[5]: pose.orientation");
	defs[5].pose.orientation.w = 1;
	CHECK_INT(carom_world_body_count(world), 0);
	int failed = 0;
	for (long long fail_at = 0;; fail_at++) {
		atomic_store(&heap.fail_at, atomic_load(&heap.calls) + fail_at);
		const carom_result result = carom_world_add_bodies(world, COUNT, defs, ids);
		atomic_store(&heap.fail_at, -1);
		if (result == CAROM_SUCCESS)
			break;
		fixture_expect_error(context, result, CAROM_OUT_OF_MEMORY, "memory");
		CHECK_INT(carom_world_body_count(world), 0);
		CHECK(ids[0].index1 == 0);
		failed++;
	}
	CHECK(failed >= COUNT);
	CHECK_INT(carom_world_body_count(world), COUNT);
	ids[COUNT - 1].generation++;
	fixture_expect_error(
		context, carom_world_get_poses(world, COUNT, ids, poses), CAROM_INVALID_BODY, "carom_world_get_poses: ids[39]");
	CHECK(poses[0].position.x == 7);
	fixture_expect_wrong(context, carom_world_get_poses(world, 1, ids, NULL), "poses is NULL");
	carom_destroy_world(world);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}

// ---- Crowds that move ----

enum { MOVERS = 4200, MOVERS_ROW = 65 }; // more than have room for their courses without asking

/// Move all bodies of a crowd by some way along x from where they began.
static carom_result move_crowd(carom_world *world, const carom_body_id ids[MOVERS], double way)
{
	static carom_pose poses[MOVERS];
	for (int i = 0; i < MOVERS; i++)
		poses[i] = fixture_at(i % MOVERS_ROW + way, i / MOVERS_ROW, 0);
	return carom_world_set_poses(world, MOVERS, ids, poses);
}

TEST(world, a_crowd_moves_as_a_whole_or_not_and_its_memory_is_given_back)
{
	static carom_body_id ids[MOVERS];
	fixture_heap heap;
	carom_context *context = fixture_heap_context(&heap, 1);
	carom_world *world = fixture_world(context, NULL);
	for (int i = 0; i < MOVERS; i++)
		ids[i] = fixture_add(world, fixture_sphere(0.4), fixture_at(i % MOVERS_ROW, i / MOVERS_ROW, 0), CAROM_DYNAMIC);
	fixture_step(world);
	const size_t before = carom_world_stats(world).memory;
	carom_result result = CAROM_OUT_OF_MEMORY;
	int failed = 0;
	for (int fail = 0; result != CAROM_SUCCESS; fail++) {
		heap.fail_at = heap.calls + fail;
		result = move_crowd(world, ids, 0.25);
		heap.fail_at = -1;
		CHECK(result == CAROM_SUCCESS || result == CAROM_OUT_OF_MEMORY);
		failed += result != CAROM_SUCCESS;
		for (int i = 0; i < MOVERS; i += MOVERS - 1) {
			carom_pose pose;
			REQUIRE(carom_world_get_pose(world, ids[i], &pose) == CAROM_SUCCESS);
			CHECK_NEAR(pose.position.x, i % MOVERS_ROW + (result == CAROM_SUCCESS ? 0.25 : 0), 0);
		}
	}
	CHECK(failed >= 2);
	// Once more before the step: all have a course already.
	heap.fail_at = heap.calls;
	CHECK(move_crowd(world, ids, 0.5) == CAROM_SUCCESS);
	heap.fail_at = -1;
	fixture_step(world);
	const size_t moving = carom_world_stats(world).memory;
	fixture_step(world);
	CHECK(moving > before && carom_world_stats(world).memory < moving);
	carom_destroy_world(world);
	carom_destroy_context(context);
	CHECK_INT(heap.blocks, 0);
}
