// The list of shapes, the one door to their makers, and their common last steps: outward triangles
// and rounded floats.
#include "sim/shapes/shape_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const sim_shape_info SHAPES[] = {
	{ "lumpy", "a lumpy body with two long ears and a snout; any even number of triangles" },
	{ "sphere", "a sphere of even triangles; any even number" },
	{ "torus", "a ring; 2 * n * m triangles" },
	{ "knot", "a trefoil knot of a round tube; 2 * n * m triangles" },
	{ "lock", "a thick C that hooks into others of its kind; 2 * n * m triangles" },
	{ "box", "a cube; 12 * k * k triangles" },
	{ "gear", "a spur gear with a bore; 32 triangles for each of 6 teeth or more" },
	{ "L", "three cubes in an L; 28 * k * k triangles" },
};

const sim_shape_info *sim_shape_list(int32_t *count)
{
	*count = (int32_t)(sizeof SHAPES / sizeof *SHAPES);
	return SHAPES;
}

/// The angle of a number of turns, from the nearest quarter of a turn on.
static double angle_of(double turns, int *quarter)
{
	const double two_pi = 6.283185307179586476925;
	double fraction = turns - floor(turns);
	*quarter = (int)(4 * fraction + 0.5);
	return (fraction - 0.25 * *quarter) * two_pi;
}

void sim_sincos(double turns, double *sine, double *cosine)
{
	int quarter;
	double x = angle_of(turns, &quarter);
	double square = x * x;
	// Taylor series on an eighth of a turn either side: the first term left out is below 1e-17.
	double s = 1, c = 1;
	for (int n = 16; n >= 2; n -= 2) {
		s = 1 - s * square / (n * (n + 1));
		c = 1 - c * square / (n * (n - 1));
	}
	s *= x;
	*sine = quarter % 4 == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
	*cosine = quarter % 4 == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
}

void sim_sines(const double turns[SIM_SINES], double sines[SIM_SINES])
{
	double x[SIM_SINES], square[SIM_SINES], after[SIM_SINES];
	int quarter[SIM_SINES];
	for (int i = 0; i < SIM_SINES; i++) {
		x[i] = angle_of(turns[i], &quarter[i]);
		square[i] = x[i] * x[i];
		after[i] = quarter[i] % 2 ? -1 : 1; // the series of the cosine, or of the sine
		sines[i] = 1;
	}
	for (double n = 16; n >= 2; n -= 2) {
		for (int i = 0; i < SIM_SINES; i++)
			sines[i] = 1 - sines[i] * square[i] / (n * (n + after[i]));
	}
	for (int i = 0; i < SIM_SINES; i++) {
		sines[i] = quarter[i] % 2 ? sines[i] : sines[i] * x[i];
		sines[i] = quarter[i] % 4 < 2 ? sines[i] : -sines[i];
	}
}

bool sim_surface_alloc(sim_surface *surface, int32_t vertex_count, int32_t triangle_count)
{
	memset(surface, 0, sizeof *surface);
	surface->points = calloc((size_t)vertex_count, sizeof *surface->points);
	surface->triangles = calloc(3 * (size_t)triangle_count, sizeof *surface->triangles);
	surface->neighbours = calloc(3 * (size_t)triangle_count, sizeof *surface->neighbours);
	if (surface->points == NULL || surface->triangles == NULL || surface->neighbours == NULL) {
		sim_surface_free(surface);
		return false;
	}
	surface->vertex_count = vertex_count;
	surface->triangle_count = triangle_count;
	return true;
}

void sim_surface_free(sim_surface *surface)
{
	free(surface->points);
	free(surface->triangles);
	free(surface->neighbours);
	memset(surface, 0, sizeof *surface);
}

bool sim_mesh_round(sim_mesh *mesh)
{
	const size_t count = 3 * (size_t)mesh->vertex_count;
	mesh->vertices = malloc(count * sizeof *mesh->vertices + 1);
	if (!mesh->vertices)
		return false;
	bool differs = false;
	for (size_t i = 0; i < count; i++) {
		const double value = mesh->doubles[i];
		mesh->vertices[i] = (float)value;
		differs = differs || (value == value && (double)mesh->vertices[i] != value);
	}
	if (!differs) {
		free(mesh->doubles);
		mesh->doubles = NULL;
	}
	return true;
}

void sim_mesh_free(sim_mesh *mesh)
{
	free(mesh->vertices);
	free(mesh->doubles);
	free(mesh->triangles);
	free(mesh->materials);
	free(mesh->material_names);
	free(mesh->baked);
	memset(mesh, 0, sizeof *mesh);
}

/// Turn the triangles outwards: makers need not care which way their rings run.
static void face_outwards(sim_surface *surface)
{
	double volume = 0;
	for (int32_t i = 0; i < surface->triangle_count; i++) {
		const int32_t *corner = surface->triangles + 3 * i;
		const carom_vec3 *points = surface->points;
		volume += sim_dot(points[corner[0]], sim_cross(points[corner[1]], points[corner[2]]));
	}
	for (int32_t i = 0; volume < 0 && i < surface->triangle_count; i++) {
		int32_t *corner = surface->triangles + 3 * i;
		int32_t second = corner[1];
		corner[1] = corner[2];
		corner[2] = second;
	}
}

static float rounded(double x)
{
	const double steps = 1 << 20;
	return (float)(floor(x * steps + 0.5) / steps);
}

/// Take over the triangles of the surface and copy its points.
static bool finish(sim_surface *surface, sim_mesh *mesh)
{
	mesh->vertices = calloc(3 * (size_t)surface->vertex_count, sizeof *mesh->vertices);
	if (mesh->vertices == NULL) {
		return false;
	}
	face_outwards(surface);
	for (int32_t i = 0; i < surface->vertex_count; i++) {
		mesh->vertices[3 * i] = rounded(surface->points[i].x);
		mesh->vertices[3 * i + 1] = rounded(surface->points[i].y);
		mesh->vertices[3 * i + 2] = rounded(surface->points[i].z);
	}
	mesh->vertex_count = surface->vertex_count;
	mesh->triangle_count = surface->triangle_count;
	mesh->triangles = surface->triangles;
	surface->triangles = NULL;
	return true;
}

static bool make(const char *shape, int32_t triangles, uint64_t seed, sim_surface *surface, sim_error *error)
{
	if (strcmp(shape, "lumpy") == 0) {
		return sim_make_lumpy(triangles, seed, surface, error);
	}
	if (strcmp(shape, "sphere") == 0) {
		return sim_make_sphere(triangles, surface, error);
	}
	if (strcmp(shape, "box") == 0 || strcmp(shape, "L") == 0) {
		return sim_make_blocks(shape, triangles, surface, error);
	}
	if (strcmp(shape, "gear") == 0) {
		return sim_make_gear(triangles, surface, error);
	}
	return sim_make_tube(shape, triangles, surface, error);
}

static bool is_known(const char *shape, sim_error *error)
{
	char names[128] = "";
	size_t used = 0;
	for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) {
		if (strcmp(shape, SHAPES[i].name) == 0) {
			return true;
		}
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", SHAPES[i].name);
	}
	return sim_fail(error, "no shape is called '%s'; there are %s", shape, names);
}

bool sim_make_shape(const char *shape, int32_t triangles, uint64_t seed, sim_mesh *mesh, sim_error *error)
{
	sim_fail(error, "%s", "");
	memset(mesh, 0, sizeof *mesh);
	if (!is_known(shape, error)) {
		return false;
	}
	if (triangles < SIM_MIN_SHAPE_TRIANGLES || triangles > SIM_MAX_SHAPE_TRIANGLES) {
		return sim_fail(error, "%d triangles are asked for; the number must be in %d to %d", triangles, SIM_MIN_SHAPE_TRIANGLES,
			SIM_MAX_SHAPE_TRIANGLES);
	}
	sim_surface surface;
	memset(&surface, 0, sizeof surface);
	bool made = make(shape, triangles, seed, &surface, error) && finish(&surface, mesh);
	sim_surface_free(&surface);
	if (!made && error && error->text[0] == '\0') {
		sim_fail(error, "out of memory while making %s of %d triangles", shape, triangles);
	}
	return made;
}
