// A ray of a mesh as the driver traces it, in the tiers of rays: through the boxes of the mesh's
// blocks, which mesh_blocks.glsl looks at. The line is followed from its origin, once ahead and
// once behind.
//
// No block is missed in which the processor would meet a triangle. The processor goes into a block
// if the ray meets its box, give or take a few roundings: 2^-22 of coordinates about the origin,
// which are below FAR_OFF + 1 times the size of the mesh. The driver's test rounds as much. Boxes
// are padded by 2^-15 of the size (vk_mesh_rays.h), which is 16 times as much as both together. The
// line itself is changed by less: components near 0 become STEEP of the largest one, so that no
// driver divides by 0, and the line leaves the mesh after (FAR_OFF + 1) sizes. It ends at LONGEST
// sizes, and beyond the nearest hit so far by SLACK sizes, because a triangle of equal t may precede
// the one that was met (mesh_ray.glsl).
const float FAR_OFF = 8; // sizes: of an origin
const float LONGEST = 12;
const float SLACK = 1.52587890625e-5; // 2^-16
const float MORE = 1.00000095367431640625; // 1 + 2^-20
const float STEEP = 9.313225746154785e-10; // 2^-30
const float LEAST_SIZE = 9.094947017729282e-13, LEAST_DIRECTION = 9.5367431640625e-7; // 2^-40, 2^-20

vec3 line_direction;
float line_unit; // t that a size takes

// Is the ray one that the driver can trace?
bool begin_trace(uint job)
{
	const vec3 d = abs(ray_direction), o = abs(ray_origin);
	const float size = size_of(job), most = max(max(d.x, d.y), d.z);
	if (!begin_line() || most < LEAST_DIRECTION || size < LEAST_SIZE || max(max(o.x, o.y), o.z) > FAR_OFF * size)
		return false;
	line_unit = size / most;
	for (int k = 0; k < 3; k++) {
		const float least = STEEP * most;
		line_direction[k] = d[k] >= least ? ray_direction[k] : ray_direction[k] < 0 ? -least : least;
	}
	return true;
}

// How far the driver must look for a hit that is no farther than t.
float end_of(float t) { return min(t, LONGEST * line_unit) * MORE + SLACK * line_unit; }
