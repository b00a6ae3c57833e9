/// @file tape.h
/// The state of a simulation as bytes, either way: one function of a simulation says what its state
/// is, and moves it to a tape or from one.
#ifndef SIM_TAPE_H
#define SIM_TAPE_H

#include <stdbool.h>
#include <stddef.h>

/// Start with all zero to read, with writing to write. The first failure stands: later moves do
/// nothing.
typedef struct sim_tape {
	unsigned char *bytes; ///< owned by whoever made the tape; sim_free_tape frees them
	size_t size, room;
	size_t at; ///< of a tape that is read
	bool writing;
	bool failed; ///< memory was short, or what is read ended too early or did not fit
} sim_tape;

/// Move so many bytes of data to the tape, or from it.
void sim_tape_move(sim_tape *tape, void *data, size_t size);

/// Move a number that is known on both sides: a tape that is read fails where it has another one.
void sim_tape_expect(sim_tape *tape, long long number);

/// Has a tape been read to its end, without a failure?
bool sim_tape_is_done(const sim_tape *tape);

/// Free the bytes.
void sim_free_tape(sim_tape *tape);

#endif
