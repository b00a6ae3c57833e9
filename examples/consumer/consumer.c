// A program outside the repository: built against an installed Carom by find_package and by
// pkg-config.
#include <carom/carom.h>
#include <stdio.h>

int main(void)
{
	const carom_version version = carom_get_version();
	carom_context *context;
	if (carom_create_context(NULL, &context) != CAROM_SUCCESS)
		return 1;
	printf("carom %d.%d.%d %s\n", version.major, version.minor, version.patch, carom_simd_name(carom_context_simd(context)));
	carom_destroy_context(context);
	return version.major == CAROM_VERSION_MAJOR && version.minor == CAROM_VERSION_MINOR ? 0 : 1;
}
