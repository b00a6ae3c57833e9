// Pairs of triangles of two meshes that may meet or come near each other, with the bits of
// cr_find_pairs (bvh/pair_kernels.c): its operations in its order, by rounded.glsl.
//
// The mesh with fewer triangles is the source. mesh_near_nodes.comp takes its tree level by level
// and lists blocks that come near the target. mesh_near_leaves.comp takes their triangles, and goes
// through the target's tree with the box of each. mesh_near_test.comp takes the triangles of the
// leaves that are met. Lists have no order: the processor sorts what is found (device_near.c).
//
// The processor takes a whole block through the target's tree, and its triangles at the leaves
// alone. The same leaves are met: boxes of nodes hold those of their children exactly, and they are
// only compared.
//
// A walk in which anything is in doubt is left to the processor, as a whole.
#define KEEPS_SMALL
#include "rounded.glsl"
#include "append.glsl"

// A job (cr_gpu_near_job): addresses as longs, then words.
const uint JOB_LONGS = 14, SOURCE_NODES = 0, SOURCE_BLOCKS = 1, TARGET_NODES = 2, TARGET_BLOCKS = 3, TARGET_HEAD = 4;
const uint JOB_WORDS = 28, ROTATION = 10, TRANSLATION = 19, MARGIN = 22, GROWTH = 23, REACH = 24, MOST = 25, AFTER = 26, TOUCHED = 27;
// The head of a mesh (cr_gpu_mesh_head); its cells follow.
const uint LOWER = 0, UPPER = 3, ORIGIN = 6, INVERSE_CELL = 9, SIZE = 10, HAS_CELLS = 13, HEAD_WORDS = 16;
const uint CELL_INSIDE = 0x80; // CR_CELL_INSIDE
const uint LEAF = 1u << 31;
const uint NODE_WORDS = 64, NODE_UPPER = 24, NODE_LINKS = 48, NODE_COUNT = 56; // cr_node8
const uint LANE_WORDS = 9; // of a triangle and a leaf: lower, upper, its place, the leaf's block, the job
// Counters of a wave, two words each: blocks, triangles with leaves, finds of all waves (in the first
// wave's counters), nodes of each level.
const uint BLOCKS = 0, LANES = 2, FINDS = 4, NODES = 6;
// The state of a job: its finds; whether the processor must do it, or it was left out.
const uint STATE_WORDS = 2, DOUBTFUL = 1, LEFT_OUT = 2;
const uint NO_JOB = ~0u;

uint job;

uint64_t job_address(uint which) { return Longs(arguments.address[0]).at[JOB_LONGS * job + which]; }
uint job_word(uint word) { return Words(arguments.address[0]).at[JOB_WORDS * job + word]; }
float job_float(uint word) { return Floats(arguments.address[0]).at[JOB_WORDS * job + word]; }

// How many items of a list are there: no more than it has room for. None where more than 2^32 asked
// for a place: some may have shared one, and the host does the walk again in any case.
uint count_of(uint word, uint room)
{
	Words counters = Words(arguments.address[5]);
	return counters.at[word + 1] != 0 ? 0 : min(counters.at[word], room);
}

// How many triangles a block holds.
uint size_of(uint64_t blocks, uint block) { return Words(blocks).at[BLOCK_WORDS * block + BLOCK_COUNT]; }

// The processor must do the walk.
void leave_walk() { atomicOr(Words(arguments.address[4]).at[STATE_WORDS * job + 1], DOUBTFUL); }

// Is the walk to be made? One that follows another is where that has found nothing, and one of a pair
// whose rays came before it is where none has hit (address: 7 words of pairs).
bool is_wanted()
{
	const uint after = job_word(AFTER), touched = job_word(TOUCHED);
	if (touched != 0 && Words(arguments.address[7]).at[touched - 1] != 0)
		return false;
	Words states = Words(arguments.address[4]);
	return after == NO_JOB || (states.at[STATE_WORDS * after] == 0 && states.at[STATE_WORDS * after + 1] == 0);
}

// ---- Vectors ----

double multiply(dvec3 a, dvec3 b) { return add(add(multiply(a.x, b.x), multiply(a.y, b.y)), multiply(a.z, b.z)); }
dvec3 subtract(dvec3 a, dvec3 b) { return dvec3(subtract(a.x, b.x), subtract(a.y, b.y), subtract(a.z, b.z)); }
dvec3 turn(dvec3 a, dvec3 b)
{
	return dvec3(subtract(multiply(a.y, b.z), multiply(a.z, b.y)), subtract(multiply(a.z, b.x), multiply(a.x, b.z)),
		subtract(multiply(a.x, b.y), multiply(a.y, b.x)));
}
double root(double a)
{
	precise double x = sqrt(a);
	return rounded(x);
}

dvec3 rotation_row(uint k)
{
	return dvec3(job_float(ROTATION + 3 * k), job_float(ROTATION + 3 * k + 1), job_float(ROTATION + 3 * k + 2));
}

// A corner of the source in the target's frame.
dvec3 placed(dvec3 own)
{
	dvec3 there;
	for (uint k = 0; k < 3; k++)
		there[k] = add(multiply(rotation_row(k), own), double(job_float(TRANSLATION + k)));
	return there;
}

// ---- Boxes ----

bool meet(dvec3 lower, dvec3 upper, dvec3 other_lower, dvec3 other_upper)
{
	return all(lessThanEqual(lower, other_upper)) && all(lessThanEqual(other_lower, upper));
}

// grid_clear: do all points of a box lie away from the surface, as the grid says?
bool is_clear(uint64_t at, dvec3 lower, dvec3 upper)
{
	Floats head = Floats(at);
	Words words = Words(at);
	if (words.at[HAS_CELLS] == 0)
		return false;
	const double inverse = double(head.at[INVERSE_CELL]);
	double reach = 0;
	uint index = 0;
	for (int k = 2; k >= 0; k--) {
		const double middle = multiply(0.5LF, add(lower[k], upper[k]));
		reach = max(reach, multiply(0.5LF, subtract(upper[k], lower[k])));
		const uint size = words.at[SIZE + k];
		const double position = multiply(subtract(middle, double(head.at[ORIGIN + k])), inverse);
		index = index * size + uint(min(max(position, 0.0LF), double(size - 1)));
	}
	const double cells = add(multiply(reach, inverse), 0.0010000000474974513LF); // the float 0.001
	const uint known = words.at[HEAD_WORDS + index / 4] >> 8 * (index % 4) & 255;
	const uint away = known < CELL_INSIDE ? known : known - CELL_INSIDE;
	return cells < double(int(away) - 1);
}

// Does a box come near the target's surface?
bool is_near_target(dvec3 lower, dvec3 upper)
{
	const uint64_t at = job_address(TARGET_HEAD);
	Floats head = Floats(at);
	const dvec3 target_lower = dvec3(head.at[LOWER], head.at[LOWER + 1], head.at[LOWER + 2]);
	const dvec3 target_upper = dvec3(head.at[UPPER], head.at[UPPER + 1], head.at[UPPER + 2]);
	return meet(lower, upper, target_lower, target_upper) && !is_clear(at, lower, upper);
}
