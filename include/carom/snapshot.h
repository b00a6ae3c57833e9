/// @file snapshot.h
/// Snapshots of a world, for rollback.
#ifndef CAROM_SNAPSHOT_H
#define CAROM_SNAPSHOT_H

#include "carom/world.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Snapshots, for rollback ----

/// Memory for one state of one world: a caller that rolls back keeps one for each frame that it may
/// return to, and saves into them in turn. Saving into one that is large enough allocates nothing.
typedef struct carom_snapshot carom_snapshot;

/// Make an empty snapshot for a world. Its memory comes from the context and does not count for
/// carom_world_def.memory_budget. CAROM_OUT_OF_MEMORY.
CAROM_API carom_result carom_create_snapshot(carom_world *world, carom_snapshot **snapshot);

/// NULL does nothing. A world that is destroyed empties its snapshots; this call destroys them all
/// the same, and must do so before their context is destroyed.
CAROM_API void carom_destroy_snapshot(carom_snapshot *snapshot);

/// Replace the content of a snapshot by the world as it is, between any two calls: bodies with
/// their ids, their parts, poses now and at the last step, filters, user data and vertices, the ids
/// that bodies added next will get, the last step's contacts, pairs, events and impacts as the
/// views show them, with impulses and numbers of pairs, all that pairs remember, and the
/// statistics. It takes a reference to each mesh, which is not copied. Costs a copy of that;
/// CAROM_OUT_OF_MEMORY leaves the snapshot as it was.
CAROM_API carom_result carom_world_save(carom_world *world, carom_snapshot *snapshot);

/// Put the world back into the state that was saved in it, whatever has been done since: bodies
/// added since are gone, removed ones are back under their ids, and the steps that follow give bit
/// for bit the results that they gave, or would have given, after the save. Views end as by a step.
/// Of the statistics after further steps times, memory, and the work of the broad phase and of
/// carom_world_sweep_stats may differ. The snapshot stays as it is and can be restored again. Ids
/// that were given out between the save and the restore are void: bodies added afterwards may get
/// them. State that the caller holds elsewhere, as that of a pair filter, is the caller's to put
/// back. CAROM_INVALID_ARGUMENT when the snapshot is another world's or empty, and while the world
/// is being recorded: a recording cannot go back. CAROM_OUT_OF_MEMORY or CAROM_OVER_BUDGET leave
/// the world as it was, but views end.
CAROM_API carom_result carom_world_restore(carom_world *world, carom_snapshot *snapshot);

/// Write the content of a snapshot, for carom_snapshot_load in another process: one call of write.
/// Meshes are left out. CAROM_INVALID_ARGUMENT where the snapshot is empty or write gives up;
/// CAROM_OUT_OF_MEMORY. Only a library of the same version, built alike, on a machine of the same
/// byte order reads the bytes. Thread-safe as long as nobody saves into the snapshot.
CAROM_API carom_result carom_snapshot_save(
	const carom_snapshot *snapshot, carom_write_fn *write, void *user);

/// Fill a snapshot from the bytes that carom_snapshot_save wrote; carom_world_restore then lets the
/// world go on as the saved one did, bit for bit. The world must hold equal bodies under equal ids:
/// added, and removed, in the same order as in the saved one, from equal meshes. Poses, vertices,
/// filters and all that pairs remember come from the bytes, user data of the bodies from the world.
/// CAROM_INVALID_ARGUMENT, naming the field, where the bytes are damaged, cut short, of another
/// version or of other bodies. A digest of all bytes is checked first; it finds damage, not
/// forgery: load no bytes from somebody whom you do not trust. CAROM_OUT_OF_MEMORY. A failure
/// leaves the world alone; the snapshot then holds what it held, or the world as it is.
CAROM_API carom_result carom_snapshot_load(
	carom_snapshot *snapshot, const void *bytes, size_t size);

/// A hash for peers that simulate in step: two worlds that were treated alike have equal hashes, on
/// any machine and for any number of threads. It covers bodies (ids, kinds, shapes, filters, poses
/// now and at the last step, vertices), the ids that bodies added next will get, and the views with
/// ages and impulses, all bit for bit. Meshes count by their numbers of vertices and triangles.
/// User data, numbers of pairs and statistics do not count. Costs a pass over the content
/// of the snapshot. An empty snapshot has a hash as well.
CAROM_API uint64_t carom_snapshot_hash(const carom_snapshot *snapshot);

/// The first thing in which two snapshots differ. The texts last as long as the program.
typedef struct carom_snapshot_difference {
	/// "bodies", "free ids", "free ids of bodies with parts", "places", "contacts", "pairs",
	/// "events", "impacts" or "body impacts"; NULL: nothing differs. The bodies of a world are its
	/// parts, at their own poses in the world. Places are the vertices of deforming bodies, and the
	/// poses of bodies with parts.
	const char *list;
	/// Of the record, as "pose.position"; "count" when one list ends where the other goes on.
	const char *field;
	/// Of the record; of "bodies" each part counts, of "places" each coordinate.
	int64_t index;
	carom_body_id body; ///< that the record is about, the lower one of a pair; null for free ids
} carom_snapshot_difference;

/// Do two snapshots differ in anything that carom_snapshot_hash covers? They may be of different
/// worlds and contexts. difference may be NULL; else it tells the first one. Thread-safe as long as
/// nobody saves into either.
CAROM_API bool carom_snapshots_differ(
	const carom_snapshot *a, const carom_snapshot *b, carom_snapshot_difference *difference);

/// Bytes that a snapshot holds, without the meshes.
CAROM_API size_t carom_snapshot_memory(const carom_snapshot *snapshot);

#ifdef __cplusplus
}
#endif
#endif
