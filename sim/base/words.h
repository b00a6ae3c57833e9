/// @file words.h
/// Which word somebody meant who mistyped one.
#ifndef SIM_WORDS_H
#define SIM_WORDS_H

/// The word of a list (ended by NULL) that is nearest to a mistyped one, or NULL when none is near.
/// A third of the letters may be wrong, and two neighbours that are swapped count once: "firction"
/// is near "friction", "foo" is near nothing. The first of several that are equally near.
const char *sim_nearest_word(const char *word, const char *const *words);

#endif
