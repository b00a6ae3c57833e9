/// Reading of the caller's arrays: checks, bounds, motion since a list was made, and copies in the
/// form that the detectors take.
///
/// Each function is one parallel sweep over the input. float32 input packed as x, y, z and r, or as
/// records of the four, is checked and copied without a detour; all else (strides, double) sphere
/// by sphere. The results do not depend on the cut.
#ifndef CR_SPHERES_SPHERE_INPUT_H
#define CR_SPHERES_SPHERE_INPUT_H

#include "spheres/sphere_set.h"

/// The periods, prepared for exact wrapping.
typedef struct cr_sphere_space {
	bool periodic[3];
	double period[3]; // of the periodic axes
	// the period's last place: wrapped coordinates are multiples of it, so that all differences are
	// exact
	double grain[3];
} cr_sphere_space;

cr_sphere_space cr_make_space(const carom_spheres_def *def);
static inline bool cr_is_periodic(const cr_sphere_space *space)
{
	return space->periodic[0] || space->periodic[1] || space->periodic[2];
}

/// Difference of two coordinates of which each is in 0..period: the one of the nearest images.
/// Exact for multiples of the grain.
static inline double cr_nearest(const cr_sphere_space *space, int axis, double d)
{
	if (!space->periodic[axis])
		return d;
	const double period = space->period[axis];
	return d > period / 2 ? d - period : d < -period / 2 ? d + period : d;
}

/// How the input lies in memory.
typedef enum cr_view_form {
	CR_VIEW_ANY,
	CR_VIEW_PACKED, // float32 x, y, z and apart from them r
	CR_VIEW_RECORDS // float32 x, y, z, r
} cr_view_form;

/// The input, with strides made plain.
typedef struct cr_sphere_view {
	const char *centres, *radii;
	int64_t centre_stride, radius_stride;
	bool double_centres, double_radii;
	cr_view_form form;
	int64_t count;
} cr_sphere_view;

/// Check the fields of the input, reading no sphere. CAROM_INVALID_ARGUMENT names the field.
carom_result cr_view_input(carom_context *context, const carom_sphere_input *input, cr_sphere_view *view);

/// Bounds of all x, y, z and radii. Without spheres 0.
typedef struct cr_bounds4 {
	double lower[4], upper[4];
} cr_bounds4;

/// Nothing yet: the bounds of no sphere.
void cr_clear_bounds(cr_bounds4 *bounds);
/// Widen bounds to hold other too.
void cr_join_bounds(cr_bounds4 *bounds, const cr_bounds4 *other);

/// Where spheres were, to measure their motion from: in double, or else as floats about an origin.
typedef struct cr_reference {
	const double *exact;      // [4*count] or NULL
	const cr_sphere *spheres; // [count]
	double origin[3];
} cr_reference;

/// Check each sphere, and bound the input: centres not wrapped. With a reference (else NULL) also
/// bound the motion: x, y, z and radius less those of the reference. CAROM_INVALID_ARGUMENT names
/// the first sphere at fault, and its field.
carom_result cr_measure_input(carom_context *context, const cr_sphere_view *view, const cr_sphere_space *space,
	const cr_reference *reference, cr_bounds4 *bounds, cr_bounds4 *motion);

/// The largest distance of a centre to that of the reference moved by shift.
double cr_measure_distance(carom_context *context, const cr_sphere_view *view, const cr_sphere_space *space,
	const cr_reference *reference, const double shift[3]);

/// Mean radius of some hundred of the spheres.
double cr_mean_radius(const cr_sphere_view *view);

/// Copy float32 input that is not periodic: spheres[count].
void cr_copy_single(carom_context *context, const cr_sphere_view *view, cr_sphere *spheres);

/// Copy with periodic axes wrapped: exact[4*count].
void cr_copy_double(carom_context *context, const cr_sphere_view *view, const cr_sphere_space *space, double *exact);

/// Number of images that can touch a sphere within the period; reach: the largest sum of radii and
/// the skin.
int64_t cr_count_images(carom_context *context, const cr_sphere_view *view, const cr_sphere_space *space, double reach);

/// Make those images behind the wrapped spheres: exact[4*count...] and owner[]. Serial, in the
/// order of their owners.
void cr_make_images(const cr_sphere_space *space, double reach, uint32_t count, double *exact, uint32_t *owner);

/// Round exact[4*count], less an origin, and bound the result.
void cr_round_spheres(carom_context *context, const double *exact, const double origin[3], uint32_t count, cr_sphere *spheres,
	cr_bounds4 *bounds);

#endif
