/// @file mesh_input.h
/// A mesh that the user named: from the file to the library, with words for whatever is wrong with
/// it.
#ifndef CAROM_TOOL_MESH_INPUT_H
#define CAROM_TOOL_MESH_INPUT_H

#include "carom/carom.h"
#include "io/baked_file.h"
#include "sim/shapes/shapes.h"

#include <cjson/cJSON.h>

/// The type that the numbers of a file are read as.
typedef enum mesh_scalar { SCALAR_AUTO, SCALAR_FLOAT32, SCALAR_FLOAT64 } mesh_scalar;
extern const char *const mesh_scalar_words[];

/// Words for --sides, in the order of carom_mesh_sides.
extern const char *const mesh_sides_words[];

/// Words for --build, in the order of carom_mesh_build.
extern const char *const mesh_build_words[];

/// How to take a mesh from a file.
typedef struct mesh_input {
	const char *path;
	mesh_scalar scalar;  ///< SCALAR_FLOAT32: round the file's numbers to float; else as they are
	double scale;        ///< factor of all coordinates
	bool weld;           ///< make vertices at equal positions one
	int grid_resolution; ///< -1: the library's default
	/// NULL, or where the middle of a mesh with doubles goes (else 0 0 0): the library's mesh is
	/// the one about it, so that floats hold it as well as they can. Rounding is then no finding.
	double *middle;
	/// the caller asks only questions that the doubles decide: rounding is no finding
	bool by_doubles;
	cJSON *warnings; ///< array that gets a text for each warning, or NULL
} mesh_input;

/// Load a file, check it and build its trees. Faults that the library can bear but a user should
/// know of (open borders, triangles that are left out, ...) is one warning on stderr and in
/// input->warnings. NULL after an error message. source, unless NULL, gets the mesh as it was read
/// (about no middle), to be freed with sim_mesh_free.
carom_mesh *mesh_input_load(carom_context *context, const mesh_input *input, sim_mesh *source);

/// A coordinate of a vertex, as the file has it.
double mesh_input_coordinate(const sim_mesh *mesh, int32_t vertex, int axis);

/// "float64" for a mesh with doubles, else "float32".
const char *mesh_input_scalar(const sim_mesh *mesh);

/// Forget the doubles of a mesh; the vertices are then those rounded to float.
void mesh_input_drop_doubles(sim_mesh *mesh);

/// Warn on stderr, and in warnings, of faults of a moving mesh that bear on its impacts: triangles
/// without area, repeated ones, vertices at the place of others. Whether it is closed does not
/// matter.
void mesh_input_warn_of_motion(carom_context *context, const char *path, const sim_mesh *mesh, cJSON *warnings);

/// The findings of a report short of an error, as one clause after another; "" when the mesh is
/// sound.
void mesh_input_findings(const carom_mesh_report *report, char *text, size_t size);

/// Is it the report of a container (CAROM_SIDES_CONTAINER): open, though every edge is matched?
bool mesh_input_is_container(const carom_mesh_report *report);

#endif
