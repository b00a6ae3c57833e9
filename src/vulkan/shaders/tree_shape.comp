#version 460
// The shape of the tree: each invocation finds the range of leaves of one node, and where it is cut
// (Karras, Maximizing Parallelism in the Construction of BVHs, Octrees, and k-d Trees, 2012). Equal
// codes are told apart by their places. What holds at most LEAF_SIZE places is a leaf.
//
// address: 0 sorted codes [count], 1 nodes [count-1], 2 parents of leaves [count], all 0, at
// the first place of each leaf; 3 parents of nodes [count-1]: twice the node's number, and 1 for its
// second child, and for leaves 1 more. word: 0 count, at least 2.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#define ACCESS writeonly
#include "tree.glsl"

layout(constant_id = 2) const uint LEAF_SIZE = 4;

// Leading bits in which two places agree; -1 beyond the ends.
int agreement(int i, int j)
{
	if (j < 0 || j >= int(arguments.word[0]))
		return -1;
	const uint64_t differ = Longs(arguments.address[0]).at[i] ^ Longs(arguments.address[0]).at[j];
	const uint upper = uint(differ >> 32), lower = uint(differ);
	if (upper != 0)
		return 31 - findMSB(upper);
	if (lower != 0)
		return 63 - findMSB(lower);
	return 95 - findMSB(uint(i ^ j));
}

void main()
{
	const int i = int(item_number()), count = int(arguments.word[0]);
	if (i >= count - 1)
		return;
	const int way = agreement(i, i + 1) > agreement(i, i - 1) ? 1 : -1;
	const int outside = agreement(i, i - way);
	int most = 2;
	while (agreement(i, i + most * way) > outside)
		most *= 2;
	int length = 0;
	for (int step = most / 2; step > 0; step /= 2) {
		if (agreement(i, i + (length + step) * way) > outside)
			length += step;
	}
	const int other = i + length * way, whole = agreement(i, other);
	int cut = 0;
	for (int step = length; step > 1;) {
		step = (step + 1) / 2;
		if (agreement(i, i + (cut + step) * way) > whole)
			cut += step;
	}
	const int split = i + cut * way + min(way, 0), first = min(i, other), last = max(i, other);
	Nodes nodes = Nodes(arguments.address[1]);
	Words leaf_parents = Words(arguments.address[2]), node_parents = Words(arguments.address[3]);
	if (i > 0 && uint(last - first) < LEAF_SIZE) {
		nodes.at[i].child[0] = NO_NODE; // within a leaf
		return;
	}
	const bool leaf0 = uint(split - first) < LEAF_SIZE, leaf1 = uint(last - split - 1) < LEAF_SIZE;
	nodes.at[i].child[0] = leaf0 ? uint(first) | LEAF : uint(split);
	nodes.at[i].child[1] = uint(split + 1) | (leaf1 ? LEAF : 0);
	nodes.at[i].last[0] = uint(split);
	nodes.at[i].last[1] = uint(last);
	if (leaf0)
		leaf_parents.at[first] = 2 * i + 1;
	else
		node_parents.at[split] = 2 * i;
	if (leaf1)
		leaf_parents.at[split + 1] = 2 * i + 2;
	else
		node_parents.at[split + 1] = 2 * i + 1;
}
