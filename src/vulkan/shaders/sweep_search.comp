#version 460
// Pairs of features whose boxes meet, each once: with FACES vertices that go through the tree of
// triangles; else edges that go through their own tree, where each looks only at leaves behind its
// own. Features that share a vertex, and those of one group, are left out.
//
// Finds are put one behind the other in no order: impacts are sorted later. Those beyond the
// room are counted and not written.
//
// address: 0 nodes, 1 leaves (sweep_leaves.comp), 2 order, 3 places at the beginning and 4 at the
// end, 5 counters of two words each: finds, nodes looked at, boxes of leaves compared; 6 candidates,
// 7 groups of vertices, 0 for none, 8 vertices of triangles. word: 0 first query and 1 the end of
// them, 2 margin of boxes, 3 room, 4 finds to leave out: of a single query.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#define ACCESS readonly
#include "tree.glsl"
#include "sweep.glsl"
#include "counters.glsl"
#include "append.glsl"
#include "tree_search.glsl"

uint number; // of the query: a vertex or an edge
uint first_vertex, second_vertex, group;
uint least = 0; // place of a leaf from which on the query looks
uint tests = 0;

void take(uint other)
{
	const uint at = take_place(0) - arguments.word[4];
	if (at < arguments.word[3])
		Pairs(arguments.address[6]).at[at] = uvec2(number, other);
}

void compare(uint place)
{
	const vec4 lower = Spheres(arguments.address[1]).at[2 * place], upper = Spheres(arguments.address[1]).at[2 * place + 1];
	const uint a = floatBitsToUint(lower.w), b = floatBitsToUint(upper.w);
	tests++;
	if (!meets(lower.xyz, upper.xyz) || a == first_vertex || b == first_vertex)
		return;
	if (group != 0 && Words(arguments.address[7]).at[a] == group)
		return;
	const uint other = Words(arguments.address[2]).at[place];
#ifdef FACES
	if (Words(arguments.address[8]).at[3 * other + 2] == first_vertex)
		return;
#else
	if (a == second_vertex || b == second_vertex)
		return;
#endif
	take(other);
}

void compare_leaf(uint first, uint last)
{
	for (uint place = max(first, least); place <= last; place++)
		compare(place);
}

void main()
{
	const uint query = arguments.word[0] + item_number();
	if (query < arguments.word[1]) {
#ifdef FACES
		const Reach reach =
			reach_of_vertex(arguments.address[3], arguments.address[4], query, uintBitsToFloat(arguments.word[2]));
		own_lower = reach.lower;
		own_upper = reach.upper;
		number = first_vertex = query;
#else
		const vec4 lower = Spheres(arguments.address[1]).at[2 * query], upper = Spheres(arguments.address[1]).at[2 * query + 1];
		own_lower = lower.xyz;
		own_upper = upper.xyz;
		first_vertex = floatBitsToUint(lower.w);
		second_vertex = floatBitsToUint(upper.w);
		number = Words(arguments.address[2]).at[query];
		least = query + 1;
#endif
		group = Words(arguments.address[7]).at[first_vertex];
		search_tree(arguments.address[0], least);
	}
	add_to(2, visits);
	add_to(4, tests);
}
