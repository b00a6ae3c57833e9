// Graphics devices: list, choice, figures.
#include "devices.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 64 };

const char *const device_backend_words[] = { "cpu", "vulkan", NULL };

const char *const device_tier_words[] = { "auto", "c", "q", "p", NULL };

static carom_device *open_as(carom_context *context, const carom_device_def *def)
{
	carom_device *device;
	if (carom_create_device(context, def, &device) == CAROM_SUCCESS)
		return device;
	report_error(NULL, "%s (`carom info --devices` lists them)", carom_error_text(context));
	return NULL;
}

/// As measuring commands have it: kernels timed, and all done that the device can do.
static carom_device_def measuring_def(const char *choice, int tier, const char *kernels)
{
	carom_device_def def = carom_default_device_def();
	def.choice = choice;
	def.tier = (carom_device_tier)tier;
	def.cache_path = kernels && strcmp(kernels, DEVICES_NO_KERNELS) == 0 ? "" : kernels;
	def.timing = true;
	def.always = true;
	return def;
}

carom_device *devices_open(carom_context *context, const char *choice, int tier, const char *kernels)
{
	const carom_device_def def = measuring_def(choice, tier, kernels);
	return open_as(context, &def);
}

carom_device *devices_open_to_run(carom_context *context, const char *choice, int tier, const char *kernels)
{
	carom_device_def def = measuring_def(choice, tier, kernels);
	def.always = false;
	return open_as(context, &def);
}

carom_device *devices_open_untimed(carom_context *context, const char *choice)
{
	carom_device_def def = measuring_def(choice, CAROM_TIER_COMPUTE, NULL);
	def.timing = false;
	return open_as(context, &def);
}

bool devices_has_tier(const carom_device_info *info, int tier)
{
	return tier == CAROM_TIER_QUERY ? info->ray_query : tier != CAROM_TIER_PIPELINE || info->ray_pipeline;
}

// ---- What a device has done ----

void devices_add_json(cJSON *json, const carom_device *device)
{
	const carom_device_info info = carom_device_get_info(device);
	const carom_device_stats stats = carom_device_get_stats(device);
	cJSON *object = cJSON_AddObjectToObject(json, "device");
	cJSON_AddStringToObject(object, "name", info.name);
	cJSON_AddStringToObject(object, "driver", info.driver);
	cJSON_AddStringToObject(object, "kind", carom_device_kind_name(info.kind));
	cJSON_AddNumberToObject(object, "subgroup_size", info.subgroup_size);
	cJSON_AddStringToObject(object, "tier", carom_device_tier_name(stats.tier));
	cJSON_AddNumberToObject(object, "bytes_peak", (double)stats.bytes_peak);
	cJSON_AddNumberToObject(object, "bytes_up", (double)stats.bytes_up);
	cJSON_AddNumberToObject(object, "bytes_down", (double)stats.bytes_down);
	cJSON_AddNumberToObject(object, "submissions", (double)stats.submissions);
	cJSON_AddNumberToObject(object, "dispatches", (double)stats.dispatches);
	cJSON_AddBoolToObject(object, "kernels_from_file", stats.cache_used);
	carom_kernel_time times[DEVICE_MOST_KERNELS];
	const int32_t count = carom_device_get_kernels(device, times, DEVICE_MOST_KERNELS);
	cJSON *kernels = cJSON_AddArrayToObject(json, "kernels");
	for (int32_t i = 0; i < count && i < DEVICE_MOST_KERNELS; i++) {
		cJSON *kernel = cJSON_CreateObject();
		cJSON_AddStringToObject(kernel, "name", times[i].name);
		cJSON_AddNumberToObject(kernel, "calls", (double)times[i].calls);
		cJSON_AddNumberToObject(kernel, "ms", times[i].ms);
		cJSON_AddItemToArray(kernels, kernel);
	}
}

void devices_print(const carom_device *device)
{
	const carom_device_info info = carom_device_get_info(device);
	const carom_device_stats stats = carom_device_get_stats(device);
	printf("  %-12s %s (%s, %s)\n", "device", info.name, carom_device_kind_name(info.kind), info.driver);
	printf("  %-12s %s\n", "tier", carom_device_tier_name(stats.tier));
	printf("  %-12s %.1f MiB held at most, %.1f up, %.1f down, in all\n", "its memory", (double)stats.bytes_peak / (1 << 20),
		(double)stats.bytes_up / (1 << 20), (double)stats.bytes_down / (1 << 20));
	carom_kernel_time times[DEVICE_MOST_KERNELS];
	const int32_t count = carom_device_get_kernels(device, times, DEVICE_MOST_KERNELS);
	for (int32_t i = 0; i < count && i < DEVICE_MOST_KERNELS; i++)
		printf("  %-12s %-20s %10.3f ms in %lld calls\n", i == 0 ? "kernels" : "", times[i].name, times[i].ms,
			(long long)times[i].calls);
}

// ---- Work ----

/// Names of kernels are static texts, so they are compared by their addresses.
static carom_kernel_time *find_kernel(device_work *work, const char *name)
{
	for (int32_t i = 0; i < work->count; i++) {
		if (work->kernels[i].name == name)
			return &work->kernels[i];
	}
	return NULL;
}

device_work devices_work(const carom_device *device)
{
	const carom_device_stats stats = carom_device_get_stats(device);
	device_work work = { .up = stats.bytes_up, .down = stats.bytes_down };
	work.count = carom_device_get_kernels(device, work.kernels, DEVICE_MOST_KERNELS);
	if (work.count > DEVICE_MOST_KERNELS)
		work.count = DEVICE_MOST_KERNELS;
	return work;
}

device_work devices_work_since(const carom_device *device, const device_work *before)
{
	device_work now = devices_work(device), earlier = *before;
	device_work since = { .up = now.up - before->up, .down = now.down - before->down };
	for (int32_t i = 0; i < now.count; i++) {
		carom_kernel_time kernel = now.kernels[i];
		const carom_kernel_time *then = find_kernel(&earlier, kernel.name);
		kernel.calls -= then ? then->calls : 0;
		kernel.ms -= then ? then->ms : 0;
		if (kernel.calls > 0)
			since.kernels[since.count++] = kernel;
	}
	return since;
}

void devices_add_work(device_work *sum, const device_work *work)
{
	sum->up += work->up;
	sum->down += work->down;
	for (int32_t i = 0; i < work->count; i++) {
		carom_kernel_time *to = find_kernel(sum, work->kernels[i].name);
		if (to) {
			to->calls += work->kernels[i].calls;
			to->ms += work->kernels[i].ms;
		} else if (sum->count < DEVICE_MOST_KERNELS) {
			sum->kernels[sum->count++] = work->kernels[i];
		}
	}
}

double devices_work_ms(const device_work *work, const char *prefix)
{
	double ms = 0;
	for (int32_t i = 0; i < work->count; i++) {
		if (!prefix || strncmp(work->kernels[i].name, prefix, strlen(prefix)) == 0)
			ms += work->kernels[i].ms;
	}
	return ms;
}

// ---- The table of kernels ----

int devices_open_table(device_table *table, const char *path)
{
	*table = (device_table){ 0 };
	if (!path)
		return EXIT_DONE;
	if (report_open(&table->file, path) != EXIT_DONE)
		return EXIT_FAILED;
	fputs("step,kernel,calls,ms,bytes_up,bytes_down\n", table->file.stream);
	return EXIT_DONE;
}

static void take_rows(device_table *table, const carom_device *device, FILE *stream, int64_t step)
{
	const device_work work = devices_work_since(device, &table->before);
	for (int32_t i = 0; i < work.count && stream; i++)
		fprintf(stream, "%lld,%s,%lld,%.6f,,\n", (long long)step, work.kernels[i].name, (long long)work.kernels[i].calls,
			work.kernels[i].ms);
	if (stream && (work.up > 0 || work.down > 0))
		fprintf(stream, "%lld,copies,,,%lld,%lld\n", (long long)step, (long long)work.up, (long long)work.down);
	table->before = devices_work(device);
}

void devices_add_rows(device_table *table, const carom_device *device, int64_t step)
{
	if (table->file.stream)
		take_rows(table, device, table->file.stream, step);
}

void devices_skip_rows(device_table *table, const carom_device *device)
{
	if (table->file.stream)
		take_rows(table, device, NULL, 0);
}

int devices_close_table(device_table *table) { return table->file.stream ? report_commit(&table->file) : EXIT_DONE; }

// ---- The list ----

static int print_list_json(const carom_device_info *infos, int32_t count)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "kind", "devices");
	cJSON *devices = cJSON_AddArrayToObject(json, "devices");
	for (int32_t i = 0; i < count; i++) {
		cJSON *device = cJSON_CreateObject();
		cJSON_AddNumberToObject(device, "index", i);
		cJSON_AddStringToObject(device, "name", infos[i].name);
		cJSON_AddStringToObject(device, "driver", infos[i].driver);
		cJSON_AddStringToObject(device, "kind", carom_device_kind_name(infos[i].kind));
		cJSON_AddNumberToObject(device, "vendor_id", infos[i].vendor_id);
		cJSON_AddNumberToObject(device, "device_id", infos[i].device_id);
		char version[32];
		snprintf(version, sizeof version, "%d.%d", infos[i].api_major, infos[i].api_minor);
		cJSON_AddStringToObject(device, "vulkan", version);
		cJSON_AddNumberToObject(device, "memory", (double)infos[i].memory);
		cJSON_AddNumberToObject(device, "largest_buffer", (double)infos[i].largest_buffer);
		cJSON_AddNumberToObject(device, "subgroup_size", infos[i].subgroup_size);
		cJSON_AddBoolToObject(device, "doubles", infos[i].doubles);
		cJSON_AddBoolToObject(device, "ray_query", infos[i].ray_query);
		cJSON_AddBoolToObject(device, "ray_pipeline", infos[i].ray_pipeline);
		cJSON_AddBoolToObject(device, "usable", infos[i].usable);
		cJSON_AddStringToObject(device, "lacks", infos[i].lacks);
		cJSON_AddItemToArray(devices, device);
	}
	return report_json(json);
}

static int print_list_text(const carom_device_info *infos, int32_t count)
{
	if (count == 0)
		printf("no Vulkan device: no loader, driver or device was found, or this program was built without Vulkan\n");
	for (int32_t i = 0; i < count; i++) {
		printf("device %d: %s\n", (int)i, infos[i].name);
		printf("  %-12s %s%s\n", "kind", carom_device_kind_name(infos[i].kind),
			infos[i].kind == CAROM_DEVICE_CPU ? ": runs on the processor, never chosen unless it is named" : "");
		printf("  %-12s %s, Vulkan %d.%d\n", "driver", infos[i].driver, infos[i].api_major, infos[i].api_minor);
		printf("  %-12s %.0f MiB, %.0f in one buffer\n", "memory", (double)infos[i].memory / (1 << 20),
			(double)infos[i].largest_buffer / (1 << 20));
		printf("  %-12s %u\n", "subgroups of", infos[i].subgroup_size);
		printf("  %-12s %s\n", "precision", infos[i].doubles ? "single and double" : "single: for spheres and impacts alone");
		printf("  %-12s c%s%s\n", "tiers", infos[i].ray_query ? " q" : "", infos[i].ray_pipeline ? " p" : "");
		printf("  %-12s %s%s\n", "usable", infos[i].usable ? "yes" : "no: ", infos[i].lacks);
	}
	return report_end_of_text();
}

int devices_show(bool json)
{
	static carom_device_info infos[MOST_DEVICES];
	carom_context *context = report_create_context(1, CAROM_SIMD_AUTO);
	int32_t count = 0;
	int status = EXIT_FAILED;
	if (context && carom_list_devices(context, infos, MOST_DEVICES, &count) != CAROM_SUCCESS)
		report_error(NULL, "%s", carom_error_text(context));
	else if (context)
		status = (json ? print_list_json : print_list_text)(infos, count < MOST_DEVICES ? count : MOST_DEVICES);
	carom_destroy_context(context);
	return status;
}
