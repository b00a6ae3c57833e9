/// Recording of the calls that change a world (docs/recording.md describes the stream). The world
/// calls these hooks after each call that succeeded; all do nothing when the recorder is NULL. A
/// recorder that cannot go on (its writer gave up, out of memory) says so in the log and is silent
/// from then on; carom_world_record reports it when recording is stopped.
#ifndef CR_WORLD_RECORD_H
#define CR_WORLD_RECORD_H

#include "frame/body.h"
#include "world/recording_format.h"

typedef struct cr_recorder cr_recorder;

/// opcode: CR_RECORD_ADD_BODY or CR_RECORD_ADD_BODY_WITH_ID.
void cr_record_add_body(cr_recorder *recorder, const carom_body_def *def, carom_body_id id, cr_opcode opcode);
void cr_record_remove_body(cr_recorder *recorder, carom_body_id id);
/// Poses as the caller gave them.
void cr_record_set_poses(cr_recorder *recorder, int count, const carom_body_id *ids, const carom_pose *poses);
/// Motions as the caller gave them.
void cr_record_set_motions(cr_recorder *recorder, int count, const carom_body_id *ids, const carom_motion *motions);
/// After the places were taken over: begin and end tell which of them the caller gave.
void cr_record_set_vertices(
	cr_recorder *recorder, carom_body_id id, const cr_surface *surface, const carom_strided *begin, const carom_strided *end);
/// After the spheres were taken over.
void cr_record_set_spheres(cr_recorder *recorder, carom_body_id id, const cr_granular *granular);
/// As cr_record_set_spheres, with the ids that the body has.
void cr_record_set_spheres_by_id(cr_recorder *recorder, carom_body_id id, const cr_granular *granular);
void cr_record_set_sphere_begins(cr_recorder *recorder, carom_body_id id, const cr_granular *granular);
void cr_record_set_user_data(cr_recorder *recorder, carom_body_id id, uint64_t user_data);
void cr_record_set_part_data(cr_recorder *recorder, carom_body_id id, int32_t part, uint64_t user_data);
void cr_record_set_filter(cr_recorder *recorder, carom_body_id id, uint64_t category, uint64_t mask, int32_t group);
void cr_record_set_traits(cr_recorder *recorder, carom_body_id id, const carom_body_def *traits);
void cr_record_shift_origin(cr_recorder *recorder, const double offset[3]);
void cr_record_set_asleep(cr_recorder *recorder, int count, const carom_body_id *ids, bool asleep);
void cr_record_set_shape(cr_recorder *recorder, carom_body_id id, const carom_shape *shape);
void cr_record_set_parts(cr_recorder *recorder, carom_body_id id, const carom_body_def *def);
/// The map and the places as the caller gave them; old_count: vertices of the old mesh. A place
/// that is not used is not written.
void cr_record_set_mesh(cr_recorder *recorder, carom_body_id id, const carom_mesh *mesh, int32_t old_count, const int32_t *from,
	const carom_strided *places);
void cr_record_set_impulse(cr_recorder *recorder, cr_impulse_list list, int32_t contact, const float impulse[3]);
void cr_record_set_pair_data(cr_recorder *recorder, int32_t pair, uint64_t user_data);
void cr_record_set_body_pair_data(cr_recorder *recorder, int32_t pair, uint64_t user_data);
void cr_record_set_body_pairs(cr_recorder *recorder, bool listed, int32_t max_contacts);

/// Before the stages of a step, then for each pair of body numbers (a < b) that the user's filter
/// leaves out (any thread), and after a step that succeeded. A failed step leaves no trace but that
/// the world forgets.
void cr_record_begin_step(cr_recorder *recorder);
void cr_record_rejection(cr_recorder *recorder, int32_t a, int32_t b);
/// Contact number of parts a < b (numbers), which the user's filter leaves out (any thread). Those
/// of a pair come in order.
void cr_record_drop(cr_recorder *recorder, int32_t a, int32_t b, int32_t number);
/// A contact of a sphere that the filter leaves out, likewise.
void cr_record_sphere_drop(cr_recorder *recorder, const cr_sphere_drop *drop);
void cr_record_step(cr_recorder *recorder, uint64_t hash);

/// The world was trimmed: numbers of bodies added later depend on that.
void cr_record_trim(cr_recorder *recorder);
/// The world emptied the memory of its pairs (cr_world_forget): its next results depend on that.
void cr_record_forget(cr_recorder *recorder);

/// Is the write function being called? It may not change the world then: the record that is being
/// written must stay where it is.
bool cr_is_writing(const cr_recorder *recorder);

/// End the stream and free the recorder (the world is going).
void cr_recorder_destroy(cr_recorder *recorder);

#endif
