/// Carom inside LAMMPS. See carom_lammps.h.
///
/// In each step LAMMPS calls back with its own atoms and the ghosts behind them. Carom finds the
/// touching pairs that have an own atom, and sums forces in the order of the atoms' ids: so sums do
/// not depend on how atoms are shared out. A pair across a border is computed by both processes,
/// from numbers that are exact opposites.
///
/// Springs along the surface are remembered by the smaller sphere of a contact
/// (contact_histories.c).
#define LAMMPS_LIB_MPI
#include <mpi.h>

#include "carom_lammps.h"
#include "contact_histories.h"
#include "grain_law.h"
#include <carom/carom.h>
#include <carom/spheres.h>
#include <lammps/library.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct carom_lammps {
	void *lammps;
	carom_lammps_law law;
	MPI_Comm comm;
	carom_context *context;
	carom_spheres *spheres;
	carom_lammps_stats stats;

	// Of the step that is computed. Arrays of LAMMPS: own atoms, then ghosts.
	int own;
	double **velocity, **spin, *radius, *mass;
	atom_ids ids;
	double *sums; // [6*capacity] forces, then torques
	int64_t capacity;

	// Of laws with history:
	histories histories;
	double time_step;  // 0: springs are not stretched (the set-up of a run repeats its last step)
	int64_t last_step; // -1: none
};

// ---- Errors ----

static void *give_up(carom_lammps *attached, char *error, int error_size, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	vsnprintf(error, (size_t)error_size, format, values);
	va_end(values);
	carom_lammps_detach(attached);
	return NULL;
}

/// Nobody above a callback of LAMMPS can take an error.
static void end_program(const carom_lammps *a, const char *what, const char *why)
{
	fprintf(stderr, "carom_lammps: %s: %s\n", what, why);
	fflush(stderr);
	MPI_Abort(a->comm, 1);
}

static bool command(void *lammps, char *error, int error_size, const char *format, ...)
{
	char text[256];
	va_list values;
	va_start(values, format);
	vsnprintf(text, sizeof text, format, values);
	va_end(values);
	lammps_command(lammps, text);
	if (!lammps_has_error(lammps))
		return true;
	char reason[512] = "";
	lammps_get_last_error_message(lammps, reason, sizeof reason);
	snprintf(error, (size_t)error_size, "LAMMPS refused \"%s\": %s", text, reason);
	return false;
}

// ---- Contacts ----

static grain_contact make_contact(const carom_lammps *p, uint32_t a, uint32_t b, const double normal[3], double overlap)
{
	const double ra = p->radius[a], rb = p->radius[b];
	return (grain_contact){
		.normal = vec3_read(normal),
		.overlap = overlap,
		.velocity = vec3_sub(vec3_read(p->velocity[a]), vec3_read(p->velocity[b])),
		.spin = vec3_add(vec3_scale(vec3_read(p->spin[a]), ra), vec3_scale(vec3_read(p->spin[b]), rb)),
		.mass = p->mass[a] * p->mass[b] / (p->mass[a] + p->mass[b]),
		.radius = ra * rb / (ra + rb),
	};
}

/// The force on a, whose friction remembers: computed once for both sides, seen from the keeper.
static grain_force push_with_memory(carom_lammps *p, uint32_t a, uint32_t b, const double normal[3], double overlap)
{
	const uint64_t id_a = get_id(p->ids, a), id_b = get_id(p->ids, b);
	const bool keeps = p->radius[a] != p->radius[b] ? p->radius[a] < p->radius[b] : id_a < id_b;
	const history_slot slot = find_history(&p->histories, keeps ? a : b, keeps ? id_b : id_a);
	const double sign = keeps ? 1 : -1;
	if (slot.spring && !slot.seen) {
		const double inward[3] = { sign * normal[0], sign * normal[1], sign * normal[2] };
		const grain_contact c = make_contact(p, keeps ? a : b, keeps ? b : a, inward, overlap);
		vec3 spring = vec3_read(slot.spring);
		const grain_force f = grain_push(p->law.style, &p->law, &c, p->time_step, &spring);
		memcpy(slot.spring, &spring, sizeof spring);
		memcpy(slot.pair, &f, sizeof f);
	}
	if (!slot.spring)
		return (grain_force){ { 0, 0, 0 }, { 0, 0, 0 } }; // the step will end the run
	return (grain_force){ vec3_scale(vec3_read(slot.pair), sign), vec3_scale(vec3_read(slot.pair + 3), sign) };
}

static void push_apart(
	uint32_t a, uint32_t b, const double normal[3], double overlap, double force[3], double torque[3], void *user)
{
	carom_lammps *p = user;
	if (overlap <= 0)
		return; // LAMMPS has no contact at the very distance
	grain_force f;
	if (p->law.style == CAROM_LAMMPS_HOOKE) {
		const grain_contact c = make_contact(p, a, b, normal, overlap);
		f = grain_push(CAROM_LAMMPS_HOOKE, &p->law, &c, 0, NULL);
	} else {
		f = push_with_memory(p, a, b, normal, overlap);
	}
	const vec3 turn = vec3_scale(vec3_cross(vec3_read(normal), f.friction), p->radius[a]);
	const vec3 sum = vec3_add(vec3_read(force), f.force), turned = vec3_sub(vec3_read(torque), turn);
	memcpy(force, &sum, sizeof sum);
	memcpy(torque, &turned, sizeof turned);
}

// ---- A step ----

static void reserve(carom_lammps *p, int64_t count)
{
	if (count <= p->capacity)
		return;
	p->capacity = count + count / 2;
	free(p->sums);
	p->sums = malloc(6 * (size_t)p->capacity * sizeof *p->sums);
	if (!p->sums)
		end_program(p, "forces of spheres", "out of memory");
}

/// Arrays of LAMMPS, which move from step to step.
static carom_sphere_input read_atoms(carom_lammps *p, int own, double **x)
{
	void *lammps = p->lammps;
	const int count = own + lammps_extract_setting(lammps, "nghost");
	reserve(p, own);
	p->own = own;
	p->velocity = lammps_extract_atom(lammps, "v");
	p->spin = lammps_extract_atom(lammps, "omega");
	p->radius = lammps_extract_atom(lammps, "radius");
	p->mass = lammps_extract_atom(lammps, "rmass");
	p->ids = (atom_ids){ lammps_extract_atom(lammps, "id"), lammps_extract_setting(lammps, "tagint") == 8 };
	carom_sphere_input input = carom_default_sphere_input();
	input.count = count;
	input.owned = own;
	input.ids = p->ids.wide ? NULL : p->ids.data; // positive, so that signs do not matter
	input.ids64 = p->ids.wide ? p->ids.data : NULL;
	input.centres = (carom_strided){ count > 0 ? x[0] : NULL, 3 * sizeof(double), CAROM_FLOAT64 };
	input.radii = (carom_strided){ p->radius, sizeof(double), CAROM_FLOAT64 };
	return input;
}

/// Springs are not stretched where a run is set up: its step is that of the last call, or the
/// first.
static void begin_memory(carom_lammps *p, int64_t step, int64_t count)
{
	double **rows = lammps_extract_atom(p->lammps, "d2_carom_history");
	if (!rows && count > 0)
		end_program(p, "histories of contacts", "the fix carom_history is gone");
	p->time_step = p->last_step < 0 || step == p->last_step ? 0 : *(double *)lammps_extract_global(p->lammps, "dt");
	p->last_step = step;
	if (!begin_histories(&p->histories, rows, p->ids, p->own, count))
		end_program(p, "histories of contacts", "out of memory");
}

static void end_memory(carom_lammps *p)
{
	if (p->histories.full >= 0) {
		char text[128];
		snprintf(text, sizeof text, "the atom with id %llu touches more than %d others that are as large or larger",
			(unsigned long long)get_id(p->ids, p->histories.full), HISTORY_SLOTS);
		end_program(p, "histories of contacts", text);
	}
	end_histories(&p->histories);
}

static void compute(void *user, int64_t step, int own, void *ids, double **x, double **f)
{
	carom_lammps *p = user;
	const double start = MPI_Wtime();
	(void)ids; // of own atoms only
	const carom_sphere_input input = read_atoms(p, own, x);
	double *torques = p->sums + 3 * (size_t)own, **torque = lammps_extract_atom(p->lammps, "torque");
	const bool remembers = p->law.style != CAROM_LAMMPS_HOOKE;
	if (remembers)
		begin_memory(p, step, input.count);
	if (carom_spheres_update(p->spheres, &input) || carom_spheres_sum_forces(p->spheres, push_apart, p, p->sums, torques))
		end_program(p, "forces of spheres", carom_error_text(p->context));
	if (remembers)
		end_memory(p);
	for (int i = 0; i < own; i++) {
		for (int k = 0; k < 3; k++) {
			f[i][k] = p->sums[3 * (size_t)i + k];
			torque[i][k] += torques[3 * (size_t)i + k];
		}
	}
	const carom_sphere_stats stats = carom_spheres_get_stats(p->spheres);
	p->stats.calls++;
	p->stats.list_builds = stats.list_builds;
	p->stats.owned = own;
	p->stats.ghosts = stats.ghosts;
	p->stats.tests += stats.tests;
	p->stats.ms += 1e3 * (MPI_Wtime() - start);
}

// The type of ids is that of the LAMMPS that is linked.
#ifdef LAMMPS_BIGBIG
static void call_back(void *user, int64_t step, int own, int64_t *ids, double **x, double **f)
{
	compute(user, step, own, ids, x, f);
}
#elif defined(LAMMPS_SMALLBIG)
static void call_back(void *user, int64_t step, int own, int *ids, double **x, double **f)
{
	compute(user, step, own, ids, x, f);
}
#else
static void call_back(void *user, int step, int own, int *ids, double **x, double **f) { compute(user, step, own, ids, x, f); }
#endif

// ---- Attaching ----

static double largest_radius(const carom_lammps *p)
{
	const double *radius = lammps_extract_atom(p->lammps, "radius");
	const int own = lammps_extract_setting(p->lammps, "nlocal");
	double largest = 0, all = 0;
	for (int i = 0; i < own; i++)
		largest = fmax(largest, radius[i]);
	MPI_Allreduce(&largest, &all, 1, MPI_DOUBLE, MPI_MAX, p->comm);
	return all;
}

static bool give_commands(const carom_lammps *p, double skin, char *error, int error_size)
{
	const double cutoff = (2 * largest_radius(p) + skin) * (1 + 1e-9);
	return command(p->lammps, error, error_size, "pair_style none") &&
		command(p->lammps, error, error_size, "neighbor %.17g bin", skin) &&
		command(p->lammps, error, error_size, "neigh_modify every 1 delay 0 check yes") &&
		command(p->lammps, error, error_size, "comm_modify vel yes cutoff %.17g", cutoff) &&
		(p->law.style == CAROM_LAMMPS_HOOKE ||
			command(p->lammps, error, error_size, "fix carom_history all property/atom d2_carom_history %d ghost yes",
				HISTORY_ROW)) &&
		command(p->lammps, error, error_size, "fix carom all external pf/callback 1 1");
}

carom_lammps *carom_lammps_attach(void *lammps, const carom_lammps_law *law, double skin, char *error, int error_size)
{
	if (!lammps || !law || !error || error_size < 1)
		return NULL;
	if (!(skin > 0) || !isfinite(skin))
		return give_up(NULL, error, error_size, "the skin is %g, not a length above 0", skin);
	if (law->style == CAROM_LAMMPS_GRANULAR)
		return give_up(NULL, error, error_size, "rolling friction is known to pair_style carom alone");
	if (lammps_extract_setting(lammps, "box_exist") != 1)
		return give_up(NULL, error, error_size, "LAMMPS has no box yet: create it and its atoms first");
	if (lammps_extract_setting(lammps, "radius_flag") != 1 || lammps_extract_setting(lammps, "omega_flag") != 1)
		return give_up(NULL, error, error_size, "the atoms have no radius and omega: use atom_style sphere");
	carom_lammps *p = calloc(1, sizeof *p);
	if (!p)
		return give_up(NULL, error, error_size, "out of memory");
	p->lammps = lammps;
	p->law = *law;
	p->last_step = -1;
	p->comm = MPI_Comm_f2c((MPI_Fint)lammps_get_mpi_comm(lammps));
	carom_context_def context_def = carom_default_context_def();
	context_def.thread_count = 1;
	carom_spheres_def def = carom_default_spheres_def();
	def.skin = skin;
	if (carom_create_context(&context_def, &p->context) || carom_create_spheres(p->context, &def, &p->spheres))
		return give_up(p, error, error_size, "Carom: %s", p->context ? carom_error_text(p->context) : "out of memory");
	if (!give_commands(p, skin, error, error_size)) {
		carom_lammps_detach(p);
		return NULL;
	}
	lammps_set_fix_external_callback(lammps, "carom", call_back, p);
	return p;
}

carom_lammps_stats carom_lammps_get_stats(const carom_lammps *attached)
{
	return attached ? attached->stats : (carom_lammps_stats){ 0 };
}

void carom_lammps_detach(carom_lammps *p)
{
	if (!p)
		return;
	if (lammps_has_id(p->lammps, "fix", "carom"))
		lammps_command(p->lammps, "unfix carom");
	carom_destroy_spheres(p->spheres);
	carom_destroy_context(p->context);
	free(p->sums);
	free_histories(&p->histories);
	free(p);
}
