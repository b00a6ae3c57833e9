// Recorded motions as bodies of a world.
#include "motion.h"

#include "mesh_input.h"
#include "options.h"
#include "report.h"
#include "scene/volumes.h"
#include "io/recording.h"
#include "io/trajectory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct motion_source {
	const char *path;
	io_trajectory trajectory;
	io_recording *recording; ///< NULL for trajectories
	carom_mesh **meshes;
	carom_mesh **hulls; ///< of those meshes that a body is the hull of
	int32_t mesh_count;
	int64_t row_count;  ///< of the file: bodies, each with as many as it has parts
	carom_body_id *ids; ///< null ids: not in the world yet
	carom_pose *poses;
	bool ground; ///< still to be added
} motion_source;

file_kind motion_kind_of(const io_input *input)
{
	const char *start = input->start;
	if (io_starts_like_recording(start, input->start_size))
		return FILE_RECORDING;
	if (memcmp(start, "\x1f\x8b", 2) == 0 || (input->start_size >= 8 && memcmp(start, "RBTRAJ1", 8) == 0))
		return FILE_TRAJECTORY;
	return input->start_size >= 8 && memcmp(start, "CAROMREC", 8) == 0 ? FILE_CALLS : FILE_OTHER;
}

int motion_unreadable(const char *path, const char *error)
{
	const char *hint = io_missing_recording_hint(path);
	return report_error(path, "%s", hint ? hint : error);
}

file_kind motion_file_kind(const char *path)
{
	sim_error error;
	io_input input;
	if (!io_open_input(&input, path, &error)) {
		motion_unreadable(path, error.text);
		return FILE_UNREADABLE;
	}
	const file_kind kind = motion_kind_of(&input);
	io_close_input(&input);
	return kind;
}

static int out_of_memory(const char *path) { return report_error(path, "out of memory"); }

/// Arrays with an element for each body and each mesh.
static int allocate(motion *m, int64_t row_count, int32_t mesh_count)
{
	motion_source *s = m->source;
	s->ids = calloc((size_t)row_count + 1, sizeof *s->ids);
	s->poses = malloc(((size_t)row_count + 1) * sizeof *s->poses);
	s->row_count = row_count;
	s->meshes = calloc((size_t)mesh_count + 1, sizeof *s->meshes);
	s->hulls = calloc((size_t)mesh_count + 1, sizeof *s->hulls);
	s->mesh_count = mesh_count;
	return s->ids && s->poses && s->meshes && s->hulls ? OPTIONS_GO_ON : out_of_memory(s->path);
}

static int open_trajectory(carom_context *context, const motion_options *options, motion *m)
{
	motion_source *s = m->source;
	sim_error error;
	if (!io_load_trajectory(s->path, &s->trajectory, &error))
		return report_error(s->path, "%s", error.text);
	const io_trajectory *t = &s->trajectory;
	if (!options->mesh)
		return options_misuse("replay",
			"%s needs the mesh of its bodies: --mesh FILE with the %d vertices and %d triangles of %s", s->path,
			t->mesh_vertex_count, t->mesh_triangle_count, t->mesh_name);
	m->body_count = t->body_count;
	m->frame_count = t->frame_count;
	s->ground = options->ground;
	const int status = allocate(m, t->body_count, 1);
	if (status != OPTIONS_GO_ON)
		return status;
	const mesh_input input = { .path = options->mesh, .scale = t->mesh_scale, .grid_resolution = (int)options->grid_resolution };
	sim_mesh mesh;
	s->meshes[0] = mesh_input_load(context, &input, &mesh);
	if (!s->meshes[0])
		return EXIT_FAILED;
	const bool same = mesh.vertex_count == t->mesh_vertex_count && mesh.triangle_count == t->mesh_triangle_count;
	if (!same)
		report_error(options->mesh,
			"has %d vertices and %d triangles, but the bodies of %s have %d and %d: give it the mesh that it was made with, %s",
			mesh.vertex_count, mesh.triangle_count, s->path, t->mesh_vertex_count, t->mesh_triangle_count, t->mesh_name);
	sim_mesh_free(&mesh);
	return same ? OPTIONS_GO_ON : EXIT_FAILED;
}

static int open_recording(carom_context *context, const motion_options *options, motion *m)
{
	motion_source *s = m->source;
	if (options->mesh || options->ground)
		return options_misuse("replay", "%s holds its own meshes and ground; leave --mesh and --ground out", s->path);
	sim_error error;
	s->recording = io_open_recording(s->path, &error);
	if (!s->recording)
		return report_error(NULL, "%s", error.text);
	if (io_recording_note(s->recording))
		report_warning(s->path, "%s", io_recording_note(s->recording));
	m->body_count = io_recording_whole_count(s->recording);
	m->other_count = m->body_count - io_recording_moving_count(s->recording);
	m->frame_count = io_recording_frame_count(s->recording);
	const int status = allocate(m, io_recording_body_count(s->recording), io_recording_mesh_count(s->recording));
	if (status != OPTIONS_GO_ON)
		return status;
	for (int32_t i = 0; i < s->mesh_count; i++) {
		const io_recorded_mesh *mesh = io_recording_get_mesh(s->recording, i);
		carom_mesh_def def = carom_default_mesh_def();
		def.vertices = (carom_strided){ mesh->vertices, 0, CAROM_FLOAT32 };
		def.vertex_count = mesh->vertex_count;
		def.triangles = mesh->triangles;
		def.triangle_count = mesh->triangle_count;
		if (options->grid_resolution >= 0)
			def.grid_resolution = (int32_t)options->grid_resolution;
		if (carom_create_mesh(context, &def, NULL, &s->meshes[i]) != CAROM_SUCCESS)
			return report_error(s->path, "mesh %s: %s", mesh->name, carom_error_text(context));
	}
	return OPTIONS_GO_ON;
}

int motion_open(carom_context *context, const char *path, file_kind kind, const motion_options *options, motion *opened)
{
	memset(opened, 0, sizeof *opened);
	opened->source = calloc(1, sizeof *opened->source);
	if (!opened->source)
		return out_of_memory(path);
	opened->source->path = path;
	return (kind == FILE_RECORDING ? open_recording : open_trajectory)(context, options, opened);
}

void motion_close(motion *opened)
{
	motion_source *s = opened->source;
	if (!s)
		return;
	for (int32_t i = 0; s->meshes && i < s->mesh_count; i++)
		carom_release_mesh(s->meshes[i]);
	for (int32_t i = 0; s->hulls && i < s->mesh_count; i++)
		carom_release_mesh(s->hulls[i]);
	free(s->meshes);
	free(s->hulls);
	free(s->ids);
	free(s->poses);
	io_free_trajectory(&s->trajectory);
	io_close_recording(s->recording);
	free(s);
	memset(opened, 0, sizeof *opened);
}

// The worlds whose bodies are moved. They get the same calls, so a body has the same id in all of
// them.
typedef struct movers {
	carom_world *const *worlds;
	int count;
} movers;

static bool add_body(const motion_source *s, movers m, carom_body_def *def, int64_t number, carom_body_id *id)
{
	def->user_data = (uint64_t)number;
	for (int i = 0; i < m.count; i++) {
		if (carom_world_add_body(m.worlds[i], def, id) != CAROM_SUCCESS) {
			report_error(s->path, "body %lld: %s", (long long)number, carom_error_text(carom_world_context(m.worlds[i])));
			return false;
		}
	}
	return true;
}

/// The ground goes in first: the lower index makes it body A of its pairs.
static bool add_ground(motion_source *s, movers m)
{
	carom_body_def def = carom_default_body_def();
	def.shape.type = CAROM_PLANE;
	def.kind = CAROM_STATIC;
	def.pose = io_trajectory_ground_pose(&s->trajectory);
	carom_body_id id;
	s->ground = false;
	return add_body(s, m, &def, -1, &id);
}

static bool add_recorded_body(const motion_source *s, movers m, int32_t index)
{
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_DYNAMIC;
	def.shape.type = CAROM_MESH;
	def.shape.mesh = s->meshes[0];
	def.pose = s->poses[index];
	if (!s->recording)
		return add_body(s, m, &def, index, &s->ids[index]);
	carom_context *context = carom_world_context(m.worlds[0]);
	def.shape = carom_default_body_def().shape;
	bool added = scene_recorded_def(context, s->recording, index, s->meshes, s->hulls, &def) == CAROM_SUCCESS;
	if (!added)
		report_error(s->path, "body %d: %s", (int)index, carom_error_text(context));
	added = added && add_body(s, m, &def, index, &s->ids[index]);
	free((void *)def.parts);
	return added;
}

/// Bodies first..first+count-1, which are all in the worlds.
static bool move_run(const motion_source *s, movers m, int64_t first, int64_t count, int64_t frame)
{
	for (int i = 0; count > 0 && i < m.count; i++) {
		if (carom_world_set_poses(m.worlds[i], (int)count, s->ids + first, s->poses + first) != CAROM_SUCCESS) {
			report_error(s->path, "step %lld: %s", (long long)frame, carom_error_text(carom_world_context(m.worlds[i])));
			return false;
		}
	}
	return true;
}

static bool read_poses(motion_source *s, int64_t frame)
{
	if (!s->recording) {
		io_trajectory_poses(&s->trajectory, (int32_t)frame, s->poses);
		return true;
	}
	sim_error error;
	if (io_recording_read_poses(s->recording, (int32_t)frame, s->poses, &error))
		return true;
	report_error(NULL, "%s", error.text);
	return false;
}

/// Bodies that are in the worlds and not in this frame leave them.
static bool remove_gone(motion_source *s, movers m)
{
	for (int64_t i = 0; i < s->row_count; i++) {
		if (s->ids[i].index1 == 0 || !isnan(s->poses[i].position.x))
			continue;
		for (int k = 0; k < m.count; k++) {
			if (carom_world_remove_body(m.worlds[k], s->ids[i]) != CAROM_SUCCESS) {
				report_error(s->path, "body %lld: %s", (long long)i, carom_error_text(carom_world_context(m.worlds[k])));
				return false;
			}
		}
		s->ids[i] = (carom_body_id){ 0, 0 };
	}
	return true;
}

static bool is_further_part(const motion_source *s, int64_t row)
{
	return s->recording && io_recording_get_body(s->recording, (int32_t)row)->part > 1;
}

bool motion_apply(motion *opened, carom_world *const *worlds, int world_count, int64_t frame)
{
	motion_source *s = opened->source;
	const movers m = { worlds, world_count };
	if (!read_poses(s, frame) || (s->ground && !add_ground(s, m)) || !remove_gone(s, m))
		return false;
	// Bodies that are in the worlds are moved in runs, one call for each; those that were born in
	// this frame are added. A body with parts is moved by the row of its first part.
	int64_t first = 0;
	for (int64_t i = 0; i <= s->row_count; i++) {
		const bool known = i < s->row_count && s->ids[i].index1 != 0;
		if (known)
			continue;
		if (!move_run(s, m, first, i - first, frame))
			return false;
		const bool born = i < s->row_count && !is_further_part(s, i) && !isnan(s->poses[i].position.x);
		if (born && !add_recorded_body(s, m, (int32_t)i))
			return false;
		first = i + 1;
	}
	return true;
}
