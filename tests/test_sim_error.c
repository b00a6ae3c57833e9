// The record that says why a call of sim/, io/, scene/ or view/ failed.
#include "sim/base/sim_error.h"
#include "test.h"

#include <string.h>

TEST(sim_error, says_why_and_where)
{
	sim_error error;
	CHECK(!sim_fail(&error, "holds %d vertices", 7));
	CHECK_STR(error.text, "holds 7 vertices");
	CHECK(!sim_fail_in(&error, "line %d: ", 3));
	CHECK_STR(error.text, "line 3: holds 7 vertices");
	CHECK(!sim_fail_in(&error, "%s: ", "a.obj"));
	CHECK_STR(error.text, "a.obj: line 3: holds 7 vertices");
}

TEST(sim_error, is_not_wanted)
{
	CHECK(!sim_fail(NULL, "holds %d vertices", 7));
	CHECK(!sim_fail_in(NULL, "line %d: ", 3));
}

// A text that is too long is cut off at its end, whichever part is long; nothing behind it is written.
TEST(sim_error, is_cut_off)
{
	struct {
		sim_error error;
		char behind[8];
	} record;
	memset(&record, 'x', sizeof record);
	char tail[SIM_ERROR_SIZE + 10];
	memset(tail, 'a', sizeof tail);
	tail[sizeof tail - 1] = '\0';
	sim_fail(&record.error, "%s", tail);
	CHECK_INT(strlen(record.error.text), SIM_ERROR_SIZE - 1);
	sim_fail_in(&record.error, "line 3: ");
	CHECK_INT(strlen(record.error.text), SIM_ERROR_SIZE - 1);
	CHECK(strncmp(record.error.text, "line 3: aaa", 11) == 0);
	sim_fail_in(&record.error, "%s", tail);
	CHECK_INT(strlen(record.error.text), SIM_ERROR_SIZE - 1);
	CHECK(strncmp(record.error.text, "aaa", 3) == 0 && !strstr(record.error.text, "line"));
	CHECK(memcmp(record.behind, "xxxxxxxx", 8) == 0);
}
