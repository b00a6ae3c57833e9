// Polygons of mesh files: triangles that lie within them. A set of triangles that all turn as the polygon does, and whose areas add up
// to its area, covers it once (io/polygon.c says why); so that is what the cases ask for, beside points within and outside.

#include "test.h"

#include "failing_memory.h"
#include "io/mesh_file.h"
#include "io/polygon.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CORNERS = 4096 };

typedef struct face {
	double corners[MOST_CORNERS][3];
	int32_t triangles[MOST_CORNERS][3];
	int32_t count;
} face;

static uint64_t state;

// In [0, 1): xorshift64 (Marsaglia, Xorshift RNGs, 2003).
static double any_number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) * 0x1p-53;
}

// The face's fan, cut by the function under test.
static void cut(face *f)
{
	for (int32_t i = 0; i < f->count - 2; i++) {
		f->triangles[i][0] = 0;
		f->triangles[i][1] = i + 1;
		f->triangles[i][2] = i + 2;
	}
	sim_mesh mesh = {
		.vertex_count = f->count, .triangle_count = f->count - 2, .triangles = f->triangles[0], .doubles = f->corners[0]
	};
	REQUIRE(io_cut_polygon(&mesh, (io_polygon){ 0, f->count }));
}

// Twice the area of a triangle along the normal of the face.
static double area_of(const face *f, int32_t a, int32_t b, int32_t c, const double normal[3])
{
	double u[3], v[3], sum = 0;
	for (int axis = 0; axis < 3; axis++) {
		u[axis] = f->corners[b][axis] - f->corners[a][axis];
		v[axis] = f->corners[c][axis] - f->corners[a][axis];
	}
	for (int axis = 0; axis < 3; axis++)
		sum += normal[axis] * (u[(axis + 1) % 3] * v[(axis + 2) % 3] - u[(axis + 2) % 3] * v[(axis + 1) % 3]);
	return sum;
}

static double fan_area(const face *f, const double normal[3])
{
	double sum = 0;
	for (int32_t i = 2; i < f->count; i++)
		sum += area_of(f, 0, i - 1, i, normal);
	return sum;
}

// Cut a face whose corners go counter-clockwise around the normal.
static void check_cut(face *f, const double normal[3])
{
	const double whole = fan_area(f, normal);
	cut(f);
	CHECK(whole > 0);
	double sum = 0;
	for (int32_t i = 0; i < f->count - 2; i++) {
		const double area = area_of(f, f->triangles[i][0], f->triangles[i][1], f->triangles[i][2], normal);
		if (!CHECK(area > 0))
			printf("  triangle %d of %d corners: area %g of %g\n", i, f->count, area, whole);
		sum += area;
	}
	CHECK_NEAR(sum, whole, 1e-9 * whole);
}

static void set_flat(face *f, const double (*corners)[2], int32_t count)
{
	f->count = count;
	for (int32_t i = 0; i < count; i++)
		memcpy(f->corners[i], (double[3]){ corners[i][0], corners[i][1], 0 }, sizeof f->corners[i]);
}

// Every corner is the first one once: the fan is right about some of them only.
static void check_turned(const double (*corners)[2], int32_t count)
{
	static face f;
	static const double up[3] = { 0, 0, 1 };
	double turned[64][2];
	for (int32_t first = 0; first < count; first++) {
		for (int32_t i = 0; i < count; i++)
			memcpy(turned[i], corners[(first + i) % count], sizeof turned[i]);
		set_flat(&f, turned, count);
		check_cut(&f, up);
	}
}

TEST(polygons, an_l_a_star_a_dart_and_a_comb)
{
	static const double l[][2] = { { 0, 0 }, { 2, 0 }, { 2, 1 }, { 1, 1 }, { 1, 2 }, { 0, 2 } };
	static const double dart[][2] = { { 0, 0 }, { 2, -1 }, { 0.5, 0 }, { 2, 1 } };
	static const double comb[][2] = { { 0, 0 }, { 5, 0 }, { 5, 3 }, { 4, 3 }, { 4, 1 }, { 3, 1 }, { 3, 3 }, { 2, 3 }, { 2, 1 },
		{ 1, 1 }, { 1, 3 }, { 0, 3 } };
	double star[10][2];
	for (int i = 0; i < 10; i++) {
		const double angle = 0.2 * 3.14159265358979 * i, radius = i % 2 ? 0.3 : 1;
		star[i][0] = radius * cos(angle);
		star[i][1] = radius * sin(angle);
	}
	check_turned(l, 6);
	check_turned(dart, 4);
	check_turned(comb, 12);
	check_turned((const double(*)[2])star, 10);
}

// A corner on an edge, and an edge that is walked both ways to a hole.
TEST(polygons, corners_on_edges_and_bridges_to_holes)
{
	static const double on_edge[][2] = { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 2, 2 }, { 1, 2 }, { 0, 2 }, { 0, 1 } };
	static const double ring[][2] = { { 0, 0 }, { 4, 0 }, { 4, 4 }, { 0, 4 }, { 0, 0 }, { 1, 1 }, { 1, 3 }, { 3, 3 }, { 3, 1 },
		{ 1, 1 } };
	check_turned(on_edge, 7);
	check_turned(ring, 10);
}

TEST(polygons, convex_ones_stay_fans)
{
	static face f;
	for (int count = 4; count < 40; count++) {
		f.count = count;
		for (int i = 0; i < count; i++) {
			const double angle = 6.283185307179586 * i / count;
			memcpy(f.corners[i], (double[3]){ cos(angle), 3, -2 * sin(angle) }, sizeof f.corners[i]);
		}
		cut(&f);
		for (int32_t i = 0; i < count - 2; i++)
			CHECK(f.triangles[i][0] == 0 && f.triangles[i][1] == i + 1 && f.triangles[i][2] == i + 2);
	}
}

// Stars about a middle, with any radii, in any plane, either way around.
TEST(polygons, random_stars_in_random_planes)
{
	static face f;
	state = 20261128;
	for (int round = 0; round < 2000; round++) {
		double u[3], v[3], normal[3];
		for (int axis = 0; axis < 3; axis++) {
			u[axis] = any_number() - 0.5;
			v[axis] = any_number() - 0.5;
		}
		for (int axis = 0; axis < 3; axis++)
			normal[axis] = u[(axis + 1) % 3] * v[(axis + 2) % 3] - u[(axis + 2) % 3] * v[(axis + 1) % 3];
		f.count = 4 + (int32_t)(any_number() * (round % 50 ? 20 : 2000));
		for (int32_t i = 0; i < f.count; i++) {
			const double angle = 6.283185307179586 * i / f.count, radius = 0.05 + any_number();
			for (int axis = 0; axis < 3; axis++)
				f.corners[i][axis] = 7 + radius * (cos(angle) * u[axis] + sin(angle) * v[axis]);
		}
		check_cut(&f, normal);
	}
}

// A spiral: ears are scarce, and the fan is wrong everywhere.
TEST(polygons, a_spiral)
{
	static face f;
	static const double up[3] = { 0, 0, 1 };
	const int32_t half = MOST_CORNERS / 2;
	f.count = 2 * half;
	for (int32_t i = 0; i < half; i++) {
		const double angle = 0.05 * i;
		memcpy(f.corners[i], (double[3]){ (angle + 1) * cos(angle), (angle + 1) * sin(angle), 0 }, sizeof f.corners[i]);
		memcpy(f.corners[2 * half - 1 - i], (double[3]){ (angle + 3) * cos(angle), (angle + 3) * sin(angle), 0 },
			sizeof f.corners[i]);
	}
	for (int32_t i = 0; i < half; i++) { // the outer arm goes first to turn counter-clockwise
		double kept[3];
		memcpy(kept, f.corners[i], sizeof kept);
		memcpy(f.corners[i], f.corners[2 * half - 1 - i], sizeof kept);
		memcpy(f.corners[2 * half - 1 - i], kept, sizeof kept);
	}
	check_cut(&f, up);
}

// All corners in a line, all in a point, one that crosses itself, numbers at the ends of the range: the fan stays, nothing is written
// outside.
TEST(polygons, degenerate_ones_stay_fans)
{
	static const double line[][2] = { { 0, 0 }, { 1, 1 }, { 3, 3 }, { 2, 2 }, { 5, 5 } };
	static const double dot[][2] = { { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 } };
	static const double bow[][2] = { { 0, 0 }, { 1, 1 }, { 1, 0 }, { 0, 1 } };
	static const double huge[][2] = { { 0, 0 }, { 1e300, 0 }, { 1e299, 1e299 }, { 0, 1e300 } };
	static const double tiny[][2] = { { 0, 0 }, { 1e-300, 0 }, { 1e-301, 1e-301 }, { 0, 1e-300 } };
	static const struct {
		const double (*corners)[2];
		int32_t count;
	} faces[] = { { line, 5 }, { dot, 4 }, { bow, 4 }, { huge, 4 }, { tiny, 4 } };
	static face f;
	for (size_t k = 0; k < sizeof faces / sizeof faces[0]; k++) {
		set_flat(&f, faces[k].corners, faces[k].count);
		cut(&f);
		for (int32_t i = 0; i < f.count - 2; i++)
			CHECK(f.triangles[i][0] == 0 && f.triangles[i][1] == i + 1 && f.triangles[i][2] == i + 2);
	}
}

// Any corners at all, many at one place: triangles name corners of the face.
TEST(polygons, any_corners_name_corners_of_the_face)
{
	static face f;
	state = 7;
	for (int round = 0; round < 20000; round++) {
		f.count = 4 + (int32_t)(any_number() * 12);
		for (int32_t i = 0; i < f.count; i++) {
			for (int axis = 0; axis < 3; axis++)
				f.corners[i][axis] = floor(any_number() * 4);
		}
		cut(&f);
		for (int32_t i = 0; i < f.count - 2; i++) {
			for (int k = 0; k < 3; k++)
				CHECK(f.triangles[i][k] >= 0 && f.triangles[i][k] < f.count);
		}
	}
}

// Out of each format the prism over an L has the volume and the area of its outline.
TEST(polygons, files_of_all_formats_with_concave_faces)
{
	static const char obj[] =
		"v 0 0 0\nv 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\nv 0 0 1\nv 2 0 1\nv 2 1 1\nv 1 1 1\nv 1 2 1\nv 0 2 1\n"
		"usemtl a\nf 6 5 4 3 2 1\nf 8 9 10 11 12 7\nusemtl b\nf 1 2 8 7\nf 2 3 9 8\nf 3 4 10 9\nf 4 5 11 10\nf 5 6 12 11\nf 6 1 7 12\n";
	static const char off[] =
		"OFF\n12 8 0\n0 0 0\n2 0 0\n2 1 0\n1 1 0\n1 2 0\n0 2 0\n0 0 1\n2 0 1\n2 1 1\n1 1 1\n1 2 1\n0 2 1\n"
		"6 5 4 3 2 1 0\n6 7 8 9 10 11 6\n4 0 1 7 6\n4 1 2 8 7\n4 2 3 9 8\n4 3 4 10 9\n4 4 5 11 10\n4 5 0 6 11\n";
	static const char ply[] =
		"ply\nformat ascii 1.0\nelement vertex 12\nproperty float x\nproperty float y\nproperty float z\nelement face 8\n"
		"property list uchar int vertex_indices\nend_header\n0 0 0\n2 0 0\n2 1 0\n1 1 0\n1 2 0\n0 2 0\n0 0 1\n2 0 1\n2 1 1\n1 1 1\n1 2 1\n"
		"0 2 1\n6 5 4 3 2 1 0\n6 7 8 9 10 11 6\n4 0 1 7 6\n4 1 2 8 7\n4 2 3 9 8\n4 3 4 10 9\n4 4 5 11 10\n4 5 0 6 11\n";
	static const struct {
		const char *name, *text;
	} files[] = { { "l.obj", obj }, { "l.off", off }, { "l.ply", ply } };
	for (size_t k = 0; k < 3; k++) {
		char path[64];
		sim_mesh mesh;
		sim_error error = { "" };
		snprintf(path, sizeof path, "/tmp/carom-polygons-%ld-%s", (long)getpid(), files[k].name);
		FILE *file = fopen(path, "wb");
		REQUIRE(file != NULL);
		fputs(files[k].text, file);
		fclose(file);
		const bool read = io_load_mesh(path, &mesh, &error);
		remove(path);
		if (!CHECK(read)) {
			printf("  %s: %s\n", files[k].name, error.text);
			continue;
		}
		CHECK_INT(mesh.triangle_count, 20);
		double volume = 0, area = 0;
		for (int32_t i = 0; i < mesh.triangle_count; i++) {
			const float *a = mesh.vertices + 3 * mesh.triangles[3 * i], *b = mesh.vertices + 3 * mesh.triangles[3 * i + 1],
						*c = mesh.vertices + 3 * mesh.triangles[3 * i + 2];
			double normal[3];
			for (int axis = 0; axis < 3; axis++) {
				const int u = (axis + 1) % 3, v = (axis + 2) % 3;
				normal[axis] = (double)((b[u] - a[u]) * (c[v] - a[v]) - (b[v] - a[v]) * (c[u] - a[u]));
				volume += normal[axis] * (double)a[axis] / 6;
			}
			area += 0.5 * sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
		}
		CHECK_NEAR(volume, 3, 1e-12);
		CHECK_NEAR(area, 2 * 3 + 8, 1e-12);
		for (int32_t i = 0; mesh.materials && i < mesh.triangle_count; i++)
			CHECK_INT(mesh.materials[i], i < 8 ? 1 : 2);
		sim_mesh_free(&mesh);
	}
}

// ---- Without memory ----

static const char *file_to_load;

static bool load(void *user)
{
	sim_mesh *mesh = user;
	sim_error error;
	if (io_load_mesh(file_to_load, mesh, &error))
		return true;
	CHECK(strstr(error.text, "out of memory") != NULL);
	CHECK(!mesh->triangles && !mesh->vertices && !mesh->doubles && !mesh->materials && !mesh->material_names);
	return false;
}

static void release(bool done, void *user)
{
	sim_mesh *mesh = user;
	if (done)
		CHECK_INT(mesh->triangle_count, 5);
	sim_mesh_free(mesh);
}

// Each allocation fails once: of the lists, of the cut, of corners that name vertices which come later.
TEST(polygons, a_file_that_memory_does_not_hold_leaves_nothing)
{
	static const char *const texts[2] = {
		"usemtl a\nf 1 2 3 4 5 6\nf 7 2 3\nv 0 0 0\nv 2 0 0\nv 2 1 0.1\nv 1 1 0\nv 1 2 0\nv 0 2 0\nv 0 0 1\n",
		"ply\nformat ascii 1.0\nelement face 2\nproperty list uchar int vertex_indices\nelement vertex 7\nproperty float x\n"
		"property float y\nproperty float z\nend_header\n6 0 1 2 3 4 5\n3 6 1 2\n0 0 0\n2 0 0\n2 1 0.1\n1 1 0\n1 2 0\n0 2 0\n0 0 1\n",
	};
	for (int k = 0; k < 2; k++) {
		char path[64];
		sim_mesh mesh;
		snprintf(path, sizeof path, "/tmp/carom-polygons-%ld.%s", (long)getpid(), k ? "ply" : "obj");
		FILE *file = fopen(path, "wb");
		REQUIRE(file != NULL);
		fputs(texts[k], file);
		fclose(file);
		file_to_load = path;
		CHECK(failing_memory_each(1, load, release, &mesh) >= 6);
		remove(path);
	}
}
