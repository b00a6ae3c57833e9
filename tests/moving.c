/// Bodies that move as a function of the step alone. See moving.h.
#include "moving.h"
#include <math.h>

enum { FIELD = 72 }; // samples along a side: more than the vertex stage puts in one chunk of rays

static const double FIELD_SPACING = 0.2;

static float height_at(int x, int y) { return (float)(0.25 * sin(0.31 * x) * cos(0.23 * y)); }

static carom_mesh *make_field(carom_context *context)
{
	static float heights[FIELD * FIELD];
	for (int y = 0; y < FIELD; y++) {
		for (int x = 0; x < FIELD; x++)
			heights[y * FIELD + x] = height_at(x, y);
	}
	const double spacing[2] = { FIELD_SPACING, FIELD_SPACING };
	carom_mesh *field = NULL;
	REQUIRE(carom_create_height_field(context, FIELD, FIELD, heights, spacing, 0.5, &field) == CAROM_SUCCESS);
	return field;
}

static void make_shapes(moving_scene *s)
{
	carom_context *c = s->context;
	carom_mesh *meshes[MOVING_MESHES] = { make_field(c), fixture_sphere_mesh(c, 3, 24), fixture_sheet_mesh(c, 16, 10),
		fixture_torus_mesh(c, 24, 10, 0.3, 0.25), fixture_sphere_mesh(c, 0.9, 8), fixture_sheet_mesh(c, 5, 1.8),
		fixture_box_mesh(c, 0.7, 0.6, 0.5), fixture_torus_mesh(c, 12, 7, 0.45, 0.1) };
	for (int i = 0; i < MOVING_MESHES; i++)
		s->meshes[i] = meshes[i];
}

void moving_open(moving_scene *s, carom_context *context, moving_kind kind, bool scenery)
{
	*s = (moving_scene){ .context = context, .count = MOVING_BODIES };
	make_shapes(s);
	const double half = 0.5 * FIELD_SPACING * (FIELD - 1);
	for (int i = 0; i < MOVING_FIXED; i++) {
		s->shape[i] = fixture_of_mesh(s->meshes[i]);
		s->rest[i] = fixture_at(i == 0 ? -half : 0, i == 0 ? -half : 0, i == 1 ? -2.2 : i == 2 ? 0.5 : 0);
		if (!scenery)
			s->rest[i].position.z -= 100;
	}
	uint64_t seed = 2013;
	for (int i = MOVING_FIXED; i < s->count; i++) {
		const int n = i - MOVING_FIXED;
		s->kind[i] = kind == MOVING_KINDS ? (moving_kind)(n % MOVING_KINDS) : kind;
		s->shape[i] = n % 6 == 5 ? fixture_box(0.8, 0.5, 0.4) : fixture_of_mesh(s->meshes[3 + n % 5]);
		s->rest[i] = fixture_random_pose(&seed, 0.15);
		s->rest[i].position.x += 1.7 * (n % 6 - 2.5);
		s->rest[i].position.y += 1.7 * (n / 6 - 1.5);
		s->rest[i].position.z += 0.7;
	}
}

void moving_close(moving_scene *s)
{
	for (int i = 0; i < MOVING_MESHES; i++)
		carom_release_mesh(s->meshes[i]);
	carom_destroy_context(s->context);
}

/// A turn of the body about an axis of its own, then a shift in the world.
static carom_pose shifted(carom_pose rest, v3d axis, double angle, double x, double y, double z)
{
	carom_pose pose = fixture_compose(rest, (carom_pose){ { 0, 0, 0 }, fixture_turn(axis, angle) });
	pose.position.x += x;
	pose.position.y += y;
	pose.position.z += z;
	return pose;
}

carom_pose moving_pose(const moving_scene *s, int body, int step)
{
	const carom_pose rest = s->rest[body];
	const moving_kind kind = s->kind[body];
	if (body < MOVING_FIXED)
		return rest;
	const double way = 1.3 * body, x = cos(way), y = sin(way);
	const v3d axis = { x, y, cos(2.1 * body) };
	uint64_t seed = (uint64_t)body * 1000 + (uint64_t)(kind == MOVING_TELEPORT ? step / 10 : step);
	switch (kind) {
	case MOVING_JITTER: {
		double d[4];
		for (int k = 0; k < 4; k++)
			d[k] = test_random_double(&seed, -1e-4, 1e-4);
		return shifted(rest, axis, d[3], d[0], d[1], d[2]);
	}
	case MOVING_SETTLE: {
		const double left = exp(-0.1 * step);
		return shifted(rest, axis, 0.5 * left, 0.3 * left * x, 0.3 * left * y, 0.6 * left);
	}
	case MOVING_SLIDE: return shifted(rest, axis, 0, 0.002 * step * x, 0.002 * step * y, 0);
	case MOVING_ROLL: return shifted(rest, axis, 0.004 * step, 0.003 * step * x, 0.003 * step * y, 0);
	case MOVING_SPIN: return shifted(rest, axis, 0.004 * step, 0, 0, 0);
	case MOVING_RETURN: return shifted(rest, axis, 0, 0, 0, 1.2 * (1 - cos(0.13 * step)));
	case MOVING_FLY: {
		const double along = 0.15 * (fabs((double)(step % 40) - 20) - 10);
		return shifted(rest, axis, 0.1 * step, along * x, along * y, 0);
	}
	case MOVING_TELEPORT: {
		carom_pose pose = fixture_random_pose(&seed, 4);
		pose.position.z = 0.1 * pose.position.z + 0.6;
		return pose;
	}
	default: return rest;
	}
}

carom_world *moving_world(const moving_scene *s, const carom_world_def *def, int step, carom_body_id *ids)
{
	carom_world *world = fixture_world(s->context, def);
	for (int i = 0; i < s->count; i++) {
		const carom_body_kind kind = i < MOVING_FIXED ? CAROM_STATIC : CAROM_DYNAMIC;
		const carom_body_id id = fixture_add(world, s->shape[i], moving_pose(s, i, step), kind);
		if (ids)
			ids[i] = id;
	}
	return world;
}

void moving_place(const moving_scene *s, carom_world *world, const carom_body_id *ids, int step)
{
	carom_pose poses[MOVING_BODIES];
	for (int i = MOVING_FIXED; i < s->count; i++)
		poses[i] = moving_pose(s, i, step);
	REQUIRE(carom_world_set_poses(world, s->count - MOVING_FIXED, ids + MOVING_FIXED, poses + MOVING_FIXED) == CAROM_SUCCESS);
}

// ---- Comparison ----

static bool is_touching(const carom_world *world, const carom_pair *pair)
{
	const carom_contact *contacts = carom_world_contacts(world).data + pair->first_contact;
	for (int32_t i = 0; i < pair->contact_count; i++) {
		if (contacts[i].depth >= 0)
			return true;
	}
	return false;
}

static const carom_pair *find_pair(const carom_world *world, const carom_pair *like)
{
	const carom_pair_view pairs = carom_world_pairs(world);
	for (const carom_pair *p = pairs.data; p < pairs.data + pairs.count; p++) {
		if (p->body_a.index1 == like->body_a.index1 && p->body_b.index1 == like->body_b.index1)
			return p;
	}
	return NULL;
}

static bool same_contact(const carom_contact *c, const carom_contact *d)
{
	return c->kind == d->kind && (c->kind == CAROM_VERTEX_B || c->feature_a == d->feature_a) &&
		(c->kind == CAROM_VERTEX_A || c->feature_b == d->feature_b);
}

static bool has_contact(const carom_world *world, const carom_pair *pair, const carom_contact *contact)
{
	const carom_contact *contacts = carom_world_contacts(world).data;
	for (int32_t i = 0; pair && i < pair->contact_count; i++) {
		if (same_contact(&contacts[pair->first_contact + i], contact))
			return true;
	}
	return false;
}

/// Colliding pairs of one that do not collide in the other.
static int64_t count_missing_pairs(const carom_world *one, const carom_world *other)
{
	const carom_pair_view pairs = carom_world_pairs(one);
	int64_t missing = 0;
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *found = find_pair(other, &pairs.data[i]);
		missing += is_touching(one, &pairs.data[i]) && !(found && is_touching(other, found));
	}
	return missing;
}

void moving_compare(const carom_world *full, const carom_world *other, moving_difference *d)
{
	d->pairs_missing += count_missing_pairs(full, other);
	d->pairs_added += count_missing_pairs(other, full);
	const carom_pair_view pairs = carom_world_pairs(full);
	const carom_contact *contacts = carom_world_contacts(full).data;
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *pair = &pairs.data[i], *found = find_pair(other, pair);
		d->pairs += is_touching(full, pair);
		for (int32_t k = pair->first_contact; k < pair->first_contact + pair->contact_count; k++) {
			if (contacts[k].depth < 0)
				continue;
			d->contacts++;
			if (has_contact(other, found, &contacts[k]))
				continue;
			d->contacts_missing++;
			d->deepest_missing = fmax(d->deepest_missing, contacts[k].depth);
		}
	}
}
