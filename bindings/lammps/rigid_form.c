/// See rigid_form.h.
#include "rigid_form.h"

#include "io/mesh_file.h"
#include "sim/base/rotations.h"
#include "sim/base/state_hash.h"
#include "sim/base/vectors.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Meshes ----

/// Coordinate k of a mesh, at a scale and less a shift.
static void place_vertices(const sim_mesh *mesh, double scale, carom_vec3 shift, double *places)
{
	for (int64_t i = 0; i < mesh->vertex_count; i++) {
		const double shifts[3] = { shift.x, shift.y, shift.z };
		for (int k = 0; k < 3; k++) {
			const double value = mesh->doubles ? mesh->doubles[3 * i + k] : (double)mesh->vertices[3 * i + k];
			places[3 * i + k] = value * scale - shifts[k];
		}
	}
}

static carom_mesh *make_mesh(carom_context *context, const sim_mesh *mesh, const double *places, char *error, int error_size)
{
	carom_mesh_def def = carom_default_mesh_def();
	def.vertices = (carom_strided){ places, 0, CAROM_FLOAT64 };
	def.vertex_count = mesh->vertex_count;
	def.triangles = mesh->triangles;
	def.triangle_count = mesh->triangle_count;
	def.materials = mesh->materials;
	def.sides = (carom_mesh_sides)mesh->sides;
	carom_mesh *made = NULL;
	if (carom_create_mesh(context, &def, NULL, &made) != CAROM_SUCCESS)
		snprintf(error, (size_t)error_size, "%s", carom_error_text(context));
	return made;
}

/// A file's mesh and room for its vertices. False: error says why, with nothing to free.
static bool open_mesh(const char *path, sim_mesh *mesh, double **places, char *error, int error_size)
{
	sim_error why;
	if (!io_load_mesh(path, mesh, &why)) {
		snprintf(error, (size_t)error_size, "%s", why.text);
		return false;
	}
	*places = malloc((size_t)mesh->vertex_count * 3 * sizeof **places);
	if (!*places) {
		sim_mesh_free(mesh);
		snprintf(error, (size_t)error_size, "out of memory");
	}
	return *places != NULL;
}

carom_mesh *rigid_wall_load(carom_context *context, const char *path, double scale, char *error, int error_size)
{
	sim_mesh mesh = { 0 };
	double *places = NULL;
	if (!open_mesh(path, &mesh, &places, error, error_size))
		return NULL;
	place_vertices(&mesh, scale, (carom_vec3){ 0, 0, 0 }, places);
	carom_mesh *made = make_mesh(context, &mesh, places, error, error_size);
	free(places);
	sim_mesh_free(&mesh);
	return made;
}

static double bounding_radius(const carom_mesh *mesh)
{
	const float *v = carom_mesh_get_vertices(mesh);
	double most = 0;
	for (int64_t i = 0; i < carom_mesh_get_report(mesh)->vertex_count; i++) {
		const double x = (double)v[3 * i], y = (double)v[3 * i + 1], z = (double)v[3 * i + 2];
		most = fmax(most, x * x + y * y + z * z);
	}
	return sqrt(most);
}

/// Its numbers, when the mesh is there.
static bool measure(rigid_form *form, char *error, int error_size)
{
	carom_mass mass;
	if (carom_mesh_get_mass(form->mesh, &mass) != CAROM_SUCCESS || !(mass.mass > 0)) {
		const carom_mesh_report *report = carom_mesh_get_report(form->mesh);
		snprintf(error, (size_t)error_size,
			"is not closed, so it has no mass: %d edges of one triangle, %d of triangles that are turned against each other",
			report->border_edges, report->inconsistent_edges + report->unbalanced_edges);
		return false;
	}
	form->volume = mass.mass;
	form->radius = bounding_radius(form->mesh);
	memcpy(form->inertia, mass.inertia, sizeof form->inertia);
	if (sim_invert_tensor(form->inertia, form->inverse))
		return true;
	snprintf(error, (size_t)error_size, "is so flat that it has no inertia about an axis");
	return false;
}

/// A mesh at its place in the file, then one about the centre of mass of the first.
static bool centre_mesh(
	carom_context *context, const sim_mesh *mesh, double scale, double *places, rigid_form *form, char *error, int error_size)
{
	place_vertices(mesh, scale, (carom_vec3){ 0, 0, 0 }, places);
	form->mesh = make_mesh(context, mesh, places, error, error_size);
	carom_mass mass;
	if (!form->mesh)
		return false;
	if (carom_mesh_get_mass(form->mesh, &mass) != CAROM_SUCCESS)
		return measure(form, error, error_size); // says why
	carom_release_mesh(form->mesh);
	place_vertices(mesh, scale, mass.centre, places);
	form->mesh = make_mesh(context, mesh, places, error, error_size);
	return form->mesh && measure(form, error, error_size);
}

bool rigid_form_load(carom_context *context, const char *path, double scale, rigid_form *form, char *error, int error_size)
{
	sim_mesh mesh = { 0 };
	double *places = NULL;
	*form = (rigid_form){ 0 };
	if (!open_mesh(path, &mesh, &places, error, error_size))
		return false;
	const bool good = centre_mesh(context, &mesh, scale, places, form, error, error_size);
	if (!good)
		rigid_form_free(form);
	free(places);
	sim_mesh_free(&mesh);
	return good;
}

void rigid_form_free(rigid_form *form)
{
	carom_release_mesh(form->mesh);
	form->mesh = NULL;
}

// ---- Turning ----

static carom_quat rotation(const rigid_turn *turn) { return (carom_quat){ turn->x, turn->y, turn->z, turn->w }; }

static carom_vec3 spin_at(const rigid_form *form, double mass, carom_quat q, const double momentum[3])
{
	const carom_vec3 l = { momentum[0], momentum[1], momentum[2] };
	return sim_scale(sim_apply_turned_tensor(form->inverse, q, l), form->volume / mass);
}

void rigid_turn_spin(const rigid_form *form, double mass, const rigid_turn *turn, double spin[3])
{
	const carom_vec3 w = spin_at(form, mass, rotation(turn), turn->momentum);
	spin[0] = w.x;
	spin[1] = w.y;
	spin[2] = w.z;
}

void rigid_turn_set_spin(const rigid_form *form, double mass, const double spin[3], rigid_turn *turn)
{
	const carom_vec3 w = { spin[0], spin[1], spin[2] };
	const carom_vec3 l = sim_scale(sim_apply_turned_tensor(form->inertia, rotation(turn), w), mass / form->volume);
	turn->momentum[0] = l.x;
	turn->momentum[1] = l.y;
	turn->momentum[2] = l.z;
}

/// Q after a short time, by its rate of change at an angular velocity.
static carom_quat nudge(carom_quat q, carom_vec3 w, double time)
{
	const carom_quat rate = sim_multiply((carom_quat){ w.x, w.y, w.z, 0 }, q);
	const double half = 0.5 * time;
	return sim_unit_quat((carom_quat){ q.x + half * rate.x, q.y + half * rate.y, q.z + half * rate.z, q.w + half * rate.w });
}

void rigid_turn_advance(const rigid_form *form, double mass, double time, rigid_turn *turn)
{
	const carom_quat q = rotation(turn);
	const carom_vec3 w = spin_at(form, mass, q, turn->momentum);
	const carom_quat whole = nudge(q, w, time), half = nudge(q, w, 0.5 * time);
	const carom_quat twice = nudge(half, spin_at(form, mass, half, turn->momentum), 0.5 * time);
	const carom_quat better = sim_unit_quat(
		(carom_quat){ 2 * twice.x - whole.x, 2 * twice.y - whole.y, 2 * twice.z - whole.z, 2 * twice.w - whole.w });
	turn->x = better.x;
	turn->y = better.y;
	turn->z = better.z;
	turn->w = better.w;
}

/// A point of the ball in four dimensions, away from its middle, gives each rotation equally often
/// (Marsaglia 1972).
void rigid_turn_random(uint64_t seed, uint64_t id, rigid_turn *turn)
{
	uint64_t state = sim_hash_word(sim_hash_word(SIM_HASH_START, seed), id);
	double q[4], square;
	do {
		square = 0;
		for (int k = 0; k < 4; k++) {
			q[k] = sim_random_unit(&state);
			square += q[k] * q[k];
		}
	} while (square > 1 || square < 1e-4);
	const carom_quat unit = sim_unit_quat((carom_quat){ q[0], q[1], q[2], q[3] });
	turn->x = unit.x;
	turn->y = unit.y;
	turn->z = unit.z;
	turn->w = unit.w;
}

double rigid_turn_energy(const rigid_form *form, double mass, const rigid_turn *turn)
{
	const carom_vec3 w = spin_at(form, mass, rotation(turn), turn->momentum);
	return 0.5 * (w.x * turn->momentum[0] + w.y * turn->momentum[1] + w.z * turn->momentum[2]);
}
