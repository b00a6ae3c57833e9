#version 460
// Counts the neighbours of each sphere, and keeps the first of them (grains_rows.glsl).
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "grains.glsl"
#define ACCESS readonly
#include "tree.glsl"
#include "grains_rows.glsl"

uint found = 0;

void take(uint place)
{
	if (found < SLOTS)
		Words(setup.slots).at[found * setup.count + own_place] = Words(setup.order).at[place];
	found++;
}

void main()
{
	const uint place = item_number();
	if (place == setup.count)
		Words(setup.counts).at[setup.count] = 0; // the sum up to here is that of all
	if (place >= setup.count)
		return;
	const uint sphere = Words(setup.order).at[place];
	search_place(place, sphere);
	Words(setup.counts).at[sphere] = found;
}
