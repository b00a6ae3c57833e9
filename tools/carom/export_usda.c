// USD as text (.usda, OpenUSD's crate-less format): bodies as transforms with time samples, what
// deforms as a mesh with time samples of its points, spheres as points with widths. A time code
// is a 60th of a second.
#include "export_model.h"

#include "options.h"
#include "report.h"

#include "io/mesh_file.h"
#include "io/output_file.h"

#include <math.h>
#include <stdio.h>

static const double CODES = 60; // in a second

static void write_points(FILE *file, const float *points, int64_t count)
{
	fputc('[', file);
	for (int64_t i = 0; i < count; i++)
		fprintf(file, "%s(%.9g, %.9g, %.9g)", i ? ", " : "", points[3 * i], points[3 * i + 1], points[3 * i + 2]);
	fputc(']', file);
}

/// The triangles of a mesh, whose vertices count from a number on.
static void write_faces(FILE *file, const char *indent, const int32_t *triangles, int64_t count, int32_t first)
{
	fprintf(file, "%sint[] faceVertexCounts = [", indent);
	for (int64_t i = 0; i < count; i++)
		fputs(i ? ", 3" : "3", file);
	fprintf(file, "]\n%sint[] faceVertexIndices = [", indent);
	for (int64_t i = 0; i < 3 * count; i++)
		fprintf(file, "%s%d", i ? ", " : "", (int)(triangles[i] - first));
	fprintf(file, "]\n%suniform token subdivisionScheme = \"none\"\n", indent);
}

static void write_colour(FILE *file, const char *indent, int32_t number)
{
	const float *c = model_colour(number);
	fprintf(file, "%scolor3f[] primvars:displayColor = [(%g, %g, %g)]\n", indent, c[0], c[1], c[2]);
}

static void write_head(const model *m, FILE *file, double end)
{
	fprintf(file,
		"#usda 1.0\n(\n    defaultPrim = \"run\"\n    doc = \"Written by carom export\"\n    startTimeCode = 0\n    endTimeCode = %.9g\n"
		"    timeCodesPerSecond = %g\n    framesPerSecond = %g\n    metersPerUnit = 1\n    upAxis = \"%s\"\n)\n\n",
		CODES * end, CODES, CODES, fabs(m->up.y) > 0.5 ? "Y" : "Z");
}

// ---- Bodies ----

static void write_shapes(const model *m, FILE *file)
{
	fputs("class Scope \"shapes\"\n{\n", file);
	for (int32_t i = 0; i < m->shape_count; i++) {
		const model_mesh *s = &m->shapes[i];
		fprintf(file, "    def Mesh \"shape_%d\"\n    {\n", (int)i);
		write_faces(file, "        ", s->triangles, s->triangle_count, 0);
		fputs("        point3f[] points = ", file);
		write_points(file, s->vertices, s->vertex_count);
		fputs("\n    }\n\n", file);
	}
	fputs("}\n\n", file);
}

static void write_place(FILE *file, const carom_pose *p)
{
	fprintf(file, "(%.9g, %.9g, %.9g)", p->position.x, p->position.y, p->position.z);
}

/// The real part of a quaternion comes first.
static void write_turn(FILE *file, const carom_pose *p)
{
	const carom_quat q = p->orientation;
	fprintf(file, "(%.9g, %.9g, %.9g, %.9g)", q.w, q.x, q.y, q.z);
}

/// When a body that comes later or goes earlier than others can be seen.
static void write_visibility(const model *m, FILE *file, int64_t first, int64_t end)
{
	if (first == 0 && end == m->frame_count)
		return;
	fputs("        token visibility.timeSamples = {\n", file);
	if (first > 0)
		fprintf(file, "            %.9g: \"invisible\",\n", CODES * m->times[0]);
	fprintf(file, "            %.9g: \"inherited\",\n", CODES * m->times[first]);
	if (end < m->frame_count)
		fprintf(file, "            %.9g: \"invisible\",\n", CODES * m->times[end]);
	fputs("        }\n", file);
}

/// A pose that is one for all times, or time samples of the frames in which the body is there.
static void write_motion(const model *m, FILE *file, int32_t body)
{
	static const struct {
		const char *type, *name;
		void (*write)(FILE *file, const carom_pose *pose);
	} parts[2] = { { "double3", "translate", write_place }, { "quatf", "orient", write_turn } };
	const int64_t first = model_first_frame(m, body), end = model_end_frame(m, body);
	for (int k = 0; k < 2; k++) {
		fprintf(file, "        %s xformOp:%s", parts[k].type, parts[k].name);
		if (!m->moves[body]) {
			fputs(" = ", file);
			parts[k].write(file, model_pose(m, first, body));
			fputc('\n', file);
			continue;
		}
		fputs(".timeSamples = {\n", file);
		for (int64_t f = first; f < end; f++) {
			fprintf(file, "            %.9g: ", CODES * m->times[f]);
			parts[k].write(file, model_pose(m, f, body));
			fputs(",\n", file);
		}
		fputs("        }\n", file);
	}
	fputs("        uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\"]\n", file);
	write_visibility(m, file, first, end);
}

static void write_name(const model *m, FILE *file, int32_t body)
{
	if (model_body_name(m, body)[0])
		fprintf(file, "    def Xform \"%s\"\n    {\n", model_body_name(m, body));
	else
		fprintf(file, "    def Xform \"body_%d\"\n    {\n", (int)body);
}

static void write_bodies(const model *m, FILE *file)
{
	for (int32_t i = 0, part = 0; i < m->body_count; i++) {
		const bool is_there = model_first_frame(m, i) < m->frame_count;
		if (is_there) {
			write_name(m, file, i);
			write_motion(m, file, i);
		}
		for (int32_t number = 0; part < m->part_count && m->parts[part].body == i; part++, number++) {
			if (!is_there)
				continue;
			fprintf(file,
				"\n        def Mesh \"part_%d\" (\n            prepend references = </shapes/shape_%d>\n        )\n        {\n",
				(int)number, (int)m->parts[part].shape);
			fputs("            double3 xformOp:translate = ", file);
			write_place(file, &m->parts[part].place);
			fputs("\n            quatf xformOp:orient = ", file);
			write_turn(file, &m->parts[part].place);
			fputs("\n            uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\"]\n", file);
			write_colour(file, "            ", i);
			fputs("        }\n", file);
		}
		if (is_there)
			fputs("    }\n\n", file);
	}
}

// ---- Deforming bodies, and spheres ----

/// A surface whose vertices and triangles begin at these numbers.
static void write_surface(const model *m, FILE *file, int32_t number, int32_t vertex, int64_t triangle)
{
	const export_deforming *d = m->source->deforming;
	const export_surface *s = &d->surfaces[number];
	fprintf(file, "    def Mesh \"%s\"\n    {\n", model_surface_name(m, number));
	write_faces(file, "        ", d->triangles + 3 * triangle, s->triangle_count, vertex);
	write_colour(file, "        ", number + 1);
	fputs("        point3f[] points.timeSamples = {\n", file);
	for (int64_t f = 0; f < model_frames(m, &d->track); f++) {
		fprintf(file, "            %.9g: ", CODES * d->track.times[f * m->every]);
		write_points(file, m->places + f * d->track.count + 3 * (int64_t)vertex, s->vertex_count);
		fputs(",\n", file);
	}
	fputs("        }\n    }\n\n", file);
}

static void write_deforming(const model *m, FILE *file)
{
	const export_deforming *d = m->source->deforming;
	int32_t vertex = 0;
	int64_t triangle = 0;
	for (int32_t i = 0; i < d->surface_count; i++) {
		write_surface(m, file, i, vertex, triangle);
		vertex += d->surfaces[i].vertex_count;
		triangle += d->surfaces[i].triangle_count;
	}
}

static void write_widths(FILE *file, const float *radii, int64_t count)
{
	fputc('[', file);
	for (int64_t i = 0; i < count; i++)
		fprintf(file, "%s%.9g", i ? ", " : "", 2 * radii[i]);
	fputc(']', file);
}

/// Samples of points, or of widths, at the times of the frames.
static int write_sphere_samples(const model *m, FILE *file, bool widths)
{
	const export_spheres *s = m->source->spheres;
	fprintf(file, "        %s.timeSamples = {\n", widths ? "float[] widths" : "point3f[] points");
	for (int64_t f = 0; f < model_frames(m, &s->track); f++) {
		io_vtk_spheres spheres;
		if (export_load_spheres(s, f * m->every, &spheres) != EXIT_DONE)
			return EXIT_FAILED;
		fprintf(file, "            %.9g: ", CODES * s->track.times[f * m->every]);
		if (widths)
			write_widths(file, spheres.radii, spheres.count);
		else
			write_points(file, spheres.centres, spheres.count);
		fputs(",\n", file);
		io_free_vtk_spheres(&spheres);
	}
	fputs("        }\n", file);
	return EXIT_DONE;
}

static int write_spheres(const model *m, FILE *file)
{
	const export_spheres *s = m->source->spheres;
	fputs("    def Points \"spheres\"\n    {\n", file);
	if (!s->by_id) {
		fputs("        float[] widths = ", file);
		write_widths(file, s->radii, s->count);
		fputc('\n', file);
	} else if (write_sphere_samples(m, file, true) != EXIT_DONE) {
		return EXIT_FAILED;
	}
	write_colour(file, "        ", 0);
	if (write_sphere_samples(m, file, false) != EXIT_DONE)
		return EXIT_FAILED;
	fputs("    }\n\n", file);
	return EXIT_DONE;
}

// ---- The file ----

/// The time of the last frame that is taken.
static double end_of(const model *m)
{
	const export_source *s = m->source;
	const export_track *tracks[3] = { s->bodies ? &s->bodies->track : NULL, s->deforming ? &s->deforming->track : NULL,
		s->spheres ? &s->spheres->track : NULL };
	double end = 0;
	for (int i = 0; i < 3; i++)
		end = tracks[i] ? fmax(end, tracks[i]->times[(model_frames(m, tracks[i]) - 1) * m->every]) : end;
	return end;
}

int export_write_usda(const model *m, const char *path)
{
	io_output_file file;
	sim_error error;
	if (!io_output_open(&file, path, &error))
		return report_error(path, "%s", error.text);
	write_head(m, file.stream, end_of(m));
	if (m->source->bodies)
		write_shapes(m, file.stream);
	fputs("def Xform \"run\"\n{\n", file.stream);
	if (m->source->bodies)
		write_bodies(m, file.stream);
	if (m->source->deforming)
		write_deforming(m, file.stream);
	const int status = m->source->spheres ? write_spheres(m, file.stream) : EXIT_DONE;
	fputs("}\n", file.stream);
	if (status != EXIT_DONE) {
		io_output_abandon(&file);
		return status;
	}
	return io_output_commit(&file, &error) ? EXIT_DONE : report_error(path, "%s", error.text);
}
