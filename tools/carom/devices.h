/// @file devices.h
/// Graphics devices on the command line: the choice of one, and what is told of it.
#ifndef CAROM_TOOL_DEVICES_H
#define CAROM_TOOL_DEVICES_H

#include "report.h"

#include "carom/vulkan.h"

#include <cJSON.h>

/// Words of --backend, and their numbers.
typedef enum device_backend { BACKEND_CPU, BACKEND_VULKAN } device_backend;
extern const char *const device_backend_words[];
/// Words of --tier: auto, c, q, p; their numbers are those of carom_device_tier.
extern const char *const device_tier_words[];

#define DEVICES_NO_KERNELS "off"

/// Open the device of --device (NULL: auto) in the tier of --tier with the file of --kernels (NULL:
/// that of the default place; DEVICES_NO_KERNELS: none), its kernels timed, to do all that it can
/// (carom_device_def.always); NULL after an error message.
carom_device *devices_open(carom_context *context, const char *choice, int tier, const char *kernels);
/// Open it likewise, to do what it does faster than the processor.
carom_device *devices_open_to_run(carom_context *context, const char *choice, int tier, const char *kernels);
/// Open it in tier c with no time stamps around its kernels, which take time of their own.
carom_device *devices_open_untimed(carom_context *context, const char *choice);

/// Does a device have a tier? All have c.
bool devices_has_tier(const carom_device_info *info, int tier);

enum { DEVICE_MOST_KERNELS = 64 };

/// What a device has done.
typedef struct device_work {
	carom_kernel_time kernels[DEVICE_MOST_KERNELS];
	int32_t count;
	int64_t up, down; ///< bytes
} device_work;

/// All that a device has done.
device_work devices_work(const carom_device *device);
/// What it has done since then: the kernels that have run, and the bytes.
device_work devices_work_since(const carom_device *device, const device_work *before);
/// Add work to a sum. Kernels beyond DEVICE_MOST_KERNELS are left out: the library has fewer.
void devices_add_work(device_work *sum, const device_work *work);
/// Milliseconds of all kernels whose names begin with a prefix; NULL: of all.
double devices_work_ms(const device_work *work, const char *prefix);

/// A table of the times of kernels in each step, and what the device had done when it was last
/// written. Zero is none.
typedef struct device_table {
	io_output_file file; ///< no stream: there is none
	device_work before;
} device_table;

/// Begin the table; path NULL: there is none. EXIT_DONE, or EXIT_FAILED after a message.
int devices_open_table(device_table *table, const char *path);
/// Add the rows of what the device has done since the last call, as that of a step.
void devices_add_rows(device_table *table, const carom_device *device, int64_t step);
/// What the device has done since the last call is of no step.
void devices_skip_rows(device_table *table, const carom_device *device);
/// Put the table, if there is one, at its place. EXIT_DONE, or EXIT_FAILED after a message.
int devices_close_table(device_table *table);

/// Add "device" with what it is and what it has copied, and "kernels" with calls and times.
void devices_add_json(cJSON *json, const carom_device *device);
/// Print the same in lines.
void devices_print(const carom_device *device);

/// `carom info --devices`. Returns the exit code.
int devices_show(bool json);

#endif
