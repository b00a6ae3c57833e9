// What the files of the module share: how its calls are named, and the one context.
#ifndef WASM_MODULE_H
#define WASM_MODULE_H

#include "carom/batch.h"
#include "carom/carom.h"
#include "carom/collide.h"
#include "carom/proximity.h"
#include "carom/query.h"
#include "carom/record.h"
#include "carom/snapshot.h"
#include "carom/spheres.h"
#include "carom/sweep.h"

/// A call that carom.js makes, and one that carom.js answers.
#define EXPORT(name) __attribute__((export_name(#name))) name
#define IMPORT(name) __attribute__((import_module("carom"), import_name(#name)))

extern carom_context *cw_context;

/// A list of the library's, for carom.js to read where it lies.
typedef struct cw_list {
	const void *data;
	uint32_t count;
} cw_list;

/// Packed doubles; of NULL none.
static inline carom_strided cw_doubles(const double *data) { return (carom_strided){ .data = data, .type = CAROM_FLOAT64 }; }

// ---- Functions of the caller's, behind carom.js ----

/// Bytes of a recording or snapshot. Returns whether more are wanted.
IMPORT(write) int cw_write(const void *bytes, size_t count);

/// cw_write as a carom_write_fn.
static inline bool cw_write_bytes(const void *bytes, size_t count, void *user)
{
	(void)user;
	return cw_write(bytes, count);
}

#endif
