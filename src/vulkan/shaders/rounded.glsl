// Operations on floats with the bits of the processor, and meshes as it has them.
//
// Vulkan leaves the rounding of floats, and the fate of very small results, to the device. So the
// processor's operations are done here on doubles, each result rounded to a float by its bits: a
// double holds the exact result of an operation on floats well enough that this second rounding
// gives the float that the first one alone would (Figueroa 1995: 53 >= 2 * 24 + 2 digits). Doubles
// are tried before (gpu_trial.h). A result too large for a float sets `doubt`, and so does one too
// small for a normal float: the processor then does the work.
//
// With KEEPS_SMALL small results of sums, differences and products are kept. Sums of floats are
// multiples of 2^-149, so these are exact. A product of two floats is exact as a double, and is
// rounded to a multiple of 2^-149 by an addition.
#extension GL_ARB_gpu_shader_int64 : require

const double TOO_SMALL = 1.1754943508222875e-38LF, TOO_LARGE = 1.7014118346046923e+38LF; // 2^-126, 2^127
const double LAST_PLACE = 9.466330862652142e-30LF; // 1.5 * 2^-97: its last place is 2^-149

bool doubt = false;

// The float nearest to a number, of two the even one; as a double.
double rounded(double x)
{
	const double size = abs(x);
#ifdef KEEPS_SMALL
	if (size < TOO_SMALL) {
		precise double small = (x + LAST_PLACE) - LAST_PLACE;
		return small;
	}
	doubt = doubt || !(size < TOO_LARGE);
#else
	doubt = doubt || !(size == 0 || (size >= TOO_SMALL && size < TOO_LARGE));
#endif
	const uint64_t bits = doubleBitsToUint64(x);
	return uint64BitsToDouble((bits + 0x0ffffffful + (bits >> 29 & 1ul)) & ~0x1ffffffful);
}

double add(double a, double b)
{
	precise double x = a + b;
	return rounded(x);
}
double subtract(double a, double b)
{
	precise double x = a - b;
	return rounded(x);
}
double multiply(double a, double b)
{
	precise double x = a * b;
	return rounded(x);
}
double divide(double a, double b)
{
	precise double x = a / b;
	doubt = doubt || (x != 0 && abs(x) < TOO_SMALL);
	return rounded(x);
}

// Is a float neither 0 nor normal? Devices may take such ones for 0.
bool is_odd(float x)
{
	const uint size = floatBitsToUint(x) & 0x7fffffffu;
	return size >= 0x7f800000u || (size != 0 && size < 0x00800000u);
}
bool is_odd(vec3 v) { return is_odd(v.x) || is_odd(v.y) || is_odd(v.z); }

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Vectors { vec4 at[]; };

// Blocks of eight triangles (cr_tri8): corner, axis, lane; then their numbers, and how many there are.
const uint BLOCK_WORDS = 88, BLOCK_NUMBERS = 72, BLOCK_COUNT = 80;

vec3 corner_of(Floats blocks, uint place, uint corner)
{
	const uint at = place / 8 * BLOCK_WORDS + corner * 24 + place % 8;
	return vec3(blocks.at[at], blocks.at[at + 8], blocks.at[at + 16]);
}
