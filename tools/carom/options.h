/// @file options.h
/// The command line of one sub-command, as a table: parsing, help text, and messages about
/// mistakes.
///
///     static int cmd_wave(int argc, char **argv)   // argv[0] is "wave"
///     {
///         bool json = false;
///         int64_t times = 3;
///         const option options[] = {
///             { .name = "times", .letter = 'n', .argument = "N", .kind = OPTION_INTEGER,
///               .value = &times, .minimum = 1, .maximum = 100, .help = "how often to wave (3)" },
///             { .name = "json", .kind = OPTION_FLAG, .value = &json,
///               .help = "print one JSON object" },
///             { 0 },
///         };
///         const command_line line = { .command = "wave", .synopsis = "WHO [options]",
///             .summary = "Wave at somebody.", .options = options, .least = 1, .most = 1 };
///         const char *who[1];
///         int count, status = options_parse(&line, argc, argv, who, &count);
///         if (status != OPTIONS_GO_ON)
///             return status;
#ifndef CAROM_TOOL_OPTIONS_H
#define CAROM_TOOL_OPTIONS_H

#include "carom/world.h"

/// Exit codes of the command.
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/// The result of options_parse when there is work to do; else it is the exit code.
enum { OPTIONS_GO_ON = -1 };

typedef enum option_kind {
	OPTION_FLAG,    ///< bool *: set to true
	OPTION_INTEGER, ///< int64_t *: within minimum..maximum
	OPTION_REAL,    ///< double *: finite and within minimum..maximum
	OPTION_TEXT,    ///< const char **
	OPTION_CHOICE,  ///< int *: the number of the word in choices
	OPTION_RANGE,   ///< option_range *: A:B, :B or A:
	OPTION_LIST,    ///< option_list *: may be given several times
} option_kind;

/// Elements first..end-1. Start from { 0, INT64_MAX }: A or B that is left out keeps its value.
typedef struct option_range {
	int64_t first;
	int64_t end;
} option_range;

/// The arguments of an option that may be repeated, in order.
typedef struct option_list {
	const char *items[64];
	int count;
} option_list;

/// What a command does with the file that an option names. options_parse refuses a command line
/// where a file that is written is also read, or written twice.
typedef enum option_file {
	OPTION_NO_FILE,
	OPTION_READS,  ///< of an OPTION_LIST of NAME=FILE: the part behind the sign
	OPTION_WRITES, ///< also a file that is read first, such as a cache
	OPTION_FOLDER, ///< a folder that a run writes its files in
} option_file;

/// One option. The table ends with an entry without a name.
typedef struct option {
	const char *name; ///< without the dashes
	char letter;      ///< short form, or 0
	option_kind kind;
	void *value;          ///< where the value goes; the value there before parsing is the default
	const char *argument; ///< the argument's name in the help, NULL for flags
	const char *help;     ///< one line; name the default
	double minimum;       ///< for numbers: least and most allowed; both 0: any
	double maximum;
	bool above;                 ///< the minimum itself is not allowed
	const char *const *choices; ///< for choices: words, ended by NULL
	option_file file;
} option;

/// One sub-command.
typedef struct command_line {
	const char *command;  ///< "replay"
	const char *synopsis; ///< the words after the name: "TRAJECTORY --mesh MESH [options]"
	const char *summary;  ///< one sentence
	const char *details;  ///< further paragraphs for --help, or NULL
	const option *options;
	int least; ///< positional arguments: at least and at most
	int most;
	const char *const *words; ///< what arguments may be, ended by NULL; NULL: files to read
} command_line;

/// Parse argv[1..]. Positional arguments go to arguments [line->most], their number to *count;
/// options and arguments may be mixed, `--` ends the options, both `--name value` and
/// `--name=value` work. Returns OPTIONS_GO_ON, EXIT_DONE after --help or --help=FORM (printed on
/// stdout; manual.h has the forms), or EXIT_USAGE after a message on stderr that says what was
/// wrong and what may have been meant. An output that is one file with an input or with another
/// output is wrong use; nothing has been opened then.
int options_parse(const command_line *line, int argc, char **argv, const char **arguments, int *count);

/// Say what is wrong with the use of a command (printf style) and where its help is. Returns
/// EXIT_USAGE.
int options_misuse(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Read count numbers separated by commas, and nothing else. All must be finite.
bool options_parse_reals(const char *text, int count, double *values);

/// Words for --simd, in the order of carom_simd.
extern const char *const options_simd_words[];

/// Words for --method of spheres, in the order of carom_sphere_method.
extern const char *const options_sphere_method_words[];

/// Words for --broad, in the order of carom_broad_phase.
extern const char *const options_broad_words[];
/// The last of them: all pairs of bodies (carom_lab).
enum { OPTIONS_BRUTE = CAROM_BROAD_SWEEP + 1 };

/// Words for --temporal, in the order of carom_temporal.
extern const char *const options_temporal_words[];

/// Words for --normal, in the order of carom_contact_normal.
extern const char *const options_normal_words[];

/// Words for --buffers, in the order of carom_ray_buffers.
extern const char *const options_buffer_words[];

/// Words for --predictor, in the order of carom_ray_predictor.
extern const char *const options_predictor_words[];

/// Words for --rays, in the order of carom_ray_method, without the plug-in.
extern const char *const options_ray_words[];

#endif
