/// Reading of laws as LAMMPS scripts have them. See carom_lammps.h.
#include "grain_law.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const STYLES[] = { "gran/hooke", "gran/hooke/history", "gran/hertz/history" };

static bool fail(char *error, int error_size, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	vsnprintf(error, (size_t)error_size, format, values);
	va_end(values);
	return false;
}

/// A number, or NULL as LAMMPS writes it, for which `other` stands.
static bool read_number(const char *word, const char *name, const double *other, double *value, char *error, int error_size)
{
	char *end;
	if (other && strcmp(word, "NULL") == 0) {
		*value = *other;
		return true;
	}
	*value = strtod(word, &end);
	if (*end != 0 || end == word || !isfinite(*value) || *value < 0)
		return fail(error, error_size, "%s of the law is \"%s\", not a number from 0 on", name, word);
	return true;
}

// What stands between the numbers of a law of pair_style granular.
static const char *const GRANULAR_WORDS[] = { "granular", "hooke", NULL, NULL, "damping", "mass_velocity", "tangential",
	"linear_history", NULL, NULL, NULL, "rolling", "sds", NULL, NULL, NULL };
enum { GRANULAR_COUNT = sizeof GRANULAR_WORDS / sizeof *GRANULAR_WORDS, WITHOUT_ROLLING = 11 };

static bool read_granular(const char *text, carom_lammps_law *law, char *error, int error_size)
{
	static const char *const names[GRANULAR_COUNT] = { NULL, NULL, "Kn", "gamma_n", NULL, NULL, NULL, NULL, "Kt", "gamma_t",
		"x_mu", NULL, NULL, "k_roll", "gamma_roll", "mu_roll" };
	double values[GRANULAR_COUNT] = { 0 };
	int count = 0;
	for (const char *at = text + strspn(text, " "); *at; count++) {
		const size_t length = strcspn(at, " ");
		char word[32];
		snprintf(word, sizeof word, "%.*s", (int)length, at);
		at += length;
		at += strspn(at, " ");
		const char *const wanted = count < GRANULAR_COUNT ? GRANULAR_WORDS[count] : "";
		if (count == GRANULAR_COUNT)
			return fail(error, error_size, "the law has \"%s\" behind its end", word);
		if (wanted && strcmp(word, wanted) != 0)
			return fail(error, error_size, "word %d of the law is \"%s\", not \"%s\"", count + 1, word, wanted);
		if (!wanted && !read_number(word, names[count], NULL, &values[count], error, error_size))
			return false;
	}
	if (count != GRANULAR_COUNT && count != WITHOUT_ROLLING)
		return fail(error, error_size,
			"the law \"%s\" is not granular hooke Kn gamma_n damping mass_velocity tangential linear_history Kt gamma_t x_mu "
			"rolling sds k gamma mu",
			text);
	*law = (carom_lammps_law){ CAROM_LAMMPS_GRANULAR, values[2], values[8], values[3], values[9] * values[3], values[10],
		values[13], values[14], values[15] };
	return true;
}

bool carom_lammps_read_law(const char *text, carom_lammps_law *law, char *error, int error_size)
{
	if (strncmp(text, "granular", 8) == 0)
		return read_granular(text, law, error, error_size);
	char words[7][32], rest[2];
	const int count = sscanf(text, "%31s %31s %31s %31s %31s %31s %31s %1s", words[0], words[1], words[2], words[3], words[4],
		words[5], words[6], rest);
	if (count != 7)
		return fail(
			error, error_size, "the law \"%s\" has not seven words: style, Kn, Kt, gamma_n, gamma_t, x_mu, dampflag", text);
	int style = 0;
	while (style < 3 && strcmp(words[0], STYLES[style]) != 0)
		style++;
	if (style == 3)
		return fail(error, error_size,
			"the style of the law is \"%s\", not gran/hooke, gran/hooke/history, "
			"gran/hertz/history or granular",
			words[0]);
	*law = (carom_lammps_law){ .style = (carom_lammps_style)style };
	double damps;
	if (!read_number(words[1], "Kn", NULL, &law->kn, error, error_size))
		return false;
	const double kt = law->kn * 2 / 7;
	if (!read_number(words[2], "Kt", &kt, &law->kt, error, error_size) ||
		!read_number(words[3], "gamma_n", NULL, &law->gamman, error, error_size))
		return false;
	const double gammat = 0.5 * law->gamman;
	if (!read_number(words[4], "gamma_t", &gammat, &law->gammat, error, error_size) ||
		!read_number(words[5], "x_mu", NULL, &law->xmu, error, error_size) ||
		!read_number(words[6], "dampflag", NULL, &damps, error, error_size))
		return false;
	if (damps == 0)
		law->gammat = 0;
	return true;
}
