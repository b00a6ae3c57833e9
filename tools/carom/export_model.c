// What a run left behind, for glTF and USD: shapes as triangles, each form once, and poses.
#include "export_model.h"

#include "options.h"
#include "report.h"

#include "io/mesh_file.h"
#include "scene/volumes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEGMENTS = 32, RINGS = 16 }; // of round shapes, around and from pole to pole
static const double PI = 3.14159265358979323846;

const float *model_colour(int32_t number)
{
	// Okabe and Ito (2008): told apart by the colour-blind, too
	static const float colours[7][3] = { { 0.9f, 0.6f, 0 }, { 0.34f, 0.71f, 0.91f }, { 0, 0.62f, 0.45f },
		{ 0.94f, 0.89f, 0.26f }, { 0, 0.45f, 0.7f }, { 0.84f, 0.37f, 0 }, { 0.8f, 0.47f, 0.65f } };
	return colours[number % 7];
}

// ---- Shapes as triangles ----

static bool allocate(model_mesh *mesh, int32_t vertices, int32_t triangles)
{
	mesh->vertices = malloc((size_t)vertices * 3 * sizeof *mesh->vertices);
	mesh->triangles = malloc((size_t)triangles * 3 * sizeof *mesh->triangles);
	mesh->owns = true;
	return mesh->vertices && mesh->triangles;
}

/// Add a triangle, unless two of its corners lie at one place.
static void add_triangle(model_mesh *mesh, int32_t a, int32_t b, int32_t c)
{
	const float *pa = mesh->vertices + 3 * a, *pb = mesh->vertices + 3 * b, *pc = mesh->vertices + 3 * c;
	const size_t size = 3 * sizeof *pa;
	if (!memcmp(pa, pb, size) || !memcmp(pb, pc, size) || !memcmp(pc, pa, size))
		return;
	int32_t *corners = mesh->triangles + 3 * (size_t)mesh->triangle_count++;
	corners[0] = a;
	corners[1] = b;
	corners[2] = c;
}

/// The point of a convex body without its rounding that lies farthest along a direction.
static void support(const io_recorded_body *b, const double d[3], double p[3])
{
	const double across = hypot(d[0], d[1]), x = across > 0 ? d[0] / across : 0, y = across > 0 ? d[1] / across : 0;
	const double end = d[2] < 0 ? -b->half_length : b->half_length;
	p[0] = p[1] = p[2] = 0;
	if (b->type == CAROM_BOX) {
		for (int k = 0; k < 3; k++)
			p[k] = d[k] < 0 ? -b->half_extents[k] : b->half_extents[k];
	} else if (b->type == CAROM_ELLIPSOID) {
		double length = 0;
		for (int k = 0; k < 3; k++)
			length += b->half_extents[k] * d[k] * b->half_extents[k] * d[k];
		for (int k = 0; k < 3; k++)
			p[k] = b->half_extents[k] * b->half_extents[k] * d[k] / sqrt(length);
	} else if (b->type == CAROM_CYLINDER || b->type == CAROM_CONE) {
		const bool apex = b->type == CAROM_CONE && b->radius * across - b->half_length * d[2] < b->half_length * d[2];
		p[0] = apex ? 0 : b->radius * x;
		p[1] = apex ? 0 : b->radius * y;
		p[2] = b->type == CAROM_CYLINDER ? end : (apex ? b->half_length : -b->half_length);
	} else {
		for (int k = 0; k < 3; k++)
			p[k] = b->radius * d[k];
		p[2] += b->type == CAROM_CAPSULE ? end : 0;
	}
}

/// The angle of a ring of directions, from pole to pole. Two rings lie beside the equator, one on
/// each side, so that both ends of a cylinder's wall are met.
static double latitude(int ring)
{
	const double beside = 1e-6;
	const int half = RINGS / 2;
	if (ring < half)
		return ring == half - 1 ? -beside : -PI / 2 + PI / 2 * ring / (half - 1);
	return ring == half ? beside : PI / 2 * (ring - half) / (half - 1);
}

/// A convex body of curved form: supports of a grid of directions, plus the rounding.
static bool make_round(const io_recorded_body *b, model_mesh *mesh)
{
	if (!allocate(mesh, RINGS * SEGMENTS, 2 * (RINGS - 1) * SEGMENTS + 2 * SEGMENTS))
		return false;
	for (int ring = 0; ring < RINGS; ring++) {
		const double z = sin(latitude(ring)), across = fmax(cos(latitude(ring)), 1e-6);
		for (int i = 0; i < SEGMENTS; i++) {
			const double around = 2 * PI * (i + 0.5) / SEGMENTS, d[3] = { across * cos(around), across * sin(around), z };
			double p[3];
			support(b, d, p);
			for (int k = 0; k < 3; k++)
				mesh->vertices[3 * mesh->vertex_count + k] = (float)(p[k] + b->rounding * d[k]);
			mesh->vertex_count++;
		}
	}
	for (int ring = 0; ring + 1 < RINGS; ring++) {
		for (int i = 0; i < SEGMENTS; i++) {
			const int32_t a = ring * SEGMENTS + i, n = ring * SEGMENTS + (i + 1) % SEGMENTS;
			add_triangle(mesh, a, n, n + SEGMENTS);
			add_triangle(mesh, a, n + SEGMENTS, a + SEGMENTS);
		}
	}
	for (int i = 1; i + 1 < SEGMENTS; i++) {
		const int32_t top = (RINGS - 1) * SEGMENTS;
		add_triangle(mesh, 0, i + 1, i);
		add_triangle(mesh, top, top + i, top + i + 1);
	}
	return true;
}

static bool make_box(const double half[3], model_mesh *mesh)
{
	static const int32_t faces[12][3] = { { 0, 2, 3 }, { 0, 3, 1 }, { 4, 5, 7 }, { 4, 7, 6 }, { 0, 1, 5 }, { 0, 5, 4 },
		{ 2, 6, 7 }, { 2, 7, 3 }, { 0, 4, 6 }, { 0, 6, 2 }, { 1, 3, 7 }, { 1, 7, 5 } };
	if (!allocate(mesh, 8, 12))
		return false;
	for (int i = 0; i < 8; i++) {
		for (int k = 0; k < 3; k++)
			mesh->vertices[3 * i + k] = (float)((i >> k & 1) ? half[k] : -half[k]);
	}
	for (int i = 0; i < 12; i++)
		add_triangle(mesh, faces[i][0], faces[i][1], faces[i][2]);
	mesh->vertex_count = 8;
	return true;
}

/// A plane is a square as large as what happens on it.
static bool make_plane(double size, model_mesh *mesh)
{
	if (!allocate(mesh, 4, 2))
		return false;
	for (int i = 0; i < 4; i++) {
		const float corner[3] = { (float)(i == 0 || i == 3 ? -size : size), (float)(i < 2 ? -size : size), 0 };
		memcpy(mesh->vertices + 3 * i, corner, sizeof corner);
	}
	mesh->vertex_count = 4;
	add_triangle(mesh, 0, 1, 2);
	add_triangle(mesh, 0, 2, 3);
	return true;
}

static bool make_hull(playback *play, int32_t number, model_mesh *mesh)
{
	if (scene_hull_of(play->context, play->meshes[number], &play->hulls[number]) != CAROM_SUCCESS)
		return false;
	const carom_mesh *hull = play->hulls[number];
	const carom_mesh_report *report = carom_mesh_get_report(hull);
	*mesh = (model_mesh){ .vertex_count = report->vertex_count, .triangle_count = report->triangle_count };
	mesh->vertices = (float *)(uintptr_t)carom_mesh_get_vertices(hull);
	mesh->triangles = (int32_t *)(uintptr_t)carom_mesh_get_triangles(hull);
	return true;
}

static int make_shape(model *m, const io_recorded_body *body, double plane, model_mesh *mesh)
{
	playback *play = &m->source->bodies->play;
	bool made;
	if (body->type == CAROM_MESH) {
		const io_recorded_mesh *r = io_recording_get_mesh(play->recording, body->mesh);
		*mesh = (model_mesh){ .vertex_count = r->vertex_count, .triangle_count = r->triangle_count };
		mesh->vertices = (float *)(uintptr_t)r->vertices;
		mesh->triangles = (int32_t *)(uintptr_t)r->triangles;
		made = true;
	} else if (body->type == CAROM_HULL) {
		made = make_hull(play, body->mesh, mesh);
	} else if (body->type == CAROM_PLANE) {
		made = make_plane(plane, mesh);
	} else if (body->type == CAROM_BOX && body->rounding == 0) {
		made = make_box(body->half_extents, mesh);
	} else {
		made = make_round(body, mesh);
	}
	return made ? EXIT_DONE : report_error(NULL, "out of memory");
}

// ---- Poses ----

static bool is_there(const carom_pose *pose) { return !isnan(pose->position.x); }

static bool poses_differ(const carom_pose *a, const carom_pose *b) { return memcmp(a, b, sizeof *a) != 0; }

int64_t model_first_frame(const model *m, int32_t body)
{
	int64_t frame = 0;
	while (frame < m->frame_count && !is_there(model_pose(m, frame, body)))
		frame++;
	return frame;
}

int64_t model_end_frame(const model *m, int32_t body)
{
	int64_t frame = model_first_frame(m, body);
	while (frame < m->frame_count && is_there(model_pose(m, frame, body)))
		frame++;
	return frame;
}

int64_t model_frames(const model *m, const export_track *track) { return (track->frames + m->every - 1) / m->every; }

/// Of the two quaternions of a turn the one that is nearer to that of the frame before, so that
/// programs that interpolate take the short way.
static void straighten(carom_pose *pose, const carom_pose *before)
{
	carom_quat *q = &pose->orientation;
	const carom_quat *p = &before->orientation;
	if (q->x * p->x + q->y * p->y + q->z * p->z + q->w * p->w < 0)
		*q = (carom_quat){ -q->x, -q->y, -q->z, -q->w };
}

static int read_poses(model *m)
{
	export_bodies *b = m->source->bodies;
	sim_error error;
	m->frame_count = model_frames(m, &b->track);
	m->times = malloc((size_t)m->frame_count * sizeof *m->times + 1);
	m->poses = malloc((size_t)(m->frame_count * m->body_count) * sizeof *m->poses + 1);
	m->moves = calloc((size_t)m->body_count + 1, sizeof *m->moves);
	if (!m->times || !m->poses || !m->moves)
		return report_error(NULL, "out of memory");
	for (int64_t f = 0; f < m->frame_count; f++) {
		m->times[f] = b->track.times[f * m->every];
		if (!io_recording_read_poses(b->play.recording, (int32_t)(f * m->every), b->play.poses, &error))
			return report_error(NULL, "%s", error.text);
		for (int32_t i = 0; i < m->body_count; i++) {
			carom_pose *pose = m->poses + f * m->body_count + i;
			*pose = b->play.poses[b->rows[i]];
			if (f > 0 && is_there(pose - m->body_count))
				straighten(pose, pose - m->body_count);
			m->moves[i] |= f > 0 && poses_differ(pose, pose - m->body_count);
		}
	}
	return EXIT_DONE;
}

/// One and a half times the farthest place of a body that is there in the first or last frame.
static double reach(const model *m)
{
	double most = 2 * export_bodies_extent(m->source->bodies);
	for (int64_t f = 0; f<m->frame_count; f += m->frame_count> 1 ? m->frame_count - 1 : 1) {
		for (int32_t i = 0; i < m->body_count; i++) {
			const carom_vec3 p = model_pose(m, f, i)->position;
			if (is_there(model_pose(m, f, i)))
				most = fmax(most, fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))));
		}
	}
	return most > 0 ? 1.5 * most : 1;
}

// ---- All ----

static bool same_shape(const io_recorded_body *a, const io_recorded_body *b)
{
	return a->type == b->type && a->mesh == b->mesh && a->radius == b->radius && a->half_length == b->half_length &&
		memcmp(a->half_extents, b->half_extents, sizeof a->half_extents) == 0 && a->rounding == b->rounding;
}

static int take_bodies(model *m)
{
	const export_bodies *b = m->source->bodies;
	const io_recording *recording = b->play.recording;
	const int32_t rows = io_recording_body_count(recording);
	m->body_count = b->body_count;
	m->parts = malloc((size_t)rows * sizeof *m->parts + 1);
	m->shapes = calloc((size_t)rows + 1, sizeof *m->shapes);
	int32_t body = -1;
	int32_t *first = malloc((size_t)rows * sizeof *first + 1); // rows whose shapes are made
	int status = m->parts && m->shapes && first ? read_poses(m) : report_error(NULL, "out of memory");
	const double plane = status == EXIT_DONE ? reach(m) : 0;
	for (int32_t i = 0; i < rows && status == EXIT_DONE; i++) {
		const io_recorded_body *row = io_recording_get_body(recording, i);
		int32_t shape = 0;
		while (shape < m->shape_count && !same_shape(row, io_recording_get_body(recording, first[shape])))
			shape++;
		if (shape == m->shape_count) {
			first[m->shape_count] = i;
			status = make_shape(m, row, plane, &m->shapes[m->shape_count++]);
		}
		body += row->part <= 1;
		m->parts[m->part_count++] =
			(model_part){ body, shape, row->part ? row->place : (carom_pose){ .orientation = { 0, 0, 0, 1 } } };
	}
	free(first);
	m->up = playback_up(&b->play);
	return status;
}

/// All frames of what deforms, since models have them surface by surface.
static int take_deforming(model *m)
{
	const export_deforming *d = m->source->deforming;
	const int64_t frames = model_frames(m, &d->track);
	m->places = malloc((size_t)(frames * d->track.count) * sizeof *m->places + 1);
	if (!m->places)
		return report_error(NULL, "out of memory");
	for (int64_t f = 0; f < frames; f++) {
		sim_mesh mesh = { 0 };
		if (export_load_deforming(d, f * m->every, &mesh) != EXIT_DONE)
			return EXIT_FAILED;
		memcpy(m->places + f * d->track.count, mesh.vertices, (size_t)d->track.count * sizeof *m->places);
		sim_mesh_free(&mesh);
	}
	return EXIT_DONE;
}

/// The bodies of a recording are those of its scene, in the order of both.
static int take_names(model *m)
{
	const export_deforming *d = m->source->deforming;
	const scene_rigid *rigid = m->source->bodies ? &m->source->bodies->play.scene.rigid : NULL;
	const int32_t surfaces = d ? d->surface_count : 0;
	m->names = calloc((size_t)m->body_count + (size_t)surfaces + 1, sizeof *m->names);
	if (!m->names)
		return report_error(NULL, "out of memory");
	for (int32_t i = 0; rigid && i < m->body_count && i < rigid->body_count; i++)
		snprintf(m->names[i], sizeof m->names[i], "%s", rigid->bodies[i].name);
	for (int32_t i = 0; i < surfaces; i++)
		snprintf(m->names[m->body_count + i], sizeof *m->names, "%s",
			d->surfaces[i].name[0] ? d->surfaces[i].name : d->surfaces[i].kind);
	return export_make_names(m->names, m->body_count + surfaces) ? EXIT_DONE : report_error(NULL, "out of memory");
}

int model_open(model *m, export_source *source, int64_t every)
{
	*m = (model){ .source = source, .every = every, .up = { 0, 0, 1 } };
	if ((source->bodies && source->bodies->track.frames == 0) || (source->spheres && source->spheres->track.frames == 0) ||
		(source->deforming && source->deforming->track.frames == 0))
		return report_error(source->path, "the recording holds no frames");
	const int status = source->bodies ? take_bodies(m) : EXIT_DONE;
	if (status != EXIT_DONE || (source->deforming && take_deforming(m) != EXIT_DONE))
		return EXIT_FAILED;
	return take_names(m);
}

void model_close(model *m)
{
	for (int32_t i = 0; i < m->shape_count; i++) {
		if (m->shapes[i].owns) {
			free(m->shapes[i].vertices);
			free(m->shapes[i].triangles);
		}
	}
	free(m->parts);
	free(m->shapes);
	free(m->times);
	free(m->poses);
	free(m->moves);
	free(m->names);
	free(m->places);
	*m = (model){ 0 };
}
