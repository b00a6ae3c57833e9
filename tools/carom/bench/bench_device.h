/// @file bench_device.h
/// The benches of graphics devices: each part of what devices do, on scenes made here, with its
/// time on the clock and that of each kernel. The processor's answer is compared.
#ifndef CAROM_TOOL_BENCH_DEVICE_H
#define CAROM_TOOL_BENCH_DEVICE_H

#include "bench.h"

#include "tools/carom/devices.h"

/// Work of one kind, done over and over.
typedef struct device_cost {
	int repeats;
	double wall_least, wall_sum;     ///< milliseconds on the clock
	double device_least, device_sum; ///< milliseconds of the kernels; 0 on the processor
	device_work work;                ///< of all repeats
} device_cost;

/// What a device has done before a repeat; NULL, the processor: nothing.
device_work bench_begin_repeat(const carom_device *device);
/// Add a repeat that took so many milliseconds, in which the device did what it has done since.
void bench_end_repeat(device_cost *cost, const carom_device *device, const device_work *before, double wall);

/// Add a table of kernels to a report: NAME-kernels.
bench_table *bench_add_kernel_table(bench_report *report, const char *name);

/// Add a row for each kernel of some work that was done `repeats` times, and one of the bytes that
/// were copied.
void bench_add_kernels(bench_table *table, const char *what, const device_work *work, int repeats);

/// The device of this call of `carom bench`, for spheres in one tier. NULL after a message.
carom_device *bench_open_device(const bench *b, carom_context *context, carom_device_tier tier);

/// A remark on the device that was measured.
void bench_note_device(bench_report *report, const carom_device *device);

int bench_device_list(bench *b, bench_report *report);
int bench_device_trees(bench *b, bench_report *report);
int bench_device_spheres(bench *b, bench_report *report);
int bench_device_grains(bench *b, bench_report *report);
int bench_device_rays(bench *b, bench_report *report);
int bench_device_sweep(bench *b, bench_report *report);
int bench_device_start(bench *b, bench_report *report);

#endif
