// Do two spheres touch? Single precision says yes, no, or that it cannot tell.
//
// Proof that it is right where it says yes or no: with u = 2^-24, each operation is off by at most
// 2u of its result whatever the rounding mode, so a squared distance is off by less than 12u of
// itself (the differences twice, squares, two sums), and the square of a reach by less than 16u:
// together less than 2^-18 = 64u. Results that leave the range of normal numbers lose less than
// TINY. Fused operations lose less.
#include "doubt.glsl"

const uint APART = 0, TOUCH = 1; // or DOUBT
const float BAND = 3.814697265625e-6; // 2^-18
const float TINY = 7.52316384526264e-37; // 2^-120

// near and far: spheres nearer than r_a + r_b + near touch, those further than r_a + r_b + far do
// not (gpu_tree.h).
uint test_spheres(vec4 a, vec4 b, float near, float far)
{
	const vec3 d = a.xyz - b.xyz;
	const float square = d.x * d.x + d.y * d.y + d.z * d.z, sum = a.w + b.w;
	const float inner = max(sum + near, 0.0), outer = sum + far;
	if (square > outer * outer * (1 + BAND) + TINY)
		return APART;
	return square < inner * inner * (1 - BAND) - TINY ? TOUCH : DOUBT;
}
