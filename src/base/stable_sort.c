/// Merge sort in place, by rotations (Kim and Kutzner, Stable Minimum Storage Merging by Symmetric
/// Comparisons, 2004).
///
/// Runs of RUN elements are sorted by insertion. Then neighbouring runs are merged, which doubles
/// their length each time. To merge two runs, elements of the first are compared with those of the
/// second that lie symmetric to them about the middle of the whole: a bisection finds from where on
/// they must change sides. A rotation does that, and each half has a merge of its own left. The
/// depth of recursion is at most the logarithm of the count.
#include "base/stable_sort.h"

#include <string.h>

enum { RUN = 16, PIECE = 64 };

typedef struct work {
	char *data;
	size_t size;
	int (*compare)(const void *a, const void *b);
} work;

static char *at(const work *w, int64_t i) { return w->data + (size_t)i * w->size; }

/// Does element a belong behind element b, which stands behind it?
static int is_behind(const work *w, int64_t a, int64_t b) { return w->compare(at(w, a), at(w, b)) > 0; }

static void exchange(const work *w, int64_t a, int64_t b)
{
	char kept[PIECE], *p = at(w, a), *q = at(w, b);
	for (size_t left = w->size; left > 0;) {
		const size_t piece = left < PIECE ? left : PIECE;
		memcpy(kept, p, piece);
		memcpy(p, q, piece);
		memcpy(q, kept, piece);
		p += piece;
		q += piece;
		left -= piece;
	}
}

static void reverse(const work *w, int64_t first, int64_t end)
{
	for (int64_t last = end - 1; first < last; first++, last--)
		exchange(w, first, last);
}

/// Exchange two neighbouring blocks: from first to middle, and from there to end.
static void rotate(const work *w, int64_t first, int64_t middle, int64_t end)
{
	reverse(w, first, middle);
	reverse(w, middle, end);
	reverse(w, first, end);
}

static void insert_all(const work *w, int64_t first, int64_t end)
{
	for (int64_t i = first + 1; i < end; i++) {
		for (int64_t k = i; k > first && is_behind(w, k - 1, k); k--)
			exchange(w, k - 1, k);
	}
}

/// The place in [low, high) from which on elements, taken with the one symmetric to them in the
/// other run, need not change sides. last: the sum of two symmetric numbers.
static int64_t find_cut(const work *w, int64_t low, int64_t high, int64_t last)
{
	while (low < high) {
		const int64_t middle = (low + high) / 2;
		if (is_behind(w, middle, last - middle))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void merge(const work *w, int64_t first, int64_t middle, int64_t end)
{
	if (first >= middle || middle >= end || !is_behind(w, middle - 1, middle))
		return;
	if (end - first == 2) {
		exchange(w, first, middle);
		return;
	}
	const int64_t half = (first + end) / 2, sum = half + middle;
	const int64_t cut = middle > half ? find_cut(w, sum - end, half, sum - 1) : find_cut(w, first, middle, sum - 1);
	const int64_t cut_end = sum - cut;
	if (cut < middle && middle < cut_end)
		rotate(w, cut, middle, cut_end);
	merge(w, first, cut, half);
	merge(w, half, cut_end, end);
}

void cr_sort_stably(void *data, int64_t count, size_t size, int (*compare)(const void *a, const void *b))
{
	const work w = { data, size, compare };
	for (int64_t first = 0; first < count; first += RUN)
		insert_all(&w, first, first + RUN < count ? first + RUN : count);
	for (int64_t run = RUN; run < count; run *= 2) {
		for (int64_t first = 0; first + run < count; first += 2 * run)
			merge(&w, first, first + run, first + 2 * run < count ? first + 2 * run : count);
	}
}
