#version 460
// Does this device round doubles as IEEE 754 wants? Vulkan does not say so of division and roots.
//
// address: 0 operands [2*count], 1 results [6*count]: sum, difference, product, quotient, root of the
// first one, product less quotient (a fused one differs). word: 0 count.
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(buffer_reference, std430, buffer_reference_align = 8) buffer Doubles { double at[]; };

void main()
{
	const uint i = item_number();
	if (i >= arguments.word[0])
		return;
	const double a = Doubles(arguments.address[0]).at[2 * i], b = Doubles(arguments.address[0]).at[2 * i + 1];
	precise double sum = a + b, difference = a - b, product = a * b, quotient = a / b, root = sqrt(a);
	precise double both = a * b - quotient;
	Doubles results = Doubles(arguments.address[1]);
	results.at[6 * i] = sum;
	results.at[6 * i + 1] = difference;
	results.at[6 * i + 2] = product;
	results.at[6 * i + 3] = quotient;
	results.at[6 * i + 4] = root;
	results.at[6 * i + 5] = both;
}
