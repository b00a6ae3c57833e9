/// @file overlay.h
/// Marks over a finished picture: contacts, their scale of colours, a line of text.
#ifndef SIM_OVERLAY_H
#define SIM_OVERLAY_H

#include "view/view.h"

/// Draw the contacts and the caption of options over a picture taken through view. Contacts that
/// bodies hide are drawn faintly. False when memory is short or the world refuses a query.
bool sim_draw_overlay(const carom_world *world, const sim_view *view, const sim_picture_options *options, sim_image *image);

/// Draw the dark band at the bottom, with a line of text at its left end (NULL: none).
void sim_draw_caption(sim_image *image, const char *caption);

/// Draw a bar of colours, color(0) to color(1), at the right end of the band: label before it,
/// highest behind it.
void sim_draw_color_scale(sim_image *image, const char *label, double highest, sim_rgb (*color)(double part));

#endif
