/// @file file_places.h
/// Which files a command line reads and writes, and whether two of them are one file: an output
/// must not replace an input, nor another output. Links and different paths of a file are seen
/// through, for files are told apart by device and inode.
#ifndef CAROM_TOOL_FILE_PLACES_H
#define CAROM_TOOL_FILE_PLACES_H

#include <stdbool.h>

/// The files of a command line. All zero is an empty list.
typedef struct file_places {
	struct file_place *items;
	int count, capacity;
	bool out_of_memory;
} file_places;

/// Add a file that is read, or one that will be written. words name it in messages: "--pairs
/// out.txt"; they are copied. Folders, devices and pipes are left out, and so is an input that is
/// not there. An output stands for its NAME.part too, which it is written as (io/output_file.h).
void file_places_add(file_places *list, bool written, const char *path, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/// Two files of the list that are one and of which one is written: their words go to *a (the
/// output) and *b. False where there are none.
bool file_places_clash(const file_places *list, const char **a, const char **b);

/// Free what the list holds.
void file_places_free(file_places *list);

#endif
