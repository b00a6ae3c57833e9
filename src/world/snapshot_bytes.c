/// Snapshots as bytes: carom_snapshot_save and carom_snapshot_load.
///
/// The bytes are a head, and behind it the arrays of a snapshot as they lie in memory, each from a
/// multiple of 64 on. Pointers are not among them: loading first saves the world that it is for,
/// checks that its bodies are those of the bytes, and keeps their meshes and parts. A digest of all
/// bytes comes before everything else. The sizes of all records are a part of the head, so a
/// library that was built otherwise refuses the bytes.

#include "frame/shape_table.h"
#include "world/baked.h"
#include "world/snapshot.h"
#include <string.h>

#define MAGIC "CAROMSNP"

enum { VERSION = 9, BYTE_ORDER = 0x01020304, MOST_LISTS = 31, ALIGNMENT = CR_BAKED_ALIGNMENT };

static const char *const save_name = "carom_snapshot_save";
static const char *const load_name = "carom_snapshot_load";

/// The content of a snapshot beside its arrays.
typedef struct plain {
	int32_t body_count, shape_count;
	uint32_t first_generation;
	int64_t earliest, known, known_shapes;
	carom_sweep_stats sweep_stats;
	carom_stats stats;
	unsigned char lab[CR_LAB_BYTES];
} plain;

typedef struct head {
	_Alignas(ALIGNMENT) char magic[8]; // so the digest, which is of multiples of that, takes it
	uint32_t version, byte_order;
	uint64_t size, digest, layout;
	int64_t counts[MOST_LISTS]; // of the bodies, then of the other arrays
	plain rest;
} head;

/// A body without its pointers.
typedef struct body_record {
	cr_body body;
	carom_shape_type type;
	int32_t vertex_count, triangle_count; // of its mesh
	bool in_parts;
	bool has_course; // the next one of those that are saved
} body_record;

/// An array of a snapshot.
typedef struct column {
	const char *name;
	void *data; // the address of its pointer
	int64_t *count, *capacity;
	size_t element;
} column;

// ---- The arrays ----

#define COLUMN(name, array)                                                              \
	{                                                                                    \
		name, &(array)->data, &(array)->count, &(array)->capacity, sizeof *(array)->data \
	}

/// All arrays but the bodies. Returns how many.
static int list_columns(carom_snapshot *s, column columns[MOST_LISTS])
{
	const column all[] = {
		COLUMN("numbers", &s->numbers),
		COLUMN("generations", &s->generations),
		COLUMN("free ids", &s->free_bodies),
		COLUMN("free ids of bodies with parts", &s->free_ranges),
		COLUMN("places", &s->places),
		COLUMN("courses", &s->courses),
		COLUMN("contacts", &s->results.contacts),
		COLUMN("local contacts", &s->results.local),
		COLUMN("pairs", &s->results.pairs),
		COLUMN("events", &s->results.events),
		COLUMN("pairs of bodies", &s->results.body_pairs),
		COLUMN("events of bodies", &s->results.body_events),
		COLUMN("pairs asleep", &s->sleep.pairs),
		COLUMN("contacts asleep", &s->sleep.contacts),
		COLUMN("pairs of bodies asleep", &s->sleep.body_pairs),
		COLUMN("impacts", &s->impacts),
		COLUMN("body impacts", &s->body_impacts),
		COLUMN("shape impacts", &s->shape_impacts),
		COLUMN("surface contacts", &s->surface_contacts),
		COLUMN("surface contacts of other meshes", &s->carried),
		COLUMN("surface shape contacts", &s->surface_shapes),
		COLUMN("surface shape contacts of other shapes", &s->carried_shapes),
		COLUMN("sphere contacts", &s->spheres.contacts),
		COLUMN("sphere contacts by pair", &s->spheres.by_pair),
		COLUMN("sphere groups", &s->spheres.groups),
		COLUMN("sphere pairs", &s->spheres.pairs),
		COLUMN("pairs that remember", &s->remembered.pairs),
		COLUMN("memories", &s->remembered.memories),
		COLUMN("lists", &s->remembered.lists),
	};
	_Static_assert(sizeof all / sizeof *all < MOST_LISTS, "the head has room for all counts");
	memcpy(columns, all, sizeof all);
	return (int)(sizeof all / sizeof *all);
}

static void *data_of(const column *c)
{
	void *data;
	memcpy(&data, c->data, sizeof data);
	return data;
}

static uint64_t layout_of(const column *columns, int count)
{
	uint64_t hash = cr_hash_u64(0, sizeof(body_record));
	hash = cr_hash_u64(hash, sizeof(head));
	hash = cr_hash_u64(hash, sizeof(cr_watch));
	hash = cr_hash_u64(hash, sizeof(cr_reference));
	hash = cr_hash_u64(hash, sizeof(cr_raw_contact));
	for (int i = 0; i < count; i++)
		hash = cr_hash_u64(hash, columns[i].element);
	return hash;
}

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/// Bytes of all that the counts of a head announce; 0: more than there can be.
static size_t size_of(const head *h, const column *columns, int count)
{
	size_t size = aligned(sizeof *h);
	for (int i = 0; i <= count; i++) {
		const size_t element = i == 0 ? sizeof(body_record) : columns[i - 1].element;
		if (h->counts[i] < 0 || (uint64_t)h->counts[i] > ((uint64_t)1 << 48) / element)
			return 0;
		size += aligned((size_t)h->counts[i] * element);
	}
	return size;
}

static uint64_t digest_of(const uint8_t *bytes, size_t size)
{
	head h;
	memcpy(&h, bytes, sizeof h);
	h.digest = 0;
	uint8_t first[sizeof h];
	memcpy(first, &h, sizeof h);
	return cr_hash_u64(cr_digest_of(first, sizeof first), cr_digest_of(bytes + sizeof h, size - sizeof h));
}

// ---- Writing ----

static void describe(const cr_body *body, body_record *record)
{
	// Boxes make theirs when they meet a mesh.
	const carom_mesh *mesh = cr_has_mesh(&body->shape.def) ? body->shape.mesh : NULL;
	memset(record, 0, sizeof *record);
	record->body = *body;
	record->body.shape = (cr_shape){ 0 };
	record->body.own.deforming = NULL;
	record->body.course = NULL;
	record->has_course = body->course != NULL;
	record->body.user_data = 0;
	record->type = body->shape.def.type;
	record->in_parts = cr_compound_of(body) != NULL;
	record->vertex_count = mesh ? mesh->topology.vertex_count : 0;
	record->triangle_count = mesh ? mesh->topology.triangle_count : 0;
}

static void fill(const carom_snapshot *s, head *h, const column *columns, int count, uint8_t *bytes)
{
	uint8_t *at = bytes + aligned(sizeof *h);
	for (int64_t i = 0; i < s->bodies.count; i++) {
		body_record record;
		describe(&s->bodies.data[i], &record);
		memcpy(at + (size_t)i * sizeof record, &record, sizeof record);
	}
	at += aligned((size_t)s->bodies.count * sizeof(body_record));
	for (int i = 0; i < count; i++) {
		const size_t size = (size_t)*columns[i].count * columns[i].element;
		if (size > 0)
			memcpy(at, data_of(&columns[i]), size);
		at += aligned(size);
	}
	memcpy(bytes, h, sizeof *h);
	h->digest = digest_of(bytes, (size_t)h->size);
	memcpy(bytes, h, sizeof *h);
}

carom_result carom_snapshot_save(const carom_snapshot *s, carom_write_fn *write, void *user)
{
	if (!s)
		return CAROM_INVALID_ARGUMENT;
	if (!write)
		return cr_fail(s->context, CAROM_INVALID_ARGUMENT, "%s: write is NULL", save_name);
	if (!s->filled)
		return cr_fail(s->context, CAROM_INVALID_ARGUMENT, "%s: snapshot is empty: carom_world_save fills it", save_name);
	column columns[MOST_LISTS];
	const int count = list_columns((carom_snapshot *)s, columns);
	head h;
	memset(&h, 0, sizeof h);
	memcpy(h.magic, MAGIC, sizeof h.magic);
	h.version = VERSION;
	h.byte_order = BYTE_ORDER;
	h.layout = layout_of(columns, count);
	h.counts[0] = s->bodies.count;
	for (int i = 0; i < count; i++)
		h.counts[i + 1] = *columns[i].count;
	h.rest = (plain){ s->body_count, s->shape_count, s->first_generation, s->earliest, s->known, s->known_shapes,
		s->sweep_stats, s->stats, { 0 } };
	memcpy(h.rest.lab, s->lab, sizeof h.rest.lab);
	h.size = size_of(&h, columns, count);
	uint8_t *bytes = cr_alloc_zero(s->context, (size_t)h.size);
	if (!bytes)
		return cr_fail_memory(s->context, "the bytes of a snapshot");
	fill(s, &h, columns, count, bytes);
	const bool written = write(bytes, (size_t)h.size, user);
	cr_free(s->context, bytes, (size_t)h.size);
	return written ? CAROM_SUCCESS : cr_fail(s->context, CAROM_INVALID_ARGUMENT, "%s: write gave up", save_name);
}

// ---- Loading ----

static carom_result fault(const carom_snapshot *s, const char *text)
{
	return cr_fail(s->context, CAROM_INVALID_ARGUMENT, "%s: %s", load_name, text);
}

static carom_result check_head(const carom_snapshot *s, const uint8_t *bytes, size_t size, head *h)
{
	if (size < sizeof *h)
		return fault(s, "size: less than the head of a snapshot");
	memcpy(h, bytes, sizeof *h);
	if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0)
		return fault(s, "magic: these are not the bytes of a snapshot");
	if (h->byte_order != BYTE_ORDER)
		return fault(s, "byte order: saved on a machine of the other byte order, or damaged");
	if (h->version != VERSION)
		return cr_fail(s->context, CAROM_INVALID_ARGUMENT, "%s: version is %u; this library reads %d", load_name,
			(unsigned)h->version, VERSION);
	if (h->size != size || size % ALIGNMENT != 0)
		return cr_fail(s->context, CAROM_INVALID_ARGUMENT, "%s: size is %zu, but the snapshot was saved as %llu bytes",
			load_name, size, (unsigned long long)h->size);
	return h->digest == digest_of(bytes, size) ? CAROM_SUCCESS : fault(s, "digest: the bytes are damaged");
}

/// The first thing in which a body of the world differs from one of the bytes; NULL: all that must
/// be equal is.
static const char *compare(const cr_body *own, const body_record *saved)
{
	body_record record;
	describe(own, &record);
	const cr_body *a = &record.body, *b = &saved->body;
	if (a->kind != b->kind || a->sensor != b->sensor)
		return "kind";
	if (record.type != saved->type || record.in_parts != saved->in_parts || a->part != b->part)
		return "shape";
	if (record.vertex_count != saved->vertex_count || record.triangle_count != saved->triangle_count)
		return "mesh";
	return a->thickness != b->thickness || a->self_collision != b->self_collision || a->contacts != b->contacts ? "settings"
																												: NULL;
}

static body_record record_at(const uint8_t *records, int64_t i)
{
	body_record record;
	memcpy(&record, records + (size_t)i * sizeof record, sizeof record);
	return record;
}

static carom_result refuse_body(const carom_snapshot *s, int64_t number, const char *differs)
{
	return cr_fail(s->context, CAROM_INVALID_ARGUMENT, "%s: bodies[%lld]: differs from the saved one: %s", load_name,
		(long long)number, differs);
}

/// Are the first lists of the bytes, which name the bodies, those of the world? Numbers that are
/// free may differ, and their generations: those of the bytes are taken.
static carom_result check_numbers(const carom_snapshot *s, const head *h, const uint8_t *records)
{
	if (h->counts[1] != h->counts[0])
		return fault(s, "bodies: impossible values, although the digest is right");
	const uint8_t *numbers = records + aligned((size_t)h->counts[0] * sizeof(body_record));
	const uint8_t *generations = numbers + aligned((size_t)h->counts[1] * sizeof *s->numbers.data);
	for (int64_t i = 0; i < s->numbers.count && i < h->counts[1]; i++) {
		const int32_t own = s->numbers.data[i];
		int32_t number;
		memcpy(&number, numbers + (size_t)i * sizeof number, sizeof number);
		if (number != own || number >= h->counts[2])
			return refuse_body(s, own < number ? own : number, "it is there in one of both alone");
		uint32_t generation;
		memcpy(&generation, generations + (size_t)number * sizeof generation, sizeof generation);
		// Those of further parts are in no id.
		if (s->bodies.data[i].part == 0 && generation != s->generations.data[number])
			return refuse_body(s, number, "id");
	}
	if (h->counts[1] == s->numbers.count)
		return CAROM_SUCCESS;
	return cr_fail(s->context, CAROM_INVALID_ARGUMENT, "%s: bodies: the saved world had %lld, this one has %lld", load_name,
		(long long)h->counts[1], (long long)s->numbers.count);
}

static carom_result check_bodies(const carom_snapshot *s, const head *h, const uint8_t *records)
{
	const carom_result result = check_numbers(s, h, records);
	for (int64_t i = 0; result == CAROM_SUCCESS && i < s->bodies.count; i++) {
		const body_record record = record_at(records, i);
		const char *differs = compare(&s->bodies.data[i], &record);
		if (differs)
			return refuse_body(s, s->numbers.data[i], differs);
	}
	return result;
}

/// Take a body from the bytes; its shape and user data stay those of the world. course: of it.
static void take_body(cr_body *own, const body_record *saved, cr_course *course)
{
	cr_body body = saved->body;
	body.alive = true;
	body.shape = own->shape;
	body.own.compound = cr_compound_of(own);
	body.user_data = own->user_data;
	body.course = course;
	*own = body;
}

/// Do the arrays fit together?
static const char *find_misfit(const carom_snapshot *s)
{
	int64_t places = 0, courses = 0;
	for (int64_t i = 0; i < s->bodies.count; i++) {
		courses += s->bodies.data[i].course != NULL;
		const int64_t room = s->places.count - places,
					  count = cr_count_saved_places(&s->bodies.data[i], s->places.data + places, room);
		if (count < 0 || count > room)
			return "places";
		places += count;
	}
	if (places != s->places.count)
		return "places";
	if (courses != s->courses.count)
		return "courses";
	if (s->first_generation == 0)
		return "free ids";
	if (s->remembered.memories.count != s->remembered.pairs.count)
		return "memories";
	if (!cr_is_saved_sleep_sound(&s->sleep, s->generations.count))
		return "pairs asleep";
	for (int64_t i = 0; i < s->remembered.pairs.count; i++) {
		const cr_body_pair *pair = &s->remembered.pairs.data[i];
		if (pair->a < 0 || pair->b < 0 || pair->a >= s->generations.count || pair->b >= s->generations.count)
			return "pairs that remember";
	}
	return NULL;
}

static carom_result take_arrays(carom_snapshot *s, const head *h, const column *columns, int count, const uint8_t *records)
{
	for (int i = 0; i < count; i++) {
		const column *c = &columns[i];
		if (!cr_array_reserve_bytes(s->context, c->data, c->capacity, h->counts[i + 1], c->element))
			return cr_fail_memory(s->context, "a snapshot");
	}
	const uint8_t *at = records + aligned((size_t)h->counts[0] * sizeof(body_record));
	int64_t next = 0;
	for (int64_t i = 0; i < s->bodies.count; i++) {
		const body_record record = record_at(records, i);
		take_body(
			&s->bodies.data[i], &record, record.has_course && next < s->courses.capacity ? &s->courses.data[next++] : NULL);
	}
	for (int i = 0; i < count; i++) {
		const size_t size = (size_t)h->counts[i + 1] * columns[i].element;
		*columns[i].count = h->counts[i + 1];
		if (size > 0)
			memcpy(data_of(&columns[i]), at, size);
		at += aligned(size);
	}
	const plain *p = &h->rest;
	s->body_count = p->body_count;
	s->shape_count = p->shape_count;
	s->first_generation = p->first_generation;
	s->earliest = p->earliest;
	s->known = p->known;
	s->known_shapes = p->known_shapes;
	s->sweep_stats = p->sweep_stats;
	s->stats = p->stats;
	memcpy(s->lab, p->lab, sizeof s->lab);
	return CAROM_SUCCESS;
}

carom_result carom_snapshot_load(carom_snapshot *s, const void *bytes, size_t size)
{
	head h;
	column columns[MOST_LISTS];
	if (!s)
		return CAROM_INVALID_ARGUMENT;
	if (!s->world)
		return fault(s, "snapshot: its world was destroyed");
	if (!bytes)
		return fault(s, "bytes is NULL");
	carom_result result = check_head(s, bytes, size, &h);
	if (result != CAROM_SUCCESS)
		return result;
	const int count = list_columns(s, columns);
	if (h.layout != layout_of(columns, count))
		return fault(s, "layout: saved by a library that was built otherwise");
	if (size_of(&h, columns, count) != size)
		return fault(s, "counts: impossible values, although the digest is right");
	result = carom_world_save(s->world, s);
	if (result != CAROM_SUCCESS)
		return result;
	const uint8_t *records = (const uint8_t *)bytes + aligned(sizeof h);
	result = check_bodies(s, &h, records);
	if (result == CAROM_SUCCESS)
		result = take_arrays(s, &h, columns, count, records);
	if (result != CAROM_SUCCESS)
		return result;
	const char *misfit = find_misfit(s);
	if (!misfit)
		return CAROM_SUCCESS;
	s->filled = false;
	return cr_fail(
		s->context, CAROM_INVALID_ARGUMENT, "%s: %s: impossible values, although the digest is right", load_name, misfit);
}
