#version 460
// No box has kept a ray: so it ends, always.
#extension GL_EXT_ray_tracing : require

void main() {}
