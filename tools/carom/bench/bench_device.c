// device-list, device-start, and what the benches of devices share. See bench_device.h.
#include "bench_device.h"

#include "bench_motion.h"
#include "bench_peers.h"
#include "io/sphere_file.h"
#include "scene/sphere_sampling.h"
#include "sim/base/sim_clock.h"
#include "tools/carom/options.h"
#include "tools/carom/program.h"
#include "tools/carom/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- Costs ----

device_work bench_begin_repeat(const carom_device *device)
{
	return device ? devices_work(device) : (device_work){ .count = 0 };
}

void bench_end_repeat(device_cost *cost, const carom_device *device, const device_work *before, double wall)
{
	const device_work work = device ? devices_work_since(device, before) : *before;
	const double ms = devices_work_ms(&work, NULL);
	cost->wall_least = cost->repeats == 0 ? wall : fmin(cost->wall_least, wall);
	cost->device_least = cost->repeats == 0 ? ms : fmin(cost->device_least, ms);
	cost->wall_sum += wall;
	cost->device_sum += ms;
	cost->repeats++;
	devices_add_work(&cost->work, &work);
}

bench_table *bench_add_kernel_table(bench_report *report, const char *name)
{
	char file[BENCH_CELL_SIZE];
	snprintf(file, sizeof file, "%s-kernels", name);
	return bench_add_table(report, file, "Kernels, by the device's own clock", "work|kernel|calls|ms|part, %");
}

void bench_add_kernels(bench_table *table, const char *what, const device_work *work, int repeats)
{
	const double all = devices_work_ms(work, NULL), share = 1.0 / repeats;
	for (int32_t i = 0; i < work->count; i++) {
		bench_text(table, "%s", what);
		bench_text(table, "%s", work->kernels[i].name);
		bench_number(table, share * (double)work->kernels[i].calls, 2);
		bench_number(table, share * work->kernels[i].ms, 5);
		bench_number(table, 100 * work->kernels[i].ms / all, 1);
	}
	bench_text(table, "%s", what);
	bench_text(table, "copies, KiB up and down");
	bench_number(table, share * (double)work->up / 1024, 2);
	bench_number(table, share * (double)work->down / 1024, 2);
	bench_text(table, "-");
}

carom_device *bench_open_device(const bench *b, carom_context *context, carom_device_tier tier)
{
	return devices_open(context, b->device, tier, NULL);
}

void bench_note_device(bench_report *report, const carom_device *device)
{
	const carom_device_info info = carom_device_get_info(device);
	bench_note(report, "device: %.120s (%s, %.120s); kernels with time stamps around each", info.name,
		carom_device_kind_name(info.kind), info.driver);
}

// ---- The list ----

enum { MOST_DEVICES = 16 };

static void add_device(bench_table *table, int index, const carom_device_info *info, bool chosen)
{
	bench_text(table, "%d%s", index, chosen ? " (measured)" : "");
	bench_text(table, "%s", info->name);
	bench_text(table, "%s", carom_device_kind_name(info->kind));
	bench_text(table, "%s", info->driver);
	bench_text(table, "%d.%d", info->api_major, info->api_minor);
	bench_number(table, (double)info->memory / (1 << 20), 0);
	bench_number(table, (double)info->largest_buffer / (1 << 20), 0);
	bench_text(table, "%u", info->subgroup_size);
	bench_text(table, "%s", info->doubles ? "yes" : "no");
	bench_text(table, "c%s%s", info->ray_query ? " q" : "", info->ray_pipeline ? " p" : "");
	bench_text(table, "%s", info->usable ? "yes" : info->lacks);
}

int bench_device_list(bench *b, bench_report *report)
{
	static carom_device_info infos[MOST_DEVICES];
	carom_context *context = report_create_context(b->threads, b->simd);
	if (!context)
		return EXIT_FAILED;
	const double start = sim_now_ms();
	carom_device *device = bench_open_device(b, context, CAROM_TIER_COMPUTE);
	const double taken = sim_now_ms() - start;
	int32_t count = 0;
	int status = device ? EXIT_DONE : EXIT_FAILED;
	if (device && carom_list_devices(context, infos, MOST_DEVICES, &count) != CAROM_SUCCESS)
		status = report_error(NULL, "%s", carom_error_text(context));
	if (status == EXIT_DONE) {
		const carom_device_info ours = carom_device_get_info(device);
		bench_table *table = bench_add_table(report, "device-list", "Devices",
			"index|name|kind|driver|Vulkan|memory, MiB|one buffer, MiB|subgroups of|doubles|tiers|usable");
		for (int32_t i = 0; i < count && i < MOST_DEVICES; i++)
			add_device(table, i, &infos[i], memcmp(&infos[i], &ours, sizeof ours) == 0);
		bench_note(report, "opened in %.1f ms", taken);
	}
	carom_destroy_device(device);
	carom_destroy_context(context);
	return status;
}

// ---- The first step of a new process ----

enum { START_REPEATS = 5, QUICK_START_REPEATS = 1 };

// Files of the processes that are started, in a folder of their own.
typedef struct start_files {
	char folder[BENCH_FOLDER_SIZE];
	char spheres[IO_PATH_MAX], kernels[IO_PATH_MAX];
} start_files;

// The caches that drivers keep by themselves, and what switches them off: Mesa's and NVIDIA's.
static const char *const CACHES[][2] = { { "MESA_SHADER_CACHE_DISABLE", "true" }, { "__GL_SHADER_DISK_CACHE", "0" } };

static void switch_caches(bool off)
{
	for (size_t i = 0; i < sizeof CACHES / sizeof *CACHES; i++) {
		if (off)
			setenv(CACHES[i][0], CACHES[i][1], 1);
		else
			unsetenv(CACHES[i][0]);
	}
}

/// Run `carom` with the words; *ms: how long it took. EXIT_DONE, or EXIT_FAILED after a message.
static int time_process(char *const words[], double *ms)
{
	const double start = sim_now_ms();
	const int failure = program_run(words);
	*ms = sim_now_ms() - start;
	if (failure != 0)
		return report_error(words[0], "%s", failure > 0 ? strerror(failure) : "the process that was started has failed");
	return EXIT_DONE;
}

// How a process starts.
typedef struct start_way {
	const char *name;
	bool device, keeps_kernels, fresh, driver_cache;
} start_way;

static const start_way START_WAYS[] = {
	{ "processor", false, false, false, false },
	{ "device, nothing kept", true, false, false, false },
	{ "device, makes the file of kernels", true, true, true, false },
	{ "device, has the file of kernels", true, true, false, false },
	{ "device, has the driver's cache", true, false, false, true },
};
enum { START_WAY_COUNT = sizeof START_WAYS / sizeof *START_WAYS };

/// What is started by a way: a scene of rigid bodies, or spheres from a file.
static int time_start(const bench *b, const start_files *files, const char *scene, const start_way *way, double *ms)
{
	char *words[24];
	int n = 0;
	words[n++] = (char *)b->program;
	words[n++] = scene ? "run" : "spheres";
	words[n++] = scene ? (char *)scene : (char *)files->spheres;
	if (scene) {
		words[n++] = "--steps";
		words[n++] = "1";
		words[n++] = "--no-picture";
	} else {
		words[n++] = "--repeat";
		words[n++] = "1";
	}
	if (way->device) {
		words[n++] = "--backend";
		words[n++] = "vulkan";
		words[n++] = "--device";
		words[n++] = (char *)(b->device ? b->device : "auto");
	}
	if (way->device && !scene) {
		words[n++] = "--tier";
		words[n++] = "c";
	}
	if (way->device) {
		words[n++] = "--kernels";
		words[n++] = way->keeps_kernels ? (char *)files->kernels : DEVICES_NO_KERNELS;
	}
	words[n] = NULL;
	if (way->fresh)
		remove(files->kernels);
	switch_caches(way->device && !way->driver_cache && !b->quick);
	const int status = time_process(words, ms);
	switch_caches(false);
	return status;
}

static int measure_start(const bench *b, bench_table *table, const start_files *files, const char *scene, const char *what)
{
	const int repeats = b->quick ? QUICK_START_REPEATS : START_REPEATS;
	double here = 0;
	for (int i = 0; i < START_WAY_COUNT; i++) {
		device_cost cost = { 0 };
		// The first process brings programs and files into memory, and fills a driver's cache.
		for (int repeat = b->quick ? 0 : -1; repeat < repeats; repeat++) {
			const device_work none = bench_begin_repeat(NULL);
			double ms;
			if (time_start(b, files, scene, &START_WAYS[i], &ms) != EXIT_DONE)
				return EXIT_FAILED;
			if (repeat >= 0)
				bench_end_repeat(&cost, NULL, &none, ms);
		}
		here = i == 0 ? cost.wall_least : here;
		bench_text(table, "%s", what);
		bench_text(table, "%s", START_WAYS[i].name);
		bench_number(table, cost.wall_least, 1);
		bench_number(table, cost.wall_sum / cost.repeats, 1);
		bench_number(table, cost.wall_least - here, 1);
	}
	return EXIT_DONE;
}

static int measure_starts(bench *b, bench_table *table, start_files *files)
{
	char scene[IO_PATH_MAX];
	sim_error error;
	io_sphere_set set = { 0 };
	snprintf(files->spheres, sizeof files->spheres, "%s/spheres.sph", files->folder);
	snprintf(files->kernels, sizeof files->kernels, "%s/kernels", files->folder);
	int status = EXIT_DONE;
	if (!scene_strew_spheres(1000, 0.0005, 0.006, 0.061, 1, &set) || !io_save_spheres(files->spheres, &set, &error))
		status = report_error(files->spheres, "cannot be written");
	io_free_spheres(&set);
	if (status == EXIT_DONE)
		status = measure_start(b, table, files, NULL, "pairs of 1,000 spheres");
	if (status != EXIT_DONE || b->quick)
		return status;
	if (!bench_find_scene(b, "pile27.json", scene))
		return EXIT_FAILED;
	return measure_start(b, table, files, scene, "a step of 27 bodies");
}

int bench_device_start(bench *b, bench_report *report)
{
	start_files files = { 0 };
	bench_table *table = bench_add_table(report, "device-start", "A new process with one step, from its start to its end",
		"process|where|ms, least|ms, mean|more than the processor, ms");
	if (!report_make_temporary("carom-bench", files.folder, sizeof files.folder))
		return report_error(files.folder, "%s", strerror(errno));
	const int status = measure_starts(b, table, &files);
	remove(files.spheres);
	remove(files.kernels);
	rmdir(files.folder);
	bench_note(report, "the caches of shaders that drivers keep are %s",
		b->quick ? "on" : "off (Mesa, NVIDIA); rows that name one have it on");
	return status;
}
