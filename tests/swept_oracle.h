/// The exact truth of swept queries, by whole-number arithmetic (GMP): the dull twin of geom/swept.h.
#ifndef CAROM_SWEPT_ORACLE_H
#define CAROM_SWEPT_ORACLE_H

#include "geom/swept.h"

/// Whether the oracle was built (GMP is there).
bool swept_oracle_exists(void);

/// Whether the features meet at some time in [0, 1]: exact for the doubles given. If so and time is not larger than the
/// earliest such time, *time_holds is set to true, else to false (exact up to 2^-100).
bool swept_oracle_meets(cr_swept_kind kind, const double begin[4][3], const double end[4][3], double time, bool *time_holds);

#endif
