/// @file snapshot.h
/// Snapshots of a world, for rollback.
#ifndef CAROM_SNAPSHOT_H
#define CAROM_SNAPSHOT_H

#include "carom/world.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Snapshots, for rollback ----

/// Memory for one state of one world. A caller that rolls back keeps one for each frame that it may
/// return to, and saves into them in turn. Saving into one that is large enough allocates nothing.
typedef struct carom_snapshot carom_snapshot;

/// Make an empty snapshot for a world. Its memory comes from the context and does not count for
/// carom_world_def.memory_budget. Fails with CAROM_OUT_OF_MEMORY alone.
CAROM_API carom_result carom_create_snapshot(carom_world *world, carom_snapshot **snapshot);

/// Destroy a snapshot, before its context is destroyed. It may outlive its world, which empties it
/// when it is destroyed. NULL does nothing.
CAROM_API void carom_destroy_snapshot(carom_snapshot *snapshot);

/// Replace the content of a snapshot by the world as it is, between any two calls:
/// - bodies with their ids, parts, poses now and at the last step, filters, user data and vertices,
///   and the ids that bodies added next will get;
/// - contacts, pairs, events and impacts of the last step, as the views show them, with impulses
///   and numbers of pairs, and the statistics;
/// - all that pairs remember, those of bodies asleep among them.
///
/// It takes a reference to each mesh and copies everything else. CAROM_OUT_OF_MEMORY leaves the
/// snapshot as it was.
/// - Its size follows from all that lives: 276 bytes for each part of a body, static ones too,
///   since a restore brings them back; 48 bytes for each vertex of a body that deforms; and the
///   results and lists of pairs. Each number of a body, used or free, takes four bytes more, and
///   each free one eight. Trees, scenes and the ends of lists are left out: they follow from the
///   bodies.
CAROM_API carom_result carom_world_save(carom_world *world, carom_snapshot *snapshot);

/// Put a world back into the state that was saved from it, whatever has been done since. Bodies
/// added since are gone, removed ones are back under their ids, and the steps that follow give bit
/// for bit the results that they gave, or would have given, after the save. The snapshot stays as
/// it is and can be restored again.
/// - Views end as by a step.
/// - Ids given out between the save and the restore are void: bodies added afterwards may get them.
/// - State that the caller holds elsewhere, such as that of a pair filter, is the caller's to put
///   back.
/// - Of the statistics of later steps, times, memory, the work of the broad phase and
///   carom_world_sweep_stats may differ.
///
/// CAROM_INVALID_ARGUMENT: the snapshot is another world's or empty, or the world is being recorded
/// (a recording cannot go back). CAROM_OUT_OF_MEMORY or CAROM_OVER_BUDGET: the world is as it was,
/// but views end.
CAROM_API carom_result carom_world_restore(carom_world *world, carom_snapshot *snapshot);

/// Write the content of a snapshot, for carom_snapshot_load in another process: one call of write.
/// Meshes are left out. Only a library of the same version, built alike, on a machine of the same
/// byte order reads the bytes. CAROM_INVALID_ARGUMENT: the snapshot is empty or write gave up.
/// CAROM_OUT_OF_MEMORY. Thread-safe as long as nobody saves into the snapshot.
CAROM_API carom_result carom_snapshot_save(
	const carom_snapshot *snapshot, carom_write_fn *write, void *user);

/// Fill a snapshot of a world from the bytes that carom_snapshot_save wrote. carom_world_restore
/// then lets the world go on as the saved one did, bit for bit. The world must hold equal bodies
/// under equal ids, from equal meshes: added, and removed, as in the saved one, or in any order by
/// carom_world_add_body_with_id. Poses, vertices, filters, all that pairs remember, and the ids
/// that bodies added next will get, come from the bytes; user data of bodies and parts from the
/// world.
///
/// CAROM_INVALID_ARGUMENT, naming the field: the bytes are damaged, cut short, of another version
/// or of other bodies. CAROM_OUT_OF_MEMORY. On failure the world is as it was; the snapshot holds
/// its old content, or the world as it is. A digest of all bytes is checked first. It finds damage,
/// not forgery: load no bytes from somebody whom you do not trust.
CAROM_API carom_result carom_snapshot_load(
	carom_snapshot *snapshot, const void *bytes, size_t size);

/// A hash for peers that simulate in step: worlds that were treated alike have equal hashes, on any
/// machine and for any number of threads. It covers, bit for bit, bodies (ids, kinds, shapes,
/// filters, sleep, poses now and at the last step, vertices), the ids that bodies added next will
/// get, and the views and pairs asleep with ages and impulses. Meshes count by numbers of vertices
/// and triangles. User data, numbers of pairs and statistics do not count. Costs a pass over the
/// content of the snapshot. An empty snapshot has a hash, too.
CAROM_API uint64_t carom_snapshot_hash(const carom_snapshot *snapshot);

/// The first thing in which two snapshots differ. The texts last as long as the program.
typedef struct carom_snapshot_difference {
	/// "bodies", "free ids" (their generation: of ids behind all others), "free ids of bodies with
	/// parts", "places", "contacts", "pairs", "events", "pairs of bodies", "events of bodies",
	/// "impacts", "body impacts", "shape impacts", "surface contacts", "surface contacts of other
	/// meshes", "surface contacts with shapes", "sphere contacts", "groups of sphere pairs",
	/// "sphere pairs", "pairs asleep", "contacts asleep" or "pairs of bodies asleep"; NULL: nothing
	/// differs. In "bodies" each part of a body counts as one, at its own pose in the world.
	/// "places" are the vertices of deforming bodies, the spheres of granular ones, and the poses
	/// of bodies with parts.
	const char *list;
	/// The field of the record, such as "pose.position"; "count" when one list ends where the other
	/// goes on.
	const char *field;
	/// The index of the record in its list. Each part counts in "bodies", each coordinate in
	/// "places".
	int64_t index;
	carom_body_id body; ///< that the record is about, the lower one of a pair; null for free ids
} carom_snapshot_difference;

/// Tell whether two snapshots differ in anything that carom_snapshot_hash covers. They may be of
/// different worlds and contexts. difference may be NULL; else it tells the first one. Thread-safe
/// as long as nobody saves into either.
CAROM_API bool carom_snapshots_differ(
	const carom_snapshot *a, const carom_snapshot *b, carom_snapshot_difference *difference);

/// Bytes that a snapshot holds, without the meshes.
CAROM_API size_t carom_snapshot_memory(const carom_snapshot *snapshot);

#ifdef __cplusplus
}
#endif
#endif
