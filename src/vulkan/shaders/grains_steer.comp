#version 460
// Decides on the device what a step does. One workgroup.
//
// word: 1 what is to be done: BEGIN a step: is its list to be made? CHECK the list: does it fit in
// its room? FLIP: the list that was made is the current one. 2 (of BEGIN) not 0 where a stop is to
// be forgotten.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "grains.glsl"

const uint BEGIN = 0, CHECK = 1, FLIP = 2;

void write_groups(bool list, bool rest)
{
	const uint me = gl_LocalInvocationIndex, threads = gl_WorkGroupSize.x;
	Words groups = Words(setup.groups), wanted = Words(setup.wanted);
	for (uint i = me; i < 3 * setup.all_slots; i += threads) {
		const bool go = i < 3 * setup.list_slots ? list : rest;
		groups.at[i] = go ? wanted.at[i] : 0;
	}
}

void begin_step(uint me)
{
	const bool forget = arguments.word[2] != 0;
	const bool stopped = control().at[STOP] != 0 && !forget;
	const bool holds = control().at[HAS_LIST] != 0 && uintBitsToFloat(control().at[MOVED]) <= setup.most_moved;
	const bool build = !stopped && !holds;
	barrier(); // all have read
	write_groups(build && (setup.flags & ORDERED) != 0, !stopped);
	if (me != 0)
		return;
	if (forget) {
		control().at[STOP] = 0;
		control().at[STEP] = 0;
	}
	control().at[BUILT] = build ? 1 : 0;
	if (build)
		control().at[EXTENT] = 0;
	if (build && (setup.flags & ORDERED) == 0) // of one sphere there is no list to make
		control().at[HAS_LIST] = 1;
}

void check_list(uint me)
{
	const uint next = 1 - control().at[CURRENT];
	uint stop = Longs(setup.sums).at[setup.count] > setup.room[next] ? STOP_ROOM : 0;
	if (!(uintBitsToFloat(control().at[EXTENT]) <= setup.allowed))
		stop |= STOP_EXTENT;
	if (stop == 0)
		return; // the whole workgroup
	write_groups(false, false);
	if (me == 0)
		control().at[STOP] = stop;
}

void main()
{
	const uint me = gl_LocalInvocationIndex;
	if (group_number() != 0)
		return; // the whole workgroup
	if (arguments.word[1] == BEGIN) {
		begin_step(me);
	} else if (arguments.word[1] == CHECK) {
		check_list(me);
	} else if (me == 0) {
		control().at[CURRENT] = 1 - control().at[CURRENT];
		control().at[HAS_LIST] = 1;
		control().at[MOVED] = 0;
		control().at[LISTS]++;
	}
}
