/// Places of surfaces that move. See surface/surface.h.
#include "surface/surface.h"
#include "mesh/strided.h"

static size_t place_bytes(const cr_surface *s) { return 3 * (size_t)s->vertex_count * sizeof(double); }

carom_result cr_surface_init(
	carom_context *memory, const cr_collider *rest, const carom_mesh_report *report, bool solid, cr_surface *s)
{
	*s = (cr_surface){ .memory = memory,
		.faces = rest->topology,
		.all_used = report->unreferenced_vertices == 0,
		.vertex_count = rest->topology->vertex_count,
		.revision = 1 };
	cr_surface_tree_init(&s->tree, rest, report, solid);
	s->begin = cr_alloc(memory, place_bytes(s));
	s->end = cr_alloc(memory, place_bytes(s));
	const bool made = !solid || cr_parts_build(memory, rest, &s->parts);
	if (made && (s->vertex_count == 0 || (s->begin && s->end)))
		return CAROM_SUCCESS;
	cr_surface_free(s);
	return cr_fail_memory(memory, "a deforming body");
}

void cr_surface_free(cr_surface *s)
{
	if (!s->memory)
		return;
	cr_surface_tree_free(s->memory, &s->tree);
	cr_parts_free(s->memory, &s->parts);
	cr_free(s->memory, s->begin, place_bytes(s));
	cr_free(s->memory, s->end, place_bytes(s));
	*s = (cr_surface){ 0 };
}

static void add_place(const double *place, double lower[3], double upper[3])
{
	for (int k = 0; k < 3; k++) {
		lower[k] = place[k] < lower[k] ? place[k] : lower[k];
		upper[k] = place[k] > upper[k] ? place[k] : upper[k];
	}
}

/// The end was written, and its largest coordinate is known: measure the box.
static void touch_end(cr_surface *s)
{
	double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
	if (s->all_used) {
		for (int64_t i = 0; i < s->vertex_count; i++)
			add_place(&s->end[3 * i], lower, upper);
	} else {
		for (int64_t i = 0; i < 3 * (int64_t)s->faces->triangle_count; i++)
			add_place(&s->end[3 * (int64_t)s->faces->triangles[i]], lower, upper);
	}
	memcpy(s->lower, lower, sizeof lower);
	memcpy(s->upper, upper, sizeof upper);
	s->revision = s->revision == UINT32_MAX ? 1 : s->revision + 1;
}

static double largest_of(const double *places, int32_t count)
{
	double largest = 0;
	for (int64_t i = 0; i < 3 * (int64_t)count; i++)
		largest = fabs(places[i]) > largest ? fabs(places[i]) : largest;
	return largest;
}

void cr_surface_touch(cr_surface *s)
{
	s->largest_begin = largest_of(s->begin, s->vertex_count);
	s->largest_end = largest_of(s->end, s->vertex_count);
	touch_end(s);
	cr_parts_measure(s->end, -1, &s->parts);
}

/// How far a vertex of the form in float may be from its place.
static double largest_slack(const cr_surface *s)
{
	return cr_surface_slack(s, 0) + cr_surface_slack(s, 1) + cr_surface_slack(s, 2);
}

double cr_surface_set_end(cr_surface *s, const carom_strided *places)
{
	const double slack = largest_slack(s);
	double farthest = 0, largest = 0;
	for (int64_t i = 0; i < s->vertex_count; i++) {
		double *p = &s->end[3 * i], next[3], squares = 0;
		if (places)
			cr_read_strided(places, 3, i, next);
		else
			memcpy(next, &s->begin[3 * i], sizeof next);
		for (int k = 0; k < 3; k++) {
			squares += (next[k] - p[k]) * (next[k] - p[k]);
			largest = fabs(next[k]) > largest ? fabs(next[k]) : largest;
			p[k] = next[k];
		}
		farthest = squares > farthest ? squares : farthest;
		if (s->parts.moved)
			s->parts.moved[i] = cr_part_square(squares);
	}
	s->largest_end = largest;
	touch_end(s);
	// Places of all vertices are rounded about another middle, once one has moved.
	const double rounding = farthest > 0 ? slack + largest_slack(s) : 0;
	cr_parts_measure(s->end, rounding, &s->parts);
	// A point of a triangle moves no farther than one of its corners.
	return farthest > 0 ? sqrt(farthest) * (1 + 0x1p-48) + rounding : 0;
}

void cr_surface_rest(cr_surface *s)
{
	if (s->vertex_count > 0)
		memcpy(s->begin, s->end, place_bytes(s));
	s->largest_begin = s->largest_end;
}

double cr_surface_volume(const cr_surface *s)
{
	const cr_topology *t = s->faces;
	const v3d middle = cr_surface_middle(s);
	double sum = 0, size = 0;
	for (int32_t i = 0; i < t->triangle_count; i++) {
		v3d p[3];
		for (int k = 0; k < 3; k++)
			p[k] = v3d_sub(cr_place_of(s->end, t->triangles[3 * (int64_t)i + k]), middle);
		const double volume = t->used[i] ? v3d_dot(p[0], v3d_cross(p[1], p[2])) / 6 : 0;
		sum += volume;
		size += fabs(volume);
	}
	return fabs(sum) > CR_VOLUME_NOISE * size ? sum : 0;
}

v3d cr_surface_middle(const cr_surface *s) { return cr_middle_of_box(s->lower, s->upper); }

void cr_surface_round(const cr_surface *s, float *vertices)
{
	cr_round_places(s->end, cr_surface_middle(s), s->vertex_count, vertices);
}

double cr_surface_slack(const cr_surface *s, int axis)
{
	// A place about the middle is rounded to double and to float.
	const double half = 0.5 * (s->upper[axis] - s->lower[axis]);
	return half >= 0 ? half * 0x1p-23 + (fabs(s->lower[axis]) + fabs(s->upper[axis])) * 0x1p-50 : 0;
}

carom_result cr_surface_see(cr_surface *s) { return cr_surface_tree_update(s->memory, &s->tree, s->end, s->lower, s->upper); }
