/// Granular simulations that must not be: each field of the definition, motions that are not finite, memory that runs out.
#include "scene/granular_checkpoint.h"
#include "granular_fixture.h"

static carom_context *s_context;

static void refused(const sim_granular_def *def, const char *begin, int line)
{
	sim_error error = { "" };
	sim_granular *g = sim_create_granular(s_context, def, &error);
	if (!CHECK(!g && strncmp(error.text, begin, strlen(begin)) == 0))
		printf("line %d: \"%s\" where \"%s\" was expected\n", line, error.text, begin);
	sim_destroy_granular(g);
}

// The field set to a value, and what the text must begin with.
#define REFUSED(field, value, begin)    \
	do {                                \
		sim_granular_def bad = def;     \
		bad.field = (value);            \
		refused(&bad, begin, __LINE__); \
	} while (0)

TEST(granular_misuse, each_field_is_checked)
{
	s_context = granular_context(1);
	granular_scene s = granular_scene_heap(2, 1, 1);
	const sim_granular_def def = granular_scene_rough(&s);
	REFUSED(count, -1, "count: ");
	REFUSED(count, (int64_t)CAROM_MAX_SPHERES + 1, "count: ");
	REFUSED(centres.data, NULL, "centres.data: ");
	REFUSED(radii.data, NULL, "radii.data: ");
	REFUSED(centres.type, 7, "centres.type: ");
	REFUSED(velocities.type, 7, "velocities.type: ");
	REFUSED(angular_velocities.type, 7, "angular_velocities.type: ");
	REFUSED(density, 0, "density: ");
	REFUSED(density, INFINITY, "density: ");
	REFUSED(time_step, NAN, "time_step: ");
	REFUSED(time_step, -1, "time_step: ");
	REFUSED(time_step, 1, "time_step: ");
	REFUSED(gravity[1], NAN, "gravity: ");
	REFUSED(gravity_rate, INFINITY, "gravity_rate: ");
	sim_granular_def turning = def;
	turning.gravity_rate = 1;
	turning.gravity_axis[1] = 0;
	refused(&turning, "gravity_axis: ", __LINE__);
	REFUSED(spheres.normal, 5, "spheres.normal: ");
	REFUSED(spheres.stiffness, 0, "spheres.stiffness: ");
	REFUSED(spheres.stiffness_radius, -1, "spheres.stiffness_radius: ");
	REFUSED(spheres.restitution, 1.5, "spheres.restitution: ");
	REFUSED(spheres.restitution, NAN, "spheres.restitution: ");
	REFUSED(spheres.tangential, 9, "spheres.tangential: ");
	REFUSED(spheres.tangential, SIM_GRANULAR_MINDLIN, "spheres.tangential: ");
	REFUSED(spheres.normal, SIM_GRANULAR_HERTZ, "spheres.tangential: ");
	REFUSED(spheres.tangential_ratio, 0, "spheres.tangential_ratio: ");
	REFUSED(spheres.friction, -0.1, "spheres.friction: ");
	REFUSED(spheres.rolling_friction, NAN, "spheres.rolling_friction: ");
	REFUSED(walls.stiffness, INFINITY, "walls.stiffness: ");
	REFUSED(walls.friction, NAN, "walls.friction: ");
	sim_granular_def hertz = def;
	hertz.spheres.normal = SIM_GRANULAR_HERTZ;
	hertz.spheres.tangential = SIM_GRANULAR_MINDLIN;
	hertz.spheres.young = 0;
	refused(&hertz, "spheres.young: ", __LINE__);
	hertz.spheres.young = 1e7;
	hertz.spheres.poisson = 0.6;
	refused(&hertz, "spheres.poisson: ", __LINE__);
	REFUSED(lower[0], NAN, "lower: ");
	REFUSED(upper[1], 0, "upper: ");
	REFUSED(upper[2], 0.05, "upper: ");
	REFUSED(upper[2], 1e13, "lower, upper: ");
	REFUSED(periodic[0], true, "faces: ");
	sim_granular_def narrow = def;
	narrow.faces[0] = narrow.faces[1] = false;
	narrow.periodic[0] = true;
	narrow.upper[0] = 0.1;
	refused(&narrow, "upper: ", __LINE__);
	REFUSED(moving_count, -1, "moving_count: ");
	REFUSED(moving_count, SIM_GRANULAR_MAX_WALLS + 1, "moving_count: ");
	sim_granular_def wall = def;
	wall.moving_count = 1;
	refused(&wall, "moving[0].normal: ", __LINE__);
	wall.moving[0].normal[0] = 1;
	wall.moving[0].frequency = NAN;
	refused(&wall, "moving[0].frequency: ", __LINE__);
	wall.moving[0].frequency = 0;
	wall.moving[0].phase = INFINITY;
	refused(&wall, "moving[0].phase: ", __LINE__);
	wall.moving[0].phase = 0;
	wall.moving[0].amplitude[2] = NAN;
	refused(&wall, "moving[0].amplitude: ", __LINE__);
	REFUSED(stability, 2, "stability: ");
	REFUSED(stability_contacts, 0.5, "stability_contacts: ");
	REFUSED(stability_overlap, 0, "stability_overlap: ");
	REFUSED(skin, NAN, "skin: ");
	REFUSED(method, 77, "method: ");
	sim_granular_def half = def;
	half.allocator.allocate = short_allocate;
	refused(&half, "allocator: ", __LINE__);
	carom_destroy_context(s_context);
	granular_scene_free(&s);
}

TEST(granular_misuse, the_sphere_at_fault_is_named)
{
	s_context = granular_context(1);
	granular_scene s = granular_scene_heap(2, 1, 1);
	const sim_granular_def def = granular_scene_rough(&s);
	s.radii[5] = 0;
	refused(&def, "radii: sphere 5: ", __LINE__);
	s.radii[5] = NAN;
	refused(&def, "radii: sphere 5: ", __LINE__);
	s.radii[5] = 0.02;
	s.centres[3 * 6 + 1] = INFINITY;
	refused(&def, "centres: sphere 6: ", __LINE__);
	s.centres[3 * 6 + 1] = 2e12;
	refused(&def, "centres: sphere 6: ", __LINE__);
	s.centres[3 * 6 + 1] = 0;
	s.velocities[3 * 7 + 2] = NAN;
	refused(&def, "velocities: sphere 7: ", __LINE__);
	s.velocities[3 * 7 + 2] = 0;
	carom_destroy_context(s_context);
	granular_scene_free(&s);
}

static void explode(const sim_granular_side *a, const sim_granular_side *b, const double normal[3], double overlap,
	double time_step, double history[3], double force[3], double torque[3], void *user)
{
	(void)b, (void)normal, (void)overlap, (void)time_step, (void)history, (void)torque, (void)user;
	force[1] = a->id == 3 ? NAN : 0;
}

TEST(granular_misuse, a_motion_that_is_not_finite_is_an_error)
{
	carom_context *context = granular_context(2);
	granular_scene s = granular_scene_make(5);
	for (int i = 0; i < 5; i++) {
		s.radii[i] = 0.01;
		s.centres[3 * i] = 0.019 * i;
	}
	sim_granular_def def = granular_scene_def(&s);
	def.force = explode;
	sim_granular *g = granular_create(context, &def);
	sim_error error = { "" };
	CHECK(!sim_granular_advance(g, NULL, &error));
	CHECK_STR(error.text, "step 1: the motion of sphere 3 is not finite");
	CHECK(!sim_granular_advance(g, NULL, &error));
	CHECK_STR(error.text, "the simulation failed before");
	// Asking does not mend it.
	sim_granular_energy energy;
	int32_t counts[5];
	CHECK(!sim_granular_get_energy(g, &energy, &error));
	CHECK_STR(error.text, "the simulation failed before");
	CHECK(!sim_granular_count_contacts(g, counts, &error));
	CHECK(!sim_granular_advance(g, NULL, &error));
	CHECK_STR(error.text, "the simulation failed before");
	sim_destroy_granular(g);

	// Too far away is an error too, with the id though the arrays may be sorted.
	def.force = NULL;
	s.centres[3 * 4] = 0.5;
	s.velocities[3 * 4] = 1e16;
	def.time_step = 1e-3;
	def.stability = SIM_GRANULAR_REPORT;
	g = granular_create(context, &def);
	CHECK(sim_granular_advance(g, NULL, &error));
	CHECK(!sim_granular_advance(g, NULL, &error));
	CHECK(strncmp(error.text, "sphere 4 is farther away", 24) == 0);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

// Everything that takes memory, until something fails. False: it did.
static bool use_all(carom_context *context, const sim_granular_def *def, sim_error *error)
{
	sim_granular *g = sim_create_granular(context, def, error);
	bool fine = g != NULL;
	for (int i = 0; fine && i < 40; i++)
		fine = sim_granular_advance(g, NULL, error);
	sim_granular_energy energy;
	fine = fine && sim_granular_get_energy(g, &energy, error) && scene_granular_write(g, "granular_misuse_test.h5", error);
	sim_destroy_granular(g);
	return fine;
}

static int count_failures(bool detector)
{
	granular_scene s = granular_scene_heap(17, 3, 2);
	sim_granular_def def = granular_scene_rough(&s);
	def.skin = 0.001;
	short_memory memory = { .left = INT32_MAX };
	const carom_allocator allocator = { short_allocate, short_release, &memory };
	carom_context_def context_def = carom_default_context_def();
	context_def.thread_count = 1;
	if (detector)
		context_def.allocator = allocator;
	else
		def.allocator = allocator;
	carom_context *context;
	REQUIRE(carom_create_context(&context_def, &context) == CAROM_SUCCESS);
	const int64_t before = memory.live;
	int failures = 0;
	for (int allowed = 0;; allowed += 1 + allowed / 20) {
		memory.left = allowed;
		sim_error error = { "" };
		const bool fine = use_all(context, &def, &error);
		memory.left = INT32_MAX;
		CHECK_INT(memory.live, before);
		if (fine)
			break;
		failures++;
		if (!CHECK(strstr(error.text, "out of memory") != NULL))
			printf("after %d allocations: \"%s\"\n", allowed, error.text);
	}
	carom_destroy_context(context);
	CHECK_INT(memory.live, 0);
	granular_scene_free(&s);
	remove("granular_misuse_test.h5");
	return failures;
}

TEST(granular_misuse, memory_of_the_simulation_runs_out) { CHECK(count_failures(false) > 20); }

TEST(granular_misuse, memory_of_the_detector_runs_out) { CHECK(count_failures(true) > 5); }
