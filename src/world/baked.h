/// The parts of a baked mesh (carom_mesh_save), and their check.
#ifndef CR_WORLD_BAKED_H
#define CR_WORLD_BAKED_H

#include "base/hash.h"
#include "world/world.h"

/// The content of carom_mesh, without the parts that belong to one mesh in memory alone.
typedef struct cr_mesh_parts {
	carom_mesh_report report;
	carom_mesh_sides sides;
	carom_mesh_build build;
	carom_vec3 centre; // the head has it
	cr_topology topology;
	cr_facets facets;
	uint32_t *materials;
	uint32_t *vertex_materials;
	double *exact;
	cr_collider collider; // its topology is the one here
	cr_hull_data hull;
	cr_field field;
	// It has no normals, facets, grid and binary tree, and neither a hull nor vertices as they were
	// given. A baked mesh has all of them.
	bool bare;
	bool unfaceted; // a copy that has no facets
} cr_mesh_parts;

typedef enum cr_copy_kind {
	CR_COPY_ALL,
	CR_COPY_UNFACETED, // all but the facets, which are made beside the block
	// the arrays that other places of the vertices change; the others are those of the mesh, which
	// the copy keeps alive. Without binary tree and grid
	CR_COPY_PLACES,
	CR_COPY_BARE, // like it, and see cr_mesh_parts
	CR_COPY_OWN,  // of such a copy all arrays, which are its own
} cr_copy_kind;

/// A copy of a mesh in one block, whose arrays may be written until it is handed out.
carom_result cr_copy_mesh(carom_context *context, const carom_mesh *mesh, cr_copy_kind kind, carom_mesh **copy);

/// A copy of all of a mesh, in one block, with other materials of triangles and vertices; NULL:
/// none.
carom_result cr_copy_painted(carom_context *context, const carom_mesh *mesh, const uint32_t *materials,
	const uint32_t *vertex_materials, carom_mesh **copy);

/// Check all counts, indices, links and numbers of parts whose arrays are as long as their counts
/// say: nothing that a mesh does may leave an array, or go on for ever. Returns the field that is
/// wrong, or NULL. Linear (baked_check.c).
const char *cr_check_baked(const cr_mesh_parts *parts);

enum {
	CR_BAKED_ALIGNMENT = CR_CACHE_LINE, // of the block, and of each array in it
	CR_BAKED_LANES = 8,                 // of the digest
	// Bytes that the digest asks memory for ahead: of 257 MB it takes 24 ms on one thread with 1024
	// or more, 28 with 512, 38 without.
	CR_BAKED_AHEAD = 1024,
};

/// The beginning of the block. The digest is over all bytes, with 0 in its own place.
typedef struct cr_baked_head {
	char magic[8];
	uint32_t version;
	uint32_t byte_order;
	uint64_t size; // of the whole
	uint64_t digest;
	uint64_t layout;  // of the structures in the arrays
	double centre[3]; // carom_mesh_def.centre
} cr_baked_head;

_Static_assert(sizeof(cr_baked_head) == CR_BAKED_ALIGNMENT, "the first array begins a cache line");

/// Digest of bytes, whose number is a multiple of 64: eight lanes side by side, so that
/// multiplications need not wait for each other. Each step is one to one, so a change of one word
/// always shows.
static inline uint64_t cr_digest_of(const uint8_t *bytes, size_t count)
{
	uint64_t lane[CR_BAKED_LANES], digest = CR_HASH_SEED;
	for (int i = 0; i < CR_BAKED_LANES; i++)
		lane[i] = CR_HASH_SEED + (uint64_t)i;
	for (size_t at = 0; at < count; at += CR_BAKED_LANES * sizeof(uint64_t)) {
		__builtin_prefetch(bytes + (at + CR_BAKED_AHEAD < count ? at + CR_BAKED_AHEAD : at));
		for (int i = 0; i < CR_BAKED_LANES; i++) {
			uint64_t word;
			memcpy(&word, bytes + at + (size_t)i * sizeof word, sizeof word);
			lane[i] = cr_hash_u64(lane[i], word);
		}
	}
	for (int i = 0; i < CR_BAKED_LANES; i++)
		digest = cr_hash_u64(digest, lane[i]);
	return cr_hash_u64(digest, count);
}

/// The digest of the bytes of a baked mesh, at least a head.
static inline uint64_t cr_baked_digest(const uint8_t *bytes, size_t size)
{
	cr_baked_head h;
	memcpy(&h, bytes, sizeof h);
	h.digest = 0;
	uint8_t first[sizeof h];
	memcpy(first, &h, sizeof h);
	return cr_hash_u64(cr_digest_of(first, sizeof first), cr_digest_of(bytes + sizeof h, size - sizeof h));
}

#endif
