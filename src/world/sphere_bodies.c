/// Granular bodies: spheres in double, x, y, z, radius of each side by side, set by the caller.
/// Checks and copies are one pass over the caller's arrays on the calling thread.
#include "world/sphere_bodies.h"
#include "mesh/strided.h"
#include "world/sphere_ids.h"
#include "world/world.h"
#include <stdio.h>
#include <string.h>

// ---- The caller's arrays ----

static carom_result check_places(
	carom_context *context, const carom_strided *places, const char *member, int32_t count, const char *name)
{
	char field[96];
	snprintf(field, sizeof field, "%s: %s", name, member);
	const carom_result result = cr_check_strided(context, field, places, count, "spheres", 3);
	for (int32_t i = 0; result == CAROM_SUCCESS && i < count; i++) {
		double p[3];
		cr_read_strided(places, 3, i, p);
		for (int k = 0; k < 3; k++) {
			const double x = p[k];
			if (!(fabs(x) <= CAROM_MAX_COORDINATE))
				return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %c of sphere %d is %g, %s", field, 'x' + k, i, x,
					isfinite(x) ? "beyond CAROM_MAX_COORDINATE" : "not finite");
		}
	}
	return result;
}

static carom_result check_radii(carom_context *context, const carom_strided *radii, int32_t count, const char *name)
{
	char field[96];
	snprintf(field, sizeof field, "%s: radii", name);
	const carom_result result = cr_check_strided(context, field, radii, count, "spheres", 1);
	for (int32_t i = 0; result == CAROM_SUCCESS && i < count; i++) {
		double r;
		cr_read_strided(radii, 1, i, &r);
		if (!(r > 0 && r <= CAROM_MAX_COORDINATE))
			return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: that of sphere %d is %g; it must be above 0 and at most %g",
				field, i, r, CAROM_MAX_COORDINATE);
	}
	return result;
}

static carom_result check_count(carom_context *context, int32_t count, const char *name, const char *field)
{
	if (count >= 0 && count <= CAROM_MAX_SPHERES)
		return CAROM_SUCCESS;
	return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s is %d; it must be 0 to %d", name, field, count, CAROM_MAX_SPHERES);
}

carom_result cr_check_granular(carom_context *context, const carom_body_def *def, const char *name)
{
	const char *set = def->part_count > 0
		? "parts are set, but a body whose kind is CAROM_GRANULAR has spheres alone (centres, radii)"
		: !cr_is_unset(&def->shape) ? "shape is set, but a body whose kind is CAROM_GRANULAR has spheres alone (centres, radii)"
		: def->sensor ? "sensor is set, but kind is CAROM_GRANULAR: spheres have contacts; sensors of other kinds report them"
					  : NULL;
	if (set)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: %s", name, set);
	carom_result result = check_count(context, def->sphere_count, name, "sphere_count");
	if (result == CAROM_SUCCESS)
		result = check_places(context, &def->centres, "centres", def->sphere_count, name);
	if (result == CAROM_SUCCESS)
		result = check_radii(context, &def->radii, def->sphere_count, name);
	return result;
}

// ---- The body's ----

void cr_sphere_bounds(const double sphere[4], double lower[3], double upper[3])
{
	for (int k = 0; k < 3; k++) {
		// adding rounds once
		const double slack = (fabs(sphere[k]) + sphere[3]) * 0x1p-52;
		lower[k] = sphere[k] - sphere[3] - slack;
		upper[k] = sphere[k] + sphere[3] + slack;
	}
}

void cr_measure_granular(cr_granular *g)
{
	box3d bounds = BOX3D_NONE;
	g->largest = 0;
	for (int64_t i = 0; i < g->count; i++) {
		double lower[3], upper[3];
		cr_sphere_bounds(&g->spheres.data[4 * i], lower, upper);
		g->largest = fmax(g->largest, g->spheres.data[4 * i + 3]);
		for (int k = 0; k < 3; k++) {
			bounds.lower[k] = fmin(bounds.lower[k], lower[k]);
			bounds.upper[k] = fmax(bounds.upper[k], upper[k]);
		}
	}
	g->bounds = bounds;
	cr_box_index_invalidate(g->index);
}

cr_granular *cr_make_granular(carom_context *memory, int32_t count)
{
	cr_granular *g = cr_alloc_zero(memory, sizeof *g);
	if (!g)
		return NULL;
	g->index = cr_box_index_create(memory);
	if (!g->index || !cr_array_reserve(memory, &g->spheres, 4 * (int64_t)count)) {
		cr_free_granular(memory, g);
		return NULL;
	}
	g->count = count;
	g->bounds = BOX3D_NONE;
	return g;
}

void cr_trim_granular(carom_context *memory, cr_granular *g, bool continuous)
{
	g->spheres.count = 4 * (int64_t)g->count;
	cr_array_trim(memory, &g->spheres, 0);
	g->begin.count = continuous ? 3 * (int64_t)g->count : 0;
	cr_array_trim(memory, &g->begin, 0);
	cr_array_trim(memory, &g->ids, 0);
	cr_array_trim(memory, &g->was, 0);
	cr_box_index_trim(g->index);
}

void cr_free_granular(carom_context *memory, cr_granular *g)
{
	if (!g)
		return;
	cr_array_free(memory, &g->spheres);
	cr_array_free(memory, &g->begin);
	cr_array_free(memory, &g->ids);
	cr_array_free(memory, &g->was);
	cr_box_index_destroy(g->index);
	cr_free(memory, g, sizeof *g);
}

/// May a world have so many spheres, beside those of which were_there go?
static carom_result check_total(const carom_world *world, int32_t count, int32_t were_there, const char *name)
{
	const int64_t total = world->sphere_contacts.sphere_count - were_there + count;
	if (total <= CAROM_MAX_SPHERES)
		return CAROM_SUCCESS;
	return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: with these the world has %lld spheres, more than %d", name,
		(long long)total, CAROM_MAX_SPHERES);
}

carom_result cr_create_granular(const carom_world *world, const carom_body_def *def, const carom_pose *pose, cr_granular **made)
{
	static const char *const name = "carom_world_add_body";
	carom_context *memory = (carom_context *)&world->memory;
	*made = NULL;
	const carom_result result = check_total(world, def->sphere_count, 0, name);
	if (result != CAROM_SUCCESS)
		return result;
	cr_granular *g = cr_make_granular(memory, def->sphere_count);
	if (!g)
		return cr_fail_memory(memory, "a granular body");
	const m3d rotation = m3d_from_quat(pose->orientation);
	for (int64_t i = 0; i < g->count; i++) {
		double *s = &g->spheres.data[4 * i];
		cr_read_strided(&def->centres, 3, i, s);
		cr_read_strided(&def->radii, 1, i, &s[3]);
		const v3d p = v3d_add(m3d_mul(&rotation, (v3d){ s[0], s[1], s[2] }), pose->position);
		s[0] = p.x;
		s[1] = p.y;
		s[2] = p.z;
		for (int k = 0; k < 3; k++) {
			if (fabs(s[k]) <= CAROM_MAX_COORDINATE)
				continue;
			const double x = s[k];
			cr_free_granular(memory, g);
			return cr_fail(memory, CAROM_INVALID_ARGUMENT, "%s: pose puts %c of sphere %lld at %g, beyond CAROM_MAX_COORDINATE",
				name, 'x' + k, (long long)i, x);
		}
	}
	cr_measure_granular(g);
	*made = g;
	return CAROM_SUCCESS;
}

// ---- Calls ----

/// Spheres that a caller sets. ids: NULL without any.
typedef struct sphere_input {
	const char *function;
	int32_t count;
	const carom_strided *centres, *radii;
	const uint64_t *ids;
} sphere_input;

static carom_result check_spheres(carom_context *context, const cr_body *body, const sphere_input *in)
{
	if (!cr_granular_of(body))
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: the body is not of kind CAROM_GRANULAR", in->function);
	carom_result result = check_count(context, in->count, in->function, "count");
	if (result != CAROM_SUCCESS)
		return result;
	if (!in->centres)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: centres is NULL", in->function);
	if (!in->radii && in->count != cr_granular_of(body)->count)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: radii is NULL, but count is %d and the body has %d spheres",
			in->function, in->count, cr_granular_of(body)->count);
	result = check_places(context, in->centres, "centres", in->count, in->function);
	return result == CAROM_SUCCESS && in->radii ? check_radii(context, in->radii, in->count, in->function) : result;
}

/// Does an array lie in the body's own spheres, which the caller has from their view?
static bool is_own(const cr_granular *g, const carom_strided *array)
{
	const uintptr_t at = array ? (uintptr_t)array->data : 0, begin = (uintptr_t)g->spheres.data;
	return at >= begin && at < begin + 4 * (size_t)g->count * sizeof *g->spheres.data;
}

/// Write count spheres to to [4*count]; without radii only the centres.
static void read_spheres(int32_t count, const carom_strided *centres, const carom_strided *radii, double *to)
{
	for (int64_t i = 0; i < count; i++) {
		cr_read_strided(centres, 3, i, &to[4 * i]);
		if (radii)
			cr_read_strided(radii, 1, i, &to[4 * i + 3]);
	}
}

/// Take spheres over. Those that lie in the body's own are read first: they may be in another
/// order. false: out of memory.
static bool take_spheres(carom_world *world, cr_granular *g, const sphere_input *in)
{
	const size_t bytes = 4 * (size_t)in->count * sizeof(double);
	const bool own = in->count > 0 && (is_own(g, in->centres) || is_own(g, in->radii));
	double *copy = own ? cr_alloc(&world->memory, bytes) : NULL;
	if (own && !copy)
		return false;
	if (own && !in->radii)
		memcpy(copy, g->spheres.data, bytes);
	if (own)
		read_spheres(in->count, in->centres, in->radii, copy);
	const bool room = cr_array_reserve(&world->memory, &g->spheres, 4 * (int64_t)in->count);
	if (room && own)
		memcpy(g->spheres.data, copy, bytes);
	else if (room)
		read_spheres(in->count, in->centres, in->radii, g->spheres.data);
	cr_free(&world->memory, copy, own ? bytes : 0);
	return room;
}

typedef CR_ARRAY(double) begin_list;

/// List where the spheres of a continuous body come from, before they get other places, by their
/// next numbers. Spheres that are new have no place yet. false: out of memory.
static bool list_begins(carom_world *world, const cr_granular *g, const cr_renaming *r, begin_list *begins)
{
	if (!cr_array_reserve(&world->memory, begins, 3 * (int64_t)r->count))
		return false;
	for (int64_t i = 0; i < r->count; i++) {
		const int32_t from = r->from.data[i];
		if (from >= 0)
			memcpy(&begins->data[3 * i], cr_sphere_from(g, from), 3 * sizeof *begins->data);
	}
	return true;
}

/// Give the body that list. Its new spheres rest.
static void take_begins(carom_context *memory, cr_granular *g, const cr_renaming *r, begin_list *begins)
{
	for (int64_t i = 0; i < r->count; i++) {
		if (r->from.data[i] < 0)
			memcpy(&begins->data[3 * i], &g->spheres.data[4 * i], 3 * sizeof *begins->data);
	}
	cr_array_free(memory, &g->begin);
	g->begin.data = begins->data;
	g->begin.capacity = begins->capacity;
	*begins = (begin_list){ 0 };
}

/// Remember where the spheres of a continuous body come from, before they get other places, and
/// make room for as many. false: out of memory.
static bool keep_begin(carom_world *world, cr_granular *g, int32_t count)
{
	if (!cr_array_reserve(&world->memory, &g->begin, 3 * (int64_t)count))
		return false;
	for (int64_t i = 0; g->way == CR_WAY_NONE && i < count && i < g->count; i++)
		memcpy(&g->begin.data[3 * i], &g->spheres.data[4 * i], 3 * sizeof *g->begin.data);
	return true;
}

/// Where they come from, once they are there. Ids tell which of them are new.
static cr_way way_after(const cr_granular *g, const sphere_input *in)
{
	return g->way == CR_WAY_NEW || (!in->ids && in->count != g->count) ? CR_WAY_NEW : CR_WAY_KNOWN;
}

/// Give a body its spheres and their ids. On failure nothing has changed.
static carom_result put_spheres(carom_world *world, cr_body *body, const sphere_input *in)
{
	cr_granular *g = cr_granular_of(body);
	carom_context *memory = &world->memory;
	cr_renaming renaming;
	begin_list begins = { 0 };
	carom_result result = cr_find_renaming(world, g, in->count, in->ids, in->function, &renaming);
	if (result == CAROM_SUCCESS && !in->radii && !renaming.same)
		result =
			cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: radii is NULL, but ids are not those of before", in->function);
	const bool listed = body->continuous && !renaming.same && in->ids;
	bool room = cr_prepare_renaming(world, g, &renaming);
	if (result == CAROM_SUCCESS && body->continuous)
		room = room && (listed ? list_begins(world, g, &renaming, &begins) : keep_begin(world, g, in->count));
	if (result == CAROM_SUCCESS && !(room && take_spheres(world, g, in)))
		result = cr_fail_memory(world->context, "a granular body");
	if (result == CAROM_SUCCESS) {
		if (listed)
			take_begins(memory, g, &renaming, &begins);
		g->way = (uint8_t)(body->continuous ? way_after(g, in) : CR_WAY_NONE);
		cr_take_renaming(memory, g, &renaming);
		g->count = in->count;
		cr_measure_granular(g);
	}
	cr_array_free(memory, &begins);
	cr_free_renaming(memory, &renaming);
	return result;
}

static carom_result set_spheres(carom_world *world, carom_body_id id, const sphere_input *in)
{
	cr_body *body;
	carom_result result = cr_find_body(world, id, in->function, &body);
	if (result != CAROM_SUCCESS)
		return result;
	result = check_spheres(world->context, body, in);
	if (result != CAROM_SUCCESS)
		return result;
	const int32_t before = cr_granular_of(body)->count;
	result = check_total(world, in->count, before, in->function);
	if (result != CAROM_SUCCESS)
		return result;
	const unsigned refusals = cr_count_refusals(world);
	result = put_spheres(world, body, in);
	if (result != CAROM_SUCCESS)
		return cr_explain_failure(world, in->function, refusals, result);
	world->sphere_contacts.sphere_count += in->count - before;
	body->moved = true;
	world->sphere_contacts.stale = true;
	cr_note_boxes(world, body, 1);
	(in->ids ? cr_record_set_spheres_by_id : cr_record_set_spheres)(world->recorder, id, cr_granular_of(body));
	return CAROM_SUCCESS;
}

carom_result carom_world_set_spheres(
	carom_world *world, carom_body_id id, int32_t count, const carom_strided *centres, const carom_strided *radii)
{
	const sphere_input in = { "carom_world_set_spheres", count, centres, radii, NULL };
	return set_spheres(world, id, &in);
}

carom_result carom_world_set_spheres_by_id(carom_world *world, carom_body_id id, int32_t count, const carom_strided *centres,
	const carom_strided *radii, const uint64_t *ids)
{
	const sphere_input in = { "carom_world_set_spheres_by_id", count, centres, radii, ids };
	if (!ids)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: ids is NULL", in.function);
	return set_spheres(world, id, &in);
}

carom_result carom_world_set_sphere_begins(carom_world *world, carom_body_id id, const carom_strided *begins)
{
	static const char *const name = "carom_world_set_sphere_begins";
	cr_body *body;
	carom_result result = cr_find_body(world, id, name, &body);
	if (result != CAROM_SUCCESS)
		return result;
	cr_granular *g = cr_granular_of(body);
	if (!g || !body->continuous)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: the body is not %s", name,
			g ? "continuous (carom_body_def.continuous)" : "of kind CAROM_GRANULAR");
	if (!begins)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: begins is NULL", name);
	result = check_places(world->context, begins, "begins", g->count, name);
	if (result != CAROM_SUCCESS)
		return result;
	const unsigned refusals = cr_count_refusals(world);
	if (!cr_array_reserve(&world->memory, &g->begin, 3 * (int64_t)g->count))
		return cr_explain_failure(world, name, refusals, cr_fail_memory(world->context, "a granular body"));
	for (int64_t i = 0; i < g->count; i++)
		cr_read_strided(begins, 3, i, &g->begin.data[3 * i]);
	g->way = CR_WAY_KNOWN;
	body->moved = true;
	cr_note_change(world, body, 1);
	cr_record_set_sphere_begins(world->recorder, id, g);
	return CAROM_SUCCESS;
}

carom_result carom_world_get_spheres(const carom_world *world, carom_body_id id, carom_sphere_view *view)
{
	static const char *const name = "carom_world_get_spheres";
	const cr_body *body = cr_find_body_const(world, id, name);
	if (!body)
		return CAROM_INVALID_BODY;
	if (!view)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: view is NULL", name);
	if (!cr_granular_of(body))
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: the body is not of kind CAROM_GRANULAR", name);
	const cr_granular *g = cr_granular_of(body);
	*view = (carom_sphere_view){ g->spheres.data, g->count, g->ids.count > 0 ? g->ids.data : NULL };
	return CAROM_SUCCESS;
}
