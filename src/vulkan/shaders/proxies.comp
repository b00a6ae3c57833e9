#version 460
// The boxes that rays look for: a box around each proxy of twice the radius (Mochi, Algorithm 1).
//
// address: 0 spheres in the order of the boxes [count], 1 lower and upper corners [6*count]. word: 0
// count, 1 scale and 2 add of the reach of a box.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "reach.glsl"

const float LARGEST = 3.4028234663852886e+38;

void main()
{
	const uint i = item_number();
	if (i >= arguments.word[0])
		return;
	const vec4 sphere = Spheres(arguments.address[0]).at[i];
	const vec3 far = box_reach(sphere, uintBitsToFloat(arguments.word[1]), uintBitsToFloat(arguments.word[2]));
	// An infinite bound would be one that no driver promises to understand.
	const vec3 lower = max(sphere.xyz - far, -LARGEST), upper = min(sphere.xyz + far, LARGEST);
	Floats boxes = Floats(arguments.address[1]);
	for (int k = 0; k < 3; k++) {
		boxes.at[6 * i + k] = lower[k];
		boxes.at[6 * i + 3 + k] = upper[k];
	}
}
