#version 460
// Tier Q: casts rays against meshes by ray queries, with the hits of mesh_cast.comp. address, word:
// mesh_blocks.glsl.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_ray_query : require
#include "kernel.glsl"
#include "mesh_blocks.glsl"
#include "mesh_line.glsl"

// Follow the line on one side of its origin.
void trace(uint job, bool forward)
{
	float end = end_of(forward ? ahead.t : behind.t);
	rayQueryEXT query;
	rayQueryInitializeEXT(query, accelerationStructureEXT(structure_of(job)), gl_RayFlagsNoneEXT, 0xff, ray_origin, 0.0,
		forward ? line_direction : -line_direction, end);
	while (rayQueryProceedEXT(query)) {
		meet_block(uint(rayQueryGetIntersectionPrimitiveIndexEXT(query, false)));
		if (doubt)
			break;
		const float nearer = end_of(forward ? ahead.t : behind.t);
		if (nearer < end) {
			rayQueryGenerateIntersectionEXT(query, nearer);
			end = nearer;
		}
	}
}

void main()
{
	const uint i = item_number();
	if (i >= arguments.word[0])
		return;
	const uint job = load_ray(i);
	if (ray_direction != vec3(0)) {
		if (!begin_trace(job))
			doubt = true;
		else
			trace(job, true);
		if (!doubt && behind.t >= 0)
			trace(job, false);
	}
	write_hits(i);
}
