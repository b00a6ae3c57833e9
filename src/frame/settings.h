/// All settings of a world, its own and those of the laboratory, as the stages read them.
#ifndef CR_FRAME_SETTINGS_H
#define CR_FRAME_SETTINGS_H

#include "carom/lab.h"

enum { CR_WORLD_COOKIE = 0x574f524c, CR_LAB_COOKIE = 0x4c414230 };

typedef struct cr_settings {
	carom_world_def world; // its pointer to a lab is not followed
	carom_lab lab;         // tools NULL: the library's own methods alone
	bool predict;          // world.temporal is CAROM_TEMPORAL_PREDICTIVE
	// of carom_world_set_body_pairs
	bool body_pairs;
	int32_t max_contacts_per_body_pair;
} cr_settings;

/// The settings of a world without a lab (world/settings.c).
carom_lab cr_plain_lab(void);
/// The settings of a definition, with those of its lab; unchecked.
cr_settings cr_join_settings(const carom_world_def *def);

#endif
