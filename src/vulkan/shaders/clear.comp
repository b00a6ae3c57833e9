#version 460
// Zeroes words, where a device decides whether it is done (a fill cannot be left out).
//
// address: 0 words [count]. word: 0 count.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

void main()
{
	const uint i = item_number();
	if (i < arguments.word[0])
		Words(arguments.address[0]).at[i] = 0;
}
