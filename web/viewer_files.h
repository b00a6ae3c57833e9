/// @file viewer_files.h
/// The files of the viewer (web/viewer) as bytes, made by cmake/CaromEmbed.cmake.
#ifndef WEB_VIEWER_FILES_H
#define WEB_VIEWER_FILES_H

#include <stddef.h>

extern const unsigned char web_file_page_html[], web_file_page_css[];
extern const size_t web_file_page_html_size, web_file_page_css_size;
extern const unsigned char web_file_codec_js[], web_file_shapes_js[], web_file_camera_js[], web_file_renderer_js[];
extern const size_t web_file_codec_js_size, web_file_shapes_js_size, web_file_camera_js_size, web_file_renderer_js_size;
extern const unsigned char web_file_live_js[];
extern const size_t web_file_live_js_size;
extern const unsigned char web_file_detector_js[], web_file_worker_js[], web_file_carom_js[];
extern const size_t web_file_detector_js_size, web_file_worker_js_size, web_file_carom_js_size;
extern const unsigned char web_file_scene_js[], web_file_chart_js[], web_file_panel_js[], web_file_viewer_js[];
extern const size_t web_file_scene_js_size, web_file_chart_js_size, web_file_panel_js_size, web_file_viewer_js_size;

#endif
