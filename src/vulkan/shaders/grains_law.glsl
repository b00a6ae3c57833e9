// The laws of contacts (carom/grains.h has the formulas). Each is odd or even in the exchange of the
// sides, so both sides of a contact may be computed by themselves, with opposite results.

// A contact as one side sees it.
struct Contact {
	dvec3 normal;           // unit, from the other
	double overlap;         // not negative
	dvec3 velocity;         // of this side less the other's, at the contact point
	double lever;           // from this centre to the contact point
	dvec3 rolling;          // angular velocity of this side less the other's
	double mass_root;       // of m
	double inverse_inertia; // sum of both sides
	double radius;          // R
};

struct Pressure {
	double force, stiffness, damping;
};

struct Reply {
	dvec3 force;
	dvec3 twist;   // normal x force: the torque is this times minus the lever
	dvec3 rolling; // torque against rolling
};

precise double dot3(dvec3 a, dvec3 b)
{
	precise double sum = a.x * b.x + a.y * b.y + a.z * b.z;
	return sum;
}

dvec3 cross3(dvec3 a, dvec3 b)
{
	precise dvec3 product;
	product.x = a.y * b.z - a.z * b.y;
	product.y = a.z * b.x - a.x * b.z;
	product.z = a.x * b.y - a.y * b.x;
	return product;
}

Pressure press(Law law, double overlap, double parting, double mass_root, double radius)
{
	precise Pressure p;
	if ((law.flags & HERTZ) != 0) {
		precise double root = sqrt(radius * overlap);
		precise double slope = 2 * law.modulus * root;
		precise double shear = 8 * law.shear * root;
		p.force = 0.66666666666666663lf * slope * overlap - law.damping * sqrt(slope) * mass_root * parting;
		p.stiffness = shear;
		p.damping = law.damping * sqrt(shear) * mass_root;
		return p;
	}
	const bool scaled = (law.flags & SCALED) != 0;
	precise double scale = 1, scale_root = 1;
	if (scaled) {
		scale = radius;
		scale_root = sqrt(radius);
	}
	precise double damping = law.damping_root * mass_root * scale_root;
	p.force = law.stiffness * scale * overlap - damping * parting;
	p.stiffness = law.tangential_stiffness * scale;
	p.damping = damping * law.tangential_damping;
	return p;
}

// Turns the spring with the contact: back into the plane across the normal, as long as it was.
dvec3 turn_spring(dvec3 normal, dvec3 spring)
{
	precise double before = dot3(spring, spring);
	precise double along = dot3(spring, normal);
	precise dvec3 turned = spring - along * normal;
	precise double after = dot3(turned, turned);
	precise double ratio = before / after;
	precise double scale = 0;
	if (after > 0)
		scale = sqrt(ratio);
	precise dvec3 result = turned * scale;
	return result;
}

// Force across the normal; goes on with the spring.
dvec3 rub(Law law, Contact c, Pressure p, inout dvec3 spring)
{
	precise double parting = dot3(c.velocity, c.normal);
	precise dvec3 sliding = c.velocity - parting * c.normal;
	precise dvec3 stretched = turn_spring(c.normal, spring) + sliding * setup.time_step;
	precise dvec3 force = -p.stiffness * stretched - p.damping * sliding;
	precise double most = law.friction * p.force;
	if (!(p.force > 0))
		most = 0;
	precise double squared = dot3(force, force), bound = most * most;
	spring = stretched;
	if (squared <= bound)
		return force;
	precise double scale = most / sqrt(squared);
	precise dvec3 limited = force * scale;
	// The spring that, with the dashpot, pulls just so much.
	precise dvec3 slipping = -(limited + p.damping * sliding) / p.stiffness;
	spring = dvec3(0);
	if (p.stiffness > 0)
		spring = slipping;
	return limited;
}

dvec3 roll(Law law, Contact c, Pressure p)
{
	precise double along = dot3(c.rolling, c.normal);
	precise dvec3 rolling = c.rolling - along * c.normal;
	precise double speed = sqrt(dot3(rolling, rolling));
	if (!(speed > 0) || !(p.force > 0))
		return dvec3(0);
	precise double most = law.rolling_friction * c.radius * p.force;
	precise double stopping = speed / (c.inverse_inertia * setup.time_step);
	precise double least = stopping;
	if (most < stopping)
		least = most;
	precise double scale = least / speed;
	precise dvec3 torque = -scale * rolling;
	return torque;
}

Reply touch(Law law, Contact c, inout dvec3 spring)
{
	const Pressure p = press(law, c.overlap, dot3(c.velocity, c.normal), c.mass_root, c.radius);
	precise Reply reply;
	reply.force = p.force * c.normal;
	reply.twist = reply.rolling = dvec3(0);
	if ((setup.flags & TURNS) == 0)
		return reply;
	if ((law.flags & TANGENTIAL) != 0) {
		const dvec3 f = rub(law, c, p, spring);
		reply.force += f;
		reply.twist = cross3(c.normal, f);
	}
	if ((law.flags & ROLLING) != 0)
		reply.rolling = roll(law, c, p);
	return reply;
}
