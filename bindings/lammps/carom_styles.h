/// Carom's styles, by the names that LAMMPS scripts use.
#ifndef CAROM_LAMMPS_CAROM_STYLES_H
#define CAROM_LAMMPS_CAROM_STYLES_H

#include "fix_carom_rigid.h"
#include "fix_carom_springs.h"
#include "pair_carom.h"

namespace LAMMPS_NS {

inline Pair *create_pair_carom(LAMMPS *lammps) { return new PairCarom(lammps); }

template <typename Style> Fix *create_fix(LAMMPS *lammps, int count, char **words) { return new Style(lammps, count, words); }

struct fix_style {
	const char *name, *info;
	Fix *(*create)(LAMMPS *, int, char **);
};

constexpr fix_style FIX_STYLES[] = {
	{ "carom/springs", "springs of contacts, which pair_style carom makes for itself", &create_fix<FixCaromSprings> },
	{ "carom/rigid", "rigid bodies that are concave meshes", &create_fix<FixCaromRigid> },
};

} // namespace LAMMPS_NS

#endif
