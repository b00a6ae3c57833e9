/// @file render_moment.h
/// A moment of the files that a run left, drawn: rigid bodies of the recording, deforming bodies of
/// the frames, spheres of the snapshots, together.
#ifndef CAROM_TOOL_RENDER_MOMENT_H
#define CAROM_TOOL_RENDER_MOMENT_H

#include "export.h"
#include "picture.h"

/// The look of pictures, as the scene has it: from the recording, else from summary.json.
typedef struct render_view {
	bool has_camera;
	view_camera camera; ///< its up is always there
	int width, height;
	sim_sphere_color color;
	bool box, ground;
	bool has_walls;
	carom_aabb walls; ///< the box of the spheres
} render_view;

render_view render_read_view(const export_source *source);

/// The track whose frames are counted: that of the recording, else the one with the most frames.
const export_track *render_clock(export_source *source);

/// A moment of a run. All zero is closed.
typedef struct render_moment {
	export_source *source;
	int64_t frame;      ///< of render_clock
	double time;        ///< of it, seconds
	double farthest;    ///< seconds between it and the frame of another track, most
	carom_world *world; ///< of the rigid bodies; NULL: none
	sim_mesh mesh;      ///< of the deforming bodies
	io_vtk_spheres spheres;
	view_contact_mark *marks;
	int mark_count;
} render_moment;

/// Read a moment: a frame of render_clock, and of each other track the frame that is nearest in
/// time, of two the earlier one. contacts: find those of rigid bodies, as recorded or again, and
/// read those of the others where there are files of them. EXIT_DONE, or EXIT_FAILED after a
/// message; render_free_moment is due in both cases.
int render_read_moment(render_moment *m, export_source *source, int64_t frame, bool contacts);
void render_free_moment(render_moment *m);

/// The box of all that moves, and of the walls of the spheres.
carom_aabb render_bounds(const render_moment *m, const render_view *view);

/// Draw a moment, whose world goes into the picture. options: size, samples, threads, caption;
/// flat: show the triangles of deforming bodies. EXIT_DONE, or EXIT_FAILED after a message. Give
/// *image back with view_destroy_image.
int render_draw(render_moment *m, const render_view *view, const view_camera *camera, const view_picture_options *options,
	bool flat, view_image *image);

#endif
