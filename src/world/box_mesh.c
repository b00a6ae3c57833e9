/// Meshes of boxes. See box_mesh.h.
///
/// Which triangles are neighbours, or in one facet, or in one leaf of a tree does not depend
/// on how large a box is, only on which of its faces are larger: facets are listed by that. So the
/// mesh of a box is a copy of one of 13 *forms*, boxes of 1 to 3, with its own places; it shares
/// all that stays. It has the bits of a mesh that is made, but for the shape of its trees, on which
/// contacts do not depend. A copy depends on the half extents alone, not on boxes before it.

#include "world/box_mesh.h"
#include "base/hash.h"
#include "world/baked.h"
#include "world/world.h"

enum {
	FACE_SAMPLES = 4,
	BOX_SAMPLES = 6 * FACE_SAMPLES,
	CORNERS = 8,
	TRIANGLES = 12,
	FIRST_ROOM = 64,
};

/// Samples of a box: the corners of each face, with the face's own normal. A corner casts one ray
/// along each of its three faces, and the shortest tells the way out; a ray along the diagonal
/// would tell sqrt(3) times the depth.
static void sample_box(const double half[3], float *points, float *normals, int32_t *numbers)
{
	int32_t n = 0;
	for (int axis = 0; axis < 3; axis++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			for (int i = 0; i < FACE_SAMPLES; i++) {
				const int u = (axis + 1) % 3, v = (axis + 2) % 3;
				float *p = &points[3 * n], *normal = &normals[3 * n];
				p[axis] = (float)(sign * half[axis]);
				p[u] = (float)(i & 1 ? half[u] : -half[u]);
				p[v] = (float)(i & 2 ? half[v] : -half[v]);
				normal[axis] = (float)sign;
				normal[u] = normal[v] = 0;
				numbers[n] = n;
				n++;
			}
		}
	}
}

/// The places of a box: corners, and samples with their normals.
typedef struct box_places {
	float corners[3 * CORNERS];
	float points[3 * BOX_SAMPLES];
	float normals[3 * BOX_SAMPLES];
	int32_t numbers[BOX_SAMPLES];
} box_places;

static void place_box(const double half[3], box_places *p)
{
	for (int i = 0; i < CORNERS; i++) {
		for (int k = 0; k < 3; k++)
			p->corners[3 * i + k] = (float)((i >> k & 1) ? half[k] : -half[k]);
	}
	sample_box(half, p->points, p->normals, p->numbers);
}

/// A box as a closed mesh of twelve triangles: target of rays and of the completion.
static carom_result create_box_mesh(carom_context *memory, const box_places *p, carom_mesh **mesh)
{
	static const int32_t triangles[3 * TRIANGLES] = { 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4, 2, 6, 7, 2, 7, 3, 0,
		4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5 };
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ p->corners, 0, CAROM_FLOAT32 };
	def.vertex_count = CORNERS;
	def.triangles = triangles;
	def.triangle_count = TRIANGLES;
	def.grid_resolution = 0;
	const cr_sample_set samples = { p->points, p->normals, p->numbers, BOX_SAMPLES };
	const carom_result result = cr_create_mesh(memory, &def, &samples, NULL, mesh);
	return result == CAROM_SUCCESS ? cr_pack_mesh(mesh) : result;
}

// ---- Forms ----

/// The half extents of the corner that lies farthest up all axes.
static const float *half_of(const float corners[3 * CORNERS]) { return &corners[3 * (CORNERS - 1)]; }

/// The form of a box: how many of its extents are less than each. Sets the form's half extents.
static int form_of(const float half[3], double of_form[3])
{
	int number = 0;
	for (int k = 0; k < 3; k++) {
		const float u = half[(k + 1) % 3], v = half[(k + 2) % 3];
		const int less = (u < half[k]) + (v < half[k] && v != u);
		of_form[k] = 1 + less;
		number = 3 * number + less;
	}
	return number;
}

static void mend_report(const carom_mesh *mesh, carom_mesh_report *r)
{
	const cr_collider *c = &mesh->collider;
	double length[3];
	for (int k = 0; k < 3; k++) {
		r->lower[k] = c->lower[k];
		r->upper[k] = c->upper[k];
		length[k] = (double)c->upper[k] - c->lower[k];
	}
	r->volume = length[0] * length[1] * length[2];
	r->area = 2 * (length[0] * length[1] + length[1] * length[2] + length[2] * length[0]);
}

/// Put a copy of a form at the places of a box. false: it has no area.
static bool refit_copy(carom_context *memory, const box_places *p, carom_mesh *copy)
{
	cr_topology *t = &copy->topology;
	v3d faces[TRIANGLES], sums[CORNERS] = { { 0 } };
	memcpy(t->vertices, p->corners, sizeof p->corners);
	if (!cr_collider_refit_sampled(memory, p->points, &copy->collider))
		return false;
	cr_sum_corner_normals(t, faces, sums);
	for (int i = 0; i < CORNERS; i++)
		cr_store_normal(sums[i], &t->normals[3 * i]);
	cr_facets_settle(t, &copy->facets);
	mend_report(copy, &copy->report);
	return true;
}

/// Make the mesh of a box from its form.
static carom_result copy_form(carom_context *memory, cr_box_meshes *meshes, const box_places *p, carom_mesh **mesh)
{
	double half[3];
	carom_mesh **form = &meshes->forms[form_of(half_of(p->corners), half)];
	if (!*form) {
		box_places of_form;
		place_box(half, &of_form);
		const carom_result result = create_box_mesh(memory, &of_form, form);
		if (result != CAROM_SUCCESS)
			return result;
	}
	const carom_result result = cr_copy_mesh(memory, *form, CR_COPY_PLACES, mesh);
	if (result != CAROM_SUCCESS || refit_copy(memory, p, *mesh))
		return result;
	// So small a box that it has no area: the check of a mesh tells the reason.
	carom_release_mesh(*mesh);
	return create_box_mesh(memory, p, mesh);
}

// ---- Boxes of one size ----

static uint32_t hash_of(const float half[3])
{
	uint64_t hash = CR_HASH_SEED;
	for (int k = 0; k < 3; k++) {
		uint32_t bits;
		memcpy(&bits, &half[k], sizeof bits);
		hash = cr_hash_u64(hash, bits);
	}
	return (uint32_t)(hash ^ hash >> 32);
}

static bool is_of(const cr_box_entry *entry, uint32_t hash, const float half[3])
{
	return entry->hash == hash && memcmp(half_of(entry->mesh->topology.vertices), half, 3 * sizeof *half) == 0;
}

/// The entry of half extents, or a free one where there is none. half NULL: a free one. The table
/// has free entries.
static cr_box_entry *find_entry(const cr_box_meshes *m, uint32_t hash, const float half[3])
{
	uint32_t at = hash & (uint32_t)(m->room - 1);
	while (m->table[at].mesh && !(half && is_of(&m->table[at], hash, half)))
		at = (at + 1) & (uint32_t)(m->room - 1);
	return &m->table[at];
}

/// Is a mesh that of a box? Nobody else asks for it while the table is used.
static bool is_live(const cr_box_entry *entry) { return entry->mesh && entry->mesh->references > 1; }

static void free_table(carom_context *memory, cr_box_meshes *m)
{
	cr_free(memory, m->table, (size_t)m->room * sizeof *m->table);
}

/// Move the meshes of boxes that still are to a table that they fill by half at most; others are
/// given up. false: out of memory, and nothing is done.
static bool make_room(carom_context *memory, cr_box_meshes *m)
{
	int32_t live = 0;
	for (int32_t i = 0; i < m->room; i++)
		live += is_live(&m->table[i]);
	cr_box_meshes made = { .room = FIRST_ROOM, .count = live };
	while (made.room < 2 * live)
		made.room *= 2;
	made.table = cr_alloc_zero(memory, (size_t)made.room * sizeof *made.table);
	if (!made.table)
		return false;
	for (int32_t i = 0; i < m->room; i++) {
		const cr_box_entry *entry = &m->table[i];
		if (is_live(entry))
			*find_entry(&made, entry->hash, NULL) = *entry;
		else
			carom_release_mesh(entry->mesh);
	}
	free_table(memory, m);
	m->table = made.table;
	m->room = made.room;
	m->count = made.count;
	return true;
}

carom_result cr_make_box_mesh(carom_context *memory, cr_box_meshes *meshes, bool whole, cr_shape *shape)
{
	box_places p;
	place_box(shape->def.half_extents, &p);
	// A quarter of the entries stay free.
	if (4 * (int64_t)(meshes->count + 1) > 3 * (int64_t)meshes->room && !make_room(memory, meshes))
		return cr_fail_memory(memory, "the meshes of boxes");
	const float *half = half_of(p.corners);
	const uint32_t hash = hash_of(half);
	cr_box_entry *entry = find_entry(meshes, hash, half);
	if (!entry->mesh) {
		const carom_result result =
			whole ? create_box_mesh(memory, &p, &entry->mesh) : copy_form(memory, meshes, &p, &entry->mesh);
		if (result != CAROM_SUCCESS) {
			entry->mesh = NULL;
			return result;
		}
		entry->hash = hash;
		meshes->count++;
	}
	shape->mesh = carom_retain_mesh(entry->mesh);
	shape->collider = &shape->mesh->collider;
	return CAROM_SUCCESS;
}

void cr_trim_box_meshes(carom_context *memory, cr_box_meshes *m)
{
	// Where there is no memory for a smaller table, the old one stays.
	if (m->room > 0 && make_room(memory, m) && m->count == 0)
		cr_free_box_meshes(memory, m);
}

void cr_free_box_meshes(carom_context *memory, cr_box_meshes *m)
{
	for (int32_t i = 0; i < m->room; i++)
		carom_release_mesh(m->table[i].mesh);
	for (int i = 0; i < CR_BOX_FORMS; i++)
		carom_release_mesh(m->forms[i]);
	free_table(memory, m);
	*m = (cr_box_meshes){ 0 };
}
