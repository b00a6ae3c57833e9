/// What the SPIR-V of a kernel says of its arithmetic. Static: there are no such headers where the library is built without Vulkan.
#ifndef TESTS_DEVICE_SPIRV_H
#define TESTS_DEVICE_SPIRV_H

#include "test.h"
#include "vulkan/vk_kernels.h"
#include <string.h>

// Words of SPIR-V that the next function knows (the specification's numbers).
enum {
	SPIRV_HEAD = 5, // words before the first instruction
	SPIRV_TYPE_FLOAT = 22,
	SPIRV_TYPE_VECTOR = 23,
	SPIRV_DECORATE = 71,
	SPIRV_FIRST_SUM = 129, // FAdd; among the next ones are FSub, FMul, FDiv
	SPIRV_LAST_SUM = 136,
	SPIRV_TIMES_SCALAR = 142,
	SPIRV_DOT = 148,
	SPIRV_NO_CONTRACTION = 42,
	SPIRV_IDS = 20000,
};

/// Operations on doubles that a driver could fuse; *all: how many there are.
static inline int count_contractible(cr_kernel kernel, int *all)
{
	static bool doubles[SPIRV_IDS], exact[SPIRV_IDS];
	memset(doubles, 0, sizeof doubles);
	memset(exact, 0, sizeof exact);
	size_t size;
	const uint32_t *words = cr_kernel_code(kernel, &size);
	REQUIRE(words[3] < SPIRV_IDS);
	int loose = 0;
	*all = 0;
	for (size_t at = SPIRV_HEAD; at < size / 4; at += words[at] >> 16) {
		const uint32_t *w = &words[at], op = *w & 0xffff;
		if (op == SPIRV_DECORATE && w[2] == SPIRV_NO_CONTRACTION)
			exact[w[1]] = true;
		else if (op == SPIRV_TYPE_FLOAT)
			doubles[w[1]] = w[2] == 64;
		else if (op == SPIRV_TYPE_VECTOR)
			doubles[w[1]] = doubles[w[2]];
		const bool sum = (op >= SPIRV_FIRST_SUM && op <= SPIRV_LAST_SUM) || op == SPIRV_TIMES_SCALAR || op == SPIRV_DOT;
		if (!sum || !doubles[w[1]])
			continue;
		*all += 1;
		loose += !exact[w[2]];
	}
	return loose;
}

#endif
