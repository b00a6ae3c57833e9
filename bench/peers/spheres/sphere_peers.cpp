/// carom_sphere_peers: Carom and the libraries that were found when it was built, on the same set
/// of spheres, in one run. All take turns, so that other work of the machine hits all alike.
/// Findings are compared before any time is printed.

#include "sphere_finders.h"
#include "peer_process.h"
#include "scene/sphere_sampling.h"
#include "step_times.h"
#include "yardstick.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "build_info.h"

namespace bench {

const std::vector<FinderEntry> &finder_table()
{
	static const std::vector<FinderEntry> table = {
		{ "carom", create_carom_finder },
#ifdef BENCH_HAVE_EMBREE
		{ "embree rtcCollide", create_embree_finder },
#endif
#ifdef BENCH_HAVE_NANOFLANN
		{ "nanoflann", create_nanoflann_finder },
#endif
	};
	return table;
}

double wall_ms()
{
	const auto time = std::chrono::steady_clock::now().time_since_epoch();
	return 1e-6 * static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	const size_t n = values.size();
	return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

void fail(const std::string &what)
{
	std::fprintf(stderr, "carom_sphere_peers: error: %s\n", what.c_str());
	std::exit(1);
}

namespace {

const char usage[] =
	"usage: carom_sphere_peers SET... [--threads N] [--reps N] [--rounds N] [--only carom] [--yardstick PROGRAM:METHOD]...\n"
	"                          [--steps N] [--warm-up N] [--dt S] [--stiffness K] [--damping G] [--speed V] [--skins A,B,...]\n"
	"                          [--csv FILE]\n"
	"SET: a file of spheres, free:N (radii 0.0005 to 0.0006 in a cube of side 1), apart:N (the same without those that touch each other or the walls) or\n"
	"wide:N:RMAX:SIDE.\n"
	"--yardstick: a program that is run as PROGRAM FILE METHOD REPS and prints total_ms and pairs.\n"
	"--steps: granular steps beside LAMMPS (lmp in PATH) in place of pairs.\n";

struct Yardstick {
	std::string program, method;
};

struct Options {
	std::vector<std::string> sets;
	int threads = 1, reps = 3, rounds = 3;
	bool alone = false;
	std::vector<Yardstick> yardsticks;
	StepSetting step;
	std::string csv;
};

[[noreturn]] void wrong_usage(const std::string &what)
{
	std::fprintf(stderr, "carom_sphere_peers: %s\n%s", what.c_str(), usage);
	std::exit(2);
}

/// A whole number of at least 1.
int count_of(const std::string &name, const std::string &value)
{
	const int count = std::atoi(value.c_str());
	if (count < 1) {
		wrong_usage(name + " needs a number of at least 1");
	}
	return count;
}

double number_of(const std::string &name, const std::string &value)
{
	char *end;
	const double number = std::strtod(value.c_str(), &end);
	if (value.empty() || *end != 0 || !(number >= 0)) {
		wrong_usage(name + " needs a number that is not negative");
	}
	return number;
}

std::vector<double> numbers_of(const std::string &name, const std::string &value)
{
	std::vector<double> numbers;
	std::istringstream words(value);
	for (std::string word; std::getline(words, word, ',');) {
		numbers.push_back(number_of(name, word));
	}
	if (numbers.empty()) {
		wrong_usage(name + " needs numbers");
	}
	return numbers;
}

Yardstick yardstick_of(const std::string &value)
{
	const size_t colon = value.rfind(':');
	if (colon == std::string::npos || colon == 0 || colon + 1 == value.size()) {
		wrong_usage("--yardstick needs PROGRAM:METHOD");
	}
	return { value.substr(0, colon), value.substr(colon + 1) };
}

/// One option with its value.
void read_option(Options &options, const std::string &name, const std::string &value)
{
	if (name == "--threads") {
		options.threads = options.step.threads = count_of(name, value);
	} else if (name == "--reps") {
		options.reps = count_of(name, value);
	} else if (name == "--rounds") {
		options.rounds = options.step.rounds = count_of(name, value);
	} else if (name == "--only" && value == "carom") {
		options.alone = true;
	} else if (name == "--yardstick") {
		options.yardsticks.push_back(yardstick_of(value));
	} else if (name == "--steps") {
		options.step.steps = count_of(name, value);
	} else if (name == "--warm-up") {
		options.step.warm_up = count_of(name, value);
	} else if (name == "--dt") {
		options.step.time_step = number_of(name, value);
	} else if (name == "--stiffness") {
		options.step.stiffness = number_of(name, value);
	} else if (name == "--damping") {
		options.step.damping = number_of(name, value);
	} else if (name == "--speed") {
		options.step.speed = number_of(name, value);
	} else if (name == "--skins") {
		options.step.skins = numbers_of(name, value);
	} else if (name == "--csv") {
		options.csv = value;
	} else {
		wrong_usage("wrong option " + name + " " + value);
	}
}

Options read_options(int argc, char **argv)
{
	Options options;
	for (int i = 1; i < argc; i++) {
		const std::string word = argv[i];
		if (word == "--help") {
			std::fputs(usage, stdout);
			std::exit(0);
		}
		if (word.rfind("--", 0) != 0) {
			options.sets.push_back(word);
		} else if (i + 1 < argc) {
			read_option(options, word, argv[++i]);
		} else {
			wrong_usage("option " + word + " needs a value");
		}
	}
	if (options.sets.empty()) {
		wrong_usage("a set of spheres is needed");
	}
	return options;
}

// ---- Sets ----

/// A set that everybody can read: made ones are saved for the programs that run beside.
struct Workload {
	io_sphere_set set = {};
	std::string path;
	std::unique_ptr<TemporaryFile> made;
	~Workload() { io_free_spheres(&set); }
	SphereView view() const { return { static_cast<const Sphere *>(set.values), set.count }; }
};

/// Take out of a set the spheres that touch one of a lower number, and those that stand out of the
/// cube: springs would throw it about.
void take_apart(io_sphere_set &set, double side)
{
	carom_context *context = nullptr;
	carom_spheres *spheres = nullptr;
	carom_sphere_pairs pairs = {};
	const carom_context_def context_def = carom_default_context_def();
	const carom_spheres_def def = carom_default_spheres_def();
	const carom_sphere_input input = io_sphere_input(&set);
	if (carom_create_context(&context_def, &context) != CAROM_SUCCESS ||
		carom_create_spheres(context, &def, &spheres) != CAROM_SUCCESS ||
		carom_spheres_update(spheres, &input) != CAROM_SUCCESS || carom_spheres_find_pairs(spheres, &pairs) != CAROM_SUCCESS) {
		fail("the spheres cannot be taken apart");
	}
	std::vector<bool> out(static_cast<size_t>(set.count), false);
	for (int64_t i = 0; i < pairs.count; i++) {
		out[pairs.pairs[i].b] = true;
	}
	Sphere *const values = static_cast<Sphere *>(set.values);
	for (int64_t i = 0; i < set.count; i++) {
		const Sphere &s = values[i];
		const float least = std::min({ s.x, s.y, s.z }), most = std::max({ s.x, s.y, s.z });
		out[static_cast<size_t>(i)] = out[static_cast<size_t>(i)] || least < s.r || most > static_cast<float>(side) - s.r;
	}
	const int64_t before = set.count;
	set.count = 0;
	for (int64_t i = 0; i < before; i++) {
		if (!out[static_cast<size_t>(i)]) {
			values[set.count++] = values[i];
		}
	}
	carom_destroy_spheres(spheres);
	carom_destroy_context(context);
}

void strew(Workload &work, int64_t count, double radius, double side, bool apart)
{
	sim_error error;
	if (count < 1 || !scene_strew_spheres(count, 0.0005, radius, side, 1, &work.set)) {
		fail("so many spheres cannot be made");
	}
	if (apart) {
		take_apart(work.set, side);
	}
	work.set.has_walls = true;
	for (int k = 0; k < 3; k++) {
		work.set.upper[k] = static_cast<float>(side);
	}
	work.made = std::make_unique<TemporaryFile>(".sph");
	work.path = work.made->path();
	if (!io_save_spheres(work.path.c_str(), &work.set, &error)) {
		fail(work.path + ": " + error.text);
	}
}

void load_workload(Workload &work, const std::string &name)
{
	sim_error error;
	long long count = 0;
	double radius = 0, side = 0;
	int end = 0;
	if (std::sscanf(name.c_str(), "free:%lld%n", &count, &end) == 1 && name[static_cast<size_t>(end)] == 0) {
		strew(work, count, 0.0006, 1, false);
		return;
	}
	if (std::sscanf(name.c_str(), "apart:%lld%n", &count, &end) == 1 && name[static_cast<size_t>(end)] == 0) {
		strew(work, count, 0.0006, 1, true);
		return;
	}
	if (std::sscanf(name.c_str(), "wide:%lld:%lf:%lf%n", &count, &radius, &side, &end) == 3 &&
		name[static_cast<size_t>(end)] == 0) {
		strew(work, count, radius, side, false);
		return;
	}
	const io_sphere_reading reading = { -1, false };
	if (!io_load_spheres(name.c_str(), &reading, &work.set, &error)) {
		fail(name + ": " + error.text);
	}
	work.path = name;
}

// ---- Pairs ----

struct Measured {
	std::string name;
	double build_ms = 0, query_ms = 0; ///< of the repetition with the least sum
	double least_ms = INFINITY;
	double sort_ms = 0;
	std::vector<double> totals; ///< or the medians of the blocks of an external program
	Found found;
};

void note_time(Measured &m, double build, double query, double sort)
{
	m.totals.push_back(build + query);
	if (build + query < m.least_ms) {
		m.least_ms = build + query;
		m.build_ms = build;
		m.query_ms = query;
		m.sort_ms = sort;
	}
}

void run_finder(SphereFinder &finder, Measured &m)
{
	const double start = wall_ms();
	finder.build();
	const double built = wall_ms();
	finder.find();
	const double end = wall_ms();
	const double sort = finder.sorting_ms();
	note_time(m, built - start, end - built - sort, sort);
	m.found = finder.found();
}

/// Each round: all libraries in turns, so many times; then each external program, which repeats by
/// itself.
std::vector<Measured> measure_pairs(const Workload &work, const Options &options)
{
	std::vector<std::unique_ptr<SphereFinder>> finders;
	std::vector<Measured> measured;
	for (const FinderEntry &entry : finder_table()) {
		if (finders.empty() || !options.alone) {
			finders.push_back(entry.create(work.view(), options.threads));
			measured.emplace_back();
			measured.back().name = entry.name;
		}
	}
	for (const Yardstick &yardstick : options.yardsticks) {
		measured.emplace_back();
		measured.back().name = yardstick.program.substr(yardstick.program.rfind('/') + 1) + " " + yardstick.method;
	}
	for (int round = 0; round < options.rounds; round++) {
		for (int rep = 0; rep < options.reps; rep++) {
			for (size_t i = 0; i < finders.size(); i++) {
				run_finder(*finders[i], measured[i]);
			}
		}
		for (size_t i = 0; i < options.yardsticks.size(); i++) {
			const Yardstick &yardstick = options.yardsticks[i];
			const YardstickRun run =
				run_yardstick(yardstick.program, work.path, yardstick.method, options.reps, options.threads);
			Measured &m = measured[finders.size() + i];
			note_time(m, run.build_ms, run.total_ms - run.build_ms, 0);
			m.totals.back() = run.median_ms >= 0 ? run.median_ms : run.total_ms;
			m.found = run.found;
		}
	}
	return measured;
}

void check_pairs(const Workload &work, const std::vector<Measured> &measured)
{
	const Found &ours = measured.front().found;
	if (work.set.has_expected && !(ours == Found{ static_cast<int64_t>(work.set.expected_pairs), work.set.expected_hash })) {
		fail("the header of the snapshot tells of other pairs than Carom finds");
	}
	for (const Measured &m : measured) {
		if (!(m.found == ours)) {
			fail(m.name + " finds " + std::to_string(m.found.pairs) + " pairs and Carom " + std::to_string(ours.pairs) +
				", or others");
		}
	}
}

void print_pairs(const std::string &name, const Workload &work, const std::vector<Measured> &measured, const Options &options)
{
	const Found &found = measured.front().found;
	std::printf("\n%s: %lld spheres, %lld pairs (%016llx, the same for all), %d thread%s\n%-20s %10s %10s %8s %10s %10s %8s\n",
		name.c_str(), static_cast<long long>(work.set.count), static_cast<long long>(found.pairs),
		static_cast<unsigned long long>(found.hash), options.threads, options.threads == 1 ? "" : "s", "", "min ms", "median",
		"ratio", "build", "query", "sort");
	for (const Measured &m : measured) {
		std::printf("%-20s %10.3f %10.3f %8.2f %10.3f %10.3f %8.3f\n", m.name.c_str(), m.least_ms, median(m.totals),
			m.least_ms / measured.front().least_ms, m.build_ms, m.query_ms, m.sort_ms);
	}
	std::fflush(stdout);
}

/// The processor by name, as Linux tells it.
std::string machine_name()
{
	std::ifstream file("/proc/cpuinfo");
	for (std::string line; std::getline(file, line);) {
		const size_t colon = line.find(": ");
		if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
			return line.substr(colon + 2);
		}
	}
	return "unknown";
}

void write_rows(
	std::ostream &file, const std::string &name, const Workload &work, const std::vector<Measured> &measured, int threads)
{
	for (const Measured &m : measured) {
		file << '"' << name << "\"," << work.set.count << ',' << m.found.pairs << ',' << threads << ",\"" << m.name << "\","
			 << m.least_ms << ',' << median(m.totals) << ',' << m.build_ms << ',' << m.query_ms << ',' << m.sort_ms << ','
			 << m.least_ms / measured.front().least_ms << ",\"" << BUILD_COMMIT << "\",\"" << BUILD_COMPILER << "\",\""
			 << BUILD_FLAGS << "\",\"" << machine_name() << "\"\n";
	}
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
	using namespace bench;
	const Options options = read_options(argc, argv);
#ifdef __GLIBC__
	// Memory that was given back stays with the process, so that no library pays for new pages in
	// every repetition.
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, -1);
#endif
	std::printf("commit %s, %s, flags %s\nmachine %s\n", BUILD_COMMIT, BUILD_COMPILER, BUILD_FLAGS, machine_name().c_str());
	std::ofstream csv;
	if (!options.csv.empty()) {
		csv.open(options.csv);
		csv << "set,spheres,pairs,threads,name,min_ms,median_ms,build_ms,query_ms,sort_ms,ratio_to_carom,commit,compiler,flags,"
			   "machine\n";
	}
	for (const std::string &name : options.sets) {
		Workload work;
		load_workload(work, name);
		if (options.step.steps > 0) {
			std::printf("\n%s: %lld spheres", name.c_str(), static_cast<long long>(work.set.count));
			compare_steps(work.set, options.step);
			continue;
		}
		const std::vector<Measured> measured = measure_pairs(work, options);
		check_pairs(work, measured);
		print_pairs(name, work, measured, options);
		write_rows(csv, name, work, measured, options.threads);
	}
	if (!options.csv.empty() && !csv.flush()) {
		fail("cannot write " + options.csv);
	}
	return 0;
}
