// Eight rows of spheres that touch their neighbours: find all touching pairs and print some of
// them.
#include <carom/carom.h>
#include <stdio.h>

enum { SIDE = 8, COUNT = SIDE * SIDE };

int main(void)
{
	static float records[COUNT][4]; // x, y, z, radius
	for (int i = 0; i < COUNT; i++) {
		records[i][0] = (float)(i % SIDE);
		records[i][1] = (float)(i / SIDE);
		records[i][3] = 0.5f;
	}
	carom_context *context;
	carom_spheres *spheres;
	carom_sphere_pairs pairs;
	carom_sphere_input input = carom_default_sphere_input();
	input.count = COUNT;
	input.centres = (carom_strided){ .data = records, .stride = sizeof records[0], .type = CAROM_FLOAT32 };
	input.radii = (carom_strided){ .data = &records[0][3], .stride = sizeof records[0], .type = CAROM_FLOAT32 };
	if (carom_create_context(NULL, &context) || carom_create_spheres(context, NULL, &spheres) ||
		carom_spheres_update(spheres, &input) || carom_spheres_find_pairs(spheres, &pairs))
		return 1; // carom_error_text(context) tells why

	printf("%lld pairs by %s\n", (long long)pairs.count, carom_sphere_method_name(carom_spheres_get_stats(spheres).method));
	for (int64_t i = 0; i < 3; i++)
		printf("%u touches %u\n", pairs.pairs[i].a, pairs.pairs[i].b);

	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}
