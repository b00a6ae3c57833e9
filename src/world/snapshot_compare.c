/// Do two snapshots say the same? For peers that simulate in step: a hash to exchange, and the
/// first difference where hashes differ.
///
/// Each list of a snapshot has records, and each record is a row of words, 64 bits each, under
/// fixed names. A hash folds all words; a comparison looks for the first word that differs. Both
/// read a record through one function, so they agree on the words that count. Meshes and numbers of
/// the user (user data, pair data) are not read: both may be pointers, which differ between
/// programs. Cost: O(bodies + vertices of deforming bodies + results), no allocation.

#include "world/snapshot.h"
#include "base/hash.h"
#include "frame/shape_table.h"

enum { MAX_WORDS = 48 };

typedef uint64_t words[MAX_WORDS];

/// One list of a snapshot.
typedef struct list_kind {
	const char *name;
	int64_t (*count)(const carom_snapshot *s);
	void (*read)(const carom_snapshot *s, int64_t i, words w);
	carom_body_id (*body)(const carom_snapshot *s, int64_t i); // that a record is about
	int word_count;
	const char *const *fields; // [word_count]
} list_kind;

#define FIELDS(array) (int)(sizeof array / sizeof *array), array

static uint64_t word_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static uint64_t word_of_id(carom_body_id id) { return (uint64_t)id.index1 << 32 | id.generation; }

static int read_pose(const carom_pose *pose, uint64_t *w)
{
	const double numbers[7] = { pose->position.x, pose->position.y, pose->position.z, pose->orientation.x, pose->orientation.y,
		pose->orientation.z, pose->orientation.w };
	for (int k = 0; k < 7; k++)
		w[k] = word_of(numbers[k]);
	return 7;
}

// ---- Bodies ----

static const char *const body_fields[] = { "existence", "generation", "kind", "sensor", "self_collision", "continuous",
	"contacts", "shape_impacts", "thickness", "category", "mask", "group", "shape.type", "shape.radius", "shape.half_length",
	"shape.half_extents", "shape.half_extents", "shape.half_extents", "shape.rounding", "part", "part_count or part_room",
	"shape.mesh: vertices", "shape.mesh: triangles", "pose.position", "pose.position", "pose.position", "pose.orientation",
	"pose.orientation", "pose.orientation", "pose.orientation", "last pose.position", "last pose.position",
	"last pose.position", "last pose.orientation", "last pose.orientation", "last pose.orientation", "last pose.orientation",
	"begin", "begin.position", "begin.position", "begin.position", "begin.orientation", "begin.orientation",
	"begin.orientation", "begin.orientation" };

static int64_t count_bodies(const carom_snapshot *s) { return s->generations.count; }

/// The id under which a number of the world is known.
static carom_body_id id_of_body(const carom_snapshot *s, int64_t i)
{
	const cr_body *body = cr_saved_body(s, i);
	const int64_t first = body ? i - body->part : i;
	return (carom_body_id){ (uint32_t)first + 1, s->generations.data[first] };
}

static void read_body(const carom_snapshot *s, int64_t i, words w)
{
	const cr_body *b = cr_saved_body(s, i);
	int n = 0;
	// So that hashes of worlds without sleep stay, both are one word.
	w[n++] = (b != NULL) | (uint64_t)(b && b->asleep) << 1;
	w[n++] = s->generations.data[i];
	if (!b)
		return;
	const carom_shape *shape = &b->shape.def;
	const carom_mesh *mesh = cr_has_mesh(shape) ? b->shape.mesh : NULL;
	w[n++] = b->kind;
	w[n++] = b->sensor;
	w[n++] = b->self_collision;
	w[n++] = b->continuous;
	w[n++] = b->contacts;
	w[n++] = b->shape_impacts;
	w[n++] = word_of(b->thickness);
	w[n++] = b->category;
	w[n++] = b->mask;
	w[n++] = (uint64_t)(int64_t)b->group;
	w[n++] = (uint64_t)shape->type;
	w[n++] = word_of(shape->radius);
	w[n++] = word_of(shape->half_length);
	for (int k = 0; k < 3; k++)
		w[n++] = word_of(shape->half_extents[k]);
	w[n++] = word_of(shape->rounding);
	w[n++] = (uint64_t)b->part;
	// One word with the room that the caller gave, so that hashes of worlds without any stay.
	const cr_compound *parts = cr_compound_of(b);
	w[n++] = parts ? (uint64_t)parts->count | (parts->grows ? (uint64_t)parts->room << 32 : 0) : 0;
	w[n++] = mesh ? (uint64_t)mesh->topology.vertex_count : 0;
	w[n++] = mesh ? (uint64_t)mesh->topology.triangle_count : 0;
	n += read_pose(&b->pose, w + n);
	n += read_pose(cr_last_pose(b), w + n);
	w[n++] = b->course && b->course->has_begin;
	if (b->course && b->course->has_begin)
		read_pose(&b->course->begin, w + n);
}

// ---- Other lists of bodies ----

static const char *const free_fields[] = { "number" };

static int64_t count_free(const carom_snapshot *s) { return s->free_bodies.count; }

static void read_free(const carom_snapshot *s, int64_t i, words w) { w[0] = (uint64_t)s->free_bodies.data[i]; }

static const char *const range_fields[] = { "number", "count" };

static int64_t count_ranges(const carom_snapshot *s) { return s->free_ranges.count; }

static void read_range(const carom_snapshot *s, int64_t i, words w)
{
	w[0] = (uint64_t)s->free_ranges.data[i].first;
	w[1] = (uint64_t)s->free_ranges.data[i].count;
}

static const char *const place_fields[] = { "coordinate" };

static int64_t count_places(const carom_snapshot *s) { return s->places.count; }

static void read_place(const carom_snapshot *s, int64_t i, words w) { w[0] = word_of(s->places.data[i]); }

static carom_body_id no_body(const carom_snapshot *s, int64_t i)
{
	(void)s, (void)i;
	return (carom_body_id){ 0 };
}

/// The body, deforming, granular or with parts, that a coordinate belongs to.
static carom_body_id body_of_place(const carom_snapshot *s, int64_t i)
{
	for (int64_t body = 0, end = 0; body < s->bodies.count; body++) {
		end += cr_count_saved_places(&s->bodies.data[body], s->places.data + end, INT64_MAX);
		if (i < end)
			return id_of_body(s, s->numbers.data[body]);
	}
	return (carom_body_id){ 0 };
}

// ---- Results ----

static const char *const contact_fields[] = { "body_a", "body_b", "point", "point", "point", "normal", "normal", "normal",
	"depth", "feature_a", "feature_b", "kind", "age", "impulse", "impulse", "impulse", "material_a", "material_b", "shape_a",
	"shape_b" };

static int64_t count_contacts(const carom_snapshot *s) { return s->results.contacts.count; }

static carom_body_id body_of_contact(const carom_snapshot *s, int64_t i) { return s->results.contacts.data[i].body_a; }

static void put_contact(const carom_contact *c, words w)
{
	int n = 0;
	w[n++] = word_of_id(c->body_a);
	w[n++] = word_of_id(c->body_b);
	for (int k = 0; k < 3; k++)
		w[n++] = word_of(c->point[k]);
	for (int k = 0; k < 3; k++)
		w[n++] = word_of((double)c->normal[k]);
	w[n++] = word_of((double)c->depth);
	w[n++] = (uint64_t)(int64_t)c->feature_a;
	w[n++] = (uint64_t)(int64_t)c->feature_b;
	w[n++] = (uint64_t)c->kind;
	w[n++] = (uint64_t)(int64_t)c->age;
	for (int k = 0; k < 3; k++)
		w[n++] = word_of((double)c->impulse[k]);
	w[n++] = c->material_a;
	w[n++] = c->material_b;
	w[n++] = (uint64_t)c->shape_a;
	w[n++] = (uint64_t)c->shape_b;
}

static void read_contact(const carom_snapshot *s, int64_t i, words w) { put_contact(&s->results.contacts.data[i], w); }

static int64_t count_sleeping_contacts(const carom_snapshot *s) { return s->sleep.contacts.count; }

static carom_body_id body_of_sleeping_contact(const carom_snapshot *s, int64_t i) { return s->sleep.contacts.data[i].body_a; }

static void read_sleeping_contact(const carom_snapshot *s, int64_t i, words w) { put_contact(&s->sleep.contacts.data[i], w); }

static const char *const pair_fields[] = { "body_a", "body_b", "contact_count", "found_count", "age", "shape_a", "shape_b",
	"surface_contact_count", "surface_shape_contact_count", "sphere_contact_count", "sphere_group" };

static int64_t count_pairs(const carom_snapshot *s) { return s->results.pairs.count; }

static carom_body_id body_of_pair(const carom_snapshot *s, int64_t i) { return s->results.pairs.data[i].body_a; }

static void put_pair(const carom_pair *p, words w)
{
	w[0] = word_of_id(p->body_a);
	w[1] = word_of_id(p->body_b);
	w[2] = (uint64_t)(int64_t)p->contact_count;
	w[3] = (uint64_t)(int64_t)p->found_count;
	w[4] = (uint64_t)(int64_t)p->age;
	w[5] = (uint64_t)p->shape_a;
	w[6] = (uint64_t)p->shape_b;
	w[7] = (uint64_t)p->surface_contact_count;
	w[8] = (uint64_t)p->surface_shape_contact_count;
	w[9] = (uint64_t)p->sphere_contact_count;
	w[10] = (uint64_t)(int64_t)p->sphere_group;
}

static void read_pair(const carom_snapshot *s, int64_t i, words w) { put_pair(&s->results.pairs.data[i], w); }

static int64_t count_sleeping_pairs(const carom_snapshot *s) { return s->sleep.pairs.count; }

static carom_body_id body_of_sleeping_pair(const carom_snapshot *s, int64_t i) { return s->sleep.pairs.data[i].pair.body_a; }

/// The age is that of now.
static void read_sleeping_pair(const carom_snapshot *s, int64_t i, words w)
{
	const cr_sleeping_pair *p = &s->sleep.pairs.data[i];
	put_pair(&p->pair, w);
	w[4] += (uint64_t)(s->stats.step - p->step);
}

static const char *const event_fields[] = { "body_a", "body_b", "kind", "shape_a", "shape_b" };

static int64_t count_events(const carom_snapshot *s) { return s->results.events.count; }

static carom_body_id body_of_event(const carom_snapshot *s, int64_t i) { return s->results.events.data[i].body_a; }

static void read_event(const carom_snapshot *s, int64_t i, words w)
{
	const carom_event *e = &s->results.events.data[i];
	w[0] = word_of_id(e->body_a);
	w[1] = word_of_id(e->body_b);
	w[2] = (uint64_t)e->kind;
	w[3] = (uint64_t)e->shape_a;
	w[4] = (uint64_t)e->shape_b;
}

static const char *const body_pair_fields[] = { "body_a", "body_b", "pair_count", "contact_count", "found_count", "age" };

static int64_t count_body_pairs(const carom_snapshot *s) { return s->results.body_pairs.count; }

static carom_body_id body_of_body_pair(const carom_snapshot *s, int64_t i) { return s->results.body_pairs.data[i].body_a; }

static void put_body_pair(const carom_body_pair *p, words w)
{
	w[0] = word_of_id(p->body_a);
	w[1] = word_of_id(p->body_b);
	w[2] = (uint64_t)p->pair_count;
	w[3] = (uint64_t)p->contact_count;
	w[4] = (uint64_t)p->found_count;
	w[5] = (uint64_t)p->age;
}

static void read_body_pair(const carom_snapshot *s, int64_t i, words w) { put_body_pair(&s->results.body_pairs.data[i], w); }

static int64_t count_sleeping_bodies(const carom_snapshot *s) { return s->sleep.body_pairs.count; }

static carom_body_id body_of_sleeping_bodies(const carom_snapshot *s, int64_t i)
{
	return s->sleep.body_pairs.data[i].pair.body_a;
}

static void read_sleeping_bodies(const carom_snapshot *s, int64_t i, words w)
{
	const cr_sleeping_body_pair *p = &s->sleep.body_pairs.data[i];
	put_body_pair(&p->pair, w);
	w[5] += (uint64_t)(s->stats.step - p->step);
}

static const char *const body_event_fields[] = { "body_a", "body_b", "kind" };

static int64_t count_body_events(const carom_snapshot *s) { return s->results.body_events.count; }

static carom_body_id body_of_body_event(const carom_snapshot *s, int64_t i) { return s->results.body_events.data[i].body_a; }

static void read_body_event(const carom_snapshot *s, int64_t i, words w)
{
	const carom_body_event *e = &s->results.body_events.data[i];
	w[0] = word_of_id(e->body_a);
	w[1] = word_of_id(e->body_b);
	w[2] = (uint64_t)e->kind;
}

static const char *const impact_fields[] = { "body_a", "body_b", "kind", "status", "vertices", "vertices", "vertices",
	"vertices", "triangle", "time", "weight", "weight", "weight", "weight", "normal", "normal", "normal", "shape_a", "shape_b" };

static int64_t count_impacts(const carom_snapshot *s) { return s->impacts.count; }

static carom_body_id body_of_impact(const carom_snapshot *s, int64_t i) { return s->impacts.data[i].body_a; }

static void read_impact(const carom_snapshot *s, int64_t i, words w)
{
	const carom_impact *m = &s->impacts.data[i];
	int n = 0;
	w[n++] = word_of_id(m->body_a);
	w[n++] = word_of_id(m->body_b);
	w[n++] = (uint64_t)m->kind;
	w[n++] = (uint64_t)m->status;
	for (int k = 0; k < 4; k++)
		w[n++] = (uint64_t)(int64_t)m->vertices[k];
	w[n++] = (uint64_t)(int64_t)m->triangle;
	w[n++] = word_of(m->time);
	for (int k = 0; k < 4; k++)
		w[n++] = word_of(m->weight[k]);
	for (int k = 0; k < 3; k++)
		w[n++] = word_of(m->normal[k]);
	w[n++] = (uint64_t)m->shape_a;
	w[n++] = (uint64_t)m->shape_b;
}

static const char *const body_impact_fields[] = { "body_a", "body_b", "shape_a", "shape_b", "status", "sensor", "time",
	"distance", "point", "point", "point", "normal", "normal", "normal", "triangle_a", "triangle_b" };

static int64_t count_body_impacts(const carom_snapshot *s) { return s->body_impacts.count; }

static carom_body_id body_of_body_impact(const carom_snapshot *s, int64_t i) { return s->body_impacts.data[i].body_a; }

static void read_body_impact(const carom_snapshot *s, int64_t i, words w)
{
	const carom_body_impact *m = &s->body_impacts.data[i];
	int n = 0;
	w[n++] = word_of_id(m->body_a);
	w[n++] = word_of_id(m->body_b);
	w[n++] = (uint64_t)m->shape_a;
	w[n++] = (uint64_t)m->shape_b;
	w[n++] = (uint64_t)m->status;
	w[n++] = m->sensor;
	w[n++] = word_of(m->time);
	w[n++] = word_of(m->distance);
	for (int k = 0; k < 3; k++)
		w[n++] = word_of(v3d_get(m->point, k));
	for (int k = 0; k < 3; k++)
		w[n++] = word_of(v3d_get(m->normal, k));
	w[n++] = (uint64_t)(int64_t)m->triangle_a;
	w[n++] = (uint64_t)(int64_t)m->triangle_b;
}

static const char *const shape_impact_fields[] = { "body_a", "body_b", "shape_b", "status", "vertices", "vertices", "vertices",
	"triangle", "time", "distance", "weight", "weight", "weight", "point", "point", "point", "normal", "normal", "normal" };

static int64_t count_shape_impacts(const carom_snapshot *s) { return s->shape_impacts.count; }

static carom_body_id body_of_shape_impact(const carom_snapshot *s, int64_t i) { return s->shape_impacts.data[i].body_a; }

static void read_shape_impact(const carom_snapshot *s, int64_t i, words w)
{
	const carom_shape_impact *m = &s->shape_impacts.data[i];
	int n = 0;
	w[n++] = word_of_id(m->body_a);
	w[n++] = word_of_id(m->body_b);
	w[n++] = (uint64_t)m->shape_b;
	w[n++] = (uint64_t)m->status;
	for (int k = 0; k < 3; k++)
		w[n++] = (uint64_t)(int64_t)m->vertices[k];
	w[n++] = (uint64_t)(int64_t)m->triangle;
	w[n++] = word_of(m->time);
	w[n++] = word_of(m->distance);
	for (int k = 0; k < 3; k++)
		w[n++] = word_of(m->weight[k]);
	for (int k = 0; k < 3; k++)
		w[n++] = word_of(v3d_get(m->point, k));
	for (int k = 0; k < 3; k++)
		w[n++] = word_of(v3d_get(m->normal, k));
}

// ---- Surface contacts ----

static int read_vector(const carom_vec3 *v, uint64_t *w)
{
	w[0] = word_of(v->x);
	w[1] = word_of(v->y);
	w[2] = word_of(v->z);
	return 3;
}

static void read_impulse(const float impulse[3], uint64_t *w)
{
	for (int k = 0; k < 3; k++)
		w[k] = word_of((double)impulse[k]);
}

static const char *const surface_contact_fields[] = { "body_a", "body_b", "shape_a", "shape_b", "kind", "vertices", "vertices",
	"vertices", "vertices", "triangle", "side", "through", "led", "age", "weight", "weight", "weight", "weight", "point_a",
	"point_a", "point_a", "point_b", "point_b", "point_b", "normal", "normal", "normal", "distance", "thickness", "impulse",
	"impulse", "impulse" };

static int64_t count_surface_contacts(const carom_snapshot *s) { return s->surface_contacts.count; }

static carom_body_id body_of_surface_contact(const carom_snapshot *s, int64_t i) { return s->surface_contacts.data[i].body_a; }

static void put_surface_contact(const carom_surface_contact *c, words w)
{
	int n = 0;
	w[n++] = word_of_id(c->body_a);
	w[n++] = word_of_id(c->body_b);
	w[n++] = (uint64_t)c->shape_a;
	w[n++] = (uint64_t)c->shape_b;
	w[n++] = (uint64_t)c->kind;
	for (int k = 0; k < 4; k++)
		w[n++] = (uint64_t)(int64_t)c->vertices[k];
	w[n++] = (uint64_t)(int64_t)c->triangle;
	w[n++] = (uint64_t)(int64_t)c->side;
	w[n++] = c->through;
	w[n++] = c->led;
	w[n++] = (uint64_t)c->age;
	for (int k = 0; k < 4; k++)
		w[n++] = word_of(c->weight[k]);
	n += read_vector(&c->point_a, w + n);
	n += read_vector(&c->point_b, w + n);
	n += read_vector(&c->normal, w + n);
	w[n++] = word_of(c->distance);
	w[n++] = word_of(c->thickness);
	read_impulse(c->impulse, w + n);
}

static void read_surface_contact(const carom_snapshot *s, int64_t i, words w)
{
	put_surface_contact(&s->surface_contacts.data[i], w);
}

static int64_t count_carried(const carom_snapshot *s) { return s->carried.count; }

static carom_body_id body_of_carried(const carom_snapshot *s, int64_t i) { return s->carried.data[i].body_a; }

static void read_carried(const carom_snapshot *s, int64_t i, words w) { put_surface_contact(&s->carried.data[i], w); }

static const char *const surface_shape_fields[] = { "body_a", "body_b", "shape_b", "vertices", "vertices", "vertices",
	"triangle", "led", "age", "weight", "weight", "weight", "point", "point", "point", "normal", "normal", "normal", "distance",
	"thickness", "impulse", "impulse", "impulse" };

static int64_t count_surface_shapes(const carom_snapshot *s) { return s->surface_shapes.count; }

static carom_body_id body_of_surface_shape(const carom_snapshot *s, int64_t i) { return s->surface_shapes.data[i].body_a; }

static void put_surface_shape(const carom_surface_shape_contact *c, words w)
{
	int n = 0;
	w[n++] = word_of_id(c->body_a);
	w[n++] = word_of_id(c->body_b);
	w[n++] = (uint64_t)c->shape_b;
	for (int k = 0; k < 3; k++)
		w[n++] = (uint64_t)(int64_t)c->vertices[k];
	w[n++] = (uint64_t)(int64_t)c->triangle;
	w[n++] = c->led;
	w[n++] = (uint64_t)c->age;
	for (int k = 0; k < 3; k++)
		w[n++] = word_of(c->weight[k]);
	n += read_vector(&c->point, w + n);
	n += read_vector(&c->normal, w + n);
	w[n++] = word_of(c->distance);
	w[n++] = word_of(c->thickness);
	read_impulse(c->impulse, w + n);
}

static void read_surface_shape(const carom_snapshot *s, int64_t i, words w)
{
	put_surface_shape(&s->surface_shapes.data[i], w);
}

static int64_t count_carried_shapes(const carom_snapshot *s) { return s->carried_shapes.count; }

static carom_body_id body_of_carried_shape(const carom_snapshot *s, int64_t i) { return s->carried_shapes.data[i].body_a; }

static void read_carried_shape(const carom_snapshot *s, int64_t i, words w)
{
	put_surface_shape(&s->carried_shapes.data[i], w);
}

static const char *const sphere_contact_fields[] = { "body_a", "body_b", "sphere", "shape_b", "triangle", "material_b", "age",
	"weight", "weight", "weight", "point", "point", "point", "normal", "normal", "normal", "depth", "impulse", "impulse",
	"impulse" };

static int64_t count_sphere_contacts(const carom_snapshot *s) { return s->spheres.contacts.count; }

static carom_body_id body_of_sphere_contact(const carom_snapshot *s, int64_t i) { return s->spheres.contacts.data[i].body_a; }

static void read_sphere_contact(const carom_snapshot *s, int64_t i, words w)
{
	const carom_sphere_contact *c = &s->spheres.contacts.data[i];
	int n = 0;
	w[n++] = word_of_id(c->body_a);
	w[n++] = word_of_id(c->body_b);
	w[n++] = (uint64_t)c->sphere;
	w[n++] = (uint64_t)c->shape_b;
	w[n++] = (uint64_t)(int64_t)c->triangle;
	w[n++] = c->material_b;
	w[n++] = (uint64_t)c->age;
	for (int k = 0; k < 3; k++)
		w[n++] = word_of(c->weight[k]);
	n += read_vector(&c->point, w + n);
	n += read_vector(&c->normal, w + n);
	w[n++] = word_of(c->depth);
	read_impulse(c->impulse, w + n);
}

static const char *const sphere_group_fields[] = { "body_a", "body_b", "pair_count" };

static int64_t count_sphere_groups(const carom_snapshot *s) { return s->spheres.groups.count; }

static carom_body_id body_of_sphere_group(const carom_snapshot *s, int64_t i) { return s->spheres.groups.data[i].body_a; }

static void read_sphere_group(const carom_snapshot *s, int64_t i, words w)
{
	const carom_sphere_group *g = &s->spheres.groups.data[i];
	w[0] = word_of_id(g->body_a);
	w[1] = word_of_id(g->body_b);
	w[2] = (uint64_t)g->pair_count;
}

static const char *const sphere_pair_fields[] = { "a", "b" };

static int64_t count_sphere_pairs(const carom_snapshot *s) { return s->spheres.pairs.count; }

static void read_sphere_pair(const carom_snapshot *s, int64_t i, words w)
{
	w[0] = s->spheres.pairs.data[i].a;
	w[1] = s->spheres.pairs.data[i].b;
}

// ---- All lists ----

static const list_kind lists[] = {
	{ "bodies", count_bodies, read_body, id_of_body, FIELDS(body_fields) },
	{ "free ids", count_free, read_free, no_body, FIELDS(free_fields) },
	{ "free ids of bodies with parts", count_ranges, read_range, no_body, FIELDS(range_fields) },
	{ "places", count_places, read_place, body_of_place, FIELDS(place_fields) },
	{ "contacts", count_contacts, read_contact, body_of_contact, FIELDS(contact_fields) },
	{ "pairs", count_pairs, read_pair, body_of_pair, FIELDS(pair_fields) },
	{ "events", count_events, read_event, body_of_event, FIELDS(event_fields) },
	{ "pairs of bodies", count_body_pairs, read_body_pair, body_of_body_pair, FIELDS(body_pair_fields) },
	{ "events of bodies", count_body_events, read_body_event, body_of_body_event, FIELDS(body_event_fields) },
	{ "impacts", count_impacts, read_impact, body_of_impact, FIELDS(impact_fields) },
	{ "body impacts", count_body_impacts, read_body_impact, body_of_body_impact, FIELDS(body_impact_fields) },
	{ "shape impacts", count_shape_impacts, read_shape_impact, body_of_shape_impact, FIELDS(shape_impact_fields) },
	{ "surface contacts", count_surface_contacts, read_surface_contact, body_of_surface_contact,
		FIELDS(surface_contact_fields) },
	{ "surface contacts of other meshes", count_carried, read_carried, body_of_carried, FIELDS(surface_contact_fields) },
	{ "surface contacts with shapes", count_surface_shapes, read_surface_shape, body_of_surface_shape,
		FIELDS(surface_shape_fields) },
	{ "surface contacts with other shapes", count_carried_shapes, read_carried_shape, body_of_carried_shape,
		FIELDS(surface_shape_fields) },
	{ "sphere contacts", count_sphere_contacts, read_sphere_contact, body_of_sphere_contact, FIELDS(sphere_contact_fields) },
	{ "groups of sphere pairs", count_sphere_groups, read_sphere_group, body_of_sphere_group, FIELDS(sphere_group_fields) },
	{ "sphere pairs", count_sphere_pairs, read_sphere_pair, no_body, FIELDS(sphere_pair_fields) },
	{ "pairs asleep", count_sleeping_pairs, read_sleeping_pair, body_of_sleeping_pair, FIELDS(pair_fields) },
	{ "contacts asleep", count_sleeping_contacts, read_sleeping_contact, body_of_sleeping_contact, FIELDS(contact_fields) },
	{ "pairs of bodies asleep", count_sleeping_bodies, read_sleeping_bodies, body_of_sleeping_bodies, FIELDS(body_pair_fields) },
};

// The last ones do not count where they are empty, so that hashes of worlds without sleep stay.
enum { LISTS = sizeof lists / sizeof *lists, ALWAYS = LISTS - 3 };

static uint64_t hash_list(const list_kind *kind, const carom_snapshot *s, uint64_t hash)
{
	const int64_t count = kind->count(s);
	hash = cr_hash_u64(hash, (uint64_t)count);
	for (int64_t i = 0; i < count; i++) {
		words w = { 0 };
		kind->read(s, i, w);
		for (int k = 0; k < kind->word_count; k++)
			hash = cr_hash_u64(hash, w[k]);
	}
	return hash;
}

uint64_t carom_snapshot_hash(const carom_snapshot *snapshot)
{
	uint64_t hash = CR_HASH_SEED;
	for (int k = 0; k < LISTS; k++) {
		if (k < ALWAYS || lists[k].count(snapshot) > 0)
			hash = hash_list(&lists[k], snapshot, hash);
	}
	// so that hashes of worlds that were not trimmed are those of earlier libraries
	return snapshot->first_generation > 1 ? cr_hash_u64(hash, snapshot->first_generation) : hash;
}

/// Finds the first word of two records that differs; word_count when there is none.
static int find_word(const list_kind *kind, const carom_snapshot *a, const carom_snapshot *b, int64_t i)
{
	words wa = { 0 }, wb = { 0 };
	kind->read(a, i, wa);
	kind->read(b, i, wb);
	int k = 0;
	while (k < kind->word_count && wa[k] == wb[k])
		k++;
	return k;
}

/// Finds the first difference between two lists. Of lists that agree as far as both go the longer
/// one differs in its next record.
static bool find_difference(
	const list_kind *kind, const carom_snapshot *a, const carom_snapshot *b, carom_snapshot_difference *difference)
{
	const int64_t count_a = kind->count(a), count_b = kind->count(b);
	const int64_t both = count_a < count_b ? count_a : count_b;
	for (int64_t i = 0; i < both; i++) {
		const int word = find_word(kind, a, b, i);
		if (word < kind->word_count) {
			*difference = (carom_snapshot_difference){ kind->name, kind->fields[word], i, kind->body(a, i) };
			return true;
		}
	}
	if (count_a == count_b)
		return false;
	*difference = (carom_snapshot_difference){ kind->name, "count", both, kind->body(count_a > both ? a : b, both) };
	return true;
}

bool carom_snapshots_differ(const carom_snapshot *a, const carom_snapshot *b, carom_snapshot_difference *difference)
{
	carom_snapshot_difference found = { 0 };
	bool differ = false;
	for (int k = 0; k < LISTS && !differ; k++)
		differ = find_difference(&lists[k], a, b, &found);
	if (!differ && a->first_generation != b->first_generation) {
		differ = true;
		found = (carom_snapshot_difference){ "free ids", "generation", count_free(a), { 0 } };
	}
	if (difference)
		*difference = found;
	return differ;
}
