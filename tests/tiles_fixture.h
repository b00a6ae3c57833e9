/// Floors of tiles that are parts of one body, and what slides over them.
#ifndef TESTS_TILES_FIXTURE_H
#define TESTS_TILES_FIXTURE_H

#include "manifold_fixture.h"
#include <string.h>

enum { TILE_COLUMNS = 10, TILES = 2 * TILE_COLUMNS, SLIDERS = 6 };

/// Boxes, hulls, closed meshes, open meshes.
typedef enum tile_kind { TILE_BOX, TILE_HULL, TILE_MESH, TILE_SHEET, TILE_KINDS } tile_kind;

/// Eight corners of a box.
static inline void tiles_corners(double hx, double hy, double hz, float corners[24])
{
	for (int i = 0; i < 8; i++) {
		corners[3 * i] = (float)(i & 1 ? hx : -hx);
		corners[3 * i + 1] = (float)(i & 2 ? hy : -hy);
		corners[3 * i + 2] = (float)(i & 4 ? hz : -hz);
	}
}

/// A tile of 0.6 x 1.2 x 0.2 about its origin. The mesh (NULL: none) is the caller's.
static inline carom_shape tiles_make_tile(carom_context *context, tile_kind kind, carom_mesh **mesh)
{
	static fixture_soup soup;
	static const int32_t upper[6] = { 4, 5, 7, 4, 7, 6 };
	*mesh = NULL;
	tiles_corners(0.3, 0.6, 0.1, soup.vertices);
	switch (kind) {
	case TILE_BOX: return fixture_box(0.3, 0.6, 0.1);
	case TILE_HULL: *mesh = fixture_hull_mesh(context, soup.vertices, 8); return fixture_hull(*mesh);
	case TILE_MESH: *mesh = fixture_box_mesh(context, 0.3, 0.6, 0.1); return fixture_of_mesh(*mesh);
	default:
		memcpy(soup.triangles, upper, sizeof upper);
		soup.vertex_count = 8;
		soup.triangle_count = 2;
		*mesh = fixture_mesh(context, &soup);
		return fixture_of_mesh(*mesh);
	}
}

/// Two rows of tiles along x from -3 to 3, y from -1.2 to 1.2, whose upper sides are z = 0. raised: how high those behind x = 0 are.
static inline void tiles_lay(carom_shape tile, double raised, carom_part parts[TILES])
{
	for (int i = 0; i < TILES; i++) {
		const double up = i / 2 >= TILE_COLUMNS / 2 ? raised : 0;
		parts[i] = (carom_part){ tile, fixture_at(0.6 * (i / 2) - 2.7, i % 2 ? 0.6 : -0.6, up - 0.1), 0 };
	}
}

/// A box, a hull, a cylinder, a sphere, meshes of 12 and 192 triangles, all 0.2 wide. The mesh (NULL: none) is the caller's.
static inline carom_shape tiles_make_slider(carom_context *context, int kind, carom_mesh **mesh)
{
	float corners[24];
	*mesh = NULL;
	switch (kind) {
	case 0: return fixture_box(0.1, 0.1, 0.1);
	case 1:
		tiles_corners(0.1, 0.1, 0.1, corners);
		*mesh = fixture_hull_mesh(context, corners, 8);
		return fixture_hull(*mesh);
	case 2: return fixture_cylinder(0.1, 0.1);
	case 3: return fixture_sphere(0.1);
	default: *mesh = manifold_cube(context, kind == 4 ? 1 : 4, 0.1); return fixture_of_mesh(*mesh);
	}
}

/// Add a body of parts.
static inline carom_body_id tiles_add(carom_world *world, const carom_part *parts, int32_t count, carom_body_kind kind)
{
	carom_body_def def = carom_default_body_def();
	def.kind = kind;
	def.parts = parts;
	def.part_count = count;
	carom_body_id id = { 0 };
	REQUIRE(carom_world_add_body(world, &def, &id) == CAROM_SUCCESS);
	return id;
}

#endif
