/// Files that ranks write together have the bytes, or hold the numbers, of those of one process. Ranks are threads here
/// (rank_hub.h); tests/cli/run_ranks.sh takes MPI.
#include "io/vtk_file.h"
#include "scene/granular_checkpoint.h"
#include "sim/grains/granular_ranks.h"
#include "granular_fixture.h"
#include "rank_hub.h"

#include <pthread.h>
#include <unistd.h>

// Each case is a process, and several run at a time.
static const char *name(const char *what)
{
	static char names[4][64];
	static int at;
	char *text = names[at++ % 4];
	snprintf(text, sizeof names[0], "rank_files_%d_%s", (int)getpid(), what);
	return text;
}

/// A rank that does steps and writes: a checkpoint, and a snapshot.
typedef struct file_task {
	const sim_granular_def *def;
	const char *from; // checkpoint to begin with; NULL: def
	int64_t steps;
	const char *checkpoint;
	bool snapshot; // into the folder "."
	uint64_t hash;
	sim_error error;
} file_task;

static bool write_snapshot(sim_granular *g, const sim_ranks *ranks, sim_error *error)
{
	sim_granular_frame part, whole;
	int64_t first;
	io_vtk_series *series = io_create_vtk_series(".", name("shared"), error);
	bool done = series && sim_granular_spread_frame(g, &part, &first, error);
	if (done) {
		const sim_sphere_cloud cloud = sim_granular_frame_cloud(&part);
		const sim_granular_info info = sim_granular_get_info(g);
		done = io_vtk_series_add_part(series, ranks, &cloud, first, info.count, 7, 0.25, error);
		sim_free_granular_frame(&part);
	}
	io_destroy_vtk_series(series);
	if (!done || !sim_granular_gather_frame(g, &whole, error))
		return false;
	if (ranks->rank == 0) {
		const sim_sphere_cloud cloud = sim_granular_frame_cloud(&whole);
		done = whole.count == sim_granular_get_info(g).count && io_write_vtp(name("alone.vtp"), &cloud, 0.25, error);
	}
	done = done && (ranks->rank == 0 || whole.count == 0);
	sim_free_granular_frame(&whole);
	return done;
}

static bool work(sim_granular *g, const sim_ranks *ranks, file_task *t)
{
	if (!sim_granular_share(g, ranks, &t->error))
		return false;
	for (int64_t i = 0; i < t->steps; i++) {
		if (!sim_granular_advance(g, NULL, &t->error))
			return false;
	}
	if (t->checkpoint && !scene_granular_write_shared(g, t->checkpoint, &t->error))
		return false;
	if (t->snapshot && !write_snapshot(g, ranks, &t->error))
		return false;
	// What is written changes nothing.
	return sim_granular_advance(g, NULL, &t->error) && sim_granular_hash_ranks(g, &t->hash, &t->error);
}

/// libhdf5 may be one that knows no threads.
static sim_granular *make(carom_context *context, file_task *t)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	if (!t->from)
		return sim_create_granular(context, t->def, &t->error);
	pthread_mutex_lock(&lock);
	sim_granular *g = scene_granular_read(context, t->from, NULL, &t->error);
	pthread_mutex_unlock(&lock);
	return g;
}

static bool file_main(const sim_ranks *ranks, void *user)
{
	file_task *t = user;
	carom_context_def context_def = carom_default_context_def();
	context_def.thread_count = 1;
	carom_context *context = NULL;
	t->error.text[0] = 0;
	if (carom_create_context(&context_def, &context) != CAROM_SUCCESS)
		return false;
	sim_granular *g = make(context, t);
	const bool done = g && work(g, ranks, t);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	return done;
}

static int run_files(const file_task *like, int count, file_task *tasks)
{
	void *users[RANK_HUB_MOST] = { NULL };
	for (int r = 0; r < count; r++) {
		tasks[r] = *like;
		users[r] = &tasks[r];
	}
	const int failed = rank_hub_run(count, file_main, users);
	for (int r = 0; r < count && failed == 0; r++)
		CHECK_STR(tasks[r].error.text, "");
	return failed;
}

/// The state after so many steps of a simulation that is not shared, from the definition or a checkpoint.
static uint64_t hash_alone(const sim_granular_def *def, const char *from, int64_t steps)
{
	sim_error error = { "" };
	sim_granular_frame frame;
	carom_context *context = granular_context(1);
	sim_granular *g = from ? scene_granular_read(context, from, NULL, &error) : granular_create(context, def);
	CHECK_STR(error.text, "");
	REQUIRE(g);
	granular_run(g, steps);
	REQUIRE(sim_take_granular_frame(g, &frame));
	const uint64_t hash = sim_hash_granular_frame(&frame);
	sim_free_granular_frame(&frame);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	return hash;
}

static void check_checkpoints(const sim_granular_def *def, int64_t steps)
{
	file_task tasks[RANK_HUB_MOST];
	const char *first = name("first.h5"), *second = name("second.h5");
	const file_task begin = { .def = def, .steps = steps, .checkpoint = first };
	CHECK_INT(run_files(&begin, 3, tasks), 0);
	CHECK(tasks[2].hash == hash_alone(def, NULL, steps + 1));
	// Three ranks, then five, then one that is not shared.
	const file_task go_on = { .from = first, .steps = steps, .checkpoint = second };
	CHECK_INT(run_files(&go_on, 5, tasks), 0);
	const uint64_t hash = hash_alone(def, NULL, 2 * steps + 1);
	CHECK(tasks[4].hash == hash);
	CHECK(hash_alone(NULL, first, steps + 1) == hash);
	CHECK(hash_alone(NULL, second, 1) == hash);
	unlink(first);
	unlink(second);
}

TEST(rank_files, checkpoints_of_any_number_of_ranks)
{
	granular_scene s = granular_scene_heap(7, 1, 11);
	sim_granular_def def = granular_scene_rough(&s);
	for (int k = 0; k < 3; k++)
		def.upper[k] = 0.39;
	def.skin = 0.004;
	check_checkpoints(&def, 120 / TEST_FEWER);
	// Without springs of walls, then without any, and spheres that do not turn.
	def.walls.tangential = SIM_GRANULAR_SMOOTH;
	check_checkpoints(&def, 60 / TEST_FEWER);
	def.spheres.tangential = SIM_GRANULAR_SMOOTH;
	def.spheres.rolling_friction = def.walls.rolling_friction = 0;
	check_checkpoints(&def, 60 / TEST_FEWER);
	granular_scene_free(&s);
}

TEST(rank_files, a_checkpoint_before_any_step_or_contact)
{
	granular_scene s = granular_scene_make(2);
	s.radii[0] = s.radii[1] = 0.1;
	s.centres[0] = 0.4;
	sim_granular_def def = granular_scene_rough(&s);
	for (int k = 0; k < 3; k++)
		def.lower[k] = -1;
	check_checkpoints(&def, 0);
	granular_scene_free(&s);
}

static void check_same_bytes(const char *a, const char *b)
{
	FILE *one = fopen(a, "rb"), *other = fopen(b, "rb");
	REQUIRE(one && other);
	int64_t bytes = 0;
	int c;
	do {
		c = getc(one);
		REQUIRE(c == getc(other));
		bytes++;
	} while (c != EOF);
	CHECK(bytes > 500);
	fclose(one);
	fclose(other);
}

TEST(rank_files, snapshots_have_the_bytes_of_one_process)
{
	for (int side = 0; side < 6; side += 5) {
		char series[64], path[128];
		granular_scene s = granular_scene_heap(side, 1, 12);
		const sim_granular_def def = granular_scene_rough(&s);
		file_task tasks[RANK_HUB_MOST];
		const file_task like = { .def = &def, .steps = 3, .snapshot = true };
		CHECK_INT(run_files(&like, 4, tasks), 0);
		snprintf(series, sizeof series, "%s", name("shared"));
		snprintf(path, sizeof path, "%s_%09d.vtp", series, 7);
		check_same_bytes(path, name("alone.vtp"));
		unlink(path);
		unlink(name("alone.vtp"));
		snprintf(path, sizeof path, "%s.pvd", series);
		CHECK(access(path, R_OK) == 0);
		unlink(path);
		granular_scene_free(&s);
	}
}

TEST(rank_files, a_folder_that_is_not_there)
{
	granular_scene s = granular_scene_heap(3, 1, 12);
	const sim_granular_def def = granular_scene_rough(&s);
	file_task tasks[RANK_HUB_MOST];
	const file_task like = { .def = &def, .steps = 1, .checkpoint = "no-such-folder/checkpoint.h5" };
	CHECK_INT(run_files(&like, 2, tasks), 2);
	for (int r = 0; r < 2; r++)
		CHECK_STR(tasks[r].error.text, "no-such-folder/checkpoint.h5: cannot be written: is the disk full?");
	granular_scene_free(&s);
}
