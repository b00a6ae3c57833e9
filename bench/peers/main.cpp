/// carom_peers: Carom and the libraries that were found when it was built, on the same recorded
/// motion, in one run. The libraries take turns, repetition by repetition and frame by frame, so
/// that other work of the machine hits all alike. Findings are compared before any time is printed.

#include "peer_clock.h"
#include "peer_report.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace bench {

const std::vector<PeerEntry> &peer_table()
{
	static const std::vector<PeerEntry> table = {
		{ "carom", "whole step: moving, pairs, all contacts, continued from the steps before", create_carom },
		{ "carom, full", "the same with every pair worked out again", create_carom_full },
#ifdef BENCH_HAVE_ODE
		{ "ode", "dCollide of trimeshes", create_ode },
#endif
#ifdef BENCH_HAVE_BULLET
		{ "bullet gimpact", "margin 0", create_bullet },
#endif
#ifdef BENCH_HAVE_FCL
		{ "fcl obb", "contacts; their depth is not real", create_fcl },
#endif
	};
	return table;
}

const std::vector<CasterEntry> &caster_table()
{
	static const std::vector<CasterEntry> table = {
		{ "carom wide", create_carom_caster },
		{ "carom binary", create_carom_binary_caster },
#ifdef BENCH_HAVE_EMBREE
		{ "embree plug-in", create_embree_plugin },
		{ "embree single, robust", create_embree_single },
		{ "embree by 8, robust", create_embree_packet },
#endif
	};
	return table;
}

void fail(const std::string &what)
{
	std::fprintf(stderr, "carom_peers: error: %s\n", what.c_str());
	std::exit(1);
}

namespace {

using bench::thread_ms;

const char usage[] =
	"usage: carom_peers TRAJECTORY MESH [--truth FILE] [--phase NAME=FIRST:LAST:COUNT]... [--reps N] [--csv FILE] [--only collide|rays]\n"
	"Detects the collisions of recorded frames with Carom and with every library found at build time, one thread each.\n"
	"  --truth FILE   list of truly intersecting pairs, lines \"frame a b\", plain or gzip\n"
	"  --phase ...    COUNT frames spread over FIRST..LAST; default A=0:50:6 B=80:110:11 C=420:599:10\n"
	"  --reps N       repetitions of each frame, default 5\n"
	"  --csv FILE     write all figures with commit, compiler, flags and machine\n"
	"  --only WHAT    collisions or rays alone\n";

struct Options {
	std::string trajectory, mesh, truth, csv;
	std::vector<Phase> phases;
	int reps = 5;
	bool collide = true;
	bool rays = true;
};

[[noreturn]] void wrong_usage(const std::string &what)
{
	std::fprintf(stderr, "carom_peers: %s\n%s", what.c_str(), usage);
	std::exit(2);
}

/// One option with its value.
void read_option(Options &options, const std::string &name, const std::string &value)
{
	Phase phase;
	if (name == "--truth") {
		options.truth = value;
	} else if (name == "--csv") {
		options.csv = value;
	} else if (name == "--phase" && parse_phase(value, phase)) {
		options.phases.push_back(phase);
	} else if (name == "--reps" && std::atoi(value.c_str()) > 0) {
		options.reps = std::atoi(value.c_str());
	} else if (name == "--only" && (value == "collide" || value == "rays")) {
		options.collide = value == "collide";
		options.rays = value == "rays";
	} else {
		wrong_usage("wrong option " + name + " " + value);
	}
}

Options read_options(int argc, char **argv)
{
	Options options;
	std::vector<std::string> files;
	for (int i = 1; i < argc; i++) {
		std::string word = argv[i];
		if (word == "--help") {
			std::fputs(usage, stdout);
			std::exit(0);
		}
		if (word.rfind("--", 0) != 0) {
			files.push_back(word);
		} else if (i + 1 < argc) {
			read_option(options, word, argv[++i]);
		} else {
			wrong_usage("option " + word + " needs a value");
		}
	}
	if (files.size() != 2) {
		wrong_usage("a trajectory and a mesh are needed");
	}
	options.trajectory = files[0];
	options.mesh = files[1];
	if (options.phases.empty()) {
		options.phases.resize(3);
		parse_phase("A=0:50:6", options.phases[0]);
		parse_phase("B=80:110:11", options.phases[1]);
		parse_phase("C=420:599:10", options.phases[2]);
	}
	return options;
}

double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	size_t n = values.size();
	return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

/// How many elements of a sorted list are not in the other.
int64_t count_missing(const std::vector<Pair> &list, const std::vector<Pair> &other)
{
	std::vector<Pair> rest;
	std::set_difference(list.begin(), list.end(), other.begin(), other.end(), std::back_inserter(rest));
	return static_cast<int64_t>(rest.size());
}

/// Run all libraries on one frame, in turns; add the outcome to the result of its phase.
void run_frame(
	const std::vector<std::unique_ptr<Peer>> &peers, const Frame &frame, int reps, const Truth &truth, PhaseResult &result)
{
	std::vector<std::vector<double>> times(peers.size());
	std::vector<Answer> answers(peers.size());
	for (int rep = 0; rep < reps; rep++) {
		for (size_t i = 0; i < peers.size(); i++) {
			peers[i]->place(frame);
			Answer answer;
			answer.colliding.reserve(frame.pairs.size());
			double start = thread_ms();
			peers[i]->work(frame, answer);
			times[i].push_back(thread_ms() - start);
			std::sort(answer.colliding.begin(), answer.colliding.end());
			answers[i] = std::move(answer);
		}
	}
	auto listed = truth.find(frame.index);
	result.listed_frames += listed != truth.end();
	for (size_t i = 0; i < peers.size(); i++) {
		Measured &m = result.peers[i];
		m.min_ms += *std::min_element(times[i].begin(), times[i].end());
		m.median_ms += median(times[i]);
		m.colliding += static_cast<double>(answers[i].colliding.size());
		m.contacts += static_cast<double>(answers[i].contacts);
		m.missing += count_missing(answers[0].colliding, answers[i].colliding);
		m.extra += count_missing(answers[i].colliding, answers[0].colliding);
		if (listed != truth.end()) {
			m.missed += count_missing(listed->second, answers[i].colliding);
			m.invented += count_missing(answers[i].colliding, listed->second);
		}
	}
}

PhaseResult run_phase(
	const Motion &motion, const std::vector<std::unique_ptr<Peer>> &peers, const Phase &phase, int reps, const Truth &truth)
{
	PhaseResult result;
	result.phase = phase.name;
	result.frames = static_cast<int>(phase.frames.size());
	result.peers.resize(peers.size());
	for (int index : phase.frames) {
		Frame frame = make_frame(motion, index);
		result.pairs += static_cast<double>(frame.pairs.size()) / result.frames;
		run_frame(peers, frame, reps, truth, result);
	}
	for (Measured &m : result.peers) {
		m.min_ms /= result.frames;
		m.median_ms /= result.frames;
		m.colliding /= result.frames;
		m.contacts /= result.frames;
	}
	return result;
}

/// Rays whose answers differ: hit or not, from which side, or t by more than 1e-5 of itself and the
/// rounding of the mesh's size.
int64_t count_differences(const RayHits &a, const RayHits &b, double size)
{
	int64_t count = 0;
	for (size_t i = 0; i < a.t.size(); i++) {
		bool hit_a = a.triangle[i] >= 0, hit_b = b.triangle[i] >= 0;
		double t = a.t[i], difference = std::fabs(t - b.t[i]);
		bool same = hit_a == hit_b && (!hit_a || (a.back_face[i] == b.back_face[i] && difference <= 1e-5 * t + 1e-6 * size));
		count += !same;
	}
	return count;
}

void cast_frame(
	const std::vector<std::unique_ptr<Caster>> &casters, const RaySet &rays, int reps, double size, RayResult &result)
{
	std::vector<std::vector<double>> times(casters.size());
	std::vector<RayHits> hits(casters.size(), RayHits(rays.count()));
	for (int rep = 0; rep < reps; rep++) {
		for (size_t i = 0; i < casters.size(); i++) {
			casters[i]->prepare(rays);
			double start = thread_ms();
			casters[i]->cast(rays);
			times[i].push_back(thread_ms() - start);
			casters[i]->collect(hits[i]);
		}
	}
	for (size_t i = 0; i < casters.size(); i++) {
		MeasuredRays &m = result.casters[i];
		m.min_ns += 1e6 * *std::min_element(times[i].begin(), times[i].end());
		m.median_ns += 1e6 * median(times[i]);
		m.hits +=
			std::count_if(hits[i].triangle.begin(), hits[i].triangle.end(), [](int32_t triangle) { return triangle >= 0; });
		m.differences += count_differences(hits[0], hits[i], size);
	}
	result.rays += rays.count();
}

RayResult run_rays(const Motion &motion, const std::vector<std::unique_ptr<Caster>> &casters, const Phase &phase, int reps)
{
	RayResult result;
	result.phase = phase.name;
	result.frames = static_cast<int>(phase.frames.size());
	result.casters.resize(casters.size());
	double size = 0;
	for (int k = 0; k < 3; k++) {
		size = std::max<double>(size, motion.mesh.upper[k] - motion.mesh.lower[k]);
	}
	for (int index : phase.frames) {
		cast_frame(casters, collect_rays(motion.mesh, make_frame(motion, index)), reps, size, result);
	}
	for (MeasuredRays &m : result.casters) {
		m.min_ns /= static_cast<double>(std::max<int64_t>(result.rays, 1));
		m.median_ns /= static_cast<double>(std::max<int64_t>(result.rays, 1));
	}
	return result;
}

} // namespace
} // namespace bench

int main(int argc, char **argv)
{
	using namespace bench;
	Options options = read_options(argc, argv);
	Motion motion = load_motion(options.trajectory, options.mesh);
	Truth truth = options.truth.empty() ? Truth() : load_truth(options.truth);
	for (const Phase &phase : options.phases) {
		if (phase.frames.back() >= motion.frame_count) {
			fail("phase " + std::string(1, phase.name) + " ends after the last frame, " +
				std::to_string(motion.frame_count - 1));
		}
	}
	print_head(motion, options.reps);
	std::vector<PhaseResult> phases;
	if (options.collide) {
		std::vector<std::unique_ptr<Peer>> peers;
		for (const PeerEntry &entry : peer_table()) {
			peers.push_back(entry.create(motion.mesh, motion.body_count));
		}
		for (const Phase &phase : options.phases) {
			phases.push_back(run_phase(motion, peers, phase, options.reps, truth));
			print_phase(phases.back());
		}
	}
	std::vector<RayResult> rays;
	if (options.rays) {
		std::vector<std::unique_ptr<Caster>> casters;
		for (const CasterEntry &entry : caster_table()) {
			casters.push_back(entry.create(motion.mesh));
		}
		for (const Phase &phase : options.phases) {
			rays.push_back(run_rays(motion, casters, phase, options.reps));
			print_rays(rays.back());
		}
	}
	if (!options.csv.empty() && !write_csv(options.csv, phases, rays)) {
		fail("cannot write " + options.csv);
	}
	return 0;
}
