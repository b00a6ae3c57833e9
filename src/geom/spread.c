/// Median and width of a sample of places. See geom/spread.h.
#include "geom/spread.h"

cr_spread cr_find_spread(const v3d *places, int count)
{
	cr_spread spread = { { 0, 0, 0 }, { 0, 0, 0 } };
	for (int k = 0; k < 3 && count > 0; k++) {
		double sorted[CR_SPREAD_SAMPLES];
		sorted[0] = v3d_get(places[0], k);
		for (int i = 1; i < count; i++) {
			const double x = v3d_get(places[i], k);
			int at = i;
			for (; at > 0 && sorted[at - 1] > x; at--)
				sorted[at] = sorted[at - 1];
			sorted[at] = x;
		}
		spread.middle[k] = sorted[count / 2];
		spread.width[k] = sorted[count - 1 - count / 8] - sorted[count / 8];
	}
	return spread;
}
