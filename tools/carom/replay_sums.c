// Sums of `carom replay`.
#include "replay_sums.h"

#include <stdio.h>
#include <stdlib.h>

static void add_counts(replay_sums *sums, const carom_stats *s)
{
	sums->box_pairs += s->box_pairs;
	sums->narrow_pairs += s->narrow_pairs;
	sums->colliding_pairs += s->colliding_pairs;
	sums->contacts += s->contacts;
	sums->contacts_found += s->contacts_found;
	sums->vertices_tested += (double)s->vertices_tested;
	sums->vertices_watched += (double)s->vertices_watched;
	sums->rays_full += (double)s->rays_full;
	sums->rays_iterative += (double)s->rays_iterative;
	sums->rays_predictive += (double)s->rays_predictive;
	sums->rays_lost += (double)s->rays_lost;
	sums->rays_recast += (double)s->rays_recast;
	sums->rays_missed += (double)s->rays_missed;
	sums->rays_on_device += (double)s->rays_on_device;
	sums->walks_on_device += (double)s->walks_on_device;
	sums->rays_returned += (double)s->rays_returned;
	sums->tests_on_device += (double)s->tests_on_device;
	sums->tests_returned += (double)s->tests_returned;
	sums->near_on_device += (double)s->near_on_device;
	sums->near_returned += (double)s->near_returned;
	sums->walk_steps += (double)s->walk_steps;
	sums->backtracks += s->backtracks;
	sums->pairs_full += s->pairs_full;
	sums->pairs_iterative += s->pairs_iterative;
	sums->pairs_apart += s->pairs_apart;
	sums->pairs_completed += s->pairs_completed;
	sums->pairs_crossing += s->pairs_crossing;
	sums->triangle_tests += (double)s->triangle_tests;
}

static void add_times(replay_sums *sums, const carom_stats *s)
{
	sums->totals[sums->steps++] = s->ms_total;
	sums->total += s->ms_total;
	sums->trees += s->ms_trees;
	sums->pair += s->ms_pair;
	sums->vertex += s->ms_vertex;
	sums->ray += s->ms_ray;
	sums->complete += s->ms_complete;
	sums->merge += s->ms_merge;
}

void replay_sums_add(replay_sums *sums, const carom_world *world)
{
	const carom_stats s = carom_world_stats(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	add_counts(sums, &s);
	add_times(sums, &s);
	sums->memory_peak = s.memory_peak;
	for (int g = 0; g < sums->group_count; g++) {
		const carom_group_stats group = carom_lab_group_stats(world, g);
		sums->groups[g].pairs += group.pairs;
		sums->groups[g].new_pairs += group.new_pairs;
		sums->groups[g].rays += (double)group.rays;
	}
	for (int32_t i = 0; i < contacts.count; i++) {
		if ((double)contacts.data[i].depth > sums->deepest)
			sums->deepest = (double)contacts.data[i].depth;
	}
	// The finaliser of splitmix64 (Steele, Lea, Flood 2014) makes the order of the steps count.
	uint64_t h = sums->hash + carom_world_hash(world) + 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	sums->hash = h ^ h >> 31;
}

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/// Sorts the milliseconds.
static double median_total(replay_sums *sums)
{
	qsort(sums->totals, (size_t)sums->steps, sizeof *sums->totals, compare_doubles);
	const int64_t half = sums->steps / 2;
	return sums->steps % 2 ? sums->totals[half] : 0.5 * (sums->totals[half - 1] + sums->totals[half]);
}

static void add_groups(const replay_sums *s, cJSON *json)
{
	cJSON *groups = cJSON_AddArrayToObject(json, "groups");
	for (int g = 0; g < s->group_count; g++) {
		cJSON *group = cJSON_CreateObject();
		cJSON_AddNumberToObject(group, "pairs", s->groups[g].pairs / (double)s->steps);
		cJSON_AddNumberToObject(group, "new_pairs", s->groups[g].new_pairs / (double)s->steps);
		cJSON_AddNumberToObject(group, "rays", s->groups[g].rays / (double)s->steps);
		cJSON_AddItemToArray(groups, group);
	}
}

void replay_sums_print_json(replay_sums *s, cJSON *json)
{
	const double n = (double)s->steps, median = median_total(s);
	cJSON_AddNumberToObject(json, "pairs", s->box_pairs / n);
	cJSON_AddNumberToObject(json, "narrow_pairs", s->narrow_pairs / n);
	cJSON_AddNumberToObject(json, "colliding_pairs", s->colliding_pairs / n);
	cJSON_AddNumberToObject(json, "contacts", s->contacts / n);
	cJSON_AddNumberToObject(json, "contacts_found", s->contacts_found / n);
	cJSON_AddNumberToObject(json, "deepest", s->deepest);
	cJSON_AddNumberToObject(json, "vertices", s->vertices_tested / n);
	cJSON_AddNumberToObject(json, "vertices_watched", s->vertices_watched / n);
	cJSON *rays = cJSON_AddObjectToObject(json, "rays");
	cJSON_AddNumberToObject(rays, "full", s->rays_full / n);
	cJSON_AddNumberToObject(rays, "iterative", s->rays_iterative / n);
	cJSON_AddNumberToObject(rays, "predictive", s->rays_predictive / n);
	cJSON_AddNumberToObject(rays, "lost", s->rays_lost / n);
	cJSON_AddNumberToObject(rays, "recast", s->rays_recast / n);
	cJSON_AddNumberToObject(rays, "missed", s->rays_missed / n);
	cJSON_AddNumberToObject(rays, "on_device", s->rays_on_device / n);
	cJSON_AddNumberToObject(rays, "walks_on_device", s->walks_on_device / n);
	cJSON_AddNumberToObject(rays, "returned", s->rays_returned / n);
	cJSON_AddNumberToObject(json, "walk_steps", s->walk_steps / n);
	cJSON_AddNumberToObject(json, "backtracks", s->backtracks / n);
	cJSON_AddNumberToObject(json, "pairs_full", s->pairs_full / n);
	cJSON_AddNumberToObject(json, "pairs_iterative", s->pairs_iterative / n);
	cJSON_AddNumberToObject(json, "pairs_apart", s->pairs_apart / n);
	cJSON_AddNumberToObject(json, "pairs_completed", s->pairs_completed / n);
	cJSON_AddNumberToObject(json, "pairs_crossing", s->pairs_crossing / n);
	cJSON_AddNumberToObject(json, "triangle_tests", s->triangle_tests / n);
	cJSON *triangles = cJSON_AddObjectToObject(json, "triangles");
	cJSON_AddNumberToObject(triangles, "on_device", s->tests_on_device / n);
	cJSON_AddNumberToObject(triangles, "returned", s->tests_returned / n);
	cJSON *near = cJSON_AddObjectToObject(json, "near");
	cJSON_AddNumberToObject(near, "on_device", s->near_on_device / n);
	cJSON_AddNumberToObject(near, "returned", s->near_returned / n);
	if (s->group_count > 0)
		add_groups(s, json);
	cJSON *ms = cJSON_AddObjectToObject(json, "ms");
	cJSON_AddNumberToObject(ms, "total", s->total / n);
	cJSON_AddNumberToObject(ms, "min", s->totals[0]);
	cJSON_AddNumberToObject(ms, "median", median);
	cJSON_AddNumberToObject(ms, "trees", s->trees / n);
	cJSON_AddNumberToObject(ms, "pair", s->pair / n);
	cJSON_AddNumberToObject(ms, "vertex", s->vertex / n);
	cJSON_AddNumberToObject(ms, "ray", s->ray / n);
	cJSON_AddNumberToObject(ms, "complete", s->complete / n);
	cJSON_AddNumberToObject(ms, "merge", s->merge / n);
	cJSON_AddNumberToObject(json, "memory_peak", (double)s->memory_peak);
	report_add_hash(json, "hash", s->hash);
}

void replay_sums_print_text(replay_sums *s)
{
	const double n = (double)s->steps, median = median_total(s);
	const struct {
		const char *label;
		double sum;
	} counts[] = { { "pairs of boxes", s->box_pairs }, { "pairs of oriented boxes", s->narrow_pairs },
		{ "pairs done in full", s->pairs_full }, { "pairs continued", s->pairs_iterative },
		{ "... known to be apart", s->pairs_apart }, { "colliding pairs", s->colliding_pairs }, { "contacts", s->contacts },
		{ "vertices reached", s->vertices_tested }, { "vertices watched", s->vertices_watched }, { "full rays", s->rays_full },
		{ "... also outward", s->rays_predictive }, { "iterative rays", s->rays_iterative }, { "... lost", s->rays_lost },
		{ "rays left out", s->rays_missed }, { "pairs completed", s->pairs_completed },
		{ "triangle tests", s->triangle_tests } },
	  times[] = { { "trees", s->trees }, { "pair", s->pair }, { "vertex", s->vertex }, { "ray", s->ray },
		  { "complete", s->complete }, { "merge", s->merge }, { "total", s->total } };
	printf("\nmean per step\n");
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		printf("  %-24s %12.1f\n", counts[i].label, counts[i].sum / n);
	for (int g = 0; g < s->group_count; g++)
		printf("  group %-2d: pairs, rays      %8.1f %12.1f\n", g, s->groups[g].pairs / n, s->groups[g].rays / n);
	printf("\nmilliseconds per step\n");
	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
		printf("  %-24s %12.4f %5.1f %%\n", times[i].label, times[i].sum / n, s->total > 0 ? 100 * times[i].sum / s->total : 0);
	printf("  %-24s %12.4f\n  %-24s %12.4f\n", "least total", s->totals[0], "median total", median);
	printf("\ndeepest contact %.6g m, most memory %.1f MiB, hash %016llx\n", s->deepest, (double)s->memory_peak / 1048576,
		(unsigned long long)s->hash);
}
