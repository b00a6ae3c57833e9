// The entry that libFuzzer calls: the target is the one that CAROM_FUZZ_TARGET names.
#include "fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const fuzz_target *target;
	if (!target) {
		const char *name = getenv("CAROM_FUZZ_TARGET");
		target = name ? fuzz_find(name) : NULL;
		FUZZ_REQUIRE(target, "CAROM_FUZZ_TARGET must name a target; carom_fuzz_replay lists them");
	}
	(void)target->run(data, size);
	return 0;
}
