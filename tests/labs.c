/// See labs.h.
#include "labs.h"

carom_lab *fixture_lab(carom_world_def *def)
{
	static carom_lab labs[FIXTURE_LABS];
	static int next;
	carom_lab *lab = &labs[next++ % FIXTURE_LABS];
	*lab = def->lab ? *def->lab : carom_default_lab();
	def->lab = lab;
	return lab;
}

void fixture_set_broad(carom_world_def *def, int broad)
{
	if (broad == FIXTURE_BROAD_BRUTE)
		fixture_lab(def)->brute_broad_phase = true;
	else
		def->broad_phase = (carom_broad_phase)broad;
}
