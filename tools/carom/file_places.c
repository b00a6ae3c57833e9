// Whether two files of a command line are one. A file that exists is known by its device and inode;
// one that does not by the folder it will be in, and its name there.
#include "file_places.h"

#include "io/output_file.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_SIZE = 256, WORDS_SIZE = 600, MOST_LINKS = 40 };

typedef struct file_place {
	dev_t device;
	ino_t node;
	char name[NAME_SIZE]; ///< in the folder of device and node; "": they name the file
	char words[WORDS_SIZE];
	bool written;
} file_place;

/// Replace a path that is a link to nothing by the one that it leads to: what is written there
/// appears under that name. False where the path is too long.
static bool follow_link(char path[IO_PATH_MAX])
{
	char target[IO_PATH_MAX], whole[2 * IO_PATH_MAX];
	const ssize_t length = readlink(path, target, sizeof target - 1);
	if (length < 0)
		return false;
	target[length] = 0;
	const char *slash = strrchr(path, '/');
	const int folder = target[0] == '/' || !slash ? 0 : (int)(slash + 1 - path);
	const int used = snprintf(whole, sizeof whole, "%.*s%s", folder, path, target);
	if (used >= IO_PATH_MAX)
		return false;
	memcpy(path, whole, (size_t)used + 1);
	return true;
}

/// The place of a file that is not there yet. False where it has none.
static bool locate_new(file_place *place, const char *given)
{
	char path[IO_PATH_MAX], folder[IO_PATH_MAX];
	struct stat status;
	if (strlen(given) >= sizeof path)
		return false;
	strcpy(path, given);
	for (int i = 0; i < MOST_LINKS && follow_link(path); i++)
		continue;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
	if (strlen(name) >= sizeof place->name || stat(folder, &status) != 0)
		return false;
	place->device = status.st_dev;
	place->node = status.st_ino;
	strcpy(place->name, name);
	return name[0] != 0;
}

static bool locate(file_place *place, const char *path)
{
	struct stat status;
	if (stat(path, &status) != 0)
		return place->written && locate_new(place, path);
	place->device = status.st_dev;
	place->node = status.st_ino;
	place->name[0] = 0;
	return S_ISREG(status.st_mode);
}

static void add_place(file_places *list, const file_place *place)
{
	if (list->count == list->capacity) {
		const int capacity = list->capacity ? 2 * list->capacity : 16;
		file_place *items = realloc(list->items, (size_t)capacity * sizeof *items);
		if (!items) {
			list->out_of_memory = true;
			return;
		}
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = *place;
}

void file_places_add(file_places *list, bool written, const char *path, const char *format, ...)
{
	char part[IO_PATH_MAX + 8];
	file_place place = { .written = written };
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(place.words, sizeof place.words, format, arguments);
	va_end(arguments);
	if (locate(&place, path))
		add_place(list, &place);
	else
		return;
	if (written && snprintf(part, sizeof part, "%s.part", path) < IO_PATH_MAX && locate(&place, part))
		add_place(list, &place);
}

bool file_places_clash(const file_places *list, const char **a, const char **b)
{
	for (int i = 0; i < list->count; i++) {
		for (int k = 0; list->items[i].written && k < list->count; k++) {
			const file_place *p = &list->items[i], *q = &list->items[k];
			if (i == k || p->device != q->device || p->node != q->node || strcmp(p->name, q->name) != 0)
				continue;
			*a = p->words;
			*b = q->words;
			return true;
		}
	}
	return false;
}

void file_places_free(file_places *list)
{
	free(list->items);
	*list = (file_places){ 0 };
}
