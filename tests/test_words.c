// Which word somebody meant who mistyped one.
#include "sim/base/words.h"
#include "test.h"

static const char *const WORDS[] = { "friction", "fraction", "mass", "mask", "id", "restitution", NULL };

TEST(words, nearest_is_found)
{
	const char *const cases[][2] = {
		{ "friction", "friction" },
		{ "firction", "friction" },  // two neighbours swapped: one edit
		{ "fricton", "friction" },   // one left out
		{ "frictioon", "friction" }, // one too many
		{ "frction", "friction" },   // as near to "fraction": the first one
		{ "msak", "mask" },          // a swap is nearer than two changes
		{ "masc", "mass" },          // as near to "mask": the first one
		{ "rstittion", "restitution" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *nearest = sim_nearest_word(cases[i][0], WORDS);
		REQUIRE(nearest);
		CHECK_STR(nearest, cases[i][1]);
	}
}

TEST(words, far_ones_are_not_guessed)
{
	static const char *const none[] = { NULL };
	char longest[200];
	for (int i = 0; i < 199; i++) {
		longest[i] = 'a';
	}
	longest[199] = '\0';
	const char *const long_words[] = { longest, "mass", NULL };
	CHECK(!sim_nearest_word("foo", WORDS));
	CHECK(!sim_nearest_word("no", WORDS)); // two edits make any two letters of any others
	CHECK(!sim_nearest_word("", WORDS));
	CHECK(!sim_nearest_word("mass", none));
	CHECK(!sim_nearest_word(longest, WORDS));
	CHECK_STR(sim_nearest_word("mas", long_words), "mass");
}
