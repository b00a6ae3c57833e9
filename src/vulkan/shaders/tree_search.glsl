// Goes through a tree (tree.glsl) for a box.
const uint STACK = 96; // 63 bits of codes and 31 of places: no branch of the tree is longer

// A node of tree.glsl as it lies in memory: four loads, and no array that a compiler would put into
// memory of its own.
layout(buffer_reference, std430, buffer_reference_align = 64) readonly buffer Quarters { vec4 at[]; };

vec3 own_lower, own_upper; // the box
uint visits = 0;           // nodes looked at

// The places of a leaf whose box meets the own one. The kernel has its own use for them.
void compare_leaf(uint first, uint last);

bool meets(vec3 lower, vec3 upper) { return all(lessThanEqual(own_lower, upper)) && all(greaterThanEqual(own_upper, lower)); }

// Every leaf that meets the box and has a place from `least` on.
void search_tree(uint64_t address, uint least)
{
	Quarters nodes = Quarters(address);
	uint stack[STACK], top = 0, number = 0;
	for (;;) {
		const uint at = 4 * number;
		const uvec4 links = floatBitsToUint(nodes.at[at + 3]); // two children, and the last place below each
		visits++;
		bool first = false, second = false;
		const vec4 b = nodes.at[at + 1];
		if (links.z >= least) {
			const vec4 a = nodes.at[at];
			first = meets(a.xyz, vec3(a.w, b.xy));
		}
		if (links.w >= least) {
			const vec4 c = nodes.at[at + 2];
			second = meets(vec3(b.zw, c.x), c.yzw);
		}
		if (first && (links.x & LEAF) != 0) {
			compare_leaf(links.x & ~LEAF, links.z);
			first = false;
		}
		if (second && (links.y & LEAF) != 0) {
			compare_leaf(links.y & ~LEAF, links.w);
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
