#version 460
// Sums the overlaps of touching pairs, which Carom has left on the device. A workgroup sums a part.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 64) in;

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Pairs { uvec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Spheres { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Sums { float at[]; };

layout(push_constant) uniform Arguments
{
	Pairs pairs;
	Spheres spheres;
	Sums sums;
	uint count;
} arguments;

shared float part[64];

void main()
{
	const uint me = gl_LocalInvocationID.x;
	float sum = 0;
	for (uint i = gl_GlobalInvocationID.x; i < arguments.count; i += gl_NumWorkGroups.x * 64) {
		const uvec2 pair = arguments.pairs.at[i];
		const vec4 a = arguments.spheres.at[pair.x], b = arguments.spheres.at[pair.y];
		sum += a.w + b.w - distance(a.xyz, b.xyz);
	}
	part[me] = sum;
	barrier();
	for (uint half_size = 32; half_size > 0; half_size /= 2) {
		if (me < half_size)
			part[me] += part[me + half_size];
		barrier();
	}
	if (me == 0)
		arguments.sums.at[gl_WorkGroupID.x] = part[0];
}
