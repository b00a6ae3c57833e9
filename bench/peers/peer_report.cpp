/// Tables and CSV; see report.h.

#include "peer_report.h"

#include "build_info.h"

#include <fstream>

namespace bench {
namespace {

/// The processor by name, as Linux tells it.
std::string machine_name()
{
	std::ifstream file("/proc/cpuinfo");
	for (std::string line; std::getline(file, line);) {
		size_t colon = line.find(": ");
		if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
			return line.substr(colon + 2);
		}
	}
	return "unknown";
}

/// A field of CSV: quoted, since flags and names may hold commas.
std::string quoted(const std::string &text)
{
	std::string result = "\"";
	for (char c : text) {
		result += c == '"' ? "\"\"" : std::string(1, c);
	}
	return result + "\"";
}

double ratio(double time, double reference) { return reference > 0 ? time / reference : 0; }

} // namespace

void print_head(const Motion &motion, int repetitions)
{
	std::printf("%d bodies of %d triangles, %d frames; %d repetitions, alternating; CPU time of one thread\n",
		motion.body_count, motion.mesh.triangle_count(), motion.frame_count, repetitions);
	std::printf("commit %s, %s, flags %s\nmachine %s\n", BUILD_COMMIT, BUILD_COMPILER, BUILD_FLAGS, machine_name().c_str());
}

void print_phase(const PhaseResult &result)
{
	std::printf("\nphase %c: %d frames, %.1f box pairs a frame\n", result.phase, result.frames, result.pairs);
	std::printf(
		"%-18s %9s %9s %8s %10s %10s  %s", "", "min ms", "median", "ratio", "colliding", "contacts", "without/beyond Carom's");
	std::printf(result.listed_frames > 0 ? "  missed/invented\n" : "\n");
	for (size_t i = 0; i < result.peers.size(); i++) {
		const Measured &m = result.peers[i];
		std::printf("%-18s %9.3f %9.3f %8.2f %10.1f %10.1f  %10lld/%-11lld", peer_table()[i].name, m.min_ms, m.median_ms,
			ratio(m.min_ms, result.peers[0].min_ms), m.colliding, m.contacts, static_cast<long long>(m.missing),
			static_cast<long long>(m.extra));
		if (result.listed_frames > 0) {
			std::printf("  %6lld/%lld", static_cast<long long>(m.missed), static_cast<long long>(m.invented));
		}
		std::printf("  %s\n", peer_table()[i].note);
	}
	std::fflush(stdout);
}

void print_rays(const RayResult &result)
{
	std::printf("\nrays of phase %c: %.0f a frame\n%-22s %9s %9s %8s %12s %12s\n", result.phase,
		static_cast<double>(result.rays) / result.frames, "", "min ns", "median", "ratio", "hits", "differences");
	for (size_t i = 0; i < result.casters.size(); i++) {
		const MeasuredRays &m = result.casters[i];
		std::printf("%-22s %9.2f %9.2f %8.2f %12lld %12lld\n", caster_table()[i].name, m.min_ns, m.median_ns,
			ratio(m.min_ns, result.casters[0].min_ns), static_cast<long long>(m.hits), static_cast<long long>(m.differences));
	}
	std::fflush(stdout);
}

bool write_csv(const std::string &path, const std::vector<PhaseResult> &phases, const std::vector<RayResult> &rays)
{
	FILE *file = std::fopen(path.c_str(), "w");
	if (file == nullptr) {
		return false;
	}
	std::string origin =
		quoted(BUILD_COMMIT) + "," + quoted(BUILD_COMPILER) + "," + quoted(BUILD_FLAGS) + "," + quoted(machine_name());
	std::fprintf(file,
		"what,phase,frames,name,min,median,unit,ratio_to_carom,per_frame,found,contacts,missing,extra,listed_frames,"
		"missed,invented,commit,compiler,flags,machine\n");
	for (const PhaseResult &phase : phases) {
		for (size_t i = 0; i < phase.peers.size(); i++) {
			const Measured &m = phase.peers[i];
			std::fprintf(file, "collide,%c,%d,%s,%.4f,%.4f,ms,%.3f,%.1f,%.1f,%.1f,%lld,%lld,%d,%lld,%lld,%s\n", phase.phase,
				phase.frames, quoted(peer_table()[i].name).c_str(), m.min_ms, m.median_ms,
				ratio(m.min_ms, phase.peers[0].min_ms), phase.pairs, m.colliding, m.contacts, static_cast<long long>(m.missing),
				static_cast<long long>(m.extra), phase.listed_frames, static_cast<long long>(m.missed),
				static_cast<long long>(m.invented), origin.c_str());
		}
	}
	for (const RayResult &ray : rays) {
		for (size_t i = 0; i < ray.casters.size(); i++) {
			const MeasuredRays &m = ray.casters[i];
			std::fprintf(file, "rays,%c,%d,%s,%.4f,%.4f,ns,%.3f,%.1f,%.1f,,,%lld,,,,%s\n", ray.phase, ray.frames,
				quoted(caster_table()[i].name).c_str(), m.min_ns, m.median_ns, ratio(m.min_ns, ray.casters[0].min_ns),
				static_cast<double>(ray.rays) / ray.frames, static_cast<double>(m.hits) / ray.frames,
				static_cast<long long>(m.differences), origin.c_str());
		}
	}
	return std::fclose(file) == 0;
}

} // namespace bench
