#version 460
// Spheres for a list: in single precision from the origin, with half the room that the tree's
// kernels clear else; and the places that displacements are measured from.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "kernel.glsl"
#include "grains.glsl"

void main()
{
	const uint i = item_number();
	float far = 0;
	if (i < setup.count) {
		const dvec4 place = Fours(setup.places).at[i];
		precise vec4 near_origin;
		for (int k = 0; k < 3; k++)
			near_origin[k] = float(place[k] - setup.origin[k]);
		near_origin.w = float(place.w);
		Spheres(setup.floats).at[i] = near_origin;
		Fours(setup.held).at[i] = place;
		far = max(abs(near_origin.x), max(abs(near_origin.y), abs(near_origin.z)));
	}
	const float most = subgroupMax(far);
	if (subgroupElect())
		atomicMax(control().at[EXTENT], floatBitsToUint(most));
}
