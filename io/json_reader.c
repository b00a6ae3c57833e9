// JSON text with errors that name file, line and field: see json_reader.h.
#include "io/json_reader.h"

#include "io/json_memory.h"
#include "sim/base/words.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Where a node is in the text ----

/// Skip the bytes that cJSON takes for white space: every byte up to 32.
static const char *skip_space(const char *p)
{
	while (*p && (unsigned char)*p <= ' ')
		p++;
	return p;
}

/// Past the string that starts at p.
static const char *skip_string(const char *p)
{
	for (p++; *p && *p != '"'; p++) {
		if (*p == '\\' && p[1])
			p++;
	}
	return *p ? p + 1 : p;
}

/// Past the value that starts at p. The text is known to be well formed.
static const char *skip_value(const char *p)
{
	int open = 0;
	do {
		if (*p == '"') {
			p = skip_string(p);
			continue;
		}
		if (*p == '{' || *p == '[')
			open++;
		else if (*p == '}' || *p == ']')
			open--;
		p++;
	} while (*p && (open > 0 || !strchr(",]}", *p)));
	return p;
}

/// How many brackets are open at most up to a place of the text.
static int depth_at(const char *p, const char *place)
{
	int open = 0, most = 0;
	while (*p && p <= place) {
		if (*p == '"') {
			p = skip_string(p);
			continue;
		}
		open += *p == '{' || *p == '[';
		open -= *p == '}' || *p == ']';
		most = open > most ? open : most;
		p++;
	}
	return most;
}

/// Start of child number i of the object or array at parent: its key when it has one. The walk goes
/// on where the last one of this depth stopped, so that a list is walked once however many of its
/// elements are looked for.
static const char *find_child(io_json *json, int depth, const char *parent, int i)
{
	io_json_place *last = &json->places[depth];
	if (last->parent != parent || last->index > i)
		*last = (io_json_place){ parent, 0, skip_space(parent + 1) };
	const char *from = last->child, *p = from;
	for (; last->index < i; last->index++) {
		if (*parent == '{')
			p = skip_space(skip_space(skip_string(p)) + 1);
		p = skip_space(skip_value(p));
		if (*p == ',')
			p = skip_space(p + 1);
	}
	json->steps += p - from;
	last->child = p;
	return p;
}

/// The line of a place, counted on from the place before when that comes earlier in the text.
static int line_at(io_json *json, const char *place)
{
	if (!json->counted || json->counted > place) {
		json->counted = json->text;
		json->line = 1;
	}
	json->steps += place - json->counted;
	for (; json->counted < place; json->counted++)
		json->line += *json->counted == '\n';
	return json->line;
}

int io_json_line(const io_json_node *node)
{
	const char *p = skip_space(node->json->text);
	for (int i = 0; i < node->depth; i++) {
		const bool object = *p == '{';
		p = find_child(node->json, i, p, node->place[i]);
		if (object && i + 1 < node->depth)
			p = skip_space(skip_space(skip_string(p)) + 1);
	}
	return line_at(node->json, p);
}

// ---- Errors ----

static bool record(io_json *json, int line, const char *path, const char *format, va_list arguments)
{
	if (json->failed)
		return false;
	json->failed = true;
	sim_fail_list(json->error, format, arguments);
	if (*path)
		return sim_fail_in(json->error, "%s:%d: field \"%s\": ", json->file, line, path);
	return sim_fail_in(json->error, "%s:%d: ", json->file, line);
}

bool io_json_error(const io_json_node *node, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	record(node->json, io_json_line(node), node->path, format, arguments);
	va_end(arguments);
	return false;
}

static void member_path(const io_json_node *object, const char *name, char path[200])
{
	// long names are cut
	snprintf(path, 200, "%.120s%s%.70s", object->path, *object->path ? "." : "", name);
}

bool io_json_member_error(const io_json_node *object, const char *name, const char *format, ...)
{
	io_json_node member;
	char path[200];
	member_path(object, name, path);
	const int line = io_json_line(io_json_member(object, name, &member) ? &member : object);
	va_list arguments;
	va_start(arguments, format);
	record(object->json, line, path, format, arguments);
	va_end(arguments);
	return false;
}

// ---- Text and tree ----

char *io_read_text(const char *path, size_t *size, sim_error *error)
{
	FILE *file = fopen(path, "rb");
	if (!file) {
		sim_fail(error, "%s: cannot be opened: %s", path, strerror(errno));
		return NULL;
	}
	char *text = NULL;
	size_t room = 0;
	*size = 0;
	do {
		if (*size + 4096 > room) {
			room = room ? 2 * room : 65536;
			char *larger = realloc(text, room + 1);
			if (!larger) {
				sim_fail(error, "%s: out of memory", path);
				free(text);
				fclose(file);
				return NULL;
			}
			text = larger;
		}
		*size += fread(text + *size, 1, room - *size, file);
	} while (!feof(file) && !ferror(file));
	const bool failed = ferror(file) != 0;
	const int reason = errno;
	fclose(file);
	if (failed) {
		sim_fail(error, "%s: cannot be read: %s", path, strerror(reason));
		free(text);
		return NULL;
	}
	text[*size] = 0;
	return text;
}

/// The first byte that is no part of UTF-8 (The Unicode Standard, table 3-7), or NULL.
static const char *find_foreign_byte(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	while (*p) {
		const int more = *p < 0x80     ? 0
			: *p >= 0xc2 && *p <= 0xdf ? 1
			: (*p & 0xf0) == 0xe0      ? 2
			: *p >= 0xf0 && *p <= 0xf4 ? 3
									   : -1;
		if (more < 0)
			return (const char *)p;
		// The second byte excludes characters that have a shorter form, halves of surrogate pairs,
		// and characters above U+10FFFF.
		const unsigned char low = *p == 0xe0 ? 0xa0 : *p == 0xf0 ? 0x90 : 0x80;
		const unsigned char high = *p == 0xed ? 0x9f : *p == 0xf4 ? 0x8f : 0xbf;
		for (int i = 1; i <= more; i++) {
			if (p[i] < (i == 1 ? low : 0x80) || p[i] > (i == 1 ? high : 0xbf))
				return (const char *)p;
		}
		p += 1 + more;
	}
	return NULL;
}

static bool fail_at(io_json *json, const char *place, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	record(json, place ? line_at(json, place) : 1, "", format, arguments);
	va_end(arguments);
	return false;
}

/// The bracket that closes a list right behind a comma where reading stopped: at it, or just behind
/// it. NULL: none does.
static const char *bracket_after_comma(const char *text, const char *stop)
{
	const char *bracket = skip_space(stop);
	if (*bracket != '}' && *bracket != ']')
		bracket = stop > text ? stop - 1 : stop;
	const char *before = bracket;
	while (before > text && strchr(" \t\r\n", before[-1]))
		before--;
	return (*bracket == '}' || *bracket == ']') && before > text && before[-1] == ',' ? bracket : NULL;
}

bool io_json_parse(const char *file, const char *text, size_t size, sim_error *error, io_json *json, io_json_node *root)
{
	*json = (io_json){ .file = file, .error = error };
	*root = (io_json_node){ .json = json };
	// UTF-8 byte order mark
	const size_t mark = size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
	json->text = malloc(size - mark + 1);
	if (!json->text)
		return fail_at(json, NULL, "out of memory");
	memcpy(json->text, text + mark, size - mark);
	json->text[size - mark] = 0;
	const char *zero = memchr(json->text, 0, size - mark);
	if (zero)
		return fail_at(json, zero, "holds a byte 0: this is not a JSON text");
	const char *foreign = find_foreign_byte(json->text);
	if (foreign)
		return fail_at(json, foreign, "holds the byte 0x%02x where no character of UTF-8 has it; save the file as UTF-8",
			(unsigned)(unsigned char)*foreign);

	const char *stop = json->text;
	const int failures = io_json_failures();
	json->root = cJSON_ParseWithOpts(json->text, &stop, true);
	if (!json->root && io_json_failures() > failures)
		return fail_at(json, NULL, "out of memory");
	if (!json->root) {
		if (depth_at(json->text, stop) >= CJSON_NESTING_LIMIT)
			return fail_at(json, stop, "nested too deeply: at most %d brackets may be open", CJSON_NESTING_LIMIT);
		const char *bracket = bracket_after_comma(json->text, stop);
		if (bracket)
			return fail_at(json, bracket, "not a JSON text: a comma before the closing %c; take the comma away", *bracket);
		if (!*skip_space(stop))
			return fail_at(json, stop, "not a JSON text: it ends too early");
		return fail_at(json, stop, "not a JSON text: unexpected %.20s", skip_space(stop));
	}
	root->item = json->root;
	return true;
}

void io_json_close(io_json *json)
{
	cJSON_Delete(json->root);
	free(json->text);
	json->root = NULL;
	json->text = NULL;
}

// ---- Nodes ----

/// Child number i of an item, found from the child of this depth that was looked for last.
static const cJSON *find_item(io_json *json, int depth, const cJSON *parent, int i)
{
	io_json_cursor *last = &json->cursors[depth < IO_JSON_DEPTH ? depth : IO_JSON_DEPTH - 1];
	if (last->parent != parent || last->index > i)
		*last = (io_json_cursor){ parent, 0, parent->child };
	json->steps += i - last->index;
	for (; last->index < i; last->index++)
		last->item = last->item->next;
	return last->item;
}

io_json_node io_json_child(const io_json_node *node, int i)
{
	io_json_node child = *node;
	child.item = find_item(node->json, node->depth, node->item, i);
	if (cJSON_IsArray(node->item))
		snprintf(child.path, sizeof child.path, "%.180s[%d]", node->path, i);
	else
		member_path(node, child.item->string, child.path);
	if (child.depth < IO_JSON_DEPTH)
		child.place[child.depth++] = i;
	return child;
}

bool io_json_member(const io_json_node *object, const char *name, io_json_node *member)
{
	if (!cJSON_IsObject(object->item))
		return false;
	int i = 0;
	for (const cJSON *item = object->item->child; item; item = item->next, i++) {
		if (!strcmp(item->string, name)) {
			*member = io_json_child(object, i);
			return true;
		}
	}
	return false;
}

bool io_json_has(const io_json_node *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object->item, name) != NULL;
}

static const char *type_name(const cJSON *item)
{
	if (cJSON_IsObject(item))
		return "an object";
	if (cJSON_IsArray(item))
		return "an array";
	if (cJSON_IsString(item))
		return "text";
	if (cJSON_IsNumber(item))
		return "a number";
	return cJSON_IsNull(item) ? "null" : "true or false";
}

int io_json_count(const io_json_node *node, bool array)
{
	if (array ? cJSON_IsArray(node->item) : cJSON_IsObject(node->item))
		return cJSON_GetArraySize(node->item);
	io_json_error(node, "must be %s, not %s", array ? "an array [...]" : "an object {...}", type_name(node->item));
	return 0;
}

bool io_json_fields(const io_json_node *node, const char *const *names)
{
	const int count = io_json_count(node, false);
	for (int i = 0; i < count && !node->json->failed; i++) {
		const io_json_node member = io_json_child(node, i);
		const char *name = member.item->string;
		int known = 0;
		while (names[known] && strcmp(names[known], name) != 0)
			known++;
		if (!names[known]) {
			const char *nearest = sim_nearest_word(name, names);
			if (nearest)
				return io_json_error(&member, "unknown field; did you mean \"%s\"?", nearest);
			return io_json_error(&member, "unknown field");
		}
		for (const cJSON *other = member.item->next; other; other = other->next) {
			if (!strcmp(other->string, name))
				return io_json_error(&member, "given twice");
		}
	}
	return !node->json->failed;
}

// ---- Values ----

static bool check_number(const io_json_node *node, double low, double high, double *value)
{
	if (!cJSON_IsNumber(node->item))
		return io_json_error(node, "must be a number, not %s", type_name(node->item));
	const double number = node->item->valuedouble;
	if (!isfinite(number))
		return io_json_error(node, "is too large for a number");
	if (number < low || number > high)
		return io_json_error(node, "must be from %.10g to %.10g, not %.10g", low, high, number);
	*value = number;
	return !node->json->failed;
}

bool io_json_number(const io_json_node *object, const char *name, double low, double high, double *value)
{
	io_json_node node;
	if (!io_json_member(object, name, &node))
		return !object->json->failed;
	return check_number(&node, low, high, value);
}

bool io_json_positive(const io_json_node *object, const char *name, double *value)
{
	io_json_node node;
	if (!io_json_member(object, name, &node))
		return !object->json->failed;
	if (cJSON_IsNumber(node.item) && !(node.item->valuedouble > 0))
		return io_json_error(&node, "must be above 0, not %.10g", node.item->valuedouble);
	return check_number(&node, 0, 1e9, value);
}

bool io_json_integer(const io_json_node *object, const char *name, int64_t low, int64_t high, int64_t *value)
{
	io_json_node node;
	double number = 0;
	if (!io_json_member(object, name, &node))
		return !object->json->failed;
	if (!check_number(&node, (double)low, (double)high, &number))
		return false;
	if (number != floor(number))
		return io_json_error(&node, "must be a whole number, not %.10g", number);
	*value = (int64_t)number;
	return true;
}

bool io_json_bits(const io_json_node *object, const char *name, uint64_t *value)
{
	io_json_node node;
	if (!io_json_member(object, name, &node))
		return !object->json->failed;
	if (!cJSON_IsString(node.item)) {
		int64_t number = 0;
		if (!io_json_integer(object, name, 0, INT64_C(1) << 53, &number))
			return false;
		*value = (uint64_t)number;
		return true;
	}
	const char *text = node.item->valuestring;
	const size_t digits = strlen(text) - (strlen(text) >= 2 ? 2 : 0);
	if (strncmp(text, "0x", 2) != 0 || digits < 1 || digits > 16 || strspn(text + 2, "0123456789abcdefABCDEF") != digits)
		return io_json_error(&node, "must be a whole number or text such as \"0xff00\"");
	*value = strtoull(text + 2, NULL, 16);
	return !object->json->failed;
}

bool io_json_bool(const io_json_node *object, const char *name, bool *value)
{
	io_json_node node;
	if (!io_json_member(object, name, &node))
		return !object->json->failed;
	if (!cJSON_IsBool(node.item))
		return io_json_error(&node, "must be true or false, not %s", type_name(node.item));
	*value = cJSON_IsTrue(node.item);
	return !object->json->failed;
}

static bool read_numbers(
	const io_json_node *object, const char *name, int count, double low, double high, bool nulls, double *values)
{
	io_json_node node;
	if (!io_json_member(object, name, &node))
		return !object->json->failed;
	if (io_json_count(&node, true) != count)
		return io_json_error(&node, "must be an array of %d numbers", count);
	int i = 0;
	for (const cJSON *item = node.item->child; item; item = item->next, i++) {
		if (nulls && cJSON_IsNull(item)) {
			values[i] = NAN;
			continue;
		}
		// The node with its path is made for errors only: finding it takes a walk along the
		// siblings.
		if (!cJSON_IsNumber(item) || !(item->valuedouble >= low && item->valuedouble <= high)) {
			const io_json_node element = io_json_child(&node, i);
			return check_number(&element, low, high, &values[i]);
		}
		values[i] = item->valuedouble;
	}
	return !object->json->failed;
}

bool io_json_numbers(const io_json_node *object, const char *name, int count, double low, double high, double *values)
{
	return read_numbers(object, name, count, low, high, false, values);
}

bool io_json_numbers_or_nulls(const io_json_node *object, const char *name, int count, double low, double high, double *values)
{
	return read_numbers(object, name, count, low, high, true, values);
}

/// The words as "a", "b" or "c".
static void list_words(const char *const *words, char *text, size_t size)
{
	size_t used = 0;
	for (int i = 0; words[i] && used < size; i++) {
		const char *between = i == 0 ? "" : words[i + 1] ? ", " : " or ";
		used += (size_t)snprintf(text + used, size - used, "%s\"%s\"", between, words[i]);
	}
}

bool io_json_choice(const io_json_node *object, const char *name, const char *const *words, int *value)
{
	io_json_node node;
	char list[200] = "";
	if (!io_json_member(object, name, &node))
		return !object->json->failed;
	for (int i = 0; cJSON_IsString(node.item) && words[i]; i++) {
		if (!strcmp(words[i], node.item->valuestring)) {
			*value = i;
			return !object->json->failed;
		}
	}
	list_words(words, list, sizeof list);
	return io_json_error(&node, "must be %s", list);
}

bool io_json_string(const io_json_node *object, const char *name, char **value)
{
	io_json_node node;
	if (!io_json_member(object, name, &node))
		return !object->json->failed;
	if (!cJSON_IsString(node.item))
		return io_json_error(&node, "must be text, not %s", type_name(node.item));
	if (!*node.item->valuestring)
		return io_json_error(&node, "must not be empty");
	char *copy = strdup(node.item->valuestring);
	if (!copy)
		return io_json_error(&node, "out of memory");
	free(*value);
	*value = copy;
	return !object->json->failed;
}
