// Deforming meshes in motion for the benches of swept impacts. The scenes of MCCD (Tang, Manocha
// and Tong 2010) are not public or not ours to ship, so these are made by formula: motions, not
// simulations. Nothing answers to an impact.
#include "bench_ccd.h"

#include "sim/base/rotations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A motion being made: places of vertices are added frame by frame, triangles once.
typedef struct maker {
	ccd_motion *motion;
	double *at;        // place of the next vertex
	int32_t triangles; // made so far
} maker;

static void add_vertex(maker *m, double x, double y, double z)
{
	*m->at++ = x;
	*m->at++ = y;
	*m->at++ = z;
}

static void add_triangle(maker *m, int32_t a, int32_t b, int32_t c)
{
	int32_t *t = &m->motion->triangles[3 * (int64_t)m->triangles++];
	t[0] = a;
	t[1] = b;
	t[2] = c;
}

/// Two triangles for each of columns * rows squares of vertices in rows of width; closed: the last
/// column meets the first.
static void add_squares(maker *m, int32_t first, int columns, int rows, bool closed)
{
	const int width = closed ? columns : columns + 1;
	for (int j = 0; j < rows; j++) {
		for (int i = 0; i < columns; i++) {
			const int32_t row = first + j * width, next = (i + 1) % width;
			add_triangle(m, row + i, row + next, row + width + i);
			add_triangle(m, row + next, row + width + next, row + width + i);
		}
	}
}

static void start_motion(ccd_motion *motion, const char *name, int frames, int64_t vertices, int64_t triangles)
{
	*motion = (ccd_motion){
		.name = name, .vertex_count = (int32_t)vertices, .triangle_count = (int32_t)triangles, .frame_count = frames
	};
	motion->triangles = bench_allocate((size_t)(3 * triangles), sizeof *motion->triangles);
	motion->frames = bench_allocate((size_t)frames * (size_t)(3 * vertices), sizeof *motion->frames);
}

static maker maker_of_frame(ccd_motion *motion, int frame)
{
	return (maker){ .motion = motion, .at = motion->frames + (int64_t)frame * 3 * motion->vertex_count };
}

void bench_free_ccd_motion(ccd_motion *motion)
{
	free(motion->triangles);
	free(motion->frames);
	*motion = (ccd_motion){ 0 };
}

static double distance(const double *a, const double *b)
{
	return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

double bench_ccd_sides_per_step(const ccd_motion *motion)
{
	const int64_t moves = (int64_t)(motion->frame_count - 1) * motion->vertex_count, sides = 3 * (int64_t)motion->triangle_count;
	double moved = 0, length = 0;
	for (int64_t i = 0; i < moves; i++)
		moved += distance(&motion->frames[3 * i], &motion->frames[3 * (i + motion->vertex_count)]);
	for (int64_t i = 0; i < sides; i++) {
		const int64_t a = motion->triangles[i], b = motion->triangles[i % 3 == 2 ? i - 2 : i + 1];
		length += distance(&motion->frames[3 * a], &motion->frames[3 * b]);
	}
	return moved / (double)moves / (length / (double)sides);
}

// The motions last 90 steps, as the cloth of the paper; a bench takes the last ones, where there is
// most to find.
enum { WHOLE_MOTION = 90, STEPS = 30, QUICK_STEPS = 6 };

static int frames_of(bool quick) { return 1 + (quick ? QUICK_STEPS : STEPS); }

/// How much of the whole motion is over, 0 to 1.
static double time_of(const ccd_motion *motion, int frame)
{
	return 1 - (double)(motion->frame_count - 1 - frame) / WHOLE_MOTION;
}

// ---- Folds ----

/// Where a point of a ruffled closed line lies around it. Folds overhang from sway 0.5 on, until
/// neighbours meet.
static double fold_angle(double angle, int folds, double sway) { return angle + sway * sin(2 * folds * angle) / folds; }

// ---- Cloth and ball ----

typedef struct cloth_sizes {
	int columns;            // of the square sheet
	int around, from_poles; // of the ball
} cloth_sizes;

static const double BALL_RADIUS = 0.7, CLOTH_HALF = 1.6;

static void add_ball(maker *m, const cloth_sizes *size, double turn)
{
	for (int j = 0; j <= size->from_poles; j++) {
		for (int i = 0; i < size->around; i++) {
			const double a = turn + 2 * SIM_PI * i / size->around, b = SIM_PI * (j + 0.02) / (size->from_poles + 0.04);
			add_vertex(m, BALL_RADIUS * sin(b) * cos(a), BALL_RADIUS * sin(b) * sin(a), BALL_RADIUS * cos(b));
		}
	}
}

/// The sheet lies on the ball up to an angle that grows with time; beyond, it hangs along the
/// tangent there, in folds that take up the length that the smaller circle does not need. It is
/// dragged along by the ball, less so farther out.
static void place_on_cloth(double u, double v, double time, double turn, double place[3])
{
	const int folds = 12;
	const double reach = sqrt(u * u + v * v), angle = atan2(v, u), bent = 0.5 * SIM_PI * time;
	const double hanging = reach - BALL_RADIUS * bent;
	double r, z, out = 0.003 * sin(40 * u + 31 * v + 20 * time), tilt = reach / BALL_RADIUS, sway = 0;
	if (hanging <= 0) {
		r = BALL_RADIUS * sin(tilt);
		z = BALL_RADIUS * cos(tilt);
	} else {
		tilt = bent;
		r = BALL_RADIUS * sin(bent) + hanging * cos(bent);
		z = BALL_RADIUS * cos(bent) - hanging * sin(bent);
		const double excess = 1 - r / reach;
		sway = 1.1 * excess < 0.85 ? 1.1 * excess : 0.85;
		out += 0.9 * excess * reach / folds * (1 + cos(folds * angle));
	}
	const double turned = fold_angle(angle, folds, sway) + turn * (1 - 0.3 * reach / CLOTH_HALF);
	r += out * sin(tilt);
	place[0] = r * cos(turned);
	place[1] = r * sin(turned);
	place[2] = z + out * cos(tilt);
}

static void make_cloth_ball(bool quick, ccd_motion *motion)
{
	const cloth_sizes size = quick ? (cloth_sizes){ 40, 12, 8 } : (cloth_sizes){ 214, 24, 16 };
	const int64_t sheet = (int64_t)(size.columns + 1) * (size.columns + 1);
	start_motion(motion, "cloth-ball", frames_of(quick), sheet + (int64_t)size.around * (size.from_poles + 1),
		2 * (int64_t)size.columns * size.columns + 2 * (int64_t)size.around * size.from_poles);
	for (int frame = 0; frame < motion->frame_count; frame++) {
		maker m = maker_of_frame(motion, frame);
		const double time = time_of(motion, frame), turn = SIM_PI * time;
		for (int j = 0; j <= size.columns; j++) {
			for (int i = 0; i <= size.columns; i++) {
				double p[3];
				place_on_cloth(
					CLOTH_HALF * (2.0 * i / size.columns - 1), CLOTH_HALF * (2.0 * j / size.columns - 1), time, turn, p);
				add_vertex(&m, p[0], p[1], p[2]);
			}
		}
		add_ball(&m, &size, 1.1 * turn);
	}
	maker m = { .motion = motion };
	add_squares(&m, 0, size.columns, size.columns, false);
	add_squares(&m, (int32_t)sheet, size.around, size.from_poles, true);
}

// ---- Skirt ----

typedef struct skirt_sizes {
	int around, down;         // of the skirt
	int leg_around, leg_down; // of each leg
} skirt_sizes;

static void add_skirt(maker *m, const skirt_sizes *size, double time)
{
	const int folds = 20;
	for (int j = 0; j <= size->down; j++) {
		for (int i = 0; i < size->around; i++) {
			const double down = (double)j / size->down, angle = 2 * SIM_PI * i / size->around;
			const double lag = 6 * SIM_PI * time - 1.5 * down; // the hem follows the waist
			const double ruffle = 0.06 * down * (1 + cos(folds * angle));
			const double sway = down * (0.72 + 0.12 * sin(lag + 3 * angle));
			const double r = 0.22 + 0.45 * down + ruffle, turned = fold_angle(angle, folds, sway) + 0.5 * sin(lag);
			add_vertex(m, r * cos(turned) + 0.12 * down * sin(lag), r * sin(turned), 1 - down + 0.05 * down * cos(lag + angle));
		}
	}
}

static void add_leg(maker *m, const skirt_sizes *size, double time, double side)
{
	// about the hip; at its widest the leg meets the skirt
	const double swing = side * 0.9 * sin(6 * SIM_PI * time);
	for (int j = 0; j <= size->leg_down; j++) {
		for (int i = 0; i < size->leg_around; i++) {
			const double along = 1.1 * j / size->leg_down, angle = 2 * SIM_PI * i / size->leg_around, r = 0.09 - 0.04 * along;
			const double x = r * cos(angle), y = side * 0.11 + r * sin(angle);
			add_vertex(m, x * cos(swing) + along * sin(swing), y, 0.95 + x * sin(swing) - along * cos(swing));
		}
	}
}

static void make_skirt(bool quick, ccd_motion *motion)
{
	const skirt_sizes size = quick ? (skirt_sizes){ 160, 10, 10, 10 } : (skirt_sizes){ 480, 44, 30, 24 };
	const int64_t skirt = (int64_t)size.around * (size.down + 1), leg = (int64_t)size.leg_around * (size.leg_down + 1);
	start_motion(motion, "skirt", frames_of(quick), skirt + 2 * leg,
		2 * (int64_t)size.around * size.down + 4 * (int64_t)size.leg_around * size.leg_down);
	for (int frame = 0; frame < motion->frame_count; frame++) {
		maker m = maker_of_frame(motion, frame);
		const double time = time_of(motion, frame);
		add_skirt(&m, &size, time);
		add_leg(&m, &size, time, -1);
		add_leg(&m, &size, time, 1);
	}
	maker m = { .motion = motion };
	add_squares(&m, 0, size.around, size.down, true);
	add_squares(&m, (int32_t)skirt, size.leg_around, size.leg_down, true);
	add_squares(&m, (int32_t)(skirt + leg), size.leg_around, size.leg_down, true);
}

// ---- Bodies that fly in a box ----

/// splitmix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014), as a
/// number in [-1, 1).
static double random_number(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-52 - 1;
}

/// Where a coordinate that began at start is after moving by way between reflecting walls at -1 and
/// 1.
static double reflected(double start, double way)
{
	const double place = fabs(fmod(start + way + 1, 4));
	return place <= 2 ? place - 1 : 3 - place;
}

// ---- Spheres and cones ----

typedef struct body_sizes {
	int spheres, cones;
	int around, rings; // of each body, rings of triangles
} body_sizes;

/// A sphere of this radius, or a cone; turned about the z axis.
static void add_body(maker *m, const body_sizes *size, bool cone, const double centre[3], double radius, double turn)
{
	for (int j = 0; j <= size->rings; j++) {
		for (int i = 0; i < size->around; i++) {
			const double along = (j + 0.05) / (size->rings + 0.1), angle = 2 * SIM_PI * i / size->around;
			const double x = radius * cos(angle) * (cone ? along : sin(SIM_PI * along)),
						 y = radius * sin(angle) * (cone ? along : sin(SIM_PI * along));
			const double z = radius * (cone ? 1 - 2 * along : cos(SIM_PI * along));
			add_vertex(m, centre[0] + x * cos(turn) - z * sin(turn), centre[1] + y, centre[2] + x * sin(turn) + z * cos(turn));
		}
	}
}

static void make_bodies(bool quick, ccd_motion *motion)
{
	const body_sizes size = quick ? (body_sizes){ 12, 8, 8, 6 } : (body_sizes){ 200, 103, 8, 7 };
	const int count = size.spheres + size.cones;
	const int64_t body = (int64_t)size.around * (size.rings + 1);
	const double radius = quick ? 0.3 : 0.12;
	start_motion(motion, "n-body", frames_of(quick), count * body, 2 * (int64_t)count * size.around * size.rings);
	for (int frame = 0; frame < motion->frame_count; frame++) {
		maker m = maker_of_frame(motion, frame);
		uint64_t state = 7;
		const double time = time_of(motion, frame);
		for (int i = 0; i < count; i++) {
			double centre[3];
			for (int k = 0; k < 3; k++) {
				const double start = random_number(&state);
				centre[k] = reflected(start, time * random_number(&state));
			}
			add_body(&m, &size, i >= size.spheres, centre, radius, 4 * time * random_number(&state));
		}
	}
	maker m = { .motion = motion };
	for (int i = 0; i < count; i++)
		add_squares(&m, (int32_t)(i * body), size.around, size.rings, true);
}

// ---- Triangles ----

static void make_triangles(bool quick, ccd_motion *motion)
{
	const int count = quick ? 300 : 4000;
	const double half_size = quick ? 0.1 : 0.05;
	start_motion(motion, "triangles", frames_of(quick), 3 * (int64_t)count, count);
	for (int frame = 0; frame < motion->frame_count; frame++) {
		maker m = maker_of_frame(motion, frame);
		uint64_t state = 11;
		const double time = time_of(motion, frame);
		for (int i = 0; i < count; i++) {
			double centre[3];
			for (int k = 0; k < 3; k++) {
				const double start = random_number(&state);
				centre[k] = reflected(start, 3 * time * random_number(&state));
			}
			for (int corner = 0; corner < 3; corner++) {
				double p[3];
				for (int k = 0; k < 3; k++) {
					const double start = random_number(&state);
					p[k] = centre[k] + half_size * reflected(start, 6 * time * random_number(&state));
				}
				add_vertex(&m, p[0], p[1], p[2]);
			}
		}
	}
	maker m = { .motion = motion };
	for (int i = 0; i < count; i++)
		add_triangle(&m, 3 * i, 3 * i + 1, 3 * i + 2);
}

void bench_make_ccd_motion(ccd_scene scene, bool quick, ccd_motion *motion)
{
	static void (*const makers[CCD_SCENES])(bool, ccd_motion *) = { make_cloth_ball, make_skirt, make_bodies, make_triangles };
	makers[scene](quick, motion);
}
