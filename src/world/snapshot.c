/// Snapshots: all of a world that its next steps depend on, and the content of its views.
///
/// Saving copies flat arrays: bodies, places of vertices, results, and the memory of pairs, whose
/// lists go into one block. Restoring first makes all that may fail, beside the world's own data,
/// and then only copies. Nothing is kept of the broad phase, of the scene of impacts and of the
/// queries' tree, since the results do not depend on them: restored bodies count as moved, which
/// brings them up to date.
/// A saved body is a copy of its record in the world. Of numbers without a body the generation
/// alone is saved.
/// Cost of both: O(bodies + vertices of deforming bodies + results + lists of pairs), and no
/// allocation once the arrays are long enough.

#include "world/snapshot.h"
#include "frame/shape_table.h"
#include <string.h>

static const char *const create_name = "carom_create_snapshot";
static const char *const save_name = "carom_world_save";
static const char *const restore_name = "carom_world_restore";
static const char *const what = "a snapshot";

static bool is_deforming(const cr_body *body) { return body->kind == CAROM_DEFORMABLE || body->kind == CAROM_CLOTH; }

/// Make room in the first array for the content of the second; false: out of memory, nothing has
/// changed.
#define RESERVE_LIKE(context, to, from) cr_array_reserve((context), (to), (from)->count)
/// Copy into room that there is.
#define COPY_ARRAY(to, from) \
	((to)->count = (from)->count, copy_bytes((to)->data, (from)->data, (size_t)(from)->count * sizeof *(from)->data))

static void copy_bytes(void *to, const void *from, size_t bytes)
{
	if (bytes > 0)
		memcpy(to, from, bytes);
}

// ---- Results ----

static bool reserve_results(carom_context *context, cr_results *to, const cr_results *from)
{
	return RESERVE_LIKE(context, &to->contacts, &from->contacts) && RESERVE_LIKE(context, &to->local, &from->local) &&
		RESERVE_LIKE(context, &to->pairs, &from->pairs) && RESERVE_LIKE(context, &to->events, &from->events) &&
		RESERVE_LIKE(context, &to->body_pairs, &from->body_pairs) &&
		RESERVE_LIKE(context, &to->body_events, &from->body_events);
}

static void copy_results(cr_results *to, const cr_results *from)
{
	COPY_ARRAY(&to->contacts, &from->contacts);
	COPY_ARRAY(&to->local, &from->local);
	COPY_ARRAY(&to->pairs, &from->pairs);
	COPY_ARRAY(&to->events, &from->events);
	COPY_ARRAY(&to->body_pairs, &from->body_pairs);
	COPY_ARRAY(&to->body_events, &from->body_events);
}

// ---- Bodies ----

static void hold(carom_world *world, const cr_body *body)
{
	carom_retain_mesh(body->shape.mesh);
	if (cr_compound_of(body))
		cr_compound_of(body)->references++;
	if (!is_deforming(body) && world->pipeline.lab)
		world->pipeline.settings.lab.tools->hold(&world->pipeline, &body->shape);
}

static void let_go(carom_world *world, cr_body *body)
{
	if (!is_deforming(body) && world->pipeline.lab)
		world->pipeline.settings.lab.tools->drop(&world->pipeline, &body->shape);
	cr_shape_free(&body->shape);
	cr_release_compound(&world->memory, cr_compound_of(body));
	body->own.compound = NULL;
}

static void release_bodies(carom_snapshot *s)
{
	for (int64_t i = 0; s->world && i < s->bodies.count; i++)
		let_go(s->world, &s->bodies.data[i]);
	s->bodies.count = s->numbers.count = 0;
}

/// The numbers of a deforming body: its places and, of a solid, the ways of its parts.
static int64_t count_surface(const cr_surface *s, uint8_t kind)
{
	return 6 * (int64_t)s->vertex_count + (kind == CAROM_DEFORMABLE ? cr_part_numbers(s->parts.count) : 0);
}

static void save_surface(carom_snapshot *s, const cr_surface *d, uint8_t kind)
{
	double *numbers = s->places.data + s->places.count;
	const int64_t count = 3 * (int64_t)d->vertex_count;
	copy_bytes(numbers, d->begin, (size_t)count * sizeof(double));
	copy_bytes(numbers + count, d->end, (size_t)count * sizeof(double));
	if (kind == CAROM_DEFORMABLE)
		cr_parts_save(&d->parts, numbers + 2 * count);
	s->places.count += count_surface(d, kind);
}

/// Lists that a granular body may have beside its spheres.
enum { SPHERES_HAVE_IDS = 1, SPHERES_WERE_ELSEWHERE = 2, SPHERE_FLAGS = 3 };

static int flags_of(const cr_granular *g)
{
	return (g->ids.count > 0 ? SPHERES_HAVE_IDS : 0) | (g->was.count > 0 ? SPHERES_WERE_ELSEWHERE : 0);
}

/// Numbers of a granular body: how many spheres, flags, the spheres; of a continuous one its cr_way
/// and where they come from; then as flags say the bits of ids, and numbers of the last step.
static int64_t count_spheres(const cr_body *body, int64_t count, int flags)
{
	return 2 + 4 * count + (body->continuous ? 1 + 3 * count : 0) + (flags & SPHERES_HAVE_IDS ? count : 0) +
		(flags & SPHERES_WERE_ELSEWHERE ? count : 0);
}

static int64_t count_places(const carom_world *world)
{
	int64_t count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		if (body->alive)
			count += cr_deforming_of(body) ? count_surface(&cr_deforming_of(body)->surface, body->kind)
				: cr_granular_of(body)     ? count_spheres(body, cr_granular_of(body)->count, flags_of(cr_granular_of(body)))
				: cr_compound_of(body)     ? CR_POSE_NUMBERS
										   : 0;
	}
	return count;
}

static void save_pose(carom_snapshot *s, const carom_pose *pose)
{
	const carom_vec3 p = pose->position;
	const carom_quat q = pose->orientation;
	const double numbers[CR_POSE_NUMBERS] = { p.x, p.y, p.z, q.x, q.y, q.z, q.w };
	memcpy(s->places.data + s->places.count, numbers, sizeof numbers);
	s->places.count += CR_POSE_NUMBERS;
}

static void save_spheres(carom_snapshot *s, const cr_body *body)
{
	const cr_granular *g = cr_granular_of(body);
	double *to = s->places.data + s->places.count;
	*to++ = g->count;
	*to++ = flags_of(g);
	copy_bytes(to, g->spheres.data, 4 * (size_t)g->count * sizeof *to);
	to += 4 * (int64_t)g->count;
	s->places.count += count_spheres(body, g->count, flags_of(g));
	if (body->continuous) {
		*to++ = g->way;
		for (int64_t i = 0; i < g->count; i++)
			copy_bytes(&to[3 * i], cr_sphere_from(g, i), 3 * sizeof *to);
		to += 3 * (int64_t)g->count;
	}
	copy_bytes(to, g->ids.data, (size_t)g->ids.count * sizeof *to);
	to += g->ids.count;
	for (int64_t i = 0; i < g->was.count; i++)
		to[i] = g->was.data[i];
}

/// How many bodies come from elsewhere.
static int64_t count_courses(const carom_world *world)
{
	int64_t count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++)
		count += world->bodies.data[i].course != NULL;
	return count;
}

/// Let a saved body have a course of the snapshot, if it has one.
static void save_course(carom_snapshot *s, cr_body *body)
{
	if (!body->course)
		return;
	cr_course *saved = &s->courses.data[s->courses.count++];
	*saved = *body->course;
	saved->turned = false;
	body->course = saved;
}

static void save_bodies(carom_snapshot *s, carom_world *world)
{
	for (int64_t i = 0; i < world->bodies.count; i++) {
		if (world->bodies.data[i].alive)
			hold(world, &world->bodies.data[i]);
	}
	release_bodies(s);
	s->generations.count = world->bodies.count;
	COPY_ARRAY(&s->free_bodies, &world->free_bodies);
	COPY_ARRAY(&s->free_ranges, &world->free_ranges);
	s->first_generation = world->first_generation;
	s->body_count = world->body_count;
	s->shape_count = world->shape_count;
	s->places.count = s->courses.count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		s->generations.data[i] = world->bodies.data[i].generation;
		if (!world->bodies.data[i].alive)
			continue;
		s->numbers.data[s->numbers.count++] = (int32_t)i;
		cr_body *body = &s->bodies.data[s->bodies.count++];
		*body = world->bodies.data[i];
		save_course(s, body);
		if (cr_compound_of(body))
			save_pose(s, &cr_compound_of(body)->pose);
		if (cr_granular_of(body))
			save_spheres(s, body);
		if (cr_deforming_of(body))
			save_surface(s, &cr_deforming_of(body)->surface, body->kind);
		cr_forget_own(body);
	}
}

/// The world's body of this number, alive or not; NULL: there is none.
static cr_body *body_at(const carom_world *world, int64_t index)
{
	return index < world->bodies.count ? &world->bodies.data[index] : NULL;
}

const cr_body *cr_saved_body(const carom_snapshot *s, int64_t number)
{
	// Without free numbers each has its own place.
	if (number < s->numbers.count && s->numbers.data[number] == number)
		return &s->bodies.data[number];
	int64_t low = 0, high = number < s->numbers.count ? number : s->numbers.count;
	while (low < high) {
		const int64_t middle = low + (high - low) / 2;
		if (s->numbers.data[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->numbers.count && s->numbers.data[low] == number ? &s->bodies.data[low] : NULL;
}

/// Are the meshes of two shapes of one type the same one? That of a box follows from its size, and
/// is made when it is needed.
static bool has_mesh_of(const cr_shape *now, const cr_shape *saved)
{
	return !cr_has_mesh(&saved->def) || now->mesh == saved->mesh;
}

/// Is the body that the world has under a number still the one that was saved? Another may have got
/// its id after an earlier restore.
static bool is_kept(const cr_body *now, const cr_body *saved)
{
	return now && saved && now->alive && now->generation == saved->generation && now->kind == saved->kind &&
		now->sensor == saved->sensor && now->self_collision == saved->self_collision && now->contacts == saved->contacts &&
		now->thickness == saved->thickness && now->shape.def.type == saved->shape.def.type &&
		has_mesh_of(&now->shape, &saved->shape) && now->part == saved->part && cr_compound_of(now) == cr_compound_of(saved);
}

int64_t cr_count_saved_places(const cr_body *saved, const double *places, int64_t room)
{
	const int64_t before = is_deforming(saved) ? 6 * (int64_t)saved->shape.mesh->topology.vertex_count : 0;
	if (saved->kind != CAROM_GRANULAR && saved->kind != CAROM_DEFORMABLE)
		return before > 0 || !cr_compound_of(saved) ? before : CR_POSE_NUMBERS;
	// The number that tells how many follow.
	if (before >= room || !(places[before] >= 0 && places[before] <= INT32_MAX))
		return -1;
	if (saved->kind != CAROM_GRANULAR)
		return before + cr_part_numbers((int32_t)places[before]);
	if (before + 1 >= room || !(places[before + 1] >= 0 && places[before + 1] <= SPHERE_FLAGS))
		return -1;
	return before + count_spheres(saved, (int64_t)places[before], (int)places[before + 1]);
}

static void drop_made(carom_world *world, carom_snapshot *s)
{
	for (int64_t i = 0; i < s->bodies.count; i++) {
		cr_body *saved = &s->bodies.data[i];
		const cr_body *now = body_at(world, s->numbers.data[i]);
		if (cr_deforming_of(saved) && !(now && cr_deforming_of(now) == cr_deforming_of(saved)))
			cr_deforming_free(world, cr_deforming_of(saved));
		if (cr_granular_of(saved) && !(now && cr_granular_of(now) == cr_granular_of(saved)))
			cr_free_granular(&world->memory, cr_granular_of(saved));
		cr_forget_own(saved);
	}
}

/// Find or make the memory of granular bodies, with room for the saved spheres, as granular of the
/// saved ones.
static carom_result make_granular(carom_world *world, carom_snapshot *s)
{
	const double *places = s->places.data;
	for (int64_t i = 0; i < s->bodies.count; i++) {
		cr_body *saved = &s->bodies.data[i];
		const cr_body *now = body_at(world, s->numbers.data[i]);
		const double *own = places;
		places += cr_count_saved_places(saved, places, INT64_MAX);
		if (saved->kind != CAROM_GRANULAR)
			continue;
		const int64_t count = (int64_t)*own;
		bool made;
		if (is_kept(now, saved)) {
			saved->own.granular = cr_granular_of(now);
			made = cr_array_reserve(&world->memory, &cr_granular_of(now)->spheres, 4 * count);
		} else {
			saved->own.granular = cr_make_granular(&world->memory, (int32_t)count);
			made = cr_granular_of(saved) != NULL;
		}
		if (made && saved->continuous)
			made = cr_array_reserve(&world->memory, &cr_granular_of(saved)->begin, 3 * count);
		if (made && ((int)own[1] & SPHERES_HAVE_IDS))
			made = cr_array_reserve(&world->memory, &cr_granular_of(saved)->ids, count);
		if (made && ((int)own[1] & SPHERES_WERE_ELSEWHERE))
			made = cr_array_reserve(&world->memory, &cr_granular_of(saved)->was, count);
		if (!made) {
			drop_made(world, s);
			return cr_fail_memory(world->context, what);
		}
	}
	return CAROM_SUCCESS;
}

/// Find or make the memory of deforming bodies, as deforming of the saved ones.
static carom_result make_deforming(carom_world *world, carom_snapshot *s)
{
	for (int64_t i = 0; i < s->bodies.count; i++) {
		cr_body *saved = &s->bodies.data[i];
		const cr_body *now = body_at(world, s->numbers.data[i]);
		if (!is_deforming(saved))
			continue;
		if (is_kept(now, saved)) {
			saved->own.deforming = cr_deforming_of(now);
			continue;
		}
		const carom_result result = cr_deforming_create(&world->memory, saved->shape.mesh, &saved->pose,
			saved->kind == CAROM_DEFORMABLE, restore_name, &saved->own.deforming);
		if (result != CAROM_SUCCESS) {
			drop_made(world, s);
			return result;
		}
	}
	return CAROM_SUCCESS;
}

static bool filters_differ(const cr_body *a, const cr_body *b)
{
	return a->category != b->category || a->mask != b->mask || a->group != b->group;
}

/// Put a saved body (NULL: none) into its place in the world, which may be empty or another body's.
static void restore_body(carom_world *world, cr_body *now, cr_body *saved, uint32_t generation)
{
	const bool kept = is_kept(now, saved);
	cr_body old = *now;
	*now = saved ? *saved : (cr_body){ .generation = generation };
	now->moved = true;
	now->refiltered = now->refiltered || old.refiltered || !kept || filters_differ(&old, now);
	if (saved) {
		hold(world, saved);
		if (saved->course) {
			now->course = cr_take_course(&world->courses);
			*now->course = *saved->course;
		}
		cr_forget_own(saved);
	}
	if (!old.alive)
		return;
	if (cr_deforming_of(&old) && cr_deforming_of(&old) != cr_deforming_of(now))
		cr_deforming_free(world, cr_deforming_of(&old));
	if (cr_granular_of(&old) && cr_granular_of(&old) != cr_granular_of(now))
		cr_free_granular(&world->memory, cr_granular_of(&old));
	let_go(world, &old);
}

/// The spheres of a granular body and the lists beside them. Returns the number behind its own.
static const double *restore_grains(const cr_body *body, const double *places)
{
	cr_granular *g = cr_granular_of(body);
	g->count = (int32_t)*places++;
	const int flags = (int)*places++;
	copy_bytes(g->spheres.data, places, 4 * (size_t)g->count * sizeof *places);
	places += 4 * (int64_t)g->count;
	g->way = CR_WAY_NONE;
	if (body->continuous) {
		const int way = (int)*places++;
		g->way = (uint8_t)(way >= CR_WAY_NONE && way <= CR_WAY_NEW ? way : CR_WAY_NONE);
		copy_bytes(g->begin.data, places, 3 * (size_t)g->count * sizeof *places);
		places += 3 * (int64_t)g->count;
	}
	g->ids.count = flags & SPHERES_HAVE_IDS ? g->count : 0;
	copy_bytes(g->ids.data, places, (size_t)g->ids.count * sizeof *places);
	places += g->ids.count;
	g->was.count = flags & SPHERES_WERE_ELSEWHERE ? g->count : 0;
	// A damaged number is a sphere that was not there.
	for (int64_t i = 0; i < g->was.count; i++)
		g->was.data[i] = places[i] >= 0 && places[i] < INT32_MAX ? (int32_t)places[i] : -1;
	cr_measure_granular(g);
	return places + g->was.count;
}

static void restore_places(carom_world *world, const carom_snapshot *s)
{
	const double *places = s->places.data;
	for (int64_t i = 0; i < s->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[s->numbers.data[i]];
		cr_deforming *deforming = cr_deforming_of(body);
		cr_compound *compound = cr_compound_of(body);
		if (compound) {
			compound->pose = (carom_pose){ { places[0], places[1], places[2] }, { places[3], places[4], places[5], places[6] } };
			places += CR_POSE_NUMBERS;
		}
		if (cr_granular_of(body))
			places = restore_grains(body, places);
		if (!deforming)
			continue;
		cr_surface *d = &deforming->surface;
		const int64_t count = 3 * (int64_t)d->vertex_count;
		copy_bytes(d->begin, places, (size_t)count * sizeof *places);
		copy_bytes(d->end, places + count, (size_t)count * sizeof *places);
		places += 2 * count;
		if (s->bodies.data[i].kind == CAROM_DEFORMABLE) {
			cr_parts_restore(places, &d->parts);
			places += cr_part_numbers((int32_t)*places);
		}
		cr_surface_touch(d);
	}
}

static void restore_bodies(carom_world *world, carom_snapshot *s)
{
	cr_forget_courses(&world->courses); // the bodies get those that were saved
	const int64_t count = s->generations.count;
	while (world->bodies.count < count)
		world->bodies.data[world->bodies.count++] = (cr_body){ .generation = 1 };
	for (int64_t i = 0, next = 0; i < world->bodies.count; i++) {
		const bool lives = next < s->numbers.count && s->numbers.data[next] == i;
		restore_body(
			world, &world->bodies.data[i], lives ? &s->bodies.data[next++] : NULL, i < count ? s->generations.data[i] : 1);
	}
	// Numbers beyond those saved were never given out.
	world->bodies.count = count;
	COPY_ARRAY(&world->free_bodies, &s->free_bodies);
	COPY_ARRAY(&world->free_ranges, &s->free_ranges);
	cr_add_all_changes(&world->changes, world->bodies.count);
	cr_restore_sleep(&world->sleep, &s->sleep);
	world->sleep.count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++)
		world->sleep.count += world->bodies.data[i].asleep && world->bodies.data[i].part == 0;
	restore_places(world, s);
	world->first_generation = s->first_generation;
	world->body_count = s->body_count;
	world->shape_count = s->shape_count;
}

// ---- Impacts ----

/// Are the members of a scene still those of the bodies that are to be restored? Ids
/// alone do not tell.
static bool is_scene_kept(const carom_world *world, const cr_members *members, const carom_snapshot *s)
{
	for (int64_t i = 0; i < members->count; i++) {
		const cr_member *m = &members->data[i];
		const cr_body *now = body_at(world, m->body);
		if (!is_kept(now, cr_saved_body(s, m->body)) || now->generation != m->generation)
			return false;
	}
	return true;
}

static void restore_impacts(carom_world *world, const carom_snapshot *s, bool scene_kept)
{
	cr_impacts *impacts = &world->impacts;
	if (!scene_kept)
		cr_forget_impact_scene(impacts);
	cr_note_members(world);
	impacts->deforming_count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++)
		impacts->deforming_count += cr_deforming_of(&world->bodies.data[i]) != NULL;
	COPY_ARRAY(&impacts->found, &s->impacts);
	impacts->earliest = s->earliest;
	impacts->stats = s->sweep_stats;
}

static void restore_body_impacts(carom_world *world, const carom_snapshot *s)
{
	cr_continuous *continuous = &world->continuous;
	continuous->body_count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		continuous->body_count += body->alive && body->continuous && body->part == 0 && !cr_granular_of(body);
	}
	COPY_ARRAY(&continuous->found, &s->body_impacts);
}

static void restore_shape_impacts(carom_world *world, const carom_snapshot *s)
{
	cr_shape_impacts *impacts = &world->shape_impacts;
	impacts->body_count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		impacts->body_count += cr_deforming_of(body) && body->shape_impacts;
	}
	COPY_ARRAY(&impacts->found, &s->shape_impacts);
}

static void restore_surface_contacts(carom_world *world, const carom_snapshot *s)
{
	cr_surface_contacts *contacts = &world->surface_contacts;
	contacts->body_count = 0;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_body *body = &world->bodies.data[i];
		contacts->body_count += cr_is_thick(body);
	}
	COPY_ARRAY(&contacts->found, &s->surface_contacts);
	COPY_ARRAY(&contacts->carried, &s->carried);
	COPY_ARRAY(&contacts->carried_shapes, &s->carried_shapes);
	COPY_ARRAY(&contacts->found_shapes, &s->surface_shapes);
	contacts->known = s->known;
	contacts->known_shapes = s->known_shapes;
}

static void copy_spheres(cr_sphere_results *to, const cr_sphere_results *from)
{
	COPY_ARRAY(&to->contacts, &from->contacts);
	COPY_ARRAY(&to->by_pair, &from->by_pair);
	COPY_ARRAY(&to->groups, &from->groups);
	COPY_ARRAY(&to->pairs, &from->pairs);
}

static void restore_spheres(carom_world *world, const carom_snapshot *s)
{
	cr_sphere_contacts *contacts = &world->sphere_contacts;
	contacts->body_count = 0;
	contacts->sphere_count = 0;
	contacts->stale = true;
	for (int64_t i = 0; i < world->bodies.count; i++) {
		const cr_granular *g = cr_granular_of(&world->bodies.data[i]);
		contacts->body_count += g != NULL;
		contacts->sphere_count += g ? g->count : 0;
	}
	copy_spheres(&contacts->found, &s->spheres);
}

/// Room in some results of spheres for others.
static bool reserve_spheres(carom_context *context, cr_sphere_results *to, const cr_sphere_results *from)
{
	return RESERVE_LIKE(context, &to->contacts, &from->contacts) && RESERVE_LIKE(context, &to->by_pair, &from->by_pair) &&
		RESERVE_LIKE(context, &to->groups, &from->groups) && RESERVE_LIKE(context, &to->pairs, &from->pairs);
}

// ---- Calls ----

carom_result carom_create_snapshot(carom_world *world, carom_snapshot **snapshot)
{
	if (!snapshot)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: snapshot is NULL", create_name);
	*snapshot = NULL;
	carom_snapshot *made = cr_alloc_zero(world->context, sizeof *made);
	if (!made)
		return cr_fail_memory(world->context, what);
	made->context = world->context;
	made->world = world;
	made->next = world->snapshots;
	world->snapshots = made;
	atomic_fetch_add(&world->context->live_objects, 1);
	*snapshot = made;
	return CAROM_SUCCESS;
}

/// Free the saved arrays.
static void empty(carom_snapshot *s)
{
	release_bodies(s);
	cr_array_free(s->context, &s->bodies);
	cr_array_free(s->context, &s->numbers);
	cr_array_free(s->context, &s->generations);
	cr_array_free(s->context, &s->free_bodies);
	cr_array_free(s->context, &s->free_ranges);
	cr_array_free(s->context, &s->places);
	cr_array_free(s->context, &s->courses);
	cr_results_free(s->context, &s->results);
	cr_free_saved_sleep(s->context, &s->sleep);
	cr_array_free(s->context, &s->impacts);
	cr_array_free(s->context, &s->body_impacts);
	cr_array_free(s->context, &s->shape_impacts);
	cr_array_free(s->context, &s->surface_contacts);
	cr_array_free(s->context, &s->carried);
	cr_array_free(s->context, &s->carried_shapes);
	cr_array_free(s->context, &s->surface_shapes);
	cr_free_sphere_results(s->context, &s->spheres);
	cr_free_pair_copy(s->context, &s->remembered);
	s->filled = false;
}

void cr_orphan_snapshots(carom_world *world)
{
	for (carom_snapshot *s = world->snapshots; s; s = s->next) {
		empty(s);
		s->world = NULL;
	}
	world->snapshots = NULL;
}

void carom_destroy_snapshot(carom_snapshot *snapshot)
{
	if (!snapshot)
		return;
	carom_context *context = snapshot->context;
	empty(snapshot);
	for (carom_snapshot **s = snapshot->world ? &snapshot->world->snapshots : NULL; s && *s; s = &(*s)->next) {
		if (*s == snapshot) {
			*s = snapshot->next;
			break;
		}
	}
	cr_free(context, snapshot, sizeof *snapshot);
	atomic_fetch_sub(&context->live_objects, 1);
}

size_t carom_snapshot_memory(const carom_snapshot *s)
{
	const int64_t bytes = (int64_t)sizeof *s + s->bodies.capacity * (int64_t)sizeof *s->bodies.data +
		s->numbers.capacity * (int64_t)sizeof *s->numbers.data + s->generations.capacity * (int64_t)sizeof *s->generations.data +
		s->free_bodies.capacity * (int64_t)sizeof *s->free_bodies.data +
		s->free_ranges.capacity * (int64_t)sizeof *s->free_ranges.data + s->places.capacity * (int64_t)sizeof *s->places.data +
		s->courses.capacity * (int64_t)sizeof *s->courses.data +
		s->results.contacts.capacity * (int64_t)sizeof *s->results.contacts.data +
		s->results.local.capacity * (int64_t)sizeof *s->results.local.data +
		s->results.pairs.capacity * (int64_t)sizeof *s->results.pairs.data +
		s->results.events.capacity * (int64_t)sizeof *s->results.events.data +
		s->results.body_pairs.capacity * (int64_t)sizeof *s->results.body_pairs.data +
		s->results.body_events.capacity * (int64_t)sizeof *s->results.body_events.data +
		s->impacts.capacity * (int64_t)sizeof *s->impacts.data +
		s->body_impacts.capacity * (int64_t)sizeof *s->body_impacts.data +
		s->shape_impacts.capacity * (int64_t)sizeof *s->shape_impacts.data +
		s->surface_contacts.capacity * (int64_t)sizeof *s->surface_contacts.data +
		s->carried.capacity * (int64_t)sizeof *s->carried.data +
		s->carried_shapes.capacity * (int64_t)sizeof *s->carried_shapes.data +
		s->surface_shapes.capacity * (int64_t)sizeof *s->surface_shapes.data +
		s->spheres.contacts.capacity * (int64_t)sizeof *s->spheres.contacts.data +
		s->spheres.by_pair.capacity * (int64_t)sizeof *s->spheres.by_pair.data +
		s->spheres.groups.capacity * (int64_t)sizeof *s->spheres.groups.data +
		s->spheres.pairs.capacity * (int64_t)sizeof *s->spheres.pairs.data +
		s->sleep.pairs.capacity * (int64_t)sizeof *s->sleep.pairs.data +
		s->sleep.contacts.capacity * (int64_t)sizeof *s->sleep.contacts.data +
		s->sleep.body_pairs.capacity * (int64_t)sizeof *s->sleep.body_pairs.data + cr_pair_copy_bytes(&s->remembered);
	return (size_t)bytes;
}

static carom_result check(const carom_world *world, const carom_snapshot *snapshot, const char *name)
{
	if (!snapshot)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: snapshot is NULL", name);
	if (snapshot->world != world)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: snapshot was made for another world", name);
	return cr_check_may_change(world, name);
}

carom_result carom_world_save(carom_world *world, carom_snapshot *s)
{
	const carom_result result = check(world, s, save_name);
	if (result != CAROM_SUCCESS)
		return result;
	const cr_results *results = &world->results[world->current];
	const cr_copy_source pairs = { &world->pipeline, world->bodies.data, world->bodies.count };
	if (!cr_array_reserve(s->context, &s->bodies, world->shape_count) ||
		!cr_array_reserve(s->context, &s->numbers, world->shape_count) ||
		!cr_array_reserve(s->context, &s->generations, world->bodies.count) ||
		!RESERVE_LIKE(s->context, &s->free_bodies, &world->free_bodies) ||
		!RESERVE_LIKE(s->context, &s->free_ranges, &world->free_ranges) ||
		!cr_array_reserve(s->context, &s->places, count_places(world)) ||
		!cr_array_reserve(s->context, &s->courses, count_courses(world)) ||
		!reserve_results(s->context, &s->results, results) || !RESERVE_LIKE(s->context, &s->impacts, &world->impacts.found) ||
		!RESERVE_LIKE(s->context, &s->body_impacts, &world->continuous.found) ||
		!RESERVE_LIKE(s->context, &s->shape_impacts, &world->shape_impacts.found) ||
		!RESERVE_LIKE(s->context, &s->surface_contacts, &world->surface_contacts.found) ||
		!RESERVE_LIKE(s->context, &s->carried, &world->surface_contacts.carried) ||
		!RESERVE_LIKE(s->context, &s->carried_shapes, &world->surface_contacts.carried_shapes) ||
		!RESERVE_LIKE(s->context, &s->surface_shapes, &world->surface_contacts.found_shapes) ||
		!reserve_spheres(s->context, &s->spheres, &world->sphere_contacts.found) ||
		!cr_reserve_saved_sleep(s->context, &s->sleep, &world->sleep) ||
		!cr_reserve_pair_copy(s->context, &pairs, &s->remembered))
		return cr_fail_memory(world->context, what);
	save_bodies(s, world);
	copy_results(&s->results, results);
	cr_save_sleep(&s->sleep, &world->sleep);
	COPY_ARRAY(&s->impacts, &world->impacts.found);
	s->earliest = world->impacts.earliest;
	COPY_ARRAY(&s->body_impacts, &world->continuous.found);
	COPY_ARRAY(&s->shape_impacts, &world->shape_impacts.found);
	COPY_ARRAY(&s->surface_contacts, &world->surface_contacts.found);
	COPY_ARRAY(&s->carried, &world->surface_contacts.carried);
	COPY_ARRAY(&s->carried_shapes, &world->surface_contacts.carried_shapes);
	COPY_ARRAY(&s->surface_shapes, &world->surface_contacts.found_shapes);
	copy_spheres(&s->spheres, &world->sphere_contacts.found);
	s->known = world->surface_contacts.known;
	s->known_shapes = world->surface_contacts.known_shapes;
	s->sweep_stats = world->impacts.stats;
	s->stats = world->stats;
	if (world->pipeline.lab)
		memcpy(s->lab, world->pipeline.lab, sizeof s->lab);
	cr_fill_pair_copy(&pairs, &s->remembered);
	s->filled = true;
	return CAROM_SUCCESS;
}

/// Room in the world for all that a snapshot holds.
static bool reserve_world(carom_world *world, const carom_snapshot *s)
{
	carom_context *memory = &world->memory;
	const int64_t saved = s->generations.count, bodies = world->bodies.count > saved ? world->bodies.count : saved;
	// As many as the saved bodies with parts may leave when they go (cr_reserve_numbers).
	const int64_t ranges = s->shape_count > s->body_count ? (saved + 1) / 2 : s->free_ranges.count;
	return cr_array_reserve(memory, &world->bodies, bodies) && cr_array_reserve(memory, &world->free_bodies, bodies) &&
		cr_reserve_changes(memory, &world->changes, bodies) && cr_reserve_sleep(memory, &world->sleep, &s->sleep, bodies) &&
		cr_reserve_courses(memory, &world->courses, s->courses.count) &&
		cr_reserve_sure_courses(memory, &world->courses, bodies) && cr_array_reserve(memory, &world->free_ranges, ranges) &&
		reserve_results(memory, &world->results[world->current], &s->results) &&
		RESERVE_LIKE(memory, &world->impacts.found, &s->impacts) &&
		RESERVE_LIKE(memory, &world->continuous.found, &s->body_impacts) &&
		RESERVE_LIKE(memory, &world->shape_impacts.found, &s->shape_impacts) &&
		RESERVE_LIKE(memory, &world->surface_contacts.found, &s->surface_contacts) &&
		RESERVE_LIKE(memory, &world->surface_contacts.carried, &s->carried) &&
		RESERVE_LIKE(memory, &world->surface_contacts.carried_shapes, &s->carried_shapes) &&
		RESERVE_LIKE(memory, &world->surface_contacts.found_shapes, &s->surface_shapes) &&
		reserve_spheres(memory, &world->sphere_contacts.found, &s->spheres) &&
		cr_reserve_for_pairs(&world->pipeline, &s->remembered);
}

/// All that may fail. On success the snapshot points at the new data.
static carom_result prepare(carom_world *world, carom_snapshot *s, cr_kept_tails *tails)
{
	if (!reserve_world(world, s))
		return cr_fail_memory(world->context, what);
	carom_result result = make_deforming(world, s);
	if (result == CAROM_SUCCESS)
		result = make_granular(world, s);
	if (result != CAROM_SUCCESS)
		return result;
	if (cr_lay_pairs(&world->pipeline, &s->remembered, tails))
		return CAROM_SUCCESS;
	drop_made(world, s);
	return cr_fail_memory(world->context, what);
}

carom_result carom_world_restore(carom_world *world, carom_snapshot *s)
{
	carom_result result = check(world, s, restore_name);
	if (result != CAROM_SUCCESS)
		return result;
	if (!s->filled)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT, "%s: snapshot is empty: carom_world_save fills it", restore_name);
	if (world->recorder)
		return cr_fail(world->context, CAROM_INVALID_ARGUMENT,
			"%s: the world is being recorded, and recordings cannot go back: end it by carom_world_record first", restore_name);
	const unsigned refusals = cr_count_refusals(world);
	cr_kept_tails tails = { 0 };
	result = prepare(world, s, &tails);
	if (result != CAROM_SUCCESS)
		return cr_explain_failure(world, restore_name, refusals, result);
	const bool scene_kept = is_scene_kept(world, &world->impacts.members.list, s);
	if (!is_scene_kept(world, &world->surface_contacts.members.list, s))
		cr_forget_surface_scene(&world->surface_contacts);
	restore_bodies(world, s);
	restore_impacts(world, s, scene_kept);
	restore_body_impacts(world, s);
	restore_shape_impacts(world, s);
	restore_surface_contacts(world, s);
	restore_spheres(world, s);
	cr_forget_clearances(world);
	cr_adopt_pairs(&world->pipeline, &s->remembered, tails);
	if (world->pipeline.lab)
		memcpy(world->pipeline.lab, s->lab, sizeof s->lab);
	copy_results(&world->results[world->current], &s->results);
	world->stats = s->stats;
	cr_box_index_invalidate(world->query_index);
	return CAROM_SUCCESS;
}
