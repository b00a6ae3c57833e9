/// See step_times.h. LAMMPS gets gran/hooke without its tangential part, its list checked in each
/// step and rebuilt when a sphere has moved by half the skin, and bins that hold about one sphere
/// where half the cutoff would make too many of them.

#include "step_times.h"

#include "peer_process.h"
#include "sim/grains/granular.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace bench {
namespace {

constexpr double pi = 3.14159265358979323846;

struct StepTimes {
	double ms = 0;
	double contacts = 0; ///< pairs of spheres in the last step
	int lists = -1;      ///< made in the measured steps
	std::string note;
};

struct Shape {
	double mean_radius = 0, least_radius = 0, largest_radius = 0;
	double lower[3], upper[3]; ///< of the walls
	double extent = 1;         ///< volume of the box of the centres
};

Shape shape_of(const io_sphere_set &set)
{
	Shape shape;
	double low[3] = { INFINITY, INFINITY, INFINITY }, high[3] = { -INFINITY, -INFINITY, -INFINITY };
	shape.least_radius = INFINITY;
	for (int64_t i = 0; i < set.count; i++) {
		double xyzr[4];
		io_get_sphere(&set, i, xyzr);
		for (int k = 0; k < 3; k++) {
			low[k] = std::min(low[k], xyzr[k]);
			high[k] = std::max(high[k], xyzr[k]);
		}
		shape.mean_radius += xyzr[3] / static_cast<double>(set.count);
		shape.least_radius = std::min(shape.least_radius, xyzr[3]);
		shape.largest_radius = std::max(shape.largest_radius, xyzr[3]);
	}
	for (int k = 0; k < 3; k++) {
		shape.lower[k] = set.has_walls ? set.lower[k] : low[k];
		shape.upper[k] = set.has_walls ? set.upper[k] : high[k];
		shape.extent *= std::max(high[k] - low[k], 1e-9);
	}
	return shape;
}

// ---- Ours ----

/// The restitution at which two spheres of mean radius are damped as LAMMPS damps them.
double restitution_of(const StepSetting &setting, const Shape &shape)
{
	const double mass = setting.density * 4 / 3 * pi * std::pow(shape.mean_radius, 3);
	const double ratio = 0.5 * setting.damping * std::sqrt(0.5 * mass / setting.stiffness);
	return std::exp(-pi * ratio / std::sqrt(1 - ratio * ratio));
}

sim_granular_def definition_of(const io_sphere_set &set, const StepSetting &setting, const Shape &shape)
{
	const carom_sphere_input input = io_sphere_input(&set);
	sim_granular_def def = sim_default_granular_def();
	def.count = set.count;
	def.centres = input.centres;
	def.radii = input.radii;
	def.density = setting.density;
	def.time_step = setting.time_step;
	def.stability = SIM_GRANULAR_REPORT;
	def.spheres.stiffness = def.walls.stiffness = setting.stiffness;
	def.spheres.restitution = def.walls.restitution = restitution_of(setting, shape);
	for (int k = 0; k < 3; k++) {
		def.lower[k] = shape.lower[k];
		def.upper[k] = shape.upper[k];
		def.faces[2 * k] = def.faces[2 * k + 1] = true;
	}
	return def;
}

StepTimes simulate_ours(const io_sphere_set &set, const StepSetting &setting, const Shape &shape)
{
	sim_error error;
	carom_context_def context_def = carom_default_context_def();
	context_def.thread_count = setting.threads;
	carom_context *context = nullptr;
	if (carom_create_context(&context_def, &context) != CAROM_SUCCESS) {
		fail("Carom: no context");
	}
	sim_granular_def def = definition_of(set, setting, shape);
	std::vector<double> velocities(static_cast<size_t>(3 * set.count), 0);
	for (int64_t i = 0; i < set.count; i++) {
		velocities[static_cast<size_t>(3 * i + 1)] = -setting.speed;
	}
	def.velocities.data = velocities.data();
	def.velocities.type = CAROM_FLOAT64;
	sim_granular *granular = sim_create_granular(context, &def, &error);
	if (granular == nullptr) {
		fail(error.text);
	}
	StepTimes times;
	double start = 0, build = 0, detection = 0, update = 0;
	sim_granular_step step;
	for (int i = 0; i < setting.warm_up + setting.steps; i++) {
		if (i == setting.warm_up) {
			start = wall_ms();
			times.lists = 0;
			build = detection = update = 0;
		}
		if (!sim_granular_advance(granular, &step, &error)) {
			fail(error.text);
		}
		times.lists += step.list_built;
		build += step.ms_build / setting.steps;
		detection += step.ms_detection / setting.steps;
		update += step.ms_update / setting.steps;
	}
	sim_granular_get_view(granular); // work that was put off counts
	times.ms = (wall_ms() - start) / setting.steps;
	times.contacts = static_cast<double>(step.contacts);
	char note[160];
	std::snprintf(note, sizeof note, "skin %.3f mean radii; lists %.2f, detection %.2f, update %.2f ms",
		sim_granular_get_info(granular).skin / shape.mean_radius, build, detection, update);
	times.note = note;
	sim_destroy_granular(granular);
	carom_destroy_context(context);
	return times;
}

// ---- LAMMPS ----

void write_data(const io_sphere_set &set, const StepSetting &setting, const Shape &shape, const std::string &path)
{
	FILE *file = std::fopen(path.c_str(), "w");
	if (file == nullptr) {
		fail("cannot write " + path);
	}
	std::fprintf(file, "spheres\n\n%lld atoms\n1 atom types\n", static_cast<long long>(set.count));
	const char axes[] = "xyz";
	for (int k = 0; k < 3; k++) { // strewn spheres stand out of the walls
		const double margin = 2 * shape.largest_radius;
		std::fprintf(file, "%.17g %.17g %clo %chi\n", shape.lower[k] - margin, shape.upper[k] + margin, axes[k], axes[k]);
	}
	std::fprintf(file, "\nAtoms # sphere\n\n");
	for (int64_t i = 0; i < set.count; i++) {
		double s[4];
		io_get_sphere(&set, i, s);
		std::fprintf(file, "%lld 1 %.9g %.9g %.9g %.9g %.9g\n", static_cast<long long>(i + 1), 2 * s[3], setting.density, s[0],
			s[1], s[2]);
	}
	if (std::fclose(file) != 0) {
		fail("cannot write " + path);
	}
}

void write_input(const StepSetting &setting, const Shape &shape, int64_t count, double skin, const std::string &data,
	const std::string &path)
{
	const double spacing = std::cbrt(shape.extent / static_cast<double>(count));
	const double bin = std::max(0.5 * (2 * shape.largest_radius + skin), spacing);
	std::ofstream file(path);
	std::ostringstream law;
	law << "hooke " << setting.stiffness << " 0 " << setting.damping << " 0 0 0";
	file << "units si\natom_style sphere\natom_modify sort 1000 " << bin << "\nboundary f f f\nnewton off\n"
		 << "comm_modify vel yes\nprocessors * 1 *\nread_data " << data << "\npair_style gran/" << law.str()
		 << "\npair_coeff * *\nneighbor " << skin << " bin\n"
		 << "neigh_modify every 1 delay 0 check yes one 10000 page 200000 binsize " << bin << "\n"
		 << "velocity all set 0 " << -setting.speed << " 0\nfix move all nve/sphere\n"
		 << "fix fall all gravity 9.81 vector 0 -1 0\n";
	const char axes[] = "xyz";
	for (int k = 0; k < 3; k++) {
		file << "fix wall" << axes[k] << " all wall/gran " << law.str() << " " << axes[k] << "plane " << shape.lower[k] << " "
			 << shape.upper[k] << "\n";
	}
	file << "timestep " << setting.time_step << "\ncompute touching all contact/atom\n"
		 << "compute sum all reduce sum c_touching\nthermo_style custom step c_sum\nthermo 100000000\n"
		 << "run " << setting.warm_up << "\nrun " << setting.steps << "\n";
	if (!file.flush()) {
		fail("cannot write " + path);
	}
}

/// The number that follows the last appearance of a word; -1 when there is none.
double number_after(const std::string &text, const std::string &word)
{
	const size_t at = text.rfind(word);
	return at == std::string::npos ? -1 : std::atof(text.c_str() + at + word.size());
}

/// The second column of the last line of numbers of the thermodynamic output: contacts of all
/// spheres, each pair twice.
double last_contacts(const std::string &text)
{
	std::istringstream lines(text);
	double contacts = -1;
	for (std::string line; std::getline(lines, line);) {
		std::istringstream words(line);
		double step, sum;
		std::string rest;
		if (words >> step >> sum && !(words >> rest)) {
			contacts = sum / 2;
		}
	}
	return contacts;
}

StepTimes simulate_lammps(const StepSetting &setting, const Shape &shape, int64_t count, double skin, const std::string &data)
{
	const TemporaryFile input(".in");
	write_input(setting, shape, count, skin * shape.mean_radius, data, input.path());
	std::vector<std::string> words{ "lmp", "-in", input.path(), "-log", "none" };
	if (setting.threads > 1) {
		const std::vector<std::string> start{ "mpirun", "--allow-run-as-root", "--oversubscribe", "-np",
			std::to_string(setting.threads) };
		words.insert(words.begin(), start.begin(), start.end());
	}
	const std::string text = run_program(words, { { "OMP_NUM_THREADS", "1" } });
	StepTimes times;
	const double seconds = number_after(text, "Loop time of");
	if (seconds < 0) {
		fail("lmp printed no loop time");
	}
	times.ms = 1e3 * seconds / setting.steps;
	times.contacts = last_contacts(text);
	times.lists = static_cast<int>(number_after(text, "Neighbor list builds ="));
	times.note = "skin " + std::to_string(skin) + " mean radii";
	return times;
}

void print_times(const char *name, const StepTimes &times, double reference)
{
	std::printf("%-12s %10.3f %8.2f %12.0f %8d  %s\n", name, times.ms, times.ms / reference, times.contacts, times.lists,
		times.note.c_str());
	std::fflush(stdout);
}

bool lammps_is_there(const StepSetting &setting)
{
	return find_program("lmp") && (setting.threads == 1 || find_program("mpirun"));
}

} // namespace

void compare_steps(const io_sphere_set &set, const StepSetting &setting)
{
	const Shape shape = shape_of(set);
	const bool beside = lammps_is_there(setting);
	const TemporaryFile data(".data");
	std::printf("\n%d steps after %d of %g s, %d thread%s or process%s\n%-12s %10s %8s %12s %8s\n", setting.steps,
		setting.warm_up, setting.time_step, setting.threads, setting.threads == 1 ? "" : "s", setting.threads == 1 ? "" : "es",
		"", "ms a step", "ratio", "contacts", "lists");
	StepTimes ours = simulate_ours(set, setting, shape), theirs;
	double best_skin = setting.skins.front();
	if (beside) {
		write_data(set, setting, shape, data.path());
		for (const double skin : setting.skins) {
			const StepTimes times = simulate_lammps(setting, shape, set.count, skin, data.path());
			if (theirs.ms == 0 || times.ms < theirs.ms) {
				theirs = times;
				best_skin = skin;
			}
		}
	}
	for (int round = 1; round < setting.rounds; round++) {
		const StepTimes again = simulate_ours(set, setting, shape);
		ours = again.ms < ours.ms ? again : ours;
		const StepTimes other = beside ? simulate_lammps(setting, shape, set.count, best_skin, data.path()) : theirs;
		theirs = other.ms < theirs.ms ? other : theirs;
	}
	print_times("carom", ours, ours.ms);
	if (beside) {
		print_times("lammps", theirs, ours.ms);
	} else {
		std::printf("lammps: not in PATH (Debian: lammps%s)\n", setting.threads > 1 ? ", and mpirun" : "");
	}
}

} // namespace bench
