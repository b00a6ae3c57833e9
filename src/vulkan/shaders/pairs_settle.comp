#version 460
// Takes over the processor's verdicts about pairs in doubt.
//
// address: 0 pairs of places, 1 doubts (pairs_name.comp), 2 verdicts: 1 where both touch, else 0
// [doubts]. word: 0 doubts.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "doubt.glsl"

void main()
{
	const uint i = item_number();
	if (i >= arguments.word[0])
		return;
	const uint pair = Words(arguments.address[1]).at[3 * i], place = Words(arguments.address[1]).at[3 * i + 2];
	Pairs(arguments.address[0]).at[pair].y = Words(arguments.address[2]).at[i] != 0 ? place : NO_PAIR;
}
