/// @file image.h
/// Pictures in memory, eight bits for each of red, green and blue, written as PNG; text, discs and
/// lines on them. No function keeps state or touches anything but its arguments and the named file.
#ifndef VIEW_IMAGE_H
#define VIEW_IMAGE_H

#include "sim/base/sim_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Widest and highest picture.
#define VIEW_MAX_IMAGE_SIZE 16384

/// Rows from top to bottom, pixels from left to right, three bytes (R, G, B, gamma of sRGB) each,
/// without padding.
typedef struct view_image {
	int width;
	int height;
	uint8_t *pixels; ///< [3*width*height], owned
} view_image;

/// A colour with sRGB gamma, 0 to 255.
typedef struct view_rgb {
	uint8_t r, g, b;
} view_rgb;

/// Make a black picture; width and height 1 to VIEW_MAX_IMAGE_SIZE. False, with the reason in
/// error, when the size is out of range or memory is short; *image is empty then. Give it back with
/// view_destroy_image.
bool view_create_image(int width, int height, view_image *image, sim_error *error);

/// Free a picture and make it empty. An empty (all zero) picture is fine.
void view_destroy_image(view_image *image);

/// The pixel in column x, row y, both inside the picture.
static inline uint8_t *view_image_pixel(const view_image *image, int x, int y)
{
	return image->pixels + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
}

/// Write a picture as PNG. False, with the reason in error, when that fails. The file appears whole
/// or not at all.
bool view_write_png(const char *path, const view_image *image, sim_error *error);

/// Read a PNG of any kind as RGB (transparent parts lie over black). False, with the reason in
/// error, when that fails; *image is empty then.
bool view_read_png(const char *path, view_image *image, sim_error *error);

/// Lay a colour over the pixel in column x, row y with opacity 0 to 1; nothing happens outside the
/// picture.
void view_image_blend(view_image *image, int x, int y, view_rgb color, double opacity);

/// Draw a disc with smooth border about (x, y), in pixels from the top left corner of the picture.
void view_image_disc(view_image *image, double x, double y, double radius, view_rgb color, double opacity);

/// Draw a line with smooth borders and round ends.
void view_image_line(
	view_image *image, double x0, double y0, double x1, double y1, double width, view_rgb color, double opacity);

/// Draw a line of text with its top left corner at (x, y), each dot of the 5 x 7 letters scale
/// pixels wide; a letter takes 6 dots. Letters are upper case (lower case is drawn so); other
/// characters than ASCII become question marks.
void view_image_text(view_image *image, int x, int y, int scale, view_rgb color, const char *text);

#endif
