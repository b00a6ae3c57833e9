/// Contacts and forces of the bodies of one process. See rigid_scene.h.
///
/// Equal bits for any share-out come from five things. Bodies are in the world in the order of
/// their ids, so that a pair has the same body A everywhere; images of one body have the order of
/// their places. The world remembers nothing of pairs (CAROM_TEMPORAL_NONE): contacts depend on the
/// present poses alone. Contacts come sorted by bodies and features, and each body adds them up in
/// that order, so by the other's id. Both bodies of a pair compute it from the same numbers, in the
/// same order. The springs of friction are kept by both, and are equal.
///
/// Own bodies have category OWN and meet all; ghosts meet own ones only: a pair of two ghosts is
/// some other process's, and is left out before it is tested.
#include "rigid_scene.h"

#include "grain_law.h"
#include "sim/base/rotations.h"
#include "sim/base/state_hash.h"
#include <carom/carom.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN = 1, GHOST = 2, WALL = 4 };

/// A body of the world: which of the caller's.
typedef struct entry {
	int64_t id;
	int64_t at; ///< in the caller's arrays
	int32_t type;
	bool own;
	double place[3]; ///< when it was listed
} entry;

typedef struct type_form {
	rigid_form form;
	bool given;
} type_form;

struct rigid_scene {
	carom_lammps_law law;
	int contacts;
	carom_context *context;
	carom_world *world;
	type_form *forms; // [form_count] by type
	int form_count;
	carom_mesh **walls;
	int wall_count;
	entry *entries; // [entry_count] as in the world: entry k has index k + 1; walls follow
	int64_t entry_count, entry_capacity;
	carom_body_id *ids; // [entry_count + wall_count]
	carom_pose *poses;  // likewise
	rigid_touches next; // of own bodies: those that the step makes
	rigid_touch *old;   // of the pair at hand
	bool *claimed;      // likewise
	int32_t old_capacity;
	double *rows;
	int64_t row_count, row_capacity;
	double deepest, elastic;
	uint64_t hash;
	char error[512];
};

static bool fail(rigid_scene *s, const char *text)
{
	snprintf(s->error, sizeof s->error, "%s", text);
	return false;
}

static bool fail_library(rigid_scene *s) { return fail(s, carom_error_text(s->context)); }

/// Room for count elements of some bytes in *array, whose present room is *capacity.
static bool reserve(rigid_scene *s, void **array, int64_t *capacity, int64_t count, size_t bytes)
{
	if (count <= *capacity)
		return true;
	const int64_t more = count + count / 2 + 16;
	void *moved = realloc(*array, (size_t)more * bytes);
	if (!moved)
		return fail(s, "out of memory");
	*array = moved;
	*capacity = more;
	return true;
}

// ---- Making ----

rigid_scene *rigid_scene_create(const carom_lammps_law *law, int contacts, char *error, int error_size)
{
	rigid_scene *s = calloc(1, sizeof *s);
	if (!s) {
		snprintf(error, (size_t)error_size, "out of memory");
		return NULL;
	}
	s->law = *law;
	s->contacts = contacts;
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	if (carom_create_context(&def, &s->context) == CAROM_SUCCESS)
		return s;
	snprintf(error, (size_t)error_size, "the library cannot be used on this thread, or memory is short");
	rigid_scene_destroy(s);
	return NULL;
}

void rigid_scene_destroy(rigid_scene *s)
{
	if (!s)
		return;
	carom_destroy_world(s->world);
	for (int i = 0; i < s->form_count; i++)
		rigid_form_free(&s->forms[i].form);
	for (int i = 0; i < s->wall_count; i++)
		carom_release_mesh(s->walls[i]);
	carom_destroy_context(s->context);
	rigid_touches_free(&s->next);
	free(s->forms);
	free((void *)s->walls);
	free(s->entries);
	free(s->ids);
	free(s->poses);
	free(s->old);
	free(s->claimed);
	free(s->rows);
	free(s);
}

/// The text of a failed call that read a file, with the file's name.
static bool fail_file(rigid_scene *s, const char *path, const char *why)
{
	snprintf(s->error, sizeof s->error, "%s: %s", path, why);
	return false;
}

bool rigid_scene_add_form(rigid_scene *s, int type, const char *path, double scale)
{
	char why[400];
	if (type >= s->form_count) {
		type_form *forms = realloc(s->forms, (size_t)(type + 1) * sizeof *forms);
		if (!forms)
			return fail(s, "out of memory");
		memset(forms + s->form_count, 0, (size_t)(type + 1 - s->form_count) * sizeof *forms);
		s->forms = forms;
		s->form_count = type + 1;
	}
	type_form *f = &s->forms[type];
	rigid_form_free(&f->form);
	f->given = rigid_form_load(s->context, path, scale, &f->form, why, sizeof why);
	return f->given || fail_file(s, path, why);
}

const rigid_form *rigid_scene_form(const rigid_scene *s, int type)
{
	return type > 0 && type < s->form_count && s->forms[type].given ? &s->forms[type].form : NULL;
}

bool rigid_scene_add_wall(rigid_scene *s, const char *path, double scale)
{
	char why[400];
	carom_mesh **walls = (carom_mesh **)realloc((void *)s->walls, (size_t)(s->wall_count + 1) * sizeof *walls);
	if (!walls)
		return fail(s, "out of memory");
	s->walls = walls;
	walls[s->wall_count] = rigid_wall_load(s->context, path, scale, why, sizeof why);
	if (!walls[s->wall_count])
		return fail_file(s, path, why);
	s->wall_count++;
	return true;
}

void rigid_wall_rotate(const double point[3], const double axis[3], double period, double time, rigid_wall_motion *motion)
{
	const double turns = time / period, rate = 2 * SIM_PI / period / sim_length3(axis);
	const carom_quat q = sim_axis_angle(axis, 2 * SIM_PI * (turns - floor(turns)));
	const carom_vec3 moved = carom_rotate(q, (carom_vec3){ point[0], point[1], point[2] });
	*motion = (rigid_wall_motion){ .pose = { { point[0] - moved.x, point[1] - moved.y, point[2] - moved.z }, q } };
	for (int k = 0; k < 3; k++) {
		motion->about[k] = point[k];
		motion->spin[k] = rate * axis[k];
	}
}

// ---- The world ----

static int64_t id_of(const rigid_atoms *atoms, int64_t i)
{
	return atoms->wide ? ((const int64_t *)atoms->ids)[i] : ((const int32_t *)atoms->ids)[i];
}

/// Order by ids; images of one body by their places.
static int compare_entries(const void *left, const void *right)
{
	const entry *a = left, *b = right;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	for (int k = 0; k < 3; k++) {
		if (a->place[k] != b->place[k])
			return a->place[k] < b->place[k] ? -1 : 1;
	}
	return 0;
}

static bool find_entries(rigid_scene *s, const rigid_atoms *atoms)
{
	s->entry_count = 0;
	for (int64_t i = 0; i < atoms->count; i++) {
		if (!(atoms->groups[i] & atoms->group))
			continue;
		if (!rigid_scene_form(s, atoms->types[i]))
			return fail(s, "a body of the group has a type without a mesh");
		if (!reserve(s, (void **)&s->entries, &s->entry_capacity, s->entry_count + 1, sizeof *s->entries))
			return false;
		entry *e = &s->entries[s->entry_count++];
		*e = (entry){ .id = id_of(atoms, i), .at = i, .type = atoms->types[i], .own = i < atoms->own };
		memcpy(e->place, atoms->places + 3 * i, sizeof e->place);
	}
	if (s->entry_count > 0)
		qsort(s->entries, (size_t)s->entry_count, sizeof *s->entries, compare_entries);
	return true;
}

static bool add_body(rigid_scene *s, int64_t k, const carom_mesh *mesh, uint64_t category, uint64_t mask, carom_body_kind kind)
{
	carom_body_def def = carom_default_body_def();
	def.shape.type = CAROM_MESH;
	def.shape.mesh = mesh;
	def.kind = kind;
	def.category = category;
	def.mask = mask;
	def.user_data = (uint64_t)k;
	if (carom_world_add_body(s->world, &def, &s->ids[k]) != CAROM_SUCCESS)
		return fail_library(s);
	return s->ids[k].index1 == (uint32_t)k + 1 || fail(s, "indices of a new world are not in order");
}

static bool open_world(rigid_scene *s)
{
	carom_destroy_world(s->world);
	s->world = NULL;
	carom_world_def def = carom_default_world_def();
	def.temporal = CAROM_TEMPORAL_NONE;
	def.max_contacts_per_pair = s->contacts;
	return carom_create_world(s->context, &def, &s->world) == CAROM_SUCCESS || fail_library(s);
}

bool rigid_scene_list(rigid_scene *s, const rigid_atoms *atoms)
{
	if (!find_entries(s, atoms) || !open_world(s))
		return false;
	const int64_t bodies = s->entry_count + s->wall_count;
	carom_body_id *ids = realloc(s->ids, (size_t)(bodies + 1) * sizeof *ids);
	s->ids = ids ? ids : s->ids;
	carom_pose *poses = realloc(s->poses, (size_t)(bodies + 1) * sizeof *poses);
	s->poses = poses ? poses : s->poses;
	if (!ids || !poses)
		return fail(s, "out of memory");
	for (int64_t k = 0; k < s->entry_count; k++) {
		const entry *e = &s->entries[k];
		if (!add_body(s, k, s->forms[e->type].form.mesh, e->own ? OWN : GHOST, e->own ? OWN | GHOST | WALL : OWN, CAROM_DYNAMIC))
			return false;
	}
	for (int k = 0; k < s->wall_count; k++) {
		if (!add_body(s, s->entry_count + k, s->walls[k], WALL, OWN, CAROM_STATIC))
			return false;
	}
	return true;
}

static bool find_contacts(rigid_scene *s, const rigid_atoms *atoms, const rigid_wall_motion *walls)
{
	for (int64_t k = 0; k < s->entry_count; k++) {
		const double *x = atoms->places + 3 * s->entries[k].at;
		const rigid_turn *turn = &atoms->turns[s->entries[k].at];
		s->poses[k] = (carom_pose){ { x[0], x[1], x[2] }, { turn->x, turn->y, turn->z, turn->w } };
	}
	for (int k = 0; k < s->wall_count; k++)
		s->poses[s->entry_count + k] = walls[k].pose;
	const int bodies = (int)s->entry_count + s->wall_count;
	if (bodies > 0 && carom_world_set_poses(s->world, bodies, s->ids, s->poses) != CAROM_SUCCESS)
		return fail_library(s);
	return carom_world_step(s->world) == CAROM_SUCCESS || fail_library(s);
}

// ---- Forces ----

/// The two bodies of a contact, and what the caller wants of them.
typedef struct couple {
	int64_t a, b;      // in the caller's arrays; b is -1 for a wall
	bool own_a, own_b; // of the caller
	int64_t id_a, id_b;
	carom_pose pose; // of a
	vec3 place_a, velocity_a, spin_a, place_b, velocity_b, spin_b;
	double mass; // of both, reduced
} couple;

static void join_body(const rigid_atoms *atoms, int64_t i, vec3 *place, vec3 *velocity, vec3 *spin)
{
	*place = vec3_read(atoms->places + 3 * i);
	*velocity = vec3_read(atoms->velocities + 3 * i);
	*spin = vec3_read(atoms->spins + 3 * i);
}

static couple join(const rigid_scene *s, const rigid_atoms *atoms, const rigid_wall_motion *walls, const carom_contact *c)
{
	const int64_t k = (int64_t)c->body_a.index1 - 1, l = (int64_t)c->body_b.index1 - 1;
	const entry *a = &s->entries[k];
	couple p = { .a = a->at, .b = -1, .own_a = a->own, .id_a = a->id, .pose = s->poses[k], .mass = atoms->masses[a->at] };
	join_body(atoms, p.a, &p.place_a, &p.velocity_a, &p.spin_a);
	if (l < s->entry_count) {
		const entry *b = &s->entries[l];
		p.b = b->at;
		p.own_b = b->own;
		p.id_b = b->id;
		const double mass = atoms->masses[b->at];
		p.mass = p.mass * mass / (p.mass + mass);
		join_body(atoms, p.b, &p.place_b, &p.velocity_b, &p.spin_b);
		return p;
	}
	const rigid_wall_motion *wall = &walls[l - s->entry_count];
	p.id_b = -1 - (l - s->entry_count);
	p.place_b = vec3_read(wall->about);
	p.velocity_b = vec3_read(wall->velocity);
	p.spin_b = vec3_read(wall->spin);
	return p;
}

/// The touches of the last step between the two bodies go to s->old. Returns how many; -1: out of
/// memory.
static int32_t recall(rigid_scene *s, const couple *p, const rigid_touches *touches)
{
	const rigid_touch_list *list = &touches->lists[p->own_a ? p->a : p->b];
	const int64_t partner = p->own_a ? p->id_b : p->id_a;
	if (list->count > s->old_capacity) {
		const int32_t capacity = 2 * list->count;
		rigid_touch *old = realloc(s->old, (size_t)capacity * sizeof *old);
		s->old = old ? old : s->old;
		bool *claimed = realloc(s->claimed, (size_t)capacity * sizeof *claimed);
		s->claimed = claimed ? claimed : s->claimed;
		if (!old || !claimed)
			return -1;
		s->old_capacity = capacity;
	}
	int32_t count = 0;
	for (int32_t i = 0; i < list->count; i++) {
		if (list->data[i].partner != partner)
			continue;
		s->claimed[count] = false;
		s->old[count++] = list->data[i];
	}
	return count;
}

static vec3 local_point(const couple *p, const carom_contact *c)
{
	const carom_vec3 v = carom_inverse_transform_point(p->pose, (carom_vec3){ c->point[0], c->point[1], c->point[2] });
	return (vec3){ v.x, v.y, v.z };
}

/// Mark the touch of the last step with the same features. -1: there is none.
static int32_t claim_same(rigid_scene *s, int32_t old_count, const carom_contact *c)
{
	for (int32_t i = 0; i < old_count; i++) {
		const rigid_touch *o = &s->old[i];
		if (!s->claimed[i] && o->kind == (int32_t)c->kind && o->feature_a == c->feature_a && o->feature_b == c->feature_b) {
			s->claimed[i] = true;
			return i;
		}
	}
	return -1;
}

/// Mark the nearest touch that no contact has, if it is nearer than reach. -1: there is none.
static int32_t claim_near(rigid_scene *s, int32_t old_count, vec3 point, double reach)
{
	int32_t best = -1;
	double nearest = reach * reach;
	for (int32_t i = 0; i < old_count; i++) {
		const vec3 way = vec3_sub(vec3_read(s->old[i].point), point);
		const double square = vec3_dot(way, way);
		if (!s->claimed[i] && square < nearest) {
			nearest = square;
			best = i;
		}
	}
	if (best >= 0)
		s->claimed[best] = true;
	return best;
}

static void add(double *sums, int64_t i, vec3 v)
{
	sums[3 * i] += v.x;
	sums[3 * i + 1] += v.y;
	sums[3 * i + 2] += v.z;
}

/// The force on a at a point of the contact, and how its spring is then.
static vec3 push(
	const rigid_scene *s, const couple *p, const carom_contact *c, vec3 arm_a, vec3 arm_b, double time_step, vec3 *spring)
{
	const vec3 raw = { (double)c->normal[0], (double)c->normal[1], (double)c->normal[2] };
	const vec3 normal = vec3_scale(raw, 1 / sqrt(vec3_dot(raw, raw)));
	const vec3 at_a = vec3_add(p->velocity_a, vec3_cross(p->spin_a, arm_a));
	const vec3 at_b = vec3_add(p->velocity_b, vec3_cross(p->spin_b, arm_b));
	const vec3 velocity = vec3_sub(at_a, at_b);
	const double approach = vec3_dot(velocity, normal);
	const vec3 slip = vec3_sub(velocity, vec3_scale(normal, approach));
	const double size = fmax(0, s->law.kn * (double)c->depth - p->mass * s->law.gamman * approach);
	const vec3 friction = s->law.style == CAROM_LAMMPS_HOOKE
		? grain_rub(&s->law, slip, p->mass, size)
		: grain_stretch(&s->law, normal, slip, p->mass * s->law.gammat, 1, size, time_step, spring);
	return vec3_add(vec3_scale(normal, size), friction);
}

static bool add_row(rigid_scene *s, const couple *p, const carom_contact *c, vec3 force)
{
	if (!reserve(s, (void **)&s->rows, &s->row_capacity, RIGID_ROW * (s->row_count + 1), sizeof *s->rows))
		return false;
	double *row = s->rows + RIGID_ROW * s->row_count++;
	row[RIGID_ROW_A] = (double)p->id_a;
	row[RIGID_ROW_B] = (double)p->id_b;
	row[RIGID_ROW_KIND] = (double)c->kind;
	row[RIGID_ROW_FEATURE] = (double)c->feature_a;
	row[RIGID_ROW_FEATURE + 1] = (double)c->feature_b;
	for (int k = 0; k < 3; k++) {
		row[RIGID_ROW_POINT + k] = c->point[k];
		row[RIGID_ROW_NORMAL + k] = (double)c->normal[k];
	}
	row[RIGID_ROW_DEPTH] = (double)c->depth;
	row[RIGID_ROW_FORCE] = force.x;
	row[RIGID_ROW_FORCE + 1] = force.y;
	row[RIGID_ROW_FORCE + 2] = force.z;
	s->hash += sim_hash_doubles(SIM_HASH_START, row, RIGID_ROW_FORCE);
	s->deepest = fmax(s->deepest, (double)c->depth);
	s->elastic += 0.5 * s->law.kn * (double)c->depth * (double)c->depth;
	return true;
}

/// One contact, which continues a touch of the last step or none (NULL).
static bool apply(rigid_scene *s, const couple *p, const carom_contact *c, const rigid_touch *old, double time_step,
	double *forces, double *torques)
{
	const vec3 normal = { (double)c->normal[0], (double)c->normal[1], (double)c->normal[2] };
	const vec3 middle = rigid_middle(vec3_read(c->point), normal, (double)c->depth);
	const vec3 arm_a = vec3_sub(middle, p->place_a), arm_b = vec3_sub(middle, p->place_b);
	vec3 spring = old ? vec3_read(old->spring) : (vec3){ 0, 0, 0 };
	const vec3 force = push(s, p, c, arm_a, arm_b, time_step, &spring), back = vec3_scale(force, -1);
	const vec3 point = local_point(p, c);
	rigid_touch touch = { .kind = (int32_t)c->kind,
		.feature_a = c->feature_a,
		.feature_b = c->feature_b,
		.point = { point.x, point.y, point.z },
		.spring = { spring.x, spring.y, spring.z } };
	const bool remembered = s->law.style != CAROM_LAMMPS_HOOKE;
	if (p->own_a) {
		add(forces, p->a, force);
		add(torques, p->a, vec3_cross(arm_a, force));
		touch.partner = p->id_b;
		if ((remembered && !rigid_touches_add(&s->next, p->a, &touch)) || !add_row(s, p, c, force))
			return fail(s, "out of memory");
	}
	if (p->own_b) {
		add(forces, p->b, back);
		add(torques, p->b, vec3_cross(arm_b, back));
		touch.partner = p->id_a;
		if (remembered && !rigid_touches_add(&s->next, p->b, &touch))
			return fail(s, "out of memory");
	}
	return true;
}

enum { MOST_CONTACTS = 256 }; // of a pair, whose springs go on where features change

/// Contacts of one pair. Those with the features of the last step go on first, then those that are
/// near one of them.
static bool apply_pair(rigid_scene *s, const rigid_atoms *atoms, const rigid_wall_motion *walls, const carom_contact *contacts,
	int32_t count, double time_step, const rigid_touches *touches, double *forces, double *torques)
{
	const couple p = join(s, atoms, walls, contacts);
	int32_t from[MOST_CONTACTS];
	const int32_t old_count = s->law.style == CAROM_LAMMPS_HOOKE ? 0 : recall(s, &p, touches);
	if (old_count < 0)
		return fail(s, "out of memory");
	const double reach = 0.1 * s->forms[s->entries[contacts->body_a.index1 - 1].type].form.radius;
	for (int32_t i = 0; i < count && i < MOST_CONTACTS; i++)
		from[i] = claim_same(s, old_count, &contacts[i]);
	for (int32_t i = 0; i < count && i < MOST_CONTACTS && old_count > 0; i++)
		from[i] = from[i] >= 0 ? from[i] : claim_near(s, old_count, local_point(&p, &contacts[i]), reach);
	for (int32_t i = 0; i < count; i++) {
		const int32_t old = i < MOST_CONTACTS ? from[i] : -1;
		if (!apply(s, &p, &contacts[i], old >= 0 ? &s->old[old] : NULL, time_step, forces, torques))
			return false;
	}
	return true;
}

/// The touches of this step take the place of those of the last one.
static void hand_over(rigid_scene *s, const rigid_atoms *atoms, rigid_touches *touches)
{
	for (int64_t i = 0; i < atoms->own; i++) {
		const rigid_touch_list before = touches->lists[i];
		touches->lists[i] = s->next.lists[i];
		s->next.lists[i] = before;
		s->next.lists[i].count = 0;
	}
	touches->most = s->next.most;
	s->next.most = 0;
}

bool rigid_scene_step(rigid_scene *s, const rigid_atoms *atoms, const rigid_wall_motion *walls, double time_step,
	rigid_touches *touches, double *forces, double *torques)
{
	s->row_count = 0;
	s->deepest = s->elastic = 0;
	s->hash = 0;
	if (!rigid_touches_grow(&s->next, atoms->own))
		return fail(s, "out of memory");
	if (!find_contacts(s, atoms, walls))
		return false;
	const carom_contact_view contacts = carom_world_contacts(s->world);
	const carom_pair_view pairs = carom_world_pairs(s->world);
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *pair = &pairs.data[i];
		if (pair->contact_count > 0 &&
			!apply_pair(
				s, atoms, walls, contacts.data + pair->first_contact, pair->contact_count, time_step, touches, forces, torques))
			return false;
	}
	hand_over(s, atoms, touches);
	return true;
}

rigid_report rigid_scene_report(const rigid_scene *s)
{
	return (rigid_report){ s->rows, s->row_count, s->deepest, s->elastic, s->hash };
}

const char *rigid_scene_error(const rigid_scene *s) { return s->error; }

size_t rigid_scene_bytes(const rigid_scene *s) { return carom_memory_in_use(s->context); }
