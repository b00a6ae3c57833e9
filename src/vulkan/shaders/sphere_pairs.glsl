// All pairs of spheres that touch, or may: the tree searched for each sphere. A sphere looks only
// at leaves behind its own, so that each pair is met once.
//
// address: 0 nodes [count-1], 1 spheres in the order of the leaves, 2 their numbers [count], 3 how
// many each one finds [count+1], 4 slots [SLOTS][count], 5 distances computed and nodes visited (two
// words each), 6 the first pair of each one [count+1], 7 pairs.
// word: 0 count, at least 2; 1 scale and 2 add of the reach of a box; 3 near, 4 far (sphere_set.h);
// 5 the number of pairs that there is room for; 6 and 7 the first one wanted, lower and upper half.
//
// A found place has the bit DOUBT where single precision cannot tell. Proof that the rest is right:
// with u = 2^-24, each operation is off by at most 2u of its result whatever the rounding mode, so
// a squared distance is off by less than 12u of itself (the differences twice, squares, two sums),
// and the square of a reach by less than 16u: together less than 2^-18 = 64u. Results that leave
// the range of normal numbers lose less than TINY. Fused operations lose less.
const uint SLOTS = 8;
const uint DOUBT = 1u << 31;
const uint STACK = 96; // 63 bits of codes and 31 of places: no branch of the tree is longer
const float BAND = 3.814697265625e-6; // 2^-18
const float TINY = 7.52316384526264e-37; // 2^-120

// A node of tree.glsl as it lies in memory: four loads, and no array that a compiler would put into
// memory of its own.
layout(buffer_reference, std430, buffer_reference_align = 64) readonly buffer Quarters { vec4 at[]; };

vec4 own; // the sphere
uint own_place;
vec3 own_lower, own_upper;
uint tests = 0, visits = 0;

// A sphere was found behind the own one: its place, with DOUBT where that is so. The kernel says
// what becomes of it.
void take(uint other);

void begin_search(uint place)
{
	own_place = place;
	own = Spheres(arguments.address[1]).at[place];
	const float reach = reach_of(own.w, uintBitsToFloat(arguments.word[1]), uintBitsToFloat(arguments.word[2]));
	const vec3 far = reach + (abs(own.xyz) + reach) * 4.76837158203125e-7; // as tree_fit.comp
	own_lower = own.xyz - far;
	own_upper = own.xyz + far;
}

void compare(uint other)
{
	const vec4 sphere = Spheres(arguments.address[1]).at[other];
	const vec3 d = own.xyz - sphere.xyz;
	const float square = d.x * d.x + d.y * d.y + d.z * d.z, sum = own.w + sphere.w;
	const float near = max(sum + uintBitsToFloat(arguments.word[3]), 0.0), far = sum + uintBitsToFloat(arguments.word[4]);
	tests++;
	if (square <= far * far * (1 + BAND) + TINY)
		take(square < near * near * (1 - BAND) - TINY ? other : other | DOUBT);
}

bool meets(vec3 lower, vec3 upper) { return all(lessThanEqual(own_lower, upper)) && all(greaterThanEqual(own_upper, lower)); }

// Go through the tree, taking every sphere behind the own one that touches or may.
void search()
{
	Quarters nodes = Quarters(arguments.address[0]);
	uint stack[STACK], top = 0, number = 0;
	for (;;) {
		const uint at = 4 * number;
		const uvec4 links = floatBitsToUint(nodes.at[at + 3]); // two children, and the last leaf below each
		visits++;
		bool first = false, second = false;
		const vec4 b = nodes.at[at + 1];
		if (links.z > own_place) {
			const vec4 a = nodes.at[at];
			first = meets(a.xyz, vec3(a.w, b.xy));
		}
		if (links.w > own_place) {
			const vec4 c = nodes.at[at + 2];
			second = meets(vec3(b.zw, c.x), c.yzw);
		}
		if (first && (links.x & LEAF) != 0) {
			compare(links.x & ~LEAF);
			first = false;
		}
		if (second && (links.y & LEAF) != 0) {
			compare(links.y & ~LEAF);
			second = false;
		}
		if (first && second)
			stack[top++] = links.y;
		if (first)
			number = links.x;
		else if (second)
			number = links.y;
		else if (top > 0)
			number = stack[--top];
		else
			break;
	}
}
