/// @file export_model.h
/// A run's output for other programs: the shapes of its bodies as triangles, and all poses. Written
/// as glTF 2.0 (.gltf, .glb) or as text of USD (.usda), with every number as the recording has it,
/// rounded to float.
#ifndef CAROM_TOOL_EXPORT_MODEL_H
#define CAROM_TOOL_EXPORT_MODEL_H

#include "export.h"
#include "export_names.h"

/// Triangles of a shape. Arrays belong to the recording where owns is false.
typedef struct model_mesh {
	int32_t vertex_count, triangle_count;
	float *vertices;    ///< [3*vertex_count]
	int32_t *triangles; ///< [3*triangle_count]
	bool owns;
} model_mesh;

/// A body, or a part of one: which shape, where in its body.
typedef struct model_part {
	int32_t body; ///< number of the body, from 0
	int32_t shape;
	carom_pose place;
} model_part;

typedef struct model {
	export_source *source;
	int64_t every;
	// Rigid bodies. A body that is not there, yet or any more, has NaN for a place.
	int32_t body_count, part_count, shape_count;
	model_part *parts;  ///< [part_count] in the order of their bodies
	model_mesh *shapes; ///< [shape_count] each form once
	int64_t frame_count;
	double *times;     ///< [frame_count] seconds
	carom_pose *poses; ///< [frame_count*body_count], a frame after the other
	bool *moves;       ///< [body_count] whether the pose changes
	carom_vec3 up;     ///< against gravity
	/// [body_count], then those of surfaces that deform; "": the scene has none
	export_name *names;
	float *places; ///< of deforming bodies: [model_frames][track.count], a frame after the other
} model;

/// Collect what the writers need: each Nth frame. EXIT_DONE, or EXIT_FAILED after a message;
/// model_close is due in both cases.
int model_open(model *m, export_source *source, int64_t every);
void model_close(model *m);

/// The pose of a body in a frame of the model.
static inline const carom_pose *model_pose(const model *m, int64_t frame, int32_t body)
{
	return m->poses + frame * m->body_count + body;
}

/// The first frame in which a body is there; frame_count: none.
int64_t model_first_frame(const model *m, int32_t body);

/// The frame behind the last one of those in which the body is there without a gap; frame_count: it
/// stays.
int64_t model_end_frame(const model *m, int32_t body);

/// A colour by number, red, green and blue from 0 to 1: bodies take them in turn.
const float *model_colour(int32_t number);

/// The name of body i, or of surface i of those that deform.
static inline const char *model_body_name(const model *m, int32_t i) { return m->names[i]; }
static inline const char *model_surface_name(const model *m, int32_t i) { return m->names[m->body_count + i]; }
/// How many frames of a track are taken.
int64_t model_frames(const model *m, const export_track *track);

/// Write the model. EXIT_DONE, or EXIT_FAILED after a message.
int export_write_gltf(const model *m, const char *path);
int export_write_usda(const model *m, const char *path);

#endif
