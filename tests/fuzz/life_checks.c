// What must hold of the results of any step (fuzz_life.c): their numbers are finite, normals are of unit length, ids name bodies, and
// what stands side by side adds up.
#include "life.h"

#include <math.h>

static bool is_unit(carom_vec3 n) { return fuzz_is_unit(n.x, n.y, n.z); }

static void check_contacts(life *l, const carom_world *world)
{
	const carom_contact_view view = carom_world_contacts(world);
	const carom_pair_view pairs = carom_world_pairs(world);
	for (int32_t i = 0; i < view.count; i++) {
		const carom_contact *c = &view.data[i];
		FUZZ_REQUIRE(
			carom_world_is_body(world, c->body_a) && carom_world_is_body(world, c->body_b), "contact %d of a dead body", i);
		FUZZ_REQUIRE(c->body_a.index1 < c->body_b.index1, "contact %d of bodies %u %u", i, c->body_a.index1, c->body_b.index1);
		FUZZ_REQUIRE(isfinite(c->point[0]) && isfinite(c->point[1]) && isfinite(c->point[2]), "contact %d is nowhere", i);
		FUZZ_REQUIRE(fuzz_is_unit((double)c->normal[0], (double)c->normal[1], (double)c->normal[2]),
			"contact %d of kind %d: normal %g %g %g", i, c->kind, (double)c->normal[0], (double)c->normal[1],
			(double)c->normal[2]);
		FUZZ_REQUIRE(isfinite(c->depth) && (double)c->depth >= -1.0001 * l->def.speculative_distance - 1e-12,
			"contact %d of kind %d has depth %g", i, c->kind, (double)c->depth);
		FUZZ_REQUIRE(c->pair >= 0 && c->pair < pairs.count, "contact %d in pair %d", i, c->pair);
		const carom_pair *p = &pairs.data[c->pair];
		FUZZ_REQUIRE(i >= p->first_contact && i < p->first_contact + p->contact_count && c->age >= 0, "contact %d", i);
	}
	int64_t contacts = 0;
	for (int32_t i = 0; i < pairs.count; i++) {
		const carom_pair *p = &pairs.data[i];
		FUZZ_REQUIRE(
			carom_world_is_body(world, p->body_a) && carom_world_is_body(world, p->body_b), "pair %d of a dead body", i);
		FUZZ_REQUIRE(p->found_count >= p->contact_count && p->age >= 0, "pair %d", i);
		contacts += p->contact_count;
	}
	FUZZ_REQUIRE(contacts == view.count, "%d contacts, of pairs %lld", view.count, (long long)contacts);
}

static void check_events(const carom_world *world)
{
	const carom_event_view events = carom_world_events(world);
	const carom_pair_view pairs = carom_world_pairs(world);
	int32_t next = 0;
	for (int32_t i = 0; i < events.count; i++) {
		const carom_event *e = &events.data[i];
		if (e->kind == CAROM_EVENT_END) {
			FUZZ_REQUIRE(e->pair == -1, "event %d ends pair %d", i, e->pair);
			continue;
		}
		FUZZ_REQUIRE(e->pair == next && next < pairs.count, "event %d of pair %d", i, e->pair);
		const carom_pair *p = &pairs.data[next++];
		FUZZ_REQUIRE(p->body_a.index1 == e->body_a.index1 && p->body_b.index1 == e->body_b.index1 && p->shape_a == e->shape_a &&
				p->shape_b == e->shape_b && (e->kind == CAROM_EVENT_BEGIN) == (p->age == 0),
			"event %d of kind %d, pair of age %d", i, e->kind, p->age);
	}
	FUZZ_REQUIRE(next == pairs.count, "%d pairs, %d with events", pairs.count, next);
}

static void check_impacts(const carom_world *world)
{
	const carom_impact_view view = carom_world_impacts(world);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_impact *m = &view.data[i];
		FUZZ_REQUIRE(m->time >= 0 && m->time <= 1 && fuzz_is_unit(m->normal[0], m->normal[1], m->normal[2]),
			"impact %lld: time %g, normal %g %g %g", (long long)i, m->time, m->normal[0], m->normal[1], m->normal[2]);
		FUZZ_REQUIRE(
			fabs(m->weight[0] + m->weight[1] + m->weight[2] + m->weight[3] - 2) < 1e-6, "impact %lld: weights", (long long)i);
		FUZZ_REQUIRE(carom_world_is_body(world, m->body_a) && carom_world_is_body(world, m->body_b), "impact of a dead body");
	}
	const carom_shape_impact_view shapes = carom_world_shape_impacts(world);
	for (int64_t i = 0; i < shapes.count; i++) {
		const carom_shape_impact *m = &shapes.data[i];
		FUZZ_REQUIRE(m->time >= 0 && m->time <= 1 && is_unit(m->normal) && isfinite(m->distance),
			"shape impact %lld: time %g, distance %g", (long long)i, m->time, m->distance);
	}
	const carom_body_impact_view bodies = carom_world_body_impacts(world);
	for (int32_t i = 0; i < bodies.count; i++) {
		const carom_body_impact *m = &bodies.data[i];
		FUZZ_REQUIRE(m->time >= 0 && m->time <= 1 && is_unit(m->normal) && isfinite(m->distance) && m->status != CAROM_TOI_APART,
			"body impact %d: time %g, distance %g, normal %g %g %g", i, m->time, m->distance, m->normal.x, m->normal.y,
			m->normal.z);
	}
}

static void check_surfaces(const carom_world *world)
{
	const carom_pair_view pairs = carom_world_pairs(world);
	const carom_surface_contact_view view = carom_world_surface_contacts(world);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_surface_contact *c = &view.data[i];
		FUZZ_REQUIRE(is_unit(c->normal) && isfinite(c->distance) && c->distance <= c->thickness * (1 + 1e-9) && c->pair >= 0 &&
				c->pair < pairs.count,
			"surface contact %lld of kind %d: distance %g, normal %g %g %g, pair %d", (long long)i, c->kind, c->distance,
			c->normal.x, c->normal.y, c->normal.z, c->pair);
	}
	const carom_surface_shape_contact_view shapes = carom_world_surface_shape_contacts(world);
	for (int64_t i = 0; i < shapes.count; i++) {
		const carom_surface_shape_contact *c = &shapes.data[i];
		FUZZ_REQUIRE(is_unit(c->normal) && isfinite(c->distance) && c->distance <= c->thickness * (1 + 1e-9) && c->pair >= 0 &&
				c->pair < pairs.count,
			"surface contact with a shape %lld: distance %g", (long long)i, c->distance);
	}
}

static void check_spheres(life *l, const carom_world *world)
{
	const carom_pair_view pairs = carom_world_pairs(world);
	const carom_sphere_contact_view view = carom_world_sphere_contacts(world);
	for (int64_t i = 0; i < view.count; i++) {
		const carom_sphere_contact *c = &view.data[i];
		FUZZ_REQUIRE(is_unit(c->normal) && isfinite(c->depth) && c->depth >= -1.0001 * l->def.speculative_distance - 1e-12 &&
				c->pair >= 0 && c->pair < pairs.count,
			"sphere contact %lld: depth %g", (long long)i, c->depth);
	}
	const carom_sphere_pair_view spheres = carom_world_sphere_pairs(world);
	int64_t sum = 0;
	for (int64_t i = 0; i < spheres.group_count; i++) {
		FUZZ_REQUIRE(spheres.groups[i].first_pair == sum, "group %lld", (long long)i);
		sum += spheres.groups[i].pair_count;
	}
	FUZZ_REQUIRE(sum == spheres.pair_count, "%lld pairs of spheres", (long long)sum);
}

void life_check_step(life *l)
{
	const carom_world *world = l->world[0];
	check_contacts(l, world);
	check_events(world);
	check_impacts(world);
	check_surfaces(world);
	check_spheres(l, world);
}
