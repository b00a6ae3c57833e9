// Forms of bodies for benches. See bench_forms.h.
//
// The wave: a vertex of the body's own frame moves along z by a sine of its x and of the time, with
// another phase for each body. Its height is three hundredths of the body's size, so neighbours
// move against each other by millimetres in a frame, as in a soft heap that comes to rest.
//
// The pieces: the vertices of a mesh are dealt to so many centres by Lloyd's iteration, which
// begins with vertices that are farthest from each other; a piece is the hull of all triangles with
// a corner in its part. Bullet makes the clusters of its soft bodies so (btSoftBodyHelpers,
// generateClusters).
#include "bench_forms.h"

#include "sim/base/rotations.h"
#include "sim/base/sim_clock.h"
#include "tools/carom/options.h"
#include "tools/carom/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIECES = 64, LLOYD_ROUNDS = 12 };

// A mesh of the scene. Height fields have no triangles here.
typedef struct form_mesh {
	sim_mesh triangles;
	double size; // longest side of its box
	carom_part pieces[MOST_PIECES];
	int piece_count;
} form_mesh;

struct bench_forms {
	const bench_motion *motion;
	carom_context *context;
	bench_form form;
	carom_mesh_build build;
	form_mesh *meshes; // [scene.mesh_count]
	double *places;    // [3 * most vertices]
	bool *placed;      // [scene.rigid.body_count] has been put at its first place
};

// ---- Pieces ----

static double square(const float *a, const double *b)
{
	const double d[3] = { (double)a[0] - b[0], (double)a[1] - b[1], (double)a[2] - b[2] };
	return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

static int nearest(const float *vertex, int count, double (*centres)[3])
{
	int best = 0;
	for (int k = 1; k < count; k++) {
		if (square(vertex, centres[k]) < square(vertex, centres[best]))
			best = k;
	}
	return best;
}

static void copy_vertex(const float *vertex, double centre[3])
{
	for (int k = 0; k < 3; k++)
		centre[k] = (double)vertex[k];
}

/// Each next centre is the vertex that is farthest from those before.
static void spread_centres(const sim_mesh *mesh, int count, double (*centres)[3])
{
	copy_vertex(mesh->vertices, centres[0]);
	for (int n = 1; n < count; n++) {
		int32_t farthest = 0;
		double most = -1;
		for (int32_t i = 0; i < mesh->vertex_count; i++) {
			const float *v = mesh->vertices + 3 * (size_t)i;
			const double d = square(v, centres[nearest(v, n, centres)]);
			if (d > most) {
				most = d;
				farthest = i;
			}
		}
		copy_vertex(mesh->vertices + 3 * (size_t)farthest, centres[n]);
	}
}

static void move_centres(const sim_mesh *mesh, int count, double (*centres)[3], const int *owners)
{
	for (int n = 0; n < count; n++) {
		double sum[3] = { 0 };
		int32_t members = 0;
		for (int32_t i = 0; i < mesh->vertex_count; i++) {
			if (owners[i] != n)
				continue;
			for (int k = 0; k < 3; k++)
				sum[k] += (double)mesh->vertices[3 * (size_t)i + (size_t)k];
			members++;
		}
		for (int k = 0; k < 3 && members > 0; k++)
			centres[n][k] = sum[k] / members;
	}
}

/// The hull of all triangles with a corner of piece n.
static carom_result make_piece(carom_context *context, const sim_mesh *mesh, const int *owners, int n, carom_mesh **hull)
{
	float *points = bench_allocate(9 * (size_t)mesh->triangle_count, sizeof *points);
	int32_t count = 0;
	for (int32_t t = 0; t < mesh->triangle_count; t++) {
		const int32_t *corners = mesh->triangles + 3 * (size_t)t;
		if (owners[corners[0]] != n && owners[corners[1]] != n && owners[corners[2]] != n)
			continue;
		for (int k = 0; k < 3; k++)
			memcpy(points + 3 * (size_t)count++, mesh->vertices + 3 * (size_t)corners[k], 3 * sizeof *points);
	}
	const carom_strided strided = { points, 0, CAROM_FLOAT32 };
	const carom_result result = carom_create_hull(context, &strided, count, hull);
	free(points);
	return result;
}

static int make_pieces(carom_context *context, form_mesh *mesh, int count)
{
	double centres[MOST_PIECES][3];
	int *owners = bench_allocate((size_t)mesh->triangles.vertex_count, sizeof *owners);
	carom_result result = CAROM_SUCCESS;
	spread_centres(&mesh->triangles, count, centres);
	for (int round = 0; round < LLOYD_ROUNDS; round++) {
		for (int32_t i = 0; i < mesh->triangles.vertex_count; i++)
			owners[i] = nearest(mesh->triangles.vertices + 3 * (size_t)i, count, centres);
		move_centres(&mesh->triangles, count, centres, owners);
	}
	for (int n = 0; n < count && result == CAROM_SUCCESS; n++) {
		carom_mesh *hull;
		result = make_piece(context, &mesh->triangles, owners, n, &hull);
		if (result == CAROM_SUCCESS)
			mesh->pieces[mesh->piece_count++] = (carom_part){ { .type = CAROM_HULL, .mesh = hull }, carom_pose_identity(), 0 };
	}
	free(owners);
	return result == CAROM_SUCCESS ? EXIT_DONE : report_error(NULL, "a piece of a mesh: %s", carom_error_text(context));
}

// ---- Setting up ----

static int load_mesh(bench_forms *forms, int32_t index, int pieces)
{
	sim_error error;
	form_mesh *mesh = &forms->meshes[index];
	if (forms->motion->scene.meshes[index].kind == SCENE_MESH_HEIGHT_FIELD)
		return EXIT_DONE;
	if (!scene_build_mesh(&forms->motion->scene, index, &mesh->triangles, &error))
		return report_error(NULL, "%s", error.text);
	for (int k = 0; k < 3; k++) {
		double low = INFINITY, high = -INFINITY;
		for (int32_t i = 0; i < mesh->triangles.vertex_count; i++) {
			const double x = (double)mesh->triangles.vertices[3 * (size_t)i + (size_t)k];
			low = fmin(low, x);
			high = fmax(high, x);
		}
		mesh->size = fmax(mesh->size, high - low);
	}
	return forms->form == BENCH_PIECES ? make_pieces(forms->context, mesh, pieces) : EXIT_DONE;
}

bench_forms *bench_open_forms(
	const bench_motion *motion, carom_context *context, bench_form form, carom_mesh_build build, int pieces)
{
	bench_forms *forms = bench_allocate(1, sizeof *forms);
	*forms = (bench_forms){ .motion = motion, .context = context, .form = form, .build = build };
	forms->meshes = bench_allocate((size_t)motion->scene.mesh_count, sizeof *forms->meshes);
	forms->placed = bench_allocate((size_t)motion->scene.rigid.body_count, sizeof *forms->placed);
	int32_t most = 0;
	int status = EXIT_DONE;
	for (int32_t i = 0; i < motion->scene.mesh_count && status == EXIT_DONE; i++) {
		status = load_mesh(forms, i, pieces);
		most = forms->meshes[i].triangles.vertex_count > most ? forms->meshes[i].triangles.vertex_count : most;
	}
	forms->places = bench_allocate(3 * (size_t)most, sizeof *forms->places);
	if (status == EXIT_DONE)
		return forms;
	bench_close_forms(forms);
	return NULL;
}

void bench_close_forms(bench_forms *forms)
{
	if (!forms)
		return;
	for (int32_t i = 0; i < forms->motion->scene.mesh_count; i++) {
		sim_mesh_free(&forms->meshes[i].triangles);
		for (int n = 0; n < forms->meshes[i].piece_count; n++)
			carom_release_mesh((carom_mesh *)forms->meshes[i].pieces[n].shape.mesh);
	}
	free(forms->meshes);
	free(forms->placed);
	free(forms->places);
	free(forms);
}

/// The triangles of a body that moves and is a mesh; else NULL.
static form_mesh *mesh_of(const bench_forms *forms, int32_t body)
{
	const scene_body *b = &forms->motion->scene.rigid.bodies[body];
	if (b->kind != CAROM_DYNAMIC || b->part_count > 0 || b->shape.type != CAROM_MESH)
		return NULL;
	form_mesh *mesh = &forms->meshes[b->shape.mesh];
	return mesh->triangles.vertex_count > 0 ? mesh : NULL;
}

void bench_form_define(const bench_forms *forms, int32_t body, carom_body_def *def)
{
	const form_mesh *mesh = mesh_of(forms, body);
	if (!mesh)
		return;
	if (forms->form == BENCH_REFITTED) {
		def->kind = CAROM_DEFORMABLE;
		def->self_collision = false;
		def->shape_impacts = false;
	}
	if (forms->form == BENCH_PIECES) {
		def->shape = carom_default_body_def().shape;
		def->parts = mesh->pieces;
		def->part_count = mesh->piece_count;
	}
}

// ---- Moving ----

/// The places of a body's vertices in its own frame.
static void wave(bench_forms *forms, const form_mesh *mesh, int32_t body, int frame)
{
	const double time = frame * forms->motion->scene.time_step, height = 0.03 * mesh->size;
	for (int32_t i = 0; i < mesh->triangles.vertex_count; i++) {
		const float *v = mesh->triangles.vertices + 3 * (size_t)i;
		double *p = forms->places + 3 * (size_t)i;
		copy_vertex(v, p);
		p[2] += height * sim_sine(6 * p[0] / mesh->size + 2 * SIM_PI * time + body);
	}
}

static carom_result set_vertices(
	bench_forms *forms, carom_world *world, const form_mesh *mesh, int32_t body, carom_body_id id, const carom_pose *pose)
{
	for (int32_t i = 0; i < mesh->triangles.vertex_count; i++) {
		double *p = forms->places + 3 * (size_t)i;
		const carom_vec3 q = carom_transform_point(*pose, (carom_vec3){ p[0], p[1], p[2] });
		p[0] = q.x;
		p[1] = q.y;
		p[2] = q.z;
	}
	const carom_strided end = { forms->places, 0, CAROM_FLOAT64 };
	const bool first = !forms->placed[body];
	forms->placed[body] = true;
	return carom_world_set_vertices(world, id, first ? &end : NULL, &end);
}

static carom_result remake(const bench_forms *forms, carom_world *world, const form_mesh *mesh, carom_body_id id,
	const carom_pose *pose, double *update)
{
	carom_mesh_def def = carom_default_mesh_def();
	carom_mesh *made;
	def.vertices = (carom_strided){ forms->places, 0, CAROM_FLOAT64 };
	def.vertex_count = mesh->triangles.vertex_count;
	def.triangles = mesh->triangles.triangles;
	def.triangle_count = mesh->triangles.triangle_count;
	def.grid_resolution = 0;
	def.build = forms->build;
	const double start = sim_now_ms();
	carom_result result = carom_create_mesh(forms->context, &def, NULL, &made);
	*update += sim_now_ms() - start;
	if (result != CAROM_SUCCESS)
		return result;
	const carom_shape shape = { .type = CAROM_MESH, .mesh = made };
	result = carom_world_set_shape(world, id, &shape);
	carom_release_mesh(made);
	return result == CAROM_SUCCESS ? carom_world_set_pose(world, id, pose) : result;
}

carom_result bench_form_move(bench_forms *forms, carom_world *world, int32_t count, const int32_t *bodies,
	const carom_body_id *ids, int frame, double *update)
{
	const carom_pose *poses = forms->motion->poses + (size_t)frame * (size_t)forms->motion->scene.rigid.body_count;
	carom_result result = CAROM_SUCCESS;
	for (int32_t i = 0; i < count && result == CAROM_SUCCESS; i++) {
		const form_mesh *mesh = mesh_of(forms, bodies[i]);
		const carom_pose *pose = &poses[bodies[i]];
		if (!mesh || forms->form == BENCH_RIGID || forms->form == BENCH_PIECES) {
			result = carom_world_set_pose(world, ids[i], pose);
			continue;
		}
		wave(forms, mesh, bodies[i], frame);
		result = forms->form == BENCH_REFITTED ? set_vertices(forms, world, mesh, bodies[i], ids[i], pose)
											   : remake(forms, world, mesh, ids[i], pose, update);
	}
	return result;
}
