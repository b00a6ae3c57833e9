#version 460
// Force and torque on each sphere: of its neighbours in the order of their numbers, then of the
// walls. Each sphere sums its own side, so nothing is shared between invocations.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "kernel.glsl"
#include "grains.glsl"
#include "grains_law.glsl"

const uint THREADS = 128;
shared Tally tallies[THREADS];

// Read once for all neighbours.
uint flags;
Fours places, motions;
uint me; // the sphere
dvec4 place, motion, spin;
dvec3 force, torque;
Tally tally;

dvec3 nearest_image(dvec3 d)
{
	precise dvec3 near = d;
	for (int k = 0; k < 3; k++) {
		if ((flags & (PERIODIC << k)) == 0)
			continue;
		precise double period = setup.upper[k] - setup.lower[k];
		precise double up = d[k] + period, down = d[k] - period, middle = period / 2;
		if (d[k] > middle)
			near[k] = down;
		else if (d[k] < -middle)
			near[k] = up;
	}
	return near;
}

void add(Reply reply, double lever)
{
	precise dvec3 pushed = force + reply.force;
	precise dvec3 turned = torque + (reply.rolling - lever * reply.twist);
	force = pushed;
	if ((flags & TURNS) != 0)
		torque = turned;
}

void turn_contact(uint other, double distance, double other_radius, inout Contact c)
{
	const dvec4 w = Fours(setup.spins).at[other];
	precise double part = distance / (place.w + other_radius);
	precise double mine = place.w * part, theirs = other_radius * part;
	precise dvec3 s = mine * spin.xyz + theirs * w.xyz;
	precise dvec3 velocity = c.velocity - cross3(s, c.normal);
	precise dvec3 rolling = spin.xyz - w.xyz;
	precise double inertia = spin.w + w.w;
	c.velocity = velocity;
	c.lever = mine;
	c.rolling = rolling;
	c.inverse_inertia = inertia;
}

// From the other sphere, or its nearest image, to this one. False: they do not touch.
bool touches(dvec4 there, out dvec3 d, out double squared)
{
	precise dvec3 apart = place.xyz - there.xyz;
	d = nearest_image(apart);
	precise double sum = place.w + there.w, bound = sum * sum;
	squared = dot3(d, d);
	return squared <= bound;
}

// The contact with a sphere that touches this one: where it is and how it moves.
Contact meet(uint other, dvec4 there, dvec4 v)
{
	dvec3 d;
	double squared;
	touches(there, d, squared);
	Contact c;
	precise double sum = place.w + there.w;
	precise double distance = sqrt(squared), inverse = 1 / distance;
	precise dvec3 normal = d * inverse;
	if (!(distance > 0)) {
		distance = 0;
		normal = dvec3(me < other ? 1 : -1, 0, 0);
	}
	precise double overlap = sum - distance, radius = place.w * there.w / sum;
	precise double root = sqrt(motion.w + v.w), mass_root = 1 / root;
	precise dvec3 velocity = motion.xyz - v.xyz;
	precise double depth = max(overlap, 0.0lf) / min(place.w, there.w);
	c.normal = normal;
	c.overlap = overlap > 0 ? overlap : 0;
	c.velocity = velocity;
	c.mass_root = mass_root;
	c.radius = radius;
	c.lever = c.inverse_inertia = 0;
	c.rolling = dvec3(0);
	if ((flags & TURNS) != 0)
		turn_contact(other, distance, there.w, c);
	tally.contacts++;
	tally.overlap = max(tally.overlap, depth);
	return c;
}

dvec3 load_spring(Doubles springs, uint at) { return dvec3(springs.at[at], springs.at[at + 1], springs.at[at + 2]); }

void store_spring(Doubles springs, uint at, dvec3 spring)
{
	for (int k = 0; k < 3; k++)
		springs.at[at + k] = spring[k];
}

void add_contact(Words row, Doubles springs, uint e, uint item, dvec4 there, dvec4 v)
{
	const bool histories = (flags & HISTORIES) != 0;
	const uint other = item & ~TOUCHED;
	const Contact c = meet(other, there, v);
	dvec3 spring = dvec3(0);
	if (histories && item != other)
		spring = load_spring(springs, 3 * e);
	add(touch(setup.between, c, spring), c.lever);
	if (!histories)
		return;
	store_spring(springs, 3 * e, spring);
	if (item == other)
		row.at[e] = other | TOUCHED;
}

// The entries of a row from `first` to `last`, 32 at most, that touch, as bits. Several are read
// before any is looked at: a card waits for memory once for all of them.
uint find_touching(Words row, uint first, uint last)
{
	const uint AT_ONCE = 4;
	const bool histories = (flags & HISTORIES) != 0;
	uint touching = 0;
	for (uint begin = first; begin < last; begin += AT_ONCE) {
		uint items[AT_ONCE];
		dvec4 there[AT_ONCE];
		[[unroll]] for (uint i = 0; i < AT_ONCE; i++)
			items[i] = row.at[min(begin + i, last - 1)];
		[[unroll]] for (uint i = 0; i < AT_ONCE; i++)
			there[i] = places.at[items[i] & ~TOUCHED];
		[[unroll]] for (uint i = 0; i < AT_ONCE; i++) {
			dvec3 d;
			double squared;
			if (begin + i >= last)
				continue;
			if (touches(there[i], d, squared))
				touching |= 1u << (begin + i - first);
			else if (histories && (items[i] & TOUCHED) != 0)
				row.at[begin + i] = items[i] & ~TOUCHED;
		}
	}
	return touching;
}

// First who touches, then the forces: half of a row touches, so that a subgroup would go through the
// long computation for every entry that touches in any of its lanes. The next contact is read before
// this one is computed.
void add_neighbours()
{
	const uint current = control().at[CURRENT];
	Words row = Words(setup.other[current]);
	Doubles springs = Doubles(setup.springs[current]);
	const uint end = uint(Longs(setup.first[current]).at[me + 1]);
	for (uint first = uint(Longs(setup.first[current]).at[me]); first < end; first += 32) {
		uint touching = find_touching(row, first, min(first + 32, end));
		if (touching == 0)
			continue;
		uint next = first + findLSB(touching), item = row.at[next];
		dvec4 there = places.at[item & ~TOUCHED], v = motions.at[item & ~TOUCHED];
		while (touching != 0) {
			const uint this_one = next, this_item = item;
			const dvec4 this_there = there, this_v = v;
			touching &= touching - 1;
			if (touching != 0) {
				next = first + findLSB(touching);
				item = row.at[next];
				there = places.at[item & ~TOUCHED];
				v = motions.at[item & ~TOUCHED];
			}
			add_contact(row, springs, this_one, this_item, this_there, this_v);
		}
	}
}

void touch_wall(Plane plane, double overlap, uint before)
{
	const dvec3 normal = dvec3(plane.normal[0], plane.normal[1], plane.normal[2]);
	const dvec3 moving = dvec3(plane.velocity[0], plane.velocity[1], plane.velocity[2]);
	Contact c;
	precise double lever = place.w - overlap;
	precise double root = sqrt(motion.w), mass_root = 1 / root;
	precise dvec3 velocity = motion.xyz - moving;
	if ((flags & TURNS) != 0)
		velocity = velocity - lever * cross3(spin.xyz, normal);
	c.normal = normal;
	c.overlap = overlap;
	c.velocity = velocity;
	c.lever = lever;
	c.rolling = spin.xyz;
	c.mass_root = mass_root;
	c.inverse_inertia = spin.w;
	c.radius = place.w;
	dvec3 spring = dvec3(0);
	const bool kept = setup.wall_slots > 0;
	const uint at = 3 * (me * setup.wall_slots + plane.slot);
	if (kept && (before & plane.bit) != 0)
		spring = load_spring(Doubles(setup.wall_springs), at);
	add(touch(setup.against, c, spring), lever);
	if (kept)
		store_spring(Doubles(setup.wall_springs), at, spring);
}

void add_walls()
{
	Moments moments = Moments(setup.moments);
	const uint step = control().at[STEP], planes = moments.at[step].plane_count;
	const uint before = setup.wall_slots > 0 ? Words(setup.wall_marks).at[me] : 0;
	uint now = 0;
	for (uint w = 0; w < planes; w++) {
		const Plane plane = moments.at[step].planes[w];
		const dvec3 normal = dvec3(plane.normal[0], plane.normal[1], plane.normal[2]);
		precise double height = dot3(normal, place.xyz) - plane.offset;
		precise double overlap = place.w - height;
		if (overlap < 0)
			continue;
		now |= plane.bit;
		tally.wall_contacts++;
		touch_wall(plane, overlap, before);
	}
	if (setup.wall_slots > 0 && now != before)
		Words(setup.wall_marks).at[me] = now;
}

void work(uint item)
{
	flags = setup.flags;
	places = Fours(setup.places);
	motions = Fours(setup.motions);
	me = (flags & ORDERED) != 0 ? Words(setup.order).at[item] : item;
	place = places.at[me];
	motion = motions.at[me];
	spin = (flags & TURNS) != 0 ? Fours(setup.spins).at[me] : dvec4(0);
	force = torque = dvec3(0); // sums begin with +0 and so never are -0
	add_neighbours();
	add_walls();
	for (int k = 0; k < 3; k++) {
		Doubles(setup.loads).at[6 * me + k] = force[k];
		Doubles(setup.loads).at[6 * me + 3 + k] = torque[k];
	}
}

void main()
{
	const uint item = item_number(), lane = gl_LocalInvocationIndex;
	tally.overlap = 0;
	tally.contacts = tally.wall_contacts = 0;
	if (item < setup.count)
		work(item);
	tallies[lane] = tally;
	barrier();
	for (uint part = THREADS / 2; part > 0; part /= 2) {
		if (lane < part) {
			tallies[lane].overlap = max(tallies[lane].overlap, tallies[lane + part].overlap);
			tallies[lane].contacts += tallies[lane + part].contacts;
			tallies[lane].wall_contacts += tallies[lane + part].wall_contacts;
		}
		barrier();
	}
	if (lane == 0 && group_number() < setup.group_count) {
		Tallies(setup.tallies).at[group_number()].overlap = tallies[0].overlap;
		Tallies(setup.tallies).at[group_number()].contacts = tallies[0].contacts;
		Tallies(setup.tallies).at[group_number()].wall_contacts = tallies[0].wall_contacts;
	}
}
