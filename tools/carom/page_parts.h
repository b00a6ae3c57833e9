/// @file page_parts.h
/// The parts that pages of recordings (`carom export`) and of runs that go on (`carom run --view`)
/// have alike: the head, shapes and meshes of rigid bodies, poses and contacts as whole numbers.
#ifndef CAROM_TOOL_PAGE_PARTS_H
#define CAROM_TOOL_PAGE_PARTS_H

#include "io/recording.h"
#include "sim/base/contact_point.h"
#include "scene/scene.h"
#include "web/page.h"

#include <cjson/cJSON.h>

enum {
	PAGE_ROW_NUMBERS = 18,    ///< of a shape in the page
	PAGE_POSE_NUMBERS = 7,    ///< of a body in a frame: place, and quaternion x y z w
	PAGE_CONTACT_NUMBERS = 9, ///< body a, body b, point, normal, depth
	PAGE_POINT_NUMBERS = 8,   ///< sim_contact_kind, point, normal, depth
	PAGE_POINTS = 50000,      ///< of a frame that are in the page, about
};

/// Of a quaternion's numbers.
#define PAGE_TURN_QUANTUM (1.0 / 16384)

/// The largest power of two that is not above a length; 2^-10 when that is none.
double page_quantum(double length);

/// The quantum of the places of rigid bodies, whose smallest that moves has an extent; of vertices
/// with edges of a length; of spheres of a mean radius. Metres.
double page_body_quantum(double least_extent);
double page_vertex_quantum(double edge);
double page_sphere_quantum(double mean_radius);

/// The median length of the first edges of some triangles: a plane below a cloth does not count.
double page_middle_edge(const sim_mesh *mesh);

/// Half the length of a shape along its longest side; mesh: its own, where it has one. 0: a plane.
double page_extent(const io_recorded_body *body, const io_recorded_mesh *mesh);

/// A head with format, version, program and title.
cJSON *page_start_head(const char *title);

/// Add what the viewer must know of contacts that are in the page, in blocks of so many frames.
void page_describe_contacts(cJSON *head, double quantum, int frames_per_block);

/// Add a scene's camera, where it has one.
void page_describe_camera(cJSON *head, const scene_camera *camera);

/// The numbers of a shape: kind, type, mesh, radius, half_length, half_extents, rounding, part,
/// place of the part (position, quaternion), number of the body. The hull of a mesh has a mesh of
/// its own, behind mesh_count others.
void page_fill_row(const io_recorded_body *body, int32_t mesh_count, int32_t number, double to[PAGE_ROW_NUMBERS]);

/// Add a mesh under its number: u32 vertices, u32 triangles, float32 coordinates, int32 corners.
bool page_add_mesh(web_page *page, int32_t number, const io_recorded_mesh *mesh, sim_error *error);

/// Add numbers [count], rows of stride, as a block of one frame (web/track.h).
bool page_add_values(web_page *page, const char *name, const int32_t *values, int64_t count, int32_t stride, sim_error *error);

/// A pose in whole numbers.
void page_fill_pose(const carom_pose *pose, double quantum, int32_t to[PAGE_POSE_NUMBERS]);

/// Add what the viewer must know of the points of a track to its object in the head.
void page_describe_points(cJSON *track, double quantum);

/// The points of a frame in whole numbers: values [*count]. The first PAGE_POINT_NUMBERS tell
/// whether the points are known (1 or 0), how many there are of each sim_contact_kind, and how many
/// follow; the rest is 0. Of more than PAGE_POINTS each second, third, ... one follows. points
/// NULL: they are not known. NULL when memory is short; give it back with free.
int32_t *page_fill_points(const sim_contact_points *points, double quantum, int64_t *count);

/// A contact in whole numbers.
void page_fill_contact(const io_recorded_contact *contact, double quantum, int32_t to[PAGE_CONTACT_NUMBERS]);

#endif
