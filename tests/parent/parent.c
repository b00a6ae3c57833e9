// A program that has functions of names that Carom uses inside: it must get its own, and Carom its own.
#include <carom/carom.h>
#include <stdio.h>

#ifdef SAME_NAMES
void *cr_alloc(void);
double cr_time_ms(void);

void *cr_alloc(void) { return NULL; }
double cr_time_ms(void) { return -1; }
#endif

int main(void)
{
	carom_context *context;
	carom_world *world;
	if (carom_create_context(NULL, &context) || carom_create_world(context, NULL, &world) || carom_world_step(world))
		return 1;
#ifdef SAME_NAMES
	if (cr_alloc() != NULL || cr_time_ms() != -1)
		return 1;
#endif
	carom_destroy_world(world);
	carom_destroy_context(context);
	puts("parent runs");
	return 0;
}
