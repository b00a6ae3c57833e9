/// @file playback.h
/// A recording played back: each frame as a world of the library, with the bodies' looks and the
/// frame's contacts.
#ifndef CAROM_TOOL_PLAYBACK_H
#define CAROM_TOOL_PLAYBACK_H

#include "io/recording.h"
#include "view/renderer.h"
#include "scene/scene.h"

/// All zero is closed.
typedef struct playback {
	const char *path; ///< the caller's; must stay valid
	io_recording *recording;
	/// the source of the recording; empty when it does not say, or when that cannot be read
	scene_description scene;
	carom_context *context;
	carom_mesh **meshes;
	carom_mesh **hulls; ///< of those meshes that a body is the hull of
	view_smooth_mesh *smooth;
	carom_pose *poses;
	int32_t first_number; ///< of the bodies, for their colours; 0, but where others come before
	// The bodies of the world made last.
	int body_count;
	int dynamic_count; ///< of these, dynamic: those that `carom run` counts as bodies
	carom_body_id *ids;
	/// of the shape that has the number index1 = i + 1, as view_picture_options wants them
	view_look *looks;
	int look_count;
	// The contacts found last.
	view_contact_mark *marks;
	int mark_count;
} playback;

/// Open a recording; smooth: with smooth normals for its meshes. threads: of detection, 0: one for
/// each core. EXIT_DONE, or EXIT_FAILED after a message; playback_close is due in both cases.
int playback_open(playback *play, const char *path, int64_t threads, bool smooth);
void playback_close(playback *play);

/// A new world of the bodies that are there in a frame; fills the lists of bodies. Destroy it
/// before playback_close. NULL after a message.
carom_world *playback_create_world(playback *play, int32_t frame);

/// Make a world of the bodies at play->poses, with the detection settings of the scene; with_lab:
/// with those of the laboratory too. NULL after a message that names the frame.
carom_world *playback_create_posed_world(playback *play, int32_t frame, bool with_lab);

/// The detection settings of the recording's scene, without those of the laboratory.
carom_world_def playback_detection(const playback *play);
/// The limit of contacts of two bodies of the recorded scene; 0: none.
int32_t playback_body_limit(const playback *play);

/// Fill marks with the contacts of a frame: as recorded, else found again in the frame's world.
/// EXIT_DONE, or EXIT_FAILED after a message.
int playback_find_contacts(playback *play, carom_world *world, int32_t frame);

/// The direction against gravity; z when there is none.
carom_vec3 playback_up(const playback *play);

#endif
