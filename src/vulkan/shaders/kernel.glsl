// What all kernels share: the buffers, which they reach by address, and their numbering.
//
// One layout of push constants serves every kernel: addresses of buffers and words, whose meaning
// each kernel says at its head. There are no descriptor sets.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

// The number of invocations of a workgroup is set when the pipeline is made (vk_kernels.c).
layout(local_size_x_id = 0) in;

layout(push_constant) uniform Arguments
{
	uint64_t address[12];
	uint word[8];
} arguments;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Longs { uint64_t at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Spheres { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Pairs { uvec2 at[]; };

// Workgroups are laid out in two dimensions, because one holds no more than 65,535 of them on some
// devices. The last row may hold more than are wanted: every kernel compares with its count.
uint group_number() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
uint item_number() { return group_number() * gl_WorkGroupSize.x + gl_LocalInvocationIndex; }
