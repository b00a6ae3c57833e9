/// Checks of the caller's input to a swept scene, and the reading of vertices. Each text names the
/// field, mesh or vertex at fault.
#include "mesh/strided.h"
#include "mesh/topology.h"
#include "sweep/sweep_cookies.h"
#include "sweep/sweep_state.h"
#include "vulkan/gpu_device.h"

#include <math.h>
#include <string.h>

// ---- Definitions ----

static const char lab_field[] = "carom_sweep_def.lab (carom/lab.h)";

carom_result cr_check_sweep_device(carom_context *context, const char *field, const carom_device *device)
{
	return device ? cr_check_device_context(context, device, field) : CAROM_SUCCESS;
}

static carom_result check_device(carom_context *context, const carom_sweep_def *def)
{
	if (!def->device)
		return CAROM_SUCCESS;
	const carom_result result = cr_check_sweep_device(context, "carom_sweep_def.device", def->device);
	if (result != CAROM_SUCCESS)
		return result;
	if (def->method == CAROM_SWEEP_PHC || def->method == CAROM_SWEEP_SORT)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"carom_sweep_def.method is CAROM_SWEEP_%s, which does not go with carom_sweep_def.device",
			def->method == CAROM_SWEEP_PHC ? "PHC" : "SORT");
	if (def->test == CAROM_SWEEP_CUBIC)
		return cr_fail(context, CAROM_INVALID_ARGUMENT,
			"carom_sweep_def.test is CAROM_SWEEP_CUBIC, which does not go with carom_sweep_def.device");
	return CAROM_SUCCESS;
}

carom_result cr_check_sweep_def(carom_context *context, const carom_sweep_def *def)
{
	const carom_result bad = CAROM_INVALID_ARGUMENT;
	if (def->cookie != CR_SWEEP_COOKIE)
		return cr_fail(context, bad, "carom_sweep_def.cookie: start from carom_default_sweep_def");
	if ((int)def->method < CAROM_SWEEP_AUTO || def->method > CAROM_SWEEP_SORT)
		return cr_fail(context, bad, "carom_sweep_def.method is %d, none of carom_sweep_method", (int)def->method);
	if ((int)def->volume < CAROM_SWEEP_DOP18 || def->volume > CAROM_SWEEP_AABB)
		return cr_fail(context, bad, "carom_sweep_def.volume is %d, none of carom_sweep_volume", (int)def->volume);
	if ((int)def->build < CAROM_SWEEP_MEDIAN || def->build > CAROM_SWEEP_SAH)
		return cr_fail(context, bad, "carom_sweep_def.build is %d, none of carom_sweep_build", (int)def->build);
	if ((int)def->test < CAROM_SWEEP_CERTIFIED || def->test > CAROM_SWEEP_CUBIC)
		return cr_fail(context, bad, "carom_sweep_def.test is %d, none of carom_sweep_test", (int)def->test);
	if (!def->lab && (def->method == CAROM_SWEEP_PHC || def->method == CAROM_SWEEP_SORT))
		return cr_fail(context, bad, "carom_sweep_def.method is CAROM_SWEEP_%s, which only the laboratory has: set %s",
			def->method == CAROM_SWEEP_PHC ? "PHC" : "SORT", lab_field);
	if (!def->lab && def->test == CAROM_SWEEP_CUBIC)
		return cr_fail(
			context, bad, "carom_sweep_def.test is CAROM_SWEEP_CUBIC, which only the laboratory has: set %s", lab_field);
	const carom_result result = check_device(context, def);
	if (result != CAROM_SUCCESS)
		return result;
	if (!(def->tolerance > 0 && def->tolerance <= CAROM_MAX_COORDINATE))
		return cr_fail(
			context, bad, "carom_sweep_def.tolerance is %g, not above 0 and at most %g", def->tolerance, CAROM_MAX_COORDINATE);
	if (!(def->min_separation >= 0 && def->min_separation <= CAROM_MAX_COORDINATE))
		return cr_fail(
			context, bad, "carom_sweep_def.min_separation is %g, not in 0 to %g", def->min_separation, CAROM_MAX_COORDINATE);
	if (!(def->relative_separation >= 0 && def->relative_separation < 1))
		return cr_fail(context, bad, "carom_sweep_def.relative_separation is %g, not in 0 to 1, which is excluded",
			def->relative_separation);
	if (def->max_hits < 0)
		return cr_fail(context, bad, "carom_sweep_def.max_hits is %lld, below 0", (long long)def->max_hits);
	if (!(def->rebuild_sprouted >= 0))
		return cr_fail(context, bad, "carom_sweep_def.rebuild_sprouted is %g, not 0 or more", def->rebuild_sprouted);
	if (!(def->rebuild_replaced >= 0))
		return cr_fail(context, bad, "carom_sweep_def.rebuild_replaced is %g, not 0 or more", def->rebuild_replaced);
	return CAROM_SUCCESS;
}

carom_result cr_check_sweep_mesh(carom_context *context, const carom_sweep_mesh_def *def)
{
	const carom_result bad = CAROM_INVALID_ARGUMENT;
	if (def->cookie != CR_SWEEP_MESH_COOKIE)
		return cr_fail(context, bad, "carom_sweep_mesh_def.cookie: start from carom_default_sweep_mesh_def");
	if (!(def->thickness >= 0 && def->thickness <= CAROM_MAX_COORDINATE))
		return cr_fail(
			context, bad, "carom_sweep_mesh_def.thickness is %g, not in 0 to %g", def->thickness, CAROM_MAX_COORDINATE);
	if (def->vertex_count < 0)
		return cr_fail(context, bad, "carom_sweep_mesh_def.vertex_count is %d, below 0", def->vertex_count);
	if (def->triangle_count < 0)
		return cr_fail(context, bad, "carom_sweep_mesh_def.triangle_count is %d, below 0", def->triangle_count);
	if (def->triangle_count > 0 && !def->triangles)
		return cr_fail(context, bad, "carom_sweep_mesh_def.triangles is NULL, but triangle_count is %d", def->triangle_count);
	for (int64_t i = 0; i < 3 * (int64_t)def->triangle_count; i++) {
		const int32_t v = def->triangles[i];
		if (v < 0 || v >= def->vertex_count)
			return cr_fail(context, CAROM_INVALID_MESH,
				"carom_sweep_mesh_def.triangles: triangle %lld names vertex %d, not in 0 to %d", (long long)(i / 3), v,
				def->vertex_count - 1);
	}
	return CAROM_SUCCESS;
}

// ---- Vertices ----

carom_result cr_check_sweep_vertices(
	carom_context *context, const char *field, const carom_strided *view, int32_t count, carom_result fault)
{
	const carom_result result = cr_check_strided(context, field, view, count, "vertices", 3);
	if (result != CAROM_SUCCESS)
		return result;
	for (int32_t i = 0; i < count; i++) {
		double p[3];
		cr_read_vertex(view, i, p);
		for (int k = 0; k < 3; k++) {
			if (!(fabs(p[k]) <= CAROM_MAX_COORDINATE))
				return cr_fail(context, fault, "%s: %c of vertex %d is %g, %s", field, 'x' + k, i, p[k],
					isfinite(p[k]) ? "beyond CAROM_MAX_COORDINATE" : "not finite");
		}
	}
	return CAROM_SUCCESS;
}

double cr_read_sweep_vertices(const carom_strided *view, int32_t count, double *places)
{
	double largest = 0;
	for (int32_t i = 0; i < count; i++) {
		double *p = &places[3 * (int64_t)i];
		cr_read_vertex(view, i, p);
		for (int k = 0; k < 3; k++)
			largest = fabs(p[k]) > largest ? fabs(p[k]) : largest;
	}
	return largest;
}
