/// @file info_kinds.h
/// `carom info` of scenes, and of the files that runs leave. Each prints one JSON object, or the
/// same facts as lines of text, and returns the exit code.
#ifndef CAROM_TOOL_INFO_KINDS_H
#define CAROM_TOOL_INFO_KINDS_H

#include "io/input_file.h"

#include <cjson/cJSON.h>

/// Print the facts of an object, which is freed: as JSON, or as lines under a title.
int info_print(const char *path, const char *title, cJSON *facts, bool as_json);

/// Does a file begin as JSON does? Then it can only be a scene.
bool info_is_scene(const io_input *input);
int info_show_scene(io_input *input, bool as_json);

/// Does a file begin as the XML files of VTK do?
bool info_is_vtk(const io_input *input);
/// A .pvd of `carom run`, or a .vtp, .vtu and their likes of any program.
int info_show_vtk(io_input *input, bool as_json);

/// The folder of `carom run --out`.
int info_show_run(const char *path, bool as_json);

/// A checkpoint of `carom run`. *is_one tells whether the file is one; else nothing is printed.
int info_show_checkpoint(const char *path, bool as_json, bool *is_one);

/// A recording of library calls.
int info_show_calls(io_input *input, bool as_json);

#endif
