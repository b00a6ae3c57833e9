// Rigid bodies in a page: their shapes and meshes once, their poses as a track, and the contacts
// where they were recorded.
#include "export.h"
#include "options.h"
#include "report.h"

#include "scene/volumes.h"
#include "view/renderer.h"
#include "web/contact_hash.h"
#include "web/track.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Opening ----

static double shape_extent(const io_recording *recording, const io_recorded_body *body)
{
	return page_extent(body, body->mesh >= 0 ? io_recording_get_mesh(recording, body->mesh) : NULL);
}

/// The largest extent of bodies that forces move (driven: of kinematic ones), up to a limit.
static double largest_extent(const io_recording *recording, bool driven, double limit)
{
	double most = 0;
	for (int32_t i = 0; i < io_recording_body_count(recording); i++) {
		const io_recorded_body *body = io_recording_get_body(recording, i);
		const bool counts = body->kind != CAROM_STATIC && (body->kind == CAROM_KINEMATIC) == driven;
		const double extent = counts ? shape_extent(recording, body) : 0;
		most = extent <= limit ? fmax(most, extent) : most;
	}
	return most;
}

double export_bodies_extent(const export_bodies *b)
{
	const double most = largest_extent(b->play.recording, false, INFINITY);
	return fmax(most, largest_extent(b->play.recording, true, most > 0 ? VIEW_WIDER * most : INFINITY));
}

/// Places are rounded to a 2048th of the smallest body that moves.
static double choose_quantum(const io_recording *recording)
{
	double least = INFINITY;
	for (int32_t i = 0; i < io_recording_body_count(recording); i++) {
		const io_recorded_body *body = io_recording_get_body(recording, i);
		const double extent = body->kind == CAROM_STATIC ? 0 : shape_extent(recording, body);
		if (extent > 0 && extent < least)
			least = extent;
	}
	return page_body_quantum(least);
}

static int count_contacts(export_bodies *b)
{
	const io_recording *recording = b->play.recording;
	if (!io_recording_get_info(recording)->contacts)
		return EXIT_DONE;
	b->contact_first = calloc((size_t)b->track.frames + 1, sizeof *b->contact_first);
	if (!b->contact_first)
		return report_error(NULL, "out of memory");
	for (int64_t i = 0; i < b->track.frames; i++)
		b->contact_first[i + 1] = b->contact_first[i] + io_recording_contact_count(recording, (int32_t)i);
	return EXIT_DONE;
}

static int list_bodies(export_bodies *b)
{
	const io_recording *recording = b->play.recording;
	const int32_t rows = io_recording_body_count(recording);
	b->rows = malloc((size_t)rows * sizeof *b->rows + 1);
	b->track.times = malloc((size_t)b->track.frames * sizeof *b->track.times + 1);
	if (!b->rows || !b->track.times)
		return report_error(NULL, "out of memory");
	for (int32_t i = 0; i < rows; i++) {
		if (io_recording_get_body(recording, i)->part <= 1)
			b->rows[b->body_count++] = i;
	}
	for (int64_t i = 0; i < b->track.frames; i++)
		b->track.times[i] = io_recording_get_time(recording, (int32_t)i);
	b->track.count = PAGE_POSE_NUMBERS * (int64_t)b->body_count;
	return count_contacts(b);
}

int export_open_bodies(export_source *source, const char *path)
{
	export_bodies *b = source->bodies = calloc(1, sizeof *b);
	if (!b)
		return report_error(NULL, "out of memory");
	if (playback_open(&b->play, path, source->threads, source->smooth) != EXIT_DONE)
		return EXIT_FAILED;
	b->play.path = source->path; // path may lie in a frame that ends
	const char *note = io_recording_note(b->play.recording);
	if (note) { // playback_open has said it on stderr
		char text[400];
		snprintf(text, sizeof text, "Of the recording: %s.", note);
		report_add(source->notes, NULL, cJSON_CreateString(text));
	}
	b->track =
		(export_track){ .name = "poses", .frames = io_recording_frame_count(b->play.recording), .stride = PAGE_POSE_NUMBERS };
	b->quantum = choose_quantum(b->play.recording);
	return list_bodies(b);
}

void export_close_bodies(export_bodies *b)
{
	if (!b)
		return;
	playback_close(&b->play);
	free(b->rows);
	free(b->track.times);
	free(b->contact_first);
	free(b->module);
	free(b);
}

// ---- Poses ----

int export_read_poses(export_bodies *b, int64_t frame, int32_t *values)
{
	sim_error error;
	if (!io_recording_read_poses(b->play.recording, (int32_t)frame, b->play.poses, &error))
		return report_error(NULL, "%s", error.text);
	for (int32_t i = 0; i < b->body_count; i++, values += PAGE_POSE_NUMBERS)
		page_fill_pose(&b->play.poses[b->rows[i]], b->quantum, values);
	return EXIT_DONE;
}

// ---- Shapes and meshes ----

static bool add_rows(const export_bodies *b, web_page *page, sim_error *error)
{
	const int32_t rows = io_recording_body_count(b->play.recording);
	double *numbers = malloc((size_t)rows * PAGE_ROW_NUMBERS * sizeof *numbers + 1);
	int32_t number = -1;
	if (!numbers)
		return sim_fail(error, "out of memory");
	for (int32_t i = 0; i < rows; i++) {
		number += io_recording_get_body(b->play.recording, i)->part <= 1;
		page_fill_row(io_recording_get_body(b->play.recording, i), io_recording_mesh_count(b->play.recording), number,
			numbers + (size_t)i * PAGE_ROW_NUMBERS);
	}
	const bool done = web_page_add(page, "bodies", numbers, (size_t)rows * PAGE_ROW_NUMBERS * sizeof *numbers, error);
	free(numbers);
	return done;
}

/// The hulls that bodies have, made again by the library as a playback makes them.
static bool add_hulls(export_bodies *b, web_page *page, sim_error *error)
{
	playback *play = &b->play;
	const int32_t meshes = io_recording_mesh_count(play->recording);
	for (int32_t i = 0; i < io_recording_body_count(play->recording); i++) {
		const io_recorded_body *body = io_recording_get_body(play->recording, i);
		if (body->type != CAROM_HULL || play->hulls[body->mesh])
			continue;
		if (scene_hull_of(play->context, play->meshes[body->mesh], &play->hulls[body->mesh]) != CAROM_SUCCESS)
			return sim_fail(error, "%s", carom_error_text(play->context));
	}
	for (int32_t i = 0; i < meshes; i++) {
		const carom_mesh *hull = play->hulls[i];
		const carom_mesh_report *report = hull ? carom_mesh_get_report(hull) : NULL;
		if (!hull)
			continue;
		const io_recorded_mesh mesh = { .vertex_count = report->vertex_count,
			.triangle_count = report->triangle_count,
			.vertices = carom_mesh_get_vertices(hull),
			.triangles = carom_mesh_get_triangles(hull) };
		if (!page_add_mesh(page, meshes + i, &mesh, error))
			return false;
	}
	return true;
}

bool export_add_bodies(export_bodies *b, web_page *page, sim_error *error)
{
	if (!add_rows(b, page, error))
		return false;
	for (int32_t i = 0; i < io_recording_mesh_count(b->play.recording); i++) {
		if (!page_add_mesh(page, i, io_recording_get_mesh(b->play.recording, i), error))
			return false;
	}
	return add_hulls(b, page, error);
}

// ---- Contacts ----

/// The contacts of the frames first, first + every, ... (in all count of them) as one block.
static bool add_contact_block(
	export_bodies *b, int64_t first, int64_t every, int64_t count, int64_t number, web_page *page, sim_error *error)
{
	int64_t rows = 0, most = 0, done = 0;
	for (int64_t i = 0; i < count; i++) {
		const int64_t here = io_recording_contact_count(b->play.recording, (int32_t)(first + i * every));
		rows += here;
		most = here > most ? here : most;
	}
	int32_t *values = malloc((size_t)rows * PAGE_CONTACT_NUMBERS * sizeof *values + 1);
	io_recorded_contact *contacts = malloc((size_t)most * sizeof *contacts + 1);
	bool good = (values && contacts) || sim_fail(error, "out of memory");
	for (int64_t i = 0; i < count && good; i++) {
		const int32_t frame = (int32_t)(first + i * every), here = io_recording_contact_count(b->play.recording, frame);
		good = io_recording_read_contacts(b->play.recording, frame, contacts, error);
		for (int32_t k = 0; k < here && good; k++)
			page_fill_contact(&contacts[k], b->quantum, values + PAGE_CONTACT_NUMBERS * done++);
	}
	if (good) {
		char name[40];
		snprintf(name, sizeof name, "contacts-%lld", (long long)number);
		good = page_add_values(page, name, values, rows * PAGE_CONTACT_NUMBERS, PAGE_CONTACT_NUMBERS, error);
	}
	free(values);
	free(contacts);
	return good;
}

/// Frames that share a block of contacts.
enum { CONTACT_FRAMES = 32 };

bool export_add_contacts(export_bodies *b, int64_t every, web_page *page, sim_error *error)
{
	const int64_t frames = (b->track.frames + every - 1) / every;
	if (!b->contact_first)
		return true;
	int32_t *counts = calloc((size_t)frames + 1, sizeof *counts);
	if (!counts)
		return sim_fail(error, "out of memory");
	for (int64_t i = 0; i < frames; i++)
		counts[i] = (int32_t)(b->contact_first[i * every + 1] - b->contact_first[i * every]);
	bool good = web_page_add(page, "contact-counts", counts, (size_t)frames * sizeof *counts, error);
	free(counts);
	for (int64_t i = 0; i < frames && good; i += CONTACT_FRAMES) {
		const int64_t here = frames - i < CONTACT_FRAMES ? frames - i : CONTACT_FRAMES;
		good = add_contact_block(b, i * every, every, here, i / CONTACT_FRAMES, page, error);
	}
	return good;
}

// ---- Contacts found in the page ----

/// Poses as the viewer computes them from the numbers of a frame (exactPoses of detector.js).
static void take_shown_poses(export_bodies *b, const int32_t *values)
{
	const int32_t rows = io_recording_body_count(b->play.recording);
	for (int32_t i = 0; i < b->body_count; i++) {
		const int32_t *v = values + i * PAGE_POSE_NUMBERS;
		const double x = v[3] * PAGE_TURN_QUANTUM, y = v[4] * PAGE_TURN_QUANTUM, z = v[5] * PAGE_TURN_QUANTUM,
					 w = v[6] * PAGE_TURN_QUANTUM;
		const double length = sqrt(x * x + y * y + z * z + w * w);
		carom_pose pose = { { NAN, NAN, NAN }, { 0, 0, 0, 1 } };
		if (v[0] != WEB_ABSENT)
			pose = (carom_pose){ { v[0] * b->quantum, v[1] * b->quantum, v[2] * b->quantum },
				{ x / length, y / length, z / length, w / length } };
		const int32_t end = i + 1 < b->body_count ? b->rows[i + 1] : rows;
		for (int32_t row = b->rows[i]; row < end; row++)
			b->play.poses[row] = pose;
	}
}

/// The hash of the contacts of a frame, at the places of the page.
static int find_hash(export_bodies *b, int64_t frame, int32_t *values, uint64_t *hash)
{
	if (export_read_poses(b, frame, values) != EXIT_DONE)
		return EXIT_FAILED;
	take_shown_poses(b, values);
	carom_world *world = playback_create_posed_world(&b->play, (int32_t)frame, false);
	if (!world)
		return EXIT_FAILED;
	const carom_result result = carom_world_step(world);
	const carom_contact_view contacts = carom_world_contacts(world);
	*hash = web_hash_contacts(&contacts);
	carom_destroy_world(world);
	return result == CAROM_SUCCESS
		? EXIT_DONE
		: report_error(b->play.path, "frame %lld: %s", (long long)frame, carom_error_text(b->play.context));
}

int export_add_checks(export_bodies *b, const export_options *options, int64_t every, web_page *page)
{
	sim_error error;
	const int64_t frames = (b->track.frames + every - 1) / every, most = options->checks;
	const int64_t count = frames < most ? frames : most;
	if (!b->module)
		return EXIT_DONE;
	uint32_t *words = malloc((size_t)count * 3 * sizeof *words + 1);
	int32_t *values = malloc((size_t)b->track.count * sizeof *values + 1);
	int status = words && values ? EXIT_DONE : report_error(NULL, "out of memory");
	for (int64_t i = 0; i < count && status == EXIT_DONE; i++) {
		uint64_t hash = 0;
		const int64_t frame = count > 1 ? (frames - 1) * i / (count - 1) : 0;
		status = find_hash(b, frame * every, values, &hash);
		const uint32_t three[3] = { (uint32_t)frame, (uint32_t)hash, (uint32_t)(hash >> 32) };
		memcpy(words + 3 * i, three, sizeof three);
	}
	if (status == EXIT_DONE && !web_page_add(page, "checks", words, (size_t)count * 3 * sizeof *words, &error) && !page->is_full)
		status = report_error(options->output, "%s", error.text);
	if (status == EXIT_DONE && !page->is_full && !web_page_add_detector(page, b->module, b->module_size, &error) &&
		!page->is_full)
		status = report_error(options->output, "%s", error.text);
	free(words);
	free(values);
	return status;
}

/// The settings of the world in the viewer, by the names of bindings/wasm.
static void describe_detection(const export_bodies *b, cJSON *head)
{
	const carom_world_def d = playback_detection(&b->play);
	cJSON *object = cJSON_AddObjectToObject(head, "detection");
	cJSON_AddNumberToObject(object, "broadPhase", d.broad_phase);
	cJSON_AddNumberToObject(object, "maxContactsPerPair", d.max_contacts_per_pair);
	cJSON_AddNumberToObject(object, "maxContactsPerBodyPair", playback_body_limit(&b->play));
	cJSON_AddNumberToObject(object, "speculativeDistance", d.speculative_distance);
	cJSON_AddNumberToObject(object, "matchDistance", d.match_distance);
	cJSON_AddNumberToObject(object, "temporal", d.temporal);
	cJSON_AddNumberToObject(object, "contactNormal", d.contact_normal);
	cJSON_AddNumberToObject(object, "internalEdgeAngle", d.internal_edge_angle);
	cJSON_AddNumberToObject(object, "longEdgeShare", d.long_edge_share);
	cJSON_AddNumberToObject(object, "toiTolerance", d.toi_tolerance);
}

/// Bodies of the scene that are not solid to the eye, by their numbers.
static void describe_opacity(const export_bodies *b, cJSON *head)
{
	const scene_rigid *rigid = &b->play.scene.rigid;
	cJSON *object = NULL;
	for (int32_t i = 0; i < b->body_count && i < rigid->body_count; i++) {
		char number[20];
		if (rigid->bodies[i].opacity == 1)
			continue;
		object = object ? object : cJSON_AddObjectToObject(head, "opacity");
		snprintf(number, sizeof number, "%d", (int)i);
		cJSON_AddNumberToObject(object, number, rigid->bodies[i].opacity);
	}
}

void export_describe_bodies(const export_bodies *b, cJSON *head, cJSON *track)
{
	const io_recording *recording = b->play.recording;
	cJSON_AddNumberToObject(track, "turn_quantum", PAGE_TURN_QUANTUM);
	cJSON *meshes = cJSON_AddArrayToObject(head, "meshes");
	for (int32_t i = 0; i < io_recording_mesh_count(recording); i++)
		report_add(meshes, NULL, cJSON_CreateString(io_recording_get_mesh(recording, i)->name));
	if (b->module)
		describe_detection(b, head);
	if (b->contact_first)
		page_describe_contacts(head, b->quantum, CONTACT_FRAMES);
	describe_opacity(b, head);
	if (b->play.scene.text)
		page_describe_camera(head, &b->play.scene.camera);
}
