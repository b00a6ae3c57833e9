// The boxes of spheres.

// How far a box reaches from the centre of a sphere: scale * r + add and some of it more, for the
// roundings of this line and of distances.
float reach_of(float radius, float scale, float add) { return (scale * radius + add) * (1 + 3.814697265625e-6); }

// The same on each axis, rounded outward: each bound is off by at most 2^-22 of |centre| + reach,
// in two operations of whatever rounding, and gets 2^-21.
vec3 box_reach(vec4 sphere, float scale, float add)
{
	const float reach = reach_of(sphere.w, scale, add);
	return reach + (abs(sphere.xyz) + reach) * 4.76837158203125e-7;
}
