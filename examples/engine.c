// A small physics engine on Carom: rigid bodies, soft bodies and cloth in one world, with one
// solver for all their contacts. Five crates stand on each other, and a hook falls beside them. Two
// soft cubes stand on each other, and a sheet falls over them. After three seconds a shot at 60 m/s
// breaks the tower.
//
// The engine owns masses and velocities, Carom owns shapes and finds contacts. A step tells Carom
// where everything is, lets it find the contacts, takes these as rows of a solver, and solves.
// Lengths are metres. Cloth moves by less than two of its edges in a step; a faster one needs
// shorter steps, or impacts (docs/guide/deforming.md).
//
//     cc engine.c $(pkg-config --cflags --libs carom) -lm && ./a.out [RECORDING]
//
// With a file name all calls of the world are recorded; `carom replay RECORDING` repeats them.
#include <carom/carom.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef carom_vec3 vec3;

enum { MAX_BODIES = 16, MAX_NODES = 2048, MAX_SPRINGS = 16384, MAX_SOFT = 8, MAX_ROWS = 8192 };
enum { SUBSTEPS = 6, WAYS = 16 };
enum { SOFT = 1000 };  // user_data of soft bodies are above this
#define DT (1.0 / 120) // seconds of a step
#define H (DT / SUBSTEPS)
static const double FRICTION = 0.6, GRAVITY = 9.81; // m/s^2
static const double DRAG = 2;                       // of nodes, 1/s
static const double RECOVERY = 1;                   // speed at which overlaps end, m/s

// ---- What the engine moves ----

/// A rigid body. Its frame, in which Carom knows its shape, need not lie in its centre of mass.
typedef struct rigid {
	carom_body_id id;
	vec3 centre_in_frame; // of mass
	vec3 centre, velocity, spin;
	carom_quat turn;
	carom_pose before; // of the centre, at the beginning of the substep
	double inverse_mass;
	double inverse_inertia[9]; // along the axes of the frame
} rigid;

/// A vertex of a soft body or of cloth.
typedef struct node {
	vec3 place, velocity, before;
	double inverse_mass;
} node;

/// A distance that two nodes keep.
typedef struct spring {
	int a, b;
	double length, stiffness; // N/m
} spring;

/// A soft body or cloth: a range of nodes.
typedef struct soft {
	carom_body_id id;
	int first, count;
} soft;

static carom_context *context;
static carom_world *world;
static rigid bodies[MAX_BODIES];
static node nodes[MAX_NODES];
static spring springs[MAX_SPRINGS];
static soft softs[MAX_SOFT];
static int body_count, node_count, spring_count, soft_count;

static void check(carom_result result)
{
	if (result == CAROM_SUCCESS)
		return;
	fprintf(stderr, "%s\n", carom_error_text(context));
	exit(1);
}

// ---- Vectors ----

static vec3 add(vec3 a, vec3 b, double factor) { return (vec3){ a.x + factor * b.x, a.y + factor * b.y, a.z + factor * b.z }; }
static double dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static vec3 cross(vec3 a, vec3 b) { return (vec3){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x }; }
static double length(vec3 a) { return sqrt(dot(a, a)); }
static vec3 times(vec3 a, double factor) { return (vec3){ factor * a.x, factor * a.y, factor * a.z }; }
static carom_quat conjugate(carom_quat q) { return (carom_quat){ -q.x, -q.y, -q.z, q.w }; }

static carom_quat product(carom_quat a, carom_quat b)
{
	return (carom_quat){ a.w * b.x + b.w * a.x + a.y * b.z - a.z * b.y, a.w * b.y + b.w * a.y + a.z * b.x - a.x * b.z,
		a.w * b.z + b.w * a.z + a.x * b.y - a.y * b.x, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z };
}

/// q, turned by a small part of the rotation that w tells in a unit of time.
static carom_quat turned(carom_quat q, vec3 w, double part)
{
	const carom_quat r = product((carom_quat){ w.x, w.y, w.z, 0 }, q);
	const carom_quat n = { q.x + part / 2 * r.x, q.y + part / 2 * r.y, q.z + part / 2 * r.z, q.w + part / 2 * r.w };
	const double size = sqrt(n.x * n.x + n.y * n.y + n.z * n.z + n.w * n.w);
	return (carom_quat){ n.x / size, n.y / size, n.z / size, n.w / size };
}

/// The inverse inertia of a body, in its present orientation, times v.
static vec3 turn_by(const rigid *body, vec3 v)
{
	const double *m = body->inverse_inertia;
	const vec3 u = carom_rotate(conjugate(body->turn), v);
	return carom_rotate(body->turn,
		(vec3){
			m[0] * u.x + m[1] * u.y + m[2] * u.z, m[3] * u.x + m[4] * u.y + m[5] * u.z, m[6] * u.x + m[7] * u.y + m[8] * u.z });
}

// ---- One end of a contact ----

/// What a contact pushes on one side: a point of a rigid body, up to three nodes, or nothing that
/// moves. All else of the solver does not ask which.
typedef struct end {
	rigid *body;
	vec3 in_body; // the point, from the centre, along the axes of the frame
	int count;
	node *node[3];
	double weight[3];
} end;

static vec3 arm_of(const end *e) { return carom_rotate(e->body->turn, e->in_body); }

static vec3 place_of(const end *e)
{
	if (e->body)
		return add(e->body->centre, arm_of(e), 1);
	vec3 sum = { 0, 0, 0 };
	for (int i = 0; i < e->count; i++)
		sum = add(sum, e->node[i]->place, e->weight[i]);
	return sum;
}

/// How far the end moves along a unit axis, for each unit of a push along it.
static double inverse_mass_of(const end *e, vec3 axis)
{
	if (e->body) {
		const vec3 turned = cross(arm_of(e), axis);
		return e->body->inverse_mass + dot(turned, turn_by(e->body, turned));
	}
	double sum = 0;
	for (int i = 0; i < e->count; i++)
		sum += e->weight[i] * e->weight[i] * e->node[i]->inverse_mass;
	return sum;
}

static vec3 velocity_of(const end *e)
{
	if (e->body)
		return add(e->body->velocity, cross(e->body->spin, arm_of(e)), 1);
	vec3 sum = { 0, 0, 0 };
	for (int i = 0; i < e->count; i++)
		sum = add(sum, e->node[i]->velocity, e->weight[i]);
	return sum;
}

static void push_end(const end *e, vec3 axis, double impulse)
{
	if (e->body) {
		e->body->velocity = add(e->body->velocity, axis, impulse * e->body->inverse_mass);
		e->body->spin = add(e->body->spin, turn_by(e->body, cross(arm_of(e), axis)), impulse);
	}
	for (int i = 0; i < e->count; i++)
		e->node[i]->velocity = add(e->node[i]->velocity, axis, impulse * e->weight[i] * e->node[i]->inverse_mass);
}

static void move_end(const end *e, vec3 axis, double push)
{
	if (e->body) {
		const vec3 arm = arm_of(e);
		e->body->centre = add(e->body->centre, axis, push * e->body->inverse_mass);
		e->body->turn = turned(e->body->turn, turn_by(e->body, cross(arm, axis)), push);
	}
	for (int i = 0; i < e->count; i++)
		e->node[i]->place = add(e->node[i]->place, axis, push * e->weight[i] * e->node[i]->inverse_mass);
}

// ---- Contacts ----

/// A contact of any kind, as the solver takes it.
typedef struct row {
	end a, b;
	vec3 normal; // from b to a
	double gap;  // at the beginning of the step; negative: too deep
	vec3 apart;  // a's place less b's, then
	vec3 before; // likewise, at the beginning of the substep
	bool pushes; // in this substep
} row;

static row rows[MAX_ROWS];
static int row_count;

/// user_data tells which it is: 1 + number of a rigid body, SOFT + number of a soft one; 0: nothing
/// moves it.
static end rigid_end(uint64_t user_data, vec3 at)
{
	rigid *body = &bodies[user_data - 1];
	return (end){ .body = body, .in_body = carom_rotate(conjugate(body->turn), add(at, body->centre, -1)) };
}

static end soft_end(uint64_t user_data, int count, const int32_t *vertices, const double *weights)
{
	end e = { .count = count };
	for (int i = 0; i < count; i++) {
		e.node[i] = &nodes[softs[user_data - SOFT - 1].first + vertices[i]];
		e.weight[i] = weights[i];
	}
	return e;
}

/// The end of a contact at a place. A soft body is pushed at the corners given.
static end end_of(uint64_t user_data, vec3 at, int count, const int32_t *corners, const double *weights)
{
	if (user_data > SOFT)
		return soft_end(user_data, count, corners, weights);
	return user_data > 0 ? rigid_end(user_data, at) : (end){ 0 };
}

static void add_row(end a, end b, vec3 normal, double gap)
{
	if (row_count == MAX_ROWS) {
		fprintf(stderr, "more than %d contacts\n", MAX_ROWS);
		exit(1);
	}
	rows[row_count++] = (row){ a, b, normal, gap, add(place_of(&a), place_of(&b), -1), { 0, 0, 0 }, false };
}

/// Contacts of rigid bodies, of soft ones, and of both.
static void take_contacts(void)
{
	const carom_contact_view view = carom_world_contacts(world);
	const carom_pair *pairs = carom_world_pairs(world).data;
	for (int i = 0; i < view.count; i++) {
		const carom_contact *c = &view.data[i];
		const carom_pair *pair = &pairs[c->pair];
		carom_contact_corners a, b;
		check(carom_world_get_contact_corners(world, i, 1, &a, &b));
		const vec3 at = { c->point[0], c->point[1], c->point[2] }, normal = { c->normal[0], c->normal[1], c->normal[2] };
		add_row(end_of(pair->user_data_a, at, a.count, a.vertices, a.weights),
			end_of(pair->user_data_b, at, b.count, b.vertices, b.weights), normal, -(double)c->depth);
	}
}

/// Contacts of cloth with meshes, soft bodies and itself: they keep a thickness.
static void take_surface_contacts(void)
{
	const carom_surface_contact_view view = carom_world_surface_contacts(world);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_contact *c = &view.data[i];
		const int of_a = c->kind == CAROM_SWEEP_VERTEX_FACE ? 1 : 2; // the other corners are of b
		add_row(end_of(c->user_data_a, c->point_a, of_a, c->vertices, c->weight),
			end_of(c->user_data_b, c->point_b, 4 - of_a, c->vertices + of_a, c->weight + of_a), c->normal,
			c->distance - c->thickness);
	}
}

/// Contacts of cloth with balls, boxes and the floor.
static void take_shape_contacts(void)
{
	const carom_surface_shape_contact_view view = carom_world_surface_shape_contacts(world);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_shape_contact *c = &view.data[i];
		const int corners = c->vertices[1] < 0 ? 1 : c->vertices[2] < 0 ? 2 : 3;
		add_row(end_of(c->user_data_a, c->point, corners, c->vertices, c->weight),
			end_of(c->user_data_b, c->point, 0, NULL, NULL), c->normal, c->distance - c->thickness);
	}
}

// ---- The solver ----
//
// Small substeps of constraints on places (XPBD: Macklin et al. 2016, Mueller et al. 2020): all
// moves freely, then each contact and each spring puts its ends where they belong, and velocities
// are the ways that were made.

/// Friction, as far as it holds: the way of the ends across the normal in this substep is undone.
static void rub(const row *r, double push)
{
	vec3 way = add(add(place_of(&r->a), place_of(&r->b), -1), r->before, -1);
	way = add(way, r->normal, -dot(way, r->normal));
	const double size = length(way);
	if (size < 1e-12)
		return;
	const vec3 axis = { way.x / size, way.y / size, way.z / size };
	const double wanted = size / (inverse_mass_of(&r->a, axis) + inverse_mass_of(&r->b, axis));
	const double share = fmin(wanted, FRICTION * push);
	move_end(&r->a, axis, -share);
	move_end(&r->b, axis, share);
}

static void solve_row(row *r)
{
	const vec3 moved = add(add(place_of(&r->a), place_of(&r->b), -1), r->apart, -1);
	const double gap = r->gap + dot(moved, r->normal);
	r->pushes = gap < 0;
	if (!r->pushes)
		return;
	const double way = fmin(-gap, RECOVERY * H); // overlaps part without a jump
	const double push = way / (inverse_mass_of(&r->a, r->normal) + inverse_mass_of(&r->b, r->normal));
	move_end(&r->a, r->normal, push);
	move_end(&r->b, r->normal, -push);
	rub(r, push);
}

static void solve_spring(const spring *p)
{
	node *a = &nodes[p->a], *b = &nodes[p->b];
	const vec3 way = add(a->place, b->place, -1);
	const double now = fmax(length(way), 1e-9), inverse = a->inverse_mass + b->inverse_mass + 1 / (p->stiffness * H * H);
	const double pull = (p->length - now) / (inverse * now);
	a->place = add(a->place, way, pull * a->inverse_mass);
	b->place = add(b->place, way, -pull * b->inverse_mass);
}

static void move_rigid(rigid *b)
{
	b->before = (carom_pose){ b->centre, b->turn };
	b->velocity.z -= GRAVITY * H;
	b->centre = add(b->centre, b->velocity, H);
	b->turn = turned(b->turn, b->spin, H);
}

static void move_node(node *n)
{
	n->before = n->place;
	n->velocity = add((vec3){ 0, 0, -GRAVITY * H }, n->velocity, exp(-DRAG * H));
	n->place = add(n->place, n->velocity, H);
}

static void note_velocities(void)
{
	for (int i = 0; i < body_count; i++) {
		rigid *b = &bodies[i];
		const carom_quat q = product(b->turn, conjugate(b->before.orientation));
		const double sign = q.w < 0 ? -2 / H : 2 / H;
		b->velocity = times(add(b->centre, b->before.position, -1), 1 / H);
		b->spin = (vec3){ sign * q.x, sign * q.y, sign * q.z };
	}
	for (int i = 0; i < node_count; i++)
		nodes[i].velocity = times(add(nodes[i].place, nodes[i].before, -1), 1 / H);
}

/// What parts an overlap is no bounce: the ends of a contact do not leave each other by it.
static void calm(const row *r)
{
	const double speed = dot(add(velocity_of(&r->a), velocity_of(&r->b), -1), r->normal);
	if (!r->pushes || speed <= 0)
		return;
	const double impulse = speed / (inverse_mass_of(&r->a, r->normal) + inverse_mass_of(&r->b, r->normal));
	push_end(&r->a, r->normal, -impulse);
	push_end(&r->b, r->normal, impulse);
}

static void substep(int number)
{
	for (int i = 0; i < row_count; i++)
		rows[i].before = add(place_of(&rows[i].a), place_of(&rows[i].b), -1);
	for (int i = 0; i < body_count; i++)
		move_rigid(&bodies[i]);
	for (int i = 0; i < node_count; i++)
		move_node(&nodes[i]);
	for (int i = 0; i < spring_count; i++)
		solve_spring(&springs[i]);
	for (int i = 0; i < row_count; i++)
		solve_row(&rows[number % 2 ? i : row_count - 1 - i]);
	note_velocities();
	for (int i = 0; i < row_count; i++)
		calm(&rows[number % 2 ? i : row_count - 1 - i]);
}

// ---- A step ----

static carom_pose pose_of(const rigid *b)
{
	return (carom_pose){ add(b->centre, carom_rotate(b->turn, b->centre_in_frame), -1), b->turn };
}

static void tell_places(void)
{
	for (int i = 0; i < body_count; i++) {
		const carom_pose pose = pose_of(&bodies[i]);
		check(carom_world_set_pose(world, bodies[i].id, &pose));
	}
	for (int i = 0; i < soft_count; i++) {
		const carom_strided places = { .data = &nodes[softs[i].first].place, .type = CAROM_FLOAT64, .stride = sizeof(node) };
		check(carom_world_set_vertices(world, softs[i].id, NULL, &places));
	}
}

/// Puts a body back to where it met something on its way, and finds the contacts there.
static void stop_at_impact(rigid *b, const carom_pose *begin)
{
	const carom_body_impact *hit = carom_world_earliest_body_impact(world, b->id);
	if (!hit)
		return;
	const carom_motion way = { *begin, pose_of(b) };
	const carom_pose stopped = carom_motion_pose(&way, hit->time);
	b->centre = carom_transform_point(stopped, b->centre_in_frame);
	b->turn = stopped.orientation;
	check(carom_world_set_motions(world, 1, &b->id, &(carom_motion){ stopped, stopped }));
	check(carom_world_step(world));
}

static void step(rigid *fast)
{
	carom_pose begin = carom_pose_identity();
	if (fast)
		check(carom_world_get_pose(world, fast->id, &begin));
	tell_places();
	check(carom_world_step(world));
	if (fast)
		stop_at_impact(fast, &begin);
	row_count = 0;
	take_contacts();
	take_surface_contacts();
	take_shape_contacts();
	for (int i = 0; i < SUBSTEPS; i++)
		substep(i);
}

// ---- The scene ----

static const float crate_corners[8][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 1, 1, 0 }, { 0, 0, 1 }, { 1, 0, 1 },
	{ 0, 1, 1 }, { 1, 1, 1 } };
static const int32_t crate_faces[12][3] = { { 0, 2, 1 }, { 1, 2, 3 }, { 4, 5, 6 }, { 5, 7, 6 }, { 0, 1, 4 }, { 1, 5, 4 },
	{ 2, 6, 3 }, { 3, 6, 7 }, { 0, 4, 2 }, { 2, 4, 6 }, { 1, 3, 5 }, { 3, 7, 5 } };
static const float hook_corners[12][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 1, .3f, 0 }, { .3f, .3f, 0 }, { .3f, 1, 0 }, { 0, 1, 0 },
	{ 0, 0, .3f }, { 1, 0, .3f }, { 1, .3f, .3f }, { .3f, .3f, .3f }, { .3f, 1, .3f }, { 0, 1, .3f } };
static const int32_t hook_faces[20][3] = { { 0, 2, 1 }, { 0, 3, 2 }, { 0, 4, 3 }, { 0, 5, 4 }, { 6, 7, 8 }, { 6, 8, 9 },
	{ 6, 9, 10 }, { 6, 10, 11 }, { 0, 1, 7 }, { 0, 7, 6 }, { 1, 2, 8 }, { 1, 8, 7 }, { 2, 3, 9 }, { 2, 9, 8 }, { 3, 4, 10 },
	{ 3, 10, 9 }, { 4, 5, 11 }, { 4, 11, 10 }, { 5, 0, 6 }, { 5, 6, 11 } };

static carom_mesh *make_mesh(carom_strided vertices, int vertex_count, const int32_t *triangles, int triangle_count)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = vertices;
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	carom_mesh *mesh;
	check(carom_create_mesh(context, &def, NULL, &mesh));
	return mesh;
}

static carom_mesh *make_mesh_of_floats(const float *vertices, int vertex_count, const int32_t *triangles, int triangle_count)
{
	return make_mesh((carom_strided){ .data = vertices, .type = CAROM_FLOAT32 }, vertex_count, triangles, triangle_count);
}

/// The inverse of a symmetric matrix xx, yy, zz, xy, xz, yz.
static void invert(const double m[6], double inverse[9])
{
	const double a = m[0], b = m[1], c = m[2], d = m[3], e = m[4], f = m[5];
	const double determinant = a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e);
	const double cofactors[9] = { b * c - f * f, e * f - d * c, d * f - b * e, e * f - d * c, a * c - e * e, d * e - a * f,
		d * f - b * e, d * e - a * f, a * b - d * d };
	for (int i = 0; i < 9; i++)
		inverse[i] = cofactors[i] / determinant;
}

/// mass: of the shape at density 1, and its inertia.
static rigid *add_rigid(carom_shape shape, carom_mass mass, double density, carom_pose pose, bool fast)
{
	rigid *b = &bodies[body_count++];
	*b = (rigid){ .centre_in_frame = mass.centre, .turn = pose.orientation, .inverse_mass = 1 / (density * mass.mass) };
	b->centre = carom_transform_point(pose, mass.centre);
	invert(mass.inertia, b->inverse_inertia);
	for (int i = 0; i < 9; i++)
		b->inverse_inertia[i] /= density;
	carom_body_def def = carom_default_body_def();
	def.shape = shape;
	def.pose = pose;
	def.continuous = fast;
	def.user_data = (uint64_t)body_count; // 1 + its number
	check(carom_world_add_body(world, &def, &b->id));
	return b;
}

static rigid *add_mesh(carom_mesh *mesh, double density, carom_pose pose)
{
	carom_mass mass;
	check(carom_mesh_get_mass(mesh, &mass));
	return add_rigid((carom_shape){ .type = CAROM_MESH, .mesh = mesh }, mass, density, pose, false);
}

static rigid *add_ball(double radius, double density, vec3 at, bool fast)
{
	const double mass = 4 * 3.14159265 / 3 * radius * radius * radius, inertia = 0.4 * mass * radius * radius;
	return add_rigid((carom_shape){ .type = CAROM_SPHERE, .radius = radius },
		(carom_mass){ .mass = mass, .inertia = { inertia, inertia, inertia } }, density, (carom_pose){ at, { 0, 0, 0, 1 } },
		fast);
}

/// A grid of nodes, from a corner on; its triangles are those of its border, or of the sheet if it
/// is one node thick.
typedef struct grid {
	int size[3]; // nodes
	double spacing;
	vec3 corner;
} grid;

static int node_at(const grid *g, int x, int y, int z) { return (z * g->size[1] + y) * g->size[0] + x; }

/// Two triangles for each cell of one side of the grid: across axis, at its first or last nodes.
static int add_side(const grid *g, int axis, bool last, int32_t (*triangles)[3])
{
	const int u = (axis + 1) % 3, v = (axis + 2) % 3;
	int count = 0;
	for (int i = 0; i + 1 < g->size[u]; i++) {
		for (int k = 0; k + 1 < g->size[v]; k++) {
			int32_t corners[4];
			for (int c = 0; c < 4; c++) { // in u and v: (0,0) (1,0) (1,1) (0,1)
				int at[3];
				at[axis] = last ? g->size[axis] - 1 : 0;
				at[u] = i + (c == 1 || c == 2);
				at[v] = k + (c >= 2);
				corners[last ? c : 3 - c] = node_at(g, at[0], at[1], at[2]);
			}
			memcpy(triangles[count++], (int32_t[]){ corners[0], corners[1], corners[2] }, sizeof *triangles);
			memcpy(triangles[count++], (int32_t[]){ corners[0], corners[2], corners[3] }, sizeof *triangles);
		}
	}
	return count;
}

/// A spring from node n of the grid to the node that is some cells away, if there is one.
static void add_spring(const grid *g, int first, const int from[3], const int cells[3], double stiffness)
{
	int to[3];
	for (int k = 0; k < 3; k++) {
		to[k] = from[k] + cells[k];
		if (to[k] < 0 || to[k] >= g->size[k])
			return;
	}
	const int a = first + node_at(g, from[0], from[1], from[2]), b = first + node_at(g, to[0], to[1], to[2]);
	springs[spring_count++] = (spring){ a, b, length(add(nodes[a].place, nodes[b].place, -1)), stiffness };
}

/// Nodes, each with the mass, and springs to all nodes around each. Weak ones, which resist
/// bending, go two cells far.
static void add_nodes(const grid *g, double mass, double stiffness)
{
	static const int ways[WAYS][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, { 1, 1, 0 }, { 1, -1, 0 }, { 1, 0, 1 },
		{ 1, 0, -1 }, { 0, 1, 1 }, { 0, 1, -1 }, { 1, 1, 1 }, { 1, 1, -1 }, { 1, -1, 1 }, { -1, 1, 1 }, { 2, 0, 0 },
		{ 0, 2, 0 }, { 0, 0, 2 } };
	const int first = node_count;
	for (int z = 0; z < g->size[2]; z++) {
		for (int y = 0; y < g->size[1]; y++) {
			for (int x = 0; x < g->size[0]; x++)
				nodes[node_count++] = (node){ .place = add(g->corner, (vec3){ x, y, z }, g->spacing), .inverse_mass = 1 / mass };
		}
	}
	for (int i = 0; i < node_count - first; i++) {
		const int at[3] = { i % g->size[0], i / g->size[0] % g->size[1], i / g->size[0] / g->size[1] };
		for (int k = 0; k < WAYS; k++)
			add_spring(g, first, at, ways[k], k < WAYS - 3 ? stiffness : stiffness / 100);
	}
}

static void add_soft(const grid *g, double mass, double stiffness, double thickness)
{
	static int32_t triangles[8192][3];
	const bool is_sheet = g->size[2] == 1;
	int count = 0;
	for (int axis = is_sheet ? 2 : 0; axis < 3; axis++) {
		count += add_side(g, axis, true, triangles + count);
		count += is_sheet ? 0 : add_side(g, axis, false, triangles + count);
	}
	soft *s = &softs[soft_count++];
	s->first = node_count;
	add_nodes(g, mass, stiffness);
	s->count = node_count - s->first;
	const carom_strided places = { .data = &nodes[s->first].place, .type = CAROM_FLOAT64, .stride = sizeof(node) };
	carom_mesh *mesh = make_mesh(places, s->count, triangles[0], count);
	carom_body_def def = carom_default_body_def();
	def.kind = is_sheet ? CAROM_CLOTH : CAROM_DEFORMABLE;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	def.thickness = thickness;
	def.self_collision = is_sheet;
	def.user_data = (uint64_t)(SOFT + soft_count);
	check(carom_world_add_body(world, &def, &s->id));
	carom_release_mesh(mesh); // the body holds it
}

static void build(void)
{
	carom_world_def def = carom_default_world_def();
	def.speculative_distance = 0.02; // a foot that lifts off keeps its contact
	check(carom_create_world(context, &def, &world));
	carom_body_def ground = carom_default_body_def();
	ground.shape = (carom_shape){ .type = CAROM_PLANE };
	ground.kind = CAROM_STATIC;
	carom_body_id id;
	check(carom_world_add_body(world, &ground, &id));
	carom_mesh *crate = make_mesh_of_floats(crate_corners[0], 8, crate_faces[0], 12);
	carom_mesh *hook = make_mesh_of_floats(hook_corners[0], 12, hook_faces[0], 20);
	for (int i = 0; i < 5; i++)
		add_mesh(crate, 300, (carom_pose){ { -2.5 + 0.1 * (i % 2), -0.5 + 0.07 * (i % 3), i }, { 0, 0, 0, 1 } });
	add_mesh(hook, 300, (carom_pose){ { -4, 0, 1 }, { 0.6, 0, 0, 0.8 } });
	add_ball(0.3, 300, (vec3){ 2.4, 0.5, 0.5 }, false);
	for (int i = 0; i < 2; i++)
		add_soft(&(grid){ { 4, 4, 4 }, 0.3, { 0.8, -0.45, 0.05 + i } }, 2, 1e5, 0.03);
	add_soft(&(grid){ { 31, 31, 1 }, 0.1, { 0, -1.5, 2.6 } }, 0.005, 5e3, 0.03);
	carom_release_mesh(crate);
	carom_release_mesh(hook);
}

static void tell(int seconds)
{
	double lowest = 9, highest = -9; // of the sheet
	for (int i = softs[2].first; i < node_count; i++) {
		lowest = fmin(lowest, nodes[i].place.z);
		highest = fmax(highest, nodes[i].place.z);
	}
	printf(
		"after %d s: the fifth crate at %.2f m, the sheet from %.2f to %.2f m\n", seconds, bodies[4].centre.z, lowest, highest);
}

static bool write_bytes(const void *data, size_t bytes, void *user) { return fwrite(data, 1, bytes, user) == bytes; }

int main(int argc, char **argv)
{
	check(carom_create_context(NULL, &context));
	build();
	FILE *file = argc > 1 ? fopen(argv[1], "wb") : NULL;
	if (argc > 1 && !file) {
		fprintf(stderr, "%s cannot be written\n", argv[1]);
		return 1;
	}
	if (file)
		check(carom_world_record(world, write_bytes, file));
	rigid *shot = NULL;
	const int second = (int)lround(1 / DT);
	for (int i = 0; i < 5 * second; i++) {
		if (i == 3 * second) {
			shot = add_ball(0.15, 3000, (vec3){ 6, -0.2, 3.6 }, true);
			shot->velocity = (vec3){ -60, 0, 0 };
		}
		step(shot);
		if (i % second == second - 1)
			tell((i + 1) / second);
	}
	check(carom_world_record(world, NULL, NULL));
	carom_destroy_world(world);
	carom_destroy_context(context);
	if (file)
		fclose(file);
	return 0;
}
