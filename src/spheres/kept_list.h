/// When a list of neighbours that was made with a skin still holds all that touch, and how wide the
/// skin should be.
///
/// Claim. Let the list hold every pair with D0 <= R0 + skin, D0 being its distance and R0 its sum
/// of radii when it was made. If since then no pair's distance has shrunk and sum of radii grown by
/// more than bound <= skin, both taken together, then every pair that touches is in the list: D <=
/// R means D0 <= D + (D0 - D) <= R + (D0 - D) = R0 + (R - R0) + (D0 - D) <= R0 + skin.
///
/// The bound is known in two ways, which may alternate.
/// - Measured: each centre has moved by u_i = t + v_i, where t is any translation common to all.
///   The distance of a pair changes by at most |u_a - u_b| = |v_a - v_b| <= 2 max |v|; a sum of
///   radii grows by at most 2 max (r - r0). So 2 (max |v| + max (r - r0)) bounds it since the list
///   was made, whatever was known before. t is the middle of the box of all u: of all points it has
///   the least largest distance along each axis. First |v| is bounded by half that box's diagonal;
///   only where this does not suffice, the spheres are read again for the true largest |v|. Around
///   a period distances are those of nearest images, and u any of the differences modulo the
///   period: the distance on a torus obeys the same inequality.
/// - Vouched for by the caller: twice moved for each update, added to the bound so far.
/// Rounding: the tests of list and of touching err by a few 2^-53 of the sum of radii (and the
/// skin); the reference may be rounded to float, which the error of the set covers. The margin, for
/// these, is added to every bound. A measured u errs by a few 2^-53 of itself, t included, which
/// may be much more than any radius: measured bounds have room for that.
#ifndef CR_SPHERES_KEPT_LIST_H
#define CR_SPHERES_KEPT_LIST_H

#include "spheres/sphere_input.h"

typedef struct cr_kept_list {
	bool held;       // there is a list, and it is proved up to now
	double skin;     // that it was made with
	double bound;    // by how much pairs may have closed in since, margin not included
	double margin;   // for all rounding
	int64_t updates; // that it was kept for
	double rate;     // bound per update of the last list that ended; 0: none did
	double ms_made;  // the cost that does not depend on the skin: copy, structure
	double ms_found; // and the cost that grows with it: search, rows
	int64_t entries; // of its rows
} cr_kept_list;

/// A list has been made from the set.
void cr_begin_list(cr_kept_list *list, const cr_sphere_set *set, int64_t entries);

/// Is it proved for a bound?
static inline bool cr_list_holds(const cr_kept_list *list, double bound)
{
	return list->held && bound + list->margin <= list->skin;
}

/// The bound by the box of all motions since the list was made (x, y, z, radius).
double cr_bound_by_box(const cr_bounds4 *motion);
/// The translation t of the claim.
void cr_common_translation(const cr_bounds4 *motion, double shift[3]);
/// The bound by the largest distance to the places moved by t.
double cr_bound_by_distance(const cr_bounds4 *motion, double distance);

/// The list did not hold for a bound (below 0: unknown): note how long it lasted.
void cr_end_list(cr_kept_list *list, double bound);

/// The skin for the next list, in [0, most]: the one of least expected time for each update, from
/// the cost of the last list, how long it was kept, and how the number of neighbours grows with the
/// skin. diameter: of a typical sphere. The result of no search depends on it.
double cr_choose_skin(const cr_kept_list *list, double diameter, double most);

#endif
