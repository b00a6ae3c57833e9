/// See inner_balls.h.
///
/// A ball of radius r about c lies within X. Let Y be a closed mesh, and look up c in its grid. In
/// a cell inside of Y, d cells from the surface, c is at least (d - 1) cells away from outside; the
/// ball reaches r farther: c may move by less than r + (d - 1) cells, and part of the ball still
/// lies in Y. In a cell outside of Y, or on its surface, d cells from a touched one, a point of the
/// surface lies within sqrt(3) (d + 1) cells of c: c may move by less than r minus that, and the
/// surface still passes through the ball. Either way X and Y overlap at all these moves.

#include "bvh/inner_balls.h"
#include "geom/convex_query.h"

enum {
	MOST_SAMPLES = 1024, // cells looked at
	FEWEST_DISTANCE = 2, // of a cell whose ball is kept: nearer ones have no radius
	// Along one direction: more than the longest way through a grid asks for, with steps of
	// LEAST_GAIN cells. Where the cells of the two grids differ by far, more would be of no use.
	MOST_BALL_STEPS = 4096,
};

// Of the radius told: more than roundings, and more than a thousandth of a cell by which touched
// cells count as larger.
static const double CERTAIN = 0.999, ROOT_OF_3 = 1.7321;
// Of its radius: within so far of its centre a ball leaves no samples. Of the largest ball's
// radius: smaller ones are left out.
static const double COVERED = 0.7, SMALLEST = 0.3;
// Cells: a ball that reaches farther is followed at once; when none reaches farther they are left.
static const double FAR_ENOUGH = 2, LEAST_GAIN = 0.25;
// Of the way of a ray: the rest is far more than its roundings. Of the size of the pair: far beyond
// any clear move.
static const double CERTAIN_HIT = 1 - 1e-6, MOST_WAY = 4;

// ---- Balls of a body ----

/// A cell inside, and its distance from the surface.
typedef struct sample {
	int16_t cell[3];
	int16_t distance; // 0: it lies in a ball that was chosen
} sample;

/// Cells of a grid, first to last along each axis, every step-th.
typedef struct window {
	int32_t first[3];
	int32_t last[3];
	int32_t step;
} window;

/// The cells of a box, and a step with which they are not too many. false: there are none.
static bool set_window(const cr_grid *g, v3d lower, v3d upper, window *w)
{
	double cells = 1;
	for (int k = 0; k < 3; k++) {
		const double low = (v3d_get(lower, k) - g->origin[k]) * g->inverse_cell;
		const double high = (v3d_get(upper, k) - g->origin[k]) * g->inverse_cell;
		if (!(low < g->size[k] && high >= 0))
			return false;
		w->first[k] = low > 0 ? (int32_t)low : 0;
		w->last[k] = high < g->size[k] ? (int32_t)high : g->size[k] - 1;
		cells *= w->last[k] - w->first[k] + 1;
	}
	w->step = 1;
	while (cells > MOST_SAMPLES * (double)(w->step * w->step * w->step))
		w->step++;
	return true;
}

static int list_samples(const cr_grid *g, const window *w, sample samples[MOST_SAMPLES])
{
	int count = 0;
	for (int32_t z = w->first[2]; z <= w->last[2]; z += w->step) {
		for (int32_t y = w->first[1]; y <= w->last[1]; y += w->step) {
			const uint8_t *row = g->cells + ((int64_t)z * g->size[1] + y) * g->size[0];
			for (int32_t x = w->first[0]; x <= w->last[0] && count < MOST_SAMPLES; x += w->step) {
				const int distance = row[x] & CR_CELL_DISTANCE;
				if ((row[x] & CR_CELL_INSIDE) && distance >= FEWEST_DISTANCE)
					samples[count++] = (sample){ { (int16_t)x, (int16_t)y, (int16_t)z }, (int16_t)distance };
			}
		}
	}
	return count;
}

/// Choose balls about samples, each outside of those before it. Own frame.
static int choose_balls(const cr_grid *g, sample *samples, int count, cr_inner_ball balls[CR_MOST_INNER_BALLS])
{
	int chosen = 0, first = 0;
	while (chosen < CR_MOST_INNER_BALLS) {
		const sample *best = NULL;
		for (int i = 0; i < count; i++) {
			if (samples[i].distance > (best ? best->distance : 0))
				best = &samples[i];
		}
		if (!best || best->distance < SMALLEST * first)
			break;
		first = chosen == 0 ? best->distance : first;
		const sample b = *best;
		cr_inner_ball *ball = &balls[chosen++];
		ball->centre = (v3d){ g->origin[0] + (b.cell[0] + 0.5) * g->cell, g->origin[1] + (b.cell[1] + 0.5) * g->cell,
			g->origin[2] + (b.cell[2] + 0.5) * g->cell };
		ball->radius = CERTAIN * (b.distance - 0.5) * g->cell;
		const double within = COVERED * COVERED * b.distance * b.distance;
		for (int i = 0; i < count; i++) {
			const int x = samples[i].cell[0] - b.cell[0], y = samples[i].cell[1] - b.cell[1], z = samples[i].cell[2] - b.cell[2];
			if (x * x + y * y + z * z <= within)
				samples[i].distance = 0;
		}
	}
	return chosen;
}

static __attribute__((noinline)) int find_mesh_balls(
	const cr_grid *g, v3d lower, v3d upper, cr_inner_ball balls[CR_MOST_INNER_BALLS])
{
	sample samples[MOST_SAMPLES];
	window w;
	if (!set_window(g, lower, upper, &w))
		return 0;
	return choose_balls(g, samples, list_samples(g, &w, samples), balls);
}

static int find_convex_balls(const cr_convex *convex, cr_inner_ball balls[CR_MOST_INNER_BALLS])
{
	v3d nearest, normal;
	balls[0].centre = cr_convex_centre(convex);
	balls[0].radius = -CERTAIN * cr_convex_distance(convex, balls[0].centre, &nearest, &normal);
	return balls[0].radius > 0;
}

static const cr_grid *grid_of(const cr_solid *solid)
{
	const cr_collider *c = solid->collider;
	return c && c->closed && c->grid.cells ? &c->grid : NULL;
}

static v3d to_frame_of_other(const cr_relative *b_in_a, int side, v3d p)
{
	return side == 0 ? m3d_tmul(&b_in_a->rotation, v3d_sub(p, b_in_a->position))
					 : v3d_add(m3d_mul(&b_in_a->rotation, p), b_in_a->position);
}

/// The box of the other body in the frame of a mesh.
static int find_balls_within(const cr_solid_pair *pair, int side, cr_inner_ball balls[CR_MOST_INNER_BALLS])
{
	const cr_relative *r = &pair->b_in_a;
	const m3d turn = side == 0 ? r->rotation : m3d_transposed(&r->rotation);
	v3d centre, extent, reach;
	cr_solid_box(side == 0 ? pair->b : pair->a, &centre, &extent);
	centre = to_frame_of_other(r, 1 - side, centre);
	reach.x = fabs(turn.row[0].x) * extent.x + fabs(turn.row[0].y) * extent.y + fabs(turn.row[0].z) * extent.z;
	reach.y = fabs(turn.row[1].x) * extent.x + fabs(turn.row[1].y) * extent.y + fabs(turn.row[1].z) * extent.z;
	reach.z = fabs(turn.row[2].x) * extent.x + fabs(turn.row[2].y) * extent.y + fabs(turn.row[2].z) * extent.z;
	const cr_grid *grid = grid_of(side == 0 ? pair->a : pair->b);
	return grid ? find_mesh_balls(grid, v3d_sub(centre, reach), v3d_add(centre, reach), balls) : 0;
}

void cr_find_inner_balls(const cr_solid_pair *pair, cr_inner_balls *balls)
{
	const cr_solid *const solids[2] = { pair->a, pair->b };
	for (int i = 0; i < 2; i++) {
		balls->count[i] = 0;
		if (!grid_of(solids[1 - i]))
			continue;
		balls->count[i] = solids[i]->convex ? find_convex_balls(solids[i]->convex, balls->ball[i])
											: find_balls_within(pair, i, balls->ball[i]);
		for (int k = 0; k < balls->count[i]; k++)
			balls->ball[i][k].centre = to_frame_of_other(&pair->b_in_a, i, balls->ball[i][k].centre);
	}
}

// ---- Moves ----

/// The cell of a point; NULL: none.
static const uint8_t *find_cell(const cr_grid *g, v3d p)
{
	const double x = (p.x - g->origin[0]) * g->inverse_cell, y = (p.y - g->origin[1]) * g->inverse_cell,
				 z = (p.z - g->origin[2]) * g->inverse_cell;
	if (!(x >= 0 && y >= 0 && z >= 0 && x < g->size[0] && y < g->size[1] && z < g->size[2]))
		return NULL;
	return &g->cells[((int64_t)z * g->size[1] + (int64_t)y) * g->size[0] + (int64_t)x];
}

/// Is a point known to be inside, for the surface does not touch its cell?
static bool is_inside(const cr_grid *g, v3d p)
{
	const uint8_t *cell = find_cell(g, p);
	return cell && (*cell & CR_CELL_INSIDE) && (*cell & CR_CELL_DISTANCE) > 0;
}

/// How far a ball about p may move before it neither lies in a closed mesh nor over its surface; 0
/// or less: nothing is told.
static double reach_of_ball(const cr_grid *g, v3d p, double radius)
{
	const uint8_t *cell = find_cell(g, p);
	if (!cell)
		return 0;
	const int distance = *cell & CR_CELL_DISTANCE;
	if ((*cell & CR_CELL_INSIDE) && distance > 0)
		return radius + CERTAIN * (distance - 1) * g->cell;
	return radius - ROOT_OF_3 * (distance + 1.01) * g->cell;
}

/// How far the balls block from a move on: the first that reaches far, or the one that reaches
/// farthest. *last: the ball that was asked first, and is set to the one found.
static double reach_of_balls(const cr_grid *const grids[2], const cr_inner_balls *balls, const v3d step[2], double s, int *last)
{
	const int count = balls->count[0] + balls->count[1];
	double most = 0;
	for (int i = 0, k = *last; i < count; i++, k = k + 1 < count ? k + 1 : 0) {
		const int side = k >= balls->count[0];
		const cr_inner_ball *ball = &balls->ball[side][side ? k - balls->count[0] : k];
		const double reach = reach_of_ball(grids[side], v3d_mad(ball->centre, s, step[side]), ball->radius);
		if (reach > most) {
			most = reach;
			*last = k;
			if (reach > FAR_ENOUGH * grids[side]->cell)
				break;
		}
	}
	return most;
}

/// A way, as seen by the balls and points of either body.
typedef struct passage {
	const cr_solid_pair *pair;
	const cr_inner_balls *balls;
	const cr_solid *solid[2];
	const cr_grid *grid[2]; // of the other body
	v3d direction;
	v3d step[2]; // of a ball or point, for a move of 1
	double s;    // no move up to it is clear
	double limit;
} passage;

/// Go on as far as the balls lead.
static void pass_balls(passage *p)
{
	const double least = LEAST_GAIN * fmin(p->grid[0] ? p->grid[0]->cell : INFINITY, p->grid[1] ? p->grid[1]->cell : INFINITY);
	int last = 0;
	double reach = INFINITY;
	for (int step = 0; step < MOST_BALL_STEPS && reach > least && p->s <= p->limit; step++) {
		reach = reach_of_balls(p->grid, p->balls, p->step, p->s, &last);
		p->s += reach;
	}
}

/// Go on until a point of one body leaves the other one, a closed mesh, if it lies inside. The ray
/// tells by the side from which it meets the surface; far ahead this is believed only where the
/// grid agrees, for at a silhouette it may be wrong.
static void pass_point(passage *p, int side, v3d place)
{
	const cr_collider *c = p->solid[1 - side]->collider;
	const cr_grid *g = p->grid[side];
	const v3d at = v3d_mad(place, p->s, p->step[side]);
	const cr_query_ray ray = { at, p->step[side], 0, fmin(p->limit, MOST_WAY * p->pair->size) - p->s };
	cr_query_hit hit;
	if (!(ray.t_max > 0))
		return;
	const bool met = cr_collider_cast(c, p->pair->kernels, &ray, &hit);
	const bool inside = is_inside(g, at);
	if (met ? hit.back && (inside || hit.t < FAR_ENOUGH * g->cell) : inside)
		p->s += met ? CERTAIN_HIT * hit.t : 2 * ray.t_max;
}

/// Its trailing point leaves last of all points of a convex body, where the surface is flat.
static void pass_trailing_point(passage *p, int side)
{
	const cr_convex *convex = p->solid[side]->convex;
	const cr_relative *r = &p->pair->b_in_a;
	const v3d own = side == 0 ? p->direction : v3d_neg(m3d_tmul(&r->rotation, p->direction));
	const v3d point = v3d_mad(cr_convex_support(convex, v3d_neg(own)), -CERTAIN * convex->rounding, own);
	pass_point(p, side, to_frame_of_other(r, side, point));
}

double cr_blocked_until(const cr_solid_pair *pair, const cr_inner_balls *balls, v3d direction, double limit)
{
	passage p = { pair, balls, { pair->a, pair->b }, { grid_of(pair->b), grid_of(pair->a) }, direction,
		{ m3d_tmul(&pair->b_in_a.rotation, direction), v3d_neg(direction) }, 0, limit };
	pass_balls(&p);
	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < balls->point_count[side] && p.s <= limit; i++)
			pass_point(&p, side, balls->point[side][i]);
		if (p.grid[side] && p.solid[side]->convex && p.s <= limit)
			pass_trailing_point(&p, side);
	}
	return p.s;
}

static void add_point(cr_inner_balls *balls, int side, v3d p)
{
	for (int i = 0; i < balls->point_count[side]; i++) {
		const v3d q = balls->point[side][i];
		if (p.x == q.x && p.y == q.y && p.z == q.z)
			return;
	}
	balls->point[side][balls->next[side]] = p;
	balls->next[side] = (balls->next[side] + 1) % CR_MOST_INNER_POINTS;
	balls->point_count[side] += balls->point_count[side] < CR_MOST_INNER_POINTS;
}

void cr_add_inner_points(const cr_solid_pair *pair, const cr_clear_way *way, cr_inner_balls *balls)
{
	const cr_solid *const solids[2] = { pair->a, pair->b };
	for (int side = 0; side < 2; side++) {
		if (!grid_of(solids[1 - side]) || way->triangle[side] < 0)
			continue;
		// A leaves along the normal.
		const v3d back = side == 0 ? v3d_neg(way->normal) : m3d_tmul(&pair->b_in_a.rotation, way->normal);
		v3d corners[3];
		int last = 0;
		cr_collider_triangle(solids[side]->collider, way->triangle[side], corners);
		for (int k = 1; k < 3; k++)
			last = v3d_dot(back, corners[k]) > v3d_dot(back, corners[last]) ? k : last;
		add_point(balls, side, to_frame_of_other(&pair->b_in_a, side, corners[last]));
	}
}

bool cr_guess_way(const cr_solid_pair *pair, const cr_inner_balls *balls, v3d *direction)
{
	const cr_solid *const solids[2] = { pair->a, pair->b };
	const cr_inner_ball *deepest = NULL;
	double most = 0;
	int other = 0;
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < balls->count[i]; k++) {
			const cr_inner_ball *ball = &balls->ball[i][k];
			const double reach = reach_of_ball(grid_of(solids[1 - i]), ball->centre, ball->radius);
			if (reach > most) {
				most = reach;
				deepest = ball;
				other = 1 - i;
			}
		}
	}
	cr_surface_point near;
	if (!deepest || !cr_collider_closest_point(solids[other]->collider, pair->kernels, deepest->centre, INFINITY, &near))
		return false;
	// Out of the mesh, for the body that holds the ball.
	const v3d out = v3d_scale(v3d_sub(near.point, deepest->centre), near.distance < 0 ? 1 : -1);
	*direction = other == 1 ? m3d_mul(&pair->b_in_a.rotation, out) : v3d_neg(out);
	return true;
}
