// What all shaders share: the buffers, which they reach by address.
//
// One layout of push constants serves every kernel: addresses of buffers and words, whose meaning
// each kernel says at its head. There are no descriptor sets.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

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
