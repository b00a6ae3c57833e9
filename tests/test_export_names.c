/// Names of bodies in models: legal, each once, also where a scene has made them hard.
#include "tools/carom/export_names.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(export_names, names_are_legal_and_each_once)
{
	static const char *const given[] = { "ball", "", "ball", "cone[12]", "ball_1", "ball", "body_7", "spheres", "12", "a  b-c",
		"\xc3\xa4rmel", "_", "body_x", "ball_1", "x_" };
	static const char *const wanted[] = { "ball", "", "ball_1", "cone_12", "ball_1_1", "ball_2", "body_7_1", "spheres_1", "_12",
		"a_b_c", "_rmel", "_", "body_x", "ball_1_2", "x_" };
	enum { COUNT = sizeof given / sizeof *given };
	export_name names[COUNT];
	for (int i = 0; i < COUNT; i++)
		snprintf(names[i], sizeof names[i], "%s", given[i]);
	REQUIRE(export_make_names(names, COUNT));
	for (int i = 0; i < COUNT; i++)
		CHECK_STR(names[i], wanted[i]);
}

static int compare(const void *a, const void *b) { return strcmp(a, b); }

TEST(export_names, many_bodies_of_few_names_are_told_apart)
{
	enum { COUNT = 20000 };
	export_name *names = malloc(COUNT * sizeof *names);
	REQUIRE(names != NULL);
	for (int i = 0; i < COUNT; i++) {
		memset(names[i], i % 3 ? 'a' : 'b', sizeof names[i] - 1); // as long as may be: they are cut
		names[i][sizeof names[i] - 1] = 0;
		if (i % 5 == 0)
			snprintf(names[i], sizeof names[i], "a_%d", i / 7);
	}
	REQUIRE(export_make_names(names, COUNT));
	qsort(names, COUNT, sizeof *names, compare);
	for (int i = 1; i < COUNT; i++)
		CHECK(strcmp(names[i - 1], names[i]) != 0);
	free(names);
}
