/// @file carom.h
/// All of Carom. Each header can also be included by itself.
#ifndef CAROM_CAROM_H
#define CAROM_CAROM_H

#include "carom/base.h"
#include "carom/batch.h"
#include "carom/collide.h"
#include "carom/geometry.h"
#include "carom/grains.h"
#include "carom/math.h"
#include "carom/mesh.h"
#include "carom/mesh_query.h"
#include "carom/proximity.h"
#include "carom/query.h"
#include "carom/record.h"
#include "carom/results.h"
#include "carom/shape.h"
#include "carom/snapshot.h"
#include "carom/spheres.h"
#include "carom/sweep.h"
#include "carom/vulkan.h"
#include "carom/world.h"

#endif
