// Actions of the lives (fuzz_life.c) that change bodies.
#include "life.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Coming and going ----

void life_read_traits(life *l, carom_body_def *d)
{
	d->continuous = life_choose(l, 4) == 0;
	d->sensor = life_choose(l, 12) == 0;
	d->contacts = life_choose(l, 15) != 0;
	d->shape_impacts = life_choose(l, 3) != 0;
	d->self_collision = life_choose(l, 3) != 0;
	d->thickness = life_choose(l, 2) ? 0.01 * life_choose(l, 12) : 0;
}

void life_read_filter(life *l, carom_body_def *d)
{
	d->category = life_choose(l, 5) ? 1 : life_random(l);
	d->mask = life_choose(l, 6) ? ~(uint64_t)0 : life_random(l);
	d->group = life_choose(l, 10) ? 0 : life_choose(l, 5) - 2;
	d->user_data = life_random(l);
}

static void read_parts(life *l, int count, carom_part parts[2][LIFE_PARTS])
{
	for (int i = 0; i < count; i++) {
		parts[0][i] = (carom_part){ life_shape(l), life_pose(l), life_random(l) };
		if (life_choose(l, 2)) {
			parts[0][i].pose = carom_pose_identity();
			parts[0][i].pose.position.x = 0.5 * i;
		}
		parts[1][i] = parts[0][i];
		parts[1][i].shape = life_shape_of(l, parts[0][i].shape, 1);
	}
}

static void add(life *l, const carom_body_def def[2])
{
	carom_result result[2];
	carom_body_id ids[2] = { { 0, 0 }, { 0, 0 } };
	while (carom_world_body_count(l->world[0]) >= LIFE_BODIES) { // one goes
		carom_body_id first[1];
		carom_world_body_ids(l->world[0], 1, first);
		LIFE_BOTH(l, result, carom_world_remove_body(l->world[w], first[0]));
	}
	LIFE_BOTH(l, result, carom_world_add_body(l->world[w], &def[w], &ids[w]));
	if (result[0] != CAROM_SUCCESS)
		return;
	FUZZ_REQUIRE(ids[0].index1 == ids[1].index1 && ids[0].generation == ids[1].generation, "ids %u and %u", ids[0].index1,
		ids[1].index1);
	if (l->id_count == LIFE_BODIES) {
		memmove(l->ids, l->ids + 1, sizeof l->ids - sizeof l->ids[0]);
		l->id_count--;
	}
	l->ids[l->id_count++] = ids[0];
}

static void add_rigid(life *l)
{
	carom_body_def def[2] = { carom_default_body_def() };
	carom_part parts[2][LIFE_PARTS];
	def[0].kind = (carom_body_kind)((life_choose(l, 6) + 2) % 3);
	def[0].pose = life_pose(l);
	life_read_traits(l, &def[0]);
	life_read_filter(l, &def[0]);
	def[0].shape = life_shape(l);
	if (def[0].shape.type == CAROM_PLANE && def[0].kind == CAROM_DYNAMIC)
		def[0].kind = CAROM_STATIC;
	def[1] = def[0];
	const int count = life_choose(l, 3) ? 0 : 1 + life_choose(l, LIFE_PARTS);
	const int room = count ? life_choose(l, 2) * (count + life_choose(l, 4)) : 0;
	if (count)
		read_parts(l, count, parts);
	for (int w = 0; w < 2; w++) {
		def[w].shape = life_shape_of(l, def[0].shape, w);
		if (count)
			def[w].shape = carom_default_body_def().shape;
		def[w].parts = count ? parts[w] : NULL;
		def[w].part_count = count;
		def[w].part_room = room;
	}
	add(l, def);
}

static void add_soft(life *l)
{
	carom_body_def def[2] = { carom_default_body_def() };
	def[0].kind = life_choose(l, 2) ? CAROM_DEFORMABLE : CAROM_CLOTH;
	def[0].pose = life_pose(l);
	life_read_traits(l, &def[0]);
	life_read_filter(l, &def[0]);
	def[0].sensor = false;
	def[0].shape = (carom_shape){ .type = CAROM_MESH };
	def[1] = def[0];
	const int mesh = def[0].kind == CAROM_CLOTH ? life_choose(l, 14) : life_choose(l, 7);
	for (int w = 0; w < 2; w++)
		def[w].shape.mesh = l->mesh[w][mesh];
	add(l, def);
}

// Spheres [4*count], near those that were there.
static void read_spheres(life *l, const carom_sphere_view *old, int count, double *spheres)
{
	for (int i = 0; i < count; i++) {
		const carom_vec3 move = life_vector(l, 1);
		const double size = old && i < old->count ? 0.05 : 1;
		spheres[4 * i] = (size < 1 ? old->data[4 * i] : 0) + size * move.x;
		spheres[4 * i + 1] = (size < 1 ? old->data[4 * i + 1] : 0) + size * move.y;
		spheres[4 * i + 2] = (size < 1 ? old->data[4 * i + 2] : 0) + size * move.z;
		spheres[4 * i + 3] = size < 1 ? old->data[4 * i + 3] : 0.15 + 0.1 * move.x * move.y;
		if (i > 0 && life_choose(l, 30) == 0)
			memcpy(spheres + 4 * i, spheres + 4 * i - 4, 4 * sizeof *spheres);
	}
}

static void add_grains(life *l)
{
	carom_body_def def[2] = { carom_default_body_def() };
	double spheres[4 * LIFE_SPHERES];
	def[0].kind = CAROM_GRANULAR;
	life_read_traits(l, &def[0]);
	life_read_filter(l, &def[0]);
	def[0].sensor = false;
	def[0].sphere_count = life_choose(l, LIFE_SPHERES);
	read_spheres(l, NULL, def[0].sphere_count, spheres);
	def[0].centres = (carom_strided){ spheres, 32, CAROM_FLOAT64 };
	def[0].radii = (carom_strided){ spheres + 3, 32, CAROM_FLOAT64 };
	def[1] = def[0];
	add(l, def);
}

static void remove_body(life *l)
{
	carom_result result[2];
	const carom_body_id id = life_id(l);
	LIFE_BOTH(l, result, carom_world_remove_body(l->world[w], id));
	if (l->id_count && life_choose(l, 2)) {
		const int gone = life_choose(l, l->id_count);
		l->ids[gone] = l->ids[--l->id_count];
	}
}

// ---- Moving ----

static carom_pose near_pose(life *l, carom_pose p)
{
	const carom_vec3 move = life_vector(l, 0.1);
	p.position.x += move.x;
	p.position.y += move.y;
	p.position.z += move.z;
	const double a = life_choose(l, 2) ? 0 : 0.1 * life_signed(l), s = sin(a), c = cos(a);
	const carom_quat q = p.orientation, d = { s * 0.6, 0, s * 0.8, c };
	p.orientation = (carom_quat){ d.w * q.x + d.x * q.w + d.y * q.z - d.z * q.y, d.w * q.y - d.x * q.z + d.y * q.w + d.z * q.x,
		d.w * q.z + d.x * q.y - d.y * q.x + d.z * q.w, d.w * q.w - d.x * q.x - d.y * q.y - d.z * q.z };
	return p;
}

static void move(life *l)
{
	enum { MOST = 8 };
	carom_body_id ids[MOST];
	carom_pose poses[MOST];
	carom_motion motions[MOST];
	int count = 0;
	for (int i = 1 + life_choose(l, MOST); i > 0; i--) {
		const carom_body_id id = life_id_of(l, LIFE_RIGID);
		carom_pose pose;
		if (carom_world_get_pose(l->world[0], id, &pose) != CAROM_SUCCESS)
			continue;
		ids[count] = id;
		poses[count] = life_choose(l, 5) ? near_pose(l, pose) : life_pose(l);
		motions[count] = (carom_motion){ life_choose(l, 2) ? pose : life_pose(l), poses[count] };
		count++;
	}
	carom_result result[2];
	if (life_choose(l, 3))
		LIFE_BOTH(l, result, carom_world_set_poses(l->world[w], count, ids, poses));
	else
		LIFE_BOTH(l, result, carom_world_set_motions(l->world[w], count, ids, motions));
}

static void move_vertices(life *l)
{
	const carom_body_id id = life_id_of(l, LIFE_SOFT);
	carom_vertex_view view;
	if (carom_world_get_vertices(l->world[0], id, &view) != CAROM_SUCCESS || view.count == 0)
		return;
	const size_t count = 3 * (size_t)view.count;
	double *end = malloc(2 * count * sizeof *end), *begin = end + count;
	FUZZ_REQUIRE(end, "out of memory");
	const double shift[3] = { 0.2 * life_signed(l), 0.2 * life_signed(l), 0.2 * life_signed(l) };
	const double wobble = (const double[]){ 0, 0, 0.02, 0.02, 0.3 }[life_choose(l, 5)];
	const bool flat = life_choose(l, 12) == 0;
	for (size_t i = 0; i < count; i++) {
		begin[i] = view.data[i];
		end[i] = view.data[i] + shift[i % 3] + (wobble > 0 ? wobble * life_signed(l) : 0);
		if (flat && i % 3 == 2)
			end[i] = 0.25;
	}
	if (life_choose(l, 40) == 0)
		end[(size_t)life_choose(l, 1 << 20) % count] = life_length(l) * 1e13;
	const carom_strided ends = { end, 0, CAROM_FLOAT64 }, begins = { begin, 0, CAROM_FLOAT64 };
	const int how = life_choose(l, 6);
	carom_result result[2];
	LIFE_BOTH(l, result,
		carom_world_set_vertices(l->world[w], id,
			how == 0       ? &ends
				: how == 1 ? &begins
						   : NULL,
			how == 0 ? NULL : &ends));
	free(end);
}

static void move_spheres(life *l)
{
	const carom_body_id id = life_id_of(l, LIFE_GRAINS);
	carom_sphere_view view;
	if (carom_world_get_spheres(l->world[0], id, &view) != CAROM_SUCCESS)
		return;
	double spheres[4 * LIFE_SPHERES];
	uint64_t names[LIFE_SPHERES];
	const int count = life_choose(l, 4) ? view.count : life_choose(l, LIFE_SPHERES);
	read_spheres(l, &view, count, spheres);
	for (int i = 0; i < count; i++)
		names[i] = view.ids && i < view.count ? view.ids[i] : (uint64_t)i;
	const int how = life_choose(l, 5);
	for (int i = count - 1; i > 0 && how < 2; i--) { // another order
		const int j = life_choose(l, i + 1);
		const uint64_t name = names[i];
		double row[4];
		names[i] = names[j], names[j] = name;
		memcpy(row, spheres + 4 * i, sizeof row);
		memcpy(spheres + 4 * i, spheres + 4 * j, sizeof row);
		memcpy(spheres + 4 * j, row, sizeof row);
	}
	if (how == 1 && count)
		names[life_choose(l, count)] = (uint64_t)life_choose(l, 100);
	const carom_strided centres = { spheres, 32, CAROM_FLOAT64 }, radii = { spheres + 3, 32, CAROM_FLOAT64 };
	carom_result result[2];
	if (how <= 2)
		LIFE_BOTH(l, result, carom_world_set_spheres_by_id(l->world[w], id, count, &centres, &radii, names));
	else if (how == 3 || count != view.count)
		LIFE_BOTH(l, result, carom_world_set_spheres(l->world[w], id, count, &centres, &radii));
	else
		LIFE_BOTH(l, result, carom_world_set_sphere_begins(l->world[w], id, &centres));
}

static void shift_origin(life *l)
{
	static const double offsets[][3] = { { 64, 0, -8 }, { -64, 0, 8 }, { 0.1, -0.2, 0 }, { 0, INFINITY, 0 }, { 1, 2, 3 },
		{ -1, -2, -3 } };
	const double *offset = offsets[life_choose(l, 6)];
	carom_result result[2];
	LIFE_BOTH(l, result, carom_world_shift_origin(l->world[w], offset));
}

// ---- Shapes ----

static void reshape(life *l)
{
	const carom_body_id id = life_id_of(l, LIFE_RIGID);
	carom_body_def def;
	if (carom_world_get_body_def(l->world[0], id, &def) != CAROM_SUCCESS)
		return;
	carom_result result[2];
	if (def.part_count > 0 && life_choose(l, 20)) {
		carom_part parts[2][LIFE_PARTS];
		const int count = 1 + life_choose(l, LIFE_PARTS);
		read_parts(l, count, parts);
		for (int i = 0; i < count && i < def.part_count; i++) // some stay as they are
			if (life_choose(l, 2)) {
				carom_body_def other;
				FUZZ_REQUIRE(carom_world_get_body_def(l->world[1], id, &other) == CAROM_SUCCESS, "no body");
				parts[0][i] = def.parts[i];
				parts[1][i] = other.parts[i];
			}
		LIFE_BOTH(l, result, carom_world_set_parts(l->world[w], id, parts[w], count));
		return;
	}
	const carom_shape shape = life_shape(l), shapes[2] = { shape, life_shape_of(l, shape, 1) };
	LIFE_BOTH(l, result, carom_world_set_shape(l->world[w], id, &shapes[w]));
}

static void remesh(life *l)
{
	const carom_body_id id = life_id_of(l, LIFE_SOFT);
	carom_vertex_view view;
	if (carom_world_get_vertices(l->world[0], id, &view) != CAROM_SUCCESS)
		return;
	const int mesh = life_choose(l, 14);
	const int32_t count = carom_mesh_get_report(l->mesh[0][mesh])->vertex_count;
	int32_t *from = malloc((size_t)(count + 1) * sizeof *from);
	double *places = malloc((size_t)(count + 1) * 3 * sizeof *places);
	FUZZ_REQUIRE(from && places, "out of memory");
	for (int i = 0; i < count; i++) {
		from[i] = view.count && life_choose(l, 5) ? (i < view.count ? i : life_choose(l, view.count)) : -1;
		const carom_vec3 place = life_vector(l, 1);
		memcpy(places + 3 * i, &place, sizeof place);
	}
	const carom_strided strided = { places, 0, CAROM_FLOAT64 };
	const int how = life_choose(l, 4);
	carom_result result[2];
	LIFE_BOTH(
		l, result, carom_world_set_mesh(l->world[w], id, l->mesh[w][mesh], how & 1 ? from : NULL, how & 2 ? &strided : NULL));
	free(from);
	free(places);
}

static void edit_field(life *l)
{
	for (int tries = 0; tries < 6; tries++) {
		const carom_body_id id = life_id_of(l, LIFE_RIGID);
		carom_body_def def;
		if (carom_world_get_body_def(l->world[0], id, &def) != CAROM_SUCCESS || def.part_count || def.shape.type != CAROM_MESH)
			continue;
		float heights[16];
		for (int i = 0; i < 16; i++)
			heights[i] = life_choose(l, 12) == 0 ? NAN : (float)(0.2 * life_signed(l));
		const carom_field_region region = { life_choose(l, 7), life_choose(l, 7), 1 + life_choose(l, 4), 1 + life_choose(l, 4) };
		carom_result result[2];
		LIFE_BOTH(l, result, carom_world_edit_field(l->world[w], id, &region, heights));
		if (result[0] == CAROM_SUCCESS)
			return;
	}
}

// A field that the body alone holds changes in place.
static void add_own_field(life *l)
{
	carom_body_def def[2] = { carom_default_body_def() };
	def[0].kind = CAROM_STATIC;
	def[0].pose = life_pose(l);
	def[1] = def[0];
	carom_mesh *field[2];
	const carom_field_region region = { 2, 2, 1, 1 };
	const float height = (float)(0.1 * life_signed(l));
	for (int w = 0; w < 2; w++) {
		FUZZ_REQUIRE(carom_create_edited_field(l->context[w], l->mesh[w][14], &region, &height, &field[w]) == CAROM_SUCCESS,
			"%s", carom_error_text(l->context[w]));
		def[w].shape = (carom_shape){ .type = CAROM_MESH, .mesh = field[w] };
	}
	add(l, def);
	for (int w = 0; w < 2; w++)
		carom_release_mesh(field[w]);
}

const life_action life_body_actions[] = {
	{ "add a rigid body", add_rigid, 16 },
	{ "add a soft body", add_soft, 5 },
	{ "add grains", add_grains, 3 },
	{ "add a field", add_own_field, 1 },
	{ "remove", remove_body, 3 },
	{ "move", move, 16 },
	{ "vertices", move_vertices, 9 },
	{ "spheres", move_spheres, 5 },
	{ "shift the origin", shift_origin, 1 },
	{ "reshape", reshape, 4 },
	{ "remesh", remesh, 2 },
	{ "edit a field", edit_field, 2 },
	{ 0 },
};
