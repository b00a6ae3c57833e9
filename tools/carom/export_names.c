// Names of bodies in models: see export_names.h. A table of those that are given says whether a
// name is free, and how many were equal to it.
#include "export_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
	const char *name; // NULL: none
	int32_t more;     // names that were equal to it so far
} entry;

typedef struct table {
	entry *entries; // [size], a power of two, at most half full
	size_t size;
} table;

/// The entry of a name, or the empty one where it belongs (Fowler, Noll and Vo's hash).
static entry *find(const table *t, const char *name)
{
	uint32_t hash = UINT32_C(2166136261);
	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * UINT32_C(16777619);
	size_t i = hash & (t->size - 1);
	while (t->entries[i].name && strcmp(t->entries[i].name, name) != 0)
		i = (i + 1) & (t->size - 1);
	return &t->entries[i];
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Other characters become '_', one for a row of them, and none at the end: "cone[12]" is
/// "cone_12".
static void make_legal(export_name name)
{
	char legal[EXPORT_NAME_SIZE - 16]; // room for a number
	size_t length = 0;
	if (is_digit(name[0]))
		legal[length++] = '_';
	for (const char *c = name; *c && length + 1 < sizeof legal; c++) {
		const bool fits = is_letter(*c) || is_digit(*c);
		if (fits || length == 0 || legal[length - 1] != '_')
			legal[length++] = fits ? *c : '_';
	}
	while (length > 1 && legal[length - 1] == '_' && name[strlen(name) - 1] != '_')
		length--;
	legal[length] = 0;
	strcpy(name, legal);
}

/// Names that the writers give themselves.
static bool is_reserved(const char *name)
{
	if (!strcmp(name, "spheres"))
		return true;
	return !strncmp(name, "body_", 5) && name[5] && strspn(name + 5, "0123456789") == strlen(name + 5);
}

static void make_unique(const table *t, export_name name)
{
	export_name base;
	entry *own = find(t, name);
	strcpy(base, name);
	for (int32_t k = own->name ? own->more + 1 : 1; own->name || is_reserved(name); k++) {
		if (own->name && !strcmp(own->name, base))
			own->more = k;
		snprintf(name, EXPORT_NAME_SIZE, "%.80s_%d", base, (int)k);
		own = find(t, name);
	}
	own->name = name;
}

bool export_make_names(export_name *names, int32_t count)
{
	table t = { .size = 16 };
	while (t.size < 2 * (size_t)count + 2)
		t.size *= 2;
	t.entries = calloc(t.size, sizeof *t.entries);
	if (!t.entries)
		return false;
	for (int32_t i = 0; i < count; i++) {
		if (!names[i][0])
			continue;
		make_legal(names[i]);
		make_unique(&t, names[i]);
	}
	free(t.entries);
	return true;
}
