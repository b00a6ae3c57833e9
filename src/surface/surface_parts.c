/// Parts of surfaces that move. See surface/surface_parts.h.
///
/// A part is a piece of the tree of triangles. It keeps the sum of its ways as it was after each of
/// the last eight turns, and after each eighth turn of the last 64. The way since an older turn, or
/// one between, is taken from the turn before it that is kept: that is never less.

#include "surface/surface_parts.h"
#include <string.h>

enum { BLOCKS_PER_PART = 8, PARTS_ABOUT = 64 };

/// Parts that are being made. Blocks are listed as a walk over the tree meets them.
typedef struct sharing {
	const cr_collider *rest;
	int32_t most;     // blocks of a part
	int32_t *block;   // [block_count]
	int32_t *part_of; // [block_count] of these blocks
	int32_t *last;    // [vertex_count] the part that a vertex was listed in last
	int32_t listed;   // blocks
	int32_t parts;
	int32_t filled; // blocks of the last part
} sharing;

static int32_t count_blocks(const cr_tree8 *tree, uint32_t entry)
{
	if (entry & CR_LEAF_BIT)
		return 1;
	const cr_node8 *node = &tree->nodes[entry];
	int32_t count = 0;
	for (uint32_t i = 0; i < node->child_count; i++)
		count += count_blocks(tree, node->child[i]);
	return count;
}

/// Add all blocks below an entry to the last part.
static void add_blocks(sharing *s, uint32_t entry)
{
	if (entry & CR_LEAF_BIT) {
		s->block[s->listed] = (int32_t)(entry & ~CR_LEAF_BIT);
		s->part_of[s->listed++] = s->parts - 1;
		s->filled++;
		return;
	}
	const cr_node8 *node = &s->rest->tree.nodes[entry];
	for (uint32_t i = 0; i < node->child_count; i++)
		add_blocks(s, node->child[i]);
}

/// Share out the blocks below an entry: whole nodes, as long as they are small enough, and with
/// them their neighbours below the same node.
static void share_blocks(sharing *s, uint32_t entry)
{
	const cr_tree8 *tree = &s->rest->tree;
	const int32_t count = count_blocks(tree, entry);
	if (count <= s->most) {
		if (s->filled + count > s->most) {
			s->parts++;
			s->filled = 0;
		}
		add_blocks(s, entry);
		return;
	}
	s->filled = s->most;
	for (uint32_t i = 0; i < tree->nodes[entry].child_count; i++)
		share_blocks(s, tree->nodes[entry].child[i]);
	s->filled = s->most;
}

/// List the corners of the triangles of each part, each once, or with vertices NULL count them all.
static int32_t list_vertices(const sharing *s, int32_t *first, int32_t *vertices)
{
	const cr_collider *rest = s->rest;
	int32_t count = 0;
	for (int32_t i = 0; i < rest->topology->vertex_count; i++)
		s->last[i] = -1;
	for (int32_t i = 0; i < s->listed; i++) {
		const cr_tri8 *block = &rest->blocks[s->block[i]];
		const int32_t part = s->part_of[i];
		if (i == 0 || s->part_of[i - 1] != part)
			first[part] = count;
		for (int32_t k = 0; k < 3 * block->count; k++) {
			const int32_t vertex = rest->topology->triangles[3 * (int64_t)block->number[k / 3] + k % 3];
			if (s->last[vertex] == part)
				continue;
			s->last[vertex] = part;
			if (vertices)
				vertices[count] = vertex;
			count++;
		}
	}
	first[s->parts] = count;
	return count;
}

/// Make the parts of a mesh with room for its blocks and vertices. false: out of memory.
static bool share_out(carom_context *memory, sharing *s, cr_surface_parts *parts)
{
	share_blocks(s, 0);
	parts->count = s->parts;
	parts->first = cr_alloc_zero(memory, ((size_t)parts->count + 1) * sizeof *parts->first);
	parts->data = cr_alloc_zero(memory, (size_t)parts->count * sizeof *parts->data);
	if (!parts->first || !parts->data)
		return false;
	const int32_t listed = list_vertices(s, parts->first, NULL);
	parts->vertices = cr_alloc_array(memory, (size_t)listed, sizeof *parts->vertices);
	if (parts->vertices)
		list_vertices(s, parts->first, parts->vertices);
	return parts->vertices;
}

bool cr_parts_build(carom_context *memory, const cr_collider *rest, cr_surface_parts *parts)
{
	*parts = (cr_surface_parts){ 0 };
	const int32_t vertex_count = rest->topology->vertex_count, block_count = rest->tree.block_count;
	if (block_count == 0)
		return true;
	const int32_t shared = (block_count + PARTS_ABOUT - 1) / PARTS_ABOUT,
				  most = shared > BLOCKS_PER_PART ? shared : BLOCKS_PER_PART;
	sharing s = { .rest = rest, .most = most, .filled = most };
	s.block = cr_alloc_array(memory, (size_t)block_count, sizeof *s.block);
	s.part_of = cr_alloc_array(memory, (size_t)block_count, sizeof *s.part_of);
	s.last = cr_alloc_array(memory, (size_t)vertex_count, sizeof *s.last);
	parts->moved_count = vertex_count;
	parts->moved = cr_alloc_zero(memory, (size_t)vertex_count * sizeof *parts->moved);
	const bool made = s.block && s.part_of && s.last && parts->moved && share_out(memory, &s, parts);
	cr_free(memory, s.block, (size_t)block_count * sizeof *s.block);
	cr_free(memory, s.part_of, (size_t)block_count * sizeof *s.part_of);
	cr_free(memory, s.last, (size_t)vertex_count * sizeof *s.last);
	if (!made)
		cr_parts_free(memory, parts);
	return made;
}

void cr_parts_free(carom_context *memory, cr_surface_parts *parts)
{
	const size_t count = (size_t)parts->count;
	if (parts->first && parts->vertices)
		cr_free(memory, parts->vertices, (size_t)parts->first[count] * sizeof *parts->vertices);
	cr_free(memory, parts->first, (count + 1) * sizeof *parts->first);
	cr_free(memory, parts->moved, (size_t)parts->moved_count * sizeof *parts->moved);
	cr_free(memory, parts->data, count * sizeof *parts->data);
	*parts = (cr_surface_parts){ 0 };
}

void cr_parts_measure(const double *places, double slack, cr_surface_parts *parts)
{
	for (int32_t i = 0; i < parts->count; i++) {
		cr_surface_part *part = &parts->data[i];
		double lower[3] = { INFINITY, INFINITY, INFINITY }, upper[3] = { -INFINITY, -INFINITY, -INFINITY };
		float farthest = 0;
		for (int32_t n = parts->first[i]; n < parts->first[i + 1]; n++) {
			const int32_t vertex = parts->vertices[n];
			const double *place = &places[3 * (int64_t)vertex];
			farthest = parts->moved[vertex] > farthest ? parts->moved[vertex] : farthest;
			for (int k = 0; k < 3; k++) {
				lower[k] = place[k] < lower[k] ? place[k] : lower[k];
				upper[k] = place[k] > upper[k] ? place[k] : upper[k];
			}
		}
		memcpy(part->lower, lower, sizeof lower);
		memcpy(part->upper, upper, sizeof upper);
		if (slack >= 0)
			part->stir += sqrt((double)farthest) * (1 + 0x1p-48) + slack;
	}
}

/// The place of the path after a turn among those of the last turns.
static double *late_at(cr_surface_part *part, uint32_t turn) { return &part->late[turn % CR_PART_STEPS]; }
/// And among those of the last turns whose number CR_PART_STEPS divides.
static double *early_at(cr_surface_part *part, uint32_t turn) { return &part->early[turn / CR_PART_STEPS % CR_PART_STEPS]; }

void cr_parts_turn(cr_surface_parts *parts)
{
	const uint32_t turn = ++parts->turns;
	parts->turning = true;
	for (int32_t i = 0; i < parts->count; i++) {
		cr_surface_part *part = &parts->data[i];
		part->before[0] = part->stir;
		part->before[1] = part->path;
		part->before[2] = *late_at(part, turn);
		part->before[3] = *early_at(part, turn);
		// Never less than the true sum.
		if (part->stir > 0)
			part->path = nextafter(part->path + part->stir, INFINITY);
		part->stir = 0;
		*late_at(part, turn) = part->path;
		if (turn % CR_PART_STEPS == 0)
			*early_at(part, turn) = part->path;
	}
}

void cr_parts_turn_back(cr_surface_parts *parts)
{
	if (!parts->turning)
		return;
	const uint32_t turn = parts->turns--;
	parts->turning = false;
	for (int32_t i = 0; i < parts->count; i++) {
		cr_surface_part *part = &parts->data[i];
		part->stir = part->before[0];
		part->path = part->before[1];
		*late_at(part, turn) = part->before[2];
		*early_at(part, turn) = part->before[3];
	}
}

void cr_parts_forget(cr_surface_parts *parts)
{
	parts->turns = 0;
	parts->turning = false;
	for (int32_t i = 0; i < parts->count; i++) {
		cr_surface_part *part = &parts->data[i];
		part->stir = part->path = 0;
		memset(part->late, 0, sizeof part->late);
		memset(part->early, 0, sizeof part->early);
		memset(part->before, 0, sizeof part->before);
	}
}

void cr_parts_save(const cr_surface_parts *parts, double *numbers)
{
	*numbers++ = parts->count;
	*numbers++ = parts->turns;
	for (int32_t i = 0; i < parts->count; i++) {
		const cr_surface_part *part = &parts->data[i];
		*numbers++ = part->stir;
		*numbers++ = part->path;
		memcpy(numbers, part->late, sizeof part->late);
		memcpy(numbers + CR_PART_STEPS, part->early, sizeof part->early);
		numbers += 2 * CR_PART_STEPS;
	}
}

void cr_parts_restore(const double *numbers, cr_surface_parts *parts)
{
	if (numbers[0] != parts->count || !(numbers[1] >= 0 && numbers[1] <= UINT32_MAX))
		return;
	parts->turns = (uint32_t)numbers[1];
	parts->turning = false;
	numbers += 2;
	for (int32_t i = 0; i < parts->count; i++) {
		cr_surface_part *part = &parts->data[i];
		part->stir = *numbers++;
		part->path = *numbers++;
		memcpy(part->late, numbers, sizeof part->late);
		memcpy(part->early, numbers + CR_PART_STEPS, sizeof part->early);
		numbers += 2 * CR_PART_STEPS;
	}
}

double cr_part_growth(const cr_surface_parts *parts, int32_t number, uint32_t turns, double most)
{
	const cr_surface_part *part = &parts->data[number];
	const uint32_t age = parts->turns - turns;
	double then;
	if (age < CR_PART_STEPS)
		then = part->late[turns % CR_PART_STEPS];
	else if (parts->turns / CR_PART_STEPS - turns / CR_PART_STEPS < CR_PART_STEPS)
		then = part->early[turns / CR_PART_STEPS % CR_PART_STEPS];
	else
		return most;
	const double grown = part->path > then ? part->path - then + part->path * 0x1p-50 : 0;
	return grown < most ? grown : most;
}
