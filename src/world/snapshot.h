/// Snapshots of a world (carom_snapshot): snapshot.c fills them and puts them back,
/// snapshot_compare.c reads them.
#ifndef CR_WORLD_SNAPSHOT_H
#define CR_WORLD_SNAPSHOT_H

#include "world/pair_copy.h"
#include "world/world.h"

enum { CR_POSE_NUMBERS = 7 };

struct carom_snapshot {
	carom_context *context;
	carom_world *world;   // NULL: it was destroyed
	carom_snapshot *next; // of the world
	bool filled;
	// Bodies hold references to their meshes. deforming and granular are set during
	// carom_world_restore alone.
	CR_ARRAY(cr_body) bodies;       // parts of those that live, in the order of their numbers
	CR_ARRAY(int32_t) numbers;      // [bodies]
	CR_ARRAY(uint32_t) generations; // of all numbers of the world: ids of those that do not live
	CR_ARRAY(int32_t) free_bodies;
	CR_ARRAY(cr_range) free_ranges;
	uint32_t first_generation;
	int32_t body_count;
	int32_t shape_count;
	// of bodies in order: of deforming ones begin, then end; of those with parts the pose; of
	// granular ones the number of their spheres, then these
	CR_ARRAY(double) places;
	CR_ARRAY(cr_course) courses; // of bodies in order that have one
	cr_results results;
	cr_saved_sleep sleep;
	CR_ARRAY(carom_impact) impacts;
	int64_t earliest;
	cr_body_impacts body_impacts;
	cr_shape_impact_list shape_impacts;
	cr_surface_contact_list surface_contacts;
	cr_surface_contact_list carried; // of bodies with other meshes or shapes since the step
	cr_surface_shape_contact_list surface_shapes;
	cr_surface_shape_contact_list carried_shapes;
	int64_t known, known_shapes; // of these
	cr_sphere_results spheres;
	carom_sweep_stats sweep_stats;
	carom_stats stats;
	_Alignas(16) unsigned char lab[CR_LAB_BYTES]; // the beginning of the laboratory's state
	cr_pair_copy remembered;                      // all that pairs remember
};

/// The saved body of a number of the world; NULL: none lived.
const cr_body *cr_saved_body(const carom_snapshot *snapshot, int64_t number);
/// Numbers of a saved body among the places, which begin with these; room: how many there are. -1:
/// one that tells a count is none.
int64_t cr_count_saved_places(const cr_body *saved, const double *places, int64_t room);
/// Empty all snapshots of a world that is being destroyed: they hold references to its meshes.
void cr_orphan_snapshots(carom_world *world);

#endif
