// `carom ccd`: swept impacts between consecutive frames of a deforming mesh, and how long finding
// them takes.
#include "ccd.h"
#include "commands.h"
#include "devices.h"
#include "progress.h"
#include "report.h"

#include "carom/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The values of the command line.
static ccd_options given;

// clang-format off
static const option OPTIONS[] = {
	{ .name = "hits", .argument = "FILE", .kind = OPTION_TEXT, .value = &given.hits, .file = OPTION_WRITES,
		.help = "write the impacts: `vf v f0 f1 f2 t` and `ee a0 a1 b0 b1 t`, sorted" },
	{ .name = "sequence", .argument = "MESH", .kind = OPTION_TEXT, .value = &given.source.mesh, .file = OPTION_READS,
		.help = "the faces of all frames; the one FRAME is then a file of positions" },
	{ .name = "frames", .argument = "A:B", .kind = OPTION_RANGE, .value = &given.source.range,
		.help = "take frames A to B-1 (all)" },
	{ .name = "scalar", .argument = "TYPE", .kind = OPTION_CHOICE, .value = &given.source.scalar,
		.choices = mesh_scalar_words, .help = "numbers of the files, see above (auto)" },
	{ .name = "method", .letter = 'm', .argument = "METHOD", .kind = OPTION_CHOICE, .value = &given.method,
		.choices = ccd_method_words, .help = "the same impacts, other times (auto)" },
	{ .name = "backend", .argument = "WHERE", .kind = OPTION_CHOICE, .value = &given.backend, .choices = device_backend_words,
		.help = "cpu (default), or vulkan: a graphics device; the same impacts" },
	{ .name = "device", .argument = "WHICH", .kind = OPTION_TEXT, .value = &given.device,
		.help = "with vulkan: auto (default), an index of `carom info --devices`, or a part of a name" },
	{ .name = "tier", .argument = "TIER", .kind = OPTION_CHOICE, .value = &given.tier, .choices = device_tier_words,
		.help = "with vulkan: c (our kernels) or auto; no impact is searched by the driver's rays (auto)" },
	{ .name = "kernel-times", .argument = "FILE", .kind = OPTION_TEXT, .value = &given.kernel_times, .file = OPTION_WRITES,
		.help = "with vulkan: write calls and milliseconds of each kernel in each step as CSV" },
	{ .name = "volume", .argument = "VOLUME", .kind = OPTION_CHOICE, .value = &given.volume, .choices = ccd_volume_words,
		.help = "boxes of the tree (dop18)" },
	{ .name = "build", .argument = "RULE", .kind = OPTION_CHOICE, .value = &given.build, .choices = ccd_build_words,
		.help = "how the tree is built (median)" },
	{ .name = "test", .argument = "TEST", .kind = OPTION_CHOICE, .value = &given.test, .choices = ccd_test_words,
		.help = "elementary tests (certified); cubic misses impacts" },
	{ .name = "tolerance", .argument = "T", .kind = OPTION_REAL, .value = &given.tolerance, .above = true,
		.maximum = CAROM_MAX_COORDINATE, .help = "above 0: features that come this near may be reported (1e-6)" },
	{ .name = "separation", .argument = "D", .kind = OPTION_REAL, .value = &given.separation, .minimum = 0,
		.maximum = CAROM_MAX_COORDINATE, .help = "an impact is when features come this near (0)" },
	{ .name = "no-orphans", .kind = OPTION_FLAG, .value = &given.no_orphans,
		.help = "test pairs of adjacent triangles like others, without orphan sets" },
	{ .name = "no-pruning", .kind = OPTION_FLAG, .value = &given.no_pruning,
		.help = "never shrink the front, only rebuild it" },
	{ .name = "earliest", .kind = OPTION_FLAG, .value = &given.earliest, .help = "find only the earliest impact of each step" },
	{ .name = "oracle", .kind = OPTION_FLAG, .value = &given.oracle,
		.help = "compare with every pair of features, without trees: slow; a difference is an error" },
	{ .name = "threads", .letter = 't', .argument = "N", .kind = OPTION_INTEGER, .value = &given.threads, .maximum = 256,
		.help = "threads (0: one for each core)" },
	{ .name = "simd", .argument = "SET", .kind = OPTION_CHOICE, .value = &given.simd, .choices = options_simd_words,
		.help = "instruction set (auto)" },
	{ .name = "json", .kind = OPTION_FLAG, .value = &given.json, .help = "print one JSON object" },
	{ 0 },
};
// clang-format on

static int parse(ccd_options *o, int argc, char **argv)
{
	const command_line line = {
		.command = "ccd",
		.synopsis = "FRAME0 FRAME1 [FRAME2 ...] [options]\ncarom ccd --sequence MESH POSITIONS [options]",
		.summary = "Impacts of a deforming mesh with itself between consecutive frames.",
		.details =
			"FRAME: a mesh file; vertices and faces must be the same in all frames. Each vertex moves on a straight line from frame\n"
			"to frame. Step K is the motion from frame K to frame K+1, time 0 to 1.\n"
			"POSITIONS: for each frame x, y, z of all vertices of MESH as little-endian floats, and nothing else; as doubles where\n"
			"its name ends in .f64, or with --scalar float64.\n"
			"Impacts are those of the exact motion of the numbers given: nothing is rounded. Doubles in a file stay doubles; so do\n"
			"numbers in text that a float does not hold (a file of floats may have been written with too few digits: --scalar\n"
			"float32 takes the nearest floats).",
		.options = OPTIONS,
		.least = 1,
		.most = argc,
	};
	const int status = options_parse(&line, argc, argv, o->source.paths, &o->source.path_count);
	if (status != OPTIONS_GO_ON)
		return status;
	if (o->source.mesh && o->source.path_count > 1)
		return options_misuse("ccd", "%s: --sequence goes with one file of positions", o->source.paths[1]);
	if (!o->source.mesh && o->source.path_count < 2)
		return options_misuse("ccd", "there is one frame; give two at least, or --sequence MESH for a file of positions");
	if (o->backend != BACKEND_VULKAN && (o->device || o->kernel_times || o->tier != CAROM_TIER_AUTO))
		return options_misuse("ccd", "--device, --tier and --kernel-times need --backend vulkan");
	if (o->tier > CAROM_TIER_COMPUTE)
		return options_misuse("ccd", "--tier %s: impacts are searched in kernels of our own alone (auto, c)", device_tier_words[o->tier]);
	if (o->backend == BACKEND_VULKAN && o->method != CAROM_SWEEP_AUTO)
		return options_misuse("ccd", "--method is one of the processor: leave it out with --backend vulkan");
	if (o->backend == BACKEND_VULKAN && o->test == CAROM_SWEEP_CUBIC)
		return options_misuse("ccd", "--test cubic filters nothing: leave it out with --backend vulkan");
	return OPTIONS_GO_ON;
}

// ---- Searching ----

/// The step of splitmix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators,
/// 2014).
static uint64_t mix(uint64_t hash, uint64_t value)
{
	uint64_t z = (hash ^ value) + 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static uint64_t mix_reals(uint64_t hash, const double *values, int count)
{
	for (int i = 0; i < count; i++) {
		uint64_t bits;
		memcpy(&bits, &values[i], sizeof bits);
		hash = mix(hash, bits);
	}
	return hash;
}

static uint64_t mix_hit(uint64_t hash, const carom_sweep_hit *hit)
{
	hash = mix(hash, (uint64_t)hit->kind << 32 | (uint64_t)hit->status);
	hash = mix(hash, (uint64_t)hit->vertices[0] << 32 | (uint64_t)hit->vertices[1]);
	hash = mix(hash, (uint64_t)hit->vertices[2] << 32 | (uint64_t)hit->vertices[3]);
	hash = mix_reals(hash, &hit->time, 1);
	hash = mix_reals(hash, hit->weight, 4);
	return mix_reals(hash, hit->normal, 3);
}

static void write_hit(FILE *stream, const carom_sweep_hit *hit)
{
	const int32_t *v = hit->vertices;
	fprintf(stream, "%s %d %d %d %d %.17g\n", ccd_kind_word(hit->kind), v[0], v[1], v[2], v[3], hit->time);
}

/// Count, hash and write the hits of the step that was searched last.
static void take_hits(ccd_run *run, ccd_step *step, const carom_sweep_hits *hits, FILE *stream)
{
	if (stream && run->frames.count > 2)
		fprintf(stream, "# step %lld\n", (long long)step->number);
	run->hash = mix(run->hash, (uint64_t)step->number);
	const carom_sweep_hit *first = NULL;
	for (int64_t i = 0; i < hits->count; i++) {
		const carom_sweep_hit *hit = &hits->data[i];
		*(hit->kind == CAROM_SWEEP_VERTEX_FACE ? &step->vf : &step->ee) += 1;
		step->touching += hit->status == CAROM_SWEEP_TOUCHING;
		step->undecided += hit->status == CAROM_SWEEP_UNDECIDED;
		if (!first || hit->time < first->time)
			first = hit;
		run->hash = mix_hit(run->hash, hit);
		if (stream)
			write_hit(stream, hit);
	}
	step->earliest = first ? first->time : NAN;
	if (first && run->first_step < 0) {
		run->first = *first;
		run->first_step = step->number;
	}
	run->sums.vf += step->vf;
	run->sums.ee += step->ee;
	run->sums.touching += step->touching;
	run->sums.undecided += step->undecided;
}

static bool find(carom_sweep *sweep, bool earliest, carom_sweep_hit *only, carom_sweep_hits *hits)
{
	if (!earliest)
		return carom_sweep_find(sweep, hits) == CAROM_SUCCESS;
	bool found = false;
	if (carom_sweep_find_earliest(sweep, only, &found) != CAROM_SUCCESS)
		return false;
	*hits = (carom_sweep_hits){ only, found };
	return true;
}

/// The mesh as the first frame has it, which was read.
static bool add_mesh(carom_sweep *sweep, const frames *f)
{
	carom_sweep_mesh_def def = carom_default_sweep_mesh_def();
	def.vertex_count = f->mesh.vertex_count;
	def.triangles = f->mesh.triangles;
	def.triangle_count = f->mesh.triangle_count;
	def.vertices = io_mesh_vertices(&f->mesh);
	int32_t mesh;
	return carom_sweep_add_mesh(sweep, &def, &mesh) == CAROM_SUCCESS;
}

/// The frame read last, so that it can be compared with the next one. Its faces are those of all
/// frames.
static bool keep_frame(const frames *f, sim_mesh *kept)
{
	const size_t values = 3 * (size_t)f->mesh.vertex_count;
	*kept = (sim_mesh){ .vertex_count = f->mesh.vertex_count, .triangle_count = f->mesh.triangle_count };
	kept->doubles = malloc(values * sizeof *kept->doubles + 1);
	for (size_t i = 0; kept->doubles && i < values; i++)
		kept->doubles[i] = f->mesh.doubles ? f->mesh.doubles[i] : (double)f->mesh.vertices[i];
	return kept->doubles != NULL;
}

static int ask_oracle(const ccd_options *o, carom_context *context, const carom_sweep_def *def, sim_mesh *begin, ccd_run *run,
	const carom_sweep_hits *hits)
{
	const frames *f = &run->frames;
	begin->triangles = f->mesh.triangles;
	const bool done = oracle_compare_impacts(context, def, begin, &f->mesh, hits, o->earliest, &run->difference);
	begin->triangles = NULL;
	if (!done)
		return report_error(NULL, "out of memory");
	return oracle_report(frames_present_path(f), run->steps[run->step_count].number, &run->difference);
}

/// One step after another, in one scene: the front lives through them.
static int search_steps(
	const ccd_options *o, carom_context *context, const carom_sweep_def *def, carom_sweep *sweep, ccd_run *run, FILE *stream)
{
	frames *f = &run->frames;
	if (!add_mesh(sweep, f))
		return frames_error(f, "%s", carom_error_text(context));
	progress bar;
	progress_start(&bar, "ccd", f->count - 1);
	int status = EXIT_DONE;
	while (status == EXIT_DONE && run->step_count < f->count - 1) {
		ccd_step *step = &run->steps[run->step_count];
		*step = (ccd_step){ .number = f->number };
		carom_sweep_hit only;
		carom_sweep_hits hits;
		sim_mesh begin = { 0 };
		if (o->oracle && !keep_frame(f, &begin))
			status = report_error(NULL, "out of memory");
		else if (!frames_next(f))
			status = EXIT_FAILED;
		if (status != EXIT_DONE) {
			sim_mesh_free(&begin);
			break;
		}
		const carom_strided end = io_mesh_vertices(&f->mesh);
		if (carom_sweep_move_mesh(sweep, 0, &end) == CAROM_SUCCESS && find(sweep, o->earliest, &only, &hits)) {
			step->stats = carom_sweep_get_stats(sweep);
			devices_add_rows(&run->kernel_times, run->device, step->number);
			take_hits(run, step, &hits, stream);
			if (o->oracle)
				status = ask_oracle(o, context, def, &begin, run, &hits);
			progress_update(&bar, ++run->step_count);
		} else {
			status = frames_error(f, "%s", carom_error_text(context));
		}
		sim_mesh_free(&begin);
	}
	progress_finish(&bar);
	return status;
}

static int search(const ccd_options *o, carom_context *context, ccd_run *run, FILE *stream)
{
	carom_sweep_def def = carom_default_sweep_def();
	def.lab = carom_lab_sweep();
	def.method = (carom_sweep_method)o->method;
	def.volume = (carom_sweep_volume)o->volume;
	def.build = (carom_sweep_build)o->build;
	def.test = (carom_sweep_test)o->test;
	def.tolerance = o->tolerance;
	def.min_separation = o->separation;
	def.orphan_sets = !o->no_orphans;
	def.prune_front = !o->no_pruning;
	def.device = run->device;
	carom_sweep *sweep;
	if (carom_create_sweep(context, &def, &sweep) != CAROM_SUCCESS)
		return report_error(NULL, "%s", carom_error_text(context));
	run->threads = carom_context_threads(context);
	run->simd = carom_context_simd(context);
	const int status = search_steps(o, context, &def, sweep, run, stream);
	carom_destroy_sweep(sweep);
	return status;
}

// ---- The command ----

static int search_and_write(const ccd_options *o, carom_context *context, ccd_run *run)
{
	io_output_file file = { 0 };
	if (o->hits && report_open(&file, o->hits) != EXIT_DONE)
		return EXIT_FAILED;
	int status = devices_open_table(&run->kernel_times, o->kernel_times);
	if (status == EXIT_DONE)
		status = search(o, context, run, file.stream);
	if (status == EXIT_DONE && o->hits)
		status = report_commit(&file);
	if (status == EXIT_DONE)
		status = devices_close_table(&run->kernel_times);
	io_output_abandon(&file);
	io_output_abandon(&run->kernel_times.file);
	return status;
}

/// The device that is wanted, if one is; false after an error message.
static bool open_device(const ccd_options *o, carom_context *context, ccd_run *run)
{
	if (o->backend == BACKEND_VULKAN)
		run->device = devices_open(context, o->device, CAROM_TIER_COMPUTE, NULL);
	return o->backend != BACKEND_VULKAN || run->device;
}

static int run_ccd(const ccd_options *o)
{
	ccd_run run = { .first_step = -1 };
	if (!frames_open(&run.frames, &o->source))
		return EXIT_FAILED;
	int status = EXIT_FAILED;
	run.steps = calloc((size_t)run.frames.count, sizeof *run.steps);
	carom_context *context = NULL;
	if (!run.steps)
		report_error(NULL, "out of memory");
	else if ((context = report_create_context(o->threads, o->simd)) != NULL && open_device(o, context, &run)) {
		run.warnings = cJSON_CreateArray();
		mesh_input_warn_of_motion(context, frames_first_path(&run.frames), &run.frames.mesh, run.warnings);
		status = search_and_write(o, context, &run);
	}
	if (status == EXIT_DONE)
		status = (o->json ? ccd_print_json : ccd_print_text)(o, &run);
	cJSON_Delete(run.warnings);
	carom_destroy_device(run.device);
	carom_destroy_context(context);
	free(run.steps);
	frames_close(&run.frames);
	return status;
}

int cmd_ccd(int argc, char **argv)
{
	const carom_sweep_def def = carom_default_sweep_def();
	given = (ccd_options){
		.source = { .range = { 0, INT64_MAX } },
		.method = (int)def.method,
		.volume = (int)def.volume,
		.build = (int)def.build,
		.test = (int)def.test,
		.tolerance = def.tolerance,
		.separation = def.min_separation,
	};
	given.source.paths = calloc((size_t)argc, sizeof *given.source.paths);
	if (!given.source.paths)
		return report_error(NULL, "out of memory");
	int status = parse(&given, argc, argv);
	if (status == OPTIONS_GO_ON)
		status = run_ccd(&given);
	free(given.source.paths);
	return status;
}
