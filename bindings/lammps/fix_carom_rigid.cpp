/// See fix_carom_rigid.h.
#include "fix_carom_rigid.h"

#include <algorithm>
#include <atom.h>
#include <cmath>
#include <comm.h>
#include <cstring>
#include <domain.h>
#include <error.h>
#include <force.h>
#include <input.h>
#include <memory.h>
#include <modify.h>
#include <neighbor.h>
#include <update.h>
#include <variable.h>

using namespace LAMMPS_NS;

enum { SENT = 5, REPORTS = 6 }; // numbers of a ghost in each step; of compute_vector

void FixCaromRigid::fail(const std::string &what) const { error->all(FLERR, "fix carom/rigid: " + what); }
void FixCaromRigid::fail_here(const std::string &what) const { error->one(FLERR, "fix carom/rigid: " + what); }

static std::string text_of(double value)
{
	char text[32];
	std::snprintf(text, sizeof text, "%.6g", value);
	return text;
}

// ---- Commands ----

FixCaromRigid::FixCaromRigid(LAMMPS *lammps, int count, char **words) : Fix(lammps, count, words)
{
	time_integrate = 1;
	restart_global = restart_peratom = 1;
	create_attribute = 1;
	maxexchange_dynamic = 1;
	maxexchange = RIGID_TURN + 1;
	comm_forward = SENT;
	vector_flag = 1;
	size_vector = REPORTS;
	global_freq = 1;
	extvector = 0;
	peratom_flag = 1;
	size_peratom_cols = RIGID_TURN;
	peratom_freq = 1;
	local_flag = 1;
	size_local_cols = RIGID_ROW;
	local_freq = 1;
	origin = (double)update->ntimestep;
	check_surroundings();
	mesh_of_type.assign((size_t)atom->ntypes + 1, -1);
	read_words(count, words);
	array_flag = !walls.empty();
	size_array_rows = (int)walls.size();
	size_array_cols = RIGID_LOAD;
	extarray = 0;
	load_files();
	FixCaromRigid::grow_arrays(atom->nmax);
	for (int i = 0; i < atom->nlocal; i++)
		FixCaromRigid::set_arrays(i);
	atom->add_callback(Atom::GROW);
	atom->add_callback(Atom::RESTART);
}

FixCaromRigid::~FixCaromRigid()
{
	atom->delete_callback(id, Atom::GROW);
	atom->delete_callback(id, Atom::RESTART);
	memory->destroy(turns);
	rigid_touches_free(&touches);
	rigid_scene_destroy(scene);
}

void FixCaromRigid::read_words(int count, char **words)
{
	int at = read_law(count, words);
	while (at < count) {
		const std::string key = words[at];
		if (key == "mesh")
			at = read_mesh(at, count, words);
		else if (key == "type")
			at = read_type(at, count, words);
		else if (key == "wall")
			at = read_wall(at, count, words);
		else if (key == "orient")
			at = read_orient(at, count, words);
		else if (key == "contacts")
			at = read_contacts(at, count, words);
		else
			fail("\"" + key + "\" is none of mesh, type, wall, orient, contacts");
	}
}

/// The word at `at` wants so many more behind it.
void FixCaromRigid::want(int at, int more, int count, char **words) const
{
	if (at + more >= count)
		fail("\"" + std::string(words[at]) + "\" wants " + std::to_string(more) + " more words");
}

double FixCaromRigid::number(const char *word) const { return utils::numeric(FLERR, word, false, lmp); }

double FixCaromRigid::above_zero(const char *word, const char *what) const
{
	const double value = number(word);
	if (!(value > 0) || !std::isfinite(value))
		fail(std::string(what) + " is \"" + word + "\", which is not above 0");
	return value;
}

int FixCaromRigid::read_law(int count, char **words)
{
	enum { FIRST = 3, LAW = 7 };
	std::string text;
	for (int i = FIRST; i < FIRST + LAW && i < count; i++)
		text += (i > FIRST ? " " : "") + std::string(words[i]);
	char why[256];
	if (!carom_lammps_read_law(text.c_str(), &law, why, sizeof why))
		fail(why);
	if (law.style == CAROM_LAMMPS_HERTZ_HISTORY)
		fail("gran/hertz/history is a law of spheres; meshes have gran/hooke and gran/hooke/history");
	return FIRST + LAW;
}

int FixCaromRigid::read_mesh(int at, int count, char **words)
{
	want(at, 2, count, words);
	mesh_file file;
	file.name = words[at + 1];
	file.path = words[at + 2];
	for (at += 3; at < count; at += 2) {
		const std::string key = words[at];
		if (key != "scale" && key != "density")
			break;
		want(at, 1, count, words);
		(key == "scale" ? file.scale : file.density) = above_zero(words[at + 1], words[at]);
	}
	for (const mesh_file &other : meshes) {
		if (other.name == file.name)
			fail("two meshes have the name \"" + file.name + "\"");
	}
	meshes.push_back(file);
	return at;
}

int FixCaromRigid::read_type(int at, int count, char **words)
{
	want(at, 2, count, words);
	int first = 0, last = 0;
	utils::bounds(FLERR, words[at + 1], 1, atom->ntypes, first, last, error);
	const std::string name = words[at + 2];
	const auto found = std::find_if(meshes.begin(), meshes.end(), [&](const mesh_file &m) { return m.name == name; });
	if (found == meshes.end())
		fail("type " + std::string(words[at + 1]) + ": no mesh before it has the name \"" + name + "\"");
	for (int type = first; type <= last; type++)
		mesh_of_type[type] = (int)(found - meshes.begin());
	return at + 3;
}

/// A variable of the style that is wanted, by "v_NAME".
std::string FixCaromRigid::variable_name(const char *word, bool of_atoms) const
{
	const int found = std::strncmp(word, "v_", 2) == 0 ? input->variable->find(word + 2) : -1;
	if (found < 0)
		fail("\"" + std::string(word) + "\" is no variable");
	if (of_atoms ? !input->variable->atomstyle(found) : !input->variable->equalstyle(found))
		fail("\"" + std::string(word) + "\" is no variable of style " + (of_atoms ? "atom" : "equal"));
	return word + 2;
}

int FixCaromRigid::read_wall(int at, int count, char **words)
{
	want(at, 1, count, words);
	wall w;
	w.path = words[at + 1];
	w.state.step = -1;
	at += 2;
	if (at < count && std::strcmp(words[at], "scale") == 0) {
		want(at, 1, count, words);
		w.scale = above_zero(words[at + 1], "scale");
		at += 2;
	}
	at = read_motion(w, at, count, words);
	walls.push_back(w);
	return at;
}

int FixCaromRigid::read_motion(wall &w, int at, int count, char **words)
{
	const std::string key = at < count ? words[at] : "";
	if (key == "velocity" || key == "rotate") {
		w.motion = key == "rotate" ? wall::ROTATE : wall::VELOCITY;
		const int numbers = key == "rotate" ? 7 : 3;
		want(at, numbers, count, words);
		for (int k = 0; k < numbers; k++)
			w.numbers[k] = number(words[at + 1 + k]);
		const double *axis = w.numbers + 3;
		if (key == "rotate" && (w.numbers[6] == 0 || (axis[0] == 0 && axis[1] == 0 && axis[2] == 0)))
			fail("rotate wants an axis and a period that are not 0");
		return at + 1 + numbers;
	}
	if (key != "move")
		return at;
	want(at, 3, count, words);
	w.motion = wall::VARIABLES;
	for (int k = 0; k < 3; k++)
		w.variables[k] = variable_name(words[at + 1 + k], false);
	return at + 4;
}

int FixCaromRigid::read_orient(int at, int count, char **words)
{
	want(at, 2, count, words);
	random = std::strcmp(words[at + 1], "random") == 0;
	if (random) {
		seed = utils::inumeric(FLERR, words[at + 2], false, lmp);
		return at + 3;
	}
	want(at, 4, count, words);
	for (int k = 0; k < 4; k++)
		orient[k] = variable_name(words[at + 1 + k], true);
	return at + 5;
}

int FixCaromRigid::read_contacts(int at, int count, char **words)
{
	want(at, 1, count, words);
	contacts = utils::inumeric(FLERR, words[at + 1], false, lmp);
	if (contacts < 0 || contacts > 256)
		fail("contacts is " + std::to_string(contacts) + ", which is not 0 to 256");
	return at + 2;
}

/// Every process reads the files: a mesh is small beside its bodies.
void FixCaromRigid::load_files()
{
	char why[512];
	scene = rigid_scene_create(&law, contacts, why, sizeof why);
	if (!scene)
		fail_here(why);
	for (int type = 1; type <= atom->ntypes; type++) {
		const int mesh = mesh_of_type[type];
		if (mesh >= 0 && !rigid_scene_add_form(scene, type, meshes[mesh].path.c_str(), meshes[mesh].scale))
			fail_here(rigid_scene_error(scene));
	}
	for (const wall &w : walls) {
		if (!rigid_scene_add_wall(scene, w.path.c_str(), w.scale))
			fail_here(rigid_scene_error(scene));
	}
	motions.resize(walls.size());
}

// ---- Before a run ----

int FixCaromRigid::setmask()
{
	return FixConst::INITIAL_INTEGRATE | FixConst::PRE_EXCHANGE | FixConst::POST_FORCE | FixConst::FINAL_INTEGRATE;
}

void FixCaromRigid::check_surroundings() const
{
	if (!atom->radius_flag || !atom->rmass_flag || !atom->omega_flag || !atom->torque_flag)
		fail("atoms have no radius, mass, omega and torque: use atom_style sphere");
	if (!atom->tag_enable)
		fail("atoms have no ids (atom_modify id yes)");
	if (domain->dimension != 3 || domain->triclinic)
		fail("it wants a box of three dimensions with right angles");
}

bool FixCaromRigid::is_body(int i) const { return (atom->mask[i] & groupbit) != 0; }

const rigid_form *FixCaromRigid::form(int i) const { return rigid_scene_form(scene, atom->type[i]); }

void FixCaromRigid::init()
{
	if (!comm->ghost_velocity)
		fail("velocities of ghosts are wanted: comm_modify vel yes");
	if (comm->mode != Comm::SINGLE)
		fail("it wants comm_modify mode single");
	if (force->pair && std::strcmp(force->pair_style, "zero") != 0)
		fail("pair_style " + std::string(force->pair_style) + " would take bodies for spheres: use none or zero");
	find_largest();
	check_sides();
	listed = -1;
}

/// What a body must fulfil before its first step. Masses are set here.
void FixCaromRigid::check_body(int i) const
{
	const rigid_form *f = form(i);
	const std::string name = "atom " + std::to_string(atom->tag[i]);
	if (!f)
		fail_here(name + " is of type " + std::to_string(atom->type[i]) + ", which has no mesh");
	if (atom->radius[i] < f->radius * (1 - 1e-9))
		fail_here("the radius of " + name + " is " + text_of(atom->radius[i]) + ", and its mesh reaches " + text_of(f->radius) +
			" from its centre of mass: set group ... diameter " + text_of(2.0001 * f->radius));
	const double density = meshes[mesh_of_type[atom->type[i]]].density;
	if (density > 0)
		atom->rmass[i] = density * f->volume;
	if (!(atom->rmass[i] > 0))
		fail_here(name + " has no mass");
}

void FixCaromRigid::find_largest()
{
	double here = 0;
	for (int i = 0; i < atom->nlocal; i++) {
		if (!is_body(i))
			continue;
		check_body(i);
		here = std::max(here, atom->radius[i]);
	}
	MPI_Allreduce(&here, &largest, 1, MPI_DOUBLE, MPI_MAX, world);
}

/// A spring knows the other body by its id, so only one image of it may be near.
void FixCaromRigid::check_sides() const
{
	const double least = law.style == CAROM_LAMMPS_HOOKE ? 0 : 4 * largest;
	for (int k = 0; k < 3; k++) {
		if (domain->periodicity[k] && domain->prd[k] < least)
			fail("a periodic side is " + text_of(domain->prd[k]) + " long; with gran/hooke/history at least " + text_of(least));
	}
}

/// Ghosts must be there before they touch.
void FixCaromRigid::check_reach() const
{
	const double wanted = 2 * largest + neighbor->skin;
	const double *cut = comm->cutghost;
	const double least = std::min(cut[0], std::min(cut[1], cut[2]));
	if (least < wanted * (1 - 1e-9))
		fail("ghosts are told up to " + text_of(least) + ", and bodies reach " + text_of(wanted) +
			": comm_modify vel yes cutoff " + text_of(wanted * 1.0001));
}

/// Bodies that nobody has turned yet.
void FixCaromRigid::receive_new()
{
	int here = 0, any = 0;
	for (int i = 0; i < atom->nlocal && !here; i++)
		here = is_body(i) && turn(i)->w == 0 && turn(i)->x == 0 && turn(i)->y == 0 && turn(i)->z == 0;
	MPI_Allreduce(&here, &any, 1, MPI_INT, MPI_MAX, world);
	if (!any)
		return;
	std::vector<double> given(4 * (size_t)atom->nlocal + 4, 0);
	for (int k = 0; k < 4 && !orient[0].empty(); k++) {
		const int found = input->variable->find(orient[k].c_str());
		if (found < 0)
			fail("variable " + orient[k] + " is gone");
		input->variable->compute_atom(found, igroup, given.data() + k, 4, 0);
	}
	for (int i = 0; i < atom->nlocal; i++) {
		if (is_body(i) && turn(i)->w == 0 && turn(i)->x == 0 && turn(i)->y == 0 && turn(i)->z == 0)
			begin_body(i, given.data() + 4 * (size_t)i);
	}
}

/// given: w, x, y, z of variables.
void FixCaromRigid::begin_body(int i, const double *given)
{
	check_body(i);
	if (atom->radius[i] > largest * (1 + 1e-9))
		fail_here("atom " + std::to_string(atom->tag[i]) + " is new, and larger than all at the start of the run");
	rigid_turn *t = turn(i);
	*t = rigid_turn{};
	t->w = 1;
	if (random)
		rigid_turn_random((uint64_t)seed, (uint64_t)atom->tag[i], t);
	else if (!orient[0].empty()) {
		const double length = std::sqrt(given[0] * given[0] + given[1] * given[1] + given[2] * given[2] + given[3] * given[3]);
		if (!(length > 0) || !std::isfinite(length))
			fail_here("the variables of orient give atom " + std::to_string(atom->tag[i]) + " no rotation");
		t->w = given[0] / length;
		t->x = given[1] / length;
		t->y = given[2] / length;
		t->z = given[3] / length;
	}
	rigid_turn_set_spin(form(i), atom->rmass[i], atom->omega[i], t);
}

/// Where a script has given atoms another omega between two runs, it holds.
void FixCaromRigid::take_spins()
{
	for (int i = 0; i < atom->nlocal; i++) {
		if (!is_body(i))
			continue;
		double spin[3];
		rigid_turn_spin(form(i), atom->rmass[i], turn(i), spin);
		if (spin[0] != atom->omega[i][0] || spin[1] != atom->omega[i][1] || spin[2] != atom->omega[i][2])
			rigid_turn_set_spin(form(i), atom->rmass[i], atom->omega[i], turn(i));
	}
}

void FixCaromRigid::setup(int vflag)
{
	check_reach();
	receive_new();
	take_spins();
	listed = -1;
	post_force(vflag);
}

// ---- Walls ----

void FixCaromRigid::displace_wall(wall &w, rigid_wall_motion &m)
{
	double at[3];
	for (int k = 0; k < 3; k++) {
		const int found = input->variable->find(w.variables[k].c_str());
		if (found < 0)
			fail("variable " + w.variables[k] + " is gone");
		at[k] = input->variable->compute_equal(found);
		if (!std::isfinite(at[k]))
			fail("variable " + w.variables[k] + " is not finite");
	}
	wall_state &s = w.state;
	const double step = (double)update->ntimestep;
	for (int k = 0; k < 3; k++) {
		if (s.step != step)
			s.velocity[k] = s.step == step - 1 ? (at[k] - s.at[k]) / update->dt : 0;
		s.at[k] = at[k];
		m.velocity[k] = s.velocity[k];
	}
	s.step = step;
	m.pose.position = { at[0], at[1], at[2] };
}

void FixCaromRigid::move_wall(size_t k)
{
	wall &w = walls[k];
	rigid_wall_motion &m = motions[k];
	m = rigid_wall_motion{};
	m.pose = carom_pose_identity();
	const double time = ((double)update->ntimestep - origin) * update->dt;
	if (w.motion == wall::VARIABLES)
		displace_wall(w, m);
	else if (w.motion == wall::ROTATE)
		rigid_wall_rotate(w.numbers, w.numbers + 3, w.numbers[6], time, &m);
	else if (w.motion == wall::VELOCITY) {
		std::copy(w.numbers, w.numbers + 3, m.velocity);
		m.pose.position = { time * w.numbers[0], time * w.numbers[1], time * w.numbers[2] };
	}
}

// ---- A step ----

/// Half a step of forces and torques.
void FixCaromRigid::kick(int i)
{
	const double half = 0.5 * update->dt * force->ftm2v, share = half / atom->rmass[i];
	for (int k = 0; k < 3; k++) {
		atom->v[i][k] += share * atom->f[i][k];
		turn(i)->momentum[k] += half * atom->torque[i][k];
	}
}

void FixCaromRigid::initial_integrate(int)
{
	for (int i = 0; i < atom->nlocal; i++) {
		if (!is_body(i))
			continue;
		kick(i);
		for (int k = 0; k < 3; k++)
			atom->x[i][k] += update->dt * atom->v[i][k];
		rigid_turn_advance(form(i), atom->rmass[i], update->dt, turn(i));
		rigid_turn_spin(form(i), atom->rmass[i], turn(i), atom->omega[i]);
	}
}

void FixCaromRigid::final_integrate()
{
	for (int i = 0; i < atom->nlocal; i++) {
		if (!is_body(i))
			continue;
		kick(i);
		rigid_turn_spin(form(i), atom->rmass[i], turn(i), atom->omega[i]);
	}
}

rigid_atoms FixCaromRigid::atoms() const
{
	rigid_atoms a{};
	a.own = atom->nlocal;
	a.count = a.own + atom->nghost;
	if (a.count > 0) {
		a.places = atom->x[0];
		a.velocities = atom->v[0];
		a.spins = atom->omega[0];
		a.turns = reinterpret_cast<const rigid_turn *>(turns[0]);
	}
	a.masses = atom->rmass;
	a.types = atom->type;
	a.groups = atom->mask;
	a.group = groupbit;
	a.ids = atom->tag;
	a.wide = sizeof(tagint) == 8;
	return a;
}

void FixCaromRigid::post_force(int)
{
	const bool renewed = neighbor->ago == 0 || listed < 0 || listed_own != atom->nlocal || listed_ghosts != atom->nghost;
	if (neighbor->ago == 0 && !update->setupflag)
		receive_new();
	comm->forward_comm_fix(this);
	const rigid_atoms a = atoms();
	if (renewed && !rigid_scene_list(scene, &a))
		fail_here(rigid_scene_error(scene));
	listed = update->ntimestep;
	listed_own = atom->nlocal;
	listed_ghosts = atom->nghost;
	const bool variables = std::any_of(walls.begin(), walls.end(), [](const wall &w) { return w.motion == wall::VARIABLES; });
	if (variables)
		modify->clearstep_compute();
	for (size_t k = 0; k < walls.size(); k++)
		move_wall(k);
	if (variables)
		modify->addstep_compute(update->ntimestep + 1);
	double none[3];
	double *const forces = a.own > 0 ? atom->f[0] : none, *const torques = a.own > 0 ? atom->torque[0] : none;
	// Springs are not stretched where a run is set up: its step has been computed before, or is the
	// first.
	const double time_step = update->setupflag ? 0 : update->dt;
	if (!rigid_scene_step(scene, &a, motions.data(), time_step, &touches, forces, torques))
		fail_here(rigid_scene_error(scene));
	loads_known = false;
	show_rows();
}

/// The rows of contacts, as LAMMPS wants them.
void FixCaromRigid::show_rows()
{
	const rigid_report report = rigid_scene_report(scene);
	row_pointers.resize((size_t)report.count + 1);
	for (int64_t i = 0; i < report.count; i++)
		row_pointers[(size_t)i] = const_cast<double *>(report.rows) + i * RIGID_ROW;
	size_local_rows = (int)report.count;
	array_local = row_pointers.data();
}

/// Contacts, the deepest, energy of rotation, energy in contacts, and the two halves of the sum of
/// their hashes. Each is asked for on all processes.
double FixCaromRigid::compute_vector(int k)
{
	const rigid_report report = rigid_scene_report(scene);
	double here = k == 0 ? (double)report.count : k == 1 ? report.deepest : report.elastic, all = 0;
	if (k == 2) {
		here = 0;
		for (int i = 0; i < atom->nlocal; i++) {
			if (is_body(i) && form(i))
				here += force->mvv2e * rigid_turn_energy(form(i), atom->rmass[i], turn(i));
		}
	}
	if (k < 4) {
		MPI_Allreduce(&here, &all, 1, MPI_DOUBLE, k == 1 ? MPI_MAX : MPI_SUM, world);
		return all;
	}
	uint64_t sum = 0;
	MPI_Allreduce(&report.hash, &sum, 1, MPI_UINT64_T, MPI_SUM, world);
	return (double)(k == 4 ? sum & 0xffffffffU : sum >> 32);
}

/// What each wall carries. All processes ask for it at once.
void FixCaromRigid::sum_loads()
{
	const rigid_report report = rigid_scene_report(scene);
	const int count = (int)walls.size();
	const double here = rigid_walls_largest(&report, motions.data());
	double most = 0;
	MPI_Allreduce(&here, &most, 1, MPI_DOUBLE, MPI_MAX, world);
	std::vector<int64_t> parts((size_t)count * RIGID_LOAD_PARTS), sums(parts.size());
	rigid_walls_sum(&report, motions.data(), count, most, parts.data());
	MPI_Allreduce(parts.data(), sums.data(), (int)parts.size(), MPI_INT64_T, MPI_SUM, world);
	loads.resize((size_t)count * RIGID_LOAD);
	rigid_walls_loads(sums.data(), count, most, loads.data());
	loads_known = true;
}

/// Row i: force on wall i and torque on it, in the order of the script. A run that has no step yet
/// has none.
double FixCaromRigid::compute_array(int i, int k)
{
	if (!loads_known)
		sum_loads();
	return loads[(size_t)i * RIGID_LOAD + (size_t)k];
}

// ---- Atoms that move ----

/// LAMMPS asks how much an atom may be before it packs any.
void FixCaromRigid::pre_exchange() { maxexchange = RIGID_TURN + 1 + RIGID_TOUCH * touches.most; }

void FixCaromRigid::grow_arrays(int places)
{
	memory->grow(turns, places, RIGID_TURN, "carom/rigid:turns");
	array_atom = turns;
	if (!rigid_touches_grow(&touches, places))
		fail_here("out of memory");
}

void FixCaromRigid::copy_arrays(int from, int to, int)
{
	*turn(to) = *turn(from);
	if (!rigid_touches_copy(&touches, from, to))
		fail_here("out of memory");
}

void FixCaromRigid::set_arrays(int i)
{
	*turn(i) = rigid_turn{};
	rigid_touches_clear(&touches, i);
}

int FixCaromRigid::pack_exchange(int i, double *numbers)
{
	std::copy(turns[i], turns[i] + RIGID_TURN, numbers);
	return RIGID_TURN + (int)rigid_touches_pack(&touches, i, numbers + RIGID_TURN);
}

int FixCaromRigid::unpack(int i, const double *numbers)
{
	std::copy(numbers, numbers + RIGID_TURN, turns[i]);
	const int64_t read = rigid_touches_unpack(&touches, i, numbers + RIGID_TURN);
	if (read < 0)
		fail_here(read == -1 ? "out of memory" : "what a body carries is damaged");
	return RIGID_TURN + (int)read;
}

int FixCaromRigid::unpack_exchange(int i, double *numbers) { return unpack(i, numbers); }

int FixCaromRigid::pack_forward_comm(int count, int *list, double *numbers, int, int *)
{
	for (int k = 0; k < count; k++) {
		std::copy(turns[list[k]], turns[list[k]] + 4, numbers + SENT * k);
		numbers[SENT * k + 4] = atom->rmass[list[k]];
	}
	return SENT * count;
}

void FixCaromRigid::unpack_forward_comm(int count, int first, double *numbers)
{
	for (int k = 0; k < count; k++) {
		std::copy(numbers + SENT * k, numbers + SENT * k + 4, turns[first + k]);
		atom->rmass[first + k] = numbers[SENT * k + 4];
	}
}

// ---- Restart files ----

void FixCaromRigid::write_restart(FILE *file)
{
	if (comm->me != 0)
		return;
	const int size = (int)(2 * sizeof origin + walls.size() * sizeof(wall_state));
	const double count = (double)walls.size();
	fwrite(&size, sizeof size, 1, file);
	fwrite(&count, sizeof count, 1, file);
	fwrite(&origin, sizeof origin, 1, file);
	for (const wall &w : walls)
		fwrite(&w.state, sizeof w.state, 1, file);
}

void FixCaromRigid::restart(char *data)
{
	double count = 0;
	std::memcpy(&count, data, sizeof count);
	if (count != (double)walls.size())
		fail("the restart file has " + text_of(count) + " walls, and the fix has " + std::to_string(walls.size()));
	data += sizeof count;
	std::memcpy(&origin, data, sizeof origin);
	data += sizeof origin;
	for (size_t k = 0; k < walls.size(); k++)
		std::memcpy(&walls[k].state, data + k * sizeof(wall_state), sizeof(wall_state));
}

int FixCaromRigid::size_restart(int i) { return 1 + RIGID_TURN + (int)rigid_touches_size(&touches, i); }

/// Of any process: LAMMPS writes what its first one says.
int FixCaromRigid::maxsize_restart()
{
	int most = 0;
	MPI_Allreduce(&touches.most, &most, 1, MPI_INT32_T, MPI_MAX, world);
	return 2 + RIGID_TURN + RIGID_TOUCH * most;
}

int FixCaromRigid::pack_restart(int i, double *numbers)
{
	numbers[0] = size_restart(i);
	pack_exchange(i, numbers + 1);
	return size_restart(i);
}

void FixCaromRigid::unpack_restart(int i, int nth)
{
	const double *extra = atom->extra[i];
	for (int k = 0; k < nth; k++)
		extra += (int)*extra;
	unpack(i, extra + 1);
}

double FixCaromRigid::memory_usage()
{
	double bytes = (double)atom->nmax * RIGID_TURN * sizeof(double) + (double)rigid_scene_bytes(scene);
	for (int64_t i = 0; i < touches.places; i++)
		bytes += (double)touches.lists[i].capacity * sizeof(rigid_touch);
	return bytes;
}
