// Finding what a run left behind, for `carom export` and `carom render`.
#include "export.h"

#include "options.h"
#include "report.h"

#include "io/input_file.h"
#include "io/json_memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_there(const char *folder, const char *name, char path[IO_PATH_MAX])
{
	const int length = snprintf(path, IO_PATH_MAX, "%s/%s", folder, name);
	return length < IO_PATH_MAX && access(path, F_OK) == 0;
}

/// The text of a file in a folder; it stays NULL when there is none. EXIT_DONE, or EXIT_FAILED
/// after a message.
static int read_text(const char *folder, const char *name, char **text)
{
	char path[IO_PATH_MAX];
	io_input input;
	sim_error error;
	size_t size;
	if (!is_there(folder, name, path))
		return EXIT_DONE;
	if (!io_open_input(&input, path, &error))
		return report_error(path, "%s", error.text);
	*text = io_take_rest(&input, &size, &error);
	io_close_input(&input);
	return *text ? EXIT_DONE : report_error(path, "%s", error.text);
}

void export_note(export_source *source, const char *format, ...)
{
	char text[400];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	report_warning(source->path, "%s", text);
	report_add(source->notes, NULL, cJSON_CreateString(text));
}

/// The table and the summary beside what is exported. A run that goes on or was cut off has its
/// table under another name.
static int read_texts(export_source *source, const char *folder)
{
	char *summary = NULL;
	int status = read_text(folder, "stats.csv", &source->stats);
	if (status == EXIT_DONE && !source->stats)
		status = read_text(folder, "stats.csv.part", &source->stats);
	if (status == EXIT_DONE)
		status = read_text(folder, "summary.json", &summary);
	const int failures = io_json_failures();
	source->summary = summary ? cJSON_Parse(summary) : NULL;
	if (io_json_failures() > failures)
		status = report_error(NULL, "out of memory");
	else if (summary && !source->summary)
		export_note(source, "The summary.json beside it is damaged, and left out.");
	free(summary);
	const cJSON *notes = cJSON_GetObjectItem(source->summary, "notes");
	for (const cJSON *note = cJSON_GetArrayItem(notes, 0); note; note = note->next) {
		if (cJSON_IsString(note))
			export_note(source, "%s", note->valuestring);
	}
	const cJSON *remarks = cJSON_GetObjectItem(source->summary, "remarks");
	for (const cJSON *remark = cJSON_GetArrayItem(remarks, 0); remark; remark = remark->next)
		report_add(source->notes, NULL, cJSON_Duplicate(remark, false));
	return status;
}

bool export_is_of_calls(const export_source *source)
{
	return cJSON_IsTrue(cJSON_GetObjectItem(source->summary, "library_calls"));
}

/// Tell of a section that the run had and left no files of.
static void note_missing(export_source *source)
{
	const scene_description *scene = source->bodies ? &source->bodies->play.scene : NULL;
	const bool known = scene && scene->text;
	if ((known ? scene->has_deforming : !!cJSON_GetObjectItem(source->summary, "deforming")) && !source->deforming)
		export_note(source, "The deforming bodies are left out: the run wrote no frames of them (carom run --frames N).");
	if ((known ? scene->has_spheres : !!cJSON_GetObjectItem(source->summary, "spheres")) && !source->spheres)
		export_note(source, "The spheres are left out: the run wrote no snapshots of them (carom run --snapshots N).");
	if (!source->bodies && cJSON_IsObject(cJSON_GetObjectItem(source->summary, "bodies")))
		export_note(source, "The rigid bodies are left out: there is no recording.h5.");
}

static int open_frames(export_source *source, const char *folder)
{
	char path[IO_PATH_MAX];
	const cJSON *section = cJSON_GetObjectItem(source->summary, "deforming");
	const bool ply = is_there(folder, "frames/frame_000000.ply", path);
	if (!ply && !is_there(folder, "frames/frame_000000.obj", path))
		return EXIT_DONE;
	*strrchr(path, '/') = 0;
	return export_open_deforming(source, path, !ply, section ? section : source->summary);
}

static int open_folder(export_source *source, const char *folder)
{
	char path[IO_PATH_MAX];
	int status = read_texts(source, folder);
	if (status == EXIT_DONE && (is_there(folder, "recording.h5", path) || is_there(folder, "recording.h5.part", path)))
		status = export_open_bodies(source, path);
	if (status == EXIT_DONE)
		status = open_frames(source, folder);
	if (status == EXIT_DONE && is_there(folder, "spheres.pvd", path))
		status = export_open_spheres(source, path);
	if (status != EXIT_DONE)
		return status;
	note_missing(source);
	if (source->bodies || source->deforming || source->spheres)
		return EXIT_DONE;
	return report_error(folder,
		"holds neither recording.h5, nor frames/frame_000000.ply (or .obj), nor spheres.pvd: give the folder of carom run --out; "
		"spheres need --snapshots there, deforming bodies need frames other than 0");
}

/// The other sections of the run that a recording is of.
static int open_beside(export_source *source, const char *folder)
{
	char path[IO_PATH_MAX];
	const scene_description *scene = &source->bodies->play.scene;
	int status = scene->has_deforming ? open_frames(source, folder) : EXIT_DONE;
	if (status == EXIT_DONE && scene->has_spheres && is_there(folder, "spheres.pvd", path))
		status = export_open_spheres(source, path);
	if (status == EXIT_DONE)
		note_missing(source);
	return status;
}

static int open_file(export_source *source, const char *path)
{
	char folder[IO_PATH_MAX];
	snprintf(folder, sizeof folder, "%s", path);
	char *slash = strrchr(folder, '/');
	snprintf(slash ? slash : folder, 2, "%s", slash ? "" : ".");
	const char *place = folder[0] ? folder : "/";
	if (read_texts(source, place) != EXIT_DONE)
		return EXIT_FAILED;
	if (io_has_extension(path, ".pvd"))
		return export_open_spheres(source, path);
	return export_open_bodies(source, path) == EXIT_DONE ? open_beside(source, place) : EXIT_FAILED;
}

int export_list_tracks(export_source *source, export_track *tracks[EXPORT_MOST_TRACKS])
{
	int count = 0;
	if (source->bodies)
		tracks[count++] = &source->bodies->track;
	if (source->deforming)
		tracks[count++] = &source->deforming->track;
	if (source->spheres)
		tracks[count++] = &source->spheres->track;
	return count;
}

const cJSON *export_find_in_summary(const export_source *source, const char *name)
{
	static const char *const sections[] = { "deforming", "spheres" };
	const cJSON *found = cJSON_GetObjectItem(source->summary, name);
	for (int i = 0; i < 2 && !found; i++)
		found = cJSON_GetObjectItem(cJSON_GetObjectItem(source->summary, sections[i]), name);
	return found;
}

int export_open(export_source *source, const char *path)
{
	struct stat status;
	source->path = path;
	source->notes = cJSON_CreateArray();
	if (calls_is_recording(path))
		return calls_unpack(path, source->threads, &source->unpacked) == EXIT_DONE ? open_folder(source, source->unpacked.path)
																				   : EXIT_FAILED;
	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return open_folder(source, path);
	return open_file(source, path);
}

void export_close(export_source *source)
{
	export_close_bodies(source->bodies);
	export_close_deforming(source->deforming);
	export_close_spheres(source->spheres);
	free(source->stats);
	cJSON_Delete(source->summary);
	cJSON_Delete(source->notes);
	calls_remove_folder(&source->unpacked);
	*source = (export_source){ 0 };
}
