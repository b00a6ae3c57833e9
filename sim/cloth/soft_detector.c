// Impacts of all parts over a step, by worlds of Carom. A step is searched again and again with the
// same motion of the rigid bodies, which a world knows only from step to step; so those that move
// are given to it as surfaces that do not meet themselves nor each other, with places at both ends
// like the others. Those that rest are static. Solids that another simulation moves meet neither:
// that simulation keeps them apart.
#include "sim/cloth/soft_state.h"
#include "sim/base/sim_clock.h"

enum { GROUP_OF_TOLD_BODIES = -1 };

struct soft_detector {
	carom_allocator allocator;
	carom_world *world;
	int32_t part_count;
	carom_body_id *ids; // [part_count]
};

static carom_strided places_of(const soft_part *part, const double *places)
{
	return (carom_strided){ places + 3 * (int64_t)part->first_vertex, 0, CAROM_FLOAT64 };
}

static bool say(const sim_soft *s, sim_error *error) { return sim_fail(error, "%s", carom_error_text(s->context)); }

carom_mesh *soft_make_mesh(const sim_soft *s, const soft_part *part, sim_error *error)
{
	const size_t corners = 3 * (size_t)part->triangle_count;
	int32_t *triangles = soft_alloc(s, corners * sizeof *triangles);
	carom_mesh *mesh = NULL;
	if (!triangles) {
		sim_fail(error, "out of memory");
		return NULL;
	}
	// The triangles of a part count from its own first vertex.
	for (size_t i = 0; i < corners; i++)
		triangles[i] = s->triangles[3 * (size_t)part->first_triangle + i] - part->first_vertex;
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = places_of(part, s->place);
	def.vertex_count = part->vertex_count;
	def.triangles = triangles;
	def.triangle_count = part->triangle_count;
	def.grid_resolution = 0;
	const carom_result result = carom_create_mesh(s->context, &def, NULL, &mesh);
	soft_free(s, triangles, corners * sizeof *triangles);
	if (result != CAROM_SUCCESS)
		say(s, error);
	return mesh;
}

static bool add_part(const sim_soft *s, soft_detector *d, int32_t number, sim_error *error)
{
	const soft_part *part = &s->parts[number];
	carom_mesh *mesh = soft_make_mesh(s, part, error);
	if (!mesh)
		return false;
	carom_body_def def = carom_default_body_def();
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	def.kind = part->rests ? CAROM_STATIC : (part->kind == SIM_SOFT_DEFORMABLE ? CAROM_DEFORMABLE : CAROM_CLOTH);
	def.contacts = false; // impacts are enough
	def.self_collision = !soft_keeps_form(part);
	def.group = soft_is_told(part) ? GROUP_OF_TOLD_BODIES : 0;
	const bool added = carom_world_add_body(d->world, &def, &d->ids[number]) == CAROM_SUCCESS || say(s, error);
	carom_release_mesh(mesh);
	return added;
}

soft_detector *soft_create_detector(const sim_soft *s, double separation, double tolerance, sim_error *error)
{
	carom_world_def def = carom_default_world_def();
	def.sweep.tolerance = tolerance;
	def.sweep.min_separation = separation;
	def.sweep.device = s->def.device;
	soft_detector *d = soft_alloc(s, sizeof *d);
	if (d)
		*d = (soft_detector){ s->allocator, NULL, s->part_count, soft_alloc(s, (size_t)s->part_count * sizeof *d->ids) };
	if (!d || !d->ids) {
		sim_fail(error, "out of memory");
		soft_destroy_detector(d);
		return NULL;
	}
	bool made = carom_create_world(s->context, &def, &d->world) == CAROM_SUCCESS || say(s, error);
	for (int32_t i = 0; i < s->part_count && made; i++)
		made = add_part(s, d, i, error);
	if (made)
		return d;
	soft_destroy_detector(d);
	return NULL;
}

/// The vertices of a part that were in a mesh of fewer: each was that of its number, or its twin.
static int32_t *map_vertices(const sim_soft *s, const soft_part *part, int32_t before)
{
	int32_t *from = soft_alloc(s, (size_t)part->vertex_count * sizeof *from);
	for (int32_t i = 0; from && i < part->vertex_count; i++) {
		int32_t v = i;
		while (v >= before)
			v = s->torn_from[part->first_vertex + v] - part->first_vertex;
		from[i] = v;
	}
	return from;
}

static bool change_mesh(const sim_soft *s, soft_detector *d, int32_t number, sim_error *error)
{
	const soft_part *part = &s->parts[number];
	carom_mesh *mesh = soft_make_mesh(s, part, error);
	if (!mesh)
		return false;
	carom_vertex_view view;
	bool changed = carom_world_get_vertices(d->world, d->ids[number], &view) == CAROM_SUCCESS || say(s, error);
	int32_t *from = changed ? map_vertices(s, part, view.count) : NULL;
	if (changed && !from)
		changed = sim_fail(error, "out of memory");
	changed = changed && (carom_world_set_mesh(d->world, d->ids[number], mesh, from, NULL) == CAROM_SUCCESS || say(s, error));
	soft_free(s, from, (size_t)part->vertex_count * sizeof *from);
	carom_release_mesh(mesh);
	return changed;
}

bool soft_change_meshes(const sim_soft *s, soft_detector *d, sim_error *error)
{
	for (int32_t i = 0; i < s->part_count; i++) {
		if (s->parts[i].tear_stretch > 0 && !change_mesh(s, d, i, error))
			return false;
	}
	return true;
}

static bool move_parts(const sim_soft *s, const soft_detector *d, const double *begin, const double *end, sim_error *error)
{
	for (int32_t i = 0; i < s->part_count; i++) {
		const carom_strided from = places_of(&s->parts[i], begin), to = places_of(&s->parts[i], end);
		if (!s->parts[i].rests && carom_world_set_vertices(d->world, d->ids[i], &from, &to) != CAROM_SUCCESS) {
			return sim_fail(error, "body \"%s\": %s", s->parts[i].name, carom_error_text(s->context));
		}
	}
	return true;
}

/// Bodies were added in the order of the parts, and none was removed: numbers are the same.
static const soft_part *part_of_body(const sim_soft *s, carom_body_id id) { return &s->parts[id.index1 - 1]; }

// Two features of one body that are nearer at rest than the thickness keep this part of that
// distance.
static const double REST_GAP_PART = 0.5;

/// How far the features of a contact keep apart. A mesh whose edges are shorter than the thickness
/// would burst if its own features were pushed so far from each other.
static double thickness_of(const sim_soft *s, const soft_contact *c)
{
	double d[3] = { 0, 0, 0 };
	if (s->part_of[c->vertices[0]] != s->part_of[c->vertices[3]])
		return s->def.thickness;
	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < 3; k++)
			d[k] += c->weight[i] * s->rest[3 * (int64_t)c->vertices[i] + k];
	}
	const double gap = sqrt(soft_dot(d, d));
	return gap < s->def.thickness ? REST_GAP_PART * gap : s->def.thickness;
}

/// An impact as a constraint. False when nothing in it can move.
static bool make_contact(const sim_soft *s, const carom_impact *impact, const double *begin, const double *end, soft_contact *c)
{
	const int first = impact->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
	const soft_part *a = part_of_body(s, impact->body_a), *b = part_of_body(s, impact->body_b);
	bool is_free = false;
	*c = (soft_contact){ .touching = impact->status == CAROM_SWEEP_TOUCHING, .friction = sqrt(a->friction * b->friction) };
	for (int i = 0; i < 4; i++) {
		c->vertices[i] = impact->vertices[i] + (i < first ? a : b)->first_vertex;
		c->weight[i] = i < first ? impact->weight[i] : -impact->weight[i];
		is_free |= s->carrier[c->vertices[i]] == SIM_SOFT_FREE;
	}
	for (int k = 0; k < 3; k++)
		c->normal[k] = impact->normal[k];
	c->inverse = soft_weigh_contact(s, c);
	c->thickness = thickness_of(s, c);
	if (c->thickness == s->def.thickness) // neighbours in a plane are side by side
		soft_straighten_normal(s, c, first, begin, end, impact->time, c->normal);
	c->start = soft_gap(c, begin);
	if (!(c->start > 0)) { // no plane lies between the features
		for (int k = 0; k < 3; k++)
			c->normal[k] = impact->normal[k];
		c->start = soft_gap(c, begin);
	}
	return is_free;
}

bool soft_find(sim_soft *s, soft_detector *detector, const double *begin, const double *end, sim_error *error)
{
	const double start = sim_now_ms();
	s->found.count = 0;
	if (!move_parts(s, detector, begin, end, error))
		return false;
	if (carom_world_step(detector->world) != CAROM_SUCCESS)
		return say(s, error);
	const carom_impact_view impacts = carom_world_impacts(detector->world);
	s->step.ms_detection += sim_now_ms() - start;
	s->step.searches++;
	for (int64_t i = 0; i < impacts.count; i++) {
		soft_contact *c = soft_add_contact(s, &s->found);
		if (!c) {
			return sim_fail(error, "out of memory");
		}
		s->step.impacts_undecided += impacts.data[i].status == CAROM_SWEEP_UNDECIDED;
		s->found.count -= !make_contact(s, &impacts.data[i], begin, end, c);
	}
	return true;
}

void soft_destroy_detector(soft_detector *d)
{
	if (!d)
		return;
	carom_destroy_world(d->world);
	const sim_soft shell = { .allocator = d->allocator };
	soft_free(&shell, d->ids, (size_t)d->part_count * sizeof *d->ids);
	soft_free(&shell, d, sizeof *d);
}
