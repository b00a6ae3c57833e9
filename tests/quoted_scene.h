/// Scenes in the text of a test, whose quotes are written as apostrophes.
#ifndef TESTS_QUOTED_SCENE_H
#define TESTS_QUOTED_SCENE_H

#include "scene/scene.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/// The text with quotes, in place.
static inline void quote_scene(char *text)
{
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
}

/// Parse; an error ends the case.
static inline void parse_quoted(const char *text, scene_description *scene)
{
	sim_error error = { "" };
	char *json = malloc(strlen(text) + 1);
	REQUIRE(json != NULL);
	strcpy(json, text);
	quote_scene(json);
	const bool parsed = scene_parse("test.json", json, strlen(json), scene, &error);
	CHECK_STR(error.text, "");
	free(json);
	REQUIRE(parsed);
}

#endif
