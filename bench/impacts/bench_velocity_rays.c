/// @file bench_velocity_rays.c
/// Self-collision of cloth by velocity rays both ways (Li and Yamaguchi, Algorithm 1), beside the
/// sweep, which misses nothing. A mesh moves from its places in one file to those in another. Each
/// vertex casts a ray back along its way from where it ends, at the mesh as it ends (the vertex has
/// gone through what is hit), and one on along its way from where it begins, at the mesh as it
/// begins (it will meet what is hit). The truth: vertices that meet a face on the way
/// (carom_world_impacts). Prints CSV: vertices with an impact, of these those that each ray found
/// and either did, vertices flagged without an impact, edges that meet edges, which no ray sees,
/// and milliseconds of the rays with their tree and of the sweep.
///
/// Rays begin a thousandth of the mean edge away from their vertex, so that its own triangles do
/// not count. As printed, the algorithm knows no motion of the surface that is hit.
/// Usage: bench_velocity_rays FIRST SECOND [FIRST SECOND ...]
#include "bench/bench_check.h"
#include "carom/carom.h"
#include "io/mesh_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct bench {
	carom_context *context;
	sim_mesh frames[2];
	float *rays[7], *t; // origin, direction, t_max
	int32_t *triangle;
	uint8_t *back, *met, *flagged; // [vertex_count]: meets a face; 1: by the ray back, 2: on
	double ms_rays;
} bench;

static void check(carom_context *context, carom_result result) { bench_check("bench_velocity_rays", context, result); }

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static carom_mesh *make_mesh(bench *b, const sim_mesh *frame)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = frame->vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = frame->vertex_count;
	def.triangles = frame->triangles;
	def.triangle_count = frame->triangle_count;
	def.grid_resolution = 0;
	def.build = CAROM_MESH_HLBVH;
	carom_mesh *mesh;
	check(b->context, carom_create_mesh(b->context, &def, NULL, &mesh));
	return mesh;
}

static double mean_edge(const sim_mesh *mesh)
{
	double sum = 0;
	for (int64_t i = 0; i < 3 * (int64_t)mesh->triangle_count; i++) {
		const float *p = &mesh->vertices[3 * (int64_t)mesh->triangles[i]],
					*q = &mesh->vertices[3 * (int64_t)mesh->triangles[i - i % 3 + (i + 1) % 3]];
		sum += sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) + (p[2] - q[2]) * (p[2] - q[2]));
	}
	return sum / (3.0 * mesh->triangle_count);
}

/// Rays from where the vertices are in a frame to where they are in the other one.
static void aim(bench *b, int frame, double away)
{
	const sim_mesh *from = &b->frames[frame], *to = &b->frames[1 - frame];
	for (int32_t i = 0; i < from->vertex_count; i++) {
		double way[3], length = 0;
		for (int k = 0; k < 3; k++) {
			way[k] = (double)to->vertices[3 * (int64_t)i + k] - from->vertices[3 * (int64_t)i + k];
			length += way[k] * way[k];
		}
		length = sqrt(length);
		const double share = length > away ? away / length : 1;
		for (int k = 0; k < 3; k++) {
			b->rays[k][i] = (float)(from->vertices[3 * (int64_t)i + k] + share * way[k]);
			b->rays[3 + k][i] = (float)((1 - share) * way[k]);
		}
		b->rays[6][i] = share < 1 ? 1.0f : 0.0f;
	}
}

static void cast(bench *b, int frame, uint8_t flag)
{
	const double start = now_ms();
	carom_mesh *mesh = make_mesh(b, &b->frames[frame]);
	aim(b, frame, 1e-3 * mean_edge(&b->frames[frame]));
	const carom_ray_batch rays = { b->frames[0].vertex_count, { b->rays[0], b->rays[1], b->rays[2] },
		{ b->rays[3], b->rays[4], b->rays[5] }, b->rays[6] };
	check(b->context, carom_mesh_cast_rays(mesh, &rays, &(carom_hit_batch){ b->triangle, b->t, b->back }));
	for (int32_t i = 0; i < b->frames[0].vertex_count; i++)
		b->flagged[i] |= b->triangle[i] >= 0 && b->rays[6][i] > 0 ? flag : 0;
	carom_release_mesh(mesh);
	b->ms_rays += now_ms() - start;
}

/// The truth. Returns how many edges meet edges.
static int64_t sweep(bench *b, double *ms)
{
	carom_world *world;
	check(b->context, carom_create_world(b->context, NULL, &world));
	carom_mesh *mesh = make_mesh(b, &b->frames[0]);
	carom_body_def def = carom_default_body_def();
	def.kind = CAROM_CLOTH;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	carom_body_id id;
	check(b->context, carom_world_add_body(world, &def, &id));
	check(b->context, carom_world_step(world)); // makes the tree
	const carom_strided end = { .data = b->frames[1].vertices, .type = CAROM_FLOAT32 };
	check(b->context, carom_world_set_vertices(world, id, NULL, &end));
	check(b->context, carom_world_step(world));
	const carom_impact_view view = carom_world_impacts(world);
	int64_t edges = 0;
	for (int64_t i = 0; i < view.count; i++) {
		if (view.data[i].kind == CAROM_SWEEP_VERTEX_FACE)
			b->met[view.data[i].vertices[0]] = 1;
		else
			edges++;
	}
	*ms = carom_world_stats(world).ms_sweep;
	carom_destroy_world(world);
	carom_release_mesh(mesh);
	return edges;
}

static void load(bench *b, char **paths)
{
	for (int i = 0; i < 2; i++) {
		sim_error error;
		if (!io_load_mesh(paths[i], &b->frames[i], &error)) {
			fprintf(stderr, "bench_velocity_rays: %s: %s\n", paths[i], error.text);
			exit(1);
		}
	}
	const int32_t count = b->frames[0].vertex_count;
	if (b->frames[1].vertex_count != count) {
		fprintf(
			stderr, "bench_velocity_rays: %s has %d vertices, not %d\n", paths[1], (int)b->frames[1].vertex_count, (int)count);
		exit(1);
	}
	for (int k = 0; k < 7; k++)
		b->rays[k] = calloc((size_t)count, sizeof(float));
	b->t = calloc((size_t)count, sizeof(float));
	b->triangle = calloc((size_t)count, sizeof(int32_t));
	b->back = calloc(3, (size_t)count);
	b->met = b->back + count;
	b->flagged = b->met + count;
}

static void measure(bench *b, const char *name)
{
	int64_t met = 0, found[4] = { 0 }, wrong = 0;
	double ms;
	cast(b, 1, 1);
	cast(b, 0, 2);
	const int64_t edges = sweep(b, &ms);
	for (int32_t i = 0; i < b->frames[0].vertex_count; i++) {
		met += b->met[i];
		found[1] += b->met[i] && (b->flagged[i] & 1);
		found[2] += b->met[i] && (b->flagged[i] & 2);
		found[3] += b->met[i] && b->flagged[i];
		wrong += !b->met[i] && b->flagged[i];
	}
	printf("%s,%d,%lld,%lld,%lld,%lld,%lld,%lld,%.1f,%.1f\n", name, (int)b->frames[0].vertex_count, (long long)met,
		(long long)found[1], (long long)found[2], (long long)found[3], (long long)wrong, (long long)edges, b->ms_rays, ms);
}

int main(int argc, char **argv)
{
	carom_context_def def = carom_default_context_def();
	def.thread_count = 1;
	carom_context *context;
	if (argc < 3 || argc % 2 == 0 || carom_create_context(&def, &context) != CAROM_SUCCESS) {
		fprintf(stderr, "usage: bench_velocity_rays FIRST SECOND [FIRST SECOND ...]\n");
		return 2;
	}
	printf(
		"second file,vertices,with an impact,found back,found on,found by either,flagged without one,edges that meet,ms rays,ms sweep\n");
	for (int i = 1; i < argc; i += 2) {
		bench b = { .context = context };
		load(&b, &argv[i]);
		measure(&b, strrchr(argv[i + 1], '/') ? strrchr(argv[i + 1], '/') + 1 : argv[i + 1]);
	}
	carom_destroy_context(context);
	return 0;
}
