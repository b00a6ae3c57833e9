// Zones: vertices that nothing else has kept apart move as one. A zone without carried vertices
// keeps the mean of its motion and is shifted; one with them follows their body. Either way its
// vertices move by one affine map at any time of the step, so nothing in it meets; features that it
// meets outside join it. Zones only grow, so that ends.
#include "sim/base/rotations.h"
#include "sim/cloth/soft_state.h"

#include <stdio.h>
#include <string.h>

/// Where vertex i may not go where it likes: the rigid body whose motion it takes part in. All that
/// rests is one.
static int32_t motion_of(const sim_soft *s, int32_t i)
{
	const int32_t carrier = s->carrier[i];
	return carrier >= 0 && s->parts[carrier].rests ? SIM_SOFT_PINNED : carrier;
}

/// A free vertex not seen before is a zone of its own, a solid a zone with all of its vertices.
/// *grown: has anything changed?
static int32_t enter(sim_soft *s, int32_t i, bool *grown)
{
	if (s->zone[i] < 0) {
		const soft_part *part = &s->parts[s->part_of[i]];
		const bool is_solid = part->kind == SIM_SOFT_SOLID;
		const int32_t first = is_solid ? part->first_vertex : i, end = is_solid ? first + part->vertex_count : i + 1;
		for (int32_t k = first; k < end; k++)
			s->zone[k] = first;
		s->zone_carrier[first] = s->zone_holder[first] = s->zone_anchor[first] = SIM_SOFT_FREE;
		*grown = true;
	}
	return soft_find_root(s->zone, i);
}

/// The name of a body in quotes, for messages. text: [SIM_SOFT_NAME + 2].
static const char *name_of(const sim_soft *s, int32_t holder, char *text)
{
	if (holder < 0)
		return "vertices that are held";
	snprintf(text, SIM_SOFT_NAME + 2, "\"%s\"", s->parts[holder].name);
	return text;
}

/// Bind a zone to the motion of vertex i. False when it is bound to another one.
static bool bind(sim_soft *s, int32_t root, int32_t i, bool *grown, sim_error *error)
{
	const int32_t carrier = i >= 0 ? motion_of(s, i) : SIM_SOFT_FREE, holder = i >= 0 ? s->carrier[i] : SIM_SOFT_FREE;
	char one[SIM_SOFT_NAME + 2], other[SIM_SOFT_NAME + 2];
	int32_t *bound = &s->zone_carrier[root];
	if (carrier == SIM_SOFT_FREE || *bound == carrier)
		return true;
	if (*bound != SIM_SOFT_FREE) {
		return sim_fail(error, "vertex %d of body \"%s\" is squeezed between %s and %s",
			(int)(root - s->parts[s->part_of[root]].first_vertex), s->parts[s->part_of[root]].name,
			name_of(s, s->zone_holder[root], one), name_of(s, holder, other));
	}
	*bound = carrier;
	s->zone_holder[root] = holder;
	s->zone_anchor[root] = i;
	*grown = true;
	return true;
}

/// All free vertices of an impact into one zone, bound to the body that carries the others.
static bool join(sim_soft *s, const soft_contact *c, bool *grown, sim_error *error)
{
	int32_t root = -1;
	for (int i = 0; i < 4; i++) {
		if (s->carrier[c->vertices[i]] != SIM_SOFT_FREE)
			continue;
		const int32_t other = enter(s, c->vertices[i], grown);
		if (root >= 0 && other != root) {
			// The lower number is the root, whatever the order of impacts.
			const int32_t low = other < root ? other : root, high = other < root ? root : other;
			s->zone[high] = low;
			*grown = true;
			if (!bind(s, low, s->zone_anchor[high], grown, error))
				return false;
			root = low;
		} else {
			root = other;
		}
	}
	for (int i = 0; i < 4 && root >= 0; i++) {
		if (!bind(s, root, c->vertices[i], grown, error))
			return false;
	}
	return true;
}

/// Mass and momentum of each zone, from where the solver wanted its vertices.
static void sum_zones(sim_soft *s)
{
	memset(s->zone_sum, 0, (size_t)s->vertex_count * 4 * sizeof *s->zone_sum);
	for (int32_t i = 0; i < s->vertex_count; i++) {
		if (s->zone[i] < 0)
			continue;
		double *sum = s->zone_sum + 4 * (int64_t)soft_find_root(s->zone, i);
		const double mass = 1 / s->inverse_mass[i];
		for (int k = 0; k < 3; k++)
			sum[k] += mass * (s->solved[3 * (int64_t)i + k] - s->begin[3 * (int64_t)i + k]);
		sum[3] += mass;
	}
}

/// Where the body that a zone follows takes a point of it: an animated one does not move as one.
static carom_vec3 follow(const sim_soft *s, int32_t root, carom_vec3 point)
{
	const soft_part *part = &s->parts[s->zone_carrier[root]];
	const double *from = s->begin + 3 * (int64_t)s->zone_anchor[root], *to = s->carried + 3 * (int64_t)s->zone_anchor[root];
	if (part->frames.count > 0)
		return (carom_vec3){ point.x + to[0] - from[0], point.y + to[1] - from[1], point.z + to[2] - from[2] };
	return carom_transform_point(part->to, carom_inverse_transform_point(part->from, point));
}

static void place_vertex(sim_soft *s, int32_t i)
{
	const int32_t root = soft_find_root(s->zone, i), carrier = s->zone_carrier[root];
	const double *begin = s->begin + 3 * (int64_t)i, *sum = s->zone_sum + 4 * (int64_t)root;
	double *place = s->place + 3 * (int64_t)i;
	if (carrier >= 0) {
		const carom_vec3 p = follow(s, root, (carom_vec3){ begin[0], begin[1], begin[2] });
		place[0] = p.x;
		place[1] = p.y;
		place[2] = p.z;
	} else {
		for (int k = 0; k < 3; k++)
			place[k] = begin[k] + (carrier == SIM_SOFT_PINNED ? 0 : sum[k] / sum[3]);
	}
}

static void place_zones(sim_soft *s)
{
	sum_zones(s);
	for (int32_t i = 0; i < s->vertex_count; i++) {
		if (s->zone[i] >= 0)
			place_vertex(s, i);
	}
}

/// Note where zones have moved solids.
static void place_solids(sim_soft *s)
{
	for (int32_t i = 0; i < s->part_count; i++) {
		soft_part *part = &s->parts[i];
		if (part->kind != SIM_SOFT_SOLID || s->zone[part->first_vertex] < 0)
			continue;
		const int32_t root = soft_find_root(s->zone, part->first_vertex), carrier = s->zone_carrier[root];
		const double *sum = s->zone_sum + 4 * (int64_t)root;
		carom_pose *pose = &part->solid.zoned;
		*pose = part->solid.begin.pose;
		if (carrier >= 0) {
			const carom_pose from = s->parts[carrier].from, to = s->parts[carrier].to;
			const carom_quat q = from.orientation, back = { -q.x, -q.y, -q.z, q.w };
			pose->position = follow(s, root, pose->position);
			if (s->parts[carrier].frames.count == 0)
				pose->orientation = sim_unit_quat(sim_multiply(to.orientation, sim_multiply(back, pose->orientation)));
		} else if (carrier == SIM_SOFT_FREE) {
			pose->position.x += sum[0] / sum[3];
			pose->position.y += sum[1] / sum[3];
			pose->position.z += sum[2] / sum[3];
		}
	}
}

static void count_zones(sim_soft *s)
{
	for (int32_t i = 0; i < s->vertex_count; i++) {
		s->step.zone_vertices += s->zone[i] >= 0;
		s->step.zones += s->zone[i] == i;
	}
}

/// The first vertex of an impact and the last are of its two features.
static void say_touching(const sim_soft *s, const int32_t vertices[4], sim_error *error)
{
	const soft_part *a = &s->parts[s->part_of[vertices[0]]], *b = &s->parts[s->part_of[vertices[3]]];
	sim_fail(error, "vertex %d of body \"%s\" touches body \"%s\" (near its vertex %d) already",
		(int)(vertices[0] - a->first_vertex), a->name, b->name, (int)(vertices[3] - b->first_vertex));
}

/// A hold has moved a vertex of a zone from where the solver left it.
static void push_carriers(sim_soft *s, double duration)
{
	const double *from = s->coupled ? s->solved : s->before; // contacts have the rest
	for (int32_t i = 0; i < s->vertex_count; i++) {
		const int32_t carrier = s->zone[i] >= 0 ? s->zone_carrier[soft_find_root(s->zone, i)] : SIM_SOFT_FREE;
		double given[3];
		if (carrier < 0)
			continue;
		for (int k = 0; k < 3; k++)
			given[k] = (from[3 * (int64_t)i + k] - s->place[3 * (int64_t)i + k]) / (s->inverse_mass[i] * duration);
		soft_push_body(&s->parts[carrier], s->place + 3 * (int64_t)i, given);
	}
}

soft_verdict soft_merge_zones(sim_soft *s, double duration, sim_error *error)
{
	memcpy(s->before, s->place, (size_t)s->vertex_count * 3 * sizeof *s->before);
	for (int32_t i = 0; i < s->vertex_count; i++)
		s->zone[i] = -1;
	for (;;) {
		if (!soft_find(s, s->sure_detector, s->begin, s->place, error))
			return SOFT_FAILED;
		if (s->found.count == 0)
			break;
		bool grown = false;
		for (int64_t i = 0; i < s->found.count; i++) {
			if (!join(s, &s->found.data[i], &grown, error))
				return SOFT_SQUEEZED;
		}
		if (!grown) {
			say_touching(s, s->found.data[0].vertices, error);
			return SOFT_SQUEEZED;
		}
		place_zones(s);
	}
	place_solids(s);
	s->zoned = true;
	count_zones(s);
	push_carriers(s, duration);
	return SOFT_DONE;
}
