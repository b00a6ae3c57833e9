// The second pass of a replay that is looked at: surfaces of deforming bodies go into
// frames/frame_NNNNNN.ply, spheres of granular bodies into spheres.pvd and its files, and the
// contacts and impacts of both beside them.
//
// All frames have the surfaces of all steps, since readers want the same triangles in each. One
// that is not there is drawn in to a point: where it will be first, or where it was last.
#include "calls_job.h"

#include "options.h"
#include "report.h"

#include "io/contact_file.h"
#include "io/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Beginning ----

/// Which surfaces lie behind each other in the frames.
static bool write_surfaces(calls_job *job)
{
	io_output_file file;
	if (!calls_open_file(job, "frames/bodies.csv", &file))
		return false;
	fputs("kind,vertices,triangles,name\n", file.stream);
	for (int64_t i = 0; i < job->surface_count; i++) {
		const calls_surface *s = &job->surfaces[i];
		fprintf(file.stream, "%s,%d,%d,\"id %u.%u\"\n", s->kind == CAROM_CLOTH ? "cloth" : "solid", (int)s->vertex_count,
			(int)s->triangle_count, (unsigned)s->id.index1, (unsigned)s->id.generation);
	}
	return calls_commit_file(job, &file);
}

/// Surfaces take turns with their numbers of vertices.
static void join_triangles(calls_job *job)
{
	int32_t *to = job->triangles;
	for (int64_t i = 0; i < job->surface_count; i++) {
		const calls_surface *s = &job->surfaces[i];
		for (int64_t k = 0; k < 3 * (int64_t)s->triangle_count; k++)
			*to++ = s->triangles[k] + s->first_vertex;
	}
}

static bool open_frames(calls_job *job)
{
	char path[IO_PATH_MAX];
	job->vertices = malloc(3 * (size_t)job->vertex_count * sizeof *job->vertices + 1);
	job->triangles = malloc(3 * (size_t)job->triangle_count * sizeof *job->triangles + 1);
	if (!job->vertices || !job->triangles)
		return calls_out_of_memory(job);
	join_triangles(job);
	calls_name_file(job, "frames", path);
	if (report_make_folder(path) != EXIT_DONE) {
		job->status = EXIT_FAILED;
		return false;
	}
	return write_surfaces(job);
}

static bool open_spheres(calls_job *job)
{
	sim_error error;
	for (int64_t i = 0; i < job->cluster_count; i++) {
		job->clusters[i].first_place = job->place_count;
		job->place_count += job->clusters[i].place_count;
	}
	job->spheres = malloc(4 * (size_t)job->place_count * sizeof *job->spheres + 1);
	job->places = malloc((size_t)job->place_count * sizeof *job->places + 1);
	if (!job->spheres || !job->places)
		return calls_out_of_memory(job);
	job->series = io_create_vtk_series(job->folder, "spheres", &error);
	if (!job->series)
		job->status = report_error(NULL, "%s", error.text);
	return job->series != NULL;
}

bool calls_open_soft(calls_job *job)
{
	memset(job->slots, 0, (size_t)job->slot_room * sizeof *job->slots);
	return (job->surface_count == 0 || open_frames(job)) && (job->cluster_count == 0 || open_spheres(job));
}

// ---- Places ----

/// The frame as it is while nothing is there.
static void draw_in(calls_job *job)
{
	for (int64_t i = 0; i < job->surface_count; i++) {
		const calls_surface *s = &job->surfaces[i];
		float *to = job->vertices + 3 * (int64_t)s->first_vertex;
		for (int64_t k = 0; k < 3 * (int64_t)s->vertex_count; k++)
			to[k] = (float)s->place[k % 3];
	}
}

static bool take_vertices(calls_job *job, const carom_world *world, const carom_body_def *def, carom_body_id id)
{
	carom_vertex_view view;
	calls_surface *s = calls_meet_surface(job, def, id, false);
	if (carom_world_get_vertices(world, id, &view) != CAROM_SUCCESS)
		return calls_fail(job);
	float *to = job->vertices + 3 * (int64_t)s->first_vertex;
	for (int64_t k = 0; k < 3 * (int64_t)view.count; k++)
		to[k] = (float)(view.data[k] - job->reader.origin[k % 3]);
	for (int k = 0; k < 3 && view.count > 0; k++)
		s->place[k] = view.data[k] - job->reader.origin[k];
	return true;
}

static bool take_spheres(
	calls_job *job, const carom_world *world, const carom_body_def *def, carom_body_id id, sim_sphere_cloud *cloud)
{
	carom_sphere_view view;
	const calls_cluster *cluster = calls_meet_cluster(job, def, id, false);
	if (carom_world_get_spheres(world, id, &view) != CAROM_SUCCESS)
		return calls_fail(job);
	for (int32_t i = 0; i < view.count; i++) {
		const int64_t at = cloud->count++;
		for (int k = 0; k < 3; k++)
			job->spheres[3 * at + k] = (float)(view.data[4 * (int64_t)i + k] - job->reader.origin[k]);
		job->spheres[3 * job->place_count + at] = (float)view.data[4 * (int64_t)i + 3];
		job->places[at] = (uint32_t)(cluster->first_place + i);
	}
	return true;
}

static bool take_all(calls_job *job, const carom_world *world, sim_sphere_cloud *cloud)
{
	draw_in(job);
	*cloud = (sim_sphere_cloud){ .centres = { job->spheres, 0, CAROM_FLOAT32 },
		.radii = { job->spheres ? job->spheres + 3 * job->place_count : NULL, 0, CAROM_FLOAT32 },
		.ids = job->places };
	for (int32_t i = 0; i < job->id_count; i++) {
		carom_body_def def;
		if (carom_world_get_body_def(world, job->ids[i], &def) != CAROM_SUCCESS)
			return calls_fail(job);
		const bool deforms = def.kind == CAROM_DEFORMABLE || def.kind == CAROM_CLOTH;
		if ((deforms && !take_vertices(job, world, &def, job->ids[i])) ||
			(def.kind == CAROM_GRANULAR && !take_spheres(job, world, &def, job->ids[i], cloud)))
			return false;
	}
	return true;
}

// ---- Contacts and impacts ----

static bool add_point(
	calls_job *job, sim_contact_points *points, sim_contact_kind kind, carom_vec3 point, carom_vec3 normal, double depth)
{
	const double *origin = job->reader.origin;
	const sim_contact_point added = { kind, { point.x - origin[0], point.y - origin[1], point.z - origin[2] },
		{ normal.x, normal.y, normal.z }, depth };
	return sim_add_contact_point(points, &added) || calls_out_of_memory(job);
}

/// The place of count vertices of a deforming body, with weights. False: the body does not deform.
static bool place_of(
	const carom_world *world, carom_body_id id, const int32_t *vertices, const double *weights, int count, carom_vec3 *place)
{
	carom_vertex_view view;
	carom_body_def def;
	if (carom_world_get_body_def(world, id, &def) != CAROM_SUCCESS || def.kind <= CAROM_DYNAMIC ||
		carom_world_get_vertices(world, id, &view) != CAROM_SUCCESS)
		return false;
	*place = (carom_vec3){ 0, 0, 0 };
	for (int i = 0; i < count; i++) {
		const double *v = view.data + 3 * (int64_t)vertices[i];
		place->x += weights[i] * v[0];
		place->y += weights[i] * v[1];
		place->z += weights[i] * v[2];
	}
	return true;
}

/// Impacts are shown where the deforming body's feature is at the end of the step.
static bool add_impacts(calls_job *job, const carom_world *world, sim_contact_points *points)
{
	const carom_impact_view view = carom_world_impacts(world);
	bool done = true;
	for (int64_t i = 0; i < view.count && done; i++) {
		const carom_impact *hit = &view.data[i];
		const int of_a = hit->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2;
		carom_vec3 place;
		if (place_of(world, hit->body_a, hit->vertices, hit->weight, of_a, &place) ||
			place_of(world, hit->body_b, hit->vertices + of_a, hit->weight + of_a, 4 - of_a, &place))
			done = add_point(
				job, points, SIM_CONTACT_IMPACT, place, (carom_vec3){ hit->normal[0], hit->normal[1], hit->normal[2] }, 0);
	}
	const carom_shape_impact_view shapes = carom_world_shape_impacts(world);
	for (int64_t i = 0; i < shapes.count && done; i++)
		done = add_point(job, points, SIM_CONTACT_IMPACT, shapes.data[i].point, shapes.data[i].normal, -shapes.data[i].distance);
	return done;
}

/// Contacts of solids that deform, as of rigid bodies, are in the world's first list.
static bool add_solid_contacts(calls_job *job, const carom_world *world, sim_contact_points *points)
{
	const carom_contact_view view = carom_world_contacts(world);
	bool done = true;
	for (int32_t i = 0; i < view.count && done; i++) {
		const carom_contact *c = &view.data[i];
		carom_body_def a, b;
		if (carom_world_get_body_def(world, c->body_a, &a) != CAROM_SUCCESS ||
			carom_world_get_body_def(world, c->body_b, &b) != CAROM_SUCCESS)
			return calls_fail(job);
		if (a.kind > CAROM_DYNAMIC || b.kind > CAROM_DYNAMIC)
			done = add_point(job, points, SIM_CONTACT_CLOTH, (carom_vec3){ c->point[0], c->point[1], c->point[2] },
				(carom_vec3){ c->normal[0], c->normal[1], c->normal[2] }, c->depth);
	}
	return done;
}

static bool add_surface_contacts(calls_job *job, const carom_world *world, sim_contact_points *points)
{
	const carom_surface_contact_view meshes = carom_world_surface_contacts(world);
	const carom_surface_shape_contact_view shapes = carom_world_surface_shape_contacts(world);
	bool done = true;
	for (int64_t i = 0; i < meshes.count && done; i++) {
		const carom_surface_contact *c = &meshes.data[i];
		done = add_point(job, points, SIM_CONTACT_CLOTH, c->point_a, c->normal, c->thickness - c->distance);
	}
	for (int64_t i = 0; i < shapes.count && done; i++) {
		const carom_surface_shape_contact *c = &shapes.data[i];
		done = add_point(job, points, SIM_CONTACT_CLOTH, c->point, c->normal, c->thickness - c->distance);
	}
	return done;
}

/// Two spheres touch in the middle of where they overlap.
static bool add_sphere_pair(calls_job *job, const double a[4], const double b[4], sim_contact_points *points)
{
	const double d[3] = { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
	const double apart = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), depth = a[3] + b[3] - apart;
	const carom_vec3 normal = apart > 0 ? (carom_vec3){ d[0] / apart, d[1] / apart, d[2] / apart } : (carom_vec3){ 0, 0, 1 };
	const double along = b[3] - depth / 2;
	return add_point(job, points, SIM_CONTACT_SPHERE,
		(carom_vec3){ b[0] + along * normal.x, b[1] + along * normal.y, b[2] + along * normal.z }, normal, depth);
}

static bool add_sphere_contacts(calls_job *job, const carom_world *world, sim_contact_points *points)
{
	const carom_sphere_contact_view others = carom_world_sphere_contacts(world);
	const carom_sphere_pair_view pairs = carom_world_sphere_pairs(world);
	bool done = true;
	for (int64_t i = 0; i < others.count && done; i++)
		done = add_point(job, points, SIM_CONTACT_SPHERE, others.data[i].point, others.data[i].normal, others.data[i].depth);
	for (int64_t i = 0; i < pairs.group_count && done; i++) {
		const carom_sphere_group *g = &pairs.groups[i];
		carom_sphere_view a, b;
		if (carom_world_get_spheres(world, g->body_a, &a) != CAROM_SUCCESS ||
			carom_world_get_spheres(world, g->body_b, &b) != CAROM_SUCCESS)
			return calls_fail(job);
		for (int64_t k = g->first_pair; k < g->first_pair + g->pair_count && done; k++)
			done = add_sphere_pair(job, a.data + 4 * (int64_t)pairs.pairs[k].a, b.data + 4 * (int64_t)pairs.pairs[k].b, points);
	}
	return done;
}

// ---- Files ----

static bool save_points(calls_job *job, const char *name, int digits, int64_t step, sim_contact_points *points, bool listed)
{
	char path[IO_PATH_MAX];
	sim_error error;
	snprintf(path, sizeof path, "%s/%s_%0*lld.csv", job->folder, name, digits, (long long)step);
	const bool saved = listed && io_save_contacts(path, points, &error);
	if (listed && !saved)
		job->status = report_error(path, "%s", error.text);
	sim_free_contact_points(points);
	return saved;
}

static bool write_frame(calls_job *job, const carom_world *world, int64_t step)
{
	char path[IO_PATH_MAX];
	sim_error error;
	sim_contact_points points = { 0 };
	const sim_mesh mesh = { .vertex_count = (int32_t)job->vertex_count,
		.triangle_count = (int32_t)job->triangle_count,
		.vertices = job->vertices,
		.triangles = job->triangles };
	snprintf(path, sizeof path, "%s/frames/frame_%06lld.ply", job->folder, (long long)step);
	if (!io_save_mesh(path, &mesh, &error)) {
		job->status = report_error(path, "%s", error.text);
		return false;
	}
	const bool listed = add_impacts(job, world, &points) && add_solid_contacts(job, world, &points) &&
		add_surface_contacts(job, world, &points);
	return save_points(job, "frames/contacts", 6, step, &points, listed);
}

static bool write_spheres(calls_job *job, const carom_world *world, int64_t step, const sim_sphere_cloud *cloud)
{
	sim_error error;
	sim_contact_points points = { 0 };
	if (!io_vtk_series_add(job->series, cloud, step, (double)step * job->options->time_step, &error)) {
		job->status = report_error(NULL, "%s", error.text);
		return false;
	}
	const bool listed = add_sphere_contacts(job, world, &points);
	return save_points(job, "contacts", 9, step, &points, listed);
}

bool calls_watch_soft(carom_world *world, int64_t step, void *user)
{
	calls_job *job = user;
	sim_sphere_cloud cloud;
	if (!calls_list_bodies(job, world) || !take_all(job, world, &cloud))
		return false;
	if ((job->surface_count > 0 && !write_frame(job, world, step)) ||
		(job->cluster_count > 0 && !write_spheres(job, world, step, &cloud)))
		return false;
	progress_update(&job->bar, step + 1);
	return true;
}
