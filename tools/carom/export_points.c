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

/// A frame whose file is not there has a block that says that its points are not known.
static bool add_frame(const char *path, const char *name, double quantum, web_page *page, sim_error *error)
{
	sim_contact_points points = { 0 };
	const bool there = access(path, F_OK) == 0;
	int64_t count;
	if (there && !io_load_contacts(path, &points, error)) {
		report_error(path, "%s", error->text);
		return false;
	}
	int32_t *values = page_fill_points(there ? &points : NULL, quantum, &count);
	const bool done =
		values ? page_add_values(page, name, values, count, PAGE_POINT_NUMBERS, error) : sim_fail(error, "out of memory");
	if (!done && !page->is_full)
		report_error(NULL, "%s", error->text);
	free(values);
	sim_free_contact_points(&points);
	return done;
}

int export_add_points(const export_source *source, const export_track *track, int64_t every, double quantum, web_page *page)
{
	char path[IO_PATH_MAX], name[64];
	sim_error error = { "" };
	if (!export_has_points(source, track))
		return EXIT_DONE;
	for (int64_t i = 0; i * every < track->frames && !page->is_full; i++) {
		points_path(source, track, i * every, path);
		snprintf(name, sizeof name, "points-%s-%lld", track->name, (long long)i);
		if (!add_frame(path, name, quantum, page, &error) && !page->is_full)
			return EXIT_FAILED;
	}
	return EXIT_DONE;
}
