/// Bodies asleep, and the pairs of them that steps leave alone.
///
/// A pair of two quiet bodies (cr_is_quiet) is not looked at: the broad phase does not list it. Its
/// memory of earlier steps is parked (frame/temporal.h). Its row, contacts, impulses and data are
/// stored here until one of the bodies is awake.
///
/// A step first plans, which may fail: rows of the last step that fall asleep, and stored ones that
/// wake. Where there are some, the merge gets other results of the last step: without the former
/// and with the latter. So a pair that falls asleep does not end, and one that wakes goes on, or
/// ends. Once the step has succeeded the rows change places (cr_finish_sleep).
///
/// A pair grows older while it sleeps, as one at rest does that is looked at.
///
/// Cost: nothing in a world without bodies asleep. Else a look at each row of the last step and at
/// the stored pairs of bodies that have changed; where rows fall asleep or wake, a copy of the
/// results of the last step.
#ifndef CR_WORLD_SLEEP_H
#define CR_WORLD_SLEEP_H

#include "contact/merge.h"
#include "frame/pair_store.h"

/// A pair that sleeps.
typedef struct cr_sleeping_pair {
	carom_pair pair; // its contacts are among those of cr_sleep
	int64_t step;    // in which it was listed last (carom_stats.step)
} cr_sleeping_pair;

/// A pair of bodies of a world that lists them, likewise.
typedef struct cr_sleeping_body_pair {
	carom_body_pair pair;
	int64_t step;
} cr_sleeping_body_pair;

/// A stored pair that wakes, or the place of one among rows.
typedef struct cr_waking {
	carom_body_id body_a, body_b;
	int32_t shape_a, shape_b; // of pairs of bodies 0
	int32_t record;
} cr_waking;

typedef CR_ARRAY(cr_sleeping_pair) cr_sleeping_pairs;
typedef CR_ARRAY(cr_sleeping_body_pair) cr_sleeping_body_pairs;
typedef CR_ARRAY(carom_contact) cr_contact_array;

/// Rows that change places in a step.
typedef struct cr_turning {
	CR_ARRAY(int32_t) falling;  // rows of the last step, in order
	CR_ARRAY(cr_waking) waking; // in the order of rows
} cr_turning;

typedef struct cr_sleep {
	int32_t count; // bodies asleep
	cr_pair_store store;
	cr_sleeping_pairs pairs; // [records of store]
	cr_contact_array contacts;
	int64_t contact_count; // of the stored pairs; the other contacts are left behind
	cr_pair_store body_store;
	cr_sleeping_body_pairs body_pairs; // [records of body_store]
	// the plan of a step
	bool turns; // some rows fall asleep or wake
	cr_turning rows, body_rows;
	cr_results then; // in the place of the results of the last step
} cr_sleep;

/// The part of it that a snapshot keeps, in the order of rows.
typedef struct cr_saved_sleep {
	cr_sleeping_pairs pairs;
	cr_contact_array contacts; // in the order of pairs
	cr_sleeping_body_pairs body_pairs;
} cr_saved_sleep;

void cr_init_sleep(cr_sleep *sleep);
void cr_free_sleep(carom_context *memory, cr_sleep *sleep);
/// Give back the memory of plans, and that behind the stored contacts.
void cr_trim_sleep(carom_context *memory, cr_sleep *sleep);
/// Find the rows that fall asleep or wake in this step, after all else that may fail but the merge.
/// CAROM_OUT_OF_MEMORY.
carom_result cr_plan_sleep(carom_world *world);
/// The results of the last step for the merge of this one, as planned.
cr_results *cr_results_before(carom_world *world);
/// Let the rows change places, after the merge and before its results become those of the last
/// step.
void cr_finish_sleep(carom_world *world);

/// Make room in a snapshot. false: out of memory.
bool cr_reserve_saved_sleep(carom_context *memory, cr_saved_sleep *saved, const cr_sleep *sleep);
/// Copy into room that there is.
void cr_save_sleep(cr_saved_sleep *saved, const cr_sleep *sleep);
void cr_free_saved_sleep(carom_context *memory, cr_saved_sleep *saved);
/// Make room for the content of a snapshot, with bodies of numbers below bodies. false: out of
/// memory.
bool cr_reserve_sleep(carom_context *memory, cr_sleep *sleep, const cr_saved_sleep *saved, int64_t bodies);
void cr_restore_sleep(cr_sleep *sleep, const cr_saved_sleep *saved);
/// Do the arrays fit together, and name bodies with numbers below bodies?
bool cr_is_saved_sleep_sound(const cr_saved_sleep *saved, int64_t bodies);

#endif
