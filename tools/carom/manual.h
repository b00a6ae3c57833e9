/// @file manual.h
/// The help of the command in forms for other programs: manual pages, and completion for shells.
/// All are written from the tables of options.h, so they cannot differ from what is parsed.
#ifndef CAROM_TOOL_MANUAL_H
#define CAROM_TOOL_MANUAL_H

#include "options.h"

/// A command as main.c lists it.
typedef struct manual_entry {
	const char *name; ///< "run", or "make spheres" for a command below another one
	const char *summary;
} manual_entry;

/// Print the part of one sub-command: its page (man), or its lines of a completion (bash, zsh,
/// fish). Returns an exit code, after a message for a form that there is none of.
int manual_print_command(const command_line *line, const char *form);

/// Print what stands before and behind the parts of all sub-commands in the completion of a shell.
/// The head of "man" is the page carom(1), that of "list" the names, a line each; their tails are
/// empty. Returns false for a form that there is none of.
bool manual_print_head(const char *form, const manual_entry *entries, int count);
void manual_print_tail(const char *form, const manual_entry *entries, int count);

/// Whether the parts of the sub-commands stand between head and tail.
bool manual_has_parts(const char *form);

/// Say which forms there are. Returns EXIT_USAGE.
int manual_misuse(const char *command, const char *form);

#endif
