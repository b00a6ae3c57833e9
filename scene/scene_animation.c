// "animation" of a scene file: mesh files that are the forms of a mover, one after the other.
#include "scene/scene_animation.h"

#include "io/mesh_file.h"
#include "scene/scene_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 100000, MOST_DIGITS = 9 };

/// The place of the number in a name: %d, or %0Nd with so many digits at least. NULL where there is
/// not one, and nothing else with %.
static const char *find_number(const char *name, int *digits, size_t *length)
{
	const char *mark = strchr(name, '%');
	*digits = 0;
	*length = 2;
	if (!mark || strchr(mark + 1, '%') || strchr(mark, '/'))
		return NULL;
	if (mark[1] == '0' && mark[2] >= '1' && mark[2] <= '0' + MOST_DIGITS) {
		*digits = mark[2] - '0';
		*length = 4;
	}
	return mark[*length - 1] == 'd' ? mark : NULL;
}

void scene_read_animation(const io_json_node *body, const scene_description *scene, scene_animation *animation)
{
	static const char *const fields[] = { "files", "first", "count", "per_second", "start", "loop", NULL };
	io_json_node node;
	char *files = NULL;
	int digits;
	size_t length;
	*animation = (scene_animation){ .per_second = 24 };
	if (!io_json_member(body, "animation", &node) || !io_json_fields(&node, fields))
		return;
	if (!io_json_has(&node, "files"))
		io_json_member_error(&node, "files", "is missing: it names mesh files, as \"hand_%%04d.ply\"");
	if (!io_json_has(&node, "count"))
		io_json_member_error(&node, "count", "is missing: it says how many files there are");
	if (io_json_string(&node, "files", &files) && files && !find_number(files, &digits, &length))
		io_json_member_error(&node, "files", "must hold the place of the number once, as %%d or %%04d");
	if (files && !(animation->files = scene_resolve_path(scene->file, files)))
		io_json_error(&node, "out of memory");
	free(files);
	scene_read_int32(&node, "first", 0, 100000000, &animation->first);
	scene_read_int32(&node, "count", 1, MOST_FILES, &animation->count);
	io_json_number(&node, "per_second", 1e-6, 1e6, &animation->per_second);
	io_json_number(&node, "start", 0, 1e6, &animation->start);
	io_json_bool(&node, "loop", &animation->loop);
}

// ---- Reading the files ----

/// The path of a file of the animation, for the caller to free; NULL when memory is short.
static char *path_of(const scene_animation *animation, int32_t i)
{
	int digits;
	size_t length;
	const char *folder = strrchr(animation->files, '/'), *name = folder ? folder + 1 : animation->files;
	const char *mark = find_number(name, &digits, &length);
	const size_t room = strlen(animation->files) + 16;
	char *path = malloc(room);
	if (path)
		snprintf(path, room, "%.*s%0*d%s", (int)(mark - animation->files), animation->files, digits,
			(int)(animation->first + i), mark + length);
	return path;
}

static bool is_alike(const sim_mesh *first, const sim_mesh *mesh, sim_error *error)
{
	if (mesh->vertex_count != first->vertex_count)
		return sim_fail(error, "has %d vertices, and the first file of the animation %d", (int)mesh->vertex_count,
			(int)first->vertex_count);
	if (mesh->triangle_count != first->triangle_count ||
		memcmp(mesh->triangles, first->triangles, 3 * (size_t)mesh->triangle_count * sizeof *mesh->triangles) != 0)
		return sim_fail(error, "has other triangles than the first file of the animation");
	return true;
}

/// The places of a mesh as frame i, which is the first one, or has its triangles.
static bool take_frame(const sim_mesh *mesh, int32_t i, int32_t count, const sim_mesh *first, float **frames, sim_error *error)
{
	const size_t numbers = 3 * (size_t)mesh->vertex_count;
	if (i == 0)
		*frames = malloc(numbers * (size_t)count * sizeof **frames);
	else if (!is_alike(first, mesh, error))
		return false;
	if (!*frames)
		return sim_fail(error, "out of memory");
	memcpy(*frames + numbers * (size_t)i, mesh->vertices, numbers * sizeof **frames);
	return true;
}

/// Read file i. The mesh of the first one stays in *first.
static bool load_frame(const scene_animation *animation, int32_t i, sim_mesh *first, float **frames, sim_error *error)
{
	sim_mesh mesh;
	char *path = path_of(animation, i);
	bool done = path ? io_load_mesh(path, &mesh, error) : sim_fail(error, "out of memory");
	if (done) {
		done = take_frame(&mesh, i, animation->count, first, frames, error);
		if (i == 0)
			*first = mesh;
		else
			sim_mesh_free(&mesh);
	}
	if (!done)
		sim_fail_in(error, "%s: ", path ? path : animation->files);
	free(path);
	return done;
}

bool scene_load_animation(const scene_animation *animation, sim_mesh *first, float **frames, sim_error *error)
{
	bool done = true;
	*first = (sim_mesh){ 0 };
	*frames = NULL;
	for (int32_t i = 0; i < animation->count && done; i++)
		done = load_frame(animation, i, first, frames, error);
	if (done)
		return true;
	sim_mesh_free(first);
	*first = (sim_mesh){ 0 };
	free(*frames);
	*frames = NULL;
	return false;
}
