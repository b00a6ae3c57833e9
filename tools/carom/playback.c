// Recordings played back: frames become worlds. Each frame has a world of its own, since bodies may
// come in between; meshes, which cost most, are made once.
#include "playback.h"

#include "options.h"
#include "report.h"

#include "scene/volumes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// The scene that the recording was made from gives camera and detection settings; a recording does
/// without.
static int read_scene(playback *play)
{
	const io_recording_info *info = io_recording_get_info(play->recording);
	sim_error error;
	if (!info->scene_text[0] ||
		scene_parse_recorded(info->scene_name, info->scene_text, strlen(info->scene_text), &play->scene, &error))
		return EXIT_DONE;
	if (strstr(error.text, "out of memory"))
		return report_error(play->path, "%s", error.text);
	report_warning(play->path, "its scene cannot be read (%s); its camera and detection settings are not used", error.text);
	return EXIT_DONE;
}

static int create_meshes(playback *play, bool smooth)
{
	for (int32_t i = 0; i < io_recording_mesh_count(play->recording); ++i) {
		const io_recorded_mesh *recorded = io_recording_get_mesh(play->recording, i);
		carom_mesh_def def = carom_default_mesh_def();
		def.vertices = (carom_strided){ recorded->vertices, 0, CAROM_FLOAT32 };
		def.vertex_count = recorded->vertex_count;
		def.triangles = recorded->triangles;
		def.triangle_count = recorded->triangle_count;
		if (carom_create_mesh(play->context, &def, NULL, &play->meshes[i]) != CAROM_SUCCESS)
			return report_error(play->path, "mesh '%s': %s", recorded->name, carom_error_text(play->context));
		if (smooth && !view_create_smooth_mesh(play->meshes[i], &play->smooth[i]))
			return report_error(NULL, "out of memory");
	}
	return EXIT_DONE;
}

int playback_open(playback *play, const char *path, int64_t threads, bool smooth)
{
	memset(play, 0, sizeof *play);
	play->path = path;
	sim_error error;
	play->recording = io_open_recording(path, &error);
	if (!play->recording)
		return report_error(NULL, "%s", error.text);
	if (io_recording_note(play->recording))
		report_warning(path, "%s", io_recording_note(play->recording));
	// One more than needed: no list is empty.
	const size_t bodies = (size_t)io_recording_body_count(play->recording) + 1;
	const size_t meshes = (size_t)io_recording_mesh_count(play->recording) + 1;
	play->poses = calloc(bodies, sizeof *play->poses);
	play->ids = calloc(bodies, sizeof *play->ids);
	play->looks = calloc(bodies, sizeof *play->looks);
	play->meshes = calloc(meshes, sizeof *play->meshes);
	play->hulls = calloc(meshes, sizeof *play->hulls);
	play->smooth = calloc(meshes, sizeof *play->smooth);
	if (!play->poses || !play->ids || !play->looks || !play->meshes || !play->hulls || !play->smooth)
		return report_error(NULL, "out of memory");
	play->context = report_create_context(threads, CAROM_SIMD_AUTO);
	if (!play->context)
		return EXIT_FAILED;
	return read_scene(play) == EXIT_DONE ? create_meshes(play, smooth) : EXIT_FAILED;
}

void playback_close(playback *play)
{
	const int32_t mesh_count = play->recording ? io_recording_mesh_count(play->recording) : 0;
	for (int32_t i = 0; i < mesh_count; ++i) {
		if (play->smooth)
			view_destroy_smooth_mesh(&play->smooth[i]);
		if (play->meshes)
			carom_release_mesh(play->meshes[i]);
		if (play->hulls)
			carom_release_mesh(play->hulls[i]);
	}
	free(play->meshes);
	free(play->hulls);
	free(play->smooth);
	free(play->poses);
	free(play->ids);
	free(play->looks);
	free(play->marks);
	carom_destroy_context(play->context);
	scene_destroy(&play->scene);
	io_close_recording(play->recording);
	memset(play, 0, sizeof *play);
}

/// Add the body that begins at a row; number, among the bodies of the recording, chooses its
/// colour, as that of `carom run` does.
static bool add_body(playback *play, carom_world *world, int32_t row, int32_t number)
{
	const io_recorded_body *recorded = io_recording_get_body(play->recording, row);
	carom_body_def def = carom_default_body_def();
	carom_body_id id;
	def.pose = play->poses[row];
	const bool added =
		scene_recorded_def(play->context, play->recording, row, play->meshes, play->hulls, &def) == CAROM_SUCCESS &&
		carom_world_add_body(world, &def, &id) == CAROM_SUCCESS;
	const int32_t rows = scene_recorded_rows(play->recording, row);
	free((void *)def.parts);
	if (!added)
		return false;
	for (int32_t k = 0; k < rows; ++k) {
		view_look look = view_make_look(recorded[k].type, recorded->kind, number);
		const int32_t own = number - play->first_number;
		if (own < play->scene.rigid.body_count)
			look.clear = (float)(1 - play->scene.rigid.bodies[own].opacity);
		if (recorded[k].type == CAROM_MESH && play->smooth[recorded[k].mesh].normals)
			look.surface = &play->smooth[recorded[k].mesh];
		play->looks[play->look_count++] = look;
	}
	play->dynamic_count += recorded->kind == CAROM_DYNAMIC;
	play->ids[play->body_count++] = id;
	return true;
}

carom_world_def playback_detection(const playback *play)
{
	return play->scene.text ? play->scene.rigid.detection : carom_default_world_def();
}

int32_t playback_body_limit(const playback *play)
{
	return play->scene.text ? play->scene.rigid.max_contacts_per_body_pair : 0;
}

carom_world *playback_create_world(playback *play, int32_t frame)
{
	sim_error error;
	if (io_recording_read_poses(play->recording, frame, play->poses, &error))
		return playback_create_posed_world(play, frame, true);
	report_error(NULL, "%s", error.text);
	return NULL;
}

carom_world *playback_create_posed_world(playback *play, int32_t frame, bool with_lab)
{
	play->body_count = 0;
	play->look_count = 0;
	play->dynamic_count = 0;
	carom_world_def def = playback_detection(play);
	if (play->scene.text && with_lab)
		def.lab = &play->scene.rigid.lab;
	carom_world *world = NULL;
	int32_t number = -1;
	bool good = carom_create_world(play->context, &def, &world) == CAROM_SUCCESS &&
		carom_world_set_body_pairs(world, false, playback_body_limit(play)) == CAROM_SUCCESS;
	for (int32_t i = 0; good && i < io_recording_body_count(play->recording); ++i) {
		const bool begins = io_recording_get_body(play->recording, i)->part <= 1;
		number += begins;
		if (begins && !isnan(play->poses[i].position.x)) // else not there yet
			good = add_body(play, world, i, play->first_number + number);
	}
	if (good)
		return world;
	report_error(play->path, "frame %d: %s", frame, carom_error_text(play->context));
	carom_destroy_world(world);
	return NULL;
}

// ---- Contacts ----

static int reserve_marks(playback *play, int count)
{
	free(play->marks);
	play->mark_count = 0;
	play->marks = malloc(((size_t)count + 1) * sizeof *play->marks);
	return play->marks ? EXIT_DONE : report_error(NULL, "out of memory");
}

static void add_mark(playback *play, const double point[3], const float normal[3], float depth)
{
	play->marks[play->mark_count++] =
		(view_contact_mark){ { point[0], point[1], point[2] }, { normal[0], normal[1], normal[2] }, depth };
}

static int read_contacts(playback *play, int32_t frame)
{
	sim_error error;
	const int32_t count = io_recording_contact_count(play->recording, frame);
	io_recorded_contact *contacts = malloc(((size_t)count + 1) * sizeof *contacts);
	if (!contacts)
		return report_error(NULL, "out of memory");
	int status = reserve_marks(play, count);
	if (status == EXIT_DONE && !io_recording_read_contacts(play->recording, frame, contacts, &error))
		status = report_error(NULL, "%s", error.text);
	for (int32_t i = 0; status == EXIT_DONE && i < count; ++i)
		add_mark(play, contacts[i].point, contacts[i].normal, contacts[i].depth);
	free(contacts);
	return status;
}

int playback_find_contacts(playback *play, carom_world *world, int32_t frame)
{
	if (io_recording_get_info(play->recording)->contacts)
		return read_contacts(play, frame);
	if (carom_world_step(world) != CAROM_SUCCESS)
		return report_error(play->path, "frame %d: %s", frame, carom_error_text(play->context));
	const carom_contact_view found = carom_world_contacts(world);
	const int status = reserve_marks(play, found.count);
	for (int32_t i = 0; status == EXIT_DONE && i < found.count; ++i)
		add_mark(play, found.data[i].point, found.data[i].normal, found.data[i].depth);
	return status;
}

carom_vec3 playback_up(const playback *play)
{
	return view_up_against(io_recording_get_info(play->recording)->gravity, (carom_vec3){ 0, 0, 1 });
}
