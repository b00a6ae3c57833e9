// Files of spheres that the user named. See sphere_source.h.
#include "sphere_source.h"

#include "options.h"
#include "report.h"

#include <math.h>
#include <string.h>

bool sphere_source_load(const char *path, const sphere_source_options *options, io_sphere_set *spheres)
{
	const io_sphere_reading reading = { .default_radius = options->radius, .wide = options->wide };
	sim_error error;
	if (!io_load_spheres(path, &reading, spheres, &error)) {
		const bool lacks_radii = options->radius < 0 && strstr(error.text, "has no radii") != NULL;
		report_error(path, "%s%s", error.text, lacks_radii ? "; --radius R gives all spheres one" : "");
		return false;
	}
	if (options->radius < 0 || !spheres->has_radii)
		return true;
	report_error(path, "has radii of its own; leave --radius out");
	io_free_spheres(spheres);
	return false;
}

// ---- Information ----

typedef struct sphere_facts {
	double lower[3], upper[3]; // box of the spheres
	double least, mean, most;  // of the radii
	double volume;             // sum of the spheres' volumes
	double room;               // volume of the walls, or of the box of the spheres
} sphere_facts;

static double box_volume(const double lower[3], const double upper[3])
{
	return (upper[0] - lower[0]) * (upper[1] - lower[1]) * (upper[2] - lower[2]);
}

static sphere_facts examine(const io_sphere_set *set)
{
	static const double pi = 3.14159265358979323846;
	sphere_facts f = { { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY }, INFINITY, 0, 0, 0, 0 };
	for (int64_t i = 0; i < set->count; i++) {
		double s[4];
		io_get_sphere(set, i, s);
		for (int axis = 0; axis < 3; axis++) {
			f.lower[axis] = fmin(f.lower[axis], s[axis] - s[3]);
			f.upper[axis] = fmax(f.upper[axis], s[axis] + s[3]);
		}
		f.least = fmin(f.least, s[3]);
		f.most = fmax(f.most, s[3]);
		f.mean += s[3];
		f.volume += 4.0 / 3.0 * pi * s[3] * s[3] * s[3];
	}
	if (set->count == 0)
		return (sphere_facts){ 0 };
	f.mean /= (double)set->count;
	double walls[2][3];
	for (int axis = 0; axis < 3; axis++) {
		walls[0][axis] = (double)set->lower[axis];
		walls[1][axis] = (double)set->upper[axis];
	}
	f.room = set->has_walls ? box_volume(walls[0], walls[1]) : box_volume(f.lower, f.upper);
	return f;
}

static void add_floats(cJSON *json, const char *name, const float v[3])
{
	const double wide[3] = { (double)v[0], (double)v[1], (double)v[2] };
	report_add_vector(json, name, wide);
}

static int print_json(const io_sphere_set *set, const sphere_facts *f)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "kind", "spheres");
	cJSON_AddNumberToObject(json, "spheres", (double)set->count);
	report_add_vector(json, "lower", f->lower);
	report_add_vector(json, "upper", f->upper);
	if (set->has_radii) {
		cJSON *radius = cJSON_AddObjectToObject(json, "radius");
		cJSON_AddNumberToObject(radius, "least", f->least);
		cJSON_AddNumberToObject(radius, "mean", f->mean);
		cJSON_AddNumberToObject(radius, "most", f->most);
		cJSON_AddNumberToObject(json, "volume", f->volume);
		if (f->room > 0)
			cJSON_AddNumberToObject(json, "volume_fraction", f->volume / f->room);
	}
	if (set->has_walls) {
		cJSON *walls = cJSON_AddObjectToObject(json, "walls");
		add_floats(walls, "lower", set->lower);
		add_floats(walls, "upper", set->upper);
	}
	if (set->has_expected) {
		cJSON *expected = cJSON_AddObjectToObject(json, "expected");
		cJSON_AddNumberToObject(expected, "pairs", (double)set->expected_pairs);
		report_add_hash(expected, "hash", set->expected_hash);
	}
	return report_json(json);
}

static int print_text(const char *path, const io_sphere_set *set, const sphere_facts *f)
{
	printf("%s: %lld spheres\n", path, (long long)set->count);
	printf("  %-12s %.9g %.9g %.9g to %.9g %.9g %.9g\n", "box", f->lower[0], f->lower[1], f->lower[2], f->upper[0], f->upper[1],
		f->upper[2]);
	if (set->has_walls)
		printf("  %-12s %.9g %.9g %.9g to %.9g %.9g %.9g\n", "walls", (double)set->lower[0], (double)set->lower[1],
			(double)set->lower[2], (double)set->upper[0], (double)set->upper[1], (double)set->upper[2]);
	if (!set->has_radii)
		printf("  %-12s none\n", "radii");
	else
		printf("  %-12s %.9g to %.9g, mean %.9g\n", "radii", f->least, f->most, f->mean);
	if (set->has_radii && f->room > 0)
		printf("  %-12s %.9g, a part of %.4g of the %s\n", "volume", f->volume, f->volume / f->room,
			set->has_walls ? "walls' box" : "box");
	if (set->has_expected)
		printf("  %-12s %llu that touch, hash %016llx\n", "pairs", (unsigned long long)set->expected_pairs,
			(unsigned long long)set->expected_hash);
	return report_end_of_text();
}

int sphere_source_show(io_input *input, bool json)
{
	const io_sphere_reading reading = { .default_radius = 0, .wide = true };
	sim_error error;
	io_sphere_set set;
	if (!io_read_spheres(input, &reading, &set, &error))
		return report_error(input->path, "%s", error.text);
	const sphere_facts facts = examine(&set);
	const int status = json ? print_json(&set, &facts) : print_text(input->path, &set, &facts);
	io_free_spheres(&set);
	return status;
}
