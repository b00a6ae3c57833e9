/// Where most of many places are, whatever a few strays do.
#ifndef CR_GEOM_SPREAD_H
#define CR_GEOM_SPREAD_H

#include "math/vec.h"
#include <stdint.h>

// Enough to tell a cloud from strays, few enough to be sorted by insertion.
enum { CR_SPREAD_SAMPLES = 64 };

typedef struct cr_spread {
	double middle[3]; // median along each axis
	double width[3];  // between the places that have an eighth of all below and above them
} cr_spread;

/// How far apart samples of count places are, so that there are no more than CR_SPREAD_SAMPLES.
static inline int64_t cr_spread_stride(int64_t count)
{
	return (count + CR_SPREAD_SAMPLES - 1) / CR_SPREAD_SAMPLES + (count == 0);
}

/// From finite samples, at most CR_SPREAD_SAMPLES; of none all is 0.
cr_spread cr_find_spread(const v3d *places, int count);

#endif
