// State as bytes: see tape.h.
#include "sim/base/tape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(sim_tape *tape, size_t more)
{
	if (more <= tape->room - tape->size)
		return true;
	const size_t room = 2 * tape->room + more + 1024;
	unsigned char *bytes = realloc(tape->bytes, room);
	if (!bytes)
		return false;
	tape->bytes = bytes;
	tape->room = room;
	return true;
}

void sim_tape_move(sim_tape *tape, void *data, size_t size)
{
	if (tape->failed || size == 0)
		return;
	if (tape->writing) {
		tape->failed = !reserve(tape, size);
		if (tape->failed)
			return;
		memcpy(tape->bytes + tape->size, data, size);
		tape->size += size;
		return;
	}
	tape->failed = size > tape->size - tape->at;
	if (tape->failed)
		return;
	memcpy(data, tape->bytes + tape->at, size);
	tape->at += size;
}

void sim_tape_expect(sim_tape *tape, long long number)
{
	int64_t moved = number;
	sim_tape_move(tape, &moved, sizeof moved);
	tape->failed |= moved != number;
}

bool sim_tape_is_done(const sim_tape *tape) { return !tape->failed && tape->at == tape->size; }

void sim_free_tape(sim_tape *tape)
{
	free(tape->bytes);
	*tape = (sim_tape){ 0 };
}
