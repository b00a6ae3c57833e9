// A tree of boxes over leaves in the order of the Morton curve (Karras 2012), two children to a
// node. A node holds the boxes of both children, so that one load of 64 bytes decides about both
// (the layout of Aila and Laine). ACCESS: how the kernel that includes this uses the nodes.
struct Box {
	float lower[3];
	float upper[3];
};

struct Node {
	Box box[2];
	uint child[2]; // number of a node, or the first place of a leaf with the bit LEAF
	uint last[2];  // last place below each child
};

const uint LEAF = 1u << 31;
const uint NO_NODE = ~0u; // child[0] of a number that no node has

layout(buffer_reference, std430, buffer_reference_align = 64) ACCESS buffer Nodes { Node at[]; };
