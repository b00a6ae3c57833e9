// A ray and the blocks of a mesh, for all tiers: its input, the triangles of a block in both
// directions, and its output.
//
// Triangles. With e = 2^-24 and m the largest coordinate of a corner about the origin, differences of
// device and processor are below 3 e m for coordinates, 16 e m for sheared ones, which are below 2 m,
// and 176 e m^2 for edge functions: below NARROW m^2. Products too small for a float lose less than
// TINY.
//
// address: 0 rays (two vectors each: origin and the greatest t, direction and the number of the job),
// 1 jobs (gpu_casts.h), 2 hits (four words each: the triangle ahead with BACK, NO_HIT or DOUBTFUL; its
// t; and both of behind), 3 and 4 pairs that touch (mesh_ray.glsl). word: 0 rays.
#include "mesh_ray.glsl"
#include "mesh_jobs.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Hits { uvec4 at[]; };

const uint BACK = 1u << 31, NO_HIT = ~BACK, DOUBTFUL = ~0u;
const float NARROW = 1.52587890625e-5; // 2^-16
const float TINY = 7.52316384526264e-37; // 2^-120

Floats blocks;
Vectors corners;
float slope_x, slope_y;
Nearest ahead, behind;

// Read a ray; nothing is met yet. Returns the number of its job.
uint load_ray(uint i)
{
	const vec4 origin = Vectors(arguments.address[0]).at[2 * i], direction = Vectors(arguments.address[0]).at[2 * i + 1];
	const uint job = floatBitsToUint(direction.w);
	const float reach = reach_of(job);
	blocks = Floats(blocks_of(job));
	corners = Vectors(blocks_of(job));
	ray_origin = origin.xyz;
	ray_direction = direction.xyz;
	ahead = Nearest(origin.w, NOTHING, false);
	behind = Nearest(reach > 0 ? reach : -1, NOTHING, false);
	return job;
}

// Is the line of the ray one that the device takes?
bool begin_line()
{
	if (is_odd_ray())
		return false;
	set_shear(true);
	slope_x = float(shear_x);
	slope_y = float(shear_y);
	return !doubt;
}

// The triangles of half a block that may be met, as bits.
uint choose_lanes(uint block, uint half_block)
{
	const uint at = 22 * block + half_block;
	vec4 x[3], y[3];
	vec4 most = vec4(0);
	for (uint c = 0; c < 3; c++) {
		const vec4 px = corners.at[at + 6 * c + 2 * kx] - ray_origin[kx];
		const vec4 py = corners.at[at + 6 * c + 2 * ky] - ray_origin[ky];
		const vec4 pz = corners.at[at + 6 * c + 2 * kz] - ray_origin[kz];
		most = max(most, max(max(abs(px), abs(py)), abs(pz)));
		x[c] = px - slope_x * pz;
		y[c] = py - slope_y * pz;
	}
	const vec4 u = x[2] * y[1] - y[2] * x[1], v = x[0] * y[2] - y[0] * x[2], w = x[1] * y[0] - y[1] * x[0];
	const vec4 bound = most * most * NARROW + TINY;
	const vec4 low = min(min(u, v), w), high = max(max(u, v), w);
	const uvec4 missed = uvec4(lessThan(low, -bound)) & uvec4(greaterThan(high, bound));
	return (1 - missed.x) | (1 - missed.y) << 1 | (1 - missed.z) << 2 | (1 - missed.w) << 3;
}

void meet_block(uint block)
{
	const uint count = floatBitsToUint(blocks.at[BLOCK_WORDS * block + BLOCK_COUNT]);
	uint lanes = choose_lanes(block, 0);
	if (count > 4)
		lanes |= choose_lanes(block, 1) << 4;
	lanes &= (1u << count) - 1;
	while (lanes != 0) {
		const int lane = findLSB(lanes);
		lanes &= lanes - 1;
		meet(blocks, 8 * block + lane, ahead, behind);
	}
}

uint name_of(Nearest hit)
{
	if (hit.place == NOTHING)
		return NO_HIT;
	const uint number = floatBitsToUint(blocks.at[hit.place / 8 * BLOCK_WORDS + BLOCK_NUMBERS + hit.place % 8]);
	return number | (hit.back ? BACK : 0);
}

float length_of(Nearest hit) { return hit.place == NOTHING ? 0 : hit.t; }

void write_hits(uint i)
{
	if (!doubt && ahead.place != NOTHING && ahead.back)
		note_hit(i);
	Hits(arguments.address[2]).at[i] = doubt
		? uvec4(DOUBTFUL)
		: uvec4(name_of(ahead), floatBitsToUint(length_of(ahead)), name_of(behind), floatBitsToUint(length_of(behind)));
}
