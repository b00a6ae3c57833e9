/// @file renderer.h
/// Pictures of a world, ray traced with the library's own trees: sun with hard shadows, light of
/// the sky, checkered ground that fades into the distance, contacts as an overlay.
#ifndef VIEW_RENDERER_H
#define VIEW_RENDERER_H

#include "carom/carom.h"
#include "sim/base/sim_error.h"
#include "view/image.h"

/// Where a picture is taken from. World frame, metres.
typedef struct view_camera {
	carom_vec3 position;
	carom_vec3 target;
	carom_vec3 up;        ///< any length; not along the line of sight
	double field_of_view; ///< from the lower to the upper border, degrees, above 0 and below 180
} view_camera;

/// A mesh's normals for smooth shading: one for each corner of each triangle, [9*triangle_count],
/// body frame. Sharp edges stay sharp.
typedef struct view_smooth_mesh {
	const carom_mesh *mesh; ///< not owned; must outlive this
	float *normals;         ///< owned
} view_smooth_mesh;

/// How a body looks.
typedef struct view_look {
	float color[3];                  ///< linear red, green, blue, 0 to 1
	bool checker;                    ///< a subtle pattern of squares, for planes
	/// 0: the body is solid and casts a shadow; 1: it is hidden; between: so much of the light from
	/// behind comes through
	float clear;
	const view_smooth_mesh *surface; ///< NULL: the normals of the triangles
} view_look;

/// A contact to be drawn.
typedef struct view_contact_mark {
	carom_vec3 point;
	carom_vec3 normal; ///< unit
	double depth;      ///< metres; gives the colour
} view_contact_mark;

/// The settings of a picture. Start from view_default_picture_options.
typedef struct view_picture_options {
	int width;  ///< pixels, 1280 at first
	int height; ///< pixels, 720 at first
	/// rays for a pixel with an edge in it: 1, 4 (at first), 9 or 16; even pixels need one
	int samples;
	int threads; ///< 0 (at first): one for each core; the picture does not depend on it
	/// looks[i] of the body whose id has index1 = i + 1, or whose part has that number; others get
	/// a colour by their number.
	const view_look *looks;
	int look_count;
	/// direction towards the sun, any length; zero (at first): over the viewer's left shoulder
	carom_vec3 sun;
	const view_contact_mark *contacts; ///< NULL (at first): none
	int contact_count;
	/// depth of the hottest colour, metres; 0 (at first): the deepest contact's, rounded up to 1, 2
	/// or
	double deepest;
	///< 5 times a power of ten
	const char *caption; ///< a line of text at the bottom, or NULL (at first)
} view_picture_options;

view_picture_options view_default_picture_options(void);

/// The usual look: planes checkered, other bodies that do not move grey, the rest in a colour
/// chosen by number.
view_look view_make_look(carom_shape_type shape, carom_body_kind kind, int number);

/// Compute a mesh's smooth normals. False when memory is short. Give them back with
/// view_destroy_smooth_mesh.
bool view_create_smooth_mesh(const carom_mesh *mesh, view_smooth_mesh *smooth);
void view_destroy_smooth_mesh(view_smooth_mesh *smooth);

/// The box that holds the bodies at their present poses; planes are left out. With more than 100
/// bodies the outermost hundredth on each side is left out too, so that a few that roll away do not
/// make the rest small. False when nothing is left or memory is short.
bool view_bounds_of_bodies(const carom_world *world, const carom_body_id *ids, int count, carom_aabb *box);

/// Unite a box with another one.
void view_widen_box(carom_aabb *box, const carom_aabb *more);

/// Kinematic bodies that are wider than the bodies that forces move, by more than this factor, are
/// a ground.
#define VIEW_WIDER 10.0

/// The box of what a picture of the bodies is about, by view_bounds_of_bodies: of those that forces
/// move, and of kinematic ones beside them that are at most VIEW_WIDER times as wide. A wider one
/// is a ground that moves, and would make the rest tiny. Where no forces move any: of the kinematic
/// ones; where all rest: of all. False when nothing is left or memory is short.
bool view_bounds_of_moving(const carom_world *world, const carom_body_id *ids, int count, carom_aabb *box);

/// The direction against gravity, of any length; where there is none, the other one.
carom_vec3 view_up_against(carom_vec3 gravity, carom_vec3 without_gravity);

/// A camera that sees a whole box a little from above, at a picture width / height of aspect. up
/// points against gravity, any length.
view_camera view_frame_box(const carom_aabb *box, carom_vec3 up, double aspect);

/// Draw a world as its bodies lie now. *image is made here (free it with view_destroy_image).
/// False, with the reason in error, when an option or the camera cannot be used or memory is short;
/// *image is empty then. Uses only queries: a const world may be drawn by several callers at once.
bool view_render_world(const carom_world *world, const view_camera *camera, const view_picture_options *options,
	view_image *image, sim_error *error);

#endif
