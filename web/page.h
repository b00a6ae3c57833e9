/// @file page.h
/// Pages for a browser: one HTML file with the viewer (web/viewer) and all data in it, which opens
/// from disk and asks for nothing from a network. Data are blocks, deflated and in base64. A page
/// is written from its beginning to its end: the head, blocks that the first picture needs, the
/// viewer, other blocks, the end, without which the viewer says that the page was cut off.
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include "io/output_file.h"

#include <stdint.h>
#include <stdio.h>

/// A page that is being written. All zero is closed.
typedef struct web_page {
	io_output_file file; ///< not open where the page goes to a stream of the caller
	FILE *stream;
	int64_t size;  ///< bytes so far
	int64_t limit; ///< of the size; a block that would go beyond it is left out
	bool is_full;  ///< a block was left out; nothing is written from then on
	/// put before the names of blocks, "second-" for those of a second recording; NULL: nothing
	const char *prefix;
	bool has_detector;
	bool is_live; ///< of a run that goes on: frames come later
} web_page;

/// Begin a page: title (UTF-8, any characters), and a head, the text of one JSON object. False with
/// the reason in error when the file cannot be opened or written.
bool web_page_begin(web_page *page, const char *path, int64_t limit, const char *title, const char *head, sim_error *error);

/// Begin the page of a run that goes on, which asks the server that it came from for frames
/// (web/server.h): to a stream of the caller, without a limit. It needs no web_page_end.
void web_page_begin_live(web_page *page, FILE *stream, const char *title, const char *head);

/// Write what stands behind the last block of a page.
void web_page_finish(web_page *page);

/// Add a block of bytes under a name (letters, digits, '-'). False with the reason in error when
/// memory is short, or the page is full: page->is_full tells these apart.
bool web_page_add(web_page *page, const char *name, const void *bytes, size_t size, sim_error *error);

/// Add the viewer. It draws as soon as a browser has read so far.
void web_page_add_viewer(web_page *page);

/// Add the library as a module of WebAssembly (bindings/wasm), with which the viewer finds
/// contacts; once is enough. Failures are those of web_page_add.
bool web_page_add_detector(web_page *page, const void *module, size_t size, sim_error *error);

/// Finish the page, and its file, which appears under its path whole. False with the reason in
/// error; it is closed in both cases.
bool web_page_end(web_page *page, sim_error *error);

/// Remove an unfinished page. One that is closed is fine.
void web_page_abandon(web_page *page);

/// base64 (RFC 4648) of size bytes: *length characters, without an end mark, to be freed. NULL when
/// memory is short.
char *web_base64(const unsigned char *bytes, size_t size, size_t *length);

#endif
