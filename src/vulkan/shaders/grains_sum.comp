#version 460
// Sums what the workgroups of a step have found into its result, and ends the step. One workgroup.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "grains.glsl"

const uint THREADS = 128;
shared Tally tallies[THREADS];

Tally join(Tally a, Tally b)
{
	a.overlap = max(a.overlap, b.overlap);
	a.contacts += b.contacts;
	a.wall_contacts += b.wall_contacts;
	a.lost = min(a.lost, b.lost);
	a.moved = max(a.moved, b.moved);
	return a;
}

void end_step(Tally all)
{
	const uint step = control().at[STEP];
	Result result;
	result.overlap = all.overlap;
	result.contacts = all.contacts;
	result.wall_contacts = all.wall_contacts;
	result.lost = all.lost;
	result.built = control().at[BUILT];
	result.moved = all.moved;
	result.none = 0;
	Results(setup.results).at[step] = result;
	control().at[MOVED] = floatBitsToUint(all.moved);
	control().at[STEP] = step + 1;
	if (all.lost != NONE_LOST)
		control().at[STOP] = STOP_LOST;
}

void main()
{
	const uint lane = gl_LocalInvocationIndex;
	if (group_number() != 0)
		return; // the whole workgroup
	Tally all;
	all.overlap = 0;
	all.contacts = all.wall_contacts = 0;
	all.lost = NONE_LOST;
	all.moved = 0;
	for (uint g = lane; g < setup.group_count; g += THREADS)
		all = join(all, Tallies(setup.tallies).at[g]);
	tallies[lane] = all;
	barrier();
	for (uint part = THREADS / 2; part > 0; part /= 2) {
		if (lane < part)
			tallies[lane] = join(tallies[lane], tallies[lane + part]);
		barrier();
	}
	if (lane == 0)
		end_step(tallies[0]);
}
