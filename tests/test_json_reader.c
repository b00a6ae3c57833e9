/// The JSON reader itself: UTF-8, and the work that reading a long list takes. Errors of fields are tested with scenes.
#include "test.h"

#include "io/json_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_foreign(const char *bytes, const char *expected)
{
	char text[64];
	sim_error error = { "" };
	io_json json;
	io_json_node root;
	const int size = snprintf(text, sizeof text, "{\n\"name\": \"%s\"}", bytes);
	const bool done = io_json_parse("x.json", text, (size_t)size, &error, &json, &root);
	CHECK(done == (expected[0] == 0));
	CHECK_STR(error.text, expected);
	io_json_close(&json);
}

#define REFUSED(byte) "x.json:2: holds the byte 0x" byte " where no character of UTF-8 has it; save the file as UTF-8"

/// The borders of each row of table 3-7 of the Unicode Standard, from both sides.
TEST(json_reader, bytes_that_are_no_utf8_are_refused)
{
	static const char *const good[] = { "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xe1\x80\x80", "\xed\x9f\xbf",
		"\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf3\xbf\xbf\xbf", "\xf4\x8f\xbf\xbf" };
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		check_foreign(good[i], "");
	check_foreign("\x80", REFUSED("80"));
	check_foreign("\xff", REFUSED("ff"));
	check_foreign("caf\xe9", REFUSED("e9"));          // Latin-1
	check_foreign("\xc1\xbf", REFUSED("c1"));         // "a" in two bytes
	check_foreign("\xc2", REFUSED("c2"));             // cut off
	check_foreign("\xe0\x9f\xbf", REFUSED("e0"));     // shorter in two
	check_foreign("\xed\xa0\x80", REFUSED("ed"));     // half of a surrogate pair
	check_foreign("\xe1\x80", REFUSED("e1"));         // cut off
	check_foreign("\xf0\x8f\xbf\xbf", REFUSED("f0")); // shorter in three
	check_foreign("\xf4\x90\x80\x80", REFUSED("f4")); // above U+10FFFF
	check_foreign("\xf5\x80\x80\x80", REFUSED("f5"));
	check_foreign("\xf1\x80\x80\xc0", REFUSED("f1"));
}

/// A list of bodies as the readers of scenes take it: each element with its line. Walking from the start for each of them would
/// take 20,000 times the half of the text.
TEST(json_reader, a_long_list_takes_work_that_grows_with_the_text)
{
	enum { COUNT = 20000 };
	char *text = malloc(COUNT * 64 + 100);
	sim_error error = { "" };
	REQUIRE(text != NULL);
	size_t size = (size_t)sprintf(text, "{ \"bodies\": [\n");
	for (int i = 0; i < COUNT; i++)
		size += (size_t)sprintf(
			text + size, "{ \"position\": [%d, 2, 3],\n\"name\": \"a\\\"b]\" }%s\n", i, i + 1 < COUNT ? "," : "");
	size += (size_t)sprintf(text + size, "], \"planes\": [{}] }\n");

	io_json json;
	io_json_node root, list, node, planes;
	REQUIRE(io_json_parse("x.json", text, size, &error, &json, &root));
	REQUIRE(io_json_member(&root, "planes", &planes)); // behind the list, and read before it
	node = io_json_child(&planes, 0);
	CHECK_INT(io_json_line(&node), 2 + 2 * COUNT);
	REQUIRE(io_json_member(&root, "bodies", &list));
	bool lines = true, values = true;
	for (int i = 0; i < COUNT; i++) {
		double position[3] = { 0 };
		node = io_json_child(&list, i);
		values &= io_json_numbers(&node, "position", 3, 0, COUNT, position) && position[0] == i;
		lines &= io_json_line(&node) == 2 + 2 * i;
	}
	CHECK(lines);
	CHECK(values);
	CHECK(json.steps < 10 * (int64_t)size);
	// Back to the start, and to any place.
	node = io_json_child(&list, 0);
	CHECK_INT(io_json_line(&node), 2);
	node = io_json_child(&list, 777);
	CHECK_INT(io_json_line(&node), 2 + 2 * 777);
	REQUIRE(io_json_member(&node, "name", &node));
	CHECK_INT(io_json_line(&node), 3 + 2 * 777);
	CHECK_STR(node.path, "bodies[777].name");
	io_json_close(&json);
	free(text);
}

/// Numbers out of range never reach the caller, who may turn them into integers before looking at the error.
TEST(json_reader, values_out_of_range_leave_the_callers_alone)
{
	static const char text[] = "{ \"v\": [3, 1e300, 4] }";
	sim_error error = { "" };
	io_json json;
	io_json_node root;
	double v[3] = { 7, 8, 9 };
	REQUIRE(io_json_parse("x.json", text, sizeof text - 1, &error, &json, &root));
	CHECK(!io_json_numbers(&root, "v", 3, 1, 10, v));
	CHECK_STR(error.text, "x.json:1: field \"v[1]\": must be from 1 to 10, not 1e+300");
	CHECK(v[0] == 3 && v[1] == 8 && v[2] == 9);
	io_json_close(&json);
}
