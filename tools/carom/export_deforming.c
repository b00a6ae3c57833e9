// Deforming bodies in a page: the mesh files of a run become a track of vertices.
//
// Cloth that tears gets vertices, while its triangles stay. So the triangles of the last frame fit
// all frames: where a vertex is still whole in an earlier frame, its later twins are all there. All
// formats get those triangles, and lose nothing.
#include "export.h"
#include "options.h"
#include "report.h"

#include "io/mesh_file.h"
#include "web/track.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void frame_path(const export_deforming *d, int64_t number, char path[IO_PATH_MAX])
{
	snprintf(path, IO_PATH_MAX, "%s/frame_%06lld.%s", d->folder, (long long)number, d->obj ? "obj" : "ply");
}

static int load_frame(const export_deforming *d, int64_t frame, sim_mesh *mesh)
{
	char path[IO_PATH_MAX];
	sim_error error;
	frame_path(d, frame, path);
	return io_load_mesh(path, mesh, &error) ? EXIT_DONE : report_error(path, "%s", error.text);
}

/// Give a frame the triangles and vertices of the last one. EXIT_FAILED where its vertices are not
/// those before tears.
static int take_later_triangles(const export_deforming *d, const char *path, sim_mesh *mesh)
{
	const int64_t corners = 3 * (int64_t)d->file_triangles;
	int32_t *twin = malloc((size_t)d->file_vertices * sizeof *twin);
	float *vertices = calloc((size_t)d->file_vertices, 3 * sizeof *vertices);
	bool fits = true;
	for (int32_t i = 0; twin && i < d->file_vertices; i++)
		twin[i] = -1;
	for (int64_t i = 0; twin && vertices && i < corners && fits; i++) {
		const int32_t to = d->file_corners[i], from = mesh->triangles[i];
		fits = from >= 0 && from < mesh->vertex_count && (twin[to] < 0 || twin[to] == from);
		twin[to] = from;
		if (fits)
			memcpy(vertices + 3 * (int64_t)to, mesh->vertices + 3 * (int64_t)from, 3 * sizeof *vertices);
		mesh->triangles[i] = to;
	}
	const bool taken = twin && vertices;
	free(twin);
	if (!taken || !fits) {
		free(vertices);
		return taken ? report_error(path, "does not have the triangles of the last frame: these are frames of different runs")
					 : report_error(NULL, "out of memory");
	}
	free(mesh->vertices);
	mesh->vertices = vertices;
	mesh->vertex_count = d->file_vertices;
	return EXIT_DONE;
}

int export_load_deforming(const export_deforming *d, int64_t frame, sim_mesh *mesh)
{
	char path[IO_PATH_MAX];
	if (load_frame(d, frame, mesh) != EXIT_DONE)
		return EXIT_FAILED;
	frame_path(d, frame, path);
	if (d->file_corners && mesh->triangle_count == d->file_triangles && take_later_triangles(d, path, mesh) != EXIT_DONE) {
		sim_mesh_free(mesh);
		return EXIT_FAILED;
	}
	const int32_t vertices = mesh->vertex_count, triangles = mesh->triangle_count;
	if (vertices == d->file_vertices && triangles == d->file_triangles) {
		mesh->vertex_count = (int32_t)(d->track.count / 3);
		mesh->triangle_count = (int32_t)d->triangle_count;
		return EXIT_DONE;
	}
	sim_mesh_free(mesh);
	return report_error(path, "has %d vertices and %d triangles, and frame 0 has %d and %d: these are frames of different runs",
		(int)vertices, (int)triangles, (int)d->file_vertices, (int)d->file_triangles);
}

static bool triangles_are_sound(const sim_mesh *mesh)
{
	for (int64_t i = 0; i < 3 * (int64_t)mesh->triangle_count; i++) {
		if (mesh->triangles[i] < 0 || mesh->triangles[i] >= mesh->vertex_count)
			return false;
	}
	return true;
}

/// The largest number of a frame's file in the folder; -1: there is none.
static int64_t last_number(const export_deforming *d)
{
	int64_t last = -1;
	DIR *folder = opendir(d->folder);
	const struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		char name[32];
		const char *digits = entry->d_name + strlen("frame_");
		const long long number = !strncmp(entry->d_name, "frame_", 6) ? strtoll(digits, NULL, 10) : -1;
		snprintf(name, sizeof name, "frame_%06lld.%s", number, d->obj ? "obj" : "ply");
		if (number > last && !strcmp(name, entry->d_name))
			last = number;
	}
	if (folder)
		closedir(folder);
	return last;
}

/// The frames are counted by their files, their times by the steps between them, which the summary
/// tells.
static int take_times(export_source *source, const cJSON *summary)
{
	export_track *track = &source->deforming->track;
	char path[IO_PATH_MAX];
	const cJSON *steps = cJSON_GetObjectItem(summary, "frame_steps"), *step = cJSON_GetObjectItem(summary, "time_step");
	const double between = cJSON_IsNumber(steps) && cJSON_IsNumber(step) ? steps->valuedouble * step->valuedouble : 0;
	if (!(between > 0))
		export_note(source,
			"The times of the frames of deforming bodies are not known, for there is no summary.json with them: a 60th of a second is "
			"taken between two.");
	for (;; track->frames++) {
		frame_path(source->deforming, track->frames, path);
		if (access(path, F_OK) != 0)
			break;
	}
	const int64_t last = last_number(source->deforming);
	if (last >= track->frames)
		return report_error(path, "is missing, and frame %lld is there: a run leaves no gaps", (long long)last);
	track->times = malloc((size_t)track->frames * sizeof *track->times + 1);
	if (!track->times)
		return report_error(NULL, "out of memory");
	for (int64_t i = 0; i < track->frames; i++)
		track->times[i] = (double)i * (between > 0 ? between : 1.0 / 60);
	return EXIT_DONE;
}

// ---- The bodies in the frames ----

static bool add_surface(export_deforming *d, const export_surface *surface)
{
	export_surface *more = realloc(d->surfaces, ((size_t)d->surface_count + 1) * sizeof *more);
	if (!more)
		return false;
	d->surfaces = more;
	d->surfaces[d->surface_count++] = *surface;
	return true;
}

/// The name at the end of a row: in quotes, which are doubled within it.
static void take_name(const char *line, export_surface *s)
{
	size_t length = 0;
	const char *c = strchr(line, '"');
	for (c = c ? c + 1 : ""; *c && length + 1 < sizeof s->name; c++) {
		if (*c == '"' && *++c != '"')
			break;
		s->name[length++] = *c;
	}
	s->name[length] = 0;
}

/// The rows of bodies.csv beside the frames. Runs of earlier versions wrote none: all is one body.
static int read_surfaces(export_deforming *d)
{
	char path[IO_PATH_MAX], line[512];
	int64_t vertices = 0, triangles = 0;
	export_surface s = { "cloth", d->file_vertices, d->file_triangles, "deforming" };
	snprintf(path, sizeof path, "%s/bodies.csv", d->folder);
	FILE *file = fopen(path, "rb");
	if (!file)
		return add_surface(d, &s) ? EXIT_DONE : report_error(NULL, "out of memory");
	int status = EXIT_DONE;
	for (int number = 1; status == EXIT_DONE && fgets(line, sizeof line, file); number++) {
		if (number == 1)
			continue;
		take_name(line, &s);
		if (sscanf(line, "%11[a-z],%d,%d,", s.kind, &s.vertex_count, &s.triangle_count) != 3 || s.vertex_count < 1 ||
			s.triangle_count < 0)
			status = report_error(path, "line %d: is no kind of body and two numbers", number);
		else if (!add_surface(d, &s))
			status = report_error(NULL, "out of memory");
		vertices += s.vertex_count;
		triangles += s.triangle_count;
	}
	fclose(file);
	if (status == EXIT_DONE && (vertices != d->file_vertices || triangles != d->file_triangles))
		status = report_error(path, "tells of %lld vertices and %lld triangles, and frame 0 has %d and %d", (long long)vertices,
			(long long)triangles, (int)d->file_vertices, (int)d->file_triangles);
	d->all_surfaces = d->surface_count;
	return status;
}

/// Obstacles come last in the frames. A recording shows them, where the run has put them.
static void leave_out_obstacles(export_deforming *d)
{
	while (d->surface_count > 1 && !strcmp(d->surfaces[d->surface_count - 1].kind, "obstacle")) {
		const export_surface *last = &d->surfaces[--d->surface_count];
		d->track.count -= 3 * (int64_t)last->vertex_count;
		d->triangle_count -= last->triangle_count;
	}
}

/// The vertices of surfaces where some have torn: bodies.csv tells of the start.
static void count_torn_vertices(export_deforming *d)
{
	int64_t corner = 0;
	int32_t first = 0;
	for (int32_t i = 0; i < d->surface_count && d->file_corners; i++) {
		export_surface *s = &d->surfaces[i];
		for (const int64_t end = corner + 3 * (int64_t)s->triangle_count; corner < end; corner++) {
			if (d->file_corners[corner] >= first + s->vertex_count)
				s->vertex_count = d->file_corners[corner] + 1 - first;
		}
		first += s->vertex_count;
	}
}

/// Take the triangles of the last frame where it has more vertices than the first one, mesh.
static int take_last_triangles(export_deforming *d, sim_mesh *mesh)
{
	sim_mesh last = { 0 };
	if (d->track.frames < 2)
		return EXIT_DONE;
	if (load_frame(d, d->track.frames - 1, &last) != EXIT_DONE)
		return EXIT_FAILED;
	if (last.triangle_count != mesh->triangle_count || last.vertex_count <= mesh->vertex_count || !triangles_are_sound(&last)) {
		sim_mesh_free(&last);
		return EXIT_DONE;
	}
	const size_t bytes = 3 * (size_t)last.triangle_count * sizeof *d->file_corners;
	d->file_corners = malloc(bytes);
	if (!d->file_corners) {
		sim_mesh_free(&last);
		return report_error(NULL, "out of memory");
	}
	memcpy(d->file_corners, last.triangles, bytes);
	sim_mesh_free(mesh);
	*mesh = last;
	return EXIT_DONE;
}

int export_open_deforming(export_source *source, const char *folder, bool obj, const cJSON *summary)
{
	sim_mesh mesh = { 0 };
	export_deforming *d = source->deforming = calloc(1, sizeof *d);
	if (!d || !(d->folder = strdup(folder)))
		return report_error(NULL, "out of memory");
	d->obj = obj;
	if (take_times(source, summary) != EXIT_DONE || load_frame(d, 0, &mesh) != EXIT_DONE)
		return EXIT_FAILED;
	int status = EXIT_DONE;
	if (!triangles_are_sound(&mesh))
		status = report_error(folder, "frame 0 has a triangle that names a vertex that is not there");
	const int32_t start_vertices = mesh.vertex_count;
	if (status == EXIT_DONE)
		status = take_last_triangles(d, &mesh);
	d->file_vertices = start_vertices;
	d->file_triangles = mesh.triangle_count;
	d->track.name = "vertices";
	d->track.count = 3 * (int64_t)mesh.vertex_count;
	d->track.stride = 3;
	d->triangle_count = mesh.triangle_count;
	d->triangles = mesh.triangles;
	d->quantum = page_vertex_quantum(page_middle_edge(&mesh));
	mesh.triangles = NULL;
	sim_mesh_free(&mesh);
	if (status == EXIT_DONE)
		status = read_surfaces(d);
	d->file_vertices = (int32_t)(d->track.count / 3);
	count_torn_vertices(d);
	if (status == EXIT_DONE && source->bodies)
		leave_out_obstacles(d);
	return status;
}

int export_read_vertices(export_deforming *d, int64_t frame, int32_t *values)
{
	sim_mesh mesh = { 0 };
	if (export_load_deforming(d, frame, &mesh) != EXIT_DONE)
		return EXIT_FAILED;
	for (int64_t i = 0; i < d->track.count; i++)
		values[i] = web_quantise(mesh.vertices[i], d->quantum);
	sim_mesh_free(&mesh);
	return EXIT_DONE;
}

bool export_add_deforming(const export_deforming *d, web_page *page, sim_error *error)
{
	return web_page_add(page, "triangles", d->triangles, 12 * (size_t)d->triangle_count, error);
}

void export_close_deforming(export_deforming *d)
{
	if (!d)
		return;
	free(d->folder);
	free(d->file_corners);
	free(d->triangles);
	free(d->surfaces);
	free(d->track.times);
	free(d);
}
