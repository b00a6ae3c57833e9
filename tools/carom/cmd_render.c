// carom render: pictures and movies of what a run left, ray traced with the library's own trees.
#include "calls.h"
#include "commands.h"
#include "movie.h"
#include "options.h"
#include "progress.h"
#include "render_moment.h"
#include "report.h"
#include "io/output_file.h"
#include "sim/base/sim_clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_PICTURE, OUTPUT_PICTURES, OUTPUT_MOVIE };

typedef struct render_settings {
	const char *recording;
	const char *output;
	int output_kind;
	option_range frames;
	int64_t every;
	int64_t width, height;
	int64_t threads;
	int samples;
	const char *camera;
	bool contacts, flat, plain, json;
} render_settings;

// The state from the first picture to the last. All zero is fine to destroy.
typedef struct render_state {
	export_source source;
	const export_track *clock; // whose frames are counted
	render_view view;
	view_camera camera;
	movie movie;
	double ms;       // spent drawing
	double farthest; // seconds between a picture and a state that is in it, most
} render_state;

// ---- Command line ----

static bool ends_with(const char *text, const char *end)
{
	const size_t length = strlen(text), end_length = strlen(end);
	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/// The place of the frame number in a name like picture%04d.png: begin at the '%', *end behind the
/// 'd', *digits as wanted. NULL when the name has no such place, or a second '%'.
static const char *find_number(const char *name, const char **end, int *digits)
{
	const char *begin = strchr(name, '%');
	if (!begin)
		return NULL;
	*digits = 0;
	const char *at = begin + 1;
	for (; *at >= '0' && *at <= '9' && *digits < 10; ++at)
		*digits = 10 * *digits + *at - '0';
	if (*at != 'd' || *digits > 9 || strchr(at, '%'))
		return NULL;
	*end = at + 1;
	return begin;
}

static int choose_output(render_settings *settings)
{
	const char *end;
	int digits;
	if (!settings->output)
		return options_misuse("render", "say where the picture goes: -o FILE.png or -o FILE.mp4");
	if (ends_with(settings->output, ".mp4"))
		settings->output_kind = OUTPUT_MOVIE;
	else if (find_number(settings->output, &end, &digits))
		settings->output_kind = OUTPUT_PICTURES;
	else if ((ends_with(settings->output, ".png") && !strchr(settings->output, '%')) || io_is_device(settings->output))
		settings->output_kind = OUTPUT_PICTURE;
	else if (strchr(settings->output, '%'))
		return options_misuse(
			"render", "-o %s: a %% must begin %%d or %%04d, the number of the frame, and there may be one", settings->output);
	else
		return options_misuse("render", "'%s' ends neither in .png nor in .mp4", settings->output);
	return OPTIONS_GO_ON;
}

static int read_size(const char *size, render_settings *settings)
{
	int used = 0, width, height;
	if (sscanf(size, "%5dx%5d%n", &width, &height, &used) != 2 || size[used] || width < 1 || height < 1 ||
		width > VIEW_MAX_IMAGE_SIZE || height > VIEW_MAX_IMAGE_SIZE)
		return options_misuse(
			"render", "--size takes WIDTHxHEIGHT in pixels, each 1 to %d, not '%s'", VIEW_MAX_IMAGE_SIZE, size);
	settings->width = width;
	settings->height = height;
	return OPTIONS_GO_ON;
}

// The values of the command line.
static render_settings wanted = { .frames = { 0, INT64_MAX }, .every = 1 };
static const char *size_text;
static int sample_choice = 1;

static const char *const SAMPLE_WORDS[] = { "1", "4", "9", "16", NULL };

static const option OPTIONS[] = {
	{ .name = "output",
		.letter = 'o',
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.value = &wanted.output,
		.file = OPTION_WRITES,
		.help = "NAME.png, NAME%04d.png (a picture for each frame; %d or %0Nd once) or NAME.mp4 (needs ffmpeg)" },
	{ .name = "frames",
		.argument = "A:B",
		.kind = OPTION_RANGE,
		.value = &wanted.frames,
		.help = "frames A to B-1 (one picture: the last; else all)" },
	{ .name = "every",
		.argument = "N",
		.kind = OPTION_INTEGER,
		.value = &wanted.every,
		.minimum = 1,
		.maximum = 1e9,
		.help = "take each Nth of these frames (1)" },
	{ .name = "size", .argument = "WxH", .kind = OPTION_TEXT, .value = &size_text, .help = "pixels (the scene's, else 1280x720)" },
	{ .name = "camera",
		.argument = "X,Y,Z,TX,TY,TZ",
		.kind = OPTION_TEXT,
		.value = &wanted.camera,
		.help = "stand at X,Y,Z and look at TX,TY,TZ (the scene's camera, else one that sees all that moves)" },
	{ .name = "contacts",
		.kind = OPTION_FLAG,
		.value = &wanted.contacts,
		.help = "mark contacts, coloured by depth: recorded ones; those of rigid bodies are found again where none are" },
	{ .name = "flat", .kind = OPTION_FLAG, .value = &wanted.flat, .help = "show triangles: no smooth normals" },
	{ .name = "plain", .kind = OPTION_FLAG, .value = &wanted.plain, .help = "no line of text" },
	{ .name = "samples",
		.argument = "N",
		.kind = OPTION_CHOICE,
		.value = &sample_choice,
		.choices = SAMPLE_WORDS,
		.help = "rays for a pixel at an edge (4)" },
	{ .name = "threads",
		.argument = "N",
		.kind = OPTION_INTEGER,
		.value = &wanted.threads,
		.minimum = 0,
		.maximum = 256,
		.help = "worker threads (0: one for each core); pictures do not depend on it" },
	CALLS_OPTIONS,
	{ .name = "json", .kind = OPTION_FLAG, .value = &wanted.json, .help = "print one JSON object on stdout" },
	{ 0 },
};

static int parse(int argc, char **argv, render_settings *settings)
{
	const command_line line = { .command = "render",
		.synopsis = "RECORDING [options] -o FILE",
		.summary = "Draw what a run of `carom run` left: one picture, a picture for each frame, or a movie.",
		.details =
			"RECORDING is the folder of --out, with rigid bodies, deforming bodies and spheres together; or a recording.h5 or\n"
			"spheres.pvd in it; or a recording of library calls (carom_world_record), which is replayed.\n"
			"Frames are those of recording.h5, else those of the section that has the most; of the others the state\n"
			"that is nearest in time is drawn.",
		.options = OPTIONS,
		.least = 1,
		.most = 1 };
	const char *arguments[1];
	int count, status = options_parse(&line, argc, argv, arguments, &count);
	if (status != OPTIONS_GO_ON)
		return status;
	settings->recording = arguments[0];
	settings->samples = (sample_choice + 1) * (sample_choice + 1);
	status = choose_output(settings);
	if (status == OPTIONS_GO_ON)
		status = calls_check_options("render");
	return status == OPTIONS_GO_ON && size_text ? read_size(size_text, settings) : status;
}

/// Bring the range to frames that exist. One picture takes one frame.
static int choose_frames(render_settings *settings, int64_t frame_count)
{
	option_range *frames = &settings->frames;
	const bool given = frames->first != 0 || frames->end != INT64_MAX;
	if (frames->end > frame_count && frames->end != INT64_MAX)
		return report_error(settings->recording, "holds frames 0 to %lld; --frames ends at %lld", (long long)frame_count - 1,
			(long long)frames->end);
	if (frames->end > frame_count)
		frames->end = frame_count;
	if (!given && settings->output_kind == OUTPUT_PICTURE)
		frames->first = frame_count - 1;
	if (frames->first < 0 || frames->first >= frames->end)
		return report_error(
			settings->recording, "holds frames 0 to %lld; --frames names none of them", (long long)frame_count - 1);
	if (settings->output_kind == OUTPUT_PICTURE && frames->end - frames->first > settings->every)
		return options_misuse("render", "several frames make a movie (-o NAME.mp4) or a picture each (-o NAME%%04d.png)");
	return EXIT_DONE;
}

// ---- Camera ----

/// The box of all that moves over the frames that are drawn; of many frames a few dozen say enough.
static int find_box(const render_settings *settings, render_state *state, carom_aabb *box)
{
	const int64_t first = settings->frames.first, span = settings->frames.end - 1 - first;
	const int64_t looks = span < 32 ? span : 32;
	*box = picture_empty_box();
	for (int64_t i = 0; i <= looks; ++i) {
		render_moment moment;
		const int status = render_read_moment(&moment, &state->source, first + (looks ? span * i / looks : 0), false);
		if (status == EXIT_DONE) {
			const carom_aabb now = render_bounds(&moment, &state->view);
			view_widen_box(box, &now);
		}
		render_free_moment(&moment);
		if (status != EXIT_DONE)
			return status;
	}
	return EXIT_DONE;
}

static int choose_camera(const render_settings *settings, render_state *state)
{
	const carom_vec3 up = state->view.camera.up;
	view_camera *camera = &state->camera;
	double v[6];
	if (settings->camera) {
		if (!options_parse_reals(settings->camera, 6, v))
			return options_misuse("render", "--camera takes six numbers X,Y,Z,TX,TY,TZ, not '%s'", settings->camera);
		*camera = (view_camera){ { v[0], v[1], v[2] }, { v[3], v[4], v[5] }, up, 45 };
		return EXIT_DONE;
	}
	if (state->view.has_camera) {
		*camera = state->view.camera;
		return EXIT_DONE;
	}
	carom_aabb box;
	const int status = find_box(settings, state, &box);
	if (status != EXIT_DONE)
		return status;
	if (picture_box_is_empty(&box)) // nothing there but planes
		box = (carom_aabb){ { -1, -1, -1 }, { 1, 1, 1 } };
	*camera = view_frame_box(&box, up, (double)settings->width / (double)settings->height);
	return EXIT_DONE;
}

// ---- Pictures ----

static void write_caption(const render_settings *settings, const render_moment *m, char *text, size_t size)
{
	const export_source *s = m->source;
	size_t length = (size_t)snprintf(text, size, "Frame %lld   %.2f s", (long long)m->frame, m->time);
	if (s->bodies)
		length += (size_t)snprintf(text + length, size - length, "   %d bodies", s->bodies->play.dynamic_count);
	if (s->deforming)
		length += (size_t)snprintf(text + length, size - length, "   %d triangles", (int)m->mesh.triangle_count);
	if (s->spheres)
		length += (size_t)snprintf(text + length, size - length, "   %lld spheres", (long long)m->spheres.count);
	if (settings->contacts)
		snprintf(text + length, size - length, "   %d contacts", m->mark_count);
}

static int draw_moment(const render_settings *settings, render_state *state, render_moment *moment, view_image *image)
{
	char caption[200];
	write_caption(settings, moment, caption, sizeof caption);
	view_picture_options options = view_default_picture_options();
	options.width = (int)settings->width;
	options.height = (int)settings->height;
	options.samples = settings->samples;
	options.threads = (int)settings->threads;
	options.caption = settings->plain ? NULL : caption;
	const double begin = sim_now_ms();
	const int status = render_draw(moment, &state->view, &state->camera, &options, settings->flat, image);
	state->ms += sim_now_ms() - begin;
	return status;
}

static int draw_frame(const render_settings *settings, render_state *state, int64_t frame, view_image *image)
{
	render_moment moment;
	int status = render_read_moment(&moment, &state->source, frame, settings->contacts);
	if (status == EXIT_DONE)
		status = draw_moment(settings, state, &moment, image);
	state->farthest = fmax(state->farthest, moment.farthest);
	render_free_moment(&moment);
	return status;
}

static int write_picture(const render_settings *settings, int64_t frame, const view_image *image)
{
	char path[4096];
	sim_error error;
	const char *end;
	int digits;
	const char *place = settings->output_kind == OUTPUT_PICTURES ? find_number(settings->output, &end, &digits) : NULL;
	int length;
	if (place)
		length = snprintf(path, sizeof path, "%.*s%0*lld%s", (int)(place - settings->output), settings->output, digits,
			(long long)frame, end);
	else
		length = snprintf(path, sizeof path, "%s", settings->output);
	if (length < 0 || (size_t)length >= sizeof path)
		return report_error(settings->output, "the path is too long");
	return view_write_png(path, image, &error) ? EXIT_DONE : report_error(path, "%s", error.text);
}

static int put_frame(const render_settings *settings, render_state *state, int64_t frame)
{
	view_image image;
	int status = draw_frame(settings, state, frame, &image);
	if (status != EXIT_DONE)
		return status;
	status = settings->output_kind == OUTPUT_MOVIE ? movie_add(&state->movie, &image) : write_picture(settings, frame, &image);
	view_destroy_image(&image);
	return status;
}

/// The mean time between two frames of the clock, seconds; 0: there is one.
static double frame_time(const render_state *state)
{
	const export_track *clock = state->clock;
	return clock->frames > 1 ? (clock->times[clock->frames - 1] - clock->times[0]) / (double)(clock->frames - 1) : 0;
}

/// As fast as it happened, within the rates that players show.
static double movie_rate(const render_settings *settings, const render_state *state)
{
	const double step = frame_time(state) * (double)settings->every;
	return step > 0 ? fmin(fmax(1 / step, 1), 120) : 30;
}

static int put_frames(const render_settings *settings, render_state *state, int64_t *drawn)
{
	int status = EXIT_DONE;
	if (settings->output_kind == OUTPUT_MOVIE)
		status = movie_open(
			&state->movie, settings->output, (int)settings->width, (int)settings->height, movie_rate(settings, state));
	if (status != EXIT_DONE)
		return status;
	progress bar;
	progress_start(&bar, "render", settings->frames.end - settings->frames.first);
	for (int64_t i = settings->frames.first; i < settings->frames.end && status == EXIT_DONE; i += settings->every) {
		status = put_frame(settings, state, i);
		*drawn += status == EXIT_DONE;
		progress_update(&bar, i + 1 - settings->frames.first);
	}
	progress_finish(&bar);
	if (status == EXIT_DONE && settings->output_kind == OUTPUT_MOVIE)
		status = movie_close(&state->movie);
	return status;
}

static int say_result(const render_settings *settings, const render_state *state, int64_t drawn)
{
	if (!settings->json) {
		fprintf(stderr, "%s: %lld %s of %lldx%lld, %.0f ms each\n", settings->output, (long long)drawn,
			drawn == 1 ? "picture" : "pictures", (long long)settings->width, (long long)settings->height,
			state->ms / (double)drawn);
		return EXIT_DONE;
	}
	cJSON *object = cJSON_CreateObject();
	cJSON_AddStringToObject(object, "output", settings->output);
	cJSON_AddNumberToObject(object, "frames", (double)drawn);
	cJSON_AddNumberToObject(object, "first", (double)settings->frames.first);
	cJSON_AddNumberToObject(object, "end", (double)settings->frames.end);
	cJSON_AddNumberToObject(object, "width", (double)settings->width);
	cJSON_AddNumberToObject(object, "height", (double)settings->height);
	cJSON *ms = cJSON_AddObjectToObject(object, "ms");
	cJSON_AddNumberToObject(ms, "total", state->ms);
	cJSON_AddNumberToObject(ms, "picture", state->ms / (double)drawn);
	const carom_vec3 p = state->camera.position, t = state->camera.target;
	report_add_vector(object, "camera", (const double[3]){ p.x, p.y, p.z });
	report_add_vector(object, "target", (const double[3]){ t.x, t.y, t.z });
	cJSON *left = cJSON_AddArrayToObject(object, "left_out");
	for (const cJSON *note = cJSON_GetArrayItem(state->source.notes, 0); note; note = note->next)
		report_add(left, NULL, cJSON_CreateString(note->valuestring));
	cJSON_AddNumberToObject(object, "farthest_time", state->farthest);
	return report_json(object);
}

/// Tell where sections were written more rarely than the frames that are counted, so that pictures
/// show states of other times.
static void warn_of_times(const render_state *state)
{
	if (state->farthest > 1.5 * fmax(frame_time(state), 1e-12))
		report_warning(state->source.path,
			"sections are up to %.3g s apart in a picture: run with --frames 1 and --snapshots 1 to write each step of all",
			state->farthest);
}

static int render(render_settings *settings, render_state *state)
{
	export_track *tracks[EXPORT_MOST_TRACKS];
	state->source = (export_source){ .threads = settings->threads, .smooth = !settings->flat };
	int status = export_open(&state->source, settings->recording);
	if (status != EXIT_DONE)
		return status;
	// Colours are those of last.png.
	if (state->source.bodies && state->source.deforming)
		state->source.bodies->play.first_number = state->source.deforming->all_surfaces;
	const int track_count = export_list_tracks(&state->source, tracks);
	state->clock = render_clock(&state->source);
	for (int i = 0; i < track_count; i++) {
		if (tracks[i]->frames == 0)
			return report_error(settings->recording, "the recording holds no frames");
	}
	status = choose_frames(settings, state->clock->frames);
	if (status != EXIT_DONE)
		return status;
	state->view = render_read_view(&state->source);
	if (settings->width == 0) {
		settings->width = state->view.width;
		settings->height = state->view.height;
	}
	int64_t drawn = 0;
	status = choose_camera(settings, state);
	if (status == EXIT_DONE)
		status = put_frames(settings, state, &drawn);
	if (status != EXIT_DONE)
		return status;
	warn_of_times(state);
	return say_result(settings, state, drawn);
}

int cmd_render(int argc, char **argv)
{
	int status = parse(argc, argv, &wanted);
	if (status != OPTIONS_GO_ON)
		return status;
	render_state state = { 0 };
	status = render(&wanted, &state);
	movie_abandon(&state.movie);
	export_close(&state.source);
	return status;
}
