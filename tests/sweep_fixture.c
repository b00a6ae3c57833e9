#include "sweep_fixture.h"
#include "swept_fixture.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Meshes ----

static void *make_array(int64_t count, size_t size)
{
	void *data = calloc((size_t)count + 1, size);
	REQUIRE(data != NULL);
	return data;
}

static sweep_mesh *add_mesh(sweep_world *world, int32_t vertices, int32_t triangles)
{
	REQUIRE(world->count < SWEEP_MOST_MESHES);
	sweep_mesh *mesh = &world->meshes[world->count++];
	*mesh =
		(sweep_mesh){ .vertex_count = vertices, .triangle_count = triangles, .self = true, .category = 1, .mask = UINT64_MAX };
	mesh->triangles = make_array(3 * (int64_t)triangles, sizeof *mesh->triangles);
	mesh->begin = make_array(3 * (int64_t)vertices, sizeof *mesh->begin);
	mesh->end = make_array(3 * (int64_t)vertices, sizeof *mesh->end);
	return mesh;
}

static void rest(sweep_mesh *mesh) { memcpy(mesh->end, mesh->begin, 3 * (size_t)mesh->vertex_count * sizeof *mesh->end); }

static void set_triangle(sweep_mesh *mesh, int32_t triangle, int32_t a, int32_t b, int32_t c)
{
	const int32_t corners[3] = { a, b, c };
	memcpy(&mesh->triangles[3 * triangle], corners, sizeof corners);
}

static void set_place(sweep_mesh *mesh, int32_t vertex, double x, double y, double z)
{
	const double place[3] = { x, y, z };
	memcpy(&mesh->begin[3 * vertex], place, sizeof place);
}

sweep_mesh *sweep_add_sheet(sweep_world *world, int columns, int rows, double size)
{
	sweep_mesh *mesh = add_mesh(world, columns * rows, 2 * (columns - 1) * (rows - 1));
	int32_t triangle = 0;
	for (int j = 0; j < rows; j++) {
		for (int i = 0; i < columns; i++) {
			const int32_t at = j * columns + i;
			set_place(mesh, at, size * (i / (columns - 1.0) - 0.5), size * (j / (rows - 1.0) - 0.5), 0);
			if (i + 1 == columns || j + 1 == rows)
				continue;
			set_triangle(mesh, triangle++, at, at + 1, at + columns);
			set_triangle(mesh, triangle++, at + 1, at + columns + 1, at + columns);
		}
	}
	rest(mesh);
	return mesh;
}

sweep_mesh *sweep_add_torus(sweep_world *world, int around, int across)
{
	sweep_mesh *mesh = add_mesh(world, around * across, 2 * around * across);
	const double turn = 2 * acos(-1);
	int32_t triangle = 0;
	for (int i = 0; i < around; i++) {
		for (int j = 0; j < across; j++) {
			const double u = turn * i / around, v = turn * j / across, r = 1 + 0.4 * cos(v);
			set_place(mesh, i * across + j, r * cos(u), r * sin(u), 0.4 * sin(v));
			const int32_t next = (i + 1) % around * across, here = i * across, right = (j + 1) % across;
			set_triangle(mesh, triangle++, here + j, next + j, next + right);
			set_triangle(mesh, triangle++, here + j, next + right, here + right);
		}
	}
	rest(mesh);
	return mesh;
}

sweep_mesh *sweep_add_box(sweep_world *world)
{
	// Other diagonals give other orphans: 22 of the 64 choices have none.
	static const int32_t sides[12][3] = { { 0, 3, 1 }, { 0, 2, 3 }, { 4, 7, 6 }, { 4, 5, 7 }, { 0, 5, 4 }, { 0, 1, 5 },
		{ 2, 7, 3 }, { 2, 6, 7 }, { 0, 6, 2 }, { 0, 4, 6 }, { 1, 7, 5 }, { 1, 3, 7 } };
	sweep_mesh *mesh = add_mesh(world, 8, 12);
	memcpy(mesh->triangles, sides, sizeof sides);
	for (int32_t i = 0; i < 8; i++)
		set_place(mesh, i, (i & 1) - 0.5, (i >> 1 & 1) - 0.5, (i >> 2) - 0.5);
	rest(mesh);
	return mesh;
}

sweep_mesh *sweep_add_tetrahedron(sweep_world *world)
{
	static const int32_t sides[4][3] = { { 0, 1, 2 }, { 0, 3, 1 }, { 1, 3, 2 }, { 2, 3, 0 } };
	sweep_mesh *mesh = add_mesh(world, 4, 4);
	memcpy(mesh->triangles, sides, sizeof sides);
	for (int32_t i = 0; i < 4; i++)
		set_place(mesh, i, i == 1, i == 2, i == 3);
	rest(mesh);
	return mesh;
}

sweep_mesh *sweep_add_fan(sweep_world *world, int triangles)
{
	sweep_mesh *mesh = add_mesh(world, triangles + 1, triangles);
	for (int32_t i = 0; i < triangles; i++) {
		const double u = 2 * acos(-1) * i / triangles;
		set_place(mesh, i + 1, cos(u), sin(u), 0.2 * cos(5 * u));
		set_triangle(mesh, i, 0, i + 1, (i + 1) % triangles + 1);
	}
	rest(mesh);
	return mesh;
}

sweep_mesh *sweep_add_mess(sweep_world *world, int vertices, int triangles, uint64_t *random)
{
	sweep_mesh *mesh = add_mesh(world, vertices, triangles);
	for (int32_t i = 0; i < vertices; i++) {
		set_place(
			mesh, i, test_random_double(random, -1, 1), test_random_double(random, -1, 1), test_random_double(random, -1, 1));
		// Some at the same place as others, some on a line.
		if (i > 0 && test_random(random) % 6 == 0)
			memcpy(&mesh->begin[3 * i], &mesh->begin[3 * (int32_t)(test_random(random) % (uint64_t)i)], 3 * sizeof(double));
		if (test_random(random) % 6 == 0)
			mesh->begin[3 * i + 1] = mesh->begin[3 * i + 2] = 0;
	}
	for (int32_t i = 0; i < triangles; i++) {
		for (int k = 0; k < 3; k++)
			mesh->triangles[3 * i + k] = (int32_t)(test_random(random) % (uint64_t)vertices);
		if (i > 0 && test_random(random) % 8 == 0)
			memcpy(&mesh->triangles[3 * i], &mesh->triangles[3 * i - 3], 3 * sizeof(int32_t));
	}
	rest(mesh);
	return mesh;
}

sweep_mesh *sweep_add_random(sweep_world *world, uint64_t *random)
{
	const int n = 3 + (int)(test_random(random) % 6);
	switch (test_random(random) % 7) {
	case 0: return sweep_add_sheet(world, n, n + 1, 2);
	case 1: return sweep_add_torus(world, n + 2, n);
	case 2: return sweep_add_box(world);
	case 3: return sweep_add_tetrahedron(world);
	case 4: return sweep_add_fan(world, 4 * n);
	case 5: return sweep_add_mess(world, 2 * n, 3 * n, random);
	default: return sweep_add_mess(world, 40, 12, random); // mostly apart from each other
	}
}

void sweep_free_world(sweep_world *world)
{
	for (int i = 0; i < world->count; i++) {
		free(world->meshes[i].triangles);
		free(world->meshes[i].begin);
		free(world->meshes[i].end);
	}
	*world = (sweep_world){ 0 };
}

// ---- Motion ----

void sweep_shift(sweep_mesh *mesh, double x, double y, double z)
{
	const double by[3] = { x, y, z };
	for (int32_t i = 0; i < 3 * mesh->vertex_count; i++) {
		mesh->begin[i] += by[i % 3];
		mesh->end[i] += by[i % 3];
	}
}

void sweep_move(sweep_world *world, double drift, double shake, uint64_t *random)
{
	for (int i = 0; i < world->count; i++) {
		sweep_mesh *mesh = &world->meshes[i];
		double by[3];
		for (int k = 0; k < 3; k++)
			by[k] = test_random_double(random, -drift, drift);
		memcpy(mesh->begin, mesh->end, 3 * (size_t)mesh->vertex_count * sizeof *mesh->begin);
		const bool rests = mesh->is_rigid && test_random(random) % 2;
		for (int32_t j = 0; j < mesh->vertex_count && !rests; j++) {
			const bool round = !mesh->is_rigid && test_random(random) % 8 == 0;
			for (int k = 0; k < 3; k++) {
				double *place = &mesh->end[3 * j + k];
				*place += by[k] + (mesh->is_rigid ? 0 : test_random_double(random, -shake, shake));
				if (round)
					*place = floor(*place * 8) / 8;
			}
		}
	}
}

// ---- Scenes ----

carom_sweep *sweep_load(carom_context *context, const carom_sweep_def *def, const sweep_world *world)
{
	carom_sweep *sweep = NULL;
	carom_sweep_def with_lab = def ? *def : carom_default_sweep_def();
	with_lab.lab = carom_lab_sweep();
	REQUIRE(carom_create_sweep(context, &with_lab, &sweep) == CAROM_SUCCESS);
	for (int i = 0; i < world->count; i++) {
		const sweep_mesh *mesh = &world->meshes[i];
		carom_sweep_mesh_def m = carom_default_sweep_mesh_def();
		m.vertex_count = mesh->vertex_count;
		m.triangles = mesh->triangles;
		m.triangle_count = mesh->triangle_count;
		m.vertices = (carom_strided){ mesh->begin, 0, CAROM_FLOAT64 };
		m.self = mesh->self;
		m.is_rigid = mesh->is_rigid;
		m.category = mesh->category;
		m.mask = mesh->mask;
		m.group = mesh->group;
		m.thickness = mesh->thickness;
		int32_t id = -1;
		REQUIRE(carom_sweep_add_mesh(sweep, &m, &id) == CAROM_SUCCESS);
		REQUIRE(id == i);
	}
	return sweep;
}

void sweep_tell(carom_sweep *sweep, const sweep_world *world)
{
	for (int i = 0; i < world->count; i++) {
		const sweep_mesh *mesh = &world->meshes[i];
		const carom_strided end = { mesh->end, 0, CAROM_FLOAT64 };
		const bool rests = !memcmp(mesh->begin, mesh->end, 3 * (size_t)mesh->vertex_count * sizeof *mesh->begin);
		if (!mesh->is_rigid || !rests)
			CHECK(carom_sweep_move_mesh(sweep, i, &end) == CAROM_SUCCESS);
	}
}

carom_context *sweep_context(int threads, carom_simd simd)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = threads;
	def.simd = simd;
	carom_context *context = NULL;
	REQUIRE(carom_create_context(&def, &context) == CAROM_SUCCESS);
	return context;
}

// ---- The dull way ----

typedef struct feature {
	int mesh;
	int32_t vertices[3]; // a vertex, an edge (lower first) or a triangle
	int32_t number;      // of a triangle
} feature;

typedef struct features {
	feature *data;
	int count;
} features;

typedef struct search {
	const sweep_world *world;
	cr_swept_options options;
	sweep_list list;
	int64_t capacity;
} search;

static bool is_used(const int32_t *t) { return t[0] != t[1] && t[1] != t[2] && t[2] != t[0]; }

static void add_feature(features *all, int mesh, int count, const int32_t *vertices, int32_t number)
{
	feature added = { mesh, { -1, -1, -1 }, number };
	memcpy(added.vertices, vertices, (size_t)count * sizeof *vertices);
	// Triangles are all different; vertices and edges count once.
	for (int i = 0; i < all->count && count < 3; i++) {
		if (all->data[i].mesh == mesh && !memcmp(all->data[i].vertices, added.vertices, sizeof added.vertices))
			return;
	}
	all->data[all->count++] = added;
}

static void list_features(const sweep_world *world, features *vertices, features *edges, features *faces)
{
	int64_t most = 0;
	for (int m = 0; m < world->count; m++)
		most += 3 * (int64_t)world->meshes[m].triangle_count;
	vertices->data = make_array(most, sizeof(feature));
	edges->data = make_array(most, sizeof(feature));
	faces->data = make_array(most, sizeof(feature));
	for (int m = 0; m < world->count; m++) {
		for (int32_t i = 0; i < world->meshes[m].triangle_count; i++) {
			const int32_t *t = world->meshes[m].triangles + 3 * (int64_t)i;
			if (!is_used(t))
				continue;
			add_feature(faces, m, 3, t, i);
			for (int k = 0; k < 3; k++) {
				const int32_t a = t[k], b = t[(k + 1) % 3], ends[2] = { a < b ? a : b, a < b ? b : a };
				add_feature(vertices, m, 1, &t[k], -1);
				add_feature(edges, m, 2, ends, -1);
			}
		}
	}
}

static bool may_hit(const sweep_world *world, const feature *a, int count_a, const feature *b, int count_b)
{
	const sweep_mesh *p = &world->meshes[a->mesh], *q = &world->meshes[b->mesh];
	if (a->mesh != b->mesh) {
		if (p->is_rigid && q->is_rigid)
			return false;
		if (p->group != 0 && p->group == q->group)
			return p->group > 0;
		return (p->category & q->mask) && (q->category & p->mask);
	}
	if (!p->self || p->is_rigid)
		return false;
	for (int i = 0; i < count_a; i++) {
		for (int k = 0; k < count_b; k++) {
			if (a->vertices[i] == b->vertices[k])
				return false;
		}
	}
	return true;
}

static void try_pair(search *s, cr_swept_kind kind, const feature *a, const feature *b)
{
	const int of_first = kind == CR_SWEPT_VERTEX_FACE ? 1 : 2;
	if (!may_hit(s->world, a, of_first, b, 4 - of_first))
		return;
	double begin[12], end[12];
	carom_sweep_hit hit = { .mesh_a = a->mesh, .mesh_b = b->mesh, .triangle = -1 };
	for (int k = 0; k < 4; k++) {
		const feature *from = k < of_first ? a : b;
		hit.vertices[k] = from->vertices[k < of_first ? k : k - of_first];
		memcpy(begin + 3 * k, &s->world->meshes[from->mesh].begin[3 * hit.vertices[k]], 3 * sizeof *begin);
		memcpy(end + 3 * k, &s->world->meshes[from->mesh].end[3 * hit.vertices[k]], 3 * sizeof *end);
	}
	static const int32_t in_order[1][4] = { { 0, 1, 2, 3 } };
	const cr_swept_queries queries = { kind, begin, end, in_order, NULL, 0 };
	cr_swept_impact impact;
	cr_swept_stats stats = { 0 };
	cr_swept_options options = s->options;
	options.min_separation += 0.5 * s->world->meshes[a->mesh].thickness + 0.5 * s->world->meshes[b->mesh].thickness;
	if (cr_swept_find(&queries, 0, 1, &options, &impact, &stats) == 0)
		return;
	hit.kind = kind == CR_SWEPT_VERTEX_FACE ? CAROM_SWEEP_VERTEX_FACE : CAROM_SWEEP_EDGE_EDGE;
	hit.status = impact.status == CR_SWEPT_IMPACT ? CAROM_SWEEP_IMPACT
		: impact.status == CR_SWEPT_TOUCHING      ? CAROM_SWEEP_TOUCHING
												  : CAROM_SWEEP_UNDECIDED;
	hit.triangle = kind == CR_SWEPT_VERTEX_FACE ? b->number : -1;
	hit.time = impact.time;
	memcpy(hit.weight, impact.weight, sizeof hit.weight);
	memcpy(hit.normal, impact.normal, sizeof hit.normal);
	if (s->list.count == s->capacity) {
		s->capacity = 2 * s->capacity + 64;
		s->list.data = realloc(s->list.data, (size_t)s->capacity * sizeof hit);
		REQUIRE(s->list.data != NULL);
	}
	s->list.data[s->list.count++] = hit;
}

static int compare_hits(const void *first, const void *second)
{
	const carom_sweep_hit *a = first, *b = second;
	const int32_t p[8] = { (int32_t)a->kind, a->mesh_a, a->mesh_b, a->vertices[0], a->vertices[1], a->vertices[2],
		a->vertices[3], a->triangle };
	const int32_t q[8] = { (int32_t)b->kind, b->mesh_a, b->mesh_b, b->vertices[0], b->vertices[1], b->vertices[2],
		b->vertices[3], b->triangle };
	for (int k = 0; k < 8; k++) {
		if (p[k] != q[k])
			return p[k] < q[k] ? -1 : 1;
	}
	return 0;
}

static bool edge_is_before(const feature *a, const feature *b)
{
	if (a->mesh != b->mesh)
		return a->mesh < b->mesh;
	return a->vertices[0] != b->vertices[0] ? a->vertices[0] < b->vertices[0] : a->vertices[1] < b->vertices[1];
}

sweep_list sweep_find_dully(const sweep_world *world, const carom_sweep_def *def)
{
	features vertices = { 0 }, edges = { 0 }, faces = { 0 };
	list_features(world, &vertices, &edges, &faces);
	search s = { .world = world, .options = cr_swept_default_options(swept_boxes()) };
	s.options.tolerance = def->tolerance;
	s.options.min_separation = def->min_separation;
	s.options.relative_separation = def->relative_separation;
	for (int i = 0; i < vertices.count; i++) {
		for (int k = 0; k < faces.count; k++)
			try_pair(&s, CR_SWEPT_VERTEX_FACE, &vertices.data[i], &faces.data[k]);
	}
	for (int i = 0; i < edges.count; i++) {
		for (int k = 0; k < edges.count; k++) {
			if (edge_is_before(&edges.data[i], &edges.data[k]))
				try_pair(&s, CR_SWEPT_EDGE_EDGE, &edges.data[i], &edges.data[k]);
		}
	}
	if (s.list.count > 0)
		qsort(s.list.data, (size_t)s.list.count, sizeof *s.list.data, compare_hits);
	free(vertices.data);
	free(edges.data);
	free(faces.data);
	return s.list;
}

// ---- Lists ----

void sweep_free_list(sweep_list *list)
{
	free(list->data);
	*list = (sweep_list){ 0 };
}

sweep_list sweep_copy_hits(const carom_sweep_hits *hits)
{
	sweep_list list = { make_array(hits->count, sizeof *list.data), hits->count };
	if (hits->count > 0)
		memcpy(list.data, hits->data, (size_t)hits->count * sizeof *list.data);
	return list;
}

bool sweep_is_same_hit(const carom_sweep_hit *a, const carom_sweep_hit *b)
{
	return compare_hits(a, b) == 0 && a->status == b->status && !memcmp(&a->time, &b->time, sizeof a->time) &&
		!memcmp(a->weight, b->weight, sizeof a->weight) && !memcmp(a->normal, b->normal, sizeof a->normal);
}

static void print_hit(const char *name, const carom_sweep_hit *h)
{
	printf("%s: kind %d status %d meshes %d %d vertices %d %d %d %d triangle %d time %a\n", name, (int)h->kind, (int)h->status,
		h->mesh_a, h->mesh_b, h->vertices[0], h->vertices[1], h->vertices[2], h->vertices[3], h->triangle, h->time);
}

bool sweep_check_same(const carom_sweep_hit *actual, int64_t actual_count, const sweep_list *expected, const char *what)
{
	for (int64_t i = 0; i < actual_count && i < expected->count; i++) {
		if (sweep_is_same_hit(&actual[i], &expected->data[i]))
			continue;
		printf("%s: hit %lld of %lld differs\n", what, (long long)i, (long long)expected->count);
		print_hit("actual", &actual[i]);
		print_hit("expected", &expected->data[i]);
		return CHECK(!"the same hits");
	}
	if (actual_count != expected->count)
		printf("%s: %lld hits instead of %lld\n", what, (long long)actual_count, (long long)expected->count);
	return CHECK_INT(actual_count, expected->count);
}
