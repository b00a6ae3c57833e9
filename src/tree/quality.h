/// Quality of trees: numbers that tell, without a timer, when a tree has become bad.
#ifndef CR_TREE_QUALITY_H
#define CR_TREE_QUALITY_H

#include "math/vec.h"
#include "tree/dynamic.h"
#include "tree/tree.h"

/// What the surface area heuristic charges for a node and for a test at a leaf, in all trees and
/// for their upkeep (as in Aila et al.: an inner node costs 1.2 triangle tests).
#define CR_BOX_COST 1.2
#define CR_BLOCK_COST 1.0

/// Expected box and block tests of a random ray that meets the root (surface area heuristic).
double cr_tree2_sah_cost(const cr_tree2 *tree);

/// Expected box and block tests of a random ray that meets the root of a wide tree, whose leaves
/// cost one test each whatever they hold.
double cr_tree8_sah_cost(const cr_tree8 *tree);

/// Expected box and item tests of a random ray that meets the root of a dynamic tree.
double cr_dynamic_sah_cost(const cr_dynamic_tree *tree);

/// The corners of the triangle that is a primitive of a tree.
typedef void cr_corners_fn(const void *user, int32_t primitive, v3d corners[3]);

/// End-point overlap of a tree over triangles (Aila, Karras, Laine, On Quality Metrics of Bounding
/// Volume Hierarchies, 2013): the share of the surface that lies in boxes of subtrees it does not
/// belong to, each weighted by the cost of the node. Triangles are clipped by the boxes exactly. 0:
/// no overlap.
double cr_tree2_epo(const cr_tree2 *tree, cr_corners_fn *corners, const void *user);

#endif
