// Carom in the place of other collision detection: ODE moves the bodies, and each contact of Carom
// becomes a contact joint. Five crates stand on each other, two hooks fall beside them. All of them
// are meshes, and the floor is an open one. Against an installed library (Debian: libode-dev):
// cc ode_crates.c $(pkg-config --cflags --libs carom ode) -lm
#include <carom/carom.h>
#include <math.h>
#include <ode/ode.h>
#include <stdio.h>

enum { CRATES = 5, BODIES = CRATES + 2, STEPS = 600 };

static const float corners[8][3] = { { -.5f, -.5f, -.5f }, { .5f, -.5f, -.5f }, { -.5f, .5f, -.5f }, { .5f, .5f, -.5f },
	{ -.5f, -.5f, .5f }, { .5f, -.5f, .5f }, { -.5f, .5f, .5f }, { .5f, .5f, .5f } };
static const int32_t crate_faces[12][3] = { { 0, 2, 1 }, { 1, 2, 3 }, { 4, 5, 6 }, { 5, 7, 6 }, { 0, 1, 4 }, { 1, 5, 4 },
	{ 2, 6, 3 }, { 3, 6, 7 }, { 0, 4, 2 }, { 2, 4, 6 }, { 1, 3, 5 }, { 3, 7, 5 } };
static const float hook_corners[12][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 1, .3f, 0 }, { .3f, .3f, 0 }, { .3f, 1, 0 }, { 0, 1, 0 },
	{ 0, 0, .3f }, { 1, 0, .3f }, { 1, .3f, .3f }, { .3f, .3f, .3f }, { .3f, 1, .3f }, { 0, 1, .3f } };
static const int32_t hook_faces[20][3] = { { 0, 2, 1 }, { 0, 3, 2 }, { 0, 4, 3 }, { 0, 5, 4 }, { 6, 7, 8 }, { 6, 8, 9 },
	{ 6, 9, 10 }, { 6, 10, 11 }, { 0, 1, 7 }, { 0, 7, 6 }, { 1, 2, 8 }, { 1, 8, 7 }, { 2, 3, 9 }, { 2, 9, 8 }, { 3, 4, 10 },
	{ 3, 10, 9 }, { 4, 5, 11 }, { 4, 11, 10 }, { 5, 0, 6 }, { 5, 6, 11 } };
static const float floor_corners[4][3] = { { -20, -20, 0 }, { 20, -20, 0 }, { 20, 20, 0 }, { -20, 20, 0 } };
static const int32_t floor_faces[2][3] = { { 0, 1, 2 }, { 0, 2, 3 } };

/// A body of both libraries. ODE's frame lies in the centre of mass, Carom's is that of the mesh.
typedef struct body {
	carom_body_id id;
	dBodyID ode;
	carom_vec3 centre; // of mass, in the frame of the mesh
} body;

static dWorldID dynamics;
static dJointGroupID joints;
static carom_context *context;
static carom_world *world;
static body bodies[BODIES];

static carom_mesh *make_mesh(const float *vertices, int vertex_count, const int32_t *triangles, int triangle_count)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ .data = vertices, .type = CAROM_FLOAT32 };
	def.vertex_count = vertex_count;
	def.triangles = triangles;
	def.triangle_count = triangle_count;
	carom_mesh *mesh = NULL;
	if (carom_create_mesh(context, &def, NULL, &mesh))
		printf("%s\n", carom_error_text(context));
	return mesh;
}

/// Adds body number user_data to the world; BODIES is the floor.
static carom_body_id add_to_world(carom_mesh *mesh, carom_pose pose, int user_data)
{
	carom_body_def def = carom_default_body_def();
	def.kind = user_data < BODIES ? CAROM_DYNAMIC : CAROM_STATIC;
	def.shape = (carom_shape){ .type = CAROM_MESH, .mesh = mesh };
	def.pose = pose;
	def.user_data = (uint64_t)user_data;
	carom_body_id id = { 0 };
	if (carom_world_add_body(world, &def, &id))
		printf("%s\n", carom_error_text(context));
	return id;
}

static dBodyID make_ode_body(const carom_mass *m, double density, carom_pose pose)
{
	const double *i = m->inertia;
	const carom_vec3 at = carom_transform_point(pose, m->centre);
	dMass mass;
	dMassSetParameters(
		&mass, (dReal)m->mass, 0, 0, 0, (dReal)i[0], (dReal)i[1], (dReal)i[2], (dReal)i[3], (dReal)i[4], (dReal)i[5]);
	dMassAdjust(&mass, (dReal)(density * m->mass));
	dBodyID ode = dBodyCreate(dynamics);
	dBodySetMass(ode, &mass);
	dBodySetPosition(ode, (dReal)at.x, (dReal)at.y, (dReal)at.z);
	const dQuaternion q = { (dReal)pose.orientation.w, (dReal)pose.orientation.x, (dReal)pose.orientation.y,
		(dReal)pose.orientation.z };
	dBodySetQuaternion(ode, q);
	return ode;
}

static void add_body(int number, carom_mesh *mesh, carom_pose pose)
{
	carom_mass mass;
	if (carom_mesh_get_mass(mesh, &mass))
		printf("%s\n", carom_error_text(context));
	bodies[number] = (body){ add_to_world(mesh, pose, number), make_ode_body(&mass, 500, pose), mass.centre };
}

/// Where ODE has brought the frame of the mesh.
static carom_pose pose_of(const body *b)
{
	const dReal *p = dBodyGetPosition(b->ode), *q = dBodyGetQuaternion(b->ode); // w x y z
	const carom_quat turn = { q[1], q[2], q[3], q[0] };
	const carom_vec3 arm = carom_rotate(turn, b->centre);
	return (carom_pose){ { p[0] - arm.x, p[1] - arm.y, p[2] - arm.z }, turn };
}

static dBodyID ode_body(uint64_t user_data) { return user_data < BODIES ? bodies[user_data].ode : NULL; }

/// A contact joint. Both libraries let the normal point into the first body.
static void join(const carom_contact *c, const carom_pair *pair)
{
	dContact joint = { .surface = { .mode = dContactApprox1 | dContactSoftCFM, .mu = 0.6f, .soft_cfm = 1e-7f } };
	for (int k = 0; k < 3; k++) {
		joint.geom.pos[k] = (dReal)c->point[k];
		joint.geom.normal[k] = c->normal[k];
	}
	joint.geom.depth = c->depth;
	dJointAttach(dJointCreateContact(dynamics, joints, &joint), ode_body(pair->user_data_a), ode_body(pair->user_data_b));
}

/// This is all that replaces dSpaceCollide and its callback.
static carom_result step(void)
{
	carom_body_id ids[BODIES];
	carom_pose poses[BODIES];
	for (int i = 0; i < BODIES; i++) {
		ids[i] = bodies[i].id;
		poses[i] = pose_of(&bodies[i]);
	}
	carom_result result = carom_world_set_poses(world, BODIES, ids, poses);
	if (!result)
		result = carom_world_step(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	const carom_pair_view pairs = carom_world_pairs(world);
	for (int32_t i = 0; i < contacts.count && !result; i++)
		join(&contacts.data[i], &pairs.data[contacts.data[i].pair]);
	dWorldQuickStep(dynamics, 1.f / 120);
	dJointGroupEmpty(joints);
	return result;
}

static void build(void)
{
	carom_mesh *ground = make_mesh(floor_corners[0], 4, floor_faces[0], 2);
	carom_mesh *crate = make_mesh(corners[0], 8, crate_faces[0], 12);
	carom_mesh *hook = make_mesh(hook_corners[0], 12, hook_faces[0], 20);
	add_to_world(ground, carom_pose_identity(), BODIES);
	for (int i = 0; i < CRATES; i++)
		add_body(i, crate, (carom_pose){ { 0.1 * (i % 2), 0.07 * (i % 3), 0.5 + i }, { 0, 0, 0, 1 } });
	add_body(CRATES, hook, (carom_pose){ { 3, 0, 1.2 }, { 0.6, 0, 0, 0.8 } });
	add_body(CRATES + 1, hook, (carom_pose){ { 3.5, 0.3, 2.2 }, { 0, 0.28, 0, 0.96 } });
	carom_release_mesh(ground); // the bodies hold them
	carom_release_mesh(crate);
	carom_release_mesh(hook);
}

int main(void)
{
	if (carom_create_context(NULL, &context) || carom_create_world(context, NULL, &world))
		return 1;
	dInitODE2(0);
	dynamics = dWorldCreate();
	joints = dJointGroupCreate(0);
	dWorldSetGravity(dynamics, 0, 0, -9.81f);
	build();
	for (int i = 0; i < STEPS; i++) {
		if (step()) {
			printf("%s\n", carom_error_text(context));
			return 1;
		}
	}
	double fastest = 0;
	for (int i = 0; i < BODIES; i++) {
		const dReal *v = dBodyGetLinearVel(bodies[i].ode);
		fastest = fmax(fastest, sqrt((double)(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])));
	}
	printf("the crate on top is %.2f m high\n", dBodyGetPosition(bodies[CRATES - 1].ode)[2]);
	// A stack of meshes trembles by a centimetre a second on average, and by 6 at most.
	printf("all %s\n", fastest < 0.1 ? "rest" : "move");
	dJointGroupDestroy(joints);
	dWorldDestroy(dynamics);
	dCloseODE();
	carom_destroy_world(world);
	carom_destroy_context(context);
	return 0;
}
