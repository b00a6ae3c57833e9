// Contacts of deforming bodies and of spheres as files: see run_points.h.
#include "run_points.h"

#include "report.h"

#include "io/contact_file.h"

#include <unistd.h>

static int save(const char *path, sim_contact_points *points, bool listed, const char *reason)
{
	sim_error error;
	int status = listed ? EXIT_DONE : report_error(path, "%s", reason);
	if (listed && !io_save_contacts(path, points, &error))
		status = report_error(path, "%s", error.text);
	sim_free_contact_points(points);
	return status;
}

int run_write_deforming_points(const run *r, int64_t frame)
{
	char name[64], path[IO_PATH_MAX];
	sim_contact_points points = { 0 };
	snprintf(name, sizeof name, "frames/contacts_%06lld.csv", (long long)frame);
	run_out_path(r->options, name, path);
	unlink(path);
	if (!r->scene.output.contacts)
		return EXIT_DONE;
	const bool listed = sim_soft_list_contacts(r->parts.soft, &points);
	return save(path, &points, listed, "out of memory");
}

int run_write_sphere_points(const run *r, const sim_granular_frame *now)
{
	char name[64], path[IO_PATH_MAX];
	sim_error error = { "" };
	sim_contact_points points = { 0 };
	snprintf(name, sizeof name, "contacts_%09lld.csv", (long long)r->parts.steps);
	run_out_path(r->options, name, path);
	unlink(path);
	if (!r->scene.output.contacts)
		return EXIT_DONE;
	const bool listed = sim_granular_list_contacts(r->parts.granular, now, &points, &error);
	return save(path, &points, listed, error.text);
}
