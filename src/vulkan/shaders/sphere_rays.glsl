// All pairs of spheres that touch, or may, by rays of no length: one from each centre, which meets
// the proxies that hold the centre (Mochi, Algorithm 1; proxies.comp makes their boxes).
//
// Of two spheres that touch, the centre of the smaller one lies in the proxy of the larger one: d <=
// r_a + r_b + skin <= 2 max(r_a, r_b) + skin. So the ray of the smaller one reports the pair, and of
// equal ones that from the earlier place: this compares numbers as they are given, and leaves nothing
// to roundings. (The paper's rule, by places alone where both proxies hold the other centre, makes
// large spheres report many. spheres/point_rays.c has it.)
//
// Vulkan may report a box several times, and in any order. So a ray keeps its finds sorted by number
// and each once, in slots while it counts, and in their places among all pairs if there are more
// than slots. What it has counted beyond the slots may hold some twice: then places are left over,
// and get NO_FIND.
//
// address: 0 acceleration structure, 1 spheres in the order of the boxes, 2 their numbers [count], 3
// how many each one finds [count+1], 4 slots [SLOTS][count], 5 counters (rays_sum.comp), 6 the first
// pair of each one [count+1], 7 pairs, 8 boxes met and distances computed [count]. word: 0 count, at
// least 2; 1 not 0 where pairs are written; 2 the first ray; 3 near, 4 far (gpu_tree.h); 5 the number
// of pairs that there is room for; 6 and 7 the first one wanted, lower and upper half.
//
// RAY: where the ray is kept. SEEN: how finds are accessed that one shader writes and another reads.
#include "sphere_test.glsl"

const uint SLOTS = 16;
const uint NO_FIND = ~0u;

struct Ray {
	vec4 own; // the sphere
	uint place;
	uint begin, room; // of the pairs that are written; room also of slots
	uint found;       // finds, some of them maybe twice
	uint kept;        // finds in the list
	uint met, tests;  // boxes, and distances computed
};

RAY Ray ray;

layout(buffer_reference, std430, buffer_reference_align = 4) SEEN buffer Slots { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) SEEN buffer FoundPairs { uvec2 at[]; };

bool filling() { return arguments.word[1] != 0; }

uint find_at(uint k)
{
	return filling() ? FoundPairs(arguments.address[7]).at[ray.begin + k].y
					 : Slots(arguments.address[4]).at[k * arguments.word[0] + ray.place];
}

void put_find(uint k, uint find)
{
	if (filling())
		FoundPairs(arguments.address[7]).at[ray.begin + k] = uvec2(Words(arguments.address[2]).at[ray.place], find);
	else
		Slots(arguments.address[4]).at[k * arguments.word[0] + ray.place] = find;
}

// The ray has met the box of the sphere at a place: its number, with DOUBT where single precision
// cannot tell; NO_FIND: they do not touch, or the other one's ray reports it.
uint judge(uint other)
{
	const vec4 sphere = Spheres(arguments.address[1]).at[other];
	ray.met++;
	if (sphere.w < ray.own.w || (sphere.w == ray.own.w && other <= ray.place))
		return NO_FIND;
	ray.tests++;
	const uint verdict = test_spheres(ray.own, sphere, uintBitsToFloat(arguments.word[3]), uintBitsToFloat(arguments.word[4]));
	return verdict == APART ? NO_FIND : Words(arguments.address[2]).at[other] | (verdict & DOUBT);
}

// Put a find into the sorted list, unless it is there.
void insert(uint find)
{
	uint place = ray.kept;
	while (place > 0 && (find_at(place - 1) & ~DOUBT) > (find & ~DOUBT))
		place--;
	if (place > 0 && find_at(place - 1) == find)
		return;
	ray.found++;
	if (ray.kept == ray.room)
		return; // there are more than slots
	for (uint k = ray.kept; k > place; k--)
		put_find(k, find_at(k - 1));
	put_find(place, find);
	ray.kept++;
}

// Of pairs that are written: where they go to. False: nothing is to be searched for them.
bool begin_filling(uint place)
{
	const uint64_t window = uint64_t(arguments.word[6]) | uint64_t(arguments.word[7]) << 32;
	const uint64_t first = Longs(arguments.address[6]).at[place], end = Longs(arguments.address[6]).at[place + 1];
	// The pairs of a sphere are in one window.
	if (first == end || first < window || end > window + uint64_t(arguments.word[5]))
		return false;
	ray.begin = uint(first - window);
	ray.room = uint(end - first);
	if (ray.room > SLOTS)
		return true;
	for (uint k = 0; k < ray.room; k++)
		put_find(k, Slots(arguments.address[4]).at[k * arguments.word[0] + place]);
	return false;
}

// False: there is nothing to do for the sphere at this place.
bool begin_ray(uint place)
{
	ray.place = place;
	ray.found = ray.kept = ray.met = ray.tests = ray.begin = 0;
	ray.room = SLOTS;
	if (filling() && !begin_filling(place))
		return false;
	ray.own = Spheres(arguments.address[1]).at[place];
	return true;
}

void end_ray()
{
	if (filling()) {
		for (uint k = ray.kept; k < ray.room; k++)
			put_find(k, NO_FIND);
		return;
	}
	Words(arguments.address[3]).at[ray.place] = ray.found;
	Pairs(arguments.address[8]).at[ray.place] = uvec2(ray.met, ray.tests);
}

// A ray has some length, because Mesa's llvmpipe misses a box whose face holds the end of a ray of
// none; boxes are rounded outward, so what it meets beside its centre is only compared.
const float RAY_LENGTH = 1e-16;
const vec3 RAY_DIRECTION = vec3(1, 0, 0);
