/// Where the bodies come from that move in the coming step. See world/courses.h.
#include "world/courses.h"

enum { BLOCK_BYTES = CR_COURSES_EACH * sizeof(cr_course) };

bool cr_reserve_courses(carom_context *memory, cr_courses *c, int64_t count)
{
	const int64_t blocks = (c->used - c->spare_count + count + CR_COURSES_EACH - 1) / CR_COURSES_EACH;
	if (!cr_array_reserve(memory, &c->blocks, blocks))
		return false;
	while (c->blocks.count < blocks) {
		cr_course *block = cr_alloc(memory, BLOCK_BYTES);
		if (!block)
			return false;
		c->blocks.data[c->blocks.count++] = block;
	}
	return true;
}

/// How many records so many parts always have.
static int64_t sure_count(int64_t parts) { return parts < CR_COURSES_SURE ? parts : CR_COURSES_SURE; }

bool cr_reserve_sure_courses(carom_context *memory, cr_courses *c, int64_t parts)
{
	const int64_t more = sure_count(parts) - (c->used - c->spare_count);
	return more <= 0 || cr_reserve_courses(memory, c, more);
}

cr_course *cr_take_course(cr_courses *c)
{
	if (c->spare) {
		cr_course *taken = c->spare;
		c->spare = taken->next;
		c->spare_count--;
		return taken;
	}
	cr_course *taken = &c->blocks.data[c->used / CR_COURSES_EACH][c->used % CR_COURSES_EACH];
	c->used++;
	return taken;
}

void cr_drop_course(cr_courses *c, cr_body *part)
{
	if (!part->course)
		return;
	part->course->next = c->spare;
	c->spare = part->course;
	c->spare_count++;
	part->course = NULL;
}

void cr_leave_pose(cr_courses *c, cr_body *first)
{
	for (int32_t i = 0; i < cr_part_count(first); i++) {
		if (first[i].course)
			continue;
		first[i].course = cr_take_course(c);
		*first[i].course = (cr_course){ .last = first[i].pose };
	}
}

static void free_blocks(carom_context *memory, cr_courses *c, int64_t left)
{
	while (c->blocks.count > left)
		cr_free(memory, c->blocks.data[--c->blocks.count], BLOCK_BYTES);
}

void cr_forget_courses(cr_courses *c)
{
	c->used = c->spare_count = 0;
	c->spare = NULL;
}

void cr_reset_courses(carom_context *memory, cr_courses *c, int64_t parts)
{
	const int64_t wanted = c->used > sure_count(parts) ? c->used : sure_count(parts);
	free_blocks(memory, c, (wanted + CR_COURSES_EACH - 1) / CR_COURSES_EACH);
	cr_forget_courses(c);
}

void cr_free_courses(carom_context *memory, cr_courses *c)
{
	free_blocks(memory, c, 0);
	cr_array_free(memory, &c->blocks);
}
