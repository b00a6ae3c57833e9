/// A simulation of spheres that ranks share gives the bits of one that is not shared. Ranks are threads here (rank_hub.h); the
/// command's tests take MPI.
#include "sim/grains/granular_memento.h"
#include "sim/grains/granular_ranks.h"
#include "granular_fixture.h"
#include "rank_hub.h"

/// What a rank does, and what it finds.
typedef struct share_task {
	const sim_granular_def *def;
	int64_t steps;
	int threads;
	int64_t cut;  // the call to other ranks that fails; below 0: none
	bool at_once; // created as a share
	bool touches; // bodies of other kinds touch the spheres
	uint64_t hash;
	double energy;
	int64_t calls;
	sim_granular_step last;
	sim_granular_info info;
	sim_granular_balance balance;
	sim_exact_sum pushed; // of the forces on these bodies
	sim_tape tape;        // their springs at the end, on the first rank
	sim_error error;
} share_task;

// ---- Bodies that touch the spheres ----

/// A belt at y = 0 that runs along x, and a large ball below it that rolls to and fro.
static int find_touches(const double *sphere, uint32_t id, double time, sim_granular_touch *found)
{
	const double ball[3] = { 0.25 + 0.1 * sin(20 * time), -0.22, 0.25 }, radius = 0.3;
	double away[3], squared = 0;
	int count = 0;
	if (sphere[1] < sphere[3])
		found[count++] = (sim_granular_touch){
			.sphere = id, .body = 7, .normal = { 0, 1, 0 }, .overlap = sphere[3] - sphere[1], .velocity = { 0.4, 0, 0 }
		};
	for (int k = 0; k < 3; k++) {
		away[k] = sphere[k] - ball[k];
		squared += away[k] * away[k];
	}
	const double distance = sqrt(squared);
	if (distance >= radius + sphere[3])
		return count;
	found[count] = (sim_granular_touch){
		.sphere = id, .body = 3, .overlap = radius + sphere[3] - distance, .velocity = { 2 * cos(20 * time), 0, 0.3 }
	};
	for (int k = 0; k < 3; k++)
		found[count].normal[k] = away[k] / distance;
	return count + 1;
}

static int compare_touches(const void *a, const void *b)
{
	const sim_granular_touch *x = a, *y = b;
	if (x->sphere != y->sphere)
		return x->sphere < y->sphere ? -1 : 1;
	return (x->body < y->body) - (x->body > y->body);
}

static bool advance_touched(sim_granular *g, share_task *t)
{
	if (!sim_granular_prepare(g, &t->error))
		return false;
	const sim_granular_view view = sim_granular_get_view(g);
	const double time = sim_granular_get_info(g).time;
	sim_granular_touch *touches = malloc((2 * (size_t)view.count + 1) * sizeof *touches);
	int64_t count = 0;
	for (int64_t i = 0; i < view.count; i++)
		count += find_touches(&view.spheres[4 * i], view.ids[i], time, &touches[count]);
	qsort(touches, (size_t)count, sizeof *touches, compare_touches);
	const bool done = sim_granular_set_touches(g, count, touches, &t->error) && sim_granular_advance(g, &t->last, &t->error);
	const sim_granular_reaction *r = sim_granular_get_reactions(g);
	for (int64_t k = 0; done && k < count; k++)
		sim_note_force(&t->pushed, r[k].point, r[k].force, r[k].torque);
	free(touches);
	return done;
}

/// The sums of all ranks, and the touches of the last step.
static bool end_touches(sim_granular *g, share_task *t)
{
	const sim_ranks *ranks = sim_granular_get_ranks(g);
	t->tape = (sim_tape){ .writing = true };
	if (ranks && !sim_sum_exact_over_ranks(ranks, 1, &t->pushed))
		return sim_fail(&t->error, "another rank has failed, or the connection to it");
	return sim_granular_move_touches(g, &t->tape, &t->error);
}

/// Two tapes of touches hold the same ones, with the same springs.
static void check_tapes(const sim_tape *a, const sim_tape *b)
{
	int64_t count = 0;
	REQUIRE(a->size == b->size && a->size >= sizeof count);
	memcpy(&count, a->bytes, sizeof count);
	CHECK(count > 0 || TEST_FEWER > 1);
	CHECK(memcmp(a->bytes, b->bytes, sizeof count) == 0);
	const size_t springs = sizeof count + (size_t)count * sizeof(sim_granular_touch);
	CHECK(memcmp(a->bytes + springs, b->bytes + springs, a->size - springs) == 0);
	for (int64_t k = 0; k < count; k++) {
		sim_granular_touch x, y;
		memcpy(&x, a->bytes + sizeof count + (size_t)k * sizeof x, sizeof x);
		memcpy(&y, b->bytes + sizeof count + (size_t)k * sizeof y, sizeof y);
		CHECK(x.sphere == y.sphere && x.body == y.body && x.overlap == y.overlap);
		CHECK(memcmp(x.normal, y.normal, sizeof x.normal) == 0);
	}
}

// ---- Runs ----

static bool advance_one(sim_granular *g, share_task *t)
{
	return t->touches ? advance_touched(g, t) : sim_granular_advance(g, &t->last, &t->error);
}

static bool run_share(sim_granular *g, const sim_ranks *ranks, share_task *t)
{
	if (!t->at_once && !sim_granular_share(g, ranks, &t->error))
		return false;
	for (int64_t i = 0; i < t->steps; i++) {
		if (!advance_one(g, t))
			return false;
	}
	if (t->touches && !end_touches(g, t))
		return false;
	t->energy = sim_granular_kinetic_energy(g);
	t->info = sim_granular_get_info(g);
	t->balance = sim_granular_get_balance(g);
	return sim_granular_hash_ranks(g, &t->hash, &t->error);
}

static bool rank_main(const sim_ranks *ranks, void *user)
{
	share_task *t = user;
	carom_context_def context_def = carom_default_context_def();
	context_def.thread_count = t->threads;
	carom_context *context = NULL;
	if (carom_create_context(&context_def, &context) != CAROM_SUCCESS)
		return sim_fail(&t->error, "no context");
	t->error.text[0] = 0;
	rank_hub_cut(ranks, t->cut);
	sim_granular *g = t->at_once ? sim_create_granular_share(context, t->def, ranks, &t->error)
								 : sim_create_granular(context, t->def, &t->error);
	const bool done = g && run_share(g, ranks, t);
	t->calls = rank_hub_calls(ranks);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	return done;
}

static int share(const share_task *like, int count, share_task *tasks)
{
	void *users[RANK_HUB_MOST];
	for (int r = 0; r < count; r++) {
		tasks[r] = *like;
		users[r] = &tasks[r];
	}
	return rank_hub_run(count, rank_main, users);
}

/// One that is not shared.
static void run_alone(share_task *t)
{
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, t->def);
	sim_granular_frame frame;
	for (int64_t i = 0; i < t->steps; i++)
		CHECK(advance_one(g, t));
	CHECK(!t->touches || end_touches(g, t));
	t->energy = sim_granular_kinetic_energy(g);
	t->info = sim_granular_get_info(g);
	REQUIRE(sim_take_granular_frame(g, &frame));
	t->hash = sim_hash_granular_frame(&frame);
	sim_free_granular_frame(&frame);
	sim_destroy_granular(g);
	carom_destroy_context(context);
}

static void check_pushes(const sim_exact_sum *a, const sim_exact_sum *b)
{
	double forces[2][3], torques[2][3];
	sim_read_exact_sum(a, forces[0], torques[0]);
	sim_read_exact_sum(b, forces[1], torques[1]);
	CHECK_INT(a->touches, b->touches);
	CHECK(memcmp(forces[0], forces[1], sizeof forces[0]) == 0);
	CHECK(memcmp(torques[0], torques[1], sizeof torques[0]) == 0);
}

/// Each number of ranks comes to the state, the sums and the counts of one simulation. Returns what 4 ranks found.
static share_task compare_ranks(const sim_granular_def *def, int64_t steps, const int *counts, int runs)
{
	share_task alone = { .def = def, .steps = steps, .threads = 1, .cut = -1, .touches = def->touches };
	share_task tasks[RANK_HUB_MOST];
	run_alone(&alone);
	CHECK(alone.info.max_overlap > 0 || TEST_FEWER > 1); // a short run may end before anything touches
	for (int k = 0; k < runs; k++) {
		share_task like = { .def = def, .steps = steps, .threads = 1 + k % 2, .cut = -1, .at_once = k % 2 > 0 };
		like.touches = def->touches;
		const int before = test_failures();
		CHECK_INT(share(&like, counts[k], tasks), 0);
		for (int r = 0; r < counts[k]; r++) {
			CHECK_STR(tasks[r].error.text, "");
			CHECK(tasks[r].hash == alone.hash);
			CHECK(tasks[r].energy == alone.energy);
			CHECK_INT(tasks[r].last.contacts, alone.last.contacts);
			CHECK_INT(tasks[r].last.wall_contacts, alone.last.wall_contacts);
			CHECK(tasks[r].info.max_overlap == alone.info.max_overlap);
			CHECK_INT(tasks[r].info.count, alone.info.count);
			if (def->touches && r > 0)
				sim_free_tape(&tasks[r].tape);
		}
		if (def->touches) {
			check_pushes(&tasks[0].pushed, &alone.pushed);
			check_tapes(&tasks[0].tape, &alone.tape);
			sim_free_tape(&tasks[0].tape);
		}
		CHECK_INT(tasks[0].balance.entries, counts[k] > 1 ? tasks[1].balance.entries : tasks[0].balance.entries);
		CHECK(counts[k] == 1 || tasks[0].balance.ghosts > 0 || TEST_FEWER > 1);
		if (test_failures() > before)
			printf("%d ranks\n", counts[k]);
	}
	sim_free_tape(&alone.tape);
	return tasks[0];
}

static const int SOME_COUNTS[] = { 1, 2, 3, 4 };

TEST(granular_ranks, springs_and_walls_on_any_number_of_ranks_and_threads)
{
	granular_scene s = granular_scene_heap(9, 1, 5);
	sim_granular_def def = granular_scene_rough(&s);
	for (int k = 0; k < 3; k++)
		def.upper[k] = 0.5;
	def.skin = 0.004;
	const share_task found = compare_ranks(&def, 400 / TEST_FEWER, SOME_COUNTS, 4);
	CHECK(found.balance.lists > (TEST_FEWER > 1 ? 1 : 3));
	CHECK(found.balance.moved > 0);
	granular_scene_free(&s);
}

// Their springs go with the spheres; what they feel has equal bits too.
TEST(granular_ranks, bodies_that_touch_spheres)
{
	granular_scene s = granular_scene_heap(9, 1, 15);
	sim_granular_def def = granular_scene_rough(&s);
	for (int k = 0; k < 3; k++)
		def.upper[k] = 0.5;
	def.faces[2] = false; // the belt is the floor
	def.touches = true;
	def.skin = 0.003;
	const share_task found = compare_ranks(&def, 400 / TEST_FEWER, SOME_COUNTS, 4);
	CHECK(found.balance.moved > 0 || TEST_FEWER > 1);
	CHECK(found.pushed.touches > 10 * def.count || TEST_FEWER > 1);
	def.walls.tangential = SIM_GRANULAR_SMOOTH; // touches have no springs then
	def.walls.friction = 0;
	compare_ranks(&def, 60 / TEST_FEWER, SOME_COUNTS + 2, 1);
	granular_scene_free(&s);
}

TEST(granular_ranks, periodic_space_on_threads)
{
	granular_scene s = granular_scene_heap(8, 2, 6);
	sim_granular_def def = granular_scene_def(&s);
	def.spheres.normal = SIM_GRANULAR_HERTZ;
	def.spheres.tangential = SIM_GRANULAR_MINDLIN;
	def.spheres.friction = 0.3;
	def.time_step = 2e-5;
	def.skin = 0.005;
	for (int k = 0; k < 3; k++) {
		def.periodic[k] = true;
		def.upper[k] = 0.41;
	}
	const int counts[] = { 2, 5, 8 };
	const share_task found = compare_ranks(&def, 300 / TEST_FEWER, counts, 3);
	CHECK(found.balance.moved > 0);
	granular_scene_free(&s);
}

// Spheres that do not turn take another pass, and those that nothing can touch lag behind; the skin is chosen by times.
TEST(granular_ranks, a_smooth_cloud_that_falls_on_threads)
{
	granular_scene s = granular_scene_heap(12, 0.5, 7);
	for (int64_t i = 0; i < s.count; i++) {
		for (int k = 0; k < 3; k++)
			s.centres[3 * i + k] *= k == 1 ? 3 : 1.6;
	}
	sim_granular_def def = granular_scene_def(&s);
	def.gravity[1] = -9.81;
	def.time_step = 5e-5;
	def.spheres.restitution = 0.5;
	for (int f = 0; f < 6; f++)
		def.faces[f] = f != 3;
	def.stability = SIM_GRANULAR_REPORT;
	const int counts[] = { 2, 3 };
	compare_ranks(&def, 600 / TEST_FEWER, counts, 2);
	granular_scene_free(&s);
}

// One large sphere among small ones, a wall that moves, and a rank that has none at all.
TEST(granular_ranks, few_spheres_of_uneven_sizes_on_more_threads)
{
	granular_scene s = granular_scene_make(5);
	for (int i = 0; i < 5; i++) {
		s.radii[i] = i == 2 ? 0.2 : 0.01;
		s.centres[3 * i] = i == 2 ? 0 : 0.2095 * (i < 2 ? -1 : 1);
		s.centres[3 * i + 1] = i == 2 ? 0 : i % 2 ? 0.001 : 0.0215;
	}
	sim_granular_def def = granular_scene_rough(&s);
	memset(def.faces, 0, sizeof def.faces);
	def.gravity[1] = 0;
	def.moving_count = 1;
	def.moving[0] = (sim_granular_wall){ .point = { 0, -0.201, 0 }, .normal = { 0, 1, 0 }, .velocity = { 0.3, 0.5, 0 } };
	const int counts[] = { 8, 4 };
	const share_task found = compare_ranks(&def, 300 / TEST_FEWER, counts, 2);
	CHECK(found.last.wall_contacts > 0 || found.info.max_overlap > 0);
	granular_scene_free(&s);
}

// All spheres in one corner of the box, which cuts of equal parts would leave to one rank.
TEST(granular_ranks, shares_are_even_on_threads)
{
	granular_scene s = granular_scene_heap(14, 1, 8);
	sim_granular_def def = granular_scene_rough(&s);
	for (int k = 0; k < 3; k++)
		def.upper[k] = 3;
	def.skin = 0.003;
	share_task tasks[RANK_HUB_MOST];
	const share_task like = { .def = &def, .steps = 240 / TEST_FEWER, .threads = 1, .cut = -1 };
	CHECK_INT(share(&like, 4, tasks), 0);
	const sim_granular_balance b = tasks[0].balance;
	CHECK(b.lists > (TEST_FEWER > 1 ? 0 : 2));
	CHECK(b.cuts >= 1);
	CHECK(b.imbalance >= 1 && b.imbalance < 1.15);
	CHECK(TEST_FEWER > 1 || (b.worst_imbalance >= 1 && b.worst_imbalance < 1.2)); // of lists after the second
	CHECK(b.own_most < s.count / 3);
	CHECK(b.ghosts > 0 && b.ghosts_most < s.count / 2 && b.bytes_step == b.ghosts * 72);
	if (test_failures() > 0)
		printf("%lld lists, %lld cuts, imbalance %g, worst %g, ghosts %lld\n", (long long)b.lists, (long long)b.cuts,
			b.imbalance, b.worst_imbalance, (long long)b.ghosts);
	granular_scene_free(&s);
}

TEST(granular_ranks, no_spheres_at_all)
{
	sim_granular_def def = sim_default_granular_def();
	share_task tasks[RANK_HUB_MOST];
	const share_task like = { .def = &def, .steps = 3, .threads = 1, .cut = -1 };
	CHECK_INT(share(&like, 3, tasks), 0);
	CHECK_INT(tasks[2].info.steps, 3);
	CHECK_INT(tasks[2].info.count, 0);
}

static void free_tapes(share_task *tasks, int count)
{
	for (int r = 0; r < count; r++)
		sim_free_tape(&tasks[r].tape);
}

TEST(granular_ranks, a_lost_rank_ends_the_others)
{
	granular_scene s = granular_scene_heap(5, 1, 9);
	sim_granular_def def = granular_scene_rough(&s);
	def.skin = 0.001;
	share_task tasks[RANK_HUB_MOST];
	def.touches = true;
	share_task like = { .def = &def, .steps = 12, .threads = 1, .cut = -1, .touches = true };
	CHECK_INT(share(&like, 3, tasks), 0);
	free_tapes(tasks, 3);
	const int64_t calls = tasks[1].calls;
	CHECK(calls > 40);
	for (like.cut = 0; like.cut < calls; like.cut += TEST_STRIDE) {
		CHECK_INT(share(&like, 3, tasks), 3);
		free_tapes(tasks, 3);
		CHECK_STR(tasks[1].error.text, "another rank has failed, or the connection to it");
	}
	granular_scene_free(&s);
}

/// Two ranks, of which the second has little memory.
typedef struct short_task {
	share_task task;
	sim_granular_def def;
	short_memory memory;
} short_task;

static bool short_main(const sim_ranks *ranks, void *user)
{
	short_task *t = user;
	t->def.allocator = (carom_allocator){ short_allocate, short_release, &t->memory };
	t->task.def = &t->def;
	return rank_main(ranks, &t->task);
}

TEST(granular_ranks, memory_that_ends_on_one_rank)
{
	granular_scene s = granular_scene_heap(5, 1, 9);
	sim_granular_def def = granular_scene_rough(&s);
	def.skin = 0.002;
	def.touches = true;
	share_task like = { .def = &def, .steps = 25, .threads = 1, .cut = -1, .touches = true };
	int left = 0;
	bool done = false;
	for (; !done && left < 400; left += TEST_STRIDE) {
		like.at_once = left / TEST_STRIDE % 2 > 0;
		short_task tasks[2] = { { like, def, { 1000000, 0 } }, { like, def, { left, 0 } } };
		void *users[2] = { &tasks[0], &tasks[1] };
		done = rank_hub_run(2, short_main, users) == 0;
		CHECK(done || strstr(tasks[1].task.error.text, "out of memory for "));
		CHECK_INT(tasks[0].memory.live, 0);
		CHECK_INT(tasks[1].memory.live, 0);
		sim_free_tape(&tasks[0].task.tape);
		sim_free_tape(&tasks[1].task.tape);
	}
	CHECK(done);
	CHECK(left > 30);
	granular_scene_free(&s);
}

/// Memory that counts how much of it was in use at once.
typedef struct peak_memory {
	int64_t live, peak;
} peak_memory;

static void *peak_allocate(size_t size, size_t alignment, void *user)
{
	peak_memory *memory = user;
	memory->live += (int64_t)size;
	memory->peak = memory->live > memory->peak ? memory->live : memory->peak;
	return test_allocate(size, alignment);
}

static void peak_release(void *pointer, size_t size, size_t alignment, void *user)
{
	(void)alignment;
	peak_memory *memory = user;
	memory->live -= (int64_t)size;
	test_release(pointer);
}

typedef struct peak_task {
	sim_granular_def def;
	bool at_once;
	peak_memory memory;
} peak_task;

/// From nothing to a share.
static bool peak_main(const sim_ranks *ranks, void *user)
{
	peak_task *t = user;
	sim_error error;
	t->def.allocator = (carom_allocator){ peak_allocate, peak_release, &t->memory };
	carom_context *context = granular_context(1);
	sim_granular *g =
		t->at_once ? sim_create_granular_share(context, &t->def, ranks, &error) : sim_create_granular(context, &t->def, &error);
	const bool done = g && (t->at_once || sim_granular_share(g, ranks, &error));
	sim_destroy_granular(g);
	carom_destroy_context(context);
	return done;
}

/// The most memory of any of four ranks.
static int64_t peak_of(const sim_granular_def *def, bool at_once)
{
	peak_task tasks[4];
	void *users[4];
	int64_t peak = 0;
	for (int r = 0; r < 4; r++) {
		tasks[r] = (peak_task){ .def = *def, .at_once = at_once };
		users[r] = &tasks[r];
	}
	CHECK_INT(rank_hub_run(4, peak_main, users), 0);
	for (int r = 0; r < 4; r++)
		peak = tasks[r].memory.peak > peak ? tasks[r].memory.peak : peak;
	return peak;
}

TEST(granular_ranks, a_rank_never_holds_the_spheres_of_others)
{
	granular_scene s = granular_scene_heap(16, 1, 9);
	const sim_granular_def def = granular_scene_rough(&s);
	const int64_t all_first = peak_of(&def, false), at_once = peak_of(&def, true);
	CHECK(all_first > 100 * s.count);
	CHECK((double)at_once < 0.32 * (double)all_first); // a quarter, and room for those that come
	granular_scene_free(&s);
}

// ---- Misuse ----

static bool alone_most(void *user, int64_t n, double *values)
{
	(void)user;
	(void)n;
	(void)values;
	return true;
}

static bool alone_sum(void *user, int64_t n, int64_t *values)
{
	(void)user;
	(void)n;
	(void)values;
	return true;
}

static const char *share_text(const sim_granular_def *def, const sim_ranks *ranks, int64_t steps)
{
	static sim_error error;
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, def);
	granular_run(g, steps);
	error.text[0] = 0;
	CHECK(!sim_granular_share(g, ranks, &error));
	CHECK(sim_granular_get_ranks(g) == NULL);
	sim_error at_once;
	CHECK(steps > 0 || !sim_create_granular_share(context, def, ranks, &at_once));
	CHECK(steps > 0 || strcmp(at_once.text, error.text) == 0);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	return error.text;
}

static void no_force(const sim_granular_side *a, const sim_granular_side *b, const double normal[3], double overlap,
	double time_step, double history[3], double force[3], double torque[3], void *user)
{
	(void)a, (void)b, (void)normal, (void)overlap, (void)time_step, (void)history, (void)force, (void)torque, (void)user;
}

TEST(granular_ranks, misuse)
{
	granular_scene s = granular_scene_heap(2, 1, 9);
	sim_granular_def def = granular_scene_rough(&s);
	const sim_ranks one = { .rank = 0, .count = 1, .most = alone_most, .sum = alone_sum };
	sim_ranks wrong = one;
	wrong.rank = 1;
	CHECK_STR(share_text(&def, &wrong, 0), "ranks: 1 of 1");
	CHECK_STR(share_text(&def, &one, 1), "the simulation is shared already, or has done steps");
	sim_granular_def other = def;
	other.force = no_force;
	CHECK_STR(share_text(&other, &one, 0), "force: a user's force is not known on several ranks");
	granular_scene_free(&s);
}

static bool ask_in_vain(const sim_ranks *ranks, void *user)
{
	const sim_granular_def *def = user;
	sim_error error;
	sim_granular_energy energy;
	sim_granular_memento memento;
	int32_t counts[8];
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, def);
	CHECK(sim_granular_share(g, ranks, &error));
	CHECK(!sim_granular_share(g, ranks, &error));
	CHECK_STR(error.text, "the simulation is shared already, or has done steps");
	CHECK(!sim_granular_get_energy(g, &energy, &error));
	CHECK_STR(error.text, "energies of a simulation that ranks share are not known: gather it first");
	CHECK(!sim_granular_count_contacts(g, counts, &error));
	CHECK_STR(error.text, "contacts by sphere of a simulation that ranks share are not known: gather it first");
	CHECK(!sim_granular_take_memento(g, &memento, &error));
	CHECK_STR(error.text, "the simulation is shared by ranks: gather it first");
	CHECK_INT(sim_granular_get_ranks(g)->count, 1);
	CHECK(!sim_granular_set_touches(g, 0, NULL, &error));
	CHECK_STR(error.text, "touches: on ranks they come after sim_granular_prepare");
	CHECK(sim_granular_prepare(g, &error) && sim_granular_set_touches(g, 0, NULL, &error));
	const double none[24] = { 0 };
	CHECK(!sim_granular_push(g, none, NULL, &error));
	CHECK_STR(error.text, "impulses: other ranks know the present motions already (sim_granular_prepare)");
	CHECK(sim_granular_advance(g, NULL, &error) && sim_granular_push(g, none, NULL, &error));
	sim_destroy_granular(g);
	carom_destroy_context(context);
	return true;
}

TEST(granular_ranks, what_a_shared_simulation_does_not_tell)
{
	granular_scene s = granular_scene_heap(2, 1, 9);
	sim_granular_def def = granular_scene_rough(&s);
	def.touches = true;
	void *user = &def;
	CHECK_INT(rank_hub_run(1, ask_in_vain, &user), 0);
	granular_scene_free(&s);
}
