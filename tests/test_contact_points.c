/// Contacts of deforming bodies and of spheres as points, and their files.
#include "failing_memory.h"
#include "soft_fixture.h"
#include "test.h"

#include "io/contact_file.h"
#include "sim/grains/granular_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double NEAR = 1e-12;

static sim_contact_points three_points(void)
{
	sim_contact_points points = { 0 };
	for (int k = 0; k < SIM_CONTACT_KINDS; k++) {
		const sim_contact_point point = { (sim_contact_kind)k, { 1.5 * k, -2, 1e-9 }, { 0, 0.6, -0.8 }, k - 0.5 };
		REQUIRE(sim_add_contact_point(&points, &point));
	}
	return points;
}

TEST(contact_points, a_file_gives_back_what_was_written)
{
	const char *path = "contact_points_written.csv";
	sim_error error = { "" };
	sim_contact_points points = three_points(), back = { 0 }, none = { 0 };
	CHECK(io_save_contacts(path, &points, &error));
	CHECK(io_load_contacts(path, &back, &error));
	CHECK_STR(error.text, "");
	REQUIRE(back.count == points.count);
	for (int64_t i = 0; i < points.count; i++) {
		CHECK_INT(back.data[i].kind, points.data[i].kind);
		CHECK(fabs(back.data[i].depth - points.data[i].depth) < NEAR);
		for (int k = 0; k < 3; k++) {
			CHECK(fabs(back.data[i].point[k] - points.data[i].point[k]) < NEAR);
			CHECK(fabs(back.data[i].normal[k] - points.data[i].normal[k]) < NEAR);
		}
	}
	sim_free_contact_points(&back);
	CHECK(io_save_contacts(path, &none, &error) && io_load_contacts(path, &back, &error));
	CHECK_INT(back.count, 0);
	sim_free_contact_points(&points);
	unlink(path);
}

static void check_refused(const char *text, const char *reason)
{
	const char *path = "contact_points_refused.csv";
	sim_error error = { "" };
	sim_contact_points points = { 0 };
	FILE *file = fopen(path, "wb");
	REQUIRE(file);
	fputs(text, file);
	fclose(file);
	CHECK(!io_load_contacts(path, &points, &error));
	CHECK_STR(error.text, reason);
	CHECK(points.data == NULL && points.count == 0);
	unlink(path);
}

#define NAMES "kind,x,y,z,nx,ny,nz,depth\n"

TEST(contact_points, a_damaged_file_is_refused_with_line_and_field)
{
	check_refused("kind,x\n", "line 1: must be kind,x,y,z,nx,ny,nz,depth");
	check_refused(NAMES "cloth,1,2,3,0,0,1,0\ncable,1,2,3,0,0,1,0\n", "line 3: kind: is none of impact, cloth, sphere");
	check_refused(NAMES "sphere,1,2,3,0,nan,1,0\n", "line 2: ny: is no finite number");
	check_refused(NAMES "sphere,1,,3,0,0,1,0\n", "line 2: y: is no finite number");
	check_refused(NAMES "impact,1,2,3,0,0,1\n", "line 2: depth: is no finite number");
	check_refused(NAMES "impact,1,2,3,0,0,1,0,7\n", "line 2: has more than 8 fields");
	check_refused(NAMES "impact,1,2,3,0,0,1,0.2", "line 2: has no end: the file was cut off");
}

/// A sheet that falls onto a ball that stands still.
TEST(contact_points, cloth_on_a_ball_touches_at_its_surface)
{
	carom_context *context;
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	sim_soft *soft = fixture_start_soft(context,
		"{ \"time_step\": 0.01, \"deforming\": { \"movers\": [{ \"form\": \"sphere\", \"radius\": 0.5, \"divisions\": [12, 8] }],"
		"\"list\": [{ \"form\": \"sheet\", \"size\": [1, 1], \"divisions\": [10, 10], \"position\": [0, 0.51, 0] }] } }");
	sim_contact_points points = { 0 };
	sim_error error = { "" };
	CHECK(sim_soft_list_contacts(soft, &points));
	CHECK_INT(points.count, 0); // before the first step
	for (int i = 0; i < 12; i++)
		CHECK(sim_soft_advance(soft, NULL, &error));
	CHECK_STR(error.text, "");
	CHECK(sim_soft_list_contacts(soft, &points));
	CHECK(points.count > 0);
	for (int64_t i = 0; i < points.count; i++) {
		const sim_contact_point *c = &points.data[i];
		const double *p = c->point, *n = c->normal;
		const double far = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
		CHECK(c->kind != SIM_CONTACT_SPHERE);
		CHECK(fabs(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] - 1) < 1e-9);
		CHECK(far > 0.4 && far < 0.53); // the ball has facets
		CHECK(c->depth < 0.002);        // what surfaces keep apart, and they do not cross
	}
	sim_free_contact_points(&points);
	sim_destroy_soft(soft);
	carom_destroy_context(context);
}

/// Two spheres that overlap through a periodic face, the first one on the floor, too.
TEST(contact_points, spheres_touch_each_other_and_walls)
{
	carom_context *context;
	const double centres[] = { 0.05, 0.099, 0.5, 0.92, 0.3, 0.5, 0.93, 0.099, 0.5 }, radii[] = { 0.1, 0.1, 0.1 };
	sim_error error = { "" };
	sim_contact_points points = { 0 };
	sim_granular_def def = sim_default_granular_def();
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	def.count = 3;
	def.centres = (carom_strided){ centres, 0, CAROM_FLOAT64 };
	def.radii = (carom_strided){ radii, 0, CAROM_FLOAT64 };
	def.periodic[0] = true;
	def.faces[2] = true; // the floor
	sim_granular *granular = sim_create_granular(context, &def, &error);
	CHECK_STR(error.text, "");
	REQUIRE(granular);
	sim_granular_frame now;
	REQUIRE(sim_take_granular_frame(granular, &now));
	CHECK(sim_granular_list_contacts(granular, &now, &points, &error));
	sim_free_granular_frame(&now);
	REQUIRE(points.count == 3);
	const sim_contact_point *pair = &points.data[0], *floor = &points.data[1];
	CHECK(fabs(pair->depth - 0.08) < NEAR && fabs(pair->normal[0] - 1) < NEAR);
	CHECK(fabs(pair->point[0] + 0.01) < NEAR && fabs(pair->point[1] - 0.099) < NEAR);
	CHECK(fabs(floor->depth - 0.001) < NEAR && fabs(floor->normal[1] - 1) < NEAR);
	CHECK(fabs(floor->point[1]) < NEAR && fabs(floor->point[0] - 0.05) < NEAR);
	for (int i = 0; i < 3; i++)
		CHECK_INT(points.data[i].kind, SIM_CONTACT_SPHERE);
	sim_free_contact_points(&points);
	sim_destroy_granular(granular);
	carom_destroy_context(context);
}

// ---- Memory that is short ----

typedef struct listing {
	sim_soft *soft;
	sim_granular *granular;
	sim_granular_frame now;
	sim_contact_points points;
	sim_error error;
	int64_t wanted; // points
} listing;

static bool list_again(void *user)
{
	listing *l = user;
	l->error.text[0] = 0;
	l->points = (sim_contact_points){ 0 };
	if (l->soft)
		return sim_soft_list_contacts(l->soft, &l->points);
	return sim_granular_list_contacts(l->granular, &l->now, &l->points, &l->error);
}

/// What was listed before memory was short is the caller's to free.
static void check_listing(bool done, void *user)
{
	listing *l = user;
	CHECK(done ? l->points.count == l->wanted : l->points.count < l->wanted);
	if (!done && l->granular)
		CHECK(strstr(l->error.text, "memory"));
	sim_free_contact_points(&l->points);
}

static void check_each_allocation(listing *l)
{
	REQUIRE(list_again(l));
	l->wanted = l->points.count;
	CHECK(l->wanted > 256); // the list grows
	sim_free_contact_points(&l->points);
	CHECK(failing_memory_each(1, list_again, check_listing, l) >=
		(TEST_FEWER > 1 ? 1 : 2)); // it may grow by one call stack alone
}

TEST(contact_points, any_allocation_may_fail_while_those_of_cloth_are_listed)
{
	carom_context *context;
	sim_error error = { "" };
	REQUIRE(carom_create_context(NULL, &context) == CAROM_SUCCESS);
	listing l = {
		.soft = fixture_start_soft(context,
			"{ \"time_step\": 0.01, \"deforming\": { \"movers\": [{ \"form\": \"sheet\", \"size\": [3, 3], \"divisions\": [2, 2] }],"
			"\"list\": [{ \"form\": \"sheet\", \"size\": [1, 1], \"divisions\": [12, 12], \"position\": [0, 0.0012, 0] }] } }")
	};
	for (int i = 0; i < 2; i++)
		REQUIRE(sim_soft_advance(l.soft, NULL, &error));
	check_each_allocation(&l);
	sim_destroy_soft(l.soft);
	carom_destroy_context(context);
}

TEST(contact_points, any_allocation_may_fail_while_those_of_spheres_are_listed)
{
	enum { SIDE = 20, COUNT = SIDE * SIDE };
	static double centres[3 * COUNT], radii[COUNT];
	carom_context *context;
	listing l = { 0 };
	sim_granular_def def = sim_default_granular_def();
	carom_context_def one = carom_default_context_def();
	one.thread_count = 1; // memory fails on this thread alone
	REQUIRE(carom_create_context(&one, &context) == CAROM_SUCCESS);
	for (int i = 0; i < COUNT; i++) {
		const double centre[3] = { 0.1 + 0.04 * (i % SIDE), 0.5, 0.1 + 0.04 * (i / SIDE) };
		memcpy(centres + 3 * i, centre, sizeof centre);
		radii[i] = 0.0201;
	}
	def.count = COUNT;
	def.centres = (carom_strided){ centres, 0, CAROM_FLOAT64 };
	def.radii = (carom_strided){ radii, 0, CAROM_FLOAT64 };
	l.granular = sim_create_granular(context, &def, &l.error);
	REQUIRE(l.granular && sim_take_granular_frame(l.granular, &l.now));
	check_each_allocation(&l);
	sim_free_granular_frame(&l.now);
	sim_destroy_granular(l.granular);
	carom_destroy_context(context);
}
