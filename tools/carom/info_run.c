// `carom info` of the files that a run leaves: its folder, collections and moments for ParaView,
// checkpoints, recordings of library calls.
#include "info_kinds.h"

#include "calls.h"
#include "export.h"
#include "options.h"
#include "report.h"
#include "io/hdf5_file.h"
#include "scene/granular_checkpoint.h"
#include "scene/run_checkpoint.h"
#include "scene/scene.h"

#include <stdlib.h>
#include <string.h>

// ---- Folders ----

static void add_tracks(cJSON *facts, export_track *const *tracks, int count)
{
	cJSON *list = cJSON_AddArrayToObject(facts, "tracks");
	for (int i = 0; i < count; i++) {
		const export_track *t = tracks[i];
		cJSON *track = cJSON_CreateObject();
		cJSON_AddStringToObject(track, "name", t->name);
		cJSON_AddNumberToObject(track, "frames", (double)t->frames);
		cJSON_AddNumberToObject(track, "elements", (double)(t->count / t->stride));
		cJSON_AddNumberToObject(track, "from", t->frames > 0 ? t->times[0] : 0);
		cJSON_AddNumberToObject(track, "to", t->frames > 0 ? t->times[t->frames - 1] : 0);
		report_add(list, NULL, track);
	}
}

/// The tracks in words, a line each.
static void tell_tracks(cJSON *facts, export_track *const *tracks, int count)
{
	for (int i = 0; i < count; i++) {
		char text[120];
		const export_track *t = tracks[i];
		const bool poses = !strcmp(t->name, "poses"), spheres = !strcmp(t->name, "spheres");
		const char *what = poses ? "rigid bodies" : (spheres ? "spheres" : "deforming"),
				   *unit = poses || spheres ? "" : " vertices";
		snprintf(text, sizeof text, "%lld%s, frames: %lld, from %.9g s to %.9g s", (long long)(t->count / t->stride), unit,
			(long long)t->frames, t->frames > 0 ? t->times[0] : 0, t->frames > 0 ? t->times[t->frames - 1] : 0);
		cJSON_AddStringToObject(facts, what, text);
	}
}

int info_show_run(const char *path, bool as_json)
{
	export_source source = { .threads = 1 };
	export_track *tracks[EXPORT_MOST_TRACKS];
	static const char *const copied[] = { "scene", "steps", "time_step", "hash" };
	if (export_open(&source, path) != EXIT_DONE) {
		export_close(&source);
		return EXIT_FAILED;
	}
	cJSON *facts = cJSON_CreateObject();
	cJSON_AddStringToObject(facts, "kind", "run");
	for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
		const cJSON *item = cJSON_GetObjectItem(source.summary, copied[i]);
		if (item)
			report_add(facts, copied[i], cJSON_Duplicate(item, true));
	}
	cJSON_AddBoolToObject(facts, "finished", source.summary != NULL);
	const int count = export_list_tracks(&source, tracks);
	(as_json ? add_tracks : tell_tracks)(facts, tracks, count);
	report_add(facts, "left_out", cJSON_Duplicate(source.notes, true));
	export_close(&source);
	return info_print(path, "the folder of a run", facts, as_json);
}

// ---- ParaView ----

bool info_is_vtk(const io_input *input) { return strstr(input->start, "<VTKFile ") != NULL; }

static int show_collection(const char *path, bool as_json)
{
	sim_error error;
	io_vtk_list list;
	io_vtk_spheres first = { 0 };
	if (!io_read_pvd(path, &list, &error) || (list.count > 0 && !io_read_vtk_moment(&list, 0, &first, &error))) {
		io_free_vtk_list(&list);
		return report_error(NULL, "%s", error.text);
	}
	cJSON *facts = cJSON_CreateObject();
	cJSON_AddStringToObject(facts, "kind", "collection");
	cJSON_AddNumberToObject(facts, "files", (double)list.count);
	cJSON_AddNumberToObject(facts, "spheres", (double)first.count);
	if (list.count > 0) {
		cJSON_AddNumberToObject(facts, "first_step", (double)list.steps[0]);
		cJSON_AddNumberToObject(facts, "last_step", (double)list.steps[list.count - 1]);
		cJSON_AddNumberToObject(facts, "from", list.times[0]);
		cJSON_AddNumberToObject(facts, "to", list.times[list.count - 1]);
	}
	io_free_vtk_spheres(&first);
	io_free_vtk_list(&list);
	return info_print(path, "a collection for ParaView; times in seconds", facts, as_json);
}

/// The value of an attribute behind a place of the head, up to its tag's end. False: it has none.
static bool read_word(const char *tag, const char *name, char *value, size_t size)
{
	char words[40];
	const char *end = strchr(tag, '>');
	snprintf(words, sizeof words, " %s=\"", name);
	const char *at = strstr(tag, words);
	if (!at || !end || at > end)
		return false;
	at += strlen(words);
	const size_t length = strcspn(at, "\"");
	snprintf(value, size, "%.*s", (int)(length < size ? length : size - 1), at);
	return true;
}

static void add_count(cJSON *facts, const char *piece, const char *attribute, const char *name)
{
	char value[32];
	if (read_word(piece, attribute, value, sizeof value))
		cJSON_AddNumberToObject(facts, name, strtod(value, NULL));
}

/// All that a head tells, of the files of any program.
static void describe_head(cJSON *facts, const char *head)
{
	char word[64];
	const char *piece = strstr(head, "<Piece"), *time = strstr(head, "Name=\"TimeValue\"");
	if (read_word(strstr(head, "<VTKFile "), "type", word, sizeof word))
		cJSON_AddStringToObject(facts, "type", word);
	time = time ? strchr(time, '>') : NULL;
	if (time)
		cJSON_AddNumberToObject(facts, "time", strtod(time + 1, NULL));
	if (piece) {
		add_count(facts, piece, "NumberOfPoints", "points");
		add_count(facts, piece, "NumberOfCells", "cells");
		add_count(facts, piece, "NumberOfVerts", "verts");
		add_count(facts, piece, "NumberOfPolys", "polygons");
	}
	cJSON *arrays = cJSON_AddArrayToObject(facts, "arrays");
	for (const char *at = piece ? piece : head; (at = strstr(at, "<DataArray ")); at++) {
		if (!read_word(at, "Name", word, sizeof word))
			continue;
		cJSON *array = cJSON_CreateObject();
		cJSON_AddStringToObject(array, "name", word);
		if (read_word(at, "type", word, sizeof word))
			cJSON_AddStringToObject(array, "type", word);
		add_count(array, at, "NumberOfComponents", "components");
		report_add(arrays, NULL, array);
	}
}

int info_show_vtk(io_input *input, bool as_json)
{
	if (io_has_extension(input->path, ".pvd"))
		return show_collection(input->path, as_json);
	cJSON *facts = cJSON_CreateObject();
	cJSON_AddStringToObject(facts, "kind", "vtk");
	describe_head(facts, input->start);
	if (input->regular)
		cJSON_AddNumberToObject(facts, "bytes", (double)input->size);
	return info_print(input->path, "a file of VTK", facts, as_json);
}

// ---- Checkpoints ----

static int show_grains(const char *path, bool as_json)
{
	sim_error error;
	carom_context *context = report_create_context(1, CAROM_SIMD_AUTO);
	sim_granular *g = context ? scene_granular_read(context, path, NULL, &error) : NULL;
	if (!g) {
		carom_destroy_context(context);
		return context ? report_error(NULL, "%s", error.text) : EXIT_FAILED;
	}
	const sim_granular_info info = sim_granular_get_info(g);
	const sim_granular_mark mark = sim_granular_get_mark(g);
	cJSON *facts = cJSON_CreateObject();
	cJSON_AddStringToObject(facts, "kind", "checkpoint");
	report_add(facts, "sections", cJSON_CreateStringArray((const char *const[]){ "spheres" }, 1));
	cJSON_AddNumberToObject(facts, "spheres", (double)info.count);
	cJSON_AddNumberToObject(facts, "substeps", (double)info.steps);
	cJSON_AddNumberToObject(facts, "time", info.time);
	cJSON_AddNumberToObject(facts, "time_step", info.time_step);
	report_add_vector(facts, "radius", (const double[3]){ info.least_radius, info.mean_radius, info.largest_radius });
	cJSON_AddNumberToObject(facts, "mass", info.mass);
	cJSON_AddNumberToObject(facts, "contacts", (double)mark.contacts);
	cJSON_AddNumberToObject(facts, "deepest_overlap", info.max_overlap);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	return info_print(path, "a checkpoint of spheres; `carom run SCENE --restart` goes on from it", facts, as_json);
}

static int show_scene_state(const char *path, bool as_json)
{
	sim_error error;
	int64_t steps = 0;
	scene_description scene = { 0 };
	scene_checkpoint_part parts[2] = { { .name = "scene" }, { .name = "run" } };
	bool read = scene_read_checkpoint(path, parts, 2, &error);
	if (read) {
		sim_tape_move(&parts[1].tape, &steps, sizeof steps);
		read = sim_tape_is_done(&parts[1].tape)
			? scene_parse(path, (const char *)parts[0].tape.bytes, parts[0].tape.size, &scene, &error)
			: sim_fail(&error, "%s: is damaged", path);
	}
	for (int i = 0; i < 2; i++)
		sim_free_tape(&parts[i].tape);
	if (!read)
		return report_error(NULL, "%s", error.text);
	cJSON *facts = cJSON_CreateObject();
	cJSON_AddStringToObject(facts, "kind", "checkpoint");
	cJSON *sections = cJSON_AddArrayToObject(facts, "sections");
	const struct {
		bool there;
		const char *name;
	} all[] = { { scene.has_bodies, "bodies" }, { scene.has_deforming, "deforming" }, { scene.has_spheres, "spheres" } };
	for (int i = 0; i < 3; i++) {
		if (all[i].there)
			report_add(sections, NULL, cJSON_CreateString(all[i].name));
	}
	cJSON_AddStringToObject(facts, "scene", scene.name);
	cJSON_AddNumberToObject(facts, "steps", (double)steps);
	cJSON_AddNumberToObject(facts, "of_steps", (double)scene.steps);
	cJSON_AddNumberToObject(facts, "time", (double)steps * scene.time_step);
	scene_destroy(&scene);
	return info_print(path, "a checkpoint; `carom run SCENE --restart` goes on from it", facts, as_json);
}

int info_show_checkpoint(const char *path, bool as_json, bool *is_one)
{
	char format[32];
	*is_one =
		io_hdf5_format(path, format, sizeof format) && (!strcmp(format, "carom-granular") || !strcmp(format, "carom-scene"));
	if (!*is_one)
		return EXIT_DONE;
	return strcmp(format, "carom-scene") ? show_grains(path, as_json) : show_scene_state(path, as_json);
}

// ---- Library calls ----

static size_t take_calls(void *from, void *bytes, size_t size) { return io_take_input(from, bytes, size); }

int info_show_calls(io_input *input, bool as_json)
{
	calls_list list;
	int64_t counts[CALLS_KINDS] = { 0 }, all = 0;
	bool whole = true;
	if (!calls_list_streams(take_calls, input, &list))
		return report_error(input->path, "out of memory");
	for (int64_t i = 0; i < list.count; i++) {
		whole = whole && list.data[i].whole;
		for (int k = 0; k < CALLS_KINDS; k++) {
			counts[k] += list.data[i].counts[k];
			all += list.data[i].counts[k];
		}
	}
	cJSON *facts = cJSON_CreateObject();
	cJSON_AddStringToObject(facts, "kind", "calls");
	cJSON_AddNumberToObject(facts, "recordings", (double)list.count);
	cJSON_AddNumberToObject(facts, "version", list.count > 0 ? list.data[0].version : 0);
	cJSON_AddNumberToObject(facts, "calls", (double)all);
	cJSON_AddNumberToObject(facts, "steps", (double)counts[CALLS_STEP]);
	cJSON_AddNumberToObject(facts, "meshes", (double)(counts[CALLS_MESH] + counts[CALLS_HULL] + counts[CALLS_FIELD]));
	cJSON_AddNumberToObject(facts, "bodies_added", (double)(counts[CALLS_ADD_BODY] + counts[CALLS_ADD_BODY_WITH_ID]));
	cJSON_AddNumberToObject(facts, "bodies_removed", (double)counts[CALLS_REMOVE_BODY]);
	cJSON_AddBoolToObject(facts, "whole", list.count > 0 && whole);
	free(list.data);
	return info_print(input->path,
		"a recording of library calls; `carom replay` runs it and compares the results, `carom export` shows it", facts,
		as_json);
}
