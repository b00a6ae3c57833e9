/// caromplugin.so: Carom's styles for a LAMMPS that was built with its package PLUGIN. The record
/// is that of LAMMPS' lammpsplugin.h, which Debian does not ship.
#include "carom_styles.h"

using namespace LAMMPS_NS;

namespace {

struct plugin_record {
	const char *version, *style, *name, *info, *author;
	union {
		Pair *(*pair)(LAMMPS *);
		Fix *(*fix)(LAMMPS *, int, char **);
	} create;
	void *handle;
};

using register_fn = void(plugin_record *, void *);

} // namespace

/// Called by `plugin load`.
extern "C" __attribute__((visibility("default"))) void lammpsplugin_init(void *lammps, void *handle, void *register_plugin)
{
	register_fn *const add = (register_fn *)register_plugin;
	plugin_record record{};
	record.version = CAROM_LAMMPS_VERSION;
	record.author = "Carom";
	record.handle = handle;
	record.style = "pair";
	record.name = "carom";
	record.info = "forces between spheres by Carom";
	record.create.pair = &create_pair_carom;
	add(&record, lammps);
	record.style = "fix";
	for (const fix_style &style : FIX_STYLES) {
		record.name = style.name;
		record.info = style.info;
		record.create.fix = style.create;
		add(&record, lammps);
	}
}
