/// Records of vertices, as batches of elementary tests take them (carom/batch.h).
#ifndef CR_MESH_ELEMENTS_H
#define CR_MESH_ELEMENTS_H

#include "carom/batch.h"

/// Checks records of size vertices each, on all workers. end: a second array of positions, or NULL.
/// bounded: coordinates that are used must be finite and within CAROM_MAX_COORDINATE. The text
/// names the first wrong record.
carom_result cr_check_elements(
	carom_context *context, const char *function, const carom_elements *elements, int size, const double *end, bool bounded);

/// The number of vertex k of record i.
static inline int64_t cr_element_vertex(const carom_elements *elements, int size, int64_t i, int k)
{
	return elements->vertices ? elements->vertices[i * size + k] : i * size + k;
}

/// Where vertex k of record i is.
static inline carom_vec3 cr_element_place(const carom_elements *elements, int size, int64_t i, int k)
{
	const double *p = elements->positions + 3 * cr_element_vertex(elements, size, i, k);
	return (carom_vec3){ p[0], p[1], p[2] };
}

#endif
