// Features that move on straight lines: vertices, edges, triangles. Places are of single precision,
// three words each, at the beginning and the end of the step. The host has scaled them by a power of
// two so that none is beyond 1, and rounded them.
//
// Rounding. With u = 2^-24, a place is off by at most u of its size, and each operation here by at
// most 2u of its result, whatever the rounding mode. Numbers below 2^-126 may count as 0.

// The places of a vertex at one end of the step.
vec3 place_of(uint64_t places, uint vertex)
{
	Floats at = Floats(places);
	return vec3(at.at[3 * vertex], at.at[3 * vertex + 1], at.at[3 * vertex + 2]);
}

// A box holds the motion and the margin. A bound is off by u |p| of the place and by 2u (|p| +
// margin) of the sum: a box gets 2^-21 of both.
struct Reach {
	vec3 lower, upper;
};

Reach reach_of_vertex(uint64_t begin, uint64_t end, uint vertex, float margin)
{
	const vec3 from = place_of(begin, vertex), to = place_of(end, vertex);
	const vec3 far = margin + (max(abs(from), abs(to)) + margin) * 4.76837158203125e-7;
	return Reach(min(from, to) - far, max(from, to) + far);
}

void join_reach(inout Reach to, Reach from)
{
	to.lower = min(to.lower, from.lower);
	to.upper = max(to.upper, from.upper);
}
