// The whole life of two worlds, decoded from bytes, with random numbers behind their end: a table of actions that change bodies
// (life_bodies.c, life_settings.c), ask (life_queries.c, life_surfaces.c) and step, go back to snapshots, record and replay. What must
// hold whatever happens:
// - two worlds of other threads, kernels and broad phases have equal states and answers;
// - a world that went back to a snapshot, from memory or from bytes, goes on as it did;
// - a recording replays to the hashes it had, with meshes of its own;
// - a call that found no memory has changed nothing, and does what it should when it is made again;
// - answers agree with those of dull ways to find them, and results are sound (life_checks.c).
// Eight bytes are the seed of a whole random life: carom_fuzz_replay life FOLDER COUNT lives COUNT more of them. CAROM_LIFE in the
// environment shows each action.
#include "life.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_CALLS = 160, MOST_SECONDS = 60 };

// ---- Memory that fails ----

typedef struct life_heap {
	bool armed;
	uint64_t state;
	uint32_t one_in;
} life_heap;
static life_heap heap;

// Only world 0, which has one thread, is armed.
static void *allocate(size_t size, size_t alignment, void *user)
{
	life_heap *h = user;
	if (h && h->armed) {
		h->state = h->state * 6364136223846793005u + 1442695040888963407u;
		if ((uint32_t)(h->state >> 33) % h->one_in == 0)
			return NULL;
	}
	return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)size, (void)alignment, (void)user;
	free(pointer);
}

void life_arm(life *l, int w, bool armed)
{
	(void)l;
	heap.armed = armed && w == 0;
}

// ---- Bytes ----

bool life_write(const void *bytes, size_t count, void *user)
{
	life_tape *t = user;
	if (count > t->room - t->size) {
		t->room = 2 * (t->size + count);
		t->bytes = realloc(t->bytes, t->room);
		FUZZ_REQUIRE(t->bytes, "out of memory");
	}
	memcpy(t->bytes + t->size, bytes, count);
	t->size += count;
	return true;
}

bool life_read(void *bytes, size_t count, void *user)
{
	life_tape *t = user;
	if (count > t->size - t->at)
		return false;
	memcpy(bytes, t->bytes + t->at, count);
	t->at += count;
	return true;
}

// ---- Numbers ----

// splitmix64 (Steele, Lea and Flood 2014).
static uint64_t mix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t life_random(life *l) { return mix(&l->stream.random); }

int life_choose(life *l, int count)
{
	life_stream *s = &l->stream;
	if (s->bytes.at < s->bytes.end && count <= 256)
		return fuzz_byte(&s->bytes) % count;
	return (int)((life_random(l) >> 32) % (uint32_t)count);
}

double life_signed(life *l) { return (double)(life_random(l) >> 11) * 0x1p-52 - 1; }

carom_vec3 life_vector(life *l, double size)
{
	carom_vec3 v;
	v.x = size * life_signed(l);
	v.y = size * life_signed(l);
	v.z = size * life_signed(l);
	return v;
}

// ---- States ----

uint64_t life_state(life *l, int w)
{
	FUZZ_REQUIRE(carom_world_save(l->world[w], l->slot[w][2]) == CAROM_SUCCESS, "%s", carom_error_text(l->context[w]));
	return carom_snapshot_hash(l->slot[w][2]);
}

static void require_equal(life *l, const carom_snapshot *a, const carom_snapshot *b, const char *what)
{
	carom_snapshot_difference d = { 0 };
	FUZZ_REQUIRE(!carom_snapshots_differ(a, b, &d), "%s after %s: %s.%s %lld of body %u", what, l->action, d.list, d.field,
		(long long)d.index, d.body.index1);
	FUZZ_REQUIRE(carom_snapshot_hash(a) == carom_snapshot_hash(b), "%s after %s: other hashes", what, l->action);
}

static void compare_worlds(life *l)
{
	life_state(l, 0);
	life_state(l, 1);
	require_equal(l, l->slot[0][2], l->slot[1][2], "worlds");
}

static void step(life *l)
{
	carom_result result[2];
	for (int w = 0; w < 2; w++) {
		life_arm(l, w, l->failing);
		result[w] = carom_world_step(l->world[w]);
		life_arm(l, w, false);
		// What pairs remember is lost then: worlds whose memory fails remember nothing of meshes.
		if (l->failing && w == 0 && result[w] == CAROM_OUT_OF_MEMORY)
			result[w] = carom_world_step(l->world[w]);
		FUZZ_REQUIRE(result[w] == CAROM_SUCCESS, "step: %s", carom_error_text(l->context[w]));
	}
	FUZZ_REQUIRE(carom_world_hash(l->world[0]) == carom_world_hash(l->world[1]), "other results");
	life_check_step(l);
	compare_worlds(l);
}

// ---- Snapshots ----

static void save(life *l, int slot)
{
	for (int w = 0; w < 2; w++)
		FUZZ_REQUIRE(
			carom_world_save(l->world[w], l->slot[w][slot]) == CAROM_SUCCESS, "save: %s", carom_error_text(l->context[w]));
}

static void restore(life *l, int slot)
{
	carom_result result[2];
	LIFE_BOTH(l, result, carom_world_restore(l->world[w], l->slot[w][slot]));
	FUZZ_REQUIRE(result[0] == CAROM_SUCCESS, "restore: %s", carom_error_text(l->context[0]));
	life_state(l, 0);
	require_equal(l, l->slot[0][slot], l->slot[0][2], "restored");
}

static void act(life *l);

// Do some actions, go back, and do them again: each state is what it was.
static void rewind_life(life *l)
{
	enum { MOST = 14 };
	if (l->rewinding || l->recording)
		return;
	const int count = 2 + life_choose(l, MOST - 2);
	l->rewinding = true;
	save(l, 0);
	const life_stream stream = l->stream;
	carom_body_id ids[LIFE_BODIES];
	memcpy(ids, l->ids, sizeof ids);
	const int id_count = l->id_count;
	uint64_t states[MOST];
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < count; i++) {
			act(l);
			const uint64_t state = life_state(l, 0);
			FUZZ_REQUIRE(pass == 0 || states[i] == state, "%s, %d of %d after a restore: another state", l->action, i, count);
			states[i] = state;
		}
		if (pass == 1)
			break;
		restore(l, 0);
		l->stream = stream;
		memcpy(l->ids, ids, sizeof ids);
		l->id_count = id_count;
	}
	l->rewinding = false;
}

static void keep_state(life *l)
{
	if (l->rewinding)
		return;
	save(l, 1);
	l->kept = true;
	memcpy(l->kept_ids, l->ids, sizeof l->ids);
	l->kept_count = l->id_count;
}

static void go_back(life *l)
{
	if (!l->kept || l->rewinding || l->recording)
		return;
	restore(l, 1);
	memcpy(l->ids, l->kept_ids, sizeof l->ids);
	l->id_count = l->kept_count;
	compare_worlds(l);
}

// The bytes of the one world's state are those of the other's, and give it back to the other one.
static void through_bytes(life *l)
{
	if (l->rewinding || l->recording)
		return;
	compare_worlds(l);
	life_tape tape = { 0 };
	FUZZ_REQUIRE(carom_snapshot_save(l->slot[0][2], life_write, &tape) == CAROM_SUCCESS, "%s", carom_error_text(l->context[0]));
	carom_snapshot *loaded;
	FUZZ_REQUIRE(carom_create_snapshot(l->world[1], &loaded) == CAROM_SUCCESS, "out of memory");
	FUZZ_REQUIRE(
		carom_snapshot_load(loaded, tape.bytes, tape.size) == CAROM_SUCCESS, "load: %s", carom_error_text(l->context[1]));
	require_equal(l, l->slot[0][2], loaded, "loaded");
	FUZZ_REQUIRE(carom_world_restore(l->world[1], loaded) == CAROM_SUCCESS, "restore: %s", carom_error_text(l->context[1]));
	// World 0 goes back too, so that both have to find out again all that a snapshot leaves out.
	FUZZ_REQUIRE(carom_world_restore(l->world[0], l->slot[0][2]) == CAROM_SUCCESS, "%s", carom_error_text(l->context[0]));
	tape.bytes[(uint64_t)life_choose(l, 1 << 30) % tape.size] ^= (uint8_t)(1 << life_choose(l, 8));
	FUZZ_REQUIRE(carom_snapshot_load(loaded, tape.bytes, tape.size) != CAROM_SUCCESS, "damaged bytes are taken");
	carom_destroy_snapshot(loaded);
	free(tape.bytes);
	compare_worlds(l);
}

// ---- Recordings ----

static void end_recording(life *l)
{
	l->recording = false;
	carom_result result[2];
	for (int w = 0; w < 2; w++)
		result[w] = carom_world_record(l->world[w], NULL, NULL);
	if (l->failing && result[0] == CAROM_INVALID_RECORDING)
		return; // a call while it ran had no memory for it
	for (int w = 0; w < 2; w++) {
		FUZZ_REQUIRE(result[w] == CAROM_SUCCESS, "%s", carom_error_text(l->context[w]));
		carom_replay_result replayed;
		l->tape[w].at = 0;
		FUZZ_REQUIRE(carom_replay_recording(l->context[1 - w], life_read, &l->tape[w], &replayed) == CAROM_SUCCESS,
			"replay: %s", carom_error_text(l->context[1 - w]));
	}
}

static void record(life *l)
{
	if (l->rewinding)
		return;
	if (l->recording) {
		end_recording(l);
		return;
	}
	for (int w = 0; w < 2; w++) {
		l->tape[w].size = 0;
		FUZZ_REQUIRE(carom_world_record(l->world[w], life_write, &l->tape[w]) == CAROM_SUCCESS, "record: %s",
			carom_error_text(l->context[w]));
	}
	l->recording = true;
}

// ---- The table ----

static const life_action own_actions[] = {
	{ "step", step, 30 },
	{ "rewind", rewind_life, 3 },
	{ "keep", keep_state, 2 },
	{ "go back", go_back, 2 },
	{ "bytes", through_bytes, 2 },
	{ "record", record, 3 },
	{ 0 },
};
enum { TABLES = 5 };
static const life_action *const tables[TABLES] = { own_actions, life_body_actions, life_setting_actions, life_query_actions,
	life_surface_actions };

static void act(life *l)
{
	int sum = 0;
	for (int t = 0; t < TABLES; t++)
		for (const life_action *a = tables[t]; a->name; a++)
			sum += a->weight;
	int choice = life_choose(l, sum);
	const life_action *chosen = NULL;
	for (int t = 0; t < TABLES && !chosen; t++)
		for (const life_action *a = tables[t]; a->name && !chosen; a++) {
			if (choice < a->weight)
				chosen = a;
			choice -= a->weight;
		}
	l->action = chosen->name;
	l->calls++;
	const clock_t begin = clock();
	chosen->run(l);
	const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
	if (getenv("CAROM_LIFE"))
		fprintf(stderr, "%d %s%s %.3f s\n", l->calls, chosen->name, l->rewinding ? " (rewind)" : "", seconds);
	FUZZ_REQUIRE(seconds < MOST_SECONDS, "%s took %g s", chosen->name, seconds);
}

// ---- The target ----

static void make_worlds(life *l)
{
	l->failing = life_choose(l, 4) == 0;
	heap = (life_heap){ .state = life_random(l), .one_in = (const uint32_t[]){ 4, 12, 40, 150 }[life_choose(l, 4)] };
	carom_world_def *d = &l->def;
	*d = carom_default_world_def();
	d->broad_phase = CAROM_BROAD_TREE;
	d->max_contacts_per_pair = (const int[]){ 8, 8, 0, 4, 1 }[life_choose(l, 5)];
	d->speculative_distance = life_choose(l, 2) ? 0.05 : 0;
	d->temporal = l->failing ? CAROM_TEMPORAL_NONE : (carom_temporal)((life_choose(l, 4) + 2) % 3);
	d->contact_normal = (carom_contact_normal)((life_choose(l, 5) + 2) % 3);
	d->long_edge_share = (const double[]){ d->long_edge_share, d->long_edge_share, 0, 0.2 }[life_choose(l, 4)];
	const uint64_t seed = life_random(l);
	for (int w = 0; w < 2; w++) {
		carom_context_def def = carom_default_context_def();
		def.thread_count = w ? 4 : 1;
		def.simd = w ? CAROM_SIMD_SCALAR : CAROM_SIMD_AUTO;
		def.allocator = (carom_allocator){ allocate, release, w ? NULL : &heap };
		FUZZ_REQUIRE(carom_create_context(&def, &l->context[w]) == CAROM_SUCCESS, "%s", carom_error_text(NULL));
		for (int i = 0; i < LIFE_MESHES; i++)
			l->mesh[w][i] = life_make_mesh(l, w, i, seed);
		carom_world_def world = *d;
		world.broad_phase = w ? CAROM_BROAD_SWEEP : CAROM_BROAD_TREE;
		FUZZ_REQUIRE(
			carom_create_world(l->context[w], &world, &l->world[w]) == CAROM_SUCCESS, "%s", carom_error_text(l->context[w]));
		for (int i = 0; i < LIFE_SLOTS; i++)
			FUZZ_REQUIRE(carom_create_snapshot(l->world[w], &l->slot[w][i]) == CAROM_SUCCESS, "no snapshot");
	}
}

static void end_worlds(life *l)
{
	for (int w = 0; w < 2; w++) {
		carom_destroy_world(l->world[w]);
		for (int i = 0; i < LIFE_SLOTS; i++)
			carom_destroy_snapshot(l->slot[w][i]);
		for (int i = 0; i < LIFE_MESHES; i++)
			carom_release_mesh(l->mesh[w][i]);
		carom_destroy_context(l->context[w]);
		free(l->tape[w].bytes);
	}
}

static void seeds(fuzz_keep_fn *keep, void *user)
{
	for (uint64_t i = 1; i <= 3; i++) {
		uint64_t state = i;
		const uint64_t bytes = mix(&state);
		char name[16];
		snprintf(name, sizeof name, "life%d", (int)i);
		keep(name, &bytes, sizeof bytes, user);
	}
}

FUZZ_TARGET(life, seeds, false)
{
	life *l = calloc(1, sizeof *l);
	FUZZ_REQUIRE(l, "out of memory");
	l->stream.bytes = (fuzz_bytes){ data, data + size };
	for (size_t i = 0; i < size; i++)
		l->stream.random = (l->stream.random ^ data[i]) * 0x100000001b3u;
	if (size == 8) // a seed alone
		l->stream.bytes.at = l->stream.bytes.end;
	make_worlds(l);
	while (l->calls < MOST_CALLS)
		act(l);
	if (l->recording)
		end_recording(l);
	end_worlds(l);
	free(l);
	return true;
}
