// Fuzzing targets without a fuzzer: each runs on its seeds, on the inputs of a folder, and on mutations of both that are always the
// same.
//   carom_fuzz_replay                          lists the targets
//   carom_fuzz_replay TARGET FOLDER [COUNT]    runs the seeds, the files of the folder (it may be missing) and COUNT mutations
//   carom_fuzz_replay TARGET --file FILE       runs one input
//   carom_fuzz_replay TARGET --seeds FOLDER    writes the seeds there
// The input under way lies in carom_fuzz_TARGET.input of the working folder until it has come to its end.
#include "fuzz.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BYTES = 1 << 16, MAX_CHANGES = 6 };

typedef struct input {
	char *name;
	uint8_t *bytes;
	size_t size;
} input;

typedef struct input_list {
	input *data;
	size_t count;
} input_list;

static void keep(const char *name, const void *bytes, size_t size, void *user)
{
	input_list *list = user;
	list->data = realloc(list->data, (list->count + 1) * sizeof *list->data);
	FUZZ_REQUIRE(list->data, "out of memory");
	input *added = &list->data[list->count++];
	*added = (input){ strdup(name), malloc(size + 1), size };
	FUZZ_REQUIRE(added->name && added->bytes, "out of memory");
	if (size)
		memcpy(added->bytes, bytes, size);
}

static void free_list(input_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->data[i].name);
		free(list->data[i].bytes);
	}
	free(list->data);
}

// ---- Files ----

static bool load_file(const char *path, input_list *list)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return false;
	uint8_t *bytes = malloc(16 * MAX_BYTES);
	FUZZ_REQUIRE(bytes, "out of memory");
	const size_t size = fread(bytes, 1, 16 * MAX_BYTES, file);
	const bool sound = !ferror(file);
	fclose(file);
	if (sound)
		keep(path, bytes, size, list);
	free(bytes);
	return sound;
}

static int by_name(const void *a, const void *b) { return strcmp(((const input *)a)->name, ((const input *)b)->name); }

static void load_folder(const char *folder, input_list *list)
{
	const size_t first = list->count;
	DIR *entries = opendir(folder);
	if (!entries)
		return;
	for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
		char path[1024];
		struct stat status;
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
			FUZZ_REQUIRE(load_file(path, list), "%s", path);
	}
	closedir(entries);
	if (list->count > first)
		qsort(list->data + first, list->count - first, sizeof *list->data, by_name);
}

static void write_seed(const char *name, const void *bytes, size_t size, void *user)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/%s", (const char *)user, name);
	FILE *file = fopen(path, "wb");
	FUZZ_REQUIRE(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "%s", path);
}

// ---- Mutations ----

// splitmix64 (Steele, Lea and Flood 2014).
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t count) { return count ? (size_t)(next_random(state) % count) : 0; }

// Put length bytes of a source before place.
static size_t insert(uint8_t *bytes, size_t size, size_t place, const uint8_t *source, size_t length)
{
	if (size + length > MAX_BYTES)
		return size;
	memmove(bytes + place + length, bytes + place, size - place);
	memcpy(bytes + place, source, length);
	return size + length;
}

// A number of a text, or four bytes, gets a value that is known for trouble.
static size_t put_extreme(uint8_t *bytes, size_t size, uint64_t *state)
{
	static const char *const words[] = { "0", "-1", "1e39", "nan", "-inf", "1e-320", "4294967295", "2147483647", "-2147483648",
		"9e99", "0.5", "18446744073709551616", "1" };
	size_t at = below(state, size);
	for (size_t tries = 0; tries < size && !(bytes[at] >= '0' && bytes[at] <= '9'); tries++)
		at = (at + 1) % size;
	size_t end = at;
	while (end < size && strchr("0123456789+-.eE", bytes[end]) && bytes[end])
		end++;
	memmove(bytes + at, bytes + end, size - end);
	const char *word = words[below(state, sizeof words / sizeof words[0])];
	return insert(bytes, size - (end - at), at, (const uint8_t *)word, strlen(word));
}

static size_t change(uint8_t *bytes, size_t size, const input_list *list, bool gentle, uint64_t *state)
{
	const size_t at = below(state, size);
	const input *other = &list->data[below(state, list->count)];
	const size_t kind = below(state, gentle ? 3 : 10);
	if (size == 0 || kind == 7) { // bytes of anything
		uint8_t some[64];
		const size_t length = 1 + below(state, sizeof some);
		for (size_t i = 0; i < length; i++)
			some[i] = (uint8_t)next_random(state);
		return insert(bytes, size, at, some, length);
	}
	switch (kind) {
	case 0: bytes[at] ^= (uint8_t)(1u << below(state, 8)); return size;
	case 1: bytes[at] = (uint8_t)next_random(state); return size;
	case 2: return gentle || below(state, 4) == 0 ? at : size;
	case 3:
	case 8:
	case 9: return put_extreme(bytes, size, state); // most inputs are text
	case 4: {                                       // a piece of another input
		const size_t from = below(state, other->size), length = below(state, other->size - from + 1);
		return insert(bytes, size, at, other->bytes + from, length < 256 ? length : 256);
	}
	case 5: { // a piece twice
		uint8_t piece[256];
		size_t length = below(state, size - at + 1);
		length = length < sizeof piece ? length : sizeof piece;
		memcpy(piece, bytes + at, length);
		return insert(bytes, size, below(state, size), piece, length);
	}
	default: { // a piece left out
		const size_t length = below(state, size - at + 1);
		memmove(bytes + at, bytes + at + length, size - at - length);
		return size - length;
	}
	}
}

static size_t mutate(const input_list *list, bool gentle, uint64_t number, uint8_t bytes[MAX_BYTES])
{
	uint64_t state = number;
	const input *base = &list->data[below(&state, list->count)];
	size_t size = base->size < MAX_BYTES ? base->size : MAX_BYTES;
	memcpy(bytes, base->bytes, size);
	for (size_t i = gentle ? 1 : 1 + below(&state, MAX_CHANGES); i > 0; i--)
		size = change(bytes, size, list, gentle, &state);
	return size;
}

// ---- Running ----

static bool run(const fuzz_target *target, const uint8_t *bytes, size_t size)
{
	char name[64];
	snprintf(name, sizeof name, "carom_fuzz_%s.input", target->name);
	FILE *file = fopen(name, "wb");
	FUZZ_REQUIRE(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "%s", name);
	// Memory of just this size, so that a sanitizer sees a read beyond its end.
	uint8_t *exact = malloc(size ? size : 1);
	FUZZ_REQUIRE(exact, "out of memory");
	memcpy(exact, bytes, size);
	const bool sound = target->run(exact, size);
	free(exact);
	remove(name);
	return sound;
}

static int run_all(const fuzz_target *target, const char *folder, uint64_t count)
{
	input_list list = { 0 };
	if (target->seeds)
		target->seeds(keep, &list);
	const size_t seeds = list.count;
	load_folder(folder, &list);
	const size_t given = list.count;
	for (size_t i = 0; i < given; i++)
		FUZZ_REQUIRE(
			run(target, list.data[i].bytes, list.data[i].size) || i >= seeds, "the seed %s is refused", list.data[i].name);
	keep("nothing", "", 0, &list);
	static uint8_t bytes[MAX_BYTES];
	uint64_t sound = 0;
	for (uint64_t i = 0; i < count; i++)
		sound += run(target, bytes, mutate(&list, target->fragile, i, bytes));
	printf("%s: %zu inputs; of %llu mutations %llu are sound\n", target->name, given, (unsigned long long)count,
		(unsigned long long)sound);
	free_list(&list);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	const fuzz_target *target = argc > 2 ? fuzz_find(argv[1]) : NULL;
	if (argc > 3 && target && strcmp(argv[2], "--seeds") == 0) {
		if (target->seeds)
			target->seeds(write_seed, argv[3]);
		return EXIT_SUCCESS;
	}
	if (argc > 3 && target && strcmp(argv[2], "--file") == 0) {
		input_list list = { 0 };
		FUZZ_REQUIRE(load_file(argv[3], &list), "%s cannot be read", argv[3]);
		puts(target->run(list.data[0].bytes, list.data[0].size) ? "sound" : "refused");
		free_list(&list);
		return EXIT_SUCCESS;
	}
	if (target)
		return run_all(target, argv[2], argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
	for (target = fuzz_targets(); target; target = target->next)
		puts(target->name);
	return argc > 1 ? EXIT_FAILURE : EXIT_SUCCESS;
}
