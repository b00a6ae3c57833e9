#version 460
// Tier Q: rays by ray query (sphere_rays.glsl).
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_ray_query : require
#include "kernel.glsl"
#define RAY
#define SEEN
#include "sphere_rays.glsl"

void main()
{
	const uint place = item_number();
	if (place >= arguments.word[0] || !begin_ray(place))
		return;
	rayQueryEXT query;
	rayQueryInitializeEXT(query, accelerationStructureEXT(arguments.address[0]), gl_RayFlagsNoneEXT, 0xff, ray.own.xyz, 0.0,
		RAY_DIRECTION, RAY_LENGTH);
	while (rayQueryProceedEXT(query)) {
		const uint find = judge(rayQueryGetIntersectionPrimitiveIndexEXT(query, false));
		if (find != NO_FIND)
			insert(find);
	}
	end_ray();
}
