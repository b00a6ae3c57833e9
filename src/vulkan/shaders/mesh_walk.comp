#version 460
// Walks lines over the triangles of a mesh, from where each met it last, with the bits of
// cr_bvh_kernels.walk (walk_kernels.c). Results are doubles rounded to floats (mesh_ray.glsl); a
// walk in which one is no normal float is left to the processor.
//
// address: 0 rays (two vectors each: origin and the place where the walk begins, direction and the
// number of the job), 1 jobs (gpu_casts.h), 2 results (four words each: the place where it ended, t,
// how it ended, triangles visited), 3 and 4 pairs that touch (mesh_ray.glsl). word: 0 rays, 1 the most
// triangles of a walk.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "mesh_ray.glsl"
#include "mesh_jobs.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Walked { uvec4 at[]; };

const uint LOST = 0, BACK = 1, FRONT = 2, GOING = 3, DOUBTFUL = ~0u; // cr_walk_end
const uint ACROSS_WORDS = 24;

Floats blocks;
Words across;
int place;
float length_met;

// choose_edge: the most violated one.
uint choose_edge(double u, double v, double w) { return v <= u && v <= w ? 2 : w <= u ? 0 : 1; }

// The finding at the triangle in hand; where it is GOING, place is the next one's.
uint look()
{
	double reach = 0;
	const dvec3 a = shear(corner_of(blocks, uint(place), 0), reach);
	const dvec3 b = shear(corner_of(blocks, uint(place), 1), reach);
	const dvec3 c = shear(corner_of(blocks, uint(place), 2), reach);
	const double u = subtract(multiply(c.x, b.y), multiply(c.y, b.x));
	const double v = subtract(multiply(a.x, c.y), multiply(a.y, c.x));
	const double w = subtract(multiply(b.x, a.y), multiply(b.y, a.x));
	const double determinant = add(add(u, v), w);
	if (determinant == 0)
		return LOST;
	const bool turned = determinant < 0;
	const double pu = turned ? -u : u, pv = turned ? -v : v, pw = turned ? -w : w;
	if (pu < 0 || pv < 0 || pw < 0) {
		const uint edge = choose_edge(pu, pv, pw), block = uint(place) / 8, lane = uint(place) % 8;
		place = int(across.at[ACROSS_WORDS * block + 8 * edge + lane]);
		return place < 0 ? LOST : GOING;
	}
	length_met = float(divide(add(add(multiply(u, a.z), multiply(v, b.z)), multiply(w, c.z)), determinant));
	return turned != (ray_direction[kz] < 0) ? BACK : FRONT;
}

uint walk(uint most, out uint visited)
{
	uint end = GOING;
	for (visited = 0; visited < most && end == GOING && !doubt; visited++)
		end = look();
	return doubt ? DOUBTFUL : end == GOING ? LOST : end;
}

void main()
{
	const uint i = item_number();
	if (i >= arguments.word[0])
		return;
	const vec4 origin = Vectors(arguments.address[0]).at[2 * i], direction = Vectors(arguments.address[0]).at[2 * i + 1];
	const uint job = floatBitsToUint(direction.w);
	const int begin = floatBitsToInt(origin.w);
	blocks = Floats(blocks_of(job));
	across = Words(across_of(job));
	ray_origin = origin.xyz;
	ray_direction = direction.xyz;
	place = begin;
	length_met = 0;
	uint end = LOST, visited = 0;
	if (begin >= 0) {
		if (is_odd_ray() || ray_direction == vec3(0))
			doubt = true;
		else
			set_shear(false);
		end = walk(arguments.word[1], visited);
	}
	if (end == BACK && length_met >= 0)
		note_hit(i);
	const bool met = end == FRONT || end == BACK;
	Walked(arguments.address[2]).at[i] = uvec4(met ? place : begin, met ? floatBitsToUint(length_met) : 0, end, visited);
}
