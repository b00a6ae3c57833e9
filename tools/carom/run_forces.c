// forces.csv: see run_forces.h. A row is the mean over the steps since the row before, so the rows
// of a wall, times their durations, add up to all momentum that it has got.
#include "run_forces.h"

#include "report.h"

#include <string.h>

static const char names[] = "step,time,name,body,force_x,force_y,force_z,torque_x,torque_y,torque_z,touches\n";

// ---- The file ----

/// The rows of the steps before, of PATH.part after a run that was killed, else of PATH. NULL:
/// none.
static FILE *open_rows_before(const char *path)
{
	char part[IO_PATH_MAX + 8];
	snprintf(part, sizeof part, "%s.part", path);
	FILE *rows = fopen(part, "rb");
	return rows ? rows : fopen(path, "rb");
}

static void copy_rows(FILE *from, FILE *to, int64_t last_step)
{
	char row[RUN_ROW_SIZE];
	long long step;
	while (run_next_row(from, row, &step)) {
		if (step <= last_step)
			fputs(row, to);
	}
}

int run_open_forces(run *r, run_forces *f)
{
	char path[IO_PATH_MAX];
	sim_error error;
	f->last = r->parts.steps;
	if (r->scene.output.forces == 0 || !r->options->out)
		return EXIT_DONE;
	if (!sim_granular_watch_walls(r->parts.granular, &error))
		return report_error(r->options->scene, "field \"output.forces\": %s", error.text);
	if (!run_is_first(r))
		return EXIT_DONE;
	run_out_path(r->options, "forces.csv", path);
	FILE *before = run_continues_in_place(r->options) ? open_rows_before(path) : NULL;
	const bool open = io_output_open_beside(&f->file, path, &error);
	if (open) {
		fputs(names, f->file.stream);
		if (before)
			copy_rows(before, f->file.stream, r->parts.steps);
	}
	if (before)
		fclose(before);
	if (!open || !io_output_take_part(&f->file, &error))
		return report_error(path, "%s", error.text);
	return EXIT_DONE;
}

int run_close_forces(run_forces *f) { return f->file.stream ? report_commit(&f->file) : EXIT_DONE; }

void run_drop_forces(run_forces *f) { io_output_abandon(&f->file); }

// ---- Rows ----

/// A name as a field of the table.
static void put_name(FILE *file, const char *name)
{
	if (!strpbrk(name, ",\"\n")) {
		fputs(name, file);
		return;
	}
	fputc('"', file);
	for (; *name; name++) {
		if (*name == '"')
			fputc('"', file);
		fputc(*name == '\n' ? ' ' : *name, file);
	}
	fputc('"', file);
}

/// body: number of the body in the scene; -1: a wall.
static void put_row(const run *r, const run_forces *f, const char *name, int32_t body, const sim_granular_wall_sum *sum)
{
	FILE *file = f->file.stream;
	const double steps = (double)(r->parts.steps - f->last), seconds = steps * r->scene.time_step;
	fprintf(file, "%lld,%.9g,", (long long)r->parts.steps, run_time(r));
	put_name(file, name);
	fprintf(file, ",%d", (int)body);
	for (int k = 0; k < 3; k++)
		fprintf(file, ",%.17g", sum->impulse[k] / seconds);
	for (int k = 0; k < 3; k++)
		fprintf(file, ",%.17g", sum->angular_impulse[k] / seconds);
	fprintf(file, ",%.6g\n", (double)sum->touches / (steps * r->scene.spheres.substeps));
}

static void put_walls(const run *r, const run_forces *f, const sim_granular_wall_sum walls[SIM_GRANULAR_WALL_SUMS])
{
	const scene_spheres *section = &r->scene.spheres;
	for (int i = 0; i < 6; i++) {
		if (section->def.faces[i])
			put_row(r, f, scene_face_words[i], -1, &walls[i]);
	}
	for (int i = 0; i < section->def.moving_count; i++) {
		char name[32];
		snprintf(name, sizeof name, "moving_walls[%d]", i);
		put_row(r, f, name, -1, &walls[6 + i]);
	}
}

/// All ranks ask for the sums; the first one has the file.
static bool put_obstacles(const run *r, const run_forces *f, sim_error *error)
{
	const scene_spheres *section = &r->scene.spheres;
	for (int32_t i = 0; i < section->obstacle_count; i++) {
		sim_granular_wall_sum sum;
		if (!scene_meeting_take_sum(r->parts.sphere_meeting, i, &sum, error))
			return false;
		if (f->file.stream)
			put_row(r, f, r->scene.rigid.bodies[section->obstacles[i]].name, section->obstacles[i], &sum);
	}
	return true;
}

int run_write_forces(run *r, run_forces *f)
{
	sim_granular_wall_sum walls[SIM_GRANULAR_WALL_SUMS];
	sim_error error;
	const int64_t every = r->scene.output.forces, now = r->parts.steps;
	if (every == 0 || !r->options->out || now == f->last || (now % every != 0 && now != r->scene.steps))
		return EXIT_DONE;
	if (!sim_granular_take_wall_sums(r->parts.granular, walls, &error))
		return report_error(NULL, "%s", error.text);
	if (f->file.stream)
		put_walls(r, f, walls);
	if (!put_obstacles(r, f, &error))
		return report_error(NULL, "%s", error.text);
	if (f->file.stream)
		fflush(f->file.stream);
	f->last = now;
	return EXIT_DONE;
}
