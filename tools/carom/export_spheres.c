// Spheres in a page: the files for ParaView of a run become a track of centres.
#include "export.h"
#include "options.h"
#include "report.h"

#include "web/track.h"

#include <stdlib.h>
#include <string.h>

static double mean_radius(const io_vtk_spheres *spheres)
{
	double sum = 0;
	for (int64_t i = 0; i < spheres->count; i++)
		sum += spheres->radii[i];
	return spheres->count > 0 ? sum / (double)spheres->count : 0;
}

int export_open_spheres(export_source *source, const char *path)
{
	sim_error error;
	io_vtk_spheres first;
	export_spheres *s = source->spheres = calloc(1, sizeof *s);
	if (!s)
		return report_error(NULL, "out of memory");
	if (!io_read_pvd(path, &s->list, &error))
		return report_error(NULL, "%s", error.text);
	if (s->list.count == 0)
		return report_error(path, "names no files");
	if (!io_read_vtk_moment(&s->list, 0, &first, &error))
		return report_error(NULL, "%s", error.text);
	s->count = first.count;
	s->every = 1;
	s->quantum = page_sphere_quantum(mean_radius(&first));
	s->radii = first.radii;
	first.radii = NULL;
	io_free_vtk_spheres(&first);
	s->track =
		(export_track){ .name = "spheres", .frames = s->list.count, .count = 3 * s->count, .stride = 3, .times = s->list.times };
	return EXIT_DONE;
}

int export_load_spheres(const export_spheres *s, int64_t frame, io_vtk_spheres *spheres)
{
	sim_error error;
	if (!io_read_vtk_moment(&s->list, frame, spheres, &error))
		return report_error(NULL, "%s", error.text);
	if (spheres->count == s->count)
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
	for (int64_t i = 0; i < s->count; i += s->every) {
		for (int k = 0; k < 3; k++)
			*values++ = web_quantise(spheres.centres[3 * i + k], s->quantum);
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
