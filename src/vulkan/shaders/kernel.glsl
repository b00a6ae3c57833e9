// What all compute kernels share: buffers and arguments, and their numbering.
#include "arguments.glsl"

// The number of invocations of a workgroup is set when the pipeline is made (vk_kernels.c).
layout(local_size_x_id = 0) in;

// Workgroups are laid out in two dimensions, because one holds no more than 65,535 of them on some
// devices. The last row may hold more than are wanted: every kernel compares with its count.
uint group_number() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
uint item_number() { return group_number() * gl_WorkGroupSize.x + gl_LocalInvocationIndex; }
// Invocations of this kernel: where items are more, each takes the one so many behind as its next.
uint all_items() { return gl_NumWorkGroups.x * gl_NumWorkGroups.y * gl_WorkGroupSize.x; }
