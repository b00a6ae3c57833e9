// The output of the command: messages, JSON, output files, contact lines.
#include "report.h"

#include "options.h"

#include "io/json_memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	char text[REPORT_TEXT_MAX + IO_PATH_MAX]; // the first message of a failure
	bool printed;                             // an object is on stdout
} failure;

void report_keep_failure(const char *file, const char *text)
{
	if (!failure.text[0])
		snprintf(failure.text, sizeof failure.text, "%s%s%s", file ? file : "", file ? ": " : "", text);
}

int report_failure(int status)
{
	if (status == EXIT_DONE || failure.printed || !failure.text[0])
		return status;
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "error", failure.text);
	char *text = report_json_text(json, false);
	cJSON_Delete(json);
	if (text)
		puts(text);
	free(text);
	return status;
}

static void say(const char *kind, const char *file, const char *format, va_list arguments, bool fails)
{
	char text[REPORT_TEXT_MAX];
	vsnprintf(text, sizeof text, format, arguments);
	if (fails)
		report_keep_failure(file, text);
	// A progress bar may stand on the line.
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	fprintf(stderr, "carom: %s: ", kind);
	if (file)
		fprintf(stderr, "%s: ", file);
	fprintf(stderr, "%s\n", text);
}

int report_error(const char *file, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	say("error", file, format, arguments, true);
	va_end(arguments);
	return EXIT_FAILED;
}

void report_warning(const char *file, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	say("warning", file, format, arguments, false);
	va_end(arguments);
}

static void log_message(carom_log_level level, const char *text, void *user)
{
	(void)user;
	if (level == CAROM_LOG_WARNING)
		report_warning(NULL, "%s", text);
}

carom_context *report_create_context(int64_t threads, int simd)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = (int)threads;
	def.simd = (carom_simd)simd;
	def.log = log_message;
	carom_context *context;
	const carom_result result = carom_create_context(&def, &context);
	if (result == CAROM_UNSUPPORTED)
		report_error(NULL, "this machine or build has no %s instructions; leave --simd out to take the widest there are",
			options_simd_words[simd]);
	else if (result != CAROM_SUCCESS)
		report_error(NULL, "cannot start the library: %s", carom_result_name(result));
	return context;
}

int report_end_of_text(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_DONE;
	return report_error(NULL, "cannot write to standard output: %s", strerror(errno));
}

/// A number that is minus zero becomes zero: readers of other languages tell the two apart, and no
/// result means it.
static void drop_signs_of_zeros(cJSON *item)
{
	for (; item; item = item->next) {
		if (cJSON_IsNumber(item) && item->valuedouble == 0)
			cJSON_SetNumberValue(item, 0);
		drop_signs_of_zeros(item->child);
	}
}

char *report_json_text(const cJSON *object, bool in_one_line)
{
	static int told; // failures
	char *text = NULL;
	if (object)
		text = in_one_line ? cJSON_PrintUnformatted(object) : cJSON_Print(object);
	const int failures = io_json_failures();
	if (text && failures == told)
		return text;
	told = failures;
	free(text);
	return NULL;
}

int report_json(cJSON *object)
{
	drop_signs_of_zeros(object);
	char *text = report_json_text(object, false);
	cJSON_Delete(object);
	if (!text)
		return report_error(NULL, "out of memory");
	failure.printed = true;
	puts(text);
	free(text);
	return report_end_of_text();
}

void report_add(cJSON *to, const char *name, cJSON *item)
{
	if (!(name ? cJSON_AddItemToObject(to, name, item) : cJSON_AddItemToArray(to, item)))
		cJSON_Delete(item);
}

void report_add_hash(cJSON *object, const char *name, uint64_t hash)
{
	char text[17];
	snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
	cJSON_AddStringToObject(object, name, text);
}

void report_add_vector(cJSON *object, const char *name, const double v[3])
{
	report_add(object, name, cJSON_CreateDoubleArray(v, 3));
}

int report_make_folder(const char *path)
{
	char part[IO_PATH_MAX];
	const size_t length = strlen(path);
	if (length >= sizeof part - 64)
		return report_error(path, "the path is too long");
	for (size_t i = 1; i <= length; i++) {
		if (path[i] != '/' && path[i] != 0)
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0777) != 0 && errno != EEXIST)
			return report_error(part, "cannot make the folder: %s", strerror(errno));
	}
	struct stat status;
	if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
		return report_error(path, "is not a folder; --out needs one");
	return EXIT_DONE;
}

bool report_make_temporary(const char *prefix, char *path, size_t size)
{
	const char *place = getenv("TMPDIR");
	if (snprintf(path, size, "%s/%s-XXXXXX", place && place[0] ? place : "/tmp", prefix) >= (int)size) {
		errno = ENAMETOOLONG;
		return false;
	}
	return mkdtemp(path) != NULL;
}

int report_save_json(const char *path, cJSON *object)
{
	io_output_file file;
	char *text = report_json_text(object, false);
	cJSON_Delete(object);
	if (!text)
		return report_error(NULL, "out of memory");
	int status = report_open(&file, path);
	if (status == EXIT_DONE) {
		fprintf(file.stream, "%s\n", text);
		status = report_commit(&file);
	}
	free(text);
	return status;
}

int report_open(io_output_file *file, const char *path)
{
	sim_error error;
	return io_output_open(file, path, &error) ? EXIT_DONE : report_error(path, "%s", error.text);
}

int report_commit(io_output_file *file)
{
	sim_error error;
	return io_output_commit(file, &error) ? EXIT_DONE : report_error(file->path, "%s", error.text);
}

/// Which body the feature that touches belongs to: its vertex, its edge. The other one has the
/// triangle.
static bool source_is_a(const carom_contact *contact, int64_t number_a)
{
	switch (contact->kind) {
	case CAROM_VERTEX_A:
	case CAROM_EDGE_A:
	case CAROM_FACES: return true;
	case CAROM_VERTEX_B:
	case CAROM_EDGE_B: return false;
	case CAROM_EDGES:
	case CAROM_VOLUMES: break;
	}
	return number_a >= 0; // it is the ground that is touched
}

void report_contact(FILE *stream, const carom_contact *contact, int64_t number_a, int64_t number_b)
{
	const bool from_a = source_is_a(contact, number_a);
	const bool from_vertex = contact->kind == CAROM_VERTEX_A || contact->kind == CAROM_VERTEX_B;
	const int32_t source = from_a ? contact->feature_a : contact->feature_b;
	const int32_t target = from_a ? contact->feature_b : contact->feature_a;
	const float sign = from_a ? 1.0f : -1.0f;
	// 17 and 9 digits bring doubles and floats back exactly.
	fprintf(stream, "%lld %lld %d %d %.17g %.17g %.17g %.9g %.9g %.9g %.9g\n", (long long)(from_a ? number_a : number_b),
		(long long)(from_a ? number_b : number_a), from_vertex ? source : -1, target, contact->point[0], contact->point[1],
		contact->point[2], (double)(sign * contact->normal[0]), (double)(sign * contact->normal[1]),
		(double)(sign * contact->normal[2]), (double)contact->depth);
}
