// Checks of the definition of a granular simulation. Each text names the field as the header does.
#include "sim/grains/granular_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_positive(const char *field, double value, sim_error *error)
{
	return (value > 0 && isfinite(value)) || sim_fail(error, "%s: %g is not a finite number above 0", field, value);
}

static bool is_not_negative(const char *field, double value, sim_error *error)
{
	return (value >= 0 && isfinite(value)) || sim_fail(error, "%s: %g is not a finite number of at least 0", field, value);
}

static bool is_vector(const char *field, const double v[3], sim_error *error)
{
	return (isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2])) ||
		sim_fail(error, "%s: (%g, %g, %g) is not finite", field, v[0], v[1], v[2]);
}

static bool is_direction(const char *field, const double v[3], sim_error *error)
{
	const double squared = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
	return is_vector(field, v, error) && ((squared > 0 && isfinite(squared)) || sim_fail(error, "%s: has no direction", field));
}

// ---- Laws ----

static bool check_stiffness(const char *name, const sim_granular_law *law, sim_error *error)
{
	char field[64];
	if (law->normal == SIM_GRANULAR_LINEAR) {
		snprintf(field, sizeof field, "%s.stiffness", name);
		if (!is_positive(field, law->stiffness, error))
			return false;
		snprintf(field, sizeof field, "%s.stiffness_radius", name);
		return is_not_negative(field, law->stiffness_radius, error);
	}
	if (law->normal != SIM_GRANULAR_HERTZ)
		return sim_fail(error, "%s.normal: %d is no law", name, (int)law->normal);
	snprintf(field, sizeof field, "%s.young", name);
	if (!is_positive(field, law->young, error))
		return false;
	if (!(law->poisson > -1 && law->poisson <= 0.5))
		return sim_fail(error, "%s.poisson: %g is not above -1 and at most 0.5", name, law->poisson);
	return true;
}

static bool check_law(const char *name, const sim_granular_law *law, sim_error *error)
{
	if (!check_stiffness(name, law, error))
		return false;
	if (!(law->restitution >= 0 && law->restitution <= 1))
		return sim_fail(error, "%s.restitution: %g is not within 0 to 1", name, law->restitution);
	char field[64];
	snprintf(field, sizeof field, "%s.friction", name);
	if (!is_not_negative(field, law->friction, error))
		return false;
	snprintf(field, sizeof field, "%s.rolling_friction", name);
	if (!is_not_negative(field, law->rolling_friction, error))
		return false;
	switch (law->tangential) {
	case SIM_GRANULAR_SMOOTH: return true;
	case SIM_GRANULAR_SPRING:
		snprintf(field, sizeof field, "%s.tangential_ratio", name);
		return law->normal == SIM_GRANULAR_LINEAR ? is_positive(field, law->tangential_ratio, error)
												  : sim_fail(error, "%s.tangential: SPRING goes with LINEAR", name);
	case SIM_GRANULAR_MINDLIN:
		return law->normal == SIM_GRANULAR_HERTZ || sim_fail(error, "%s.tangential: MINDLIN goes with HERTZ", name);
	default: return sim_fail(error, "%s.tangential: %d is no law", name, (int)law->tangential);
	}
}

// ---- Box and walls ----

static bool check_box(const sim_granular_def *def, sim_error *error)
{
	static const char *const axes = "xyz";
	if (!is_vector("lower", def->lower, error) || !is_vector("upper", def->upper, error))
		return false;
	for (int k = 0; k < 3; k++) {
		const bool walls = def->faces[2 * k] || def->faces[2 * k + 1];
		if (!walls && !def->periodic[k])
			continue;
		if (!(def->lower[k] < def->upper[k]))
			return sim_fail(error, "upper: %g is not above lower %g along %c", def->upper[k], def->lower[k], axes[k]);
		if (fabs(def->lower[k]) > CAROM_MAX_COORDINATE || fabs(def->upper[k]) > CAROM_MAX_COORDINATE)
			return sim_fail(error, "lower, upper: beyond %g along %c", (double)CAROM_MAX_COORDINATE, axes[k]);
		if (walls && def->periodic[k])
			return sim_fail(error, "faces: a wall along %c, which is periodic", axes[k]);
	}
	return true;
}

static bool check_wall(int32_t i, const sim_granular_wall *wall, sim_error *error)
{
	char field[64];
	const struct {
		const char *name;
		const double *value;
	} vectors[] = { { "point", wall->point }, { "velocity", wall->velocity }, { "amplitude", wall->amplitude } };
	for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
		snprintf(field, sizeof field, "moving[%d].%s", (int)i, vectors[k].name);
		if (!is_vector(field, vectors[k].value, error))
			return false;
	}
	snprintf(field, sizeof field, "moving[%d].normal", (int)i);
	if (!is_direction(field, wall->normal, error))
		return false;
	if (!isfinite(wall->frequency))
		return sim_fail(error, "moving[%d].frequency: not finite", (int)i);
	return isfinite(wall->phase) || sim_fail(error, "moving[%d].phase: not finite", (int)i);
}

static bool check_walls(const sim_granular_def *def, sim_error *error)
{
	if (def->moving_count < 0 || def->moving_count > SIM_GRANULAR_MAX_WALLS)
		return sim_fail(error, "moving_count: %d is not within 0 to %d", (int)def->moving_count, SIM_GRANULAR_MAX_WALLS);
	for (int32_t i = 0; i < def->moving_count; i++) {
		if (!check_wall(i, &def->moving[i], error))
			return false;
	}
	return true;
}

bool granular_check(const sim_granular_def *def, sim_error *error)
{
	if (def->count < 0 || def->count > CAROM_MAX_SPHERES)
		return sim_fail(error, "count: %lld is not within 0 to %d", (long long)def->count, CAROM_MAX_SPHERES);
	if (!is_positive("density", def->density, error) || !is_positive("time_step", def->time_step, error) ||
		!is_vector("gravity", def->gravity, error))
		return false;
	if (!isfinite(def->gravity_rate))
		return sim_fail(error, "gravity_rate: not finite");
	if (def->gravity_rate != 0 && !is_direction("gravity_axis", def->gravity_axis, error))
		return false;
	if (!check_law("walls", &def->walls, error) || (!def->force && !check_law("spheres", &def->spheres, error)))
		return false;
	if (!check_box(def, error) || !check_walls(def, error))
		return false;
	if (def->stability != SIM_GRANULAR_REFUSE && def->stability != SIM_GRANULAR_REPORT)
		return sim_fail(error, "stability: %d is no setting", (int)def->stability);
	if (!(def->stability_contacts >= 1 && isfinite(def->stability_contacts)))
		return sim_fail(error, "stability_contacts: %g is not at least 1", def->stability_contacts);
	if (!is_positive("stability_overlap", def->stability_overlap, error))
		return false;
	if ((int)def->method < CAROM_SPHERES_AUTO || (int)def->method > CAROM_SPHERES_RAYS)
		return sim_fail(error, "method: %d is no method", (int)def->method);
	if (isnan(def->skin) || isinf(def->skin))
		return sim_fail(error, "skin: not finite");
	if (!def->allocator.allocate != !def->allocator.release)
		return sim_fail(error, "allocator: one of its functions is missing");
	return true;
}

// ---- Spheres ----

double granular_read_scalar(const carom_strided *array, int64_t i, int components, int k)
{
	const int64_t size = array->type == CAROM_FLOAT32 ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
	const int64_t stride = array->stride ? array->stride : components * size;
	const char *at = (const char *)array->data + i * stride + k * size;
	if (array->type == CAROM_FLOAT64) {
		double value;
		memcpy(&value, at, sizeof value);
		return value;
	}
	float value;
	memcpy(&value, at, sizeof value);
	return value;
}

static bool check_array(const char *field, const carom_strided *array, bool optional, sim_error *error)
{
	if (array->type != CAROM_FLOAT32 && array->type != CAROM_FLOAT64)
		return sim_fail(error, "%s.type: %d is no type", field, (int)array->type);
	return array->data || optional || sim_fail(error, "%s.data: NULL", field);
}

static bool check_component(const char *field, const carom_strided *array, int64_t i, double most, sim_error *error)
{
	for (int k = 0; array->data && k < 3; k++) {
		const double x = granular_read_scalar(array, i, 3, k);
		if (!(fabs(x) <= most))
			return sim_fail(error, "%s: sphere %lld: %g along %c is not finite or too large", field, (long long)i, x, "xyz"[k]);
	}
	return true;
}

bool granular_check_spheres(const sim_granular_def *def, sim_error *error)
{
	if (def->count == 0)
		return true;
	if (!check_array("centres", &def->centres, false, error) || !check_array("radii", &def->radii, false, error) ||
		!check_array("velocities", &def->velocities, true, error) ||
		!check_array("angular_velocities", &def->angular_velocities, true, error))
		return false;
	double largest = 0;
	for (int64_t i = 0; i < def->count; i++) {
		const double r = granular_read_scalar(&def->radii, i, 1, 0);
		if (!(r > 0 && r <= CAROM_MAX_COORDINATE))
			return sim_fail(error, "radii: sphere %lld: %g is not a finite number above 0", (long long)i, r);
		largest = r > largest ? r : largest;
		if (!check_component("centres", &def->centres, i, CAROM_MAX_COORDINATE, error) ||
			!check_component("velocities", &def->velocities, i, 1e100, error) ||
			!check_component("angular_velocities", &def->angular_velocities, i, 1e100, error))
			return false;
	}
	for (int k = 0; k < 3; k++) {
		const double width = def->upper[k] - def->lower[k];
		if (def->faces[2 * k] && def->faces[2 * k + 1] && !(width > 2 * largest))
			return sim_fail(
				error, "upper: the box is narrower along %c (%g) than the largest sphere (%g)", "xyz"[k], width, 2 * largest);
		const double skin = def->skin > 0 ? def->skin : 0;
		if (def->periodic[k] && !(width > 2 * (2 * largest + skin)))
			return sim_fail(error, "upper: the period along %c (%g) is not above 2 (2 r + skin) = %g", "xyz"[k], width,
				2 * (2 * largest + skin));
	}
	return true;
}
