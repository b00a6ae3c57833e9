// The help of the command as manual pages (roff) and as completion for bash, zsh and fish. Each
// printer goes through the table of options once.
#include "manual.h"

#include "report.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// The option that each command has beside those of its table.
static const option HELP = { .name = "help", .letter = 'h', .help = "show this text" };

// ---- What an argument may be ----

typedef enum value_kind { VALUE_NONE, VALUE_ANY, VALUE_WORDS, VALUE_FILE, VALUE_FOLDER } value_kind;

/// A table says by the name of an argument whether it is a file or a folder.
static value_kind kind_of(const option *o)
{
	if (o->kind == OPTION_FLAG || !o->argument)
		return VALUE_NONE;
	if (o->kind == OPTION_CHOICE)
		return VALUE_WORDS;
	if (strcmp(o->argument, "DIR") == 0)
		return VALUE_FOLDER;
	if (strstr(o->argument, "FILE") || strcmp(o->argument, "MESH") == 0 || strcmp(o->argument, "PROGRAM") == 0)
		return VALUE_FILE;
	return VALUE_ANY;
}

static void print_words(const char *const *words, const char *separator)
{
	for (int i = 0; words && words[i]; i++)
		printf("%s%s", i ? separator : "", words[i]);
}

/// The text in single quotes; the letters of `escaped` get a backslash.
static void print_quoted(const char *text, const char *escaped)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs("'\\''", stdout);
			continue;
		}
		if (strchr(escaped, *text))
			putchar('\\');
		putchar(*text);
	}
}

/// "make spheres" as a part of a name: blanks become another letter.
static void print_joined(const char *name, char blank)
{
	for (; *name; name++)
		putchar(*name == ' ' ? blank : *name);
}

// ---- Manual pages ----

/// Words of the help in roff: `code` is bold, a dash that is not inside a word is a minus sign, and
/// a line end is a blank. A line that begins with NAME: begins a paragraph.
static void print_roff(const char *text)
{
	bool bold = false;
	for (const char *c = text; *c; c++) {
		const char *name = c + 1 + strspn(c + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		if (*c == '`') {
			bold = !bold;
			fputs(bold ? "\\fB" : "\\fR", stdout);
		} else if (*c == '\n' && (c[1] == '\n' || (*name == ':' && name > c + 1))) {
			fputs("\n.PP\n", stdout);
			c += c[1] == '\n';
		} else if (*c == '\\') {
			fputs("\\e", stdout);
		} else if (*c == '-' && !(c > text && isalpha((unsigned char)c[-1]) && isalpha((unsigned char)c[1]))) {
			fputs("\\-", stdout);
		} else if ((*c == '.' || *c == '\'') && (c == text || c[-1] == '\n')) {
			printf("\\&%c", *c);
		} else {
			putchar(*c);
		}
	}
	putchar('\n');
}

static void print_roff_title(const char *name)
{
	const carom_version version = carom_get_version();
	puts(".\\\" Written by the command itself: --help=man.");
	fputs(*name ? ".TH CAROM\\-" : ".TH CAROM", stdout);
	for (; *name; name++)
		putchar(*name == ' ' ? '-' : toupper((unsigned char)*name));
	printf(" 1 \"\" \"carom %d.%d.%d\" \"Carom\"\n.SH NAME\n", version.major, version.minor, version.patch);
}

static void print_roff_option(const option *o)
{
	puts(".TP");
	if (o->letter)
		printf("\\fB\\-%c\\fR, ", o->letter);
	fputs("\\fB\\-\\-", stdout);
	for (const char *c = o->name; *c; c++)
		*c == '-' ? fputs("\\-", stdout) : putchar(*c);
	fputs("\\fR", stdout);
	if (o->argument)
		printf(" \\fI%s\\fR", o->argument);
	putchar('\n');
	print_roff(o->help);
	if (o->kind != OPTION_CHOICE)
		return;
	fputs(".br\nOne of ", stdout);
	print_words(o->choices, ", ");
	puts(".");
}

static void print_roff_ending(void) { puts(".SH EXIT STATUS\n0: done. 1: bad input or failure. 2: wrong use."); }

static void print_man(const command_line *line)
{
	print_roff_title(line->command);
	fputs("carom\\-", stdout);
	print_joined(line->command, '-');
	const size_t length = strlen(line->summary) - (line->summary[strlen(line->summary) - 1] == '.');
	printf(" \\- %.*s\n", (int)length, line->summary);
	printf(".SH SYNOPSIS\n");
	for (const char *synopsis = line->synopsis; synopsis;) {
		const char *end = strchr(synopsis, '\n');
		printf("\\fBcarom %s\\fR %.*s\n", line->command, end ? (int)(end - synopsis) : (int)strlen(synopsis), synopsis);
		synopsis = end ? strstr(end, line->command) : NULL;
		if (synopsis) {
			synopsis += strlen(line->command) + 1;
			puts(".br");
		}
	}
	puts(".SH DESCRIPTION");
	print_roff(line->summary);
	if (line->details) {
		puts(".PP");
		print_roff(line->details);
	}
	if (line->words) {
		fputs(".PP\nNames: ", stdout);
		print_words(line->words, ", ");
		puts(".");
	}
	puts(".SH OPTIONS");
	for (const option *o = line->options; o->name; o++)
		print_roff_option(o);
	print_roff_option(&HELP);
	print_roff_ending();
	puts(".SH SEE ALSO\n.BR carom (1)");
}

static void print_man_head(const manual_entry *entries, int count)
{
	print_roff_title("");
	puts("carom \\- find collisions of meshes, deforming meshes and millions of spheres\n"
		 ".SH SYNOPSIS\n\\fBcarom\\fR \\fICOMMAND\\fR [arguments]\n.SH DESCRIPTION\n"
		 "Finds every collision between rigid concave meshes, within deforming ones, and between millions of spheres.\n"
		 "Each command has a page of its own.\n.SH COMMANDS");
	for (int i = 0; i < count; i++) {
		printf(".TP\n\\fB%s\\fR\n", entries[i].name);
		print_roff(entries[i].summary);
	}
	puts(".SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR[=\\fIFORM\\fR]\nList the commands, or explain the one that stands before.\n"
		 "FORM man gives a manual page. Without a command, bash, zsh and fish give completion for that shell.\n"
		 ".TP\n\\fB\\-\\-version\\fR\nName the version.");
	print_roff_ending();
	puts(".SH SEE ALSO");
	for (int i = 0; i < count; i++) {
		fputs(".BR carom\\-", stdout);
		print_joined(entries[i].name, '-');
		printf(" (1)%s\n", i + 1 < count ? "," : "");
	}
}

// ---- bash ----

static void print_bash_names(const option *o, const char *separator)
{
	if (o->letter)
		printf("-%c%s", o->letter, separator);
	printf("--%s", o->name);
}

/// A branch that sets what may follow: options, and by the word before, words, kind.
static void print_bash(const command_line *line)
{
	printf("\t\"%s\")\n\t\toptions=\"", line->command);
	for (const option *o = line->options; o->name; o++) {
		print_bash_names(o, " ");
		putchar(' ');
	}
	print_bash_names(&HELP, " ");
	fputs("\"\n\t\tnames=\"", stdout);
	print_words(line->words, " ");
	puts("\"\n\t\tcase $previous in");
	for (const option *o = line->options; o->name; o++) {
		static const char *const kinds[] = { [VALUE_ANY] = "any", [VALUE_FILE] = "file", [VALUE_FOLDER] = "folder" };
		const value_kind kind = kind_of(o);
		if (kind == VALUE_NONE)
			continue;
		fputs("\t\t", stdout);
		print_bash_names(o, " | ");
		fputs(kind == VALUE_WORDS ? ") kind=words words=\"" : ") kind=", stdout);
		if (kind == VALUE_WORDS)
			print_words(o->choices, " ");
		printf("%s ;;\n", kind == VALUE_WORDS ? "\"" : kinds[kind]);
	}
	puts("\t\tesac\n\t\t;;");
}

static void print_bash_head(void)
{
	puts("# bash completion for carom. Written by carom --help=bash.\n"
		 "_carom()\n{\n"
		 "\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}\n"
		 "\tlocal options= names= words= kind=\n"
		 "\tCOMPREPLY=()\n"
		 "\t# bash splits --name=value at the equals sign\n"
		 "\tif [[ $current == = ]]; then\n\t\tcurrent=\n"
		 "\telif [[ $previous == = ]]; then\n\t\tprevious=${COMP_WORDS[COMP_CWORD - 2]}\n\tfi\n"
		 "\t((COMP_CWORD > 1)) || command=\n"
		 "\t((COMP_CWORD > 2)) && [[ \"${COMP_WORDS[*]:1:2}\" == \"make spheres\" ]] && command=\"make spheres\"\n"
		 "\tcase $command in");
}

static void print_bash_tail(const manual_entry *entries, int count)
{
	fputs("\t\"\")\n\t\tkind=words words=\"", stdout);
	for (int i = 0; i < count; i++)
		strchr(entries[i].name, ' ') ? 0 : printf("%s ", entries[i].name);
	puts("--help --version\"\n\t\t;;\n\tesac\n"
		 "\tif [[ -z $kind && $current == -* ]]; then\n\t\tkind=words words=$options\n"
		 "\telif [[ -z $kind && -n $names ]]; then\n\t\tkind=words words=$names\n\tfi\n"
		 "\tcase $kind in\n"
		 "\twords) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\") ;;\n"
		 "\tany) ;;\n"
		 "\tfolder) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$current\") ;;\n"
		 "\t*) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$current\") ;;\n"
		 "\tesac\n}\ncomplete -F _carom carom");
}

// ---- zsh ----

static void print_zsh_option(const option *o)
{
	static const char *const actions[] = { [VALUE_ANY] = " ", [VALUE_FILE] = "_files", [VALUE_FOLDER] = "_files -/" };
	const value_kind kind = kind_of(o);
	const bool takes = kind != VALUE_NONE, repeats = o->kind == OPTION_LIST;
	fputs("\t\t", stdout);
	if (repeats)
		fputs("'*'", stdout);
	else if (o->letter)
		printf("'(-%c --%s)'", o->letter, o->name);
	if (o->letter)
		printf("{-%c%s,--%s%s}'[", o->letter, takes ? "+" : "", o->name, takes ? "=" : "");
	else
		printf("'--%s%s[", o->name, takes ? "=" : "");
	print_quoted(o->help, "[]\\");
	putchar(']');
	if (takes) {
		putchar(':');
		print_quoted(o->argument, ":\\");
		putchar(':');
		if (kind == VALUE_WORDS)
			putchar('(');
		kind == VALUE_WORDS ? print_words(o->choices, " ") : (void)fputs(actions[kind], stdout);
		if (kind == VALUE_WORDS)
			putchar(')');
	}
	puts("' \\");
}

static void print_zsh(const command_line *line)
{
	fputs("_carom_", stdout);
	print_joined(line->command, '_');
	puts("()\n{\n\t_arguments -s \\");
	for (const option *o = line->options; o->name; o++)
		print_zsh_option(o);
	print_zsh_option(&HELP);
	fputs("\t\t'*:argument:", stdout);
	if (line->words) {
		putchar('(');
		print_words(line->words, " ");
		putchar(')');
	} else {
		fputs("_files", stdout);
	}
	puts("'\n}\n");
}

static void print_zsh_tail(const manual_entry *entries, int count)
{
	puts("_carom()\n{\n\tlocal state line context\n\ttypeset -A opt_args\n\tlocal -a commands=(");
	for (int i = 0; i < count; i++) {
		if (strchr(entries[i].name, ' '))
			continue;
		printf("\t\t'%s:", entries[i].name);
		print_quoted(entries[i].summary, ":\\");
		puts("'");
	}
	puts("\t)\n\t_arguments -C '(- *)'{-h,--help}'[list the commands]' '(- *)--version[name the version]' \\\n"
		 "\t\t'1:command:->command' '*::argument:->argument'\n"
		 "\tcase $state in\n\tcommand) _describe command commands ;;\n\targument)\n"
		 "\t\tif [[ $words[1] == make && $words[2] == spheres ]] && ((CURRENT > 2)); then\n"
		 "\t\t\tshift words\n\t\t\t((CURRENT--))\n\t\t\t_carom_make_spheres\n"
		 "\t\telif ((${commands[(I)$words[1]:*]})); then\n\t\t\t_carom_$words[1]\n\t\tfi\n\t\t;;\n\tesac\n}\n\n_carom \"$@\"");
}

// ---- fish ----

static void print_fish_option(const char *command, const option *o)
{
	const value_kind kind = kind_of(o);
	printf("complete -c carom -n \"__carom_is '%s'\" -l %s", command, o->name);
	if (o->letter)
		printf(" -s %c", o->letter);
	if (kind == VALUE_FILE)
		fputs(" -r -F", stdout);
	else if (kind == VALUE_FOLDER)
		fputs(" -x -a '(__fish_complete_directories)'", stdout);
	else if (kind != VALUE_NONE)
		fputs(" -x", stdout);
	if (kind == VALUE_WORDS) {
		fputs(" -a '", stdout);
		print_words(o->choices, " ");
		putchar('\'');
	}
	fputs(" -d '", stdout);
	print_quoted(o->help, "\\");
	puts("'");
}

static void print_fish(const command_line *line)
{
	for (const option *o = line->options; o->name; o++)
		print_fish_option(line->command, o);
	print_fish_option(line->command, &HELP);
	if (!line->words)
		return;
	printf("complete -c carom -n \"__carom_is '%s'\" -f -a '", line->command);
	print_words(line->words, " ");
	puts("'");
}

static void print_fish_head(const manual_entry *entries, int count)
{
	puts("# fish completion for carom. Written by carom --help=fish.\n"
		 "function __carom_is\n\tset -l words (commandline -opc)\n\tset -l command $words[2]\n"
		 "\tif test (count $words) -gt 2; and test \"$words[2..3]\" = 'make spheres'\n\t\tset command 'make spheres'\n\tend\n"
		 "\ttest \"$command\" = \"$argv[1]\"\nend");
	for (int i = 0; i < count; i++) {
		if (strchr(entries[i].name, ' '))
			continue;
		printf("complete -c carom -n \"__carom_is ''\" -f -a %s -d '", entries[i].name);
		print_quoted(entries[i].summary, "\\");
		puts("'");
	}
	puts("complete -c carom -n \"__carom_is ''\" -f -s h -l help -d 'list the commands'\n"
		 "complete -c carom -n \"__carom_is ''\" -f -l version -d 'name the version'");
}

// ---- Forms ----

int manual_misuse(const char *command, const char *form)
{
	return options_misuse(command, "--help=%s: must be one of man, bash, zsh, fish%s", form, command ? "" : ", list");
}

bool manual_has_parts(const char *form) { return strcmp(form, "man") != 0 && strcmp(form, "list") != 0; }

int manual_print_command(const command_line *line, const char *form)
{
	static const struct {
		const char *form;
		void (*print)(const command_line *line);
	} printers[] = { { "man", print_man }, { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };
	for (size_t i = 0; i < sizeof printers / sizeof printers[0]; i++) {
		if (strcmp(form, printers[i].form) != 0)
			continue;
		printers[i].print(line);
		return report_end_of_text();
	}
	return manual_misuse(line->command, form);
}

bool manual_print_head(const char *form, const manual_entry *entries, int count)
{
	if (strcmp(form, "man") == 0)
		print_man_head(entries, count);
	else if (strcmp(form, "bash") == 0)
		print_bash_head();
	else if (strcmp(form, "zsh") == 0)
		puts("#compdef carom\n# zsh completion for carom. Written by carom --help=zsh.\n");
	else if (strcmp(form, "fish") == 0)
		print_fish_head(entries, count);
	else if (strcmp(form, "list") != 0)
		return false;
	for (int i = 0; i < count && strcmp(form, "list") == 0; i++)
		puts(entries[i].name);
	return true;
}

void manual_print_tail(const char *form, const manual_entry *entries, int count)
{
	if (strcmp(form, "bash") == 0)
		print_bash_tail(entries, count);
	else if (strcmp(form, "zsh") == 0)
		print_zsh_tail(entries, count);
}
