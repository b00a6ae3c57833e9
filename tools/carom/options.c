// The command line of one sub-command: a table-driven parser that can also print the help and name
// the nearest valid word when something was mistyped.
#include "options.h"

#include "file_places.h"
#include "manual.h"
#include "report.h"
#include "io/output_file.h"
#include "sim/base/words.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const options_simd_words[] = { "auto", "scalar", "sse2", "avx2", "avx512", "neon", NULL };
const char *const options_sphere_method_words[] = { "auto", "grid", "levels", "tree", "rays", NULL };
const char *const options_broad_words[] = { "tree", "sweep", "brute", NULL };
const char *const options_ray_words[] = { "wide", "binary", "basic", "moller-trumbore", NULL };
const char *const options_temporal_words[] = { "none", "iterative", "predictive", NULL };
const char *const options_normal_words[] = { "ray", "triangle", "patch", NULL };
const char *const options_buffer_words[] = { "exact", "ignore", "backtrack", NULL };
const char *const options_predictor_words[] = { "pairs", "last", NULL };

// Words longer than this are never taken for a misspelling of one of ours.
enum { OPTIONS_MAX = 64 };

int options_misuse(const char *command, const char *format, ...)
{
	char text[REPORT_TEXT_MAX];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	report_keep_failure(NULL, text);
	fprintf(stderr, "carom%s%s: %s", command ? " " : "", command ? command : "", text);
	fprintf(stderr, "\nTry `carom%s%s --help`.\n", command ? " " : "", command ? command : "");
	return EXIT_USAGE;
}

bool options_parse_reals(const char *text, int count, double *values)
{
	for (int i = 0; i < count; i++) {
		char *end;
		values[i] = strtod(text, &end);
		if (end == text || !isfinite(values[i]) || *end != (i + 1 < count ? ',' : '\0'))
			return false;
		text = end + 1;
	}
	return true;
}

static bool parse_integer(const char *text, int64_t *value)
{
	char *end;
	errno = 0;
	const long long number = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		return false;
	*value = number;
	return true;
}

static const option *find_option(const option *options, const char *name, size_t length)
{
	for (; options->name; options++) {
		if (strlen(options->name) == length && strncmp(options->name, name, length) == 0)
			return options;
	}
	return NULL;
}

static const option *find_letter(const option *options, char letter)
{
	for (; options->name; options++) {
		if (options->letter == letter)
			return options;
	}
	return NULL;
}

static int unknown_option(const command_line *line, const char *name)
{
	const char *names[OPTIONS_MAX] = { "help" };
	for (int i = 0; i < OPTIONS_MAX - 2 && line->options[i].name; i++)
		names[i + 1] = line->options[i].name;
	const char *nearest = sim_nearest_word(name, names);
	if (nearest)
		return options_misuse(line->command, "there is no option --%s; did you mean --%s?", name, nearest);
	return options_misuse(line->command, "there is no option --%s", name);
}

static bool has_limits(const option *o) { return o->minimum != 0 || o->maximum != 0; }

static int out_of_limits(const command_line *line, const option *o, const char *text)
{
	if (isinf(o->maximum))
		return options_misuse(line->command, "--%s %s: must be at least %.15g", o->name, text, o->minimum);
	if (o->above)
		return options_misuse(
			line->command, "--%s %s: must be above %.15g and at most %.15g", o->name, text, o->minimum, o->maximum);
	return options_misuse(line->command, "--%s %s: must be from %.15g to %.15g", o->name, text, o->minimum, o->maximum);
}

static int set_integer(const command_line *line, const option *o, const char *text)
{
	int64_t value;
	if (!parse_integer(text, &value))
		return options_misuse(line->command, "--%s %s: not a whole number", o->name, text);
	if (has_limits(o) && ((double)value < o->minimum || (double)value > o->maximum))
		return out_of_limits(line, o, text);
	*(int64_t *)o->value = value;
	return OPTIONS_GO_ON;
}

static int set_real(const command_line *line, const option *o, const char *text)
{
	double value;
	if (!options_parse_reals(text, 1, &value))
		return options_misuse(line->command, "--%s %s: not a number", o->name, text);
	if (has_limits(o) && (value < o->minimum || value > o->maximum || (o->above && value == o->minimum)))
		return out_of_limits(line, o, text);
	*(double *)o->value = value;
	return OPTIONS_GO_ON;
}

static int set_choice(const command_line *line, const option *o, const char *text)
{
	for (int i = 0; o->choices[i]; i++) {
		if (strcmp(o->choices[i], text) == 0) {
			*(int *)o->value = i;
			return OPTIONS_GO_ON;
		}
	}
	char words[256] = "";
	for (int i = 0; o->choices[i]; i++) {
		const size_t used = strlen(words);
		snprintf(words + used, sizeof words - used, "%s%s", i ? ", " : "", o->choices[i]);
	}
	return options_misuse(line->command, "--%s %s: must be one of %s", o->name, text, words);
}

/// A:B, A: or :B; a part that is left out keeps its value.
static int set_range(const command_line *line, const option *o, const char *text)
{
	option_range range = *(option_range *)o->value;
	const char *colon = strchr(text, ':');
	char first[24] = "";
	bool sound = colon && colon - text < (long)sizeof first && !(colon == text && !colon[1]);
	if (sound) {
		memcpy(first, text, (size_t)(colon - text));
		sound = (!first[0] || parse_integer(first, &range.first)) && (!colon[1] || parse_integer(colon + 1, &range.end));
	}
	if (!sound || range.first < 0)
		return options_misuse(line->command, "--%s %s: must be A:B with whole numbers 0 <= A < B", o->name, text);
	if (range.first >= range.end)
		return options_misuse(line->command, "--%s %s: is empty; A:B means A to B-1", o->name, text);
	*(option_range *)o->value = range;
	return OPTIONS_GO_ON;
}

static int set_value(const command_line *line, const option *o, const char *text)
{
	switch (o->kind) {
	case OPTION_INTEGER: return set_integer(line, o, text);
	case OPTION_REAL: return set_real(line, o, text);
	case OPTION_CHOICE: return set_choice(line, o, text);
	case OPTION_RANGE: return set_range(line, o, text);
	case OPTION_LIST: {
		option_list *list = o->value;
		if (list->count == (int)(sizeof list->items / sizeof list->items[0]))
			return options_misuse(line->command, "--%s is given too often", o->name);
		list->items[list->count++] = text;
		return OPTIONS_GO_ON;
	}
	case OPTION_TEXT:
		if (!*text)
			return options_misuse(line->command, "--%s is empty", o->name);
		*(const char **)o->value = o->file == OPTION_WRITES && !strcmp(text, "-") ? "/dev/stdout" : text;
		return OPTIONS_GO_ON;
	case OPTION_FLAG: break;
	}
	*(bool *)o->value = true;
	return OPTIONS_GO_ON;
}

/// One line of the help: the option with its argument, then its effect.
static void print_option(const option *o)
{
	char left[64] = "    ";
	if (o->letter)
		snprintf(left, sizeof left, "-%c, ", o->letter);
	const size_t used = strlen(left);
	snprintf(left + used, sizeof left - used, "--%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
	printf("  %-26s", left);
	if (strlen(left) > 25)
		printf("\n%28s", "");
	printf(" %s", o->help);
	for (int i = 0; o->kind == OPTION_CHOICE && o->choices[i]; i++)
		printf("%s%s", i ? ", " : ": ", o->choices[i]);
	putchar('\n');
}

static int print_help(const command_line *line)
{
	printf("carom %s %s\n\n%s\n\n", line->command, line->synopsis, line->summary);
	if (line->details)
		printf("%s\n\n", line->details);
	puts("Options:");
	for (const option *o = line->options; o->name; o++)
		print_option(o);
	print_option(&(option){ .name = "help", .letter = 'h', .help = "show this text" });
	return report_end_of_text();
}

/// The option at argv[*i] with its argument, which may be the next element.
static int parse_option(const command_line *line, int argc, char **argv, int *i)
{
	const char *word = argv[*i];
	const char *value = NULL;
	const option *o;
	if (word[1] == '-') {
		const char *equals = strchr(word, '=');
		o = find_option(line->options, word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2));
		if (!o)
			return unknown_option(line, word + 2);
		value = equals ? equals + 1 : NULL;
	} else {
		o = find_letter(line->options, word[1]);
		if (!o)
			return options_misuse(line->command, "there is no option %s", word);
		if (word[2])
			value = word + 2;
	}
	if (o->kind == OPTION_FLAG)
		return value ? options_misuse(line->command, "--%s takes no value", o->name) : set_value(line, o, NULL);
	if (!value && ++*i == argc)
		return options_misuse(line->command, "--%s needs a value: --%s %s", o->name, o->name, o->argument);
	return set_value(line, o, value ? value : argv[*i]);
}

// ---- Files ----

// What a run keeps in the folder of --out. A checkpoint is no such file here: a run that goes on
// replaces the one that it was started from.
static const char *const run_files[] = { "stats.csv", "summary.json", "last.png", "movie.mp4", "recording.h5", "spheres.pvd",
	NULL };

static bool is_folder(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/// Add the files of a run's folder.
static void add_folder(file_places *list, bool written, const char *folder, const char *words)
{
	for (int i = 0; run_files[i]; i++) {
		char path[IO_PATH_MAX];
		if (snprintf(path, sizeof path, "%s/%s", folder, run_files[i]) < (int)sizeof path)
			file_places_add(list, written, path, "%s%s (its %s)", words, folder, run_files[i]);
	}
}

static void add_option_files(file_places *list, const option *o)
{
	char words[64];
	snprintf(words, sizeof words, "--%s ", o->name);
	if (o->kind == OPTION_LIST) {
		const option_list *given = o->value;
		for (int i = 0; i < given->count; i++) {
			const char *equals = strchr(given->items[i], '=');
			const char *path = equals ? equals + 1 : given->items[i];
			file_places_add(list, o->file == OPTION_WRITES, path, "%s%s", words, given->items[i]);
		}
		return;
	}
	const char *path = *(const char **)o->value;
	if (path && o->file == OPTION_FOLDER)
		add_folder(list, true, path, words);
	else if (path)
		file_places_add(list, o->file == OPTION_WRITES, path, "%s%s", words, path);
}

/// Refuse a command line that would write over its own input, or two outputs into one file.
static int check_files(const command_line *line, const char *const *arguments, int count)
{
	file_places list = { 0 };
	const char *output, *other;
	int status = OPTIONS_GO_ON;
	for (const option *o = line->options; o->name; o++) {
		if (o->file != OPTION_NO_FILE)
			add_option_files(&list, o);
	}
	for (int i = 0; i < count && !line->words; i++) {
		if (is_folder(arguments[i]))
			add_folder(&list, false, arguments[i], "the argument ");
		else
			file_places_add(&list, false, arguments[i], "the argument %s", arguments[i]);
	}
	if (list.out_of_memory)
		status = report_error(NULL, "out of memory");
	else if (file_places_clash(&list, &output, &other))
		status = options_misuse(line->command, "%s and %s are one file, which would be lost; write to another", output, other);
	file_places_free(&list);
	return status;
}

/// An output that goes to stdout has it alone: what the command prints goes to stderr then.
static int free_stdout(const command_line *line)
{
	const option *output = NULL;
	bool json = false;
	for (const option *o = line->options; o->name; o++) {
		const bool writes = o->kind == OPTION_TEXT && o->file == OPTION_WRITES && *(const char **)o->value;
		if (writes && io_standard_stream(*(const char **)o->value) == STDOUT_FILENO) {
			if (output)
				return options_misuse(line->command, "--%s and --%s both go to stdout", output->name, o->name);
			output = o;
		}
		json |= o->kind == OPTION_FLAG && !strcmp(o->name, "json") && *(const bool *)o->value;
	}
	if (output && json)
		return options_misuse(line->command, "--json prints on stdout, and --%s goes there", output->name);
	if (output && !io_divert_stdout())
		return report_error(NULL, "stdout cannot be led elsewhere: %s", strerror(errno));
	return OPTIONS_GO_ON;
}

int options_parse(const command_line *line, int argc, char **argv, const char **arguments, int *count)
{
	*count = 0;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return print_help(line);
		else if (strncmp(argv[i], "--help=", 7) == 0)
			return manual_print_command(line, argv[i] + 7);
		else if (strcmp(argv[i], "--") == 0)
			break;
	}
	bool options_ended = false;
	for (int i = 1; i < argc; i++) {
		if (!options_ended && strcmp(argv[i], "--") == 0) {
			options_ended = true;
		} else if (!options_ended && argv[i][0] == '-' && argv[i][1]) {
			const int status = parse_option(line, argc, argv, &i);
			if (status != OPTIONS_GO_ON)
				return status;
		} else if (*count == line->most) {
			return options_misuse(
				line->command, "%s is one argument too many; usage: carom %s %s", argv[i], line->command, line->synopsis);
		} else {
			arguments[(*count)++] = argv[i];
		}
	}
	if (*count < line->least)
		return options_misuse(line->command, "an argument is missing; usage: carom %s %s", line->command, line->synopsis);
	for (int i = 0; i < *count && !line->words; i++)
		arguments[i] = strcmp(arguments[i], "-") ? arguments[i] : "/dev/stdin";
	const int status = check_files(line, arguments, *count);
	return status == OPTIONS_GO_ON ? free_stdout(line) : status;
}
