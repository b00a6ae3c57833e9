// Facts about a file as JSON or as lines of text.
#include "info_kinds.h"

#include "options.h"
#include "report.h"

#include <stdio.h>

static void print_value(const cJSON *value)
{
	if (cJSON_IsString(value))
		fputs(value->valuestring, stdout);
	else if (cJSON_IsNumber(value))
		printf("%.9g", value->valuedouble);
	else if (cJSON_IsBool(value))
		fputs(cJSON_IsTrue(value) ? "yes" : "no", stdout);
	else if (cJSON_IsNull(value))
		fputs("not known", stdout);
	for (const cJSON *item = value->child; item; item = item->next) {
		if (cJSON_IsObject(value))
			printf("%s%s ", item == value->child ? "" : ", ", item->string);
		else if (item != value->child)
			putchar(cJSON_IsString(item) ? ',' : ' '), cJSON_IsString(item) ? putchar(' ') : 0;
		print_value(item);
	}
}

static void print_line(const char *name, const cJSON *value)
{
	printf("  %-14s ", name);
	print_value(value);
	putchar('\n');
}

/// Members with the names of their fields, blanks for underscores; a list of objects line by line.
static void print_members(const cJSON *facts)
{
	for (const cJSON *member = facts->child; member; member = member->next) {
		char name[40];
		snprintf(name, sizeof name, "%s", member->string);
		for (char *c = name; *c; c++)
			*c = *c == '_' ? ' ' : *c;
		if (!cJSON_IsArray(member) || !cJSON_IsObject(member->child)) {
			if (!cJSON_IsArray(member) || member->child)
				print_line(name, member);
			continue;
		}
		for (const cJSON *item = member->child; item; item = item->next)
			print_line(item == member->child ? name : "", item);
	}
}

int info_print(const char *path, const char *title, cJSON *facts, bool as_json)
{
	if (as_json)
		return report_json(facts);
	cJSON_DeleteItemFromObject(facts, "kind");
	printf("%s: %s\n", path, title);
	print_members(facts);
	cJSON_Delete(facts);
	return report_end_of_text();
}
