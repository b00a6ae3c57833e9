/// Quality of trees: numbers that tell, without a timer, when a tree has become bad.
#ifndef CR_BVH_QUALITY_H
#define CR_BVH_QUALITY_H

#include "bvh/collider.h"

/// End-point overlap of the binary tree over the triangles (Aila, Karras, Laine, On Quality Metrics of Bounding Volume
/// Hierarchies, 2013): the share of the surface that lies in boxes of subtrees it does not belong to, each weighted by the cost
/// of the node. Triangles are clipped by the boxes exactly. 0: no overlap.
double cr_collider_epo(const cr_collider *collider);

#endif
