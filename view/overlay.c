// Marks over a finished picture. A contact is a disc coloured by depth, from cyan (touching) over
// yellow to red (deepest), with a short line along its normal; nearer contacts cover farther ones.
#include "view/overlay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const view_rgb DARK = { 20, 24, 32 };
static const view_rgb LIGHT = { 245, 246, 248 };

typedef struct mark {
	double x, y, distance;
	int contact;
	bool hidden;
} mark;

/// The colour of a depth as a part of the deepest, 0 to 1. By the root: most contacts are shallow,
/// and should differ too.
static view_rgb heat(double part)
{
	static const double stops[4][3] = { { 40, 200, 230 }, { 120, 225, 120 }, { 255, 210, 40 }, { 235, 40, 60 } };
	const double place = 3 * sqrt(fmin(fmax(part, 0), 1));
	const int stop = place < 2 ? (int)place : 2;
	double c[3];
	for (int i = 0; i < 3; ++i)
		c[i] = stops[stop][i] + (place - stop) * (stops[stop + 1][i] - stops[stop][i]) + 0.5;
	return (view_rgb){ (uint8_t)c[0], (uint8_t)c[1], (uint8_t)c[2] };
}

static int compare_marks(const void *a, const void *b)
{
	const mark *m = a, *n = b;
	if (m->distance != n->distance)
		return m->distance < n->distance ? 1 : -1;
	return (m->contact > n->contact) - (m->contact < n->contact);
}

/// A contact point lies inside at least one body by its depth, so the ray to it ends a little
/// before.
static bool is_hidden(const carom_world *world, const view_frame *view, const view_contact_mark *contact, bool *hidden)
{
	const carom_vec3 d = sim_subtract(contact->point, view->position);
	const double distance = sim_length(d);
	const double t_max = 1 - 0.01 - 2 * fabs(contact->depth) / distance;
	*hidden = false;
	if (t_max <= 0)
		return true;
	const carom_ray ray = { view->position, d, 0, t_max };
	return carom_world_cast_ray_any(world, &ray, NULL, hidden) == CAROM_SUCCESS;
}

/// Contacts in front of the camera, the farthest first. False when the world refuses a query.
static bool collect_marks(
	const carom_world *world, const view_frame *view, const view_picture_options *options, mark *marks, int *mark_count)
{
	int count = 0;
	for (int i = 0; i < options->contact_count; ++i) {
		const view_contact_mark *contact = &options->contacts[i];
		mark m = { .contact = i, .distance = sim_length(sim_subtract(contact->point, view->position)) };
		if (!view_project(view, contact->point, &m.x, &m.y))
			continue;
		if (m.x < -50 || m.y < -50 || m.x > options->width + 50 || m.y > options->height + 50)
			continue;
		if (!is_hidden(world, view, contact, &m.hidden))
			return false;
		marks[count++] = m;
	}
	qsort(marks, (size_t)count, sizeof *marks, compare_marks);
	*mark_count = count;
	return true;
}

static void draw_mark(const view_frame *view, const mark *m, const view_contact_mark *contact, double deepest, view_image *image)
{
	const double unit = image->height / 720.0;
	const double radius = (m->hidden ? 0.7 : 1) * fmax(unit * fmin(fmax(3 * view->distance / m->distance, 1.5), 6), 1.5);
	const double opacity = m->hidden ? 0.3 : 1;
	const view_rgb color = heat(deepest > 0 ? contact->depth / deepest : 0);
	const double reach = 4.5 * radius * view->pixel * m->distance;
	double x, y;
	if (view_project(view, sim_add(contact->point, sim_scale(contact->normal, reach)), &x, &y)) {
		if (!m->hidden)
			view_image_line(image, m->x, m->y, x, y, 0.7 * radius + 1, DARK, 0.35);
		view_image_line(image, m->x, m->y, x, y, 0.5 * radius, color, opacity);
	}
	if (!m->hidden)
		view_image_disc(image, m->x, m->y, radius + 0.8 * unit, DARK, 0.6);
	view_image_disc(image, m->x, m->y, radius, color, opacity);
}

/// The depth of the hottest colour. Rounded up to 1, 2 or 5 times a power of ten, so that it rests
/// while a movie goes on.
static double find_deepest(const view_picture_options *options)
{
	double deepest = 0;
	if (options->deepest > 0)
		return options->deepest;
	for (int i = 0; i < options->contact_count; ++i)
		deepest = fmax(deepest, options->contacts[i].depth);
	if (!(deepest > 0 && isfinite(deepest)))
		return 0;
	const double power = pow(10, floor(log10(deepest)));
	const double digit = deepest / power * (1 - 1e-6); // 0.02 must not become 0.05 by rounding
	return power * (digit <= 1 ? 1 : (digit <= 2 ? 2 : (digit <= 5 ? 5 : 10)));
}

static bool draw_contacts(
	const carom_world *world, const view_frame *view, const view_picture_options *options, double deepest, view_image *image)
{
	mark *marks = malloc((size_t)options->contact_count * sizeof *marks);
	int count = 0;
	const bool good = marks && collect_marks(world, view, options, marks, &count);
	for (int i = 0; i < count; ++i)
		draw_mark(view, &marks[i], &options->contacts[marks[i].contact], deepest, image);
	free(marks);
	return good;
}

/// Pixels of a letter's dot, and where the text begins; both grow with the picture.
static int letter_scale(const view_image *image) { return image->height >= 720 ? image->height / 360 : 1; }

static int text_top(const view_image *image) { return image->height - 11 * letter_scale(image); }

void view_draw_caption(view_image *image, const char *caption)
{
	const int scale = letter_scale(image);
	for (int y = text_top(image) - 4 * scale > 0 ? text_top(image) - 4 * scale : 0; y < image->height; ++y) {
		for (int x = 0; x < image->width; ++x)
			view_image_blend(image, x, y, DARK, 0.55);
	}
	if (caption)
		view_image_text(image, 6 * scale, text_top(image), scale, LIGHT, caption);
}

void view_draw_color_scale(view_image *image, const char *label, double highest, view_rgb (*color)(double part))
{
	char text[32];
	snprintf(text, sizeof text, "%.2g", highest);
	const int scale = letter_scale(image), top = text_top(image);
	const int bar = 48 * scale, gap = 6 * scale;
	const int right = image->width - gap - 6 * scale * (int)strlen(text);
	const int left = right - gap - bar;
	for (int x = 0; x < bar; ++x) {
		for (int y = 0; y < 7 * scale; ++y)
			view_image_blend(image, left + x, top + y, color((double)x / bar), 1);
	}
	view_image_text(image, right, top, scale, LIGHT, text);
	view_image_text(image, left - gap - (int)strlen(label) * 6 * scale, top, scale, LIGHT, label);
}

bool view_draw_overlay(const carom_world *world, const view_frame *view, const view_picture_options *options, view_image *image)
{
	const double deepest = find_deepest(options);
	if (options->contact_count > 0 && !draw_contacts(world, view, options, deepest, image))
		return false;
	if (options->caption || options->contact_count > 0)
		view_draw_caption(image, options->caption);
	if (options->contact_count > 0)
		view_draw_color_scale(image, "DEPTH 0", deepest, heat);
	return true;
}
