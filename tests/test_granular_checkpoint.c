/// Checkpoints: a continued run is the same, bit for bit; damaged and foreign files are refused.
#include "scene/granular_checkpoint.h"
#include "sim/grains/granular_memento.h"
#include "granular_fixture.h"

#include <hdf5.h>
#include <sys/resource.h>
#include <unistd.h>

// Each case is a process, and several run at a time.
static const char *path(void)
{
	static char name[64];
	if (name[0] == 0)
		snprintf(name, sizeof name, "granular_checkpoint_%d.h5", (int)getpid());
	return name;
}

static sim_granular *resume(carom_context *context, const scene_granular_resume *how)
{
	sim_error error = { "" };
	sim_granular *g = scene_granular_read(context, path(), how, &error);
	CHECK_STR(error.text, "");
	REQUIRE(g != NULL);
	return g;
}

static void save(sim_granular *g)
{
	sim_error error = { "" };
	const bool written = scene_granular_write(g, path(), &error);
	CHECK_STR(error.text, "");
	REQUIRE(written);
}

static void check_continuation(const sim_granular_def *def, scene_granular_resume how)
{
	carom_context *one = granular_context(1), *two = granular_context(2);
	sim_granular *g = granular_create(one, def);
	granular_run(g, 77);
	save(g);
	sim_granular *h = resume(two, &how);
	CHECK(granular_hash(h) == granular_hash(g));
	CHECK_INT(sim_granular_get_info(h).steps, 77);
	granular_run(g, 100);
	const sim_granular_step step = granular_run(h, 100);
	CHECK(step.contacts > 0 && step.wall_contacts > 0);
	CHECK(granular_hash(h) == granular_hash(g));
	CHECK(sim_granular_get_info(h).max_overlap == sim_granular_get_info(g).max_overlap);
	CHECK(sim_granular_get_info(h).time == sim_granular_get_info(g).time);
	// Once more from the continued run, before its first step: what was read is what is written.
	save(h);
	sim_destroy_granular(h);
	h = resume(one, &how);
	save(h);
	sim_destroy_granular(h);
	h = resume(one, &how);
	granular_run(g, 50);
	granular_run(h, 50);
	CHECK(granular_hash(h) == granular_hash(g));
	sim_destroy_granular(h);
	sim_destroy_granular(g);
	carom_destroy_context(two);
	carom_destroy_context(one);
	unlink(path());
}

TEST(granular_checkpoint, springs_walls_and_spins_continue_bit_for_bit)
{
	granular_scene s = granular_scene_heap(17, 1, 11);
	sim_granular_def def = granular_scene_rough(&s);
	def.gravity_axis[2] = 1;
	def.gravity_rate = 1;
	def.moving_count = 1;
	def.moving[0] =
		(sim_granular_wall){ .point = { 0, 0.02, 0 }, .normal = { 0, 1, 0.1 }, .amplitude = { 0, 0.01, 0 }, .frequency = 500 };
	scene_granular_resume how = scene_default_granular_resume();
	how.method = CAROM_SPHERES_TREE;
	how.skin = 0.003;
	check_continuation(&def, how);
	granular_scene_free(&s);
}

// What a checkpoint holds goes from one simulation to another without a file too.
TEST(granular_checkpoint, a_memento_continues_bit_for_bit)
{
	granular_scene s = granular_scene_heap(9, 1, 21);
	sim_granular_def def = granular_scene_rough(&s);
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	granular_run(g, 80);
	sim_granular_memento memento;
	sim_error error = { "" };
	REQUIRE(sim_granular_take_memento(g, &memento, &error));
	CHECK_INT(memento.steps, 80);
	CHECK(memento.turns && memento.contact_first[s.count] > 0 && memento.wall_contacts > 0);
	int64_t bits = 0;
	for (int64_t i = 0; i < s.count; i++) {
		for (uint32_t b = memento.wall_touched[i]; b; b &= b - 1)
			bits++;
	}
	CHECK_INT(bits, memento.wall_contacts);
	sim_granular_get_state(g, s.centres, s.radii, s.velocities, s.spins);
	sim_granular_def again = *sim_granular_get_def(g);
	again.centres = def.centres;
	again.radii = def.radii;
	again.velocities = def.velocities;
	again.angular_velocities = (carom_strided){ s.spins, 0, CAROM_FLOAT64 };
	sim_granular *h = granular_create(context, &again);
	REQUIRE(sim_granular_restore_memento(h, &memento, &error));
	sim_granular_drop_memento(g, &memento);
	CHECK(memento.wall_touched == NULL && memento.contact_first == NULL);
	CHECK(granular_hash(h) == granular_hash(g));
	granular_run(g, 60);
	granular_run(h, 60);
	CHECK(granular_hash(h) == granular_hash(g));
	CHECK_INT(sim_granular_get_info(h).steps, 140);
	sim_destroy_granular(h);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

TEST(granular_checkpoint, smooth_and_periodic_continue_bit_for_bit)
{
	granular_scene s = granular_scene_heap(17, 1, 12);
	sim_granular_def def = granular_scene_rough(&s);
	def.spheres.tangential = def.walls.tangential = SIM_GRANULAR_SMOOTH;
	def.spheres.rolling_friction = def.walls.rolling_friction = 0;
	def.faces[0] = def.faces[1] = false;
	def.periodic[0] = true;
	def.lower[0] = 0.05;
	def.upper[0] = 0.9;
	check_continuation(&def, scene_default_granular_resume());
	granular_scene_free(&s);
}

static void lean(const sim_granular_side *a, const sim_granular_side *b, const double normal[3], double overlap,
	double time_step, double history[3], double force[3], double torque[3], void *user)
{
	(void)torque;
	(void)user;
	for (int k = 0; k < 3; k++) {
		history[k] += time_step * (a->velocity[k] - b->velocity[k]);
		force[k] = 1e4 * overlap * normal[k] - 10 * history[k];
	}
}

TEST(granular_checkpoint, a_users_force_must_be_given_again)
{
	granular_scene s = granular_scene_heap(6, 1, 13);
	sim_granular_def def = granular_scene_rough(&s);
	def.force = lean;
	scene_granular_resume how = scene_default_granular_resume();
	how.force = lean;
	check_continuation(&def, how);
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	save(g);
	sim_destroy_granular(g);
	sim_error error = { "" };
	CHECK(scene_granular_read(context, path(), NULL, &error) == NULL);
	CHECK(strstr(error.text, "resume.force") != NULL);
	carom_destroy_context(context);
	unlink(path());
	granular_scene_free(&s);
}

TEST(granular_checkpoint, the_callers_mark_comes_back)
{
	granular_scene s = granular_scene_heap(3, 1, 15);
	const sim_granular_def def = granular_scene_rough(&s);
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	sim_granular_mark mark = sim_granular_get_mark(g);
	CHECK(mark.run == 0 && mark.table == 0 && mark.contacts == 0 && mark.wall_contacts == 0);
	mark = (sim_granular_mark){ UINT64_MAX, UINT64_C(1) << 63, 3, 4, { 5, 6, 7, 8, 0.25, 1e300 } };
	sim_granular_set_mark(g, &mark);
	save(g);
	sim_granular *h = resume(context, NULL);
	const sim_granular_mark got = sim_granular_get_mark(h);
	CHECK(got.run == mark.run && got.table == mark.table && got.contacts == 3 && got.wall_contacts == 4);
	CHECK(got.peaks.contacts == 5 && got.peaks.contacts_step == 6 && got.peaks.overlap_step == 7 && got.peaks.energy_step == 8);
	CHECK(got.peaks.overlap == 0.25 && got.peaks.energy == 1e300);
	CHECK(granular_hash(g) == granular_hash(h));
	sim_destroy_granular(h);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	unlink(path());
	granular_scene_free(&s);
}

TEST(granular_checkpoint, none_and_few_spheres)
{
	for (int64_t count = 0; count < 2; count++) {
		granular_scene s = granular_scene_make(count);
		if (count)
			s.radii[0] = 0.01;
		const sim_granular_def def = granular_scene_rough(&s);
		carom_context *context = granular_context(1);
		sim_granular *g = granular_create(context, &def);
		granular_run(g, 3);
		save(g);
		sim_granular *h = resume(context, NULL);
		granular_run(g, 3);
		granular_run(h, 3);
		CHECK(granular_hash(g) == granular_hash(h));
		CHECK_INT(sim_granular_get_info(h).steps, 6);
		sim_destroy_granular(h);
		sim_destroy_granular(g);
		carom_destroy_context(context);
		unlink(path());
		granular_scene_free(&s);
	}
}

static void put(const char *bytes, size_t size)
{
	FILE *file = fopen(path(), "wb");
	REQUIRE(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

TEST(granular_checkpoint, damaged_files_are_refused)
{
	granular_scene s = granular_scene_heap(3, 1, 14);
	const sim_granular_def def = granular_scene_rough(&s);
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	granular_run(g, 100);
	save(g);
	const uint64_t expected = granular_hash(g);
	sim_destroy_granular(g);
	FILE *file = fopen(path(), "rb");
	REQUIRE(file != NULL);
	static char bytes[1 << 20];
	const size_t size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	REQUIRE(size > 4096 && size < sizeof bytes);

	// A changed byte is refused before HDF5 sees it, whether somebody would read it or not.
	sim_error error;
	bool refused = true;
	for (size_t at = 0; at < size; at += at < 600 ? 1 : 97) {
		bytes[at] ^= 0x10;
		put(bytes, size);
		bytes[at] ^= 0x10;
		error.text[0] = 0;
		g = scene_granular_read(context, path(), NULL, &error);
		refused &= !g && strncmp(error.text, path(), strlen(path())) == 0;
		sim_destroy_granular(g);
	}
	CHECK(refused);
	put(bytes, size);
	g = resume(context, NULL);
	CHECK(granular_hash(g) == expected);
	sim_destroy_granular(g);
	for (size_t part = 0; part < size; part += size / 7) {
		put(bytes, part);
		CHECK(scene_granular_read(context, path(), NULL, &error) == NULL);
	}
	unlink(path());
	CHECK(scene_granular_read(context, path(), NULL, &error) == NULL);
	CHECK(strstr(error.text, "cannot be read") != NULL);
	carom_destroy_context(context);
	granular_scene_free(&s);
}

// Take the digest off, and do something to the file with HDF5 itself.
static hid_t open_bare(void)
{
	static char bytes[1 << 20];
	FILE *file = fopen(path(), "rb");
	REQUIRE(file != NULL);
	const size_t size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	REQUIRE(size > 512 && size < sizeof bytes);
	put(bytes + 512, size - 512);
	const hid_t opened = H5Fopen(path(), H5F_ACC_RDWR, H5P_DEFAULT);
	REQUIRE(opened >= 0);
	return opened;
}

TEST(granular_checkpoint, those_of_version_1_are_read)
{
	granular_scene s = granular_scene_heap(3, 1, 16);
	const sim_granular_def def = granular_scene_rough(&s);
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	granular_run(g, 50);
	sim_granular_set_mark(g, &(sim_granular_mark){ .run = 1, .table = 2, .contacts = 3, .wall_contacts = 4 });
	save(g);
	const int32_t one = 1;
	const hid_t file = open_bare(), version = H5Aopen(file, "version", H5P_DEFAULT);
	CHECK(H5Awrite(version, H5T_NATIVE_INT32, &one) >= 0);
	H5Aclose(version);
	CHECK(H5Adelete(file, "run, table, last contacts, last wall_contacts") >= 0);
	H5Fclose(file);
	sim_granular *h = resume(context, NULL);
	CHECK(granular_hash(g) == granular_hash(h));
	CHECK(sim_granular_get_mark(h).run == 0);
	sim_destroy_granular(h);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	unlink(path());
	granular_scene_free(&s);
}

TEST(granular_checkpoint, those_of_version_2_have_no_peaks)
{
	granular_scene s = granular_scene_heap(3, 1, 16);
	const sim_granular_def def = granular_scene_rough(&s);
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	granular_run(g, 50);
	sim_granular_set_mark(
		g, &(sim_granular_mark){ .run = 1, .table = 2, .contacts = 3, .wall_contacts = 4, .peaks = { .contacts = 9 } });
	save(g);
	const int32_t two = 2;
	const hid_t file = open_bare(), version = H5Aopen(file, "version", H5P_DEFAULT);
	CHECK(H5Awrite(version, H5T_NATIVE_INT32, &two) >= 0);
	H5Aclose(version);
	CHECK(H5Adelete(file, "peak contacts, steps of contacts, overlap, energy") >= 0);
	CHECK(H5Adelete(file, "peak overlap, energy") >= 0);
	H5Fclose(file);
	sim_granular *h = resume(context, NULL);
	CHECK(granular_hash(g) == granular_hash(h));
	CHECK(sim_granular_get_mark(h).run == 1 && sim_granular_get_mark(h).peaks.contacts == 0);
	sim_destroy_granular(h);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	unlink(path());
	granular_scene_free(&s);
}

// A file that claims 50 million spheres and stores none of them is refused before memory is taken.
TEST(granular_checkpoint, claims_without_bytes_are_refused)
{
	granular_scene s = granular_scene_heap(3, 1, 17);
	const sim_granular_def def = granular_scene_rough(&s);
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	save(g);
	sim_destroy_granular(g);
	const int64_t many = CAROM_MAX_SPHERES;
	const hsize_t size[2] = { (hsize_t)many, 3 }, chunk[2] = { 1024, 3 };
	const hid_t file = open_bare(), count = H5Aopen(file, "count", H5P_DEFAULT);
	CHECK(H5Awrite(count, H5T_NATIVE_INT64, &many) >= 0);
	H5Aclose(count);
	const hid_t space = H5Screate_simple(2, size, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_chunk(properties, 2, chunk);
	CHECK(H5Ldelete(file, "centres", H5P_DEFAULT) >= 0);
	H5Dclose(H5Dcreate2(file, "centres", H5T_IEEE_F64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
	H5Pclose(properties);
	H5Sclose(space);
	H5Fclose(file);
	sim_error error = { "" };
	struct rusage before, after;
	getrusage(RUSAGE_SELF, &before);
	CHECK(scene_granular_read(context, path(), NULL, &error) == NULL);
	getrusage(RUSAGE_SELF, &after);
	CHECK(strstr(error.text, "is damaged") != NULL);
	CHECK(after.ru_maxrss - before.ru_maxrss < 200000); // KB; the centres alone would take 1.2 GB
	carom_destroy_context(context);
	unlink(path());
	granular_scene_free(&s);
}

TEST(granular_checkpoint, a_file_that_cannot_be_written_is_an_error)
{
	granular_scene s = granular_scene_make(0);
	const sim_granular_def def = granular_scene_def(&s);
	carom_context *context = granular_context(1);
	sim_granular *g = granular_create(context, &def);
	sim_error error = { "" };
	CHECK(!scene_granular_write(g, "no/such/folder/file.h5", &error));
	CHECK(strstr(error.text, "no/such/folder/file.h5: cannot be written") != NULL);
	sim_destroy_granular(g);
	carom_destroy_context(context);
	granular_scene_free(&s);
}
