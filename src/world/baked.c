/// Baked meshes: everything that was made of a mesh, as it lies in memory, so that it need not be
/// made again (docs/meshes.md, "Baked").
///
/// One walk over the parts of a mesh serves all ways: it counts the bytes, writes them, points a
/// mesh at them, or moves the arrays of one that is in memory to a block. Bytes that are read are
/// believed only after the digest of all bytes was right, and then every count, index and link is
/// checked (baked_check.c): a file that somebody forged gives wrong contacts at worst.

#include "world/baked.h"
#include <string.h>

#define MAGIC "CAROMBAK"

enum {
	// 1 held nothing of height fields, 2 no edges of hulls, 3 normals of all edges, 4 records of
	// all facets of fields, 5 binary trees of fields, 6 not how the trees were built
	VERSION = 7,
	BYTE_ORDER = 0x01020304,
};

typedef enum way {
	COUNT,
	WRITE,
	READ,
	MOVE, // write the arrays, and point the parts at what was written
} way;

typedef struct walk {
	way way;
	bool in_memory; // of counting and moving: the block holds arrays alone
	bool places;    // of counting and moving: those alone that follow the places of vertices
	uint8_t *bytes; // NULL: counting
	size_t at, size;
	const char *fault; // the field that is wrong; NULL: none so far
} walk;

/// Structures that lie in the arrays: a library that was built with others of them must not read
/// the block.
static uint64_t layout(void)
{
	const uint64_t sizes[] = { sizeof(cr_facet), sizeof(cr_node2), sizeof(cr_node8), sizeof(cr_tri8), sizeof(cr_across8),
		sizeof(cr_sample8), sizeof(cr_cell_word), sizeof(cr_touched_cell), sizeof(cr_outline8), sizeof(v3d), CR_WIDTH,
		CR_CELL_TRIANGLES, CR_FEW_CORNERS, sizeof(cr_hull_edge) };
	uint64_t hash = CR_HASH_SEED;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		hash = cr_hash_u64(hash, sizes[i]);
	return hash;
}

// ---- The walk ----

static void refuse(walk *w, const char *field)
{
	if (!w->fault)
		w->fault = field;
}

/// A number of bytes that are copied.
static void pass(walk *w, const char *field, void *data, size_t count)
{
	if (w->fault || w->in_memory)
		return;
	if (w->way == READ && count > w->size - w->at) {
		refuse(w, field);
		return;
	}
	if (w->way == READ)
		memcpy(data, w->bytes + w->at, count);
	else if (w->way == WRITE)
		memcpy(w->bytes + w->at, data, count);
	w->at += count;
}

static void pass_int(walk *w, const char *field, int32_t *value, int32_t least, int32_t most)
{
	int32_t read = *value;
	pass(w, field, &read, sizeof read);
	if (w->fault)
		return;
	if (read < least || read > most)
		refuse(w, field);
	else if (w->way == READ)
		*value = read;
}

static void pass_count(walk *w, const char *field, int32_t *value) { pass_int(w, field, value, 0, INT32_MAX); }

static void pass_bool(walk *w, const char *field, bool *value)
{
	int32_t read = *value;
	pass_int(w, field, &read, 0, 1);
	*value = read != 0;
}

static void pass_float(walk *w, const char *field, float *value)
{
	pass(w, field, value, sizeof *value);
	if (w->way == READ && isnan(*value))
		refuse(w, field);
}

static void pass_double(walk *w, const char *field, double *value)
{
	pass(w, field, value, sizeof *value);
	if (w->way == READ && !isfinite(*value))
		refuse(w, field);
}

enum {
	TINY = 128,   // bytes: of arrays that lie at multiples of 8 in memory
	SMALL = 1024, // at multiples of the widest load
};

/// Where an array of so many bytes may begin.
static size_t alignment_of(const walk *w, size_t bytes)
{
	if (!w->in_memory || bytes >= SMALL)
		return CR_BAKED_ALIGNMENT;
	return bytes < TINY ? sizeof(double) : CR_WIDTH * sizeof(float);
}

static size_t align(size_t at, size_t alignment) { return (at + alignment - 1) / alignment * alignment; }

/// Pass an array that begins here.
static void *put_array(walk *w, void *data, size_t bytes)
{
	uint8_t *at = w->bytes ? w->bytes + w->at : NULL;
	w->at += bytes;
	if ((w->way == WRITE || w->way == MOVE) && bytes > 0)
		memcpy(at, data, bytes);
	return w->way == READ || w->way == MOVE ? at : data;
}

/// Floats that the mesh points at where they are, behind those passed before.
static void *pass_behind(walk *w, const char *field, void *data, size_t bytes)
{
	if (w->fault || bytes > (w->way == READ ? w->size - w->at : bytes)) {
		refuse(w, field);
		return NULL;
	}
	return put_array(w, data, bytes);
}

/// An array that the mesh points at.
static void *pass_array(walk *w, const char *field, void *data, int64_t count, size_t element)
{
	w->at = align(w->at, alignment_of(w, (size_t)count * element));
	if (w->fault || count == 0)
		return w->way == READ || w->way == MOVE ? NULL : data;
	if (w->way == READ && (w->at > w->size || (uint64_t)count > (w->size - w->at) / element)) {
		refuse(w, field);
		return NULL;
	}
	return put_array(w, data, (size_t)count * element);
}

#define INT(of, name, least, most) pass_int(w, #name, &(of)->name, least, most)
#define NUMBER(of, name) pass_count(w, #name, &(of)->name)
#define BOOL(of, name) pass_bool(w, #name, &(of)->name)
#define FLOAT(of, name) pass_float(w, #name, &(of)->name)
#define DOUBLE(of, name) pass_double(w, #name, &(of)->name)
#define ARRAY(field, pointer, count) (pointer) = pass_array(w, field, pointer, count, sizeof *(pointer))
// One that stays as it is where vertices move.
#define FIXED_ARRAY(field, pointer, count) \
	(pointer) = w->places ? (pointer) : pass_array(w, field, pointer, count, sizeof *(pointer))

static void walk_report(walk *w, carom_mesh_report *r)
{
	NUMBER(r, vertex_count);
	INT(r, triangle_count, 0, INT32_MAX / 3);
	NUMBER(r, nonfinite_vertices);
	NUMBER(r, huge_vertices);
	NUMBER(r, out_of_range_triangles);
	NUMBER(r, degenerate_triangles);
	NUMBER(r, duplicate_triangles);
	NUMBER(r, unreferenced_vertices);
	NUMBER(r, duplicate_vertices);
	NUMBER(r, rounded_vertices);
	DOUBLE(r, rounding);
	NUMBER(r, border_edges);
	NUMBER(r, nonmanifold_edges);
	NUMBER(r, inconsistent_edges);
	NUMBER(r, unbalanced_edges);
	NUMBER(r, nonmanifold_vertices);
	NUMBER(r, normalless_vertices);
	NUMBER(r, components);
	INT(r, euler, INT32_MIN, INT32_MAX);
	BOOL(r, closed);
	BOOL(r, inverted);
	BOOL(r, usable);
	DOUBLE(r, volume);
	DOUBLE(r, area);
	for (int k = 0; k < 3; k++) {
		pass_double(w, "lower", &r->lower[k]);
		pass_double(w, "upper", &r->upper[k]);
	}
	INT(r, first_element, -1, INT32_MAX);
	pass(w, "first_finding", r->first_finding, sizeof r->first_finding);
	if (w->way == READ && (!r->usable || !memchr(r->first_finding, '\0', sizeof r->first_finding)))
		refuse(w, r->usable ? "first_finding" : "usable");
}

/// bare: without normals. has_edges: with those of edges.
static void walk_topology(walk *w, bool bare, bool has_edges, cr_topology *t, const carom_mesh_report *r)
{
	const int64_t vertices = r->vertex_count, triangles = r->triangle_count;
	t->vertex_count = r->vertex_count;
	t->triangle_count = r->triangle_count;
	ARRAY("vertices", t->vertices, 3 * vertices);
	FIXED_ARRAY("triangles", t->triangles, 3 * triangles);
	FIXED_ARRAY("weld", t->weld, vertices);
	FIXED_ARRAY("used", t->used, triangles);
	FIXED_ARRAY("neighbours", t->neighbours, 3 * triangles);
	ARRAY("normals", t->normals, bare ? 0 : 3 * vertices);
	ARRAY("edge_normals", t->edge_normals, has_edges ? 9 * triangles : 0);
}

static void walk_facets(walk *w, cr_facets *f, const cr_topology *t, int32_t used)
{
	bool thin = f->thin != NULL;
	f->vertex_count = t->vertex_count;
	f->triangle_count = t->triangle_count;
	pass_bool(w, "thin", &thin);
	f->thin = thin ? t : NULL;
	pass_int(w, "facets", &f->count, 0, used);
	pass_int(w, "triangles of facets", &f->listed, 0, used);
	pass_int(w, "facets", &f->whole, 0, used);
	// Records that an edit freed are not used again.
	f->free = 0;
	f->room = f->count;
	f->list_room = f->listed;
	INT(f, few_count, 0, CR_FEW_CORNERS);
	BOOL(f, convex);
	DOUBLE(f, slack);
	INT(f, edge_count, 0, CR_FEW_EDGES);
	FIXED_ARRAY("few", f->few, f->few_count);
	FIXED_ARRAY("edges of a hull", f->edges, f->edge_count);
	ARRAY("facets", f->data, f->count);
	FIXED_ARRAY("facet of triangles", f->of_triangle, f->triangle_count);
	FIXED_ARRAY("triangles of facets", f->triangles, f->listed);
	FIXED_ARRAY("creases", f->crease, f->triangle_count);
	FIXED_ARRAY("corners", f->corner, f->vertex_count);
}

static void walk_tree(walk *w, const char *field, cr_tree8 *t, int32_t primitives)
{
	pass_int(w, field, &t->node_count, 0, primitives);
	pass_int(w, field, &t->block_count, 0, primitives);
	pass_int(w, field, &t->depth, 0, CR_MAX_DEPTH);
	bool listed = t->block_first != NULL;
	pass_bool(w, field, &listed);
	ARRAY(field, t->nodes, t->node_count);
	FIXED_ARRAY(field, t->block_first, listed ? t->block_count : 0);
	FIXED_ARRAY(field, t->block_size, listed ? t->block_count : 0);
}

static void walk_collider(walk *w, cr_collider *c, const carom_mesh_report *r)
{
	for (int k = 0; k < 3; k++) {
		pass_float(w, "lower", &c->lower[k]);
		pass_float(w, "upper", &c->upper[k]);
	}
	FLOAT(c, scale);
	FLOAT(c, diagonal);
	FLOAT(c, extent);
	c->closed = cr_is_solid(r);
	BOOL(c, lean);
	const int32_t used = c->triangle_count;
	bool numbered = c->triangle_number != NULL;
	pass_bool(w, "triangle numbers", &numbered);
	FIXED_ARRAY("triangle numbers", c->triangle_number, numbered ? used : 0);
	pass_int(w, "binary tree", &c->binary.primitive_count, 0, used);
	pass_int(w, "binary tree", &c->binary.node_count, 0, INT32_MAX);
	ARRAY("binary tree", c->binary.nodes, c->binary.node_count);
	ARRAY("binary tree", c->binary.order, c->binary.primitive_count);
	walk_tree(w, "tree", &c->tree, used);
	ARRAY("blocks", c->blocks, c->tree.block_count);
	FIXED_ARRAY("edges of blocks", c->across, c->tree.block_count);
	FIXED_ARRAY("places", c->place, used > 0 ? r->triangle_count : 0);
	INT(c, outline_count, used > 0, CR_WIDTH);
	c->outline = pass_behind(w, "outline", c->outline, (size_t)c->outline_count * sizeof *c->outline);
	NUMBER(c, sample_count);
	walk_tree(w, "tree of samples", &c->sample_tree, c->sample_count);
	ARRAY("samples", c->samples, c->sample_tree.block_count);
}

static void walk_grid(walk *w, cr_grid *g, const cr_collider *c)
{
	bool has = g->cells != NULL;
	pass_bool(w, "grid", &has);
	if (!has)
		return;
	for (int k = 0; k < 3; k++) {
		pass_float(w, "grid", &g->origin[k]);
		pass_int(w, "grid", &g->size[k], 1, CR_GRID_MAX_ROW);
	}
	pass_float(w, "grid", &g->cell);
	pass_float(w, "grid", &g->inverse_cell);
	const int64_t cells = (int64_t)g->size[0] * g->size[1] * g->size[2];
	pass(w, "touched cells", &g->touched_count, sizeof g->touched_count);
	if (g->touched_count < 0 || g->touched_count > INT32_MAX || cells > CR_GRID_MAX_CELLS)
		refuse(w, "touched cells");
	g->plane_count = c->lean ? 0 : c->topology->triangle_count;
	ARRAY("cells", g->cells, cells + CR_GRID_PADDING);
	g->touched_room = 0;
	ARRAY("words of cells", g->words, (cells + 63) / 64);
	ARRAY("touched cells", g->touched, g->touched_count);
	ARRAY("planes", g->planes, g->plane_count);
}

static void walk_hull(walk *w, cr_hull_data *d)
{
	cr_hull *h = &d->hull;
	NUMBER(h, vertex_count);
	if (h->vertex_count == 0)
		return;
	NUMBER(h, face_count);
	INT(d, triangle_count, 4, INT32_MAX / 3);
	DOUBLE(h, centre.x);
	DOUBLE(h, centre.y);
	DOUBLE(h, centre.z);
	DOUBLE(h, size);
	ARRAY("hull triangles", d->triangles, 3 * (int64_t)d->triangle_count);
	ARRAY("hull vertices", h->vertices, h->vertex_count);
	ARRAY("hull faces", h->face_first, (int64_t)h->face_count + 1);
	ARRAY("hull normals", h->normals, h->face_count);
	ARRAY("hull neighbours", h->neighbour_first, (int64_t)h->vertex_count + 1);
	int32_t corners = w->way == READ ? 0 : h->face_first[h->face_count];
	pass_int(w, "hull corners", &corners, 0, 3 * d->triangle_count);
	ARRAY("hull corners", h->corners, corners);
	ARRAY("hull neighbours", h->neighbours, 3 * (int64_t)d->triangle_count);
}

static void walk_field(walk *w, cr_field *f, const carom_mesh_report *r)
{
	bool has_holes = f->holes != NULL;
	INT(f, columns, 0, r->vertex_count);
	if (f->columns == 0)
		return;
	INT(f, columns, 2, r->vertex_count);
	INT(f, rows, 2, r->vertex_count / f->columns);
	for (int k = 0; k < 2; k++)
		pass_double(w, "spacing", &f->spacing[k]);
	DOUBLE(f, bottom);
	pass_bool(w, "holes", &has_holes);
	ARRAY("holes", f->holes, has_holes ? (int64_t)f->columns * f->rows : 0);
}

static void walk_parts(walk *w, cr_mesh_parts *p)
{
	w->at = w->in_memory ? 0 : sizeof(cr_baked_head);
	bool has_materials = p->materials != NULL, has_exact = p->exact != NULL;
	bool has_edges = p->topology.edge_normals != NULL;
	int32_t sides = (int32_t)p->sides, build = (int32_t)p->build;
	walk_report(w, &p->report);
	pass_int(w, "sides", &sides, 0, CAROM_SIDES_CONTAINER);
	p->sides = (carom_mesh_sides)sides;
	pass_int(w, "build", &build, 0, CAROM_MESH_PLOC);
	p->build = (carom_mesh_build)build;
	pass_int(w, "triangles in use", &p->collider.triangle_count, 0, p->report.triangle_count);
	pass_bool(w, "materials", &has_materials);
	pass_bool(w, "vertices as given", &has_exact);
	pass_bool(w, "normals of edges", &has_edges);
	if (w->fault)
		return;
	walk_topology(w, p->bare, has_edges, &p->topology, &p->report);
	if (!p->bare && !p->unfaceted)
		walk_facets(w, &p->facets, &p->topology, p->collider.triangle_count);
	FIXED_ARRAY("materials", p->materials, has_materials ? p->report.triangle_count : 0);
	FIXED_ARRAY("materials of vertices", p->vertex_materials, has_materials ? p->report.vertex_count : 0);
	ARRAY("vertices as given", p->exact, has_exact ? 3 * (int64_t)p->report.vertex_count : 0);
	if (w->fault)
		return;
	p->collider.topology = &p->topology;
	walk_collider(w, &p->collider, &p->report);
	walk_grid(w, &p->collider.grid, &p->collider);
	walk_hull(w, &p->hull);
	walk_field(w, &p->field, &p->report);
	w->at = align(w->at, w->in_memory ? 1 : CR_BAKED_ALIGNMENT);
}

// ---- Saving ----

static cr_mesh_parts parts_of(const carom_mesh *m)
{
	cr_mesh_parts parts = { .report = m->report,
		.sides = m->sides,
		.build = m->build,
		.centre = m->centre,
		.topology = m->topology,
		.facets = m->facets,
		.materials = m->materials,
		.vertex_materials = m->vertex_materials,
		.exact = m->exact,
		.collider = m->collider,
		.field = m->field };
	if (m->hull)
		parts.hull = *m->hull;
	return parts;
}

/// The bytes that a mesh is baked to, or that its arrays take in one block in memory.
static size_t count_bytes(cr_mesh_parts *parts, bool in_memory, bool places)
{
	walk w = { .way = COUNT, .in_memory = in_memory, .places = places };
	walk_parts(&w, parts);
	return w.at;
}

carom_result carom_mesh_save(const carom_mesh *mesh, carom_write_fn *write, void *user)
{
	if (!mesh)
		return CAROM_INVALID_ARGUMENT;
	if (!write)
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "carom_mesh_save: write is NULL");
	cr_mesh_parts parts = parts_of(mesh);
	const size_t size = count_bytes(&parts, false, false);
	uint8_t *bytes = cr_alloc_zero(mesh->context, size);
	if (!bytes)
		return cr_fail_memory(mesh->context, "a baked mesh");
	walk w = { .way = WRITE, .bytes = bytes };
	walk_parts(&w, &parts);
	cr_baked_head h = { .magic = MAGIC, .version = VERSION, .byte_order = BYTE_ORDER, .size = size, .layout = layout() };
	memcpy(h.centre, &mesh->centre, sizeof h.centre);
	memcpy(bytes, &h, sizeof h);
	h.digest = cr_baked_digest(bytes, size);
	memcpy(bytes, &h, sizeof h);
	const bool written = write(bytes, size, user);
	cr_free(mesh->context, bytes, size);
	if (!written)
		return cr_fail(mesh->context, CAROM_INVALID_ARGUMENT, "carom_mesh_save: write gave up");
	return CAROM_SUCCESS;
}

// ---- Loading ----

static const char *const name = "carom_mesh_load";

static carom_result check_head(carom_context *context, const uint8_t *bytes, size_t size)
{
	cr_baked_head h;
	if (size < sizeof h)
		return cr_fail(context, CAROM_INVALID_MESH, "%s: size is %zu, less than the %zu bytes of a head", name, size, sizeof h);
	memcpy(&h, bytes, sizeof h);
	if (memcmp(h.magic, MAGIC, sizeof h.magic) != 0)
		return cr_fail(context, CAROM_INVALID_MESH, "%s: magic: this is no baked mesh", name);
	if (h.byte_order != BYTE_ORDER)
		return cr_fail(
			context, CAROM_INVALID_MESH, "%s: byte order: baked on a machine of the other byte order, or damaged", name);
	if (h.version != VERSION)
		return cr_fail(context, CAROM_INVALID_MESH, "%s: version is %u; this library reads %d: bake the mesh again", name,
			(unsigned)h.version, VERSION);
	if (h.size != size || size % CR_BAKED_ALIGNMENT != 0)
		return cr_fail(context, CAROM_INVALID_MESH, "%s: size is %zu, but the mesh was baked as %llu bytes", name, size,
			(unsigned long long)h.size);
	return CAROM_SUCCESS;
}

/// Check the digest of all bytes: that of the head counts as 0.
static carom_result check_digest(carom_context *context, const uint8_t *bytes, size_t size)
{
	cr_baked_head h;
	memcpy(&h, bytes, sizeof h);
	if (h.digest != cr_baked_digest(bytes, size))
		return cr_fail(context, CAROM_INVALID_MESH, "%s: digest: the bytes are damaged", name);
	if (h.layout != layout())
		return cr_fail(
			context, CAROM_INVALID_MESH, "%s: layout: baked by a library that was built otherwise: bake the mesh again", name);
	return CAROM_SUCCESS;
}

/// Read the centre from the head. Returns the field that is wrong, or NULL.
static const char *read_centre(const uint8_t *bytes, carom_vec3 *centre)
{
	cr_baked_head h;
	memcpy(&h, bytes, sizeof h);
	memcpy(centre, h.centre, sizeof h.centre);
	return isfinite(centre->x) && isfinite(centre->y) && isfinite(centre->z) ? NULL : "centre";
}

static carom_result read_parts(carom_context *context, uint8_t *bytes, size_t size, cr_mesh_parts *parts)
{
	carom_result result = check_digest(context, bytes, size);
	if (result != CAROM_SUCCESS)
		return result;
	walk w = { .way = READ, .bytes = bytes, .size = size };
	walk_parts(&w, parts);
	if (!w.fault && w.at != size)
		w.fault = "size";
	const char *fault = w.fault ? w.fault : read_centre(bytes, &parts->centre);
	fault = fault ? fault : cr_check_baked(parts);
	if (fault)
		return cr_fail(context, CAROM_INVALID_MESH, "%s: %s: impossible values, although the digest is right", name, fault);
	return CAROM_SUCCESS;
}

static void take_parts(carom_mesh *mesh, const cr_mesh_parts *p)
{
	mesh->report = p->report;
	mesh->sides = p->sides;
	mesh->build = p->build;
	mesh->centre = p->centre;
	mesh->topology = p->topology;
	mesh->facets = p->facets;
	mesh->facets.thin = p->facets.thin ? &mesh->topology : NULL;
	mesh->materials = p->materials;
	mesh->vertex_materials = p->vertex_materials;
	mesh->one_material = p->materials && cr_is_one_material(p->materials, p->report.triangle_count);
	mesh->exact = p->exact;
	mesh->collider = p->collider;
	mesh->collider.topology = &mesh->topology;
	mesh->collider.revision = cr_next_serial();
	mesh->field = p->field;
}

/// Take the hull of parts, if they have one. false: out of memory.
static bool take_hull(carom_context *context, const cr_hull_data *hull, carom_mesh *mesh)
{
	if (hull->hull.vertex_count == 0)
		return true;
	mesh->hull = cr_alloc(context, sizeof *hull);
	if (!mesh->hull)
		return false;
	*mesh->hull = *hull;
	cr_hull *own = &mesh->hull->hull;
	if (!cr_hull_make_rows(context, own)) {
		cr_free(context, mesh->hull, sizeof *hull);
		return false;
	}
	cr_hull_set_starts(own);
	cr_hull_fill_rows(own, context->simd);
	return true;
}

/// Make the mesh of parts in a block that is its own (owned) or the caller's.
static carom_result make_mesh(
	carom_context *context, const cr_mesh_parts *parts, uint8_t *bytes, size_t size, bool owned, carom_mesh **mesh)
{
	carom_mesh *made = cr_alloc_zero(context, sizeof *made);
	if (!made)
		return cr_fail_memory(context, "a mesh");
	if (!take_hull(context, &parts->hull, made)) {
		cr_free(context, made, sizeof *made);
		return cr_fail_memory(context, "a hull");
	}
	made->context = context;
	atomic_init(&made->references, 1);
	take_parts(made, parts);
	made->baked_bytes = size;
	made->baked = owned ? bytes : NULL;
	atomic_fetch_add(&context->live_objects, 1);
	const carom_result result = parts->bare ? CAROM_SUCCESS : cr_make_support_map(made);
	if (result != CAROM_SUCCESS) {
		made->baked = NULL; // the caller frees the block
		carom_release_mesh(made);
		return result;
	}
	*mesh = made;
	return CAROM_SUCCESS;
}

/// Make the mesh over a block that is its own (owned) or the caller's.
static carom_result load(carom_context *context, uint8_t *bytes, size_t size, bool owned, carom_mesh **mesh)
{
	cr_mesh_parts parts = { 0 };
	const carom_result result = read_parts(context, bytes, size, &parts);
	return result == CAROM_SUCCESS ? make_mesh(context, &parts, bytes, size, owned, mesh) : result;
}

/// The parts of a mesh that a copy has.
static cr_mesh_parts parts_to_copy(const carom_mesh *mesh, cr_copy_kind kind)
{
	cr_mesh_parts parts = parts_of(mesh);
	parts.bare = kind == CR_COPY_BARE || kind == CR_COPY_OWN;
	parts.unfaceted = kind == CR_COPY_UNFACETED;
	if (parts.bare || kind == CR_COPY_PLACES) {
		parts.collider.binary = (cr_tree2){ 0 };
		parts.collider.grid = (cr_grid){ 0 };
	}
	if (parts.bare || kind == CR_COPY_UNFACETED)
		parts.facets = (cr_facets){ 0 };
	if (parts.bare) {
		parts.hull = (cr_hull_data){ 0 };
		parts.exact = NULL;
		parts.topology.normals = parts.topology.edge_normals = NULL;
	}
	return parts;
}

/// Make the mesh of a copy of parts in one block. places: only of the arrays that follow the places
/// of vertices.
static carom_result copy_parts(carom_context *context, cr_mesh_parts *parts, bool places, carom_mesh **copy)
{
	const size_t size = count_bytes(parts, true, places);
	uint8_t *bytes = cr_alloc(context, size);
	if (!bytes && size > 0)
		return cr_fail_memory(context, "a copy of a mesh");
	walk w = { .way = MOVE, .in_memory = true, .places = places, .bytes = bytes };
	walk_parts(&w, parts);
	const carom_result result = make_mesh(context, parts, bytes, size, true, copy);
	if (result != CAROM_SUCCESS)
		cr_free(context, bytes, size);
	return result;
}

carom_result cr_copy_mesh(carom_context *context, const carom_mesh *mesh, cr_copy_kind kind, carom_mesh **copy)
{
	cr_mesh_parts parts = parts_to_copy(mesh, kind);
	const bool places = kind == CR_COPY_PLACES || kind == CR_COPY_BARE;
	const carom_result result = copy_parts(context, &parts, places, copy);
	if (result == CAROM_SUCCESS && places)
		(*copy)->shared = carom_retain_mesh(mesh);
	return result;
}

carom_result cr_copy_painted(carom_context *context, const carom_mesh *mesh, const uint32_t *materials,
	const uint32_t *vertex_materials, carom_mesh **copy)
{
	cr_mesh_parts parts = parts_to_copy(mesh, CR_COPY_ALL);
	parts.materials = (uint32_t *)materials; // only read
	parts.vertex_materials = (uint32_t *)vertex_materials;
	return copy_parts(context, &parts, false, copy);
}

carom_result carom_mesh_load(carom_context *context, const void *bytes, size_t size, bool copy, carom_mesh **mesh)
{
	if (!context)
		return CAROM_INVALID_ARGUMENT;
	if (!mesh)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: mesh is NULL", name);
	*mesh = NULL;
	if (!bytes)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: bytes is NULL", name);
	if (!copy && (uintptr_t)bytes % CR_BAKED_ALIGNMENT != 0)
		return cr_fail(context, CAROM_INVALID_ARGUMENT, "%s: bytes is not aligned to %d, as it must be without copy", name,
			CR_BAKED_ALIGNMENT);
	carom_result result = check_head(context, bytes, size);
	if (result != CAROM_SUCCESS)
		return result;
	// A mesh never writes to its arrays.
	if (!copy)
		return load(context, (uint8_t *)bytes, size, false, mesh);
	uint8_t *own = cr_alloc(context, size);
	if (!own)
		return cr_fail_memory(context, "a baked mesh");
	memcpy(own, bytes, size);
	result = load(context, own, size, true, mesh);
	if (result != CAROM_SUCCESS)
		cr_free(context, own, size);
	return result;
}
