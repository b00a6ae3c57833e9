// Words that are near each other: see words.h.
#include "sim/base/words.h"

#include <stddef.h>
#include <string.h>

/// Words that are longer are near nothing.
enum { WORD_MAX = 63 };

static int least_of(int a, int b) { return a < b ? a : b; }

/// Edit distance of two words, where swapping two neighbours counts as one edit (optimal string
/// alignment), one row at a time.
static int edit_distance(const char *a, const char *b)
{
	const int n = (int)strlen(a), m = (int)strlen(b);
	int row[3][WORD_MAX + 1];
	for (int j = 0; j <= m; j++) {
		row[0][j] = j;
	}
	for (int i = 1; i <= n; i++) {
		int *now = row[i % 3], *above = row[(i + 2) % 3], *above2 = row[(i + 1) % 3];
		now[0] = i;
		for (int j = 1; j <= m; j++) {
			const int change = above[j - 1] + (a[i - 1] != b[j - 1]);
			now[j] = least_of(change, 1 + least_of(above[j], now[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
				now[j] = least_of(now[j], above2[j - 2] + 1);
			}
		}
	}
	return row[n % 3][m];
}

const char *sim_nearest_word(const char *word, const char *const *words)
{
	const size_t length = strlen(word);
	if (length == 0 || length > WORD_MAX) {
		return NULL;
	}
	const char *nearest = NULL;
	int least = 2 + (int)length / 3;
	for (; *words; words++) {
		if (strlen(*words) > WORD_MAX) {
			continue;
		}
		const int distance = edit_distance(word, *words);
		if (distance < least && distance < (int)strlen(*words)) {
			least = distance;
			nearest = *words;
		}
	}
	return nearest;
}
