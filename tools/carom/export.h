/// @file export.h
/// What a run left behind, for `carom export` and `carom render`, and the pages of the first. There
/// are up to three tracks (poses of bodies, places of vertices, places of spheres), each with times
/// of its own.
#ifndef CAROM_TOOL_EXPORT_H
#define CAROM_TOOL_EXPORT_H

#include "calls.h"
#include "io/vtk_reader.h"
#include "sim/base/contact_point.h"
#include "page_parts.h"
#include "playback.h"
#include "web/page.h"

#include <cjson/cJSON.h>

typedef struct export_options {
	const char *recordings[2]; ///< the second one: NULL, or another run to show beside the first
	const char *output;
	int64_t every;
	double max_mb;
	int64_t checks;     ///< frames whose contacts the page can be compared with, most
	const char *module; ///< carom.wasm; NULL: where it usually is
	bool json;
} export_options;

/// Numbers that change from frame to frame, as they go into a page (web/track.h).
typedef struct export_track {
	const char *name;
	int64_t frames; ///< in the recording
	int64_t count;  ///< numbers of a frame
	int32_t stride; ///< numbers of an element
	double *times;  ///< [frames] seconds
} export_track;

/// Rigid bodies, from recording.h5 or the file of a run that goes on or was cut off.
typedef struct export_bodies {
	export_track track; ///< 7 numbers for each body: its place, and its quaternion x y z w
	playback play;
	double quantum; ///< m, of places
	int32_t *rows;  ///< [bodies] where each body begins
	int32_t body_count;
	char *module; ///< [module_size] the library as WebAssembly; NULL: the page finds no contacts
	size_t module_size;
	int64_t *contact_first; ///< [frames+1] contacts before each frame; NULL: not recorded
} export_bodies;

/// One of the bodies that the frames of deforming bodies hold one behind the other.
typedef struct export_surface {
	char kind[12]; ///< a word of run_surface_words (run.h)
	int32_t vertex_count, triangle_count;
	char name[96]; ///< as the run has it, or ""
} export_surface;

/// Deforming bodies, from frames/frame_NNNNNN.ply or .obj. Bodies that are obstacles, and so are in
/// the recording too, are left out where that is read.
typedef struct export_deforming {
	export_track track; ///< 3 numbers for each vertex
	char *folder;
	bool obj;
	int32_t file_vertices, file_triangles; ///< of each file; of the last one where cloth tears
	int32_t *file_corners;                 ///< [3*file_triangles] of the last file then, else NULL
	export_surface *surfaces;              ///< [surface_count] those that are kept
	int32_t surface_count;
	int32_t all_surfaces; ///< those left out included
	double quantum;       ///< m
	int32_t *triangles;   ///< [3*triangle_count]
	int64_t triangle_count;
} export_deforming;

/// Spheres, from spheres.pvd and its files.
typedef struct export_spheres {
	export_track track; ///< 3 numbers for each sphere that is kept
	io_vtk_list list;
	double quantum; ///< m
	int64_t count;  ///< in the recording
	/// spheres come and go: a file has those that are there, and their ids are numbers below count
	bool by_id;
	int64_t every; ///< of these spheres each such one is in the page
	float *radii;  ///< [count] of by_id each sphere's largest one
} export_spheres;

/// A run's output that is to be exported. All zero is fine to close.
typedef struct export_source {
	const char *path;
	int64_t threads;       ///< of the context of bodies; 0: one for each core
	bool smooth;           ///< make smooth normals for the meshes of bodies
	export_bodies *bodies; ///< NULL: none; so with the others
	export_deforming *deforming;
	export_spheres *spheres;
	char *stats;           ///< text of stats.csv, or NULL
	cJSON *summary;        ///< summary.json, or NULL
	cJSON *notes;          ///< sentences about what is missing or in doubt
	calls_folder unpacked; ///< of a recording of library calls: its run
} export_source;

/// Open what is in a folder, or one file: source says with how many threads and which normals, and
/// is all zero else. With a recording come the other sections of its run, from its folder. A
/// recording of library calls is replayed first (calls.h).
/// EXIT_DONE, or EXIT_FAILED after a message; export_close is due in both cases.
int export_open(export_source *source, const char *path);
void export_close(export_source *source);

/// The tracks of a source, bodies first. Returns their count.
enum { EXPORT_MOST_TRACKS = 3 };
int export_list_tracks(export_source *source, export_track *tracks[EXPORT_MOST_TRACKS]);

/// The member of a name in the summary, or in the section of deforming bodies or of spheres there.
/// NULL: there is none.
const cJSON *export_find_in_summary(const export_source *source, const char *name);

/// Was the run a replay of recorded library calls? What its world knew beside its shapes is not in
/// its files.
bool export_is_of_calls(const export_source *source);

/// Say a sentence about the source on stderr, and in the page.
void export_note(export_source *source, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Write the page of sources [count], one or two: with as many frames and spheres as its limit has
/// room for. EXIT_DONE, or EXIT_FAILED after a message. report, if not NULL, gets what is in the
/// page.
int export_write_page(const export_options *options, export_source *sources, int count, cJSON *report);

// ---- The kinds ----

/// Open the rigid bodies of a recording. EXIT_DONE, or EXIT_FAILED after a message.
int export_open_bodies(export_source *source, const char *path);
/// Open the frames in a folder. summary: the section of deforming bodies, or NULL.
int export_open_deforming(export_source *source, const char *folder, bool obj, const cJSON *summary);
/// Open a collection of spheres.
int export_open_spheres(export_source *source, const char *path);
void export_close_bodies(export_bodies *bodies);
void export_close_deforming(export_deforming *deforming);
void export_close_spheres(export_spheres *spheres);

/// Read the mesh of a frame, without the bodies that are left out; free it with sim_mesh_free.
/// EXIT_DONE, or EXIT_FAILED after a message.
int export_load_deforming(const export_deforming *deforming, int64_t frame, sim_mesh *mesh);
/// Read the spheres of a frame; free them with io_free_vtk_spheres. As above.
int export_load_spheres(const export_spheres *spheres, int64_t frame, io_vtk_spheres *read);

/// Read a frame: values [count]. EXIT_DONE, or EXIT_FAILED after a message.
int export_read_poses(export_bodies *bodies, int64_t frame, int32_t *values);
int export_read_vertices(export_deforming *deforming, int64_t frame, int32_t *values);
int export_read_spheres(export_spheres *spheres, int64_t frame, int32_t *values);

/// Add the blocks that do not change, and further fields of the page's head.
bool export_add_bodies(export_bodies *bodies, web_page *page, sim_error *error);
bool export_add_contacts(export_bodies *bodies, int64_t every, web_page *page, sim_error *error);
/// Add the module, and hashes of the contacts of some frames of the page, found here at the places
/// that the page has. Nothing is added without a module.
int export_add_checks(export_bodies *bodies, const export_options *options, int64_t every, web_page *page);
/// Are there files with the contacts of a track of the source?
bool export_has_points(const export_source *source, const export_track *track);
/// The contacts of a frame of a track, added to points; *there: is there a file of them? EXIT_DONE,
/// or EXIT_FAILED after a message.
int export_load_points(
	const export_source *source, const export_track *track, int64_t frame, sim_contact_points *points, bool *there);
/// Add the contacts of each frame of a track that goes into the page, where there are files with
/// them. EXIT_DONE, also when the page is full, or EXIT_FAILED after a message.
int export_add_points(const export_source *source, const export_track *track, int64_t every, double quantum, web_page *page);
bool export_add_deforming(const export_deforming *deforming, web_page *page, sim_error *error);
bool export_add_spheres(const export_spheres *spheres, web_page *page, sim_error *error);
void export_describe_bodies(const export_bodies *bodies, cJSON *head, cJSON *track);

/// Half the length of the longest body that moves, m.
double export_bodies_extent(const export_bodies *bodies);

#endif
