/// @file overlay.h
/// Marks over a finished picture: contacts, their scale of colours, a line of text.
#ifndef VIEW_OVERLAY_H
#define VIEW_OVERLAY_H

#include "view/view.h"

/// Draw the contacts and the caption of options over a picture taken through view. Contacts that
/// bodies hide are drawn faintly. False when memory is short or the world refuses a query.
bool view_draw_overlay(const carom_world *world, const view_frame *view, const view_picture_options *options, view_image *image);

/// Draw the dark band at the bottom, with a line of text at its left end (NULL: none).
void view_draw_caption(view_image *image, const char *caption);

/// Draw a bar of colours, color(0) to color(1), at the right end of the band: label before it,
/// highest behind it.
void view_draw_color_scale(view_image *image, const char *label, double highest, view_rgb (*color)(double part));

#endif
