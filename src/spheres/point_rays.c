/// The detector "rays": Mochi, Algorithm 1, as ray-tracing hardware would run it; the reference for
/// such a backend.
///
/// Each sphere j has a proxy of radius 2 r_j around its centre, of which the tree holds the box.
/// From each centre i goes a ray of no length; it meets the boxes that hold the centre. For each
/// the distance d is computed, and the pair is detected when r_i + r_j - d >= 0 and 2 r_j - d >= 0
/// (the second leaves out the corners of the box). If j <= i and 2 r_i - d >= 0, the ray from j
/// meets the box of i as well and reports the pair, so this one does not; that also drops the ray's
/// own sphere.
///
/// With a skin s the radii of the test become r_i + r_j + s, and those of the proxies 2 r_j + s: d
/// <= r_i + r_j + s is at most 2 max(r_i, r_j) + s, so the ray from the smaller sphere lies in the
/// proxy of the larger one, as without a skin.
///
/// Exactly once: both rays decide d <= r_i + r_j + s, d <= 2 r_i + s and d <= 2 r_j + s from the
/// same numbers in double. Sums and squares round monotonically, so the second or the third holds
/// when the first does; if one of them, the ray that meets that proxy reports; if both, the ray
/// from the lower place. Boxes reach 2 r + s from the centre, rounded outward, beyond any d so
/// accepted.
#include "spheres/sphere_detector.h"
#include "spheres/tree_search.h"
#include "base/parallel.h"

enum { RAYS_A_PIECE = 512 };

static const cr_tree_reach REACH = { 2, 1 };

static carom_result build(void **state, const cr_sphere_set *set) { return cr_build_sphere_tree(state, set, REACH); }

/// Is the centre of i in the proxy of j? Symmetric in the centres to the last bit.
static bool in_proxy(const cr_sphere_set *set, uint32_t i, uint32_t j)
{
	const cr_exact_sphere a = cr_read_sphere(set, i), b = cr_read_sphere(set, j);
	const double dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z, reach = b.r + b.r + set->skin;
	return dx * dx + dy * dy + dz * dz <= reach * reach;
}

void cr_tree_take_hit(const cr_tree_search *search, uint32_t i, uint32_t j)
{
	const cr_sphere_set *set = search->set;
	const uint32_t ray = search->tree->id[i], box = search->tree->id[j];
	if (box <= ray && in_proxy(set, box, ray))
		return; // the other ray reports it
	if (in_proxy(set, ray, box) && cr_spheres_touch(set, ray, box))
		cr_put_pair(search, ray, box);
}

static void cast_rays(int64_t begin, int64_t end, int worker, void *find_pointer)
{
	const cr_tree_find *find = find_pointer;
	const cr_tree_search search = cr_make_tree_search(find, worker);
	find->kernels->cast_points(&search, (uint32_t)begin, (uint32_t)end);
}

static carom_result find_pairs(void *state, const cr_sphere_set *set, const cr_pair_sink *sink, int64_t *tests)
{
	const cr_sphere_tree *tree = state;
	*tests = 0;
	if (tree->count == 0)
		return CAROM_SUCCESS;
	cr_tree_find find;
	const bool ready = cr_begin_find(&find, tree, set, sink);
	if (ready)
		cr_parallel_for(set->context, cast_rays, tree->count, RAYS_A_PIECE, &find);
	cr_end_find(&find, tests);
	return ready ? CAROM_SUCCESS : cr_fail_memory(set->context, "the search by rays");
}

const cr_sphere_detector cr_rays_detector = { build, cr_refit_sphere_tree, find_pairs, cr_sphere_tree_cost,
	cr_sphere_tree_bytes, cr_release_sphere_tree, NULL };
