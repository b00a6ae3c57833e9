// Overlapping boxes for the oracles. See oracle_boxes.h.
#include "oracle_boxes.h"

#include <math.h>
#include <stdlib.h>

oracle_box oracle_empty_box(int32_t item)
{
	return (oracle_box){ { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY }, item };
}

void oracle_grow_box(oracle_box *box, const double point[3])
{
	for (int axis = 0; axis < 3; axis++) {
		box->lower[axis] = fmin(box->lower[axis], point[axis]);
		box->upper[axis] = fmax(box->upper[axis], point[axis]);
	}
}

static int by_begin(const void *first, const void *second)
{
	const oracle_box *a = first, *b = second;
	return (a->lower[0] > b->lower[0]) - (a->lower[0] < b->lower[0]);
}

static bool overlap_beside_x(const oracle_box *a, const oracle_box *b)
{
	return a->lower[1] <= b->upper[1] && b->lower[1] <= a->upper[1] && a->lower[2] <= b->upper[2] && b->lower[2] <= a->upper[2];
}

/// Visit the boxes of others from first on that begin within box; turned: box is of the second
/// list.
static bool visit_from(const oracle_box *box, const oracle_box *others, int64_t first, int64_t count, bool turned,
	oracle_visit_fn *visit, void *user)
{
	for (int64_t k = first; k < count && others[k].lower[0] <= box->upper[0]; k++) {
		if (!overlap_beside_x(box, &others[k]))
			continue;
		if (!(turned ? visit(others[k].item, box->item, user) : visit(box->item, others[k].item, user)))
			return false;
	}
	return true;
}

bool oracle_visit_overlaps(oracle_box *a, int64_t count_a, oracle_box *b, int64_t count_b, oracle_visit_fn *visit, void *user)
{
	if (count_a > 0)
		qsort(a, (size_t)count_a, sizeof *a, by_begin);
	if (a == b) {
		for (int64_t i = 0; i < count_a; i++) {
			if (!visit_from(&a[i], a, i + 1, count_a, false, visit, user))
				return false;
		}
		return true;
	}
	if (count_b > 0)
		qsort(b, (size_t)count_b, sizeof *b, by_begin);
	// Whichever of two begins first meets the other one; where both begin together the one of a
	// does.
	int64_t i = 0, k = 0;
	while (i < count_a && k < count_b) {
		const bool of_a = a[i].lower[0] <= b[k].lower[0];
		if (!(of_a ? visit_from(&a[i], b, k, count_b, false, visit, user) : visit_from(&b[k], a, i, count_a, true, visit, user)))
			return false;
		i += of_a;
		k += !of_a;
	}
	return true;
}
