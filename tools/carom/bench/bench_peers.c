// Hands a motion to carom_peers and reads its measurements; see bench_peers.h.
#include "bench_peers.h"

#include "tools/carom/program.h"
#include "tools/carom/report.h"

#include "io/mesh_file.h"
#include "io/output_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

// Files that go between the two programs, in a folder of their own.
typedef struct exchange {
	char folder[BENCH_FOLDER_SIZE];
	char motion[IO_PATH_MAX];
	char mesh[IO_PATH_MAX];
	char table[IO_PATH_MAX];
} exchange;

static bool make_exchange(exchange *files)
{
	if (!report_make_temporary("carom-bench", files->folder, sizeof files->folder))
		return false;
	snprintf(files->motion, sizeof files->motion, "%s/motion.rbt", files->folder);
	snprintf(files->mesh, sizeof files->mesh, "%s/mesh.obj", files->folder);
	snprintf(files->table, sizeof files->table, "%s/peers.csv", files->folder);
	return true;
}

static void remove_exchange(const exchange *files)
{
	remove(files->motion);
	remove(files->mesh);
	remove(files->table);
	rmdir(files->folder);
}

// ---- The motion, as an RBTRAJ1 file (docs/command.md) ----

static void put_u32(FILE *file, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		putc((int)(value >> (8 * i) & 255), file);
}

static void put_float(FILE *file, double value)
{
	const float number = (float)value;
	uint32_t bits;
	memcpy(&bits, &number, sizeof bits);
	put_u32(file, bits);
}

static void put_head(FILE *file, const bench_motion *motion, int bodies, const sim_mesh *mesh)
{
	fwrite("RBTRAJ1", 1, 8, file);
	put_u32(file, 1);
	put_u32(file, 128);
	put_u32(file, (uint32_t)bodies);
	put_u32(file, (uint32_t)motion->frame_count);
	put_float(file, motion->scene.time_step);
	put_float(file, motion->scene.gravity.x);
	put_float(file, motion->scene.gravity.y);
	put_float(file, motion->scene.gravity.z);
	// carom_peers compares bodies only, but the format wants one
	const double ground[4] = { 0, 1, 0, 0 };
	for (int i = 0; i < 4; i++)
		put_float(file, ground[i]);
	put_u32(file, (uint32_t)mesh->vertex_count);
	put_u32(file, (uint32_t)mesh->triangle_count);
	put_float(file, 1);
	for (int i = 0; i < 3 + 4; i++)
		put_u32(file, 0); // margin, friction, restitution; unused
	char name[32] = "mesh.obj";
	fwrite(name, 1, sizeof name, file);
}

static void put_pose(FILE *file, const carom_pose *pose)
{
	const double numbers[7] = { pose->position.x, pose->position.y, pose->position.z, pose->orientation.x, pose->orientation.y,
		pose->orientation.z, pose->orientation.w };
	for (int i = 0; i < 7; i++)
		put_float(file, numbers[i]);
}

static bool write_motion(const char *path, const bench_motion *motion, int bodies, const sim_mesh *mesh)
{
	const scene_description *scene = &motion->scene;
	FILE *file = fopen(path, "wb");
	if (!file)
		return false;
	put_head(file, motion, bodies, mesh);
	for (int frame = 0; frame < motion->frame_count; frame++) {
		for (int32_t i = 0; i < scene->rigid.body_count; i++) {
			if (scene->rigid.bodies[i].kind == CAROM_DYNAMIC)
				put_pose(file, &motion->poses[(size_t)frame * (size_t)scene->rigid.body_count + (size_t)i]);
		}
	}
	const bool good = !ferror(file);
	return fclose(file) == 0 && good;
}

/// The mesh that all moving bodies have, or -1; *bodies is their number.
static int32_t common_mesh(const scene_description *scene, int *bodies)
{
	int32_t mesh = -1;
	*bodies = 0;
	for (int32_t i = 0; i < scene->rigid.body_count; i++) {
		const scene_body *body = &scene->rigid.bodies[i];
		if (body->kind != CAROM_DYNAMIC)
			continue;
		if (body->part_count > 0 || body->shape.type != CAROM_MESH || body->first_step > 0 ||
			(mesh >= 0 && body->shape.mesh != mesh))
			return -1;
		mesh = body->shape.mesh;
		++*bodies;
	}
	return mesh;
}

static bool write_exchange(const exchange *files, const bench_motion *motion, sim_error *reason)
{
	int bodies;
	sim_mesh mesh;
	const int32_t index = common_mesh(&motion->scene, &bodies);
	if (index < 0) {
		sim_fail(reason, "the bodies do not all have the same mesh");
		return false;
	}
	if (!scene_build_mesh(&motion->scene, index, &mesh, reason))
		return false;
	const bool done = io_save_mesh(files->mesh, &mesh, reason);
	const bool all = done && write_motion(files->motion, motion, bodies, &mesh);
	if (done && !all)
		sim_fail(reason, "cannot write %s: %s", files->motion, strerror(errno));
	sim_mesh_free(&mesh);
	return all;
}

// ---- The program and its output ----

/// --peers; else beside the command; else by its name alone, from PATH.
static void find_program(const bench *b, char path[IO_PATH_MAX])
{
	const char *slash = strrchr(b->program, '/');
	snprintf(path, IO_PATH_MAX, "%s", b->peers ? b->peers : "carom_peers");
	if (b->peers || !slash)
		return;
	char beside[IO_PATH_MAX];
	snprintf(beside, sizeof beside, "%.*s/carom_peers", (int)(slash - b->program), b->program);
	if (access(beside, X_OK) == 0)
		memcpy(path, beside, sizeof beside);
}

static bool run_program(const bench *b, const exchange *files, const bench_window *windows, sim_error *reason)
{
	char program[IO_PATH_MAX], phases[BENCH_PEER_PHASES][48];
	find_program(b, program);
	for (int i = 0; i < BENCH_PEER_PHASES; i++) {
		const int length = windows[i].end - windows[i].first, most = b->quick ? 2 : 10;
		snprintf(phases[i], sizeof phases[i], "%c=%d:%d:%d", 'A' + i, windows[i].first, windows[i].end - 1,
			length < most ? length : most);
	}
	char motion[IO_PATH_MAX], mesh[IO_PATH_MAX], table[IO_PATH_MAX];
	memcpy(motion, files->motion, sizeof motion);
	memcpy(mesh, files->mesh, sizeof mesh);
	memcpy(table, files->table, sizeof table);
	char only[] = "--only", collide[] = "collide", repeats[] = "--reps", count[] = "3", phase[] = "--phase", csv[] = "--csv";
	char *const arguments[] = { program, motion, mesh, only, collide, repeats, count, phase, phases[0], phase, phases[1], phase,
		phases[2], csv, table, NULL };
	const int failure = program_run(arguments);
	if (failure == ENOENT)
		sim_fail(reason,
			"carom_peers is neither beside this command nor in PATH; name it with --peers PROGRAM "
			"(bench/peers is built where the packages are)");
	else if (failure)
		sim_fail(reason, "carom_peers failed%s%s", failure > 0 ? ": " : "", failure > 0 ? strerror(failure) : "");
	return failure == 0;
}

/// Lines `collide,PHASE,FRAMES,"NAME",MIN,...`; those of a phase in the order of the libraries,
/// Carom first.
static bool read_table(const char *path, bench_peer_times *times)
{
	FILE *file = fopen(path, "r");
	if (!file)
		return false;
	char line[4096];
	int row = 0;
	char last_phase = 0;
	*times = (bench_peer_times){ 0 };
	while (fgets(line, sizeof line, file)) {
		char phase, name[BENCH_CELL_SIZE];
		double least;
		if (sscanf(line, "collide,%c,%*d,\"%63[^\"]\",%lf", &phase, name, &least) != 3 || phase < 'A' || phase > 'C')
			continue;
		row = phase == last_phase ? row + 1 : 0;
		last_phase = phase;
		if (row == BENCH_MAX_PEERS)
			break;
		snprintf(times->names[row], sizeof times->names[row], "%s", name);
		times->ms[row][phase - 'A'] = least;
		times->count = row + 1;
	}
	fclose(file);
	return times->count > 0;
}

bool bench_run_peers(const bench *b, const bench_motion *motion, const bench_window windows[BENCH_PEER_PHASES],
	bench_peer_times *times, sim_error *reason)
{
	exchange files = { 0 };
	if (!make_exchange(&files)) {
		sim_fail(reason, "cannot make a folder for temporary files: %s", strerror(errno));
		return false;
	}
	bool done = write_exchange(&files, motion, reason) && run_program(b, &files, windows, reason);
	if (done && !read_table(files.table, times)) {
		sim_fail(reason, "carom_peers wrote no table that can be read");
		done = false;
	}
	remove_exchange(&files);
	return done;
}
