// Which watched samples cast a ray in the next step: against what a plain loop says of each, and the same by every instruction set.
#include "test.h"

#include "frame/body.h"
#include "frame/contact_kernels.h"
#include "fixture.h"
#include <string.h>

enum { MOST = 300 };

typedef struct follow_case {
	const cr_collider *mesh; // against itself elsewhere
	cr_transform to_target;
	cr_transform then;
	bool deforms; // no transform then tells how far samples have moved, but a bound for all
	float any;
	cr_watch watched[MOST];
	int32_t count;
	float margin;
} follow_case;

/// The rays of one call, memory cleared before.
typedef struct followed {
	float rows[8][MOST];
	int32_t sample[MOST];
	int8_t side[MOST];
	int32_t place[MOST];
	int32_t entry[MOST];
	int32_t count;
} followed;

/// Lumpy rings that share much of their space, the second moved a little since; samples at random, some without a place, some inside
/// before, gaps about what was moved.
static void make_case(uint64_t *seed, const cr_collider *mesh, follow_case *f)
{
	carom_pose pose = fixture_random_pose(seed, 0.3);
	f->mesh = mesh;
	f->then = fixture_transform(pose);
	pose.position.x += test_random_double(seed, -0.02, 0.02);
	f->to_target = fixture_transform(pose);
	f->deforms = test_random(seed) % 3 == 0;
	f->any = (float)test_random_double(seed, 0, 0.02);
	f->margin = test_random(seed) % 4 == 0 ? 0.003f : 0;
	f->count = (int32_t)(test_random(seed) % (MOST + 1));
	for (int32_t i = 0; i < f->count; i++) {
		const int32_t block = (int32_t)(test_random(seed) % (uint64_t)mesh->sample_tree.block_count);
		const int32_t lane = (int32_t)(test_random(seed) % (uint64_t)mesh->samples[block].count);
		f->watched[i] =
			(cr_watch){ CR_WIDTH * block + lane, test_random(seed) % 2 ? -1 : 7, (float)test_random_double(seed, -0.01, 0.03) };
	}
}

static void follow(const follow_case *f, carom_simd simd, followed *out)
{
	memset(out, 0, sizeof *out);
	const cr_sample_rays rays = { { out->rows[0], out->rows[1], out->rows[2] }, { out->rows[3], out->rows[4], out->rows[5] },
		out->rows[6], out->sample, out->side, out->rows[7] };
	const cr_motion_since since = { .then = f->deforms ? NULL : &f->then, .any = f->any };
	out->count = cr_get_contact_kernels(simd)->follow(
		f->mesh, f->mesh, &f->to_target, &since, f->watched, f->count, f->margin, true, &rays, out->place, out->entry, 0);
}

static void move(const cr_transform *m, const float p[3], float moved[3])
{
	for (int k = 0; k < 3; k++)
		moved[k] = ((m->r[k][0] * p[0] + m->r[k][1] * p[1]) + m->r[k][2] * p[2]) + m->t[k];
}

typedef struct follow_counts {
	int held, outside, cast;
} follow_counts;

/// Is every watch cast or left out for a reason?
static void check_reasons(const follow_case *f, const followed *found, follow_counts *n)
{
	int32_t at = 0;
	for (int32_t i = 0; i < f->count; i++) {
		const cr_watch *w = &f->watched[i];
		const cr_sample8 *block = &f->mesh->samples[w->sample / CR_WIDTH];
		const int lane = w->sample % CR_WIDTH;
		const float own[3] = { block->point[0][lane], block->point[1][lane], block->point[2][lane] };
		float now[3], then[3];
		move(&f->to_target, own, now);
		move(&f->then, own, then);
		const double moved = f->deforms ? (double)f->any : v3d_length(v3d_sub(v3d_from_floats(now), v3d_from_floats(then)));
		const double slack = (double)w->gap - (double)f->margin - moved;
		const bool outside = f->margin == 0 && w->place < 0 && w->gap >= 0 && cr_side_of(f->mesh, now) < 0;
		const bool cast = at < found->count && found->entry[at] == i;
		n->held += !cast && !outside;
		n->outside += !cast && slack < 0;
		n->cast += cast;
		if (!cast) {
			CHECK(slack > 0 || outside);
			continue;
		}
		CHECK(slack < 1e-4 && !outside);
		CHECK_INT(found->sample[at], w->sample);
		CHECK_INT(found->place[at], w->place);
		CHECK(found->rows[6][at] == block->exit[lane]);
		for (int k = 0; k < 3; k++)
			CHECK(found->rows[k][at] == now[k]);
		at++;
	}
	CHECK_INT(at, found->count);
}

TEST(follow, watched_samples_are_cast_or_left_out_for_a_reason)
{
	static followed found, expected;
	static fixture_soup soup;
	carom_context *context = fixture_context(1);
	uint64_t seed = 5;
	follow_counts n = { 0 };
	fixture_soup_torus(&soup, 24, 12, 0.4, 0.2);
	carom_mesh *mesh = fixture_mesh(context, &soup);
	for (int round = 0; round < 100; round++) {
		follow_case f;
		make_case(&seed, &mesh->collider, &f);
		follow(&f, CAROM_SIMD_SCALAR, &expected);
		check_reasons(&f, &expected, &n);
		for (int k = 0; k < FIXTURE_SIMD_COUNT; k++) {
			if (!fixture_kernels(fixture_all_simd[k]))
				continue;
			follow(&f, fixture_all_simd[k], &found);
			CHECK(memcmp(&found, &expected, sizeof found) == 0);
		}
	}
	// All three happen.
	CHECK(n.held > 100 && n.outside > 100 && n.cast > 100);
	carom_release_mesh(mesh);
	carom_destroy_context(context);
}
