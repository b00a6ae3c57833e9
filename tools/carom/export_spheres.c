// Spheres in a page: the files for ParaView of a run become a track of centres.
#include "export.h"
#include "options.h"
#include "report.h"

#include "web/track.h"

#include <stdlib.h>
#include <string.h>

static double mean_radius(const export_spheres *spheres)
{
	double sum = 0;
	for (int64_t i = 0; i < spheres->count; i++)
		sum += spheres->radii[i];
	return spheres->count > 0 ? sum / (double)spheres->count : 0;
}

/// Read the spheres of a moment. Where they come and go, each must have an id of its own.
static int load_moment(const export_spheres *s, int64_t frame, io_vtk_spheres *spheres)
{
	sim_error error;
	if (!io_read_vtk_moment(&s->list, frame, spheres, &error))
		return report_error(NULL, "%s", error.text);
	int64_t last = -1;
	for (int64_t i = 0; s->by_id && i < spheres->count; i++) {
		const int64_t id = spheres->ids ? (int64_t)spheres->ids[i] : -1;
		if (id <= last || id >= s->count) {
			io_free_vtk_spheres(spheres);
			return report_error(s->list.folder, "step %lld: the ids of the spheres do not rise, or summary.json tells of fewer",
				(long long)s->list.steps[frame]);
		}
		last = id;
	}
	return EXIT_DONE;
}

/// Spheres that come and go, as in a recording of library calls: each has the largest radius that
/// it ever has.
static int find_radii(export_spheres *s)
{
	s->radii = calloc((size_t)s->count + 1, sizeof *s->radii);
	if (!s->radii)
		return report_error(NULL, "out of memory");
	for (int64_t frame = 0; frame < s->list.count; frame++) {
		io_vtk_spheres spheres;
		if (load_moment(s, frame, &spheres) != EXIT_DONE)
			return EXIT_FAILED;
		for (int64_t i = 0; i < spheres.count; i++) {
			float *radius = &s->radii[spheres.ids[i]];
			*radius = spheres.radii[i] > *radius ? spheres.radii[i] : *radius;
		}
		io_free_vtk_spheres(&spheres);
	}
	return EXIT_DONE;
}

/// The spheres of the first moment are those of all.
static int take_first(export_spheres *s)
{
	io_vtk_spheres first;
	if (load_moment(s, 0, &first) != EXIT_DONE)
		return EXIT_FAILED;
	s->count = first.count;
	s->radii = first.radii;
	first.radii = NULL;
	io_free_vtk_spheres(&first);
	return EXIT_DONE;
}

int export_open_spheres(export_source *source, const char *path)
{
	sim_error error;
	const cJSON *places = cJSON_GetObjectItem(cJSON_GetObjectItem(source->summary, "spheres"), "places");
	export_spheres *s = source->spheres = calloc(1, sizeof *s);
	if (!s)
		return report_error(NULL, "out of memory");
	if (!io_read_pvd(path, &s->list, &error))
		return report_error(NULL, "%s", error.text);
	if (s->list.count == 0)
		return report_error(path, "names no files");
	s->by_id =
		export_is_of_calls(source) && cJSON_IsNumber(places) && places->valuedouble >= 1 && places->valuedouble <= UINT32_MAX;
	s->count = s->by_id ? (int64_t)places->valuedouble : 0;
	if ((s->by_id ? find_radii : take_first)(s) != EXIT_DONE)
		return EXIT_FAILED;
	s->every = 1;
	s->quantum = page_sphere_quantum(mean_radius(s));
	s->track =
		(export_track){ .name = "spheres", .frames = s->list.count, .count = 3 * s->count, .stride = 3, .times = s->list.times };
	return EXIT_DONE;
}

int export_load_spheres(const export_spheres *s, int64_t frame, io_vtk_spheres *spheres)
{
	if (load_moment(s, frame, spheres) != EXIT_DONE)
		return EXIT_FAILED;
	if (s->by_id || spheres->count == s->count)
		return EXIT_DONE;
	const int64_t found = spheres->count;
	io_free_vtk_spheres(spheres);
	return report_error(s->list.folder, "step %lld has %lld spheres, and the first file has %lld: these are of different runs",
		(long long)s->list.steps[frame], (long long)found, (long long)s->count);
}

int export_read_spheres(export_spheres *s, int64_t frame, int32_t *values)
{
	io_vtk_spheres spheres;
	if (export_load_spheres(s, frame, &spheres) != EXIT_DONE)
		return EXIT_FAILED;
	for (int64_t k = 0; s->by_id && k < s->track.count; k++)
		values[k] = WEB_ABSENT;
	for (int64_t i = 0; i < spheres.count; i++) {
		const int64_t number = s->by_id ? (int64_t)spheres.ids[i] : i;
		for (int k = 0; k < 3 && number % s->every == 0; k++)
			values[3 * (number / s->every) + k] = web_quantise(spheres.centres[3 * i + k], s->quantum);
	}
	io_free_vtk_spheres(&spheres);
	return EXIT_DONE;
}

bool export_add_spheres(const export_spheres *s, web_page *page, sim_error *error)
{
	const int64_t kept = s->track.count / 3;
	float *radii = malloc((size_t)kept * sizeof *radii + 1);
	if (!radii)
		return sim_fail(error, "out of memory");
	for (int64_t i = 0; i < kept; i++)
		radii[i] = s->radii[i * s->every];
	const bool done = web_page_add(page, "radii", radii, (size_t)kept * sizeof *radii, error);
	free(radii);
	return done;
}

void export_close_spheres(export_spheres *s)
{
	if (!s)
		return;
	io_free_vtk_list(&s->list); // with the times of the track
	free(s->radii);
	free(s);
}
