// The page of `carom export`: its head, its blocks, and how much of a run fits into it. A page is
// written as if everything had room; where it gets too large it is begun again with fewer frames,
// and where few are left, with fewer spheres.
#include "export.h"
#include "options.h"
#include "progress.h"
#include "report.h"

#include "web/track.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK_FRAMES = 64,       // of a block, most
	BLOCK_NUMBERS = 1 << 21, // of a block, about
	FEWEST_FRAMES = 24,      // before spheres are left out
	MOST_TRIES = 40,         // of pages that get too large
};

typedef struct job {
	const export_options *options;
	export_source *sources; // [source_count]
	int source_count;
	export_source *source; // the one that is being written: see turn_to
	export_track *tracks[EXPORT_MOST_TRACKS];
	int track_count;
	int64_t every; // frames
	web_page page;
	progress bar;
	int64_t done, all;         // frames written, and to be written
	double lower[3], upper[3]; // of what moves, in some frames
} job;

/// Go on with one of the sources. The names of the blocks of the second one have a prefix.
static void turn_to(job *j, int source)
{
	export_source *s = j->source = &j->sources[source];
	j->page.prefix = source > 0 ? "second-" : "";
	j->track_count = export_list_tracks(s, j->tracks);
}

static int64_t frames_of(const job *j, const export_track *track) { return (track->frames + j->every - 1) / j->every; }

static int64_t block_frames(const export_track *track)
{
	const int64_t fit = track->count > 0 ? BLOCK_NUMBERS / track->count : BLOCK_FRAMES;
	return fit < 1 ? 1 : (fit > BLOCK_FRAMES ? BLOCK_FRAMES : fit);
}

static double quantum_of(const job *j, const export_track *track)
{
	const export_source *s = j->source;
	if (s->bodies && track == &s->bodies->track)
		return s->bodies->quantum;
	return s->deforming && track == &s->deforming->track ? s->deforming->quantum : s->spheres->quantum;
}

static int read_frame(const job *j, const export_track *track, int64_t frame, int32_t *values)
{
	const export_source *s = j->source;
	if (s->bodies && track == &s->bodies->track)
		return export_read_poses(s->bodies, frame, values);
	if (s->deforming && track == &s->deforming->track)
		return export_read_vertices(s->deforming, frame, values);
	return export_read_spheres(s->spheres, frame, values);
}

// ---- Bounds ----

enum {
	BOUND_FRAMES = 9,      // that are looked at, most
	BOUND_ELEMENTS = 4096, // of a frame that are looked at, about
};

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/// Unite the bounds with a coordinate of a frame's elements: its 1st and 99th percentile, so that a
/// body that falls out of the world does not count.
static void unite_coordinate(job *j, const export_track *track, const int32_t *values, int k, double quantum)
{
	double numbers[2 * BOUND_ELEMENTS];
	const int64_t elements = track->count / track->stride, step = 1 + elements / BOUND_ELEMENTS;
	int count = 0;
	for (int64_t i = 0; i < elements; i += step) {
		if (values[i * track->stride + k] != WEB_ABSENT)
			numbers[count++] = values[i * track->stride + k] * quantum;
	}
	if (count == 0)
		return;
	qsort(numbers, (size_t)count, sizeof *numbers, by_value);
	const int spare = count >= 100 ? count / 100 : 0;
	j->lower[k] = fmin(j->lower[k], numbers[spare]);
	j->upper[k] = fmax(j->upper[k], numbers[count - 1 - spare]);
}

static int find_bounds_of(job *j, const export_track *track)
{
	int32_t *values = malloc((size_t)track->count * sizeof *values + 1);
	const int64_t looks = track->frames < BOUND_FRAMES ? track->frames : BOUND_FRAMES;
	int status = values ? EXIT_DONE : report_error(NULL, "out of memory");
	for (int64_t i = 0; i < looks && status == EXIT_DONE; i++) {
		status = read_frame(j, track, looks > 1 ? (track->frames - 1) * i / (looks - 1) : 0, values);
		for (int k = 0; k < 3 && status == EXIT_DONE; k++)
			unite_coordinate(j, track, values, k, quantum_of(j, track));
	}
	free(values);
	return status;
}

/// Unite the bounds with those of a source, and its largest body.
static int find_bounds_of_source(job *j, double *margin)
{
	int status = EXIT_DONE;
	const export_source *s = j->source;
	for (int i = 0; i < j->track_count && status == EXIT_DONE; i++)
		status = find_bounds_of(j, j->tracks[i]);
	if (s->bodies)
		*margin = fmax(*margin, export_bodies_extent(s->bodies));
	return status;
}

/// The box of what moves, over some frames: the page's first view.
static int find_bounds(job *j)
{
	int status = EXIT_DONE;
	double margin = 0;
	for (int k = 0; k < 3; k++) {
		j->lower[k] = INFINITY;
		j->upper[k] = -INFINITY;
	}
	for (int i = 0; i < j->source_count && status == EXIT_DONE; i++) {
		turn_to(j, i);
		status = find_bounds_of_source(j, &margin);
	}
	for (int k = 0; k < 3; k++) {
		if (!(j->lower[k] <= j->upper[k])) // nothing is there yet
			j->lower[k] = j->upper[k] = 0;
		j->lower[k] -= margin;
		j->upper[k] += margin;
	}
	return status;
}

// ---- The head ----

/// Three numbers of the summary, or of one of its sections.
static const cJSON *find_numbers(const export_source *source, const char *name)
{
	const cJSON *found = export_find_in_summary(source, name);
	return cJSON_GetArraySize(found) == 3 ? found : NULL;
}

static void describe_gravity(const job *j, cJSON *head)
{
	const export_source *s = j->source;
	const cJSON *given = find_numbers(s, "gravity");
	if (s->bodies) {
		const carom_vec3 g = io_recording_get_info(s->bodies->play.recording)->gravity;
		report_add_vector(head, "gravity", (const double[3]){ g.x, g.y, g.z });
	} else if (given) {
		report_add(head, "gravity", cJSON_Duplicate(given, true));
	}
}

static void describe_tracks(const job *j, cJSON *head)
{
	cJSON *tracks = cJSON_AddObjectToObject(head, "tracks");
	for (int i = 0; i < j->track_count; i++) {
		const export_track *track = j->tracks[i];
		cJSON *object = cJSON_AddObjectToObject(tracks, track->name);
		cJSON_AddNumberToObject(object, "frames", (double)frames_of(j, track));
		cJSON_AddNumberToObject(object, "count", (double)track->count);
		cJSON_AddNumberToObject(object, "stride", track->stride);
		cJSON_AddNumberToObject(object, "frames_per_block", (double)block_frames(track));
		cJSON_AddNumberToObject(object, "quantum", quantum_of(j, track));
		cJSON_AddNumberToObject(object, "recorded_frames", (double)track->frames);
		cJSON_AddNumberToObject(object, "every", (double)j->every);
		if (j->source->bodies && track == &j->source->bodies->track)
			export_describe_bodies(j->source->bodies, head, object);
		if (export_has_points(j->source, track))
			page_describe_points(object, quantum_of(j, track));
	}
}

/// Ids and user data of the bodies of a program that recorded its calls.
static void describe_ids(const export_source *source, cJSON *head)
{
	const cJSON *bodies = cJSON_GetObjectItem(source->summary, "bodies");
	const cJSON *ids = cJSON_GetObjectItem(bodies, "ids"), *data = cJSON_GetObjectItem(bodies, "user_data");
	if (!export_is_of_calls(source) || !source->bodies || cJSON_GetArraySize(ids) != source->bodies->body_count ||
		cJSON_GetArraySize(data) != source->bodies->body_count)
		return;
	report_add(head, "body_ids", cJSON_Duplicate(ids, true));
	report_add(head, "body_user_data", cJSON_Duplicate(data, true));
}

static const char *title_of(const job *j)
{
	const export_source *s = j->source;
	const char *recorded = s->bodies ? io_recording_get_info(s->bodies->play.recording)->scene_name : "";
	const cJSON *name = cJSON_GetObjectItem(s->summary, "scene");
	if (recorded[0])
		return recorded;
	return cJSON_IsString(name) && name->valuestring[0] ? name->valuestring : "carom";
}

static cJSON *describe_source(const job *j)
{
	const export_source *s = j->source;
	cJSON *head = page_start_head(title_of(j));
	report_add(head, "notes", cJSON_Duplicate(s->notes, true));
	describe_gravity(j, head);
	const cJSON *lower = find_numbers(s, "box_lower"), *upper = find_numbers(s, "box_upper");
	if (s->spheres && lower && upper) {
		report_add(head, "box_lower", cJSON_Duplicate(lower, true));
		report_add(head, "box_upper", cJSON_Duplicate(upper, true));
	}
	cJSON *bounds = cJSON_AddObjectToObject(head, "bounds");
	report_add_vector(bounds, "lower", j->lower);
	report_add_vector(bounds, "upper", j->upper);
	describe_tracks(j, head);
	describe_ids(s, head);
	if (s->deforming)
		cJSON_AddNumberToObject(head, "triangles", (double)s->deforming->triangle_count);
	if (s->spheres) {
		cJSON_AddNumberToObject(head, "recorded_spheres", (double)s->spheres->count);
		cJSON_AddNumberToObject(head, "spheres_every", (double)s->spheres->every);
	}
	if (j->source_count > 1)
		cJSON_AddStringToObject(head, "label", s->path);
	return head;
}

/// The head of a page is that of its first recording, with that of the second one in it.
static char *write_head(job *j)
{
	turn_to(j, 0);
	cJSON *head = describe_source(j);
	if (j->source_count > 1) {
		turn_to(j, 1);
		report_add(head, "second", describe_source(j));
	}
	char *text = report_json_text(head, true);
	cJSON_Delete(head);
	return text;
}

// ---- Blocks ----

/// Does a call that may have filled the page say something else is wrong?
static int settle(const job *j, bool done, const sim_error *error)
{
	return done || j->page.is_full ? EXIT_DONE : report_error(j->options->output, "%s", error->text);
}

static int add_times(job *j, const export_track *track)
{
	char name[40];
	sim_error error;
	const int64_t frames = frames_of(j, track);
	double *times = malloc((size_t)frames * sizeof *times + 1);
	if (!times)
		return report_error(NULL, "out of memory");
	for (int64_t i = 0; i < frames; i++)
		times[i] = track->times[i * j->every];
	snprintf(name, sizeof name, "%s-times", track->name);
	const bool done = web_page_add(&j->page, name, times, (size_t)frames * sizeof *times, &error);
	free(times);
	return settle(j, done, &error);
}

static int add_fixed_blocks(job *j)
{
	export_source *s = j->source;
	sim_error error;
	int status = EXIT_DONE;
	for (int i = 0; i < j->track_count && status == EXIT_DONE; i++)
		status = add_times(j, j->tracks[i]);
	if (status != EXIT_DONE)
		return status;
	const bool done = (!s->bodies || export_add_bodies(s->bodies, &j->page, &error)) &&
		(!s->deforming || export_add_deforming(s->deforming, &j->page, &error)) &&
		(!s->spheres || export_add_spheres(s->spheres, &j->page, &error));
	return settle(j, done, &error);
}

/// Block `number` of a track. values and packed have room for it.
static int add_block(job *j, const export_track *track, int64_t number, int32_t *values, unsigned char *packed)
{
	char name[40];
	sim_error error;
	const int64_t first = number * block_frames(track), left = frames_of(j, track) - first;
	const int32_t frames = (int32_t)(left < block_frames(track) ? left : block_frames(track));
	for (int32_t i = 0; i < frames; i++) {
		if (read_frame(j, track, (first + i) * j->every, values + i * track->count) != EXIT_DONE)
			return EXIT_FAILED;
		progress_update(&j->bar, ++j->done);
	}
	web_pack(values, frames, track->count, track->stride, packed);
	snprintf(name, sizeof name, "%s-%lld", track->name, (long long)number);
	return settle(j, web_page_add(&j->page, name, packed, web_packed_size(frames, track->count), &error), &error);
}

/// Blocks first to end - 1 of a track, as far as they are there and the page is not full.
static int add_blocks(job *j, const export_track *track, int64_t first, int64_t end)
{
	const int64_t room = block_frames(track), blocks = (frames_of(j, track) + room - 1) / room;
	int32_t *values = malloc((size_t)(room * track->count) * sizeof *values + 1);
	unsigned char *packed = malloc(web_packed_size((int32_t)room, track->count));
	int status = values && packed ? EXIT_DONE : report_error(NULL, "out of memory");
	for (int64_t i = first; i < end && i < blocks && status == EXIT_DONE && !j->page.is_full; i++)
		status = add_block(j, track, i, values, packed);
	free(values);
	free(packed);
	return status;
}

static int add_further_blocks(job *j)
{
	sim_error error;
	const export_source *s = j->source;
	int status = EXIT_DONE;
	if (s->stats)
		status = settle(j, web_page_add(&j->page, "stats", s->stats, strlen(s->stats), &error), &error);
	if (status == EXIT_DONE && s->bodies)
		status = settle(j, export_add_contacts(s->bodies, j->every, &j->page, &error), &error);
	for (int i = 0; i < j->track_count && status == EXIT_DONE; i++)
		status = export_add_points(s, j->tracks[i], j->every, quantum_of(j, j->tracks[i]), &j->page);
	for (int i = 0; i < j->track_count && status == EXIT_DONE; i++)
		status = add_blocks(j, j->tracks[i], 1, INT64_MAX);
	if (status == EXIT_DONE && s->bodies && !j->page.is_full)
		status = export_add_checks(s->bodies, j->options, j->every, &j->page);
	return status;
}

/// What the first picture needs.
static int add_first_blocks(job *j)
{
	int status = add_fixed_blocks(j);
	for (int i = 0; i < j->track_count && status == EXIT_DONE; i++)
		status = add_blocks(j, j->tracks[i], 0, 1);
	return status;
}

typedef int add_fn(job *j);

static int for_each_source(job *j, add_fn *add)
{
	int status = EXIT_DONE;
	for (int i = 0; i < j->source_count && status == EXIT_DONE && !j->page.is_full; i++) {
		turn_to(j, i);
		status = add(j);
	}
	return status;
}

static int count_frames(job *j)
{
	for (int i = 0; i < j->track_count; i++)
		j->all += frames_of(j, j->tracks[i]);
	return EXIT_DONE;
}

static const char *page_title(job *j)
{
	turn_to(j, 0);
	return title_of(j);
}

/// Write the page at the present thinning. It may be full in the end.
static int try_page(job *j)
{
	sim_error error;
	char *head = write_head(j);
	if (!head)
		return report_error(NULL, "out of memory");
	const bool open =
		web_page_begin(&j->page, j->options->output, (int64_t)(1e6 * j->options->max_mb), page_title(j), head, &error);
	free(head);
	if (!open)
		return report_error(j->options->output, "%s", error.text);
	j->done = 0;
	j->all = 0;
	for_each_source(j, count_frames);
	progress_start(&j->bar, "export", j->all);
	int status = for_each_source(j, add_first_blocks);
	web_page_add_viewer(&j->page);
	if (status == EXIT_DONE && !j->page.is_full)
		status = for_each_source(j, add_further_blocks);
	progress_finish(&j->bar);
	return status;
}

// ---- Thinning ----

/// The most frames of a track of any source.
static int64_t most_frames(job *j)
{
	int64_t most = 0;
	for (int k = 0; k < j->source_count; k++) {
		turn_to(j, k);
		for (int i = 0; i < j->track_count; i++)
			most = frames_of(j, j->tracks[i]) > most ? frames_of(j, j->tracks[i]) : most;
	}
	return most;
}

static bool has_many_spheres(const export_spheres *s) { return s && s->count / s->every > 1000; }

static void leave_out(int64_t *every, double part)
{
	const int64_t wanted = (int64_t)ceil((double)*every * 1.05 / part);
	*every = wanted > *every ? wanted : *every + 1;
}

/// Leave out more after a page got full when a part of its frames was in it. False when nothing is
/// left to leave out.
static bool thin(job *j)
{
	const double part = fmax((double)j->done / (double)j->all, 0.01);
	const int64_t most = most_frames(j);
	bool by_spheres = false;
	for (int k = 0; k < j->source_count && most <= FEWEST_FRAMES; k++) {
		export_spheres *spheres = j->sources[k].spheres;
		if (!has_many_spheres(spheres))
			continue;
		by_spheres = true;
		leave_out(&spheres->every, part);
		spheres->track.count = 3 * ((spheres->count + spheres->every - 1) / spheres->every);
	}
	if (!by_spheres && most <= 1)
		return false;
	if (!by_spheres)
		leave_out(&j->every, part);
	return true;
}

static int64_t spheres_left_out(const export_source *s)
{
	return s->spheres ? s->spheres->count - s->spheres->track.count / 3 : 0;
}

static void report_frames(const job *j, cJSON *report)
{
	cJSON_AddNumberToObject(report, "spheres_left_out", (double)spheres_left_out(j->source));
	for (int i = 0; i < j->track_count; i++)
		cJSON_AddNumberToObject(report, j->tracks[i]->name, (double)frames_of(j, j->tracks[i]));
}

static int report_page(job *j, cJSON *report)
{
	if (report) {
		cJSON_AddStringToObject(report, "output", j->options->output);
		cJSON_AddNumberToObject(report, "bytes", (double)j->page.size);
		cJSON_AddNumberToObject(report, "every", (double)j->every);
		for (int i = 0; i < j->source_count; i++) {
			turn_to(j, i);
			report_frames(j, i > 0 ? cJSON_AddObjectToObject(report, "second") : report);
		}
		return EXIT_DONE;
	}
	fprintf(stderr, "%s: %.2f MB", j->options->output, 1e-6 * (double)j->page.size);
	for (int i = 0; i < j->source_count; i++) {
		turn_to(j, i);
		const int64_t left_out = spheres_left_out(j->source);
		fprintf(stderr, "%s%lld frames", i > 0 ? "; beside them " : ", ", (long long)frames_of(j, j->tracks[0]));
		if (j->every > j->options->every)
			fprintf(stderr, "; of %lld, to fit into %g MB (--max-mb)", (long long)j->tracks[0]->frames, j->options->max_mb);
		if (left_out > 0)
			fprintf(
				stderr, "; %lld spheres are left out, to fit into %g MB (--max-mb)", (long long)left_out, j->options->max_mb);
	}
	fputc('\n', stderr);
	return EXIT_DONE;
}

static int check_frames(job *j)
{
	for (int i = 0; i < j->track_count; i++) {
		if (j->tracks[i]->frames == 0)
			return report_error(j->source->path, "the recording holds no frames");
	}
	return EXIT_DONE;
}

int export_write_page(const export_options *options, export_source *sources, int count, cJSON *report)
{
	job j = { .options = options, .sources = sources, .source_count = count, .every = options->every };
	sim_error error;
	int status = for_each_source(&j, check_frames);
	if (status == EXIT_DONE)
		status = find_bounds(&j);
	for (int tries = 0; status == EXIT_DONE; tries++) {
		status = try_page(&j);
		if (status != EXIT_DONE || !j.page.is_full)
			break;
		web_page_abandon(&j.page);
		if (tries == MOST_TRIES || !thin(&j))
			return report_error(options->output, "one frame alone takes more than %g MB: raise --max-mb", options->max_mb);
	}
	if (status != EXIT_DONE) {
		web_page_abandon(&j.page);
		return status;
	}
	if (!web_page_end(&j.page, &error))
		return report_error(options->output, "%s", error.text);
	return report_page(&j, report);
}
