// Writing pages. A block is an element <script type="application/octet-stream">, which a browser
// keeps and does not run; the script behind it tells the viewer that the block is whole.
#include "web/page.h"

#include "web/viewer_files.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CLOSING = 256 }; // bytes that end a page at most

static void put(web_page *page, const void *bytes, size_t size)
{
	fwrite(bytes, 1, size, page->stream); // errors show at the end
	page->size += (int64_t)size;
}

static void put_text(web_page *page, const char *text) { put(page, text, strlen(text)); }

/// Text for a place between tags.
static void put_escaped(web_page *page, const char *text)
{
	for (; *text; text++) {
		if (*text == '<' || *text == '>' || *text == '&') {
			char escape[8];
			put(page, escape, (size_t)snprintf(escape, sizeof escape, "&#%d;", *text));
		} else {
			put(page, text, 1);
		}
	}
}

/// JSON in a script: no '<' that could end the script. In JSON it stands in strings alone.
static void put_json(web_page *page, const char *json)
{
	for (; *json; json++) {
		if (*json == '<')
			put_text(page, "\\u003c");
		else
			put(page, json, 1);
	}
}

/// A page may load nothing but itself. That of a run that goes on may ask the server it came from.
static void begin(web_page *page, const char *title, const char *head, bool live)
{
	put_text(page,
		"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<link rel=\"icon\" href=\"data:,\">\n<title>");
	put_escaped(page, title);
	put_text(page,
		"</title>\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline' "
		"'wasm-unsafe-eval' blob:; worker-src blob:; style-src 'unsafe-inline'; img-src data:");
	put_text(page, live ? "; connect-src 'self'\">\n<style>\n" : "\">\n<style>\n");
	put(page, web_file_page_css, web_file_page_css_size);
	put_text(page, "</style>\n");
	put(page, web_file_page_html, web_file_page_html_size);
	put_text(page, "<script id=\"carom-head\" type=\"application/json\">");
	put_json(page, head);
	put_text(page, "</script>\n");
}

bool web_page_begin(web_page *page, const char *path, int64_t limit, const char *title, const char *head, sim_error *error)
{
	*page = (web_page){ .limit = limit - CLOSING };
	if (!io_output_open(&page->file, path, error))
		return false;
	page->stream = page->file.stream;
	begin(page, title, head, false);
	return true;
}

void web_page_begin_live(web_page *page, FILE *stream, const char *title, const char *head)
{
	*page = (web_page){ .stream = stream, .limit = INT64_MAX, .is_live = true };
	begin(page, title, head, true);
}

void web_page_add_viewer(web_page *page)
{
	static const struct {
		const unsigned char *bytes;
		const size_t *size;
	} scripts[] = {
		{ web_file_codec_js, &web_file_codec_js_size },
		{ web_file_shapes_js, &web_file_shapes_js_size },
		{ web_file_camera_js, &web_file_camera_js_size },
		{ web_file_renderer_js, &web_file_renderer_js_size },
		{ web_file_scene_js, &web_file_scene_js_size },
		{ web_file_detector_js, &web_file_detector_js_size },
		{ web_file_chart_js, &web_file_chart_js_size },
		{ web_file_panel_js, &web_file_panel_js_size },
		{ web_file_viewer_js, &web_file_viewer_js_size },
	};
	put_text(page, "<script>\n\"use strict\";\n(() => {\n");
	if (page->is_live)
		put(page, web_file_live_js, web_file_live_js_size);
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
		put(page, scripts[i].bytes, *scripts[i].size);
	put_text(page, "})();\n</script>\n");
}

bool web_page_add_detector(web_page *page, const void *module, size_t size, sim_error *error)
{
	const char *prefix = page->prefix;
	if (page->has_detector)
		return true;
	page->has_detector = true;
	put_text(page, "<script id=\"carom-worker\" type=\"text/plain\">\n");
	put(page, web_file_carom_js, web_file_carom_js_size);
	put(page, web_file_worker_js, web_file_worker_js_size);
	put_text(page, "</script>\n");
	page->prefix = "";
	const bool done = web_page_add(page, "carom-wasm", module, size, error);
	page->prefix = prefix;
	return done;
}

char *web_base64(const unsigned char *bytes, size_t size, size_t *length)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc((size + 2) / 3 * 4 + 1), *to = text;
	for (size_t i = 0; text && i < size; i += 3, to += 4) {
		const unsigned rest = size - i < 3 ? (unsigned)(size - i) : 3;
		const unsigned three =
			(unsigned)bytes[i] << 16 | (rest > 1 ? (unsigned)bytes[i + 1] << 8 : 0) | (rest > 2 ? bytes[i + 2] : 0);
		for (int k = 0; k < 4; k++)
			to[k] = digits[three >> (18 - 6 * k) & 63];
		for (unsigned k = rest + 1; k < 4; k++)
			to[k] = '=';
	}
	*length = text ? (size_t)(to - text) : 0;
	return text;
}

bool web_page_add(web_page *page, const char *name, const void *bytes, size_t size, sim_error *error)
{
	char tag[128];
	uLongf packed = compressBound((uLong)size);
	unsigned char *deflated = page->is_full ? NULL : malloc(packed);
	size_t length = 0;
	char *text = NULL;
	if (deflated && compress2(deflated, &packed, bytes, (uLong)size, 6) == Z_OK)
		text = web_base64(deflated, packed, &length);
	free(deflated);
	if (!text && !page->is_full)
		return sim_fail(error, "out of memory");
	page->is_full = page->is_full || page->size + (int64_t)length > page->limit;
	if (!page->is_full) {
		put(page, tag,
			(size_t)snprintf(tag, sizeof tag,
				"<script type=\"application/octet-stream\" data-name=\"%.10s%.40s\" data-size=\"%zu\">",
				page->prefix ? page->prefix : "", name, size));
		put(page, text, length);
		put_text(page, "</script><script>caromBlock()</script>\n");
	}
	free(text);
	return !page->is_full || sim_fail(error, "the page is full");
}

void web_page_finish(web_page *page) { put_text(page, "<script>caromEnd()</script>\n</body>\n</html>\n"); }

bool web_page_end(web_page *page, sim_error *error)
{
	web_page_finish(page);
	return io_output_commit(&page->file, error);
}

void web_page_abandon(web_page *page) { io_output_abandon(&page->file); }
