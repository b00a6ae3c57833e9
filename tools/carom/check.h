/// @file check.h
/// The options of `carom check` (cmd_check.c), and its work on one mesh (check_self.c) and with two
/// (check_pair.c).
#ifndef CAROM_TOOL_CHECK_H
#define CAROM_TOOL_CHECK_H

#include "mesh_input.h"

/// Contacts and pairs that the text output lists; the files of --contacts and --pairs hold all.
enum { CHECK_LISTED_MAX = 10 };

typedef struct check_options {
	const char *path[2];
	int path_count;
	const char *pose;
	carom_pose pose_b;
	int64_t threads;
	bool weld, oracle, json;
	int scalar;
	const char *contacts, *pairs;
} check_options;

/// A mesh as the file has it, and as the library has it: about its middle where there are two, else
/// as it is.
typedef struct check_mesh {
	sim_mesh source;
	carom_mesh *mesh;
	double middle[3];
} check_mesh;

/// Take the warnings over, print the answer, return the exit code.
int check_self(const check_options *o, carom_context *context, const check_mesh *mesh, cJSON *warnings);
int check_pair(const check_options *o, carom_context *context, const check_mesh meshes[2], cJSON *warnings);

#endif
