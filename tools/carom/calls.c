// Recordings of library calls as runs: see calls.h.
#include "calls_job.h"

#include "options.h"
#include "report.h"

#include "carom/lab.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

calls_options calls_given = { .time_step = 1.0 / 60 };

int calls_check_options(const char *command)
{
	double v[3];
	if (!calls_given.up)
		return OPTIONS_GO_ON;
	if (!options_parse_reals(calls_given.up, 3, v) || (v[0] == 0 && v[1] == 0 && v[2] == 0))
		return options_misuse(command, "--up takes three numbers X,Y,Z, not all 0, not '%s'", calls_given.up);
	return OPTIONS_GO_ON;
}

bool calls_is_recording(const char *path)
{
	char start[8];
	FILE *file = fopen(path, "rb");
	const bool is_one = file && fread(start, sizeof start, 1, file) == 1 && memcmp(start, "CAROMREC", sizeof start) == 0;
	if (file)
		fclose(file);
	return is_one;
}

// ---- Files of an earlier run ----

/// Does a name begin and end so, with digits between?
static bool is_numbered(const char *name, const char *begin, const char *end)
{
	const size_t length = strlen(begin);
	if (strncmp(name, begin, length) != 0)
		return false;
	const size_t digits = strspn(name + length, "0123456789");
	return digits > 0 && strcmp(name + length + digits, end) == 0;
}

/// Is it a file that this command, or a run, writes?
static bool is_ours(const char *name)
{
	static const char *const names[] = { "recording.h5", "recording.h5.part", "stats.csv", "summary.json", "bodies.csv",
		"spheres.pvd" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return is_numbered(name, "spheres_", ".vtp") || is_numbered(name, "contacts_", ".csv") ||
		is_numbered(name, "frame_", ".ply") || is_numbered(name, "frame_", ".obj");
}

/// all: also what is not ours, and files that are not finished.
static void remove_files(const char *folder, bool all)
{
	char path[IO_PATH_MAX];
	DIR *opened = opendir(folder);
	const struct dirent *entry;
	while (opened && (entry = readdir(opened))) {
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		if (all || is_ours(entry->d_name))
			unlink(path);
	}
	if (opened)
		closedir(opened);
}

static void remove_run(const char *folder, bool all)
{
	char frames[IO_PATH_MAX];
	snprintf(frames, sizeof frames, "%s/frames", folder);
	remove_files(frames, all);
	rmdir(frames); // stays where something else is in it
	remove_files(folder, all);
}

// ---- The summary ----

/// What is in doubt goes into notes, what a reader of the page should know into remarks.
static void add_notes(const calls_job *job, cJSON *json)
{
	char text[800];
	const calls_told *told = job->told;
	cJSON *notes = cJSON_AddArrayToObject(json, "notes"), *remarks = cJSON_AddArrayToObject(json, "remarks");
	if (told->broken[0]) {
		snprintf(text, sizeof text, "It ends after %lld steps: %s", (long long)told->replay.steps, told->broken);
		report_add(notes, NULL, cJSON_CreateString(text));
	}
	if (told->recordings > 1) {
		snprintf(text, sizeof text, "The file holds %lld recordings, and this is number %lld of them, from 0 (--recording N).",
			(long long)told->recordings, (long long)job->options->number);
		report_add(notes, NULL, cJSON_CreateString(text));
	}
	if (job->reader.shifts > 0)
		report_add(remarks, NULL,
			cJSON_CreateString("The program moved the origin of its world. All places here are told from the first origin."));
}

/// Which bodies of the program those of the recording are.
static void add_ids(const calls_job *job, cJSON *bodies)
{
	char text[40];
	cJSON *ids = cJSON_AddArrayToObject(bodies, "ids"), *data = cJSON_AddArrayToObject(bodies, "user_data");
	for (int64_t i = 0; i < job->body_count; i++) {
		const calls_body *b = &job->bodies[i];
		snprintf(text, sizeof text, "%u.%u", (unsigned)b->id.index1, (unsigned)b->id.generation);
		report_add(ids, NULL, cJSON_CreateString(text));
		snprintf(text, sizeof text, "%llu", (unsigned long long)b->user_data);
		report_add(data, NULL, cJSON_CreateString(text));
	}
}

static void add_sections(const calls_job *job, cJSON *json)
{
	if (job->row_count > 0) {
		cJSON *bodies = cJSON_AddObjectToObject(json, "bodies");
		cJSON_AddNumberToObject(bodies, "bodies", (double)job->body_count);
		add_ids(job, bodies);
	}
	if (job->surface_count > 0) {
		cJSON *deforming = cJSON_AddObjectToObject(json, "deforming");
		cJSON_AddNumberToObject(deforming, "bodies", (double)job->surface_count);
		cJSON_AddNumberToObject(deforming, "vertices", (double)job->vertex_count);
		cJSON_AddNumberToObject(deforming, "triangles", (double)job->triangle_count);
		cJSON_AddNumberToObject(deforming, "frame_steps", 1);
		cJSON_AddNumberToObject(deforming, "time_step", job->options->time_step);
	}
	if (job->cluster_count > 0) {
		cJSON *spheres = cJSON_AddObjectToObject(json, "spheres");
		cJSON_AddNumberToObject(spheres, "places", (double)job->place_count);
	}
}

static int write_summary(const calls_job *job)
{
	char path[IO_PATH_MAX];
	const calls_told *told = job->told;
	const carom_vec3 g = calls_gravity(job);
	const double up[3] = { job->up.x, job->up.y, job->up.z }, gravity[3] = { g.x, g.y, g.z };
	const char *slash = strrchr(job->path, '/');
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "scene", slash ? slash + 1 : job->path);
	cJSON_AddBoolToObject(json, "library_calls", true);
	cJSON_AddNumberToObject(json, "steps", (double)told->replay.steps);
	cJSON_AddNumberToObject(json, "time_step", job->options->time_step);
	report_add_hash(json, "hash", told->replay.hash);
	report_add_vector(json, "gravity", gravity);
	report_add_vector(cJSON_AddObjectToObject(json, "view"), "up", up);
	cJSON_AddNumberToObject(json, "contacts", (double)told->contacts);
	cJSON_AddNumberToObject(json, "surface_contacts", (double)told->surface_contacts);
	cJSON_AddNumberToObject(json, "sphere_contacts", (double)told->sphere_contacts);
	cJSON_AddNumberToObject(json, "sphere_pairs", (double)told->sphere_pairs);
	cJSON_AddNumberToObject(json, "impacts", (double)told->impacts);
	add_sections(job, json);
	add_notes(job, json);
	calls_name_file(job, "summary.json", path);
	return report_save_json(path, json);
}

// ---- The passes ----

/// Replay the stream from its beginning. A replay that fails after some steps is no failure here:
/// told->broken says why.
static int pass(calls_job *job, const calls_stream *stream, carom_watch_fn *watch)
{
	calls_told *told = job->told;
	if (!calls_rewind(&job->reader, stream->offset))
		return report_error(job->path, "cannot be read from its beginning: %s", strerror(errno));
	progress_start(&job->bar, "replay", stream->counts[CALLS_STEP] + 1);
	const carom_result result = carom_lab_watch_recording(job->context, calls_read, &job->reader, watch, job, &told->replay);
	progress_finish(&job->bar);
	if (job->status != EXIT_DONE)
		return job->status;
	if (result != CAROM_SUCCESS && result != CAROM_INVALID_RECORDING) // no fault of the recording
		return report_error(job->path, "%s", carom_error_text(job->context));
	snprintf(told->broken, sizeof told->broken, "%s", result == CAROM_SUCCESS ? "" : carom_error_text(job->context));
	if (told->replay.steps == 0 && (told->broken[0] || watch))
		return report_error(job->path, "%s", told->broken[0] ? told->broken : "holds no steps: there is nothing to show");
	return EXIT_DONE;
}

static int write_passes(calls_job *job, const calls_stream *stream)
{
	if (!calls_open_bodies(job))
		return job->status;
	int status = pass(job, stream, calls_watch_bodies);
	if (status == EXIT_DONE && !calls_close_bodies(job))
		status = job->status;
	if (status != EXIT_DONE || (job->surface_count == 0 && job->cluster_count == 0))
		return status;
	return calls_open_soft(job) ? pass(job, stream, calls_watch_soft) : job->status;
}

static void free_job(calls_job *job)
{
	sim_error error;
	if (job->reader.file)
		fclose(job->reader.file);
	io_close_recorder(job->recorder, &error); // after a failure alone
	io_output_abandon(&job->stats);
	io_destroy_vtk_series(job->series);
	for (int64_t i = 0; i < job->surface_count; i++)
		free(job->surfaces[i].triangles);
	void *const all[] = { job->ids, job->asleep, job->slots, job->meshes, job->bodies, job->rows, job->poses, job->made,
		job->contacts, job->surfaces, job->clusters, job->vertices, job->triangles, job->spheres, job->places };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		free(all[i]);
}

static size_t take_bytes(void *from, void *bytes, size_t size) { return fread(bytes, 1, size, from); }

/// Find the recording that is wanted. False after a message.
static bool choose_stream(calls_job *job, calls_list *list, calls_stream *stream)
{
	if (!calls_list_streams(take_bytes, job->reader.file, list))
		return calls_out_of_memory(job);
	if (job->options->number < list->count) {
		*stream = list->data[job->options->number];
		return true;
	}
	report_error(job->path, "holds %lld recording%s, from 0; --recording asks for %lld", (long long)list->count,
		list->count == 1 ? "" : "s", (long long)job->options->number);
	return false;
}

/// Open the file and find the recording. EXIT_DONE, or EXIT_FAILED after a message; free_job is due
/// in both cases.
static int open_job(calls_job *job, calls_stream *stream)
{
	calls_list list = { 0 };
	*job->told = (calls_told){ 0 };
	job->reader.file = fopen(job->path, "rb");
	if (!job->reader.file)
		return report_error(job->path, "cannot be opened: %s", strerror(errno));
	const int status = choose_stream(job, &list, stream) ? EXIT_DONE : EXIT_FAILED;
	job->told->recordings = list.count;
	free(list.data);
	return status;
}

int calls_replay(carom_context *context, const char *path, const calls_options *options, calls_told *told)
{
	calls_job job = { .path = path, .options = options, .context = context, .told = told };
	calls_stream stream;
	int status = open_job(&job, &stream);
	if (status == EXIT_DONE)
		status = pass(&job, &stream, NULL);
	free_job(&job);
	return status;
}

int calls_write_run(carom_context *context, const char *path, const calls_options *options, const char *folder, calls_told *told)
{
	calls_job job = { .path = path, .folder = folder, .options = options, .context = context, .told = told };
	calls_stream stream;
	int status = open_job(&job, &stream);
	if (status == EXIT_DONE) {
		remove_run(folder, false);
		status = write_passes(&job, &stream);
	}
	told->bodies = job.body_count;
	told->deforming = job.surface_count;
	told->spheres = job.place_count;
	if (status == EXIT_DONE)
		status = write_summary(&job);
	free_job(&job);
	return status;
}

// ---- Temporary folders ----

/// In a process of its own: wait until the other one has ended, however that was, and remove its
/// folder. Of what the other one has open nothing is kept open.
static void wait_and_remove(const char *folder, int line)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	char byte;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		signal(ends[i], SIG_IGN);
	for (int i = 0; i < 3; i++)
		close(i);
	while (read(line, &byte, 1) < 0 && errno == EINTR)
		;
	remove_run(folder, true);
	rmdir(folder);
	_exit(0);
}

/// A command that is killed must not leave its files. Without such a process it would.
static void set_guard(calls_folder *folder)
{
	int line[2];
	if (pipe(line) != 0)
		return;
	const pid_t guard = fork();
	if (guard == 0) {
		close(line[1]);
		wait_and_remove(folder->path, line[0]);
	}
	close(line[0]);
	if (guard < 0) {
		close(line[1]);
		return;
	}
	fcntl(line[1], F_SETFD, FD_CLOEXEC);
	folder->guard = (int)guard;
	folder->line = line[1];
}

int calls_unpack(const char *path, int64_t threads, calls_folder *folder)
{
	char made[IO_PATH_MAX - 64]; // files in it have names, too
	calls_told told;
	if (!report_make_temporary("carom", made, sizeof made))
		return report_error(made, "cannot make the folder: %s (TMPDIR tells where)", strerror(errno));
	folder->path = strdup(made);
	if (!folder->path) {
		rmdir(made);
		return report_error(NULL, "out of memory");
	}
	set_guard(folder);
	carom_context *context = report_create_context(threads, CAROM_SIMD_AUTO);
	const int status = context ? calls_write_run(context, path, &calls_given, made, &told) : EXIT_FAILED;
	carom_destroy_context(context);
	return status;
}

void calls_remove_folder(calls_folder *folder)
{
	if (!folder->path)
		return;
	if (folder->guard > 0) { // it may hold the line of another folder's guard
		kill(folder->guard, SIGKILL);
		waitpid(folder->guard, NULL, 0);
		close(folder->line);
	}
	remove_run(folder->path, true);
	rmdir(folder->path);
	free(folder->path);
	*folder = (calls_folder){ 0 };
}
