// Points where things touch: see contact_point.h.
#include "sim/base/contact_point.h"

#include <stdlib.h>

const char *sim_contact_word(sim_contact_kind kind)
{
	static const char *const words[SIM_CONTACT_KINDS] = { "impact", "cloth", "sphere" };
	return words[kind];
}

bool sim_add_contact_point(sim_contact_points *points, const sim_contact_point *point)
{
	if (points->count == points->room) {
		const int64_t room = 2 * points->room + 256;
		sim_contact_point *grown = realloc(points->data, (size_t)room * sizeof *grown);
		if (!grown)
			return false;
		points->data = grown;
		points->room = room;
	}
	points->data[points->count++] = *point;
	return true;
}

void sim_free_contact_points(sim_contact_points *points)
{
	free(points->data);
	*points = (sim_contact_points){ 0 };
}
