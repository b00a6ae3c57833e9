/// The threads of a context. See base/pool.h.
///
/// A loop that is under way has a place. Its state tells threads whether they may enter, and its
/// caller how many are inside. The loop ends when all pieces are claimed and nobody is inside, so
/// the caller waits only for threads that are working for it.
///
/// Threads enter and leave by one atomic operation each. The lock is taken only to sleep, to wake
/// and to start threads.
#include "base/pool.h"
#include "base/context.h"
#include "base/thread.h"
#include "base/time.h"

// Loops that may be under way at once with help from other threads. The callers of further ones do
// them alone.
enum { PLACES = 8 };

// The state of a place: who has it, and how many threads are inside. It is 0 while no loop has it.
enum { INSIDE = 0xffff, TAKEN = 1 << 16, OPEN = 1 << 17, CALLER_SLEEPS = 1 << 18 };

// A thread that sleeps is woken by another one, which has other work to do: each wakes two at most,
// and those wake the next.
enum { WAKES = 2 };

// Nanoseconds. Tuned by bench/threads on two cores, idle and beside two busy processes.
// Serial parts of a step are shorter: OpenMP's times on idle cores took 0.3 ms.
static const int64_t long_spin = 300000;
// while other processes want the cores, more of it was lost than won
static const int64_t short_spin = 30000;
// a thread that is away from its spin, or its pieces, for so long has lost its core
static const int64_t late = 200000;
static const int64_t crowded_time = 1000000 * 100; // for which that is taken as a sign
static const int64_t most_credit = 1000000 * 10;
static const int64_t most_debt = 1000000 * 1;
// of a loop that counts: a debugger may have held a thread for hours
static const int64_t most_loss = 1000000 * 50;
// the loss is a part of 1/20 of the time that follows without help
enum { ALONE = 20 };

typedef struct loop_place {
	_Alignas(CR_CACHE_LINE) atomic_uint state;
	cr_piece_fn *fn; // this and the task: of the loop, for those inside
	void *task;
	atomic_int_least64_t count;
	_Alignas(CR_CACHE_LINE) atomic_int_least64_t next; // first piece that nobody has claimed
	// nanoseconds that threads of the pool have worked for it
	atomic_int_least64_t helped;
} loop_place;

typedef struct pool_thread {
	cr_thread thread;
	cr_pool *pool;
	int worker;
} pool_thread;

struct cr_pool {
	loop_place places[PLACES];
	// Counts the loops, and the end of the pool: a change is news for threads without work.
	_Alignas(CR_CACHE_LINE) atomic_uint opened;
	atomic_int sleeping; // threads that sleep and that nobody is waking yet; changes under the lock
	_Alignas(CR_CACHE_LINE) cr_mutex mutex;
	cr_condition news;  // for threads without work
	cr_condition done;  // for callers: nobody is inside their loops any more
	int wakes;          // threads that may stop sleeping
	atomic_bool ending; // of the pool
	// threads that may be started; fewer once the system has refused one
	atomic_int thread_count;
	atomic_int started;           // threads that were
	atomic_int_least64_t process; // the process that has the threads; 0: none yet
	const carom_context *context; // for its log
	// Of the account, in nanoseconds. Callers may change them at once; it does not matter if one of
	// them then loses its change.
	atomic_int_least64_t balance;
	atomic_int_least64_t alone_until;   // help is not asked for before
	atomic_int_least64_t crowded_until; // spins are short before
	pool_thread threads[];
};

size_t cr_pool_size(int worker_count) { return sizeof(cr_pool) + (size_t)(worker_count - 1) * sizeof(pool_thread); }

void cr_pool_init(cr_pool *pool, int worker_count, const carom_context *context)
{
	*pool = (cr_pool){ .thread_count = worker_count - 1, .context = context };
	cr_mutex_init(&pool->mutex);
	cr_condition_init(&pool->news);
	cr_condition_init(&pool->done);
}

int cr_pool_threads(const cr_pool *pool) { return atomic_load(&pool->started); }

// ---- Waiting ----

static int64_t now(void) { return (int64_t)(1e6 * cr_time_ms()); }

/// A thread has lost its core: other processes want it.
static void note_crowd(cr_pool *pool)
{
	atomic_store_explicit(&pool->crowded_until, now() + crowded_time, memory_order_relaxed);
}

/// Spin until *value is no longer `seen` under the mask, or the time is up. Returns whether it has
/// changed.
static bool spin(cr_pool *pool, const atomic_uint *value, unsigned mask, unsigned seen)
{
	enum { LOOKS = 32 }; // for each look at the clock
	int64_t time = now();
	const bool crowded = time < atomic_load_explicit(&pool->crowded_until, memory_order_relaxed);
	const int64_t end = time + (crowded ? short_spin : long_spin);
	while (time < end) {
		for (int i = 0; i < LOOKS; i++) {
			if ((atomic_load_explicit(value, memory_order_acquire) & mask) != seen)
				return true;
			cr_thread_pause();
		}
		const int64_t before = time;
		time = now();
		if (time - before > late)
			note_crowd(pool);
	}
	return false;
}

// ---- Inside a loop ----

/// Claim a piece and do it. Returns whether there was one.
static bool do_piece(loop_place *place, int worker)
{
	const int64_t piece = atomic_fetch_add_explicit(&place->next, 1, memory_order_relaxed);
	if (piece >= atomic_load_explicit(&place->count, memory_order_relaxed))
		return false;
	place->fn(piece, worker, place->task);
	return true;
}

static void do_pieces(loop_place *place, int worker)
{
	while (do_piece(place, worker)) {
	}
}

/// Pieces that nobody has claimed. A guess for threads outside.
static int64_t unclaimed(const loop_place *place)
{
	return atomic_load_explicit(&place->count, memory_order_relaxed) - atomic_load_explicit(&place->next, memory_order_relaxed);
}

static bool enter(loop_place *place)
{
	unsigned state = atomic_load_explicit(&place->state, memory_order_relaxed);
	while ((state & OPEN) && unclaimed(place) > 0) {
		if (atomic_compare_exchange_weak_explicit(&place->state, &state, state + 1, memory_order_acquire, memory_order_relaxed))
			return true;
	}
	return false;
}

/// The place may belong to another loop as soon as nobody is inside, so it is not looked at
/// afterwards.
static void leave(cr_pool *pool, loop_place *place)
{
	const unsigned before = atomic_fetch_sub_explicit(&place->state, 1, memory_order_acq_rel);
	if ((before & INSIDE) > 1 || !(before & CALLER_SLEEPS))
		return;
	// The caller either waits already, or has not yet seen how many are inside.
	cr_mutex_lock(&pool->mutex);
	cr_mutex_unlock(&pool->mutex);
	cr_condition_broadcast(&pool->done);
}

// ---- Threads ----

/// Wake a thread for each of so many pieces, as far as any sleep and one thread should wake them.
static void wake_threads(cr_pool *pool, int64_t pieces)
{
	if (pieces < 1 || atomic_load(&pool->sleeping) == 0)
		return;
	int count = pieces < WAKES ? (int)pieces : WAKES;
	cr_mutex_lock(&pool->mutex);
	const int sleeping = atomic_load_explicit(&pool->sleeping, memory_order_relaxed);
	count = count < sleeping ? count : sleeping;
	atomic_store_explicit(&pool->sleeping, sleeping - count, memory_order_relaxed);
	pool->wakes += count;
	cr_mutex_unlock(&pool->mutex);
	for (int i = 0; i < count; i++)
		cr_condition_signal(&pool->news);
}

/// Do pieces of a loop that this thread has entered, and note how long it worked.
static void do_share(cr_pool *pool, loop_place *place, int worker)
{
	const int64_t begin = now(), worked = cr_thread_work_ns();
	do_pieces(place, worker);
	const int64_t inside = now() - begin;
	int64_t work = inside;
	if (inside > late) {
		work = cr_thread_work_ns() - worked;
		if (inside - work > late)
			note_crowd(pool);
	}
	atomic_fetch_add_explicit(&place->helped, work, memory_order_relaxed);
}

/// Help with a loop, if there is one. Each worker begins to look at another place, so that loops of
/// several callers all get help.
static bool help(cr_pool *pool, int worker)
{
	for (int i = 0; i < PLACES; i++) {
		loop_place *place = &pool->places[(worker + i) % PLACES];
		if (!enter(place))
			continue;
		wake_threads(pool, unclaimed(place) - 1);
		do_share(pool, place, worker);
		leave(pool, place);
		return true;
	}
	return false;
}

/// Sleep until a thread is woken, or the pool ends. News since `seen` keep it awake.
static void sleep_until_woken(cr_pool *pool, unsigned seen)
{
	cr_mutex_lock(&pool->mutex);
	// Sequentially consistent, as in open_place and wake_threads: either this thread sees the news,
	// or their maker the sleeper.
	atomic_fetch_add(&pool->sleeping, 1);
	if (atomic_load(&pool->opened) != seen) {
		atomic_fetch_sub(&pool->sleeping, 1);
	} else {
		while (pool->wakes == 0 && !atomic_load(&pool->ending))
			cr_condition_wait(&pool->news, &pool->mutex);
		if (pool->wakes > 0)
			pool->wakes--; // whose waker has lowered `sleeping`
	}
	cr_mutex_unlock(&pool->mutex);
}

static void run_thread(void *thread_pointer)
{
	const pool_thread *thread = thread_pointer;
	cr_pool *pool = thread->pool;
	for (;;) {
		// before it looks for loops: it sleeps only if none opened since
		const unsigned seen = atomic_load(&pool->opened);
		if (atomic_load(&pool->ending))
			return;
		if (!help(pool, thread->worker) && !spin(pool, &pool->opened, ~0u, seen))
			sleep_until_woken(pool, seen);
	}
}

/// Start threads until there are so many, or as many as there may be. Once the system has refused
/// one, it is not asked again.
static void start_threads(cr_pool *pool, int64_t wanted)
{
	const int most = atomic_load_explicit(&pool->thread_count, memory_order_relaxed);
	wanted = wanted < most ? wanted : most;
	if (atomic_load_explicit(&pool->started, memory_order_relaxed) >= wanted)
		return;
	bool refused = false;
	cr_mutex_lock(&pool->mutex);
	int started = atomic_load(&pool->started);
	while (started < wanted && !refused) {
		pool_thread *thread = &pool->threads[started];
		thread->pool = pool;
		thread->worker = started + 1;
		refused = !cr_thread_start(&thread->thread, run_thread, thread);
		started += !refused;
	}
	atomic_store(&pool->started, started);
	if (refused)
		atomic_store(&pool->thread_count, started);
	cr_mutex_unlock(&pool->mutex);
	if (refused)
		cr_log(pool->context, CAROM_LOG_WARNING, "the system gave %d of %d threads: loops run on %d workers from now on",
			started, most, started + 1);
}

/// Are the threads this process's? A forked child has none, and locks may be as another thread held
/// them.
static bool is_ours(cr_pool *pool)
{
	const int64_t mine = cr_process_id();
	int_least64_t process = atomic_load_explicit(&pool->process, memory_order_relaxed);
	if (process == 0 && atomic_compare_exchange_strong(&pool->process, &process, mine))
		return true;
	return process == mine;
}

void cr_pool_end(cr_pool *pool)
{
	const int64_t process = atomic_load(&pool->process);
	if (process != 0 && process != cr_process_id())
		return;
	cr_mutex_lock(&pool->mutex);
	atomic_store(&pool->ending, true);
	atomic_fetch_add(&pool->opened, 1);
	cr_mutex_unlock(&pool->mutex);
	cr_condition_broadcast(&pool->news);
	for (int i = 0; i < atomic_load(&pool->started); i++)
		cr_thread_join(&pool->threads[i].thread);
	cr_condition_destroy(&pool->done);
	cr_condition_destroy(&pool->news);
	cr_mutex_destroy(&pool->mutex);
}

// ---- The caller of a loop ----

static loop_place *take_place(cr_pool *pool)
{
	for (int i = 0; i < PLACES; i++) {
		unsigned free = 0;
		if (atomic_compare_exchange_strong_explicit(
				&pool->places[i].state, &free, TAKEN, memory_order_acquire, memory_order_relaxed))
			return &pool->places[i];
	}
	return NULL;
}

/// Ask for help with a loop.
static void open_place(cr_pool *pool, loop_place *place)
{
	atomic_store_explicit(&place->state, TAKEN | OPEN, memory_order_release);
	atomic_fetch_add(&pool->opened, 1);
	wake_threads(pool, unclaimed(place) - 1);
}

/// Let nobody in any more, and wait until nobody is inside.
static void close_place(cr_pool *pool, loop_place *place)
{
	unsigned inside = atomic_fetch_and_explicit(&place->state, ~(unsigned)OPEN, memory_order_acq_rel) & INSIDE;
	while (inside != 0 && spin(pool, &place->state, INSIDE, inside))
		inside = atomic_load_explicit(&place->state, memory_order_acquire) & INSIDE;
	if (inside != 0) {
		cr_mutex_lock(&pool->mutex);
		atomic_fetch_or(&place->state, CALLER_SLEEPS);
		while ((atomic_load(&place->state) & INSIDE) != 0)
			cr_condition_wait(&pool->done, &pool->mutex);
		cr_mutex_unlock(&pool->mutex);
	}
}

/// Enter into the account that a loop has gained, or lost, so much time by help. Losses beyond the
/// credit are paid for by a time without help, of which they are a small part: so help costs at
/// most that part, whatever the other processes do.
static void settle(cr_pool *pool, int64_t gain)
{
	int64_t balance = atomic_load_explicit(&pool->balance, memory_order_relaxed);
	balance += gain < -most_loss ? -most_loss : gain;
	if (balance < -most_debt) {
		atomic_store_explicit(&pool->alone_until, now() - ALONE * balance, memory_order_relaxed);
		balance = 0;
	}
	atomic_store_explicit(&pool->balance, balance < most_credit ? balance : most_credit, memory_order_relaxed);
}

/// Do pieces as long as help is not to be asked for.
static void do_pieces_alone(cr_pool *pool, loop_place *place)
{
	const int64_t end = atomic_load_explicit(&pool->alone_until, memory_order_relaxed);
	while (now() < end && do_piece(place, 0)) {
	}
}

static void do_pieces_with_help(cr_pool *pool, loop_place *place)
{
	start_threads(pool, unclaimed(place) - 1);
	const int64_t begin = now();
	open_place(pool, place);
	const int64_t opened = now();
	do_pieces(place, 0);
	const int64_t done = now();
	close_place(pool, place);
	settle(pool, atomic_load_explicit(&place->helped, memory_order_relaxed) - (opened - begin) - (now() - done));
}

void cr_pool_run(cr_pool *pool, cr_piece_fn *fn, int64_t count, void *task)
{
	loop_place *place = is_ours(pool) ? take_place(pool) : NULL;
	if (!place) {
		for (int64_t i = 0; i < count; i++)
			fn(i, 0, task);
		return;
	}
	place->fn = fn;
	place->task = task;
	atomic_store_explicit(&place->next, 0, memory_order_relaxed);
	atomic_store_explicit(&place->count, count, memory_order_relaxed);
	atomic_store_explicit(&place->helped, 0, memory_order_relaxed);
	do_pieces_alone(pool, place);
	if (unclaimed(place) > 1)
		do_pieces_with_help(pool, place);
	else
		do_pieces(place, 0);
	atomic_store_explicit(&place->state, 0, memory_order_release);
}
