// The run of a scene: its parts go through the steps together. See run.h.
#include "devices.h"
#include "run.h"

#include "scene/mover_bodies.h"
#include "progress.h"
#include "report.h"
#include "run_ranks.h"
#include "run_picture.h"
#include "run_view.h"
#include "sim/base/sim_clock.h"
#include "sim/base/state_hash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

// ---- Interrupts ----

// Set by an interrupt (Ctrl-C): the run ends after the present step, and the results so far are
// written.
static volatile sig_atomic_t interrupted;
static time_t interrupted_at; // the handler alone uses it

/// One that comes a second later ends the program at once. Sooner it is the same one: `timeout`
/// sends each signal twice.
static void on_interrupt(int number)
{
	const time_t now = time(NULL);
	if (interrupted && now - interrupted_at > 1) {
		signal(number, SIG_DFL);
		raise(number);
	}
	if (!interrupted)
		interrupted_at = now;
	interrupted = 1;
}

static void watch_interrupts(bool watch)
{
	struct sigaction action = { .sa_handler = watch ? on_interrupt : SIG_DFL };
	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGINT);
	sigaddset(&action.sa_mask, SIGTERM);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/// Has an interrupt kept the run from some of its steps? One that comes after the last step changes
/// nothing.
static bool ended_early(const run *r) { return interrupted && r->parts.steps < r->scene.steps; }

// ---- Files ----

/// The lock is one on the folder itself: no file is left over, and the system gives it up with the
/// program, however that ends.
static int open_folder(const run_options *options)
{
	if (!options->out || !sim_is_first_rank(options->ranks))
		return EXIT_DONE;
	if (report_make_folder(options->out) != EXIT_DONE)
		return EXIT_FAILED;
	const int folder = open(options->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC); // stays open
	if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) == 0)
		return EXIT_DONE;
	if (folder >= 0 && errno == EWOULDBLOCK)
		return report_error(options->out, "another run is writing into this folder: wait for its end, or take another --out");
	report_warning(options->out, "cannot be locked (%s): see to it that no other run writes there", strerror(errno));
	return EXIT_DONE;
}

void run_out_path(const run_options *options, const char *name, char path[IO_PATH_MAX])
{
	snprintf(path, IO_PATH_MAX, "%s/%s", options->out, name);
}

static int write_summary(const run_options *options, cJSON *json)
{
	char path[IO_PATH_MAX];
	run_out_path(options, "summary.json", path);
	return report_save_json(path, json);
}

static int write_picture(run *r)
{
	char path[IO_PATH_MAX];
	sim_error error;
	view_image image;
	const view_camera camera = run_camera(r);
	const int drawn = run_is_mixed(r) ? run_draw_all(r, &camera, &image) : r->kinds[0]->draw(r, r->states[0], &image);
	if (drawn != EXIT_DONE || !run_is_first(r))
		return drawn;
	run_out_path(r->options, "last.png", path);
	const bool done = view_write_png(path, &image, &error);
	view_destroy_image(&image);
	return done ? EXIT_DONE : report_error(path, "%s", error.text);
}

// ---- The table of steps ----

/// Write the columns of a part behind "step" and "time", which all parts have alike: what a text of
/// columns holds behind its second comma, each with a prefix.
static void write_columns(FILE *table, const char *text, const char *prefix)
{
	int commas = 0;
	for (const char *c = text; *c && *c != '\n'; c++) {
		commas += *c == ',';
		if (commas < 2)
			continue;
		fputc(*c, table);
		if (*c == ',')
			fputs(prefix, table);
	}
}

typedef void write_text_fn(run *r, int part, FILE *table);

static void write_part_names(run *r, int part, FILE *table) { r->kinds[part]->write_names(table); }

static void write_part_row(run *r, int part, FILE *table) { r->kinds[part]->write_row(r, r->states[part], table); }

/// Write the columns of all parts, one part behind the other, with names like "bodies_contacts".
static int write_joined(run *r, write_text_fn *write, bool names, FILE *table)
{
	for (int i = 0; i < r->part_count; i++) {
		char *text = NULL, prefix[32] = "";
		size_t size;
		FILE *memory = open_memstream(&text, &size);
		if (!memory)
			return report_error(NULL, "out of memory");
		write(r, i, memory);
		const bool written = fclose(memory) == 0;
		if (names)
			snprintf(prefix, sizeof prefix, "%s_", r->kinds[i]->section);
		if (written)
			write_columns(table, text, prefix);
		free(text);
		if (!written)
			return report_error(NULL, "out of memory");
	}
	fputc('\n', table);
	return EXIT_DONE;
}

static int write_names(run *r, FILE *table)
{
	if (!run_is_mixed(r)) {
		write_part_names(r, 0, table);
		return EXIT_DONE;
	}
	fputs("step,time", table);
	return write_joined(r, write_part_names, true, table);
}

static int write_row_to(run *r, FILE *table)
{
	if (!run_is_mixed(r)) {
		write_part_row(r, 0, table);
		return EXIT_DONE;
	}
	fprintf(table, "%lld,%.9g", (long long)r->parts.steps, run_time(r));
	return write_joined(r, write_part_row, false, table);
}

static int open_table(run *r)
{
	char path[IO_PATH_MAX];
	if (!r->options->out)
		return EXIT_DONE;
	run_out_path(r->options, "kernels.csv", path);
	if (r->device && devices_open_table(&r->kernels, path) != EXIT_DONE)
		return EXIT_FAILED;
	if (!run_is_mixed(r) && r->kinds[0]->open_table)
		return r->kinds[0]->open_table(r, r->states[0]);
	if (!run_is_first(r))
		return EXIT_DONE;
	run_out_path(r->options, "stats.csv", path);
	return report_open(&r->stats, path) == EXIT_DONE ? write_names(r, r->stats.stream) : EXIT_FAILED;
}

/// A line of the table as a text of its own, to be freed. NULL after a message.
static char *line_of(run *r, int (*write)(run *, FILE *))
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	const int status = memory ? write(r, memory) : EXIT_DONE;
	if (memory && fclose(memory) == 0 && status == EXIT_DONE)
		return text;
	free(text);
	if (status == EXIT_DONE)
		report_error(NULL, "out of memory");
	return NULL;
}

/// A row is made once, for making it counts it.
static int write_row(run *r)
{
	if (!r->view)
		return r->stats.stream ? write_row_to(r, r->stats.stream) : EXIT_DONE;
	free(r->row);
	r->row = line_of(r, write_row_to);
	if (!r->row)
		return EXIT_FAILED;
	if (r->stats.stream)
		fputs(r->row, r->stats.stream);
	return EXIT_DONE;
}

// ---- The page that shows the run ----

static int begin_view(run *r)
{
	if (!r->view)
		return EXIT_DONE;
	char *columns = line_of(r, write_names);
	const int status = columns ? run_begin_view(r->view, r, columns) : EXIT_FAILED;
	free(columns);
	return status;
}

static void show(run *r, bool always)
{
	if (r->view)
		run_show(r->view, r, r->row ? r->row : "", always);
}

static void close_view(run *r, int status)
{
	char how[120];
	const char *end =
		ended_early(r) ? "was interrupted" : (status == EXIT_DONE ? "has ended" : "failed; its terminal tells why");
	snprintf(
		how, sizeof how, "The run %s, after %lld of %lld steps.", end, (long long)r->parts.steps, (long long)r->scene.steps);
	run_close_view(r->view, how);
	free(r->row);
}

// ---- The scene ----

/// Options that are for a section that the scene does not have: better said than ignored.
static int check_sections(const run_options *o, const scene_description *scene)
{
	const struct {
		const char *name;
		bool given, has;
		const char *section;
	} options[] = {
		{ "count", o->count > 0, scene->has_spheres, "spheres" },
		{ "snapshots", o->snapshots >= 0, scene->has_spheres, "spheres" },
		{ "resolution", o->resolution > 0, scene->has_deforming, "deforming" },
		{ "frames", o->frames >= 0, scene->has_deforming, "deforming" },
		{ "movie", o->movie, scene->has_deforming, "deforming" },
	};
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		if (options[i].given && !options[i].has)
			return options_misuse(
				"run", "--%s is for scenes with \"%s\"; %s has none", options[i].name, options[i].section, o->scene);
	}
	return EXIT_DONE;
}

/// The command line goes before the scene.
static int apply_options(const run_options *o, scene_description *scene)
{
	sim_error error;
	for (int i = 0; i < o->meshes.count; i++) {
		if (!scene_replace_mesh(scene, o->meshes.items[i], &error))
			return report_error(NULL, "--mesh: %s", error.text);
	}
	if (o->movie && !o->out)
		return report_error(NULL, "--movie needs --out: where should it go?");
	if (o->count > 0 && o->restart && !scene->has_bodies && !scene->has_deforming)
		return report_error(NULL, "--count: a checkpoint has its spheres already");
	if (o->count > 0 && !scene_set_sphere_count(scene, o->count, &error))
		return report_error(NULL, "--count: %s", error.text);
	if (o->steps > 0)
		scene->steps = o->steps;
	if (o->resolution > 0)
		scene->deforming.resolution = o->resolution;
	if (o->frames >= 0)
		scene->output.frames = o->frames;
	if (o->snapshots >= 0)
		scene->output.snapshots = o->snapshots;
	if (o->checkpoints >= 0)
		scene->output.checkpoints = o->checkpoints;
	scene->output.contacts |= o->contacts;
	return EXIT_DONE;
}

static int load_scene(run *r)
{
	sim_error error;
	if (!scene_load(r->options->scene, &r->scene, &error))
		return report_error(NULL, "%s", error.text);
	int status = check_sections(r->options, &r->scene);
	if (status == EXIT_DONE)
		status = apply_options(r->options, &r->scene);
	const bool shared = r->options->ranks || r->options->rank_count > 0;
	return status == EXIT_DONE && shared ? run_check_ranks(r->options, &r->scene) : status;
}

int run_check_scene(const run_options *options)
{
	run *r = calloc(1, sizeof *r);
	if (!r)
		return report_error(NULL, "out of memory");
	r->options = options;
	const int status = load_scene(r);
	scene_destroy(&r->scene);
	free(r);
	return status;
}

// ---- The stages ----

static int add_part(run *r, const run_part_kind *kind)
{
	void *state = calloc(1, kind->state_size);
	if (!state)
		return report_error(NULL, "out of memory");
	r->kinds[r->part_count] = kind;
	r->states[r->part_count++] = state;
	return EXIT_DONE;
}

/// The device that the spheres live on, on which rays of rigid bodies are cast, and which finds the
/// impacts of deforming bodies.
static int open_device(run *r)
{
	const int tier = r->options->tier;
	if (!r->scene.has_bodies && (tier == CAROM_TIER_QUERY || tier == CAROM_TIER_PIPELINE))
		return report_error(r->options->scene,
			"has no rigid bodies, and nothing else is searched by the driver's rays (--tier %s)", device_tier_words[tier]);
	r->device = devices_open_to_run(r->parts.context, r->options->device, tier, r->options->kernels);
	r->scene.spheres.def.device = r->device;
	r->scene.rigid.device = r->device;
	r->scene.deforming.def.device = r->device;
	return r->device ? EXIT_DONE : EXIT_FAILED;
}

static int prepare(run *r)
{
	const struct {
		bool there;
		const run_part_kind *kind;
	} kinds[] = {
		{ r->scene.has_bodies, &run_bodies_kind },
		{ r->scene.has_deforming, &run_deforming_kind },
		{ r->scene.has_spheres, &run_spheres_kind },
	};
	r->parts.scene = &r->scene;
	r->parts.ranks = r->options->ranks;
	r->parts.context = report_create_context(r->options->threads, r->options->simd);
	int status = r->parts.context ? open_folder(r->options) : EXIT_FAILED;
	if (status == EXIT_DONE && r->options->backend == BACKEND_VULKAN)
		status = open_device(r);
	for (int i = 0; i < RUN_MOST_PARTS && status == EXIT_DONE; i++) {
		if (kinds[i].there)
			status = add_part(r, kinds[i].kind);
	}
	const bool resumes = r->options->restart && !scene_is_of_spheres(&r->scene);
	if (status == EXIT_DONE && resumes)
		status = run_open_checkpoint(r);
	for (int i = 0; i < r->part_count && status == EXIT_DONE; i++)
		status = r->kinds[i]->prepare(r, r->states[i]);
	if (status == EXIT_DONE && resumes)
		status = run_restore(r);
	return status == EXIT_DONE ? open_table(r) : status;
}

static int keep(run *r)
{
	int status = EXIT_DONE;
	for (int i = 0; i < r->part_count && status == EXIT_DONE; i++) {
		if (r->kinds[i]->keep)
			status = r->kinds[i]->keep(r, r->states[i]);
	}
	r->file_failed |= status != EXIT_DONE;
	return status;
}

/// A step that fails leaves the rows and files of those before it.
static int one_step(run *r)
{
	const double begin = sim_now_ms();
	for (int i = 0; i < r->part_count; i++) {
		if (r->kinds[i]->step(r, r->states[i]) != EXIT_DONE)
			return EXIT_FAILED;
	}
	r->parts.steps++;
	r->ms_total += sim_now_ms() - begin;
	if (r->ahead == 0)
		devices_add_rows(&r->kernels, r->device, r->parts.steps);
	if (write_row(r) != EXIT_DONE || (r->ahead == 0 && keep(r) != EXIT_DONE))
		return EXIT_FAILED;
	show(r, false);
	if (run_save(r, false) == EXIT_DONE)
		return EXIT_DONE;
	r->file_failed = true;
	return EXIT_FAILED;
}

static int simulate(run *r)
{
	progress bar;
	int status = keep(r);
	show(r, true);
	devices_add_rows(&r->kernels, r->device, r->parts.steps); // of what came before the first step
	progress_start(&bar, "run", r->scene.steps - r->first_step);
	bar.visible &= run_is_first(r);
	while (r->parts.steps < r->scene.steps && status == EXIT_DONE && (r->ahead > 0 || run_ranks_go_on(r, interrupted))) {
		status = one_step(r);
		progress_update(&bar, r->parts.steps - r->first_step);
	}
	progress_finish(&bar);
	if (status == EXIT_DONE && r->parts.steps < r->scene.steps)
		interrupted = 1; // this rank or another
	show(r, true);
	return status;
}

// ---- The summary ----

const char *const run_color_words[] = { "id", "speed", "radius", NULL };

static void add_camera(cJSON *view, const scene_camera *camera)
{
	const carom_vec3 p = camera->position, t = camera->target;
	cJSON_AddNumberToObject(view, "width", camera->width);
	cJSON_AddNumberToObject(view, "height", camera->height);
	if (!camera->given)
		return;
	report_add_vector(view, "position", (const double[3]){ p.x, p.y, p.z });
	report_add_vector(view, "target", (const double[3]){ t.x, t.y, t.z });
	cJSON_AddNumberToObject(view, "field_of_view", camera->field_of_view);
}

void run_add_view(cJSON *json, const run *r)
{
	const carom_vec3 g = r->scene.gravity, up = r->scene.camera.given ? r->scene.camera.up : run_up(r);
	report_add_vector(json, "gravity", (const double[3]){ g.x, g.y, g.z });
	cJSON *view = cJSON_AddObjectToObject(json, "view");
	// The sum makes a plus zero of a minus zero.
	report_add_vector(view, "up", (const double[3]){ up.x + 0.0, up.y + 0.0, up.z + 0.0 });
	add_camera(view, &r->scene.camera);
	cJSON_AddStringToObject(view, "color", run_color_words[r->scene.picture.color]);
	cJSON_AddBoolToObject(view, "box", r->scene.picture.box);
	cJSON_AddBoolToObject(view, "ground", r->scene.picture.ground);
}

void run_add_machine(cJSON *json, const run *r)
{
	cJSON_AddNumberToObject(json, "threads", carom_context_threads(r->parts.context));
	cJSON_AddStringToObject(json, "simd", carom_simd_name(carom_context_simd(r->parts.context)));
}

static uint64_t hash_of(const run *r)
{
	uint64_t hash = SIM_HASH_START;
	for (int i = 0; i < r->part_count; i++)
		hash = sim_hash_word(hash, r->kinds[i]->hash(r, r->states[i]));
	return hash;
}

/// That of the only part, or one with an object for each.
static cJSON *summarise(const run *r)
{
	if (!run_is_mixed(r))
		return r->kinds[0]->summarise(r, r->states[0]);
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "scene", r->scene.name);
	cJSON_AddNumberToObject(json, "steps", (double)r->parts.steps);
	cJSON_AddNumberToObject(json, "time", run_time(r));
	cJSON_AddNumberToObject(json, "time_step", r->scene.time_step);
	for (int i = 0; i < r->part_count; i++)
		cJSON_AddItemToObject(json, r->kinds[i]->section, r->kinds[i]->summarise(r, r->states[i]));
	cJSON_AddNumberToObject(cJSON_AddObjectToObject(json, "ms"), "total", r->ms_total);
	report_add_hash(json, "hash", hash_of(r));
	run_add_machine(json, r);
	return json;
}

/// Which parts of a mixed run act on each other.
static void print_what_acts(const scene_description *scene)
{
	const bool deforms = scene->deforming.obstacle_count > 0, grains = scene->spheres.obstacle_count > 0;
	if (deforms)
		puts(scene->deforming.two_way ? "  Obstacles and deforming bodies push each other."
									  : "  Obstacles push deforming bodies.");
	if (scene_count_mover_bodies(scene) > 0)
		puts("  Movers push rigid bodies.");
	if (grains)
		puts(scene->spheres.two_way ? "  Obstacles and spheres push each other." : "  Obstacles push spheres.");
	if (scene->has_deforming && scene->has_spheres)
		puts(scene->spheres.deforming
				? "  Deforming bodies and spheres push each other."
				: "  Deforming bodies and spheres act on each other only with \"deforming\" of the spheres.");
	if ((scene->has_bodies && scene->has_deforming && !deforms) || (scene->has_bodies && scene->has_spheres && !grains))
		puts("  Rigid bodies act on other sections only as their \"obstacles\".");
}

static int print(const run *r)
{
	for (int i = 0; i < r->part_count; i++)
		r->kinds[i]->print(r, r->states[i]);
	if (run_is_mixed(r)) {
		printf("%s: all together\n", r->scene.name);
		printf("  milliseconds per step        %.3f\n", r->parts.steps > 0 ? r->ms_total / (double)r->parts.steps : 0);
		printf("  hash                         %016llx\n", (unsigned long long)hash_of(r));
		print_what_acts(&r->scene);
	}
	return report_end_of_text();
}

static int finish(run *r)
{
	if (run_save(r, true) != EXIT_DONE)
		return EXIT_FAILED;
	for (int i = 0; i < r->part_count; i++) {
		if (r->kinds[i]->end && r->kinds[i]->end(r, r->states[i]) != EXIT_DONE)
			return EXIT_FAILED;
	}
	if (r->options->out && !r->options->no_picture && write_picture(r) != EXIT_DONE)
		return EXIT_FAILED;
	if (r->stats.stream && (report_commit(&r->stats) != EXIT_DONE || devices_close_table(&r->kernels) != EXIT_DONE))
		return EXIT_FAILED;
	for (int i = 0; i < r->part_count; i++) {
		if (r->kinds[i]->close && r->kinds[i]->close(r, r->states[i]) != EXIT_DONE)
			return EXIT_FAILED;
	}
	if (!run_is_first(r))
		return EXIT_DONE;
	if (r->options->out && write_summary(r->options, summarise(r)) != EXIT_DONE)
		return EXIT_FAILED;
	const int status = r->options->json ? report_json(summarise(r)) : print(r);
	if (ended_early(r))
		return report_error(NULL, "interrupted after %lld of %lld steps; what is written covers these",
			(long long)r->parts.steps, (long long)r->scene.steps);
	return status;
}

/// Close a table that is open after a failure: its rows tell what led to it. But where a file could
/// not be written, the table of an earlier run stays, beside its other files.
static void end_table(run *r)
{
	if (r->stats.stream && r->file_failed && access(r->stats.path, F_OK) == 0)
		io_output_abandon(&r->stats);
	if (r->stats.stream)
		report_commit(&r->stats);
}

/// Go through the stages; Ctrl-C ends the second one early.
static int go(run *r)
{
	int status = load_scene(r);
	if (status == EXIT_DONE && (r->options->view || r->options->view_port >= 0)) {
		r->view = run_open_view(r);
		status = r->view ? EXIT_DONE : EXIT_FAILED;
	}
	if (status == EXIT_DONE)
		status = prepare(r);
	if (status == EXIT_DONE)
		status = begin_view(r);
	if (status == EXIT_DONE) {
		watch_interrupts(true);
		status = simulate(r);
		if (status == EXIT_DONE) {
			status = finish(r);
			r->file_failed |= status != EXIT_DONE && r->stats.stream;
		}
		end_table(r);
		devices_close_table(&r->kernels);
		watch_interrupts(false);
	}
	io_output_abandon(&r->stats);
	io_output_abandon(&r->kernels.file);
	return status;
}

int run_scene(const run_options *options)
{
	run *r = calloc(1, sizeof *r); // a scene and its simulations: too large for a stack
	if (!r)
		return report_error(NULL, "out of memory");
	r->options = options;
	const int status = go(r);
	close_view(r, status);
	scene_close_resume(&r->resume);
	for (int i = r->part_count; i-- > 0;) {
		if (r->kinds[i]->destroy)
			r->kinds[i]->destroy(r, r->states[i]);
		free(r->states[i]);
	}
	scene_run_end(&r->parts);
	carom_destroy_device(r->device);
	carom_destroy_context(r->parts.context);
	scene_destroy(&r->scene);
	free(r);
	return status;
}
