/// Edges and triangles of cloth that pass a shape that is no mesh between their vertices.
///
/// A thin capsule, an edge or a corner of a box, the tip of a cone goes through the faces of coarse
/// cloth in a step, and no vertex meets it. So triangles whose ways come near a shape are moved
/// through the step, with the shape on its true arc (geom/time_of_impact.h). The normal where the
/// two first meet is the way out of the feature that meets there, and stands on the shape from then
/// on. The feature is through where it would meet the shape if it were moved along that way, also
/// from beyond. Its contact is its memory, like that of a vertex (surface_shape_passing.c):
///
/// - One that was in the shape and is apart is beyond if the shape is on the side of its way, else
///   it has come out on its own side. One that was beyond stays so as long as its way meets the
///   shape. The cloth may be put elsewhere: the place of the contact tells.
/// - Triangles with a vertex that has an entry leave by that. Those with a vertex of a feature that
///   was through by the last step may be on their way back: they go by that feature.
/// - Features around those that passed, which overlap the shape and have no memory, leave by their
///   way. Those that are near it on the far side have no contact that keeps them there.
///
/// Nothing is lost where triangles that move by less than the distance to be kept are left out.
/// Such a one was within that distance of the shape before, so its contact is its memory.
///
/// Cost: a bound on the motion of each cloth, and of each shape near it. Where the two move past
/// each other by more than the distance to be kept: the triangles near the shape, and a
/// conservative advancement for each whose way comes near it. O(1) for each contact of an edge or a
/// triangle that was through.
#include "base/stable_sort.h"
#include "frame/shape_table.h"
#include "proximity/proximity_state.h"
#include "sweep/sweep_arc.h"
#include "sweep/sweep_state.h"
#include "world/continuous.h"
#include "world/shape_impacts.h"
#include "world/surface_contacts.h"
#include "world/world.h"
#include <stdlib.h>

/// A cloth and a shape.
typedef struct work {
	carom_world *world;
	int32_t part_a, part_b, member;
	const cr_surface *cloth;
	box3d box; // of the shape's motion
	double kept;
	cr_shape_leaving end;
} work;

cr_shape_leaving cr_leaving_of(const carom_world *world, int32_t part_a, int32_t part_b)
{
	const cr_body *shape = &world->bodies.data[part_b];
	const cr_surface *s = &cr_deforming_of(&world->bodies.data[part_a])->surface;
	return (cr_shape_leaving){ { s->faces, s->end }, cr_convex_of(&shape->shape.def), m3d_from_quat(shape->pose.orientation),
		shape->pose.position };
}

/// The two at the begin of the step.
static cr_shape_leaving leaving_at_begin(const work *w)
{
	const carom_pose *begin = cr_begin_of(&w->world->bodies.data[w->part_b]);
	return (cr_shape_leaving){ { w->cloth->faces, w->cloth->begin }, w->end.convex, m3d_from_quat(begin->orientation),
		begin->position };
}

/// Is a feature below the plane across way that touches the shape, and in the shape or on its far
/// side?
static bool is_through(const cr_shape_leaving *out, const carom_surface_shape_contact *c, v3d way)
{
	double by;
	v3d normal;
	const bool meets = cr_leave_shape(out, c, way, &by);
	return by > 0 && (meets || (cr_gap_of_feature(out, c, &normal) > 0 && v3d_dot(normal, way) < CR_AWAY));
}

// ---- Features that were through ----

/// Was the feature of a contact of the last step through the shape, and is it there still at the
/// begin of this one?
static bool was_through(const work *w, const cr_shape_leaving *begin, const carom_surface_shape_contact *last)
{
	v3d foot = { 0, 0, 0 };
	for (int k = 0; k < cr_corners_of(last); k++)
		foot = v3d_mad(foot, last->weight[k], cr_place_of(w->cloth->begin, last->vertices[k]));
	const v3d place = v3d_mad(last->point, last->distance, last->normal);
	if (!(last->distance < 0) || v3d_length(v3d_sub(foot, place)) > fabs(last->distance) + last->thickness)
		return false;
	if (last->vertices[1] >= 0)
		return is_through(begin, last, last->normal);
	const v3d local = m3d_tmul(&begin->rotation, last->normal);
	const double top = v3d_dot(local, cr_convex_support(&begin->convex, local)) + begin->convex.rounding;
	return v3d_dot(last->normal, v3d_sub(foot, begin->position)) < top;
}

static int compare_vertices(const void *a, const void *b)
{
	return cr_compare_numbers(*(const int32_t *)a, *(const int32_t *)b);
}

/// Append the vertices of features that were through, of some contacts of the last step.
static bool list_through(const work *w, const carom_surface_shape_contact *contacts, int64_t count)
{
	cr_surface_contacts *m = &w->world->surface_contacts;
	const cr_shape_leaving begin = leaving_at_begin(w);
	for (int64_t i = 0; i < count; i++) {
		const carom_surface_shape_contact *last = &contacts[i];
		if ((int32_t)last->body_a.index1 - 1 != w->part_a || cr_shape_part_of(last) != w->part_b ||
			!was_through(w, &begin, last))
			continue;
		if (!cr_array_reserve(&w->world->memory, &m->were_through, m->were_through.count + 3))
			return false;
		for (int k = 0; k < cr_corners_of(last); k++)
			m->were_through.data[m->were_through.count++] = last->vertices[k];
	}
	return true;
}

/// List the vertices of features that were through, in order.
static bool list_all_through(const work *w)
{
	cr_surface_contacts *m = &w->world->surface_contacts;
	const cr_body *bodies = w->world->bodies.data;
	const carom_surface_shape_contact pair = {
		.body_a = cr_id_of(bodies, w->part_a), .body_b = cr_id_of(bodies, w->part_b), .shape_b = bodies[w->part_b].part
	};
	int64_t count;
	const carom_surface_shape_contact *last = cr_last_shape_contacts(w->world, &pair, &count);
	m->were_through.count = 0;
	if (!list_through(w, last, count) || !list_through(w, m->carried_shapes.data, m->carried_shapes.count))
		return false;
	if (m->were_through.count > 1)
		cr_sort_stably(m->were_through.data, m->were_through.count, sizeof *m->were_through.data, compare_vertices);
	return true;
}

static bool had_through(const work *w, const int32_t corners[3])
{
	const cr_surface_contacts *m = &w->world->surface_contacts;
	bool had = false;
	for (int k = 0; k < 3 && !had && m->were_through.count > 0; k++)
		had = bsearch(&corners[k], m->were_through.data, (size_t)m->were_through.count, sizeof corners[k], compare_vertices);
	return had;
}

// ---- Features ----

static bool has_entry(const work *w, const int32_t vertices[3])
{
	bool has = false;
	for (int k = 0; k < 3 && vertices[k] >= 0; k++)
		has = has || cr_entry_of(w->world, w->part_a, w->part_b, vertices[k]);
	return has;
}

/// Append a feature, if it is through along way.
static bool append_pass(const work *w, const carom_surface_shape_contact *c, v3d way, int32_t by)
{
	cr_surface_contacts *m = &w->world->surface_contacts;
	if (!is_through(&w->end, c, way))
		return true;
	if (!cr_array_reserve_one(&w->world->memory, &m->shape_passes))
		return false;
	cr_shape_pass *pass = &m->shape_passes.data[m->shape_passes.count++];
	*pass = (cr_shape_pass){ .part_b = w->part_b, .part_a = w->part_a, .triangle = c->triangle, .by = by, .way = way };
	memcpy(pass->vertices, c->vertices, sizeof pass->vertices);
	return true;
}

// ---- Triangles that pass in the step ----

/// Does a triangle move past the shape by more than the distance to be kept, near it?
static bool may_pass_by(const work *w, const int32_t corners[3])
{
	const carom_pose *begin = cr_begin_of(&w->world->bodies.data[w->part_b]);
	const m3d from = m3d_from_quat(begin->orientation);
	const cr_motion motion = cr_motion_of_body(w->world->bodies.data, w->part_b, begin->position);
	const double bulge = cr_bulge_of(&motion, cr_convex_reach(&w->end.convex));
	box3d box = { { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
	double most = 0;
	for (int k = 0; k < 3; k++) {
		const v3d a = cr_place_of(w->cloth->begin, corners[k]), b = cr_place_of(w->cloth->end, corners[k]);
		const v3d first = m3d_tmul(&from, v3d_sub(a, begin->position)),
				  last = m3d_tmul(&w->end.rotation, v3d_sub(b, w->end.position));
		most = fmax(most, v3d_length(v3d_sub(last, first)));
		for (int d = 0; d < 3; d++) {
			box.lower[d] = fmin(box.lower[d], fmin(v3d_get(a, d), v3d_get(b, d)));
			box.upper[d] = fmax(box.upper[d], fmax(v3d_get(a, d), v3d_get(b, d)));
		}
	}
	return most + bulge > w->kept && box3d_overlap(&box, &w->box);
}

/// Name the feature of a triangle that meets the shape. A corner stands for the whole triangle: it
/// has no entry, so it has only touched.
static void name_feature(
	const work *w, int32_t triangle, const cr_moving_triangle *moving, const cr_impact *impact, carom_surface_shape_contact *c)
{
	cr_measured_triangle t = { .reach = cr_convex_size(&w->end.convex) };
	v3d unused;
	cr_triangle_at(moving, impact->separation_time, t.place);
	const v3d first = t.place[0];
	memcpy(t.corner, &w->cloth->faces->triangles[3 * (int64_t)triangle], sizeof t.corner);
	for (int k = 0; k < 3; k++)
		t.place[k] = v3d_sub(t.place[k], first);
	c->triangle = -1;
	if (cr_name_feature(&t, impact->separation.on_a, c->vertices, c->weight, &unused) != 2) {
		memcpy(c->vertices, t.corner, sizeof c->vertices);
		c->triangle = triangle;
	}
}

static bool sweep_triangle(const work *w, int32_t triangle)
{
	const int32_t *corners = &w->cloth->faces->triangles[3 * (int64_t)triangle];
	if (has_entry(w, corners) || had_through(w, corners) || !may_pass_by(w, corners))
		return true;
	const v3d origin = cr_place_of(w->cloth->begin, corners[0]);
	const cr_moving_triangle moving = cr_surface_motion(w->cloth, triangle, origin);
	const cr_motion motion = cr_motion_of_body(w->world->bodies.data, w->part_b, origin);
	cr_impact impact;
	cr_find_triangle_impact(&moving, &w->end.convex, &motion, w->world->def.toi_tolerance, &impact);
	if (impact.state == CR_IMPACT_NONE || impact.state == CR_IMPACT_TOUCHING)
		return true;
	const carom_pose then = cr_motion_at(&motion, impact.separation_time);
	const m3d rotation = m3d_from_quat(then.orientation);
	carom_surface_shape_contact c;
	name_feature(w, triangle, &moving, &impact, &c);
	return append_pass(w, &c, m3d_mul(&w->end.rotation, m3d_tmul(&rotation, impact.separation.normal)), triangle);
}

/// Sweep the triangles of the cloth whose ways may come near the shape.
static bool sweep_near(const work *w, const cr_swept_body *cloth)
{
	carom_proximity *near = w->world->surface_contacts.near;
	double lower[3], upper[3];
	for (int k = 0; k < 3; k++) {
		lower[k] = w->box.lower[k] - cloth->travel[k];
		upper[k] = w->box.upper[k] + cloth->travel[k];
	}
	if (!cr_list_near_triangles(near, lower, upper, -1))
		return false;
	const carom_sweep *s = near->sweep;
	const int32_t first = s->mesh_vertices.data[w->member], end = s->mesh_vertices.data[w->member + 1];
	bool enough = true;
	for (int64_t i = 0; i < near->triangles.count && enough; i++) {
		const int32_t triangle = near->triangles.data[i], corner = s->triangles.data[3 * (int64_t)triangle];
		enough = corner < first || corner >= end || sweep_triangle(w, s->triangle_numbers.data[triangle]);
	}
	return enough;
}

// ---- Pairs ----

static work open_work(carom_world *world, int32_t part_a, int32_t part_b)
{
	const cr_body *bodies = world->bodies.data;
	return (work){ .world = world,
		.part_a = part_a,
		.part_b = part_b,
		.member = cr_find_member(&world->surface_contacts.members.list, part_a),
		.cloth = &cr_deforming_of(&bodies[part_a])->surface,
		.kept = cr_kept_distance(&bodies[part_a], &bodies[part_b]),
		.end = cr_leaving_of(world, part_a, part_b) };
}

/// Do the two move past each other by more than the distance to be kept?
static bool is_fast(const work *w, const cr_swept_body *cloth)
{
	const cr_motion motion = cr_motion_of_body(w->world->bodies.data, w->part_b, w->end.position);
	const v3d travel = { cloth->travel[0], cloth->travel[1], cloth->travel[2] };
	return v3d_length(travel) + v3d_length(motion.travel) +
		motion.angle * (v3d_length(travel) + cr_convex_reach(&w->end.convex) + motion.lever) >
		w->kept;
}

static bool sweep_pair(carom_world *world, const cr_swept_body *cloth, int32_t part_b)
{
	box3d all;
	work w;
	memcpy(all.lower, cloth->lower, sizeof all.lower);
	memcpy(all.upper, cloth->upper, sizeof all.upper);
	box3d box;
	if (!cr_bound_motion(world, part_b, box.lower, box.upper) || !box3d_overlap(&all, &box) ||
		!cr_may_pass(world, cloth->part, part_b) || cr_was_shape_led(world, cloth->part, part_b))
		return true;
	w = open_work(world, cloth->part, part_b);
	w.box = box;
	return !is_fast(&w, cloth) || (list_all_through(&w) && sweep_near(&w, cloth));
}

// ---- Features that go on ----

/// Go on with a contact of an edge or a triangle that was through.
static bool go_on_from(const work *w, const carom_surface_shape_contact *last)
{
	const cr_shape_leaving begin = leaving_at_begin(w);
	v3d normal;
	if (has_entry(w, last->vertices) || !was_through(w, &begin, last) || !(cr_gap_of_feature(&w->end, last, &normal) > 0))
		return true; // where it overlaps the shape the search finds it
	const v3d way = cr_shape_normal_now(w->world, w->part_b, last);
	const bool away = v3d_dot(normal, way) < CR_AWAY;
	return (!away && !(cr_gap_of_feature(&begin, last, &normal) > 0)) || append_pass(w, last, way, -1);
}

static bool go_on_from_list(carom_world *world, const carom_surface_shape_contact *contacts, int64_t count)
{
	bool enough = true;
	for (int64_t i = 0; i < count && enough; i++) {
		const carom_surface_shape_contact *last = &contacts[i];
		int64_t part_a, part_b;
		if (last->vertices[1] < 0 || !(last->distance < 0) || last->led || !cr_is_still(world, last->body_a, 0, &part_a) ||
			!cr_is_still(world, last->body_b, last->shape_b, &part_b) || !cr_is_thick(&world->bodies.data[part_a]) ||
			!cr_can_be_passed(&world->bodies.data[part_b]) || !cr_may_pass(world, (int32_t)part_a, (int32_t)part_b))
			continue;
		const work w = open_work(world, (int32_t)part_a, (int32_t)part_b);
		enough = go_on_from(&w, last);
	}
	return enough;
}

// ---- All of it ----

static int compare_passes(const void *a, const void *b)
{
	const cr_shape_pass *x = a, *y = b;
	const int64_t first[3] = { x->part_b, x->part_a, 0 }, second[3] = { y->part_b, y->part_a, 0 };
	for (int k = 0; k < 2; k++) {
		if (first[k] != second[k])
			return first[k] < second[k] ? -1 : 1;
	}
	const uint64_t p = cr_feature_key(x->vertices, x->triangle), q = cr_feature_key(y->vertices, y->triangle);
	return p != q ? (p < q ? -1 : 1) : cr_compare_numbers(x->by, y->by);
}

/// Put them in order, each feature once: as the last step knew it, else by the lowest triangle.
static void sort_passes(cr_surface_contacts *m)
{
	int64_t once = 0;
	cr_shape_pass *p = m->shape_passes.data;
	if (m->shape_passes.count < 2)
		return;
	cr_sort_stably(p, m->shape_passes.count, sizeof *p, compare_passes);
	for (int64_t i = 0; i < m->shape_passes.count; i++) {
		const bool again = once > 0 && p[once - 1].part_a == p[i].part_a && p[once - 1].part_b == p[i].part_b &&
			cr_feature_key(p[once - 1].vertices, p[once - 1].triangle) == cr_feature_key(p[i].vertices, p[i].triangle);
		if (!again)
			p[once++] = p[i];
	}
	m->shape_passes.count = once;
}

bool cr_find_shape_passes(carom_world *world)
{
	cr_surface_contacts *m = &world->surface_contacts;
	bool enough = true;
	m->shape_passes.count = 0;
	for (int64_t k = 0; k < m->members.list.count && enough; k++) {
		cr_swept_body cloth = { .part = m->members.list.data[k].body };
		const cr_body *body = &world->bodies.data[cloth.part];
		if (!cr_is_thick(body) || !cr_bound_surface(&cr_deforming_of(body)->surface, &cloth))
			continue;
		for (int64_t i = 0; i < world->bodies.count && enough; i++)
			enough = !cr_can_be_passed(&world->bodies.data[i]) || sweep_pair(world, &cloth, (int32_t)i);
	}
	enough = enough && go_on_from_list(world, m->found_shapes.data, m->known_shapes) &&
		go_on_from_list(world, m->carried_shapes.data, m->carried_shapes.count);
	sort_passes(m);
	return enough;
}

const cr_shape_pass *cr_pass_of(const carom_world *world, int32_t part_b, const carom_surface_shape_contact *c, bool around)
{
	const cr_surface_contacts *m = &world->surface_contacts;
	const int32_t part_a = (int32_t)c->body_a.index1 - 1;
	const uint64_t key = cr_feature_key(c->vertices, c->triangle);
	const cr_shape_pass *best = NULL;
	for (int64_t i = 0; i < m->shape_passes.count; i++) {
		const cr_shape_pass *p = &m->shape_passes.data[i];
		if (p->part_a != part_a || p->part_b != part_b)
			continue;
		if (cr_feature_key(p->vertices, p->triangle) == key)
			return p;
		bool shares = false;
		for (int k = 0; k < 9 && around; k++)
			shares = shares || (c->vertices[k / 3] >= 0 && c->vertices[k / 3] == p->vertices[k % 3]);
		if (shares && (!best || v3d_dot(p->way, c->normal) > v3d_dot(best->way, c->normal)))
			best = p;
	}
	return best;
}
