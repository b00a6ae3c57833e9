/// Another origin for a world: all that is given in the world frame moves by one offset.
///
/// In: the offset. Checked before anything moves: the places where bodies, vertices and spheres
/// would be. Then each coordinate gets the offset: poses of now, of the last step and of the
/// beginning of the coming one; vertices and spheres; the points of results and of stored pairs,
/// which the next step compares with its own. The memory of pairs is relative to their bodies, and
/// stays. Where a sum is rounded, bodies move against each other by the roundings; these are added
/// to their paths, by which pairs know that they are apart.
///
/// Dropped, since they are soon made again: contacts that the next step would take over as they
/// are, the scenes of bodies that deform, and the memory of pairs of these, whose forms are rounded
/// about another middle.
/// Cost: O(bodies + vertices + spheres + results).

#include "world/world.h"

static const char *const name = "carom_world_shift_origin";

static carom_vec3 shifted(carom_vec3 place, carom_vec3 offset) { return v3d_add(place, offset); }

static bool lies_within(carom_vec3 p, double limit) { return fabs(p.x) <= limit && fabs(p.y) <= limit && fabs(p.z) <= limit; }

// ---- Checks ----

/// Fail for a place of a body that would be out of bounds; what names it.
static carom_result refuse(const carom_world *world, const cr_body *body, const char *what, carom_vec3 at, double limit)
{
	const carom_body_id id = cr_id_of(world->bodies.data, (int32_t)(body - world->bodies.data));
	return cr_fail(world->context, CAROM_INVALID_ARGUMENT,
		"%s: offset takes %s of the body (%u, %u) to (%g, %g, %g); it must lie within %g of the origin", name, what, id.index1,
		id.generation, at.x, at.y, at.z, limit);
}

/// Check places [count] that begin so many numbers after each other.
static carom_result check_places(const carom_world *world, const cr_body *body, const char *what, const double *places,
	int64_t count, int stride, carom_vec3 offset)
{
	for (int64_t i = 0; i < count; i++) {
		const carom_vec3 at = shifted(v3d_from_doubles(places + stride * i), offset);
		if (!lies_within(at, CAROM_MAX_COORDINATE))
			return refuse(world, body, what, at, CAROM_MAX_COORDINATE);
	}
	return CAROM_SUCCESS;
}

static carom_result check_pose(const carom_world *world, const cr_body *body, const carom_pose *pose, carom_vec3 offset)
{
	const carom_vec3 at = shifted(pose->position, offset);
	return lies_within(at, CAROM_MAX_POSITION) ? CAROM_SUCCESS : refuse(world, body, "a pose", at, CAROM_MAX_POSITION);
}

static carom_result check_body(const carom_world *world, const cr_body *body, carom_vec3 offset)
{
	const cr_granular *g = cr_granular_of(body);
	if (g) {
		const carom_result result = check_places(world, body, "a sphere", g->spheres.data, g->count, 4, offset);
		return result == CAROM_SUCCESS && g->way == CR_WAY_KNOWN
			? check_places(world, body, "a sphere", g->begin.data, g->count, 3, offset)
			: result;
	}
	carom_result result = check_pose(world, body, cr_pose_of(body), offset);
	if (result == CAROM_SUCCESS && cr_deforming_of(body)) {
		const cr_surface *s = &cr_deforming_of(body)->surface;
		result = check_places(world, body, "a vertex", s->begin, s->vertex_count, 3, offset);
		if (result == CAROM_SUCCESS)
			result = check_places(world, body, "a vertex", s->end, s->vertex_count, 3, offset);
	}
	// Parts that come from elsewhere: those of a body may lie beyond the limit of its pose.
	if (result == CAROM_SUCCESS && body->course && !cr_compound_of(body) && body->part == 0)
		result = check_pose(world, body, &body->course->last, offset);
	if (result == CAROM_SUCCESS && body->course && body->course->has_begin && !cr_compound_of(body) && body->part == 0)
		result = check_pose(world, body, &body->course->begin, offset);
	return result;
}

static carom_result check(const carom_world *world, const double offset[3])
{
	if (!offset)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: offset is NULL", name);
	for (int k = 0; k < 3; k++) {
		if (!isfinite(offset[k]))
			return cr_fail(
				world->context, CAROM_INVALID_ARGUMENT, "%s: offset[%d] is %g; it must be finite", name, k, offset[k]);
	}
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		const carom_result result =
			body->alive && body->part == 0 ? check_body(world, body, v3d_from_doubles(offset)) : CAROM_SUCCESS;
		if (result != CAROM_SUCCESS)
			return result;
	}
	return CAROM_SUCCESS;
}

// ---- Bodies ----

static void shift_pose(carom_pose *pose, carom_vec3 offset) { pose->position = shifted(pose->position, offset); }

static void shift_places(double *places, int64_t count, int stride, carom_vec3 offset)
{
	for (int64_t i = 0; i < count; i++) {
		places[stride * i] += offset.x;
		places[stride * i + 1] += offset.y;
		places[stride * i + 2] += offset.z;
	}
}

static void shift_deforming(cr_body *body, carom_vec3 offset)
{
	cr_surface *s = &cr_deforming_of(body)->surface;
	shift_places(s->begin, s->vertex_count, 3, offset);
	shift_places(s->end, s->vertex_count, 3, offset);
	cr_surface_touch(s);
	body->reshaped = body->reshaped > CR_SHAPE_REMADE ? body->reshaped : CR_SHAPE_REMADE;
}

static void shift_granular(cr_granular *g, carom_vec3 offset)
{
	shift_places(g->spheres.data, g->count, 4, offset);
	if (g->way == CR_WAY_KNOWN)
		shift_places(g->begin.data, g->count, 3, offset);
	cr_measure_granular(g);
}

/// How far a part may have moved against the offset, by roundings.
static double rounding_of(carom_vec3 from, carom_vec3 to, carom_vec3 offset)
{
	const v3d error = v3d_sub(v3d_sub(to, from), offset);
	const double way = fabs(error.x) + fabs(error.y) + fabs(error.z);
	return way == 0 ? 0 : way + 0x1p-50 * (v3d_length(from) + v3d_length(to) + v3d_length(offset));
}

/// Shift where a part comes from. Where that is its pose it stays so: the new pose of a part of a
/// compound is worked out from that of the body, with other roundings.
static void shift_earlier(carom_pose *earlier, const carom_pose *from, const carom_pose *to, carom_vec3 offset)
{
	if (cr_are_equal_poses(earlier, from))
		*earlier = *to;
	else
		shift_pose(earlier, offset);
}

/// Shift a part of a rigid body whose pose is shifted, if it has parts.
static void shift_part(cr_body *part, const cr_compound *compound, carom_vec3 offset)
{
	const carom_pose from = part->pose;
	// No row keeps the contacts that it had (cr_pipeline_forget_rests).
	part->reshaped = part->reshaped > CR_SHAPE_MOVED ? part->reshaped : CR_SHAPE_MOVED;
	if (compound)
		part->pose = cr_pose_to_part(&compound->pose, &compound->part[part->part].pose);
	else
		shift_pose(&part->pose, offset);
	part->path = cr_path_after(part->path, rounding_of(from.position, part->pose.position, offset));
	if (!part->course)
		return;
	part->course->turned = false;
	shift_earlier(&part->course->last, &from, &part->pose, offset);
	shift_earlier(&part->course->begin, &from, &part->pose, offset);
}

static void shift_body(cr_body *first, carom_vec3 offset)
{
	cr_compound *compound = cr_compound_of(first);
	if (compound)
		shift_pose(&compound->pose, offset);
	for (int32_t i = 0; i < cr_part_count(first); i++)
		first[i].moved = true;
	if (cr_granular_of(first)) {
		shift_granular(cr_granular_of(first), offset);
		return;
	}
	for (int32_t i = 0; i < cr_part_count(first); i++)
		shift_part(&first[i], compound, offset);
	if (cr_deforming_of(first))
		shift_deforming(first, offset);
}

// ---- Results and memory ----

static void shift_point(carom_vec3 *point, carom_vec3 offset) { *point = shifted(*point, offset); }

static void shift_contacts(carom_contact *contacts, int64_t count, carom_vec3 offset)
{
	for (int64_t i = 0; i < count; i++)
		shift_places(contacts[i].point, 1, 3, offset);
}

static void shift_surface_contacts(cr_surface_contact_list *list, carom_vec3 offset)
{
	for (int64_t i = 0; i < list->count; i++) {
		shift_point(&list->data[i].point_a, offset);
		shift_point(&list->data[i].point_b, offset);
	}
}

static void shift_surface_shapes(cr_surface_shape_contact_list *list, carom_vec3 offset)
{
	for (int64_t i = 0; i < list->count; i++)
		shift_point(&list->data[i].point, offset);
}

static void shift_results(carom_world *world, carom_vec3 offset)
{
	cr_results *results = &world->results[world->current];
	shift_contacts(results->contacts.data, results->contacts.count, offset);
	shift_contacts(world->sleep.contacts.data, world->sleep.contacts.count, offset);
	shift_surface_contacts(&world->surface_contacts.found, offset);
	shift_surface_contacts(&world->surface_contacts.carried, offset);
	shift_surface_shapes(&world->surface_contacts.found_shapes, offset);
	shift_surface_shapes(&world->surface_contacts.carried_shapes, offset);
	for (int64_t i = 0; i < world->continuous.found.count; i++)
		shift_point(&world->continuous.found.data[i].point, offset);
	for (int64_t i = 0; i < world->shape_impacts.found.count; i++)
		shift_point(&world->shape_impacts.found.data[i].point, offset);
	for (int64_t i = 0; i < world->sphere_contacts.found.contacts.count; i++)
		shift_point(&world->sphere_contacts.found.contacts.data[i].point, offset);
}

carom_result carom_world_shift_origin(carom_world *world, const double offset[3])
{
	carom_result result = cr_check_may_change(world, name);
	if (result == CAROM_SUCCESS)
		result = check(world, offset);
	if (result != CAROM_SUCCESS)
		return result;
	const carom_vec3 by = v3d_from_doubles(offset);
	for (int64_t i = 0; i < world->bodies.count; i++) {
		if (world->bodies.data[i].alive && world->bodies.data[i].part == 0)
			shift_body(&world->bodies.data[i], by);
	}
	shift_results(world, by);
	// Where nothing is taken over, as in the replay of a recording, sums are rounded otherwise.
	cr_pipeline_forget_rests(&world->pipeline);
	cr_add_all_changes(&world->changes, world->bodies.count);
	cr_forget_scenes(world);
	cr_note_members(world);
	cr_box_index_invalidate(world->query_index);
	cr_record_shift_origin(world->recorder, offset);
	return CAROM_SUCCESS;
}
