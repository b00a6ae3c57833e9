/// Bounds of motion, and the choice of the skin. See spheres/kept_list.h.
#include "spheres/kept_list.h"
#include <math.h>

void cr_begin_list(cr_kept_list *list, const cr_sphere_set *set, int64_t entries)
{
	list->held = set->skin > 0;
	list->skin = set->skin;
	list->bound = 0;
	// Radii of the reference are rounded to nearest: 2^-24 of each. All else that is relative is
	// some 2^-50.
	list->margin = 0x1p-45 * (2 * (double)set->r_max + set->skin);
	if (set->exact && !set->reference)
		list->margin += (double)set->slack + 4 * 0x1p-24 * (double)set->r_max;
	list->updates = 0;
	list->entries = entries;
}

static double growth_of(const cr_bounds4 *motion) { return motion->upper[3]; }

/// Room for the rounding of the differences that motions are.
static double rounding_of(const cr_bounds4 *motion)
{
	double largest = 0;
	for (int k = 0; k < 3; k++)
		largest += fmax(fabs(motion->lower[k]), fabs(motion->upper[k]));
	return 0x1p-50 * largest;
}

double cr_bound_by_distance(const cr_bounds4 *motion, double distance)
{
	// The factor covers the roundings of sums of squares and roots.
	return 2 * (distance * (1 + 0x1p-48) + rounding_of(motion) + growth_of(motion));
}

double cr_bound_by_box(const cr_bounds4 *motion)
{
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		const double side = motion->upper[k] - motion->lower[k];
		sum += side * side;
	}
	return cr_bound_by_distance(motion, sqrt(sum) / 2);
}

void cr_common_translation(const cr_bounds4 *motion, double shift[3])
{
	for (int k = 0; k < 3; k++)
		shift[k] = motion->lower[k] + (motion->upper[k] - motion->lower[k]) / 2;
}

void cr_end_list(cr_kept_list *list, double bound)
{
	if (list->held && bound >= 0)
		list->rate = bound / (double)(list->updates + 1);
	list->held = false;
}

// ---- The width of the skin ----

/// Milliseconds for each update with lists of a skin, without the work that every skin costs alike.
static double expected_ms(const cr_kept_list *list, double diameter, double skin)
{
	// A force or a test for one entry, measured on settled spheres: 2 to 6 ns.
	const double ms_entry = 4e-6;
	const double old_reach = diameter + list->skin, reach = diameter + skin;
	const double growth = old_reach > 0 ? (reach / old_reach) * (reach / old_reach) * (reach / old_reach) : 1;
	const double updates = 1 + (list->rate > 0 ? floor(fmax(0, skin - list->margin) / list->rate) : 1e6);
	return (list->ms_made + list->ms_found * growth) / updates + ms_entry * (double)list->entries * growth;
}

double cr_choose_skin(const cr_kept_list *list, double diameter, double most)
{
	if (list->rate <= 0 || list->skin <= 0) {
		// Nothing is known yet, or nothing moved: a value that suits particles that fall or lie
		// (swept for 100,000 of them).
		return fmin(list->skin > 0 ? list->skin : 0.15 * diameter, most);
	}
	double best = fmin(list->skin, most), least = expected_ms(list, diameter, best);
	// Not more than a factor of two at a time: the growth is but a model.
	for (double factor = 0.5; factor <= 2; factor *= 1.0905077326652577) { // 2^(1/8)
		const double skin = fmin(fmax(list->skin * factor, 0.005 * diameter), fmin(most, diameter));
		const double ms = expected_ms(list, diameter, skin);
		if (ms < 0.98 * least) { // changes that gain nothing are not made
			least = ms;
			best = skin;
		}
	}
	return best;
}
