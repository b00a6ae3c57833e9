/// Impacts of spheres with each other. In: where the spheres of all granular bodies begin the step,
/// and where they are when it ends. Out: for each sphere of a continuous body, and each that one
/// meets, the first impact with another sphere.
///
/// 1. A ball around the whole way of each sphere: about the middle of the way, with half of its
///    length added to the radius. The drift that most spheres share (the median of some) is taken
///    off all ways before: it changes no distance, and balls stay small where all fall together.
/// 2. The detector of carom/spheres.h hands over the balls that touch, on all workers. Bodies and
///    filters decide, then the closed form of geom/ball_time.h. What meets goes to a list of the
///    worker.
/// 3. Serial: the user's filter is asked for each two bodies that have meetings. Each sphere takes
///    the earliest of its meetings, at equal times that with the lower number. The impacts of all
///    of these are told, each once.
///
/// No meeting is missed. Two spheres that come within the tolerance at some time have their centres
/// then within half of each way of its middle, so the balls touch; they are grown by the tolerance
/// and by more than all roundings. Lengths are handed over divided by 8, which is exact, so that
/// the middles in the moving frame keep within CAROM_MAX_COORDINATE.
///
/// What is told does not depend on threads: the earliest of a set has no order, and the list is
/// sorted by spheres. Cost: that of the detector, and a closed form for each two balls that touch.
/// Ways much longer than the spaces between spheres, in all directions, have many.
#include "world/meeting_spheres.h"
#include "geom/spread.h"
#include "world/world.h"
#include <string.h>

static const char *const what = "the impacts of spheres";

#define NO_MEETING UINT32_MAX

// ---- Ways ----

static cr_moving_ball ball_of(const cr_granular *g, int64_t number)
{
	const double *end = &g->spheres.data[4 * number];
	const v3d from = cr_sphere_begin(g, number);
	return (cr_moving_ball){ from, v3d_sub((v3d){ end[0], end[1], end[2] }, from), end[3] };
}

static int64_t body_of(const cr_meeting_spheres *m, int64_t sphere)
{
	return cr_listed_of(m->first.data, m->bodies.count, sphere);
}

static const cr_granular *granular_at(const carom_world *world, int64_t listed)
{
	return cr_granular_of(&world->bodies.data[world->meeting_spheres.bodies.data[listed]]);
}

static cr_moving_ball ball_at(const carom_world *world, int64_t sphere)
{
	const cr_meeting_spheres *m = &world->meeting_spheres;
	const int64_t listed = body_of(m, sphere);
	return ball_of(granular_at(world, listed), sphere - m->first.data[listed]);
}

/// The way that most spheres share.
static v3d find_drift(const carom_world *world, int64_t total)
{
	v3d samples[CR_SPREAD_SAMPLES];
	int count = 0;
	for (int64_t i = 0; i < total; i += cr_spread_stride(total))
		samples[count++] = ball_at(world, i).travel;
	return v3d_from_doubles(cr_find_spread(samples, count).middle);
}

/// Writes the ball around a way, in eighths.
static void bound_way(const cr_moving_ball *ball, v3d drift, double tolerance, double to[4])
{
	const v3d travel = v3d_sub(ball->travel, drift), middle = v3d_mad(ball->begin, 0.5, travel);
	const cr_moving_ball shift = { drift, drift, 0 };
	const double slack = tolerance + 8 * cr_ball_rounding(ball, &shift);
	to[0] = 0.125 * middle.x;
	to[1] = 0.125 * middle.y;
	to[2] = 0.125 * middle.z;
	to[3] = 0.125 * (ball->radius + 0.5 * v3d_length(travel) + slack);
}

/// Fills the balls around all ways. Returns whether any two spheres move differently.
static bool bound_ways(carom_world *world, int64_t total)
{
	cr_meeting_spheres *m = &world->meeting_spheres;
	const v3d drift = find_drift(world, total);
	bool differ = false;
	for (int64_t b = 0; b < m->bodies.count; b++) {
		const cr_granular *g = granular_at(world, b);
		for (int64_t i = 0; i < g->count; i++) {
			const cr_moving_ball ball = ball_of(g, i);
			bound_way(&ball, drift, world->def.toi_tolerance, &m->ways.data[4 * (m->first.data[b] + i)]);
			differ = differ || ball.travel.x != drift.x || ball.travel.y != drift.y || ball.travel.z != drift.z;
		}
	}
	return differ;
}

// ---- Pairs ----

/// May spheres of two bodies meet, as all but the user's filter say?
static bool may_meet(const carom_world *world, int32_t a, int32_t b)
{
	const cr_body *bodies = world->bodies.data;
	if (a == b)
		return bodies[a].continuous && bodies[a].self_collision;
	return (bodies[a].continuous || bodies[b].continuous) && cr_filters_pass(&bodies[a], &bodies[b]);
}

static bool look_at_pairs(const carom_sphere_pair *pairs, int64_t count, int worker, void *user)
{
	carom_world *world = user;
	const cr_meeting_spheres *m = &world->meeting_spheres;
	cr_meeting_worker *out = &m->workers[worker];
	for (int64_t i = 0; i < count; i++) {
		const int64_t a = body_of(m, pairs[i].a), b = body_of(m, pairs[i].b);
		if (!may_meet(world, m->bodies.data[a], m->bodies.data[b]))
			continue;
		const cr_moving_ball ball_a = ball_of(granular_at(world, a), pairs[i].a - m->first.data[a]);
		const cr_moving_ball ball_b = ball_of(granular_at(world, b), pairs[i].b - m->first.data[b]);
		const cr_ball_time met = cr_find_ball_time(&ball_a, &ball_b, world->def.toi_tolerance);
		out->tests++;
		if (met.state != CR_IMPACT_FOUND)
			continue;
		if (!cr_array_reserve_one(&world->memory, &out->found)) {
			out->failed = true;
			return false;
		}
		out->found.data[out->found.count++] = (cr_sphere_meeting){ pairs[i].a, pairs[i].b, met.time };
	}
	return true;
}

static carom_result find_pairs(carom_world *world, int64_t total)
{
	cr_meeting_spheres *m = &world->meeting_spheres;
	carom_sphere_input input = carom_default_sphere_input();
	input.count = total;
	input.centres = (carom_strided){ m->ways.data, 4 * sizeof(double), CAROM_FLOAT64 };
	input.radii = (carom_strided){ m->ways.data + 3, 4 * sizeof(double), CAROM_FLOAT64 };
	carom_result result = m->detector ? CAROM_SUCCESS : carom_create_spheres(&world->memory, NULL, &m->detector);
	if (result == CAROM_SUCCESS)
		result = carom_spheres_update(m->detector, &input);
	return result == CAROM_SUCCESS ? carom_spheres_visit_pairs(m->detector, look_at_pairs, world) : result;
}

static bool begin_workers(carom_world *world)
{
	cr_meeting_spheres *m = &world->meeting_spheres;
	m->workers = cr_keep_workers(world, m->workers, sizeof *m->workers, &m->worker_count);
	for (int32_t i = 0; i < m->worker_count; i++) {
		m->workers[i].found.count = m->workers[i].tests = 0;
		m->workers[i].failed = false;
	}
	return m->workers != NULL;
}

// ---- The first of each sphere ----

static bool gather(carom_world *world)
{
	cr_meeting_spheres *m = &world->meeting_spheres;
	m->all.count = 0;
	for (int32_t i = 0; i < m->worker_count; i++) {
		const cr_meeting_worker *w = &m->workers[i];
		if (w->failed || m->all.count + w->found.count >= NO_MEETING ||
			!cr_array_reserve(&world->memory, &m->all, m->all.count + w->found.count))
			return false;
		if (w->found.count > 0)
			memcpy(m->all.data + m->all.count, w->found.data, (size_t)w->found.count * sizeof *w->found.data);
		m->all.count += w->found.count;
		world->continuous.tests += w->tests;
	}
	return true;
}

/// Leaves out the meetings of two bodies that the user's filter refuses.
static bool ask_filter(carom_world *world)
{
	cr_meeting_spheres *m = &world->meeting_spheres;
	const int64_t count = m->all.count;
	const uint64_t bodies = (uint64_t)m->bodies.count;
	if (!world->def.pair_filter || bodies < 2 || count == 0)
		return true;
	if (!cr_array_reserve_fresh(&world->memory, &m->keys, 2 * count))
		return false;
	for (int64_t i = 0; i < count; i++) {
		const uint64_t a = (uint64_t)body_of(m, m->all.data[i].a), b = (uint64_t)body_of(m, m->all.data[i].b);
		m->keys.data[i] = (cr_key){ a * bodies + b, (uint32_t)i };
	}
	cr_radix_sort(m->keys.data, m->keys.data + count, count, cr_bits_of(bodies * bodies));
	bool passes = true;
	for (int64_t i = 0; i < count; i++) {
		const uint64_t key = m->keys.data[i].key;
		const int32_t a = m->bodies.data[key / bodies], b = m->bodies.data[key % bodies];
		if (i == 0 || key != m->keys.data[i - 1].key)
			passes = a == b || cr_pair_filter_passes(world, a, b);
		if (!passes)
			m->all.data[m->keys.data[i].value].time = INFINITY;
	}
	return true;
}

static void offer(cr_meeting_spheres *m, uint32_t sphere, uint32_t number)
{
	const cr_sphere_meeting *now = &m->all.data[number];
	uint32_t *best = &m->earliest.data[sphere];
	if (*best != NO_MEETING) {
		const cr_sphere_meeting *before = &m->all.data[*best];
		const uint32_t other = now->a == sphere ? now->b : now->a, last = before->a == sphere ? before->b : before->a;
		if (before->time < now->time || (before->time == now->time && last < other))
			return;
	}
	*best = number;
}

static bool choose_earliest(carom_world *world, int64_t total)
{
	cr_meeting_spheres *m = &world->meeting_spheres;
	if (!cr_array_reserve_fresh(&world->memory, &m->earliest, total))
		return false;
	memset(m->earliest.data, 0xff, (size_t)total * sizeof *m->earliest.data);
	for (int64_t i = 0; i < m->all.count; i++) {
		if (m->all.data[i].time < INFINITY) {
			offer(m, m->all.data[i].a, (uint32_t)i);
			offer(m, m->all.data[i].b, (uint32_t)i);
		}
	}
	return true;
}

/// Two spheres at the time of their impact.
static carom_body_impact impact_of(const carom_world *world, const cr_sphere_meeting *met)
{
	const cr_meeting_spheres *m = &world->meeting_spheres;
	const cr_body *bodies = world->bodies.data;
	const int64_t listed_a = body_of(m, met->a), listed_b = body_of(m, met->b);
	const int32_t body_a = m->bodies.data[listed_a], body_b = m->bodies.data[listed_b];
	const cr_moving_ball a = ball_at(world, met->a), b = ball_at(world, met->b);
	const v3d at = v3d_mad(a.begin, met->time, a.travel);
	const v3d apart = v3d_mad(v3d_sub(a.begin, b.begin), met->time, v3d_sub(a.travel, b.travel));
	const double distance = v3d_length(apart);
	const v3d normal = distance > 0 ? v3d_scale(apart, 1 / distance) : (v3d){ 1, 0, 0 };
	return (carom_body_impact){ .body_a = cr_id_of(bodies, body_a),
		.body_b = cr_id_of(bodies, body_b),
		.user_data_a = bodies[body_a].user_data,
		.user_data_b = bodies[body_b].user_data,
		.shape_a = (int32_t)(met->a - m->first.data[listed_a]),
		.shape_b = (int32_t)(met->b - m->first.data[listed_b]),
		.status = CAROM_TOI_IMPACT,
		.time = met->time,
		.distance = distance - (a.radius + b.radius),
		.point = v3d_mad(at, -a.radius, normal),
		.normal = normal,
		.triangle_a = -1,
		.triangle_b = -1 };
}

/// Appends the impacts that are the first of a sphere, each once.
static bool append_earliest(carom_world *world)
{
	const cr_meeting_spheres *m = &world->meeting_spheres;
	cr_continuous *c = &world->continuous;
	for (int64_t i = 0; i < m->all.count; i++) {
		const cr_sphere_meeting *met = &m->all.data[i];
		if (m->earliest.data[met->a] != (uint32_t)i && m->earliest.data[met->b] != (uint32_t)i)
			continue;
		if (c->next.count == INT32_MAX || !cr_array_reserve_one(&world->memory, &c->next))
			return false;
		c->next.data[c->next.count++] = impact_of(world, met);
	}
	return true;
}

carom_result cr_find_sphere_meetings(carom_world *world)
{
	cr_meeting_spheres *m = &world->meeting_spheres;
	if (!cr_list_granular(world, NULL, &m->bodies, &m->first))
		return cr_fail_memory(world->context, what);
	const int64_t total = m->first.data[m->bodies.count];
	if (total < 2)
		return CAROM_SUCCESS;
	if (!cr_array_reserve_fresh(&world->memory, &m->ways, 4 * total))
		return cr_fail_memory(world->context, what);
	if (!bound_ways(world, total))
		return CAROM_SUCCESS;
	if (!begin_workers(world))
		return cr_fail_memory(world->context, what);
	const carom_result result = find_pairs(world, total);
	if (result != CAROM_SUCCESS)
		return result;
	if (!gather(world) || !ask_filter(world) || !choose_earliest(world, total) || !append_earliest(world))
		return cr_fail_memory(world->context, what);
	return CAROM_SUCCESS;
}

void cr_free_sphere_meetings(carom_context *memory, cr_meeting_spheres *m)
{
	carom_destroy_spheres(m->detector);
	cr_array_free(memory, &m->bodies);
	cr_array_free(memory, &m->first);
	cr_array_free(memory, &m->ways);
	for (int32_t i = 0; i < m->worker_count; i++)
		cr_array_free(memory, &m->workers[i].found);
	cr_free(memory, m->workers, (size_t)m->worker_count * sizeof *m->workers);
	cr_array_free(memory, &m->all);
	cr_array_free(memory, &m->earliest);
	cr_array_free(memory, &m->keys);
	*m = (cr_meeting_spheres){ 0 };
}
