// Contacts of deforming bodies and of spheres in a page: files of points that `carom run
// --contacts` wrote beside the frames become a block for each frame.
#include "export.h"
#include "options.h"
#include "report.h"

#include "io/contact_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// The file of a frame of a track.
static void points_path(const export_source *source, const export_track *track, int64_t frame, char path[IO_PATH_MAX])
{
	const export_spheres *s = source->spheres;
	if (source->deforming && track == &source->deforming->track)
		snprintf(path, IO_PATH_MAX, "%s/contacts_%06lld.csv", source->deforming->folder, (long long)frame);
	else
		snprintf(path, IO_PATH_MAX, "%s/contacts_%09lld.csv", s->list.folder, (long long)s->list.steps[frame]);
}

bool export_has_points(const export_source *source, const export_track *track)
{
	char path[IO_PATH_MAX];
	if (source->bodies && track == &source->bodies->track)
		return false;
	for (int64_t i = 0; i < track->frames; i++) {
		points_path(source, track, i, path);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

int export_load_points(
	const export_source *source, const export_track *track, int64_t frame, sim_contact_points *points, bool *there)
{
	char path[IO_PATH_MAX];
	sim_error error;
	points_path(source, track, frame, path);
	*there = access(path, F_OK) == 0;
	return !*there || io_load_contacts(path, points, &error) ? EXIT_DONE : report_error(path, "%s", error.text);
}

/// A frame whose file is not there has a block that says that its points are not known.
static int add_frame(
	const export_source *source, const export_track *track, int64_t frame, const char *name, double quantum, web_page *page)
{
	sim_error error;
	sim_contact_points points = { 0 };
	bool there;
	int64_t count;
	if (export_load_points(source, track, frame, &points, &there) != EXIT_DONE)
		return EXIT_FAILED;
	int32_t *values = page_fill_points(there ? &points : NULL, quantum, &count);
	const bool done =
		values ? page_add_values(page, name, values, count, PAGE_POINT_NUMBERS, &error) : sim_fail(&error, "out of memory");
	free(values);
	sim_free_contact_points(&points);
	return done || page->is_full ? EXIT_DONE : report_error(NULL, "%s", error.text);
}

int export_add_points(const export_source *source, const export_track *track, int64_t every, double quantum, web_page *page)
{
	char name[64];
	if (!export_has_points(source, track))
		return EXIT_DONE;
	for (int64_t i = 0; i * every < track->frames && !page->is_full; i++) {
		snprintf(name, sizeof name, "points-%s-%lld", track->name, (long long)i);
		if (add_frame(source, track, i * every, name, quantum, page) != EXIT_DONE)
			return EXIT_FAILED;
	}
	return EXIT_DONE;
}
