/// Bodies of flat faces that lie on each other, face on face: rings, profiles and plates, whose sides are upright or slope. The least
/// way out of each pair is known, straight up by the overlap. So every contact must point there, and the deepest one must be that deep.
#include "manifold_fixture.h"
#include "math/vec.h"
#include <math.h>
#include <stdio.h>

static const double HALF = 0.1; // height of all bodies, halved
static const double DEEP = 0.001;

// ---- Bodies ----

/// A ring of a hexagonal profile: flat above and below, its sides come out by slope at half the height.
static carom_mesh *make_ring(carom_context *context, int around, double slope)
{
	static fixture_soup s;
	const double inner = 0.425, outer = 0.575, r[6] = { inner, outer, outer + slope, outer, inner, inner - slope },
				 z[6] = { -HALF, -HALF, 0, HALF, HALF, 0 };
	s.vertex_count = s.triangle_count = 0;
	for (int i = 0; i < around; i++) {
		for (int j = 0; j < 6; j++)
			fixture_soup_vertex(&s, r[j] * cos(2 * FIXTURE_PI * i / around), r[j] * sin(2 * FIXTURE_PI * i / around), z[j]);
	}
	for (int i = 0; i < around; i++) {
		for (int j = 0; j < 6; j++) {
			const int a = 6 * i + j, b = 6 * i + (j + 1) % 6, next = (i + 1) % around;
			const int c = 6 * next + j, d = 6 * next + (j + 1) % 6;
			fixture_soup_triangle(&s, a, c, d);
			fixture_soup_triangle(&s, a, d, b);
		}
	}
	return fixture_mesh(context, &s);
}

/// The outline of an upright profile, and the triangles of its flat ends.
typedef struct outline {
	int count;
	double at[8][2];
	int triangles;
	int corner[6][3];
} outline;

static const outline U_PROFILE = { 8,
	{ { -0.5, -0.5 }, { 0.5, -0.5 }, { 0.5, 0.5 }, { 0.2, 0.5 }, { 0.2, -0.2 }, { -0.2, -0.2 }, { -0.2, 0.5 }, { -0.5, 0.5 } },
	6, { { 0, 1, 4 }, { 1, 3, 4 }, { 1, 2, 3 }, { 0, 4, 5 }, { 0, 5, 6 }, { 0, 6, 7 } } };
static const outline L_PROFILE = { 6,
	{ { -0.5, -0.5 }, { 0.5, -0.5 }, { 0.5, -0.1 }, { -0.1, -0.1 }, { -0.1, 0.5 }, { -0.5, 0.5 } }, 4,
	{ { 0, 1, 3 }, { 1, 2, 3 }, { 0, 3, 4 }, { 0, 4, 5 } } };
static const outline PLATE = { 4, { { -0.5, -0.5 }, { 0.5, -0.5 }, { 0.5, 0.5 }, { -0.5, 0.5 } }, 2,
	{ { 0, 1, 2 }, { 0, 2, 3 } } };

/// A corner of an outline of right angles, moved out on both of its sides.
static v3d moved_out(const outline *o, int i, double by)
{
	const double *before = o->at[(i + o->count - 1) % o->count], *at = o->at[i], *after = o->at[(i + 1) % o->count];
	v3d p = { at[0], at[1], 0 };
	const double along[2][2] = { { at[0] - before[0], at[1] - before[1] }, { after[0] - at[0], after[1] - at[1] } };
	for (int k = 0; k < 2; k++) {
		const double length = hypot(along[k][0], along[k][1]);
		p.x += by * along[k][1] / length;
		p.y -= by * along[k][0] / length;
	}
	return p;
}

/// A body over an outline, its sides come out by slope at half the height.
static carom_mesh *make_profile(carom_context *context, const outline *o, double slope)
{
	static fixture_soup s;
	const int n = o->count;
	s.vertex_count = s.triangle_count = 0;
	for (int layer = -1; layer <= 1; layer++) {
		for (int i = 0; i < n; i++) {
			const v3d p = moved_out(o, i, layer == 0 ? slope : 0);
			fixture_soup_vertex(&s, p.x, p.y, layer * HALF);
		}
	}
	for (int k = 0; k < o->triangles; k++) {
		const int *c = o->corner[k];
		fixture_soup_triangle(&s, c[0], c[2], c[1]);
		fixture_soup_triangle(&s, 2 * n + c[0], 2 * n + c[1], 2 * n + c[2]);
	}
	for (int i = 0; i < 2 * n; i++) {
		const int next = i / n * n + (i + 1) % n;
		fixture_soup_triangle(&s, i, next, n + next);
		fixture_soup_triangle(&s, i, n + next, n + i);
	}
	return fixture_mesh(context, &s);
}

// ---- Pairs ----

/// How a body lies on another one: all is drawn up to these.
typedef struct lie {
	double shift, yaw, tremble;
} lie;

/// What was wrong in some poses.
typedef struct faults {
	int leaning, deep, shallow, none;
} faults;

static void count_faults(const manifold_view *view, double overlap, double slack, faults *f)
{
	double most = 0;
	bool leans = false;
	for (int k = 0; k < view->count; k++) {
		leans = leans || fabs(view->data[k].normal[2]) < cos(FIXTURE_PI / 180);
		most = fmax(most, view->data[k].depth);
	}
	f->none += view->count == 0;
	f->leaning += leans;
	f->deep += most > overlap + slack;
	f->shallow += most < overlap - slack;
}

static faults check_pair(carom_context *context, carom_mesh *below, carom_mesh *above, lie how, int poses)
{
	carom_world_def def = carom_default_world_def();
	uint64_t seed = 5;
	faults f = { 0, 0, 0, 0 };
	def.max_contacts_per_pair = 0;
	for (int i = 0; i < poses; i++) {
		static manifold_view view;
		double r[8];
		for (int k = 0; k < 8; k++)
			r[k] = test_random_double(&seed, -1, 1);
		carom_quat q = fixture_turn((v3d){ 0, 0, 1 }, how.yaw * r[2]);
		// A tilt by so much lifts and lowers the rim by that much times its distance from the middle.
		if (how.tremble > 0)
			q = quat_mul(fixture_turn(v3d_normalize((v3d){ r[3], r[4], 0.1 }), how.tremble * r[5]), q);
		const double z = 2 * HALF - DEEP + how.tremble * r[6];
		manifold_meet(context, &def, fixture_of_mesh(above), (carom_pose){ { how.shift * r[0], how.shift * r[1], z }, q },
			fixture_of_mesh(below), fixture_at(0, 0, 0), &view);
		count_faults(&view, 2 * HALF - z, 0.9 * how.tremble + 2e-6, &f);
	}
	return f;
}

enum { LIES = 9, POSES = 40 / TEST_FEWER };
static const lie LYING[LIES] = { { 0, 0, 0 }, { 0.0005, 0, 0 }, { 0.003, 0, 0 }, { 0.03, 0, 0 }, { 0.01, 0.01, 0 },
	{ 0.03, 3.2, 0 }, { 0.002, 0, 1e-6 }, { 0.002, 0.003, 1e-4 }, { 0.03, 3.2, 3e-4 } };

static void check_all(carom_context *context, const char *name, carom_mesh *below, carom_mesh *above)
{
	for (int i = 0; i < LIES; i++) {
		const faults f = check_pair(context, below, above, LYING[i], POSES);
		if (!CHECK_INT(f.leaning, 0) || !CHECK_INT(f.deep, 0) || !CHECK_INT(f.shallow, 0) || !CHECK_INT(f.none, 0))
			printf("\t%s, shift %g, yaw %g, tremble %g\n", name, LYING[i].shift, LYING[i].yaw, LYING[i].tremble);
	}
	carom_release_mesh(below);
	if (above != below)
		carom_release_mesh(above);
}

static const double SLOPES[5] = { 0, 0.02, 0.05, 0.1, 0.17 };

static void check_rings(int first, int last)
{
	carom_context *context = fixture_context(1);
	for (int around = first; around <= last; around += around < 8 ? 1 : 4) {
		for (int k = 0; k < 5; k++) {
			char name[64];
			carom_mesh *ring = make_ring(context, around, SLOPES[k]);
			snprintf(name, sizeof name, "ring of %d, slope %g", around, SLOPES[k]);
			check_all(context, name, ring, ring);
		}
	}
	carom_destroy_context(context);
}

TEST(opposed_faces, rings) { check_rings(4, 12); }

static void check_profiles(const outline *o, const char *name)
{
	carom_context *context = fixture_context(1);
	for (int k = 0; k < 5; k++) {
		carom_mesh *body = make_profile(context, o, SLOPES[k]);
		char text[64];
		snprintf(text, sizeof text, "%s, slope %g", name, SLOPES[k]);
		check_all(context, text, body, body);
	}
	carom_destroy_context(context);
}

TEST(opposed_faces, profiles_of_u) { check_profiles(&U_PROFILE, "U"); }
TEST(opposed_faces, profiles_of_l) { check_profiles(&L_PROFILE, "L"); }
TEST(opposed_faces, plates) { check_profiles(&PLATE, "plate"); }

/// Bodies of different form on each other, of few facets and of many.
TEST(opposed_faces, mixed)
{
	carom_context *context = fixture_context(1);
	for (int k = 0; k < 5; k++) {
		check_all(context, "ring of 6 on a plate", make_profile(context, &PLATE, SLOPES[k]), make_ring(context, 6, SLOPES[k]));
		check_all(context, "plate on a ring of 8", make_ring(context, 8, SLOPES[k]), make_profile(context, &PLATE, SLOPES[k]));
		check_all(context, "U on a ring of 24", make_ring(context, 24, SLOPES[k]), make_profile(context, &U_PROFILE, SLOPES[k]));
		check_all(
			context, "ring of 24 on an L", make_profile(context, &L_PROFILE, SLOPES[k]), make_ring(context, 24, SLOPES[k]));
	}
	carom_destroy_context(context);
}
