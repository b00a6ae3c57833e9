// The "sources" of a scene file: bodies that appear one after another, each at its own step, at a
// point that goes round a circle. They are unrolled into the scene's bodies like those of a grid.
#include "sim/base/rotations.h"
#include "scene/scene_parts.h"

#include <math.h>
#include <stdlib.h>

typedef struct source {
	int64_t count;
	double rate;  // bodies per second
	double start; // of the first one, seconds
	double radius;
	double axis[3];
	double turns_per_second;
	double start_degrees;
} source;

static void read_circle(const io_json_node *parent, source *s)
{
	static const char *const fields[] = { "radius", "axis", "turns_per_second", "start_degrees", NULL };
	io_json_node node;
	if (!io_json_member(parent, "circle", &node) || !io_json_fields(&node, fields))
		return;
	io_json_number(&node, "radius", 0, 1e6, &s->radius);
	io_json_numbers(&node, "axis", 3, -1e6, 1e6, s->axis);
	io_json_number(&node, "turns_per_second", -1e6, 1e6, &s->turns_per_second);
	io_json_number(&node, "start_degrees", -3600, 3600, &s->start_degrees);
	if (sim_length3(s->axis) < 1e-9)
		io_json_member_error(&node, "axis", "must not be zero");
}

/// From the middle of the circle to the source at a time. The rotation that takes z to the axis
/// takes x to the point of angle 0.
static carom_vec3 place_at(const source *s, double time)
{
	const double length = sim_length3(s->axis);
	const double axis[3] = { s->axis[0] / length, s->axis[1] / length, s->axis[2] / length };
	const double turns = s->start_degrees / 360 + s->turns_per_second * time;
	const double angle = 2 * SIM_PI * (turns - floor(turns));
	const carom_vec3 point = { s->radius * sim_cosine(angle), s->radius * sim_sine(angle), 0 };
	return carom_rotate(sim_rotation_to_normal(axis), point);
}

/// The first step that begins at or after a time. A time that is a step's up to rounding is that
/// step's.
static int64_t step_at(const scene_description *scene, double time)
{
	const double steps = time / scene->time_step;
	const double nearest = floor(steps + 0.5);
	return (int64_t)(fabs(steps - nearest) < 1e-6 ? nearest : ceil(steps));
}

static void read_source(const io_json_node *node, scene_description *scene)
{
	source s = { .count = 1, .rate = 1, .axis = { 0, 1, 0 } };
	scene_body first;
	scene_variation variation;
	scene_read_varied_body(node, scene, &first, &variation);
	io_json_integer(node, "count", 1, SCENE_MOST_BODIES, &s.count);
	io_json_number(node, "rate", 1e-6, 1e6, &s.rate);
	io_json_number(node, "start", 0, 1e6, &s.start);
	read_circle(node, &s);
	if (!scene_check_body_count(node, scene, s.count))
		return;
	for (int64_t i = 0; i < s.count && !node->json->failed; i++) {
		const double time = s.start + (double)i / s.rate;
		first.first_step = step_at(scene, time);
		scene_add_varied_body(node, scene, &first, &variation, i, place_at(&s, time));
	}
}

/// By step; of one step, by place in the file: sources and their bodies were added in that order,
/// and "order" remembers it.
static int compare_appearance(const void *a, const void *b)
{
	const scene_body *x = a, *y = b;
	if (x->first_step != y->first_step)
		return x->first_step < y->first_step ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void scene_read_sources(const io_json_node *section, scene_description *scene)
{
	static const char *const fields[] = { "count", "rate", "start", "circle", "jitter", SCENE_BODY_FIELDS, NULL };
	io_json_node list;
	if (!io_json_member(section, "sources", &list))
		return;
	const int32_t others = scene->rigid.body_count;
	const int count = io_json_count(&list, true);
	for (int i = 0; i < count && !section->json->failed; i++) {
		const io_json_node node = io_json_child(&list, i);
		if (!io_json_fields(&node, fields))
			return;
		read_source(&node, scene);
	}
	for (int32_t i = others; i < scene->rigid.body_count; i++)
		scene->rigid.bodies[i].order = i;
	if (scene->rigid.body_count > others)
		qsort(scene->rigid.bodies + others, (size_t)(scene->rigid.body_count - others), sizeof *scene->rigid.bodies,
			compare_appearance);
}
