/// How a feature of cloth leaves a shape that is no mesh along a direction.
///
/// The moves along it at which the two overlap are one interval, for both are convex
/// (geom/slide.h). Its upper end is the way out; the places that touch there are those of the
/// contact.
#include "geom/separation.h"
#include "geom/slide.h"
#include "geom/triangle.h"
#include "world/surface_contacts.h"

// Of the size of a shape: so far beyond its way out a feature is measured.
#define APART 1e-6

/// A feature as a convex body about its first corner, and where the shape is from there.
static cr_relative place_feature(
	const cr_shape_leaving *out, const carom_surface_shape_contact *c, v3d corners[3], cr_convex *feature)
{
	const int count = cr_corners_of(c);
	*feature = (cr_convex){ .core = count == 1 ? CR_CORE_POINT : CR_CORE_TRIANGLE };
	for (int k = 0; k < 3; k++) {
		corners[k] = cr_placed_vertex(&out->of_cloth, c->vertices[k < count ? k : count - 1]);
		feature->corner[k] = v3d_sub(corners[k], corners[0]);
	}
	return (cr_relative){ out->rotation, v3d_sub(out->position, corners[0]) };
}

bool cr_leave_shape(const cr_shape_leaving *out, const carom_surface_shape_contact *c, v3d direction, double *by)
{
	v3d corners[3], unused;
	cr_convex feature;
	const cr_relative at = place_feature(out, c, corners, &feature);
	const v3d local = m3d_tmul(&out->rotation, direction);
	const double top =
		v3d_dot(local, cr_convex_support(&out->convex, local)) + out->convex.rounding + v3d_dot(direction, at.position);
	double lowest = 0;
	for (int k = 1; k < 3; k++)
		lowest = fmin(lowest, v3d_dot(direction, feature.corner[k]));
	const double slack = (v3d_length(at.position) + v3d_length(out->position) + cr_convex_size(&out->convex)) * 0x1p-40;
	const double most = top - lowest + 2 * slack;
	double end;
	const bool found = most > 0 && cr_slide_end(&feature, &out->convex, &at, direction, slack, most, 0, &end, &unused);
	*by = found ? end : fmax(most, 0);
	return found;
}

void cr_lead_out_of_shape(const cr_shape_leaving *out, v3d direction, carom_surface_shape_contact *c)
{
	double by;
	cr_leave_shape(out, c, direction, &by);
	const int count = cr_corners_of(c);
	v3d corners[3];
	cr_convex feature;
	cr_relative at = place_feature(out, c, corners, &feature);
	cr_separation s;
	// Nearest points are better known a little apart than where the two meet.
	const double apart = APART * cr_convex_size(&out->convex);
	at.position = v3d_mad(at.position, -by - apart, direction);
	cr_convex_separation(&feature, &out->convex, &at, &s);
	v3d foot = v3d_add(corners[0], s.on_a);
	if (count == 3) {
		const cr_triangle_point on = cr_closest_on_triangle(foot, corners);
		for (int k = 0; k < 3; k++)
			c->weight[k] = on.weight[k];
	} else if (count == 2) {
		const v3d edge = feature.corner[1];
		const double along = v3d_dot(s.on_a, edge) / v3d_dot(edge, edge);
		c->weight[1] = fmin(fmax(along, 0), 1);
		c->weight[0] = 1 - c->weight[1];
	}
	foot = (v3d){ 0, 0, 0 };
	for (int k = 0; k < count; k++)
		foot = v3d_mad(foot, c->weight[k], corners[k]);
	c->distance = -by;
	c->normal = direction;
	c->point = v3d_mad(foot, by, direction);
}

double cr_gap_of_feature(const cr_shape_leaving *out, const carom_surface_shape_contact *c, v3d *normal)
{
	v3d corners[3];
	cr_convex feature;
	cr_separation s;
	const cr_relative at = place_feature(out, c, corners, &feature);
	cr_convex_separation(&feature, &out->convex, &at, &s);
	*normal = s.normal;
	return s.gap;
}
