/// Worlds with a laboratory (carom/lab.h), in one line each.
#ifndef TESTS_LABS_H
#define TESTS_LABS_H

#include "carom/lab.h"

/// The lab of a definition to be changed: its own, which no other definition has. It is a copy of the one that the definition had, or
/// the default one. It is overwritten after FIXTURE_LABS further calls.
carom_lab *fixture_lab(carom_world_def *def);
enum { FIXTURE_LABS = 512 };

/// Choose a broad phase, among them all pairs of bodies.
enum { FIXTURE_BROAD_BRUTE = CAROM_BROAD_SWEEP + 1 };
void fixture_set_broad(carom_world_def *def, int broad);

#endif
