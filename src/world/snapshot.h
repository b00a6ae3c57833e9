/// Snapshots of a world (carom_snapshot), as far as the world must know them.
#ifndef CR_WORLD_SNAPSHOT_H
#define CR_WORLD_SNAPSHOT_H

#include "carom/carom.h"

/// Empty all snapshots of a world that is being destroyed: they hold references to its meshes.
void cr_orphan_snapshots(carom_world *world);

#endif
