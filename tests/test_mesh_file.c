// Mesh files: order, exact values, and what is said about files that are wrong. Files are written as text into a folder of the
// case and compared with what a reader must see.

#include "test.h"

#include "carom/carom.h"
#include "io/baked_file.h"
#include "io/mesh_file.h"
#include "io/output_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static void remove_folder(void)
{
	if (folder[0])
		rmdir(folder);
}

// A path in a folder of this process. Valid until the next call.
static const char *temporary(const char *name)
{
	static char path[128];
	if (!folder[0]) {
		strcpy(folder, "/tmp/carom-mesh-XXXXXX");
		REQUIRE(mkdtemp(folder) != NULL);
		atexit(remove_folder);
	}
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

// Write bytes to a file, load it, remove it.
static bool load_bytes(const char *name, const void *bytes, size_t size, sim_mesh *mesh, sim_error *error)
{
	const char *path = temporary(name);
	FILE *file = fopen(path, "wb");
	REQUIRE(file != NULL);
	CHECK_INT(fwrite(bytes, 1, size, file), size);
	fclose(file);
	const bool done = io_load_mesh(path, mesh, error);
	remove(path);
	return done;
}

static bool load_text(const char *name, const char *text, sim_mesh *mesh, sim_error *error)
{
	return load_bytes(name, text, strlen(text), mesh, error);
}

// The file must be refused with exactly this sentence, and leave nothing behind.
static void check_refused(const char *name, const char *text, const char *sentence)
{
	sim_mesh mesh;
	sim_error error = { "" };
	CHECK(!load_text(name, text, &mesh, &error));
	CHECK_STR(error.text, sentence);
	CHECK(mesh.vertices == NULL && mesh.triangles == NULL && mesh.vertex_count == 0 && mesh.triangle_count == 0);
}

static void check_triangle(const sim_mesh *mesh, int32_t number, int32_t a, int32_t b, int32_t c)
{
	REQUIRE(number < mesh->triangle_count);
	CHECK_INT(mesh->triangles[3 * number], a);
	CHECK_INT(mesh->triangles[3 * number + 1], b);
	CHECK_INT(mesh->triangles[3 * number + 2], c);
}

static bool same_mesh(const sim_mesh *a, const sim_mesh *b)
{
	return a->vertex_count == b->vertex_count && a->triangle_count == b->triangle_count &&
		memcmp(a->vertices, b->vertices, (size_t)a->vertex_count * 12) == 0 &&
		memcmp(a->triangles, b->triangles, (size_t)a->triangle_count * 12) == 0;
}

TEST(mesh_file, obj_names_materials_in_the_order_of_their_use)
{
	static const char text[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nusemtl ice\nusemtl mud # ends\nf 1 2 3 4\n"
							   "usemtl\nf 2 3 4\nusemtl ice\nf 4 3 1\n";
	static const uint32_t expected[] = { 0, 2, 2, 2, 1 };
	sim_mesh mesh;
	sim_error error;
	REQUIRE(load_text("painted.obj", text, &mesh, &error));
	CHECK_INT(mesh.triangle_count, 5);
	CHECK_INT(mesh.material_count, 2);
	REQUIRE(mesh.materials && mesh.material_names);
	CHECK(memcmp(mesh.materials, expected, sizeof expected) == 0);
	CHECK_STR(mesh.material_names, "ice");
	CHECK_STR(mesh.material_names + 4, "mud");
	sim_mesh_free(&mesh);
	REQUIRE(load_text("plain.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\n", &mesh, &error));
	CHECK(!mesh.materials && !mesh.material_names && mesh.material_count == 0);
	sim_mesh_free(&mesh);
}

// What a baked file gives is what was given to the library: floats, doubles, materials, sides.
TEST(mesh_file, baked_meshes_come_back_whole)
{
	static const double corners[4][3] = { { 0.1, 0, 0 }, { 1, 0, 0 }, { 1, 1, 0.7 }, { 0, 1, 0 } };
	static const int32_t triangles[6] = { 0, 1, 2, 0, 2, 3 };
	static const uint32_t materials[2] = { 7, 0 };
	carom_context *context;
	carom_mesh *made, *again;
	sim_mesh mesh;
	sim_error error;
	size_t size;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = corners, .type = CAROM_FLOAT64 };
	def.vertex_count = 4;
	def.triangles = triangles;
	def.triangle_count = 2;
	def.materials = materials;
	def.sides = CAROM_SIDES_FRONT;
	REQUIRE(carom_create_mesh(context, &def, NULL, &made) == CAROM_SUCCESS);
	const char *path = temporary("whole.cmesh");
	REQUIRE(io_save_baked(context, made, path, &size, &error));
	REQUIRE(io_load_mesh(path, &mesh, &error));
	remove(path);
	CHECK_INT(mesh.vertex_count, 4);
	CHECK_INT(mesh.triangle_count, 2);
	CHECK_INT(mesh.sides, CAROM_SIDES_FRONT);
	CHECK_INT(mesh.baked_size, size);
	CHECK(mesh.doubles && memcmp(mesh.doubles, corners, sizeof corners) == 0);
	CHECK(mesh.materials && memcmp(mesh.materials, materials, sizeof materials) == 0);
	CHECK(memcmp(mesh.triangles, triangles, sizeof triangles) == 0);
	CHECK(mesh.vertices[0] == 0.1f);
	// With its bytes and without them.
	for (int pass = 0; pass < 2; pass++) {
		uint32_t material;
		REQUIRE(io_create_mesh(context, &mesh, CAROM_GRID_BY_SIZE, NULL, &again) == CAROM_SUCCESS);
		CHECK_INT(carom_mesh_get_sides(again), CAROM_SIDES_FRONT);
		CHECK(memcmp(carom_mesh_get_doubles(again), corners, sizeof corners) == 0);
		CHECK_INT(carom_mesh_get_material(again, 0, &material), CAROM_SUCCESS);
		CHECK_INT(material, 7);
		carom_release_mesh(again);
		CHECK(io_weld_mesh(&mesh));
		CHECK(mesh.baked == NULL);
	}
	sim_mesh_free(&mesh);
	carom_release_mesh(made);
	carom_destroy_context(context);
}

TEST(mesh_file, obj_keeps_order_and_fans_polygons)
{
	sim_mesh mesh;
	sim_error error;
	REQUIRE(load_text("a.obj",
		"# a comment\r\nmtllib x.mtl\nv 0 0 0 # the origin\nv 1 0 0 1.0\n\tv 1 1 0 0.5 0.5 0.5\nvn 0 0 1\nv 0 1 0\nv -0.5 \\\n 0.5 1e-3\n"
		"f 1//1 2//1 3//1 4//1 5//1\nusemtl m\nf -3/1 -2/2/3 -1\nf 3 6 1\nv 2 0 0\n",
		&mesh, &error));
	CHECK_INT(mesh.vertex_count, 6);
	CHECK_INT(mesh.triangle_count, 5);
	check_triangle(&mesh, 0, 0, 1, 2);
	check_triangle(&mesh, 1, 0, 2, 3);
	check_triangle(&mesh, 2, 0, 3, 4);
	check_triangle(&mesh, 3, 2, 3, 4);
	check_triangle(&mesh, 4, 2, 5, 0); // names a vertex that comes behind it
	CHECK_NEAR(mesh.vertices[12], -0.5, 0);
	CHECK_NEAR(mesh.vertices[14], 1e-3f, 0);
	sim_mesh_free(&mesh);
}

// A number beyond the floats is one all the same.
TEST(mesh_file, obj_keeps_numbers_beyond_floats)
{
	sim_mesh mesh;
	sim_error error;
	REQUIRE(load_text("a.obj", "v 1e39 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", &mesh, &error));
	REQUIRE(mesh.doubles != NULL);
	CHECK(mesh.doubles[0] == 1e39 && isinf(mesh.vertices[0]));
	sim_mesh_free(&mesh);
}

TEST(mesh_file, numbers_that_are_not_finite_are_named)
{
	check_refused("a.obj", "v 0 0 0\nv 1 nan 0\nv 0 1 0\nf 1 2 3\n", "line 2: vertex 1: y is NaN");
	check_refused("a.obj", "v 0 0 0\nv 1 0 -Inf\n", "line 2: vertex 1: z is infinite");
	check_refused("a.obj", "v 1e999 0 0\n", "line 1: vertex 0: x is infinite");
	check_refused("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 inf 0\n3 0 1 2\n", "line 5: vertex 2: y is infinite");
	check_refused("a.stl",
		"solid a\nfacet normal nan 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 nan 0\nendloop\nendfacet\nendsolid a\n",
		"line 6: vertex 2: y is NaN");
	check_refused("a.ply",
		"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float nx\nproperty float y\nproperty float z\n"
		"element face 1\nproperty list uchar int vertex_indices\nend_header\n0 nan 0 0\n1 nan 0 0\n0 0 1 inf\n3 0 1 2\n",
		"line 13: vertex 2: z is infinite");
}

TEST(mesh_file, numbers_that_are_not_finite_are_named_in_binary_files)
{
	static const float nan_normal[3] = { NAN, NAN, NAN },
					   corners[2][9] = { { 0, 0, 0, 1, 0, 0, 0, 1, 0 }, { 0, 0, 0, 1, 0, 0, 0, 0, INFINITY } };
	char bytes[84 + 100] = "binary";
	sim_mesh mesh;
	sim_error error;
	bytes[80] = 2;
	for (int i = 0; i < 2; i++) {
		memcpy(bytes + 84 + 50 * i, nan_normal, 12);
		memcpy(bytes + 96 + 50 * i, corners[i], 36);
	}
	CHECK(!load_bytes("a.stl", bytes, sizeof bytes, &mesh, &error));
	CHECK_STR(error.text, "byte 178: triangle 1: z of corner 2 is infinite");
	memcpy(bytes + 96 + 50, corners[0], 36);
	REQUIRE(load_bytes("a.stl", bytes, sizeof bytes, &mesh, &error));
	sim_mesh_free(&mesh);
	char ply[512] =
		"ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
		"element face 1\nproperty list uchar uchar vertex_indices\nend_header\n";
	const size_t body = strlen(ply);
	memcpy(ply + body, corners[1], 36);
	memcpy(ply + body + 36, "\3\0\1\2", 4);
	CHECK(!load_bytes("a.ply", ply, body + 40, &mesh, &error));
	char expected[64];
	snprintf(expected, sizeof expected, "byte %zu: vertex 2: z is infinite", body + 32);
	CHECK_STR(error.text, expected);
}

TEST(mesh_file, corners_that_name_no_vertex_are_named)
{
	check_refused("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n\nf 1 2 4\nf 1 2 9\n",
		"line 6: this face names vertex 4; the file has 3");
	check_refused("a.obj", "f 1 2 4\nf 1 2 3\nf 5 6 7\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n",
		"line 3: this face names vertex 5; the file has 4");
	check_refused(
		"a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", "line 6: face 0 names vertex 3; vertices go from 0 to 2");
	check_refused(
		"a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 -1 2\n", "line 6: face 0 names vertex -1; vertices go from 0 to 2");
	// A PLY file may have its faces first.
	static const char faces_first[] =
		"ply\nformat ascii 1.0\nelement face 2\nproperty list uchar int vertex_indices\nelement vertex 3\nproperty float x\n"
		"property float y\nproperty float z\nend_header\n3 0 1 2\n3 0 1 %d\n0 0 0\n1 0 0\n0 1 0\n";
	char text[512];
	sim_mesh mesh;
	sim_error error;
	snprintf(text, sizeof text, faces_first, 3);
	check_refused("a.ply", text, "line 11: face 1 names vertex 3; vertices go from 0 to 2");
	snprintf(text, sizeof text, faces_first, 2);
	REQUIRE(load_text("a.ply", text, &mesh, &error));
	CHECK_INT(mesh.triangle_count, 2);
	sim_mesh_free(&mesh);
	check_refused("a.ply",
		"ply\nformat ascii 1.0\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n3 0 1 2\n",
		"line 6: face 0 names vertex 0; the file has no vertices");
}

TEST(mesh_file, what_cannot_be_written_is_named)
{
	float floats[9] = { 0, 0, 0, 1, 0, 0, 0, 1, 0 };
	double doubles[9] = { 0, 0, 0, 1, 0, 0, 0, 1, 0 };
	int32_t triangle[3] = { 0, 1, 2 };
	sim_mesh mesh = { .vertex_count = 3, .triangle_count = 1, .vertices = floats, .triangles = triangle };
	sim_error error;
	static const char *const names[] = { "a.obj", "a.ply", "a.stl" };
	for (int i = 0; i < 3; i++) {
		const char *path = temporary(names[i]);
		floats[4] = NAN;
		CHECK(!io_save_mesh(path, &mesh, &error));
		CHECK_STR(error.text, "vertex 1: y is NaN");
		floats[4] = 0;
		floats[8] = -INFINITY;
		CHECK(!io_save_mesh(path, &mesh, &error));
		CHECK_STR(error.text, "vertex 2: z is infinite");
		floats[8] = 0;
		CHECK(access(path, F_OK) != 0);
	}
	mesh.doubles = doubles;
	doubles[3] = 1e39;
	floats[3] = INFINITY;
	CHECK(!io_save_mesh(temporary("a.stl"), &mesh, &error));
	CHECK_STR(error.text, "vertex 1: x is 1e+39, which the floats of .stl do not hold; use .obj or .ply");
	CHECK(io_save_mesh(temporary("a.ply"), &mesh, &error));
	remove(temporary("a.ply"));
}

TEST(mesh_file, obj_says_which_line_is_wrong)
{
	check_refused("a.obj", "v 0 0 0\nv 1 two 0\n", "line 2: this coordinate is not a number: two");
	check_refused("a.obj", "v 0 0\n", "line 1: a vertex needs three coordinates");
	check_refused("a.obj", "v 0 0 0\n\n\nf 1 x 1\n", "line 4: this corner of a face is not a vertex number: x");
	check_refused("a.obj", "v 0 0 \\\n0\nf 0 1 1\n", "line 3: vertex number 0; OBJ files count from 1");
	check_refused("a.obj", "v 0 0 0\nf -1 -2 -1\n", "line 2: this vertex number counts back beyond the first vertex: -2");
	check_refused("a.obj", "v 0 0 0\nf 1 1 99999999999\n", "line 2: this vertex number is too large: 99999999999");
	check_refused("a.obj", "v 0 0 0\nf 1 1\n", "line 2: a face needs three corners");
	check_refused("a.obj", "v 0 0 0\n", "holds 1 vertices but no triangles");
	check_refused("a.obj", "just words\n", "holds no triangles");
	check_refused("a.obj", "", "is empty");
}

static const char ply_start[] =
	"ply\nformat ascii 1.0\ncomment x\nelement vertex 4\nproperty float x\nproperty uchar red\nproperty float y\n"
	"property double z\nelement edge 1\nproperty int v1\nelement face 2\nproperty uchar flags\n"
	"property list uchar uint vertex_index\nproperty list int float weights\nend_header\n";

TEST(mesh_file, ply_text_keeps_order_and_skips_the_rest)
{
	char text[1024];
	sim_error error;
	sim_mesh mesh;
	snprintf(text, sizeof text, "%s%s", ply_start,
		"0 255 0 0\n1 0 0 0.1\n1 0 1 0.5\n0 0 16777217 0\n7\n9 4 0 1 2 3 2 0.5 0.5\n9 3 3 2 1 0\n");
	REQUIRE(load_text("a.ply", text, &mesh, &error));
	CHECK_INT(mesh.vertex_count, 4);
	CHECK_INT(mesh.triangle_count, 3);
	check_triangle(&mesh, 0, 0, 1, 2);
	check_triangle(&mesh, 1, 0, 2, 3);
	check_triangle(&mesh, 2, 3, 2, 1);
	CHECK_NEAR(mesh.vertices[5], 0.1f, 0);
	CHECK_NEAR(mesh.vertices[10], 16777216, 0); // the nearest float, ties to even
	sim_mesh_free(&mesh);
}

TEST(mesh_file, ply_says_what_is_wrong)
{
	char text[1024];
	snprintf(text, sizeof text, "%s%s", ply_start, "0 0 0 0\n1 0 0 zero\n");
	check_refused("a.ply", text, "line 17: vertex 1: this is not a number: zero");
	snprintf(text, sizeof text, "%s%s", ply_start, "0 0 0 0\n1 0 0 0\n");
	check_refused("a.ply", text, "line 18: ends too early, in vertex 2 of 4");
	snprintf(text, sizeof text, "%s%s", ply_start, "0 0 0 0 1 0 0 0 1 0 1 0 0 0 1 0 7 9 2 0 1 0\n");
	check_refused("a.ply", text, "line 16: face 0: has 2 corners; a face needs three");
	snprintf(text, sizeof text, "%s%s", ply_start, "0 0 0 0 1 0 0 0 1 0 1 0 0 0 1 0 7 9 3 0 1 0.5 0\n");
	check_refused("a.ply", text, "line 16: face 0: names vertex 0.5");
	snprintf(text, sizeof text, "%s%s", ply_start, "0 0 0 0 1 0 0 0 1 0 1 0 0 0 1 0 7 9 3 0 1 2 -1\n");
	check_refused("a.ply", text, "line 16: face 0: a list of -1 elements");
	check_refused("a.ply", "plx\n", "is not a PLY file: it does not begin with a line \"ply\"");
	check_refused("a.ply", "ply\nformat ascii 1.0\n", "line 3: the header has no end_header");
	check_refused("a.ply", "ply\nend_header\n", "line 2: the header has no format");
	check_refused("a.ply", "ply\nformat morse 1.0\n", "line 2: the header names an unknown format: morse");
	check_refused("a.ply", "ply\nformat ascii 1.0\nelement vertex -1\n",
		"line 3: the header has a bad number of elements: element vertex -1");
	check_refused("a.ply", "ply\nformat ascii 1.0\nproperty float x\n", "line 3: the header has a property before any element");
	check_refused("a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty list uchar x\n",
		"line 4: the header has an incomplete property in the element vertex");
	check_refused("a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty half x\n",
		"line 4: the header gives the property x an unknown type");
	check_refused("a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n0\n",
		"line 3: the element vertex has no x, y and z");
	check_refused("a.ply", "ply\nformat ascii 1.0\nelement face 1\nproperty int x\nend_header\n0\n",
		"line 3: the element face has no list vertex_indices");
	check_refused("a.ply",
		"ply\nformat binary_little_endian 1.0\nelement vertex 2000000000\nproperty float x\nproperty float y\nproperty float z\nend_header\nxy",
		"byte 126: ends too early: 2000000000 vertices do not fit in it");
	check_refused("a.ply", "ply\nformat ascii 1.0\nend_header\n", "holds no triangles");
}

// One vertex row and face of every type, in both byte orders, written byte by byte.
TEST(mesh_file, ply_binary_in_both_byte_orders)
{
	static const char header[] =
		"ply\nformat binary_%s_endian 1.0\nelement vertex 3\nproperty double x\nproperty short y\nproperty float z\n"
		"element face 1\nproperty list ushort int vertex_indices\nend_header\n";
	static const unsigned char vertex[] = { 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, /* 1.5 */ 0xff, 0xfe, /* -2 */ 0x40, 0x48, 0xf5,
		0xc3 /* 3.14f */ };
	static const unsigned char face[] = { 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2 };
	static const int vertex_parts[] = { 8, 2, 4 }, face_parts[] = { 2, 4, 4, 4 };
	for (int little = 0; little < 2; little++) {
		unsigned char bytes[512];
		size_t size = (size_t)snprintf((char *)bytes, sizeof bytes, header, little ? "little" : "big");
		for (int row = 0; row < 4; row++) {
			const unsigned char *from = row < 3 ? vertex : face;
			for (int part = 0; part < (row < 3 ? 3 : 4); part++) {
				const int length = row < 3 ? vertex_parts[part] : face_parts[part];
				for (int i = 0; i < length; i++)
					bytes[size++] = from[little ? length - 1 - i : i];
				from += length;
			}
		}
		sim_mesh mesh;
		sim_error error;
		REQUIRE(load_bytes("a.ply", bytes, size, &mesh, &error));
		CHECK_INT(mesh.vertex_count, 3);
		for (int i = 0; i < 3; i++) {
			CHECK_NEAR(mesh.vertices[3 * i], 1.5, 0);
			CHECK_NEAR(mesh.vertices[3 * i + 1], -2, 0);
			CHECK_NEAR(mesh.vertices[3 * i + 2], 3.14f, 0);
		}
		check_triangle(&mesh, 0, 0, 1, 2);
		sim_mesh_free(&mesh);
		// Whatever is cut off, it is an error and not a smaller mesh.
		for (size_t cut = 1; cut < size; cut++)
			CHECK(!load_bytes("a.ply", bytes, size - cut, &mesh, &error));
	}
}

// ---- OFF ----

TEST(mesh_file, off_keeps_order_and_fans_polygons)
{
	static const char *const heads[] = { "OFF\n5 3 0\n", "# a comment\r\n\r\nOFF # more\r\n5\r\n3 9\r\n", "OFF 5 3 0\n",
		"OFF5 3\n", "\xef\xbb\xbfOFF\r5 3 0\r" };
	static const char body[] =
		"0 0 0\n1 0 0 # the second\n\n 1 1 0\n0 1 0\n-0.5\t0.5 1e-3\n5 0 1 2 3 4\n3 2 3 4 255 0 0\n3 2 4 0 0.1 0.2 0.3 1";
	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
		char text[512];
		sim_error error = { "" };
		sim_mesh mesh;
		snprintf(text, sizeof text, "%s%s", heads[i], body);
		if (!CHECK(load_text("a.off", text, &mesh, &error))) {
			printf("  head %zu: %s\n", i, error.text);
			continue;
		}
		CHECK_INT(mesh.vertex_count, 5);
		CHECK_INT(mesh.triangle_count, 5);
		check_triangle(&mesh, 0, 0, 1, 2);
		check_triangle(&mesh, 1, 0, 2, 3);
		check_triangle(&mesh, 2, 0, 3, 4);
		check_triangle(&mesh, 3, 2, 3, 4);
		check_triangle(&mesh, 4, 2, 4, 0);
		CHECK_NEAR(mesh.vertices[12], -0.5, 0);
		CHECK_NEAR(mesh.vertices[14], 1e-3f, 0);
		sim_mesh_free(&mesh);
	}
}

TEST(mesh_file, off_skips_colours_normals_and_texture)
{
	static const char *const texts[] = { "COFF\n3 1 0\n1 2 3 255 0 0\n4 5 6 1 0 0 0.5\n7 8 9 0 0 0 255\n3 0 1 2\n",
		"NOFF\n3 1 0\n1 2 3 0 0 1\n4 5 6 0 0 1\n7 8 9 0 0 1\n3 0 1 2\n",
		"STCNOFF\n3 1 0\n1 2 3 0 0 1 9 9 9 0 0\n4 5 6 0 0 1 9 9 9 0 0\n7 8 9 0 0 1 9 9 9 9 0 0\n3 0 1 2\n" };
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		sim_mesh mesh;
		sim_error error;
		REQUIRE(load_text("a.off", texts[i], &mesh, &error));
		for (int k = 0; k < 9; k++)
			CHECK_NEAR(mesh.vertices[k], k + 1, 0);
		check_triangle(&mesh, 0, 0, 1, 2);
		sim_mesh_free(&mesh);
	}
}

TEST(mesh_file, off_says_which_line_is_wrong)
{
	static const char no_keyword[] =
		"line 1: is not an OFF file with three coordinates a vertex: it does not begin with OFF, COFF, NOFF, "
		"CNOFF or one of these with ST before it";
	check_refused("a.off", "3 1 0\n", no_keyword);
	check_refused("a.off", "4OFF\n3 1 0\n", no_keyword);
	check_refused("a.off", "OFFER 3 1 0\n", no_keyword);
	check_refused("a.off", "OFF BINARY\n", "line 1: is a binary OFF file; only OFF files in text are read");
	check_refused("a.off", "OFF\n", "line 1: ends before the number of vertices");
	check_refused("a.off", "OFF\n3", "line 2: ends before the number of faces");
	check_refused("a.off", "OFF\n-3 1 0\n", "line 2: this is not a number of vertices: -3");
	check_refused("a.off", "OFF\n3 1.5 0\n", "line 2: this is not a number of faces: 1.5");
	check_refused("a.off", "OFF\n3 4294967297 0\n", "line 2: this is not a number of faces: 4294967297");
	check_refused("a.off", "OFF\n3 1 0 7\n", "line 2: holds more than the numbers of vertices, faces and edges");
	check_refused("a.off", "OFF\n3 1 0\n0 0 0\n1 0 zero\n0 1 0\n3 0 1 2\n", "line 4: this coordinate is not a number: zero");
	check_refused("a.off", "OFF\n3 1 0\n0 0 0\n1 0\n0 1 0 0\n3 0 1 2\n", "line 4: a vertex needs three coordinates");
	check_refused("a.off", "OFF\n3 1 0\n0 0 0 1 0 0\n0 1 0\n3 0 1 2\n",
		"line 3: 3 numbers follow the coordinates; by the first line of the file there are 0");
	check_refused("a.off", "COFF\n3 1 0\n0 0 0 1 0\n1 0 0\n0 1 0\n3 0 1 2\n",
		"line 3: 2 numbers follow the coordinates; by the first line of the file there are 3 to 4");
	check_refused(
		"a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1\n", "line 6: a face has fewer corners than its first number says");
	check_refused("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n2 0 1\n", "line 6: a face needs three corners");
	check_refused(
		"a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2.5\n", "line 6: this corner of a face is not a vertex number: 2.5");
	check_refused("a.off", "OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2 red\n", "line 6: this is not a number: red");
	check_refused(
		"a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n3 0 1 2\n", "line 7: goes on behind the last of its 1 faces");
	check_refused("a.off", "OFF\n3 2 0\n0 0 0 # a\n1 0 0\n0 1 0\n3 0 1 2\n", "line 6: ends too early, behind face 1 of 2");
	check_refused("a.off", "OFF\n4 1 0\n0 0 0 # long\n1 0 0 # long\n0 1 0\n", "line 5: ends too early, behind vertex 3 of 4");
	check_refused("a.off", "OFF\n3 0 0\n0 0 0\n1 0 0\n0 1 0\n", "holds 3 vertices but no triangles");
}

// What a header claims costs no memory: the file cannot hold it.
TEST(mesh_file, off_counts_are_compared_with_the_size_of_the_file)
{
	check_refused(
		"a.off", "OFF\n900000000 1 0\n0 0 0\n", "line 2: ends too early: 900000000 vertices and 1 faces do not fit in it");
	check_refused("a.off", "OFF\n3 200000000 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
		"line 2: ends too early: 3 vertices and 200000000 faces do not fit in it");
	check_refused("a.off", "OFF\n2147483647 2147483647 0\n",
		"line 2: ends too early: 2147483647 vertices and 2147483647 faces do not fit in it");
	sim_mesh mesh;
	sim_error error;
	// The smallest rows that there are still fit.
	REQUIRE(load_text("a.off", "OFF\n3 2\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n3 0 2 1", &mesh, &error));
	CHECK_INT(mesh.triangle_count, 2);
	sim_mesh_free(&mesh);
}

// ---- Damage ----

// A sound file is read; cut anywhere it is refused, unless only what means nothing was cut off: the ends of the last lines.
static void check_cuts(const char *name, const char *bytes, size_t size, size_t harmless)
{
	sim_mesh mesh;
	sim_error error = { "" };
	REQUIRE(load_bytes(name, bytes, size, &mesh, &error));
	sim_mesh_free(&mesh);
	for (size_t cut = 1; cut < size; cut++) {
		const bool read = load_bytes(name, bytes, size - cut, &mesh, &error);
		const bool named =
			read || strncmp(error.text, "line ", 5) == 0 || strncmp(error.text, "byte ", 5) == 0 || size - cut < 4;
		if (!CHECK_INT(read, cut <= harmless) || !CHECK(named))
			printf("  %s without its last %zu bytes: %s\n", name, cut, read ? "read" : error.text);
		if (read)
			sim_mesh_free(&mesh);
	}
}

static const char text_stl[] =
	"solid a b#c\n facet normal 0 0 1\n  outer loop\n   vertex 0 0 0\n   vertex 1 0 0\n   vertex 0 1 0.5\n  endloop\n endfacet\n"
	"FACET NORMAL 0 0 -1\nOUTER LOOP\nVERTEX 1 0 0\nVERTEX 0 0 0\nVERTEX 0.1 1e-3 -0.75\nENDLOOP\nENDFACET\nendsolid a b\n";

TEST(mesh_file, files_that_are_cut_are_refused)
{
	static const char off[] = "OFF\n4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 0 3 2\n";
	check_cuts("a.off", off, sizeof off - 1, 1);
	check_cuts("a.stl", text_stl, sizeof text_stl - 1, 5);
	char binary[84 + 100] = "solid, but binary";
	binary[80] = 2;
	binary[84 + 12] = 1;
	check_cuts("b.stl", binary, sizeof binary, 0);
}

// A text that ends within its last number looks whole: only the missing end of the line tells, where the number could go on.
TEST(mesh_file, a_last_number_that_may_be_cut_is_refused)
{
	char head[512] = "", ply_head[1024], text[2048];
	for (int i = 0; i < 25; i++)
		snprintf(head + strlen(head), sizeof head - strlen(head), "%d %d %d\n", i, i * i, -i * i * i);
	snprintf(ply_head, sizeof ply_head,
		"ply\nformat ascii 1.0\nelement vertex 25\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n"
		"property list uchar int vertex_indices\nend_header\n%s",
		head);
	static const struct {
		const char *face;
		bool read;
	} ends[] = { { "3 0 1 2\n", true }, { "3 0 1 2 ", true }, { "3 0 1 24", true }, { "3 0 1 3", true }, { "3 2 1 0", true },
		{ "3 0 1 2", false } };
	for (size_t i = 0; i < 2 * sizeof ends / sizeof ends[0]; i++) {
		sim_mesh mesh;
		sim_error error = { "" };
		const bool off = i % 2 == 0;
		snprintf(text, sizeof text, "%s%s%s", off ? "OFF\n25 1 0\n" : ply_head, off ? head : "", ends[i / 2].face);
		if (!CHECK_INT(load_text(off ? "a.off" : "a.ply", text, &mesh, &error), ends[i / 2].read))
			printf("  %s: %s\n", ends[i / 2].face, error.text);
		if (!ends[i / 2].read) {
			char wanted[256];
			snprintf(wanted, sizeof wanted,
				"line %d: the file may be cut within its last number, 2: nothing ends this line; if it is whole, end it",
				off ? 28 : 35);
			CHECK_STR(error.text, wanted);
		}
		sim_mesh_free(&mesh);
	}
}

TEST(mesh_file, stl_text_is_read_to_the_nearest_float)
{
	sim_mesh mesh;
	sim_error error = { "" };
	REQUIRE(load_text("a.stl", text_stl, &mesh, &error));
	CHECK_INT(mesh.vertex_count, 4);
	CHECK_INT(mesh.triangle_count, 2);
	check_triangle(&mesh, 0, 0, 1, 2);
	check_triangle(&mesh, 1, 1, 0, 3);
	CHECK_NEAR(mesh.vertices[9], 0.1f, 0);
	CHECK_NEAR(mesh.vertices[10], 1e-3f, 0);
	sim_mesh_free(&mesh);
	// Two solids are one mesh.
	char text[1024];
	snprintf(text, sizeof text, "%s%s", text_stl, text_stl);
	REQUIRE(load_text("a.stl", text, &mesh, &error));
	CHECK_INT(mesh.vertex_count, 4);
	CHECK_INT(mesh.triangle_count, 4);
	sim_mesh_free(&mesh);
}

TEST(mesh_file, stl_says_what_is_wrong)
{
	check_refused("a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0\n",
		"line 5: ends too early, where a number must stand");
	check_refused(
		"a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 x\n", "line 5: this is not a number: x");
	check_refused("a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nendloop\n",
		"line 6: vertex must stand here, not: endloop");
	check_refused("a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nvertex 1 1 0\n",
		"line 7: endloop must stand here, not: vertex");
	check_refused("a.stl", "solid\nface\n", "line 2: facet or endsolid must stand here, not: face");
	check_refused("a.stl", "solid\nendsolid\nendsolid\n", "line 3: solid must stand here, not: endsolid");
	check_refused("a.stl", "solid x\n", "line 1: ends too early, where facet or endsolid must stand");
	check_refused("a.stl", "solid\nendsolid\n", "holds no triangles");
	check_refused("a.stl", "what is this", "byte 12: ends too early, in its header of 84 bytes");
	char bytes[84 + 60] = "binary";
	sim_mesh mesh;
	sim_error error;
	CHECK(!load_bytes("a.stl", bytes, 84, &mesh, &error));
	CHECK_STR(error.text, "holds no triangles");
	bytes[80] = 1;
	CHECK(!load_bytes("a.stl", bytes, sizeof bytes, &mesh, &error));
	CHECK_STR(error.text, "byte 134: goes on behind triangle 1 of 1");
	memset(bytes + 80, 0xff, 4);
	CHECK(!load_bytes("a.stl", bytes, sizeof bytes, &mesh, &error));
	CHECK_STR(error.text, "byte 144: ends too early, in triangle 1 of 4294967295");
}

// A disk that loses a block leaves zeros: no text goes on behind them in silence.
TEST(mesh_file, text_with_zero_bytes_is_refused)
{
	static const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n\0\0\0\0\0\0\0\nf 3 2 1\n";
	static const char off[] = "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 \0\n3 0 1 2\n";
	static const char ply[] =
		"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
		"element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 \0 1 0\n3 0 1 2\n";
	char stl[sizeof text_stl];
	memcpy(stl, text_stl, sizeof stl);
	memset(stl + 120, 0, 7);
	const struct {
		const char *name, *bytes;
		size_t size;
		int line;
	} files[] = { { "a.obj", obj, sizeof obj - 1, 5 }, { "a.off", off, sizeof off - 1, 5 },
		{ "a.ply", ply, sizeof ply - 1, 12 }, { "a.stl", stl, sizeof stl - 1, 9 } };
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		sim_mesh mesh;
		char wanted[128];
		sim_error error = { "" };
		CHECK(!load_bytes(files[i].name, files[i].bytes, files[i].size, &mesh, &error));
		snprintf(wanted, sizeof wanted, "line %d: holds a zero byte, which no text does: the file is damaged", files[i].line);
		CHECK_STR(error.text, wanted);
		CHECK(mesh.vertices == NULL && mesh.triangles == NULL);
	}
}

// ---- Formats by their bytes ----

TEST(mesh_file, a_path_without_extension_is_told_by_its_bytes)
{
	static const char *const texts[] = { "# made\n\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
		"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
		"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n"
		"property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
		text_stl };
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		sim_mesh mesh;
		sim_error error = { "" };
		if (!CHECK(load_text("mesh", texts[i], &mesh, &error)))
			printf("  text %zu: %s\n", i, error.text);
		sim_mesh_free(&mesh);
	}
}

// ---- STL, and writing ----

TEST(mesh_file, stl_is_welded_to_a_closed_mesh)
{
	sim_mesh mesh, back;
	sim_error error;
	REQUIRE(sim_make_shape("torus", 600, 1, &mesh, &error));
	REQUIRE(io_save_mesh(temporary("t.stl"), &mesh, &error));
	REQUIRE(io_load_mesh(temporary("t.stl"), &back, &error));
	remove(temporary("t.stl"));
	CHECK_INT(back.vertex_count, mesh.vertex_count);
	REQUIRE(back.triangle_count == mesh.triangle_count);
	for (int32_t i = 0; i < 3 * mesh.triangle_count; i++)
		if (memcmp(mesh.vertices + 3 * mesh.triangles[i], back.vertices + 3 * back.triangles[i], 12) != 0) {
			CHECK(!"a corner came back elsewhere");
			break;
		}
	sim_mesh_free(&mesh);
	sim_mesh_free(&back);
}

TEST(mesh_file, obj_and_ply_come_back_bit_for_bit)
{
	sim_mesh mesh = { .vertex_count = 1000, .triangle_count = 700 }, back;
	mesh.vertices = malloc(3000 * sizeof(float));
	mesh.triangles = malloc(2100 * sizeof(int32_t));
	REQUIRE(mesh.vertices && mesh.triangles);
	uint64_t state = 7;
	for (int i = 0; i < 3000; i++) {
		// All finite bit patterns, denormal ones too.
		uint32_t bits;
		do
			bits = (uint32_t)test_random(&state);
		while ((bits & 0x7f800000u) == 0x7f800000u);
		memcpy(mesh.vertices + i, &bits, sizeof bits);
	}
	for (int i = 0; i < 2100; i++)
		mesh.triangles[i] = (int32_t)(test_random(&state) % 1000);
	static const char *const names[] = { "r.obj", "r.ply", "R.PLY" };
	for (int i = 0; i < 3; i++) {
		sim_error error = { "" };
		CHECK(io_save_mesh(temporary(names[i]), &mesh, &error));
		REQUIRE(io_load_mesh(temporary(names[i]), &back, &error));
		CHECK(same_mesh(&mesh, &back));
		sim_mesh_free(&back);
		remove(temporary(names[i]));
	}
	sim_mesh_free(&mesh);
}

// 0.1, 2^24 + 1 and 1e300 are no floats; the last is beyond all of them.
static void check_doubles(const sim_mesh *mesh)
{
	static const double expected[9] = { 0.1, 0, 16777217, 1, 1e300, -0.5, 3, 4, 5 };
	REQUIRE(mesh->doubles != NULL && mesh->vertex_count == 3);
	for (int i = 0; i < 9; i++) {
		CHECK_NEAR(mesh->doubles[i], expected[i], 0);
		CHECK(mesh->vertices[i] == (float)expected[i]);
	}
}

TEST(mesh_file, doubles_stay_doubles)
{
	static const char numbers[] = "0.1 0 16777217\n1 1e300 -0.5\n3 4 5\n";
	static const char *const types[] = { "float", "double" };
	char text[1024];
	sim_error error;
	sim_mesh mesh;
	REQUIRE(load_text("a.obj", "v 0.1 0 16777217\nv 1 1e300 -0.5\nv 3 4 5\nf 1 2 3\n", &mesh, &error));
	check_doubles(&mesh);
	// As OBJ and PLY they come back exactly.
	static const char *const files[] = { "x.obj", "x.ply" };
	for (int i = 0; i < 2; i++) {
		sim_mesh back;
		REQUIRE(io_save_mesh(temporary(files[i]), &mesh, &error));
		REQUIRE(io_load_mesh(temporary(files[i]), &back, &error));
		check_doubles(&back);
		sim_mesh_free(&back);
		remove(temporary(files[i]));
	}
	sim_mesh_free(&mesh);
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof text,
			"ply\nformat ascii 1.0\nelement vertex 3\nproperty %s x\nproperty %s y\nproperty %s z\nelement face 1\n"
			"property list uchar int vertex_indices\nend_header\n%s3 0 1 2\n",
			types[i], types[i], types[i], numbers);
		REQUIRE(load_text("a.ply", text, &mesh, &error));
		check_doubles(&mesh);
		sim_mesh_free(&mesh);
	}
	snprintf(text, sizeof text, "OFF\n3 1 0\n%s3 0 1 2\n", numbers);
	REQUIRE(load_text("a.off", text, &mesh, &error));
	check_doubles(&mesh);
	sim_mesh_free(&mesh);
	REQUIRE(load_text("a.stl",
		"solid\nfacet normal 0 0 0\nouter loop\nvertex 0.1 0 16777217\nvertex 1 1e300 -0.5\nvertex 3 4 5\nendloop\nendfacet\n"
		"endsolid\n",
		&mesh, &error));
	check_doubles(&mesh);
	sim_mesh_free(&mesh);
}

TEST(mesh_file, doubles_that_floats_hold_are_floats)
{
	sim_error error;
	sim_mesh mesh;
	REQUIRE(load_text("a.obj", "v 0.5 0 -0\nv 1 1e10 0.10000000149011612\nv 0 0 1\nf 1 2 3\n", &mesh, &error));
	CHECK(mesh.doubles == NULL);
	CHECK_NEAR(mesh.vertices[5], 0.1f, 0);
	sim_mesh_free(&mesh);
}

TEST(mesh_file, binary_doubles_in_both_byte_orders)
{
	const double numbers[9] = { 0.1, 0, 16777217, 1, 1e300, -0.5, 3, 4, 5 };
	for (int order = 0; order < 2; order++) {
		char bytes[512];
		sim_error error;
		int size = snprintf(bytes, sizeof bytes,
			"ply\nformat binary_%s_endian 1.0\nelement vertex 3\nproperty double x\nproperty double y\nproperty double z\n"
			"element face 1\nproperty list uchar uchar vertex_indices\nend_header\n",
			order ? "big" : "little");
		for (int i = 0; i < 9; i++) {
			uint64_t bits;
			memcpy(&bits, &numbers[i], sizeof bits);
			for (int k = 0; k < 8; k++)
				bytes[size++] = (char)(bits >> 8 * (order ? 7 - k : k));
		}
		memcpy(bytes + size, "\3\0\1\2", 4);
		sim_mesh mesh;
		REQUIRE(load_bytes("a.ply", bytes, (size_t)size + 4, &mesh, &error));
		check_doubles(&mesh);
		sim_mesh_free(&mesh);
	}
}

TEST(mesh_file, doubles_are_welded_as_doubles)
{
	sim_error error;
	sim_mesh mesh;
	// As floats all are one vertex; as doubles the third is the first, and the fourth the second.
	REQUIRE(load_text("a.obj",
		"v 0.1 0 1\nv 0.10000000000000001 -0 1\nv 0.1000000000000001 0 1\nv 0.1000000000000001 0 1\nf 1 2 3\nf 4 3 2\n", &mesh,
		&error));
	REQUIRE(io_weld_mesh(&mesh));
	CHECK_INT(mesh.vertex_count, 2);
	check_triangle(&mesh, 0, 0, 0, 1);
	check_triangle(&mesh, 1, 1, 1, 0);
	CHECK_NEAR(mesh.doubles[3], 0.1000000000000001, 0);
	sim_mesh_free(&mesh);
}

TEST(mesh_file, saving_refuses_what_cannot_be_read_back)
{
	float vertices[9] = { 0, 0, 0, 1, 0, 0, 0, 1, 0 };
	int32_t triangles[3] = { 0, 1, 3 };
	sim_mesh mesh = { .vertex_count = 3, .triangle_count = 1, .vertices = vertices, .triangles = triangles };
	sim_error error;
	CHECK(!io_save_mesh(temporary("x.obj"), &mesh, &error));
	CHECK_STR(error.text, "triangle 0 names vertex 3, and there are 3");
	triangles[2] = 2;
	CHECK(!io_save_mesh(temporary("x.gif"), &mesh, &error));
	CHECK_STR(error.text, "no mesh format has this extension; use .obj, .ply or .stl");
	CHECK(!io_save_mesh(temporary("no/x.obj"), &mesh, &error));
	CHECK_STR(error.text, "cannot be written: No such file or directory");
	CHECK(!io_load_mesh(temporary("x.obj"), &mesh, &error));
	CHECK_STR(error.text, "cannot be opened: No such file or directory");
}

TEST(mesh_file, welding_keeps_the_first_of_equal_positions)
{
	sim_mesh mesh = { .vertex_count = 6, .triangle_count = 3 };
	const float vertices[18] = { 1, 2, 3, 0, 0, 0, 1, 2, 3, -0.0f, 0, -0.0f, NAN, 0, 0, 1, 2, 4 };
	const int32_t triangles[9] = { 0, 1, 2, 3, 5, 4, 2, -7, 99 };
	mesh.vertices = malloc(sizeof vertices);
	mesh.triangles = malloc(sizeof triangles);
	REQUIRE(mesh.vertices && mesh.triangles);
	memcpy(mesh.vertices, vertices, sizeof vertices);
	memcpy(mesh.triangles, triangles, sizeof triangles);
	REQUIRE(io_weld_mesh(&mesh));
	CHECK_INT(mesh.vertex_count, 4);
	check_triangle(&mesh, 0, 0, 1, 0);
	check_triangle(&mesh, 1, 1, 3, 2);
	check_triangle(&mesh, 2, 0, -7, 99); // what names no vertex stays for the check
	CHECK(isnan(mesh.vertices[6]));
	CHECK_NEAR(mesh.vertices[11], 4, 0);
	sim_mesh_free(&mesh);
}

TEST(mesh_file, output_file_appears_whole_or_not_at_all)
{
	sim_error error;
	io_output_file file;
	REQUIRE(io_output_open(&file, temporary("o.txt"), &error));
	fputs("first", file.stream);
	CHECK(access(temporary("o.txt"), F_OK) != 0);
	CHECK(io_output_commit(&file, &error));
	CHECK(access(temporary("o.txt"), F_OK) == 0);
	// A second writing that is given up leaves the first one alone.
	REQUIRE(io_output_open(&file, temporary("o.txt"), &error));
	fputs("second", file.stream);
	io_output_abandon(&file);
	io_output_abandon(&file);
	CHECK(access(temporary("o.txt.part"), F_OK) != 0);
	FILE *read = fopen(temporary("o.txt"), "rb");
	REQUIRE(read != NULL);
	char text[16] = "";
	CHECK_INT(fread(text, 1, sizeof text - 1, read), 5);
	fclose(read);
	CHECK_STR(text, "first");
	remove(temporary("o.txt"));
	CHECK(!io_output_open(&file, folder, &error));
	CHECK_STR(error.text, "is a folder; name a file");
}

// Whole PLY files of other people, against a reader of a dozen lines that knows these two headers only.
TEST(mesh_file, ply_frames_of_real_scenes)
{
	static const struct {
		const char *path;
		int32_t vertices, triangles, vertex_bytes;
	} files[] = { { "ccd/cloth-ball/frames/cloth_ball92.ply", 46598, 92230, 12 },
		{ "ccd/n-body-simulation/frames/balls16_18.ply", 73960, 146480, 15 } };
	for (int f = 0; f < 2; f++) {
		const char *path = test_data_path(files[f].path);
		FILE *file = fopen(path, "rb");
		REQUIRE(file != NULL);
		char line[256];
		while (fgets(line, sizeof line, file) && strcmp(line, "end_header\n") != 0)
			;
		sim_mesh mesh;
		sim_error error;
		REQUIRE(io_load_mesh(path, &mesh, &error));
		CHECK_INT(mesh.vertex_count, files[f].vertices);
		CHECK_INT(mesh.triangle_count, files[f].triangles);
		int64_t differences = 0;
		for (int32_t row = 0; row < files[f].vertices + files[f].triangles; row++) {
			const bool vertex = row < files[f].vertices;
			unsigned char bytes[15], swapped[12];
			const size_t size = vertex ? (size_t)files[f].vertex_bytes : 13;
			REQUIRE(fread(bytes, 1, size, file) == size);
			for (int i = 0; i < 12; i++)
				swapped[i] = bytes[(vertex ? 0 : 1) + (i / 4 * 4 + 3 - i % 4)];
			const void *ours =
				vertex ? (void *)(mesh.vertices + 3 * row) : (void *)(mesh.triangles + 3 * (row - files[f].vertices));
			differences += memcmp(ours, swapped, 12) != 0;
		}
		CHECK_INT(differences, 0);
		fclose(file);
		sim_mesh_free(&mesh);
	}
}

TEST(mesh_file, sizes_of_real_meshes)
{
	static const struct {
		const char *path;
		int32_t vertices, triangles;
	} files[] = { { "meshes/bullet-bunny-902.obj", 453, 902 }, { "meshes/bullet-torus-600.obj", 300, 600 },
		{ "meshes/bullet-stand-3338.obj", 1655, 3338 }, { "meshes/quadknot-2880.obj", 1440, 2880 },
		{ "meshes/stanford-bunny-69451.obj", 35947, 69451 }, { "meshes/fcl-env-2180.obj", 6540, 2180 },
		{ "meshes/dirty/negative-indices-quads.obj", 8, 12 }, { "meshes/dirty/bunny-duplicate-triangles.ply", 8171, 16301 },
		{ "meshes/dirty/soup-100.stl", 300, 100 }, { "meshes/dirty/multibody-mixed-winding.stl", 20, 32 } };
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		sim_mesh mesh;
		sim_error error;
		REQUIRE(io_load_mesh(test_data_path(files[i].path), &mesh, &error));
		CHECK_INT(mesh.vertex_count, files[i].vertices);
		CHECK_INT(mesh.triangle_count, files[i].triangles);
		sim_mesh_free(&mesh);
	}
}
