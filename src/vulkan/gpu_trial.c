/// The trial of a device's doubles. See vulkan/gpu_trial.h.
#include "vulkan/gpu_trial.h"
#include "vulkan/vk_commands.h"
#include "vulkan/vk_kernels.h"
#include "vulkan/vk_memory.h"
#include <math.h>
#include <string.h>

enum {
	PROBES = 1024,
	PROBE_RESULTS = 6, // arithmetic.comp
	OPERANDS = 2 * PROBES,
	RESULTS = PROBE_RESULTS * PROBES,
};

/// Doubles of all sizes; the first ones are those that roundings are hard for.
static void make_operands(double *operands)
{
	static const double HARD[] = { 1, 3, 10, 0.1, 0x1p-1022, 0x1.fffffffffffffp1023, 0x1.0000000000001p0, 0x1.fffffffffffffp0,
		0x1p-1070, 2.0 / 3, 5e-324, 0 };
	enum { HARDS = sizeof HARD / sizeof *HARD };
	uint64_t seed = 0x9e3779b97f4a7c15u;
	for (int i = 0; i < 2 * PROBES; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		const double mantissa = 1 + (double)(seed >> 12) * 0x1p-52;
		operands[i] = ldexp(mantissa, (int)(seed >> 5 & 63) - 32);
	}
	for (int i = 0; i < HARDS * HARDS; i++) {
		operands[2 * i] = HARD[i / HARDS];
		operands[2 * i + 1] = HARD[i % HARDS];
	}
}

static bool same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

static bool is_exact(const double *operands, const double *results)
{
	for (int i = 0; i < PROBES; i++) {
		const double a = operands[2 * i], b = operands[2 * i + 1], *r = &results[PROBE_RESULTS * i];
		const double product = a * b, quotient = a / b;
		if (!same(r[0], a + b) || !same(r[1], a - b) || !same(r[2], product) || !same(r[3], quotient) || !same(r[4], sqrt(a)) ||
			!same(r[5], product - quotient))
			return false;
	}
	return true;
}

/// Let the device compute the results of operands.
static carom_result compute(
	carom_device *device, cr_gpu_buffer *from, cr_gpu_buffer *to, const double *operands, double *results)
{
	carom_result result = cr_gpu_reserve(device, from, OPERANDS * sizeof(double));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_reserve(device, to, RESULTS * sizeof(double));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_upload(device, from, operands, OPERANDS * sizeof(double));
	if (result == CAROM_SUCCESS)
		result = cr_gpu_begin(device);
	if (result == CAROM_SUCCESS) {
		const cr_gpu_arguments arguments = { { from->address, to->address }, { PROBES } };
		cr_gpu_run(device, CR_KERNEL_ARITHMETIC, PROBES, CR_GPU_THREADS, &arguments);
		result = cr_gpu_finish(device);
	}
	return result == CAROM_SUCCESS ? cr_gpu_download(device, to, results, RESULTS * sizeof(double)) : result;
}

carom_result cr_gpu_try_arithmetic(carom_device *device, bool *exact)
{
	*exact = device->exact;
	if (device->tried)
		return CAROM_SUCCESS;
	const size_t bytes = (OPERANDS + RESULTS) * sizeof(double);
	double *operands = cr_alloc(device->context, bytes), *results = operands + OPERANDS;
	if (!operands)
		return cr_fail_memory(device->context, "a trial of a device");
	make_operands(operands);
	cr_gpu_buffer from = { 0 }, to = { 0 };
	const carom_result result = cr_gpu_settle(device, compute(device, &from, &to, operands, results));
	device->tried = result == CAROM_SUCCESS;
	*exact = device->exact = device->tried && is_exact(operands, results);
	cr_gpu_free(device, &from);
	cr_gpu_free(device, &to);
	cr_free(device->context, operands, bytes);
	return result;
}
