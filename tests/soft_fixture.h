/// @file soft_fixture.h
/// What tests of cloth share: deforming bodies in a scene that is given as a text. Only where scenes are
/// built.
#ifndef TESTS_SOFT_FIXTURE_H
#define TESTS_SOFT_FIXTURE_H

#include "scene/soft_fill.h"
#include "test.h"
#include <string.h>

/// Start deforming bodies in a scene.
static inline sim_soft *fixture_start_soft(carom_context *context, const char *text)
{
	scene_description scene;
	sim_error error = { "" };
	const bool parsed = scene_parse("x.json", text, strlen(text), &scene, &error);
	CHECK_STR(error.text, "");
	REQUIRE(parsed);
	sim_soft *soft = scene_start_deforming(context, &scene, &error);
	CHECK_STR(error.text, "");
	REQUIRE(soft != NULL);
	scene_destroy(&scene);
	return soft;
}

#endif
