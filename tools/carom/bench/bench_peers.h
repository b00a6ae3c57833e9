/// @file bench_peers.h
/// Other libraries on the same motion, by the program carom_peers (bench/peers), which is built
/// where their packages are.
#ifndef CAROM_TOOL_BENCH_PEERS_H
#define CAROM_TOOL_BENCH_PEERS_H

#include "bench_motion.h"
#include "sim/base/sim_error.h"

enum { BENCH_MAX_PEERS = 12, BENCH_PEER_PHASES = 3 };

/// Milliseconds for a frame, least of the repeats, mean over some frames of each window. Number 0
/// is Carom.
typedef struct bench_peer_times {
	char names[BENCH_MAX_PEERS][BENCH_CELL_SIZE];
	double ms[BENCH_MAX_PEERS][BENCH_PEER_PHASES];
	int count;
} bench_peer_times;

/// Room for files with names of up to 31 bytes in an IO_PATH_MAX.
enum { BENCH_FOLDER_SIZE = IO_PATH_MAX - 32 };

/// Write the motion of the bodies that move for carom_peers, run it, read its figures. False, with
/// a reason that a reader understands, when the program is not there or fails, or the bodies do not
/// all have one mesh.
bool bench_run_peers(const bench *b, const bench_motion *motion, const bench_window windows[BENCH_PEER_PHASES],
	bench_peer_times *times, sim_error *reason);

#endif
