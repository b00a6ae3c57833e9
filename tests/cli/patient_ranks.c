// Loaded before all else (LD_PRELOAD) into processes of MPI that share the processors with other tests: who waits for another process
// asks again after a pause. Open MPI asks without one, and only yields between two questions (opal_progress): where there are more
// processes than processors, the asking takes the time of those that work.
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

enum { PAUSE = 20000 }; // nanoseconds

int sched_yield(void) { return nanosleep(&(struct timespec){ 0, PAUSE }, NULL); }
