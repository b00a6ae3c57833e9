// Pairs of places, as a search has found them, and the pairs of spheres that they are: what
// pairs_name and pairs_place share.
//
// address: 0 pairs of places, 1 the first pair of each place [places+1], 2 names of places: the
// sphere, and in the upper three bits the axes along which the place is an image of it [places].
// word: 0 places; 1 pairs that the list has room for; 2 not 0 where places have names, else each is
// its own; 3 spheres below this one are owned; 4 places below this one are this device's.

#include "doubt.glsl"

const uint AXES = 7u << 29;

// How many pairs of places there are, or fit.
uint pair_count()
{
	const uint64_t all = Longs(arguments.address[1]).at[arguments.word[0]];
	return uint(min(all, uint64_t(arguments.word[1])));
}

// The spheres of a pair of places, the smaller number first. False where it is reported elsewhere or
// not at all: both places are images along one axis, both spheres are ghosts (sphere_set.h), or
// both places belong to other devices.
bool name_pair(uvec2 found, out uvec2 pair)
{
	if (found.y == NO_PAIR)
		return false;
	found.y &= ~DOUBT;
	if (min(found.x, found.y) >= arguments.word[4])
		return false;
	if (arguments.word[2] != 0) {
		Words names = Words(arguments.address[2]);
		found = uvec2(names.at[found.x], names.at[found.y]);
		if ((found.x & found.y & AXES) != 0)
			return false;
		found &= ~AXES;
	}
	pair = uvec2(min(found.x, found.y), max(found.x, found.y));
	return pair.x != pair.y && pair.x < arguments.word[3];
}
