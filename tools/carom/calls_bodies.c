// The first pass of a replay that is looked at: rigid bodies and their contacts go into
// recording.h5, sums of each step into stats.csv. Which deforming bodies and spheres there are is
// noted for the second pass.
#include "calls_job.h"

#include "options.h"
#include "report.h"

#include "sim/base/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- Files ----

carom_vec3 calls_gravity(const calls_job *job)
{
	// A zero comes out without a sign.
	return (carom_vec3){ 0 - 9.81 * job->up.x, 0 - 9.81 * job->up.y, 0 - 9.81 * job->up.z };
}

void calls_name_file(const calls_job *job, const char *name, char path[IO_PATH_MAX])
{
	snprintf(path, IO_PATH_MAX, "%s/%s", job->folder, name);
}

bool calls_open_file(calls_job *job, const char *name, io_output_file *file)
{
	char path[IO_PATH_MAX];
	calls_name_file(job, name, path);
	if (report_open(file, path) != EXIT_DONE)
		job->status = EXIT_FAILED;
	return job->status == EXIT_DONE;
}

bool calls_commit_file(calls_job *job, io_output_file *file)
{
	if (report_commit(file) != EXIT_DONE)
		job->status = EXIT_FAILED;
	return job->status == EXIT_DONE;
}

// ---- Memory ----

bool calls_out_of_memory(calls_job *job)
{
	job->status = report_error(NULL, "out of memory");
	return false;
}

bool calls_fail(calls_job *job)
{
	job->status = report_error(job->path, "%s", carom_error_text(job->context));
	return false;
}

bool calls_reserve(calls_job *job, void **data, int64_t *room, int64_t count, size_t size)
{
	if (count < *room)
		return true;
	const int64_t wanted = count + count / 2 + 16;
	void *more = realloc(*data, (size_t)wanted * size);
	if (!more)
		return calls_out_of_memory(job);
	*data = more;
	*room = wanted;
	return true;
}

static bool fail_with(calls_job *job, const sim_error *error)
{
	job->status = report_error(NULL, "%s", error->text);
	return false;
}

// ---- Bodies of the world ----

bool calls_list_bodies(calls_job *job, const carom_world *world)
{
	const int count = carom_world_body_count(world);
	if (count >= job->id_room) {
		free(job->asleep);
		job->asleep = malloc(((size_t)count + (size_t)count / 2 + 17) * sizeof *job->asleep);
		if (!job->asleep)
			return calls_out_of_memory(job);
	}
	if (!CALLS_RESERVE(job, job->ids, job->id_room, count))
		return false;
	job->id_count = carom_world_body_ids(world, (int32_t)count, job->ids);
	// They are sorted by their numbers.
	const int64_t numbers = count > 0 ? job->ids[count - 1].index1 : 0, before = job->slot_room;
	if (!CALLS_RESERVE(job, job->slots, job->slot_room, numbers))
		return false;
	memset(job->slots + before, 0, (size_t)(job->slot_room - before) * sizeof *job->slots);
	return true;
}

calls_surface *calls_meet_surface(calls_job *job, const carom_body_def *def, carom_body_id id, bool learn)
{
	calls_slot *slot = &job->slots[id.index1 - 1];
	const carom_mesh *mesh = def->shape.mesh;
	if (slot->generation == id.generation && slot->mesh == mesh)
		return &job->surfaces[slot->number];
	*slot = (calls_slot){ id.generation, (int32_t)(learn ? job->surface_count : job->surfaces_met++), def->kind, mesh };
	if (!learn)
		return &job->surfaces[slot->number];
	if (!CALLS_RESERVE(job, job->surfaces, job->surface_room, job->surface_count))
		return NULL;
	const carom_mesh_report *report = carom_mesh_get_report(mesh);
	const size_t bytes = 3 * (size_t)report->triangle_count * sizeof(int32_t);
	calls_surface *s = &job->surfaces[job->surface_count];
	*s = (calls_surface){ .id = id,
		.kind = def->kind,
		.first_vertex = (int32_t)job->vertex_count,
		.vertex_count = report->vertex_count,
		.triangle_count = report->triangle_count,
		.triangles = malloc(bytes + 1) };
	if (!s->triangles) {
		calls_out_of_memory(job);
		return NULL;
	}
	memcpy(s->triangles, carom_mesh_get_triangles(mesh), bytes);
	job->surface_count++;
	job->vertex_count += s->vertex_count;
	job->triangle_count += s->triangle_count;
	return s;
}

calls_cluster *calls_meet_cluster(calls_job *job, const carom_body_def *def, carom_body_id id, bool learn)
{
	calls_slot *slot = &job->slots[id.index1 - 1];
	if (slot->generation != id.generation) {
		*slot = (calls_slot){ id.generation, (int32_t)(learn ? job->cluster_count : job->clusters_met++), def->kind, NULL };
		if (learn && !CALLS_RESERVE(job, job->clusters, job->cluster_room, job->cluster_count))
			return NULL;
		if (learn)
			job->clusters[job->cluster_count++] = (calls_cluster){ .id = id };
	}
	calls_cluster *cluster = &job->clusters[slot->number];
	if (learn && def->sphere_count > cluster->place_count)
		cluster->place_count = def->sphere_count;
	return cluster;
}

// ---- Meshes ----

static int64_t hash_of(const carom_mesh *mesh, int64_t room)
{
	const uint64_t mixed = (uint64_t)(uintptr_t)mesh * 0x9e3779b97f4a7c15u;
	return (int64_t)((mixed >> 32) & (uint64_t)(room - 1));
}

/// The place of a mesh in the table, or the free one for it.
static calls_mesh *find_mesh(calls_mesh *table, int64_t room, const carom_mesh *mesh)
{
	int64_t at = hash_of(mesh, room);
	while (table[at].mesh && table[at].mesh != mesh)
		at = (at + 1) & (room - 1);
	return &table[at];
}

static bool grow_meshes(calls_job *job)
{
	const int64_t room = job->mesh_room ? 2 * job->mesh_room : 64;
	calls_mesh *table = calloc((size_t)room, sizeof *table);
	if (!table)
		return calls_out_of_memory(job);
	for (int64_t i = 0; i < job->mesh_room; i++) {
		if (job->meshes[i].mesh)
			*find_mesh(table, room, job->meshes[i].mesh) = job->meshes[i];
	}
	free(job->meshes);
	job->meshes = table;
	job->mesh_room = room;
	return true;
}

/// The number of a mesh in the recording, which gets it when it is new. The replay keeps its meshes
/// until it ends, so a pointer names one. -1 after a message.
static int32_t number_of_mesh(calls_job *job, const carom_mesh *mesh)
{
	if (2 * job->mesh_count >= job->mesh_room && !grow_meshes(job))
		return -1;
	calls_mesh *entry = find_mesh(job->meshes, job->mesh_room, mesh);
	if (entry->mesh)
		return entry->number;
	sim_error error;
	const carom_mesh_report *report = carom_mesh_get_report(mesh);
	io_recorded_mesh recorded = { .vertex_count = report->vertex_count,
		.triangle_count = report->triangle_count,
		.vertices = carom_mesh_get_vertices(mesh),
		.triangles = carom_mesh_get_triangles(mesh) };
	snprintf(recorded.name, sizeof recorded.name, "mesh%lld", (long long)job->mesh_count);
	if (!io_recorder_add_mesh(job->recorder, &recorded, &error)) {
		fail_with(job, &error);
		return -1;
	}
	*entry = (calls_mesh){ mesh, (int32_t)job->mesh_count++ };
	return entry->number;
}

// ---- Rows ----

/// The row of a shape; part: its number in the body from 1, or 0 where the body has no parts.
static bool make_row(calls_job *job, const carom_shape *shape, carom_body_kind kind, int32_t part, io_recorded_body *row)
{
	const bool has_mesh = shape->type == CAROM_MESH || shape->type == CAROM_HULL;
	// Readers of recordings know spheres and capsules by their radius alone.
	const bool is_round = shape->type == CAROM_SPHERE || shape->type == CAROM_CAPSULE;
	*row = (io_recorded_body){ .kind = kind,
		.type = shape->type,
		.mesh = has_mesh ? number_of_mesh(job, shape->mesh) : -1,
		.radius = shape->radius + (is_round ? shape->rounding : 0),
		.half_length = shape->half_length,
		.half_extents = { shape->half_extents[0], shape->half_extents[1], shape->half_extents[2] },
		.rounding = is_round ? 0 : shape->rounding,
		.part = part,
		.place = carom_pose_identity() };
	return !has_mesh || row->mesh >= 0;
}

/// The rows of a body as it is now, in job->made. Their count; 0 after a message.
static int32_t make_rows(calls_job *job, const carom_body_def *def)
{
	const int32_t count = def->part_count > 0 ? def->part_count : 1;
	if (!CALLS_RESERVE(job, job->made, job->made_room, count))
		return 0;
	for (int32_t k = 0; k < count; k++) {
		const carom_shape *shape = def->part_count > 0 ? &def->parts[k].shape : &def->shape;
		if (!make_row(job, shape, def->kind, def->part_count > 0 ? k + 1 : 0, &job->made[k]))
			return 0;
		if (def->part_count > 0)
			job->made[k].place = def->parts[k].pose;
	}
	return count;
}

static bool same_shape(const io_recorded_body *a, const io_recorded_body *b)
{
	return a->kind == b->kind && a->type == b->type && a->mesh == b->mesh && a->part == b->part &&
		memcmp(&a->radius, &b->radius, sizeof a->radius) == 0 &&
		memcmp(&a->half_length, &b->half_length, sizeof a->half_length) == 0 &&
		memcmp(a->half_extents, b->half_extents, sizeof a->half_extents) == 0 &&
		memcmp(&a->rounding, &b->rounding, sizeof a->rounding) == 0 && memcmp(&a->place, &b->place, sizeof a->place) == 0;
}

/// Is a body of the recording what job->made tells?
static bool same_body(const calls_job *job, const calls_body *body, int32_t row_count)
{
	bool same = body->row_count == row_count;
	for (int32_t k = 0; k < row_count && same; k++)
		same = same_shape(&job->rows[body->first_row + k], &job->made[k]);
	return same;
}

static calls_body *add_body(calls_job *job, carom_body_id id, int32_t row_count, int64_t step)
{
	sim_error error;
	if (!CALLS_RESERVE(job, job->bodies, job->body_room, job->body_count) ||
		!CALLS_RESERVE(job, job->rows, job->row_room, job->row_count + row_count) ||
		!CALLS_RESERVE(job, job->poses, job->pose_room, job->row_count + row_count))
		return NULL;
	calls_body *body = &job->bodies[job->body_count++];
	*body = (calls_body){ .id = id, .first_row = (int32_t)job->row_count, .row_count = row_count, .first_step = step };
	for (int32_t k = 0; k < row_count; k++) {
		if (!io_recorder_add_body(job->recorder, &job->made[k], &error)) {
			fail_with(job, &error);
			return NULL;
		}
		job->rows[job->row_count++] = job->made[k];
	}
	return body;
}

/// A rigid body of the step: its pose goes into its rows. One that has got another shape is another
/// body of the recording, and the old one ends.
static bool take_rigid(calls_job *job, const carom_body_def *def, carom_body_id id, int64_t step)
{
	calls_slot *slot = &job->slots[id.index1 - 1];
	const int32_t row_count = make_rows(job, def);
	if (row_count == 0)
		return false;
	calls_body *body = slot->generation == id.generation ? &job->bodies[slot->number] : NULL;
	if (!body || !same_body(job, body, row_count)) {
		*slot = (calls_slot){ id.generation, (int32_t)job->body_count, def->kind, NULL };
		body = add_body(job, id, row_count, step);
		if (!body)
			return false;
	}
	body->user_data = def->user_data;
	body->last_step = step;
	carom_pose pose = def->pose;
	pose.position.x -= job->reader.origin[0];
	pose.position.y -= job->reader.origin[1];
	pose.position.z -= job->reader.origin[2];
	for (int32_t k = 0; k < row_count; k++)
		job->poses[body->first_row + k] = pose;
	return true;
}

static bool take_surface(calls_job *job, const carom_world *world, const carom_body_def *def, carom_body_id id)
{
	const int64_t before = job->surface_count;
	calls_surface *s = calls_meet_surface(job, def, id, true);
	carom_vertex_view view;
	if (!s || job->surface_count == before)
		return s != NULL;
	if (carom_world_get_vertices(world, id, &view) != CAROM_SUCCESS)
		return calls_fail(job);
	for (int k = 0; k < 3 && view.count > 0; k++)
		s->place[k] = view.data[k] - job->reader.origin[k];
	return true;
}

static bool take_bodies(calls_job *job, const carom_world *world, int64_t step)
{
	for (int64_t i = 0; i < job->row_count; i++)
		job->poses[i] = (carom_pose){ { NAN, NAN, NAN }, { 0, 0, 0, 1 } };
	for (int32_t i = 0; i < job->id_count; i++) {
		carom_body_def def;
		bool taken;
		if (carom_world_get_body_def(world, job->ids[i], &def) != CAROM_SUCCESS)
			return calls_fail(job);
		switch (def.kind) {
		case CAROM_DEFORMABLE:
		case CAROM_CLOTH: taken = take_surface(job, world, &def, job->ids[i]); break;
		case CAROM_GRANULAR: taken = calls_meet_cluster(job, &def, job->ids[i], true) != NULL; break;
		default: taken = take_rigid(job, &def, job->ids[i], step);
		}
		if (!taken)
			return false;
	}
	return true;
}

// ---- Contacts ----

/// The body of an id is a rigid one of the recording: its number; -1: it is not.
static int32_t find_body(const calls_job *job, carom_body_id id)
{
	const calls_slot *slot = (int64_t)id.index1 <= job->slot_room ? &job->slots[id.index1 - 1] : NULL;
	return slot && slot->generation == id.generation && slot->kind <= CAROM_DYNAMIC ? slot->number : -1;
}

/// The contacts of rigid bodies with each other; those of deforming bodies go with the frames.
static bool take_contacts(calls_job *job, const carom_world *world, int32_t *count, double *deepest)
{
	const carom_contact_view view = carom_world_contacts(world);
	const double *origin = job->reader.origin;
	*count = 0;
	*deepest = 0;
	if (!CALLS_RESERVE(job, job->contacts, job->contact_room, view.count))
		return false;
	for (int32_t i = 0; i < view.count; i++) {
		const carom_contact *c = &view.data[i];
		const int32_t a = find_body(job, c->body_a), b = find_body(job, c->body_b);
		*deepest = fmax(*deepest, (double)c->depth);
		if (a < 0 || b < 0)
			continue;
		job->contacts[(*count)++] = (io_recorded_contact){ .body_a = job->bodies[a].first_row + c->shape_a,
			.body_b = job->bodies[b].first_row + c->shape_b,
			.point = { c->point[0] - origin[0], c->point[1] - origin[1], c->point[2] - origin[2] },
			.normal = { c->normal[0], c->normal[1], c->normal[2] },
			.depth = c->depth,
			.feature_a = c->feature_a,
			.feature_b = c->feature_b,
			.kind = (int32_t)c->kind };
	}
	return true;
}

// ---- The table ----

static int32_t count_asleep(calls_job *job, const carom_world *world)
{
	int32_t count = 0;
	if (carom_world_get_asleep(world, job->id_count, job->ids, job->asleep) != CAROM_SUCCESS)
		return 0;
	for (int32_t i = 0; i < job->id_count; i++)
		count += job->asleep[i];
	return count;
}

static void write_row(calls_job *job, const carom_world *world, int64_t step, double deepest)
{
	const carom_stats s = carom_world_stats(world);
	const carom_event_view events = carom_world_events(world);
	int32_t begin = 0, end = 0;
	for (int32_t i = 0; i < events.count; i++) {
		begin += events.data[i].kind == CAROM_EVENT_BEGIN;
		end += events.data[i].kind == CAROM_EVENT_END;
	}
	fprintf(job->stats.stream, "%lld,%.9g,%d,%d,%d,%d,%d,%d,%d,%.9g,%lld,%lld,%lld,%lld,%d,%lld\n", (long long)step,
		(double)step * job->options->time_step, (int)job->id_count, (int)count_asleep(job, world), (int)s.box_pairs,
		(int)s.colliding_pairs, (int)begin, (int)end, (int)s.contacts, deepest, (long long)s.surface_contacts,
		(long long)s.sphere_contacts, (long long)s.sphere_pairs, (long long)s.impacts, (int)s.body_impacts,
		(long long)s.shape_impacts);
	job->told->contacts += s.contacts;
	job->told->surface_contacts += s.surface_contacts;
	job->told->sphere_contacts += s.sphere_contacts;
	job->told->sphere_pairs += s.sphere_pairs;
	job->told->impacts += s.impacts + s.body_impacts + s.shape_impacts;
}

// ---- The direction that is up ----

/// Across a box at rest, along the world's axis in which it is thinnest. Returns how wide it is.
static double look_at_box(const carom_aabb *box, carom_vec3 *up)
{
	const double size[3] = { box->upper.x - box->lower.x, box->upper.y - box->lower.y, box->upper.z - box->lower.z };
	int thin = 2;
	for (int k = 0; k < 2; k++)
		thin = size[k] < size[thin] ? k : thin;
	*up = (carom_vec3){ thin == 0, thin == 1, thin == 2 };
	const double width = sqrt(size[(thin + 1) % 3] * size[(thin + 2) % 3]);
	// A block tells nothing.
	return isfinite(width) && size[thin] < width / 2 ? width : 0;
}

/// Of the bodies at rest a plane tells it, else the widest flat one.
static carom_vec3 guess_up(const calls_job *job, const carom_world *world)
{
	carom_vec3 up = { 0, 0, 1 }, found;
	double widest = 0;
	for (int32_t i = 0; i < job->id_count; i++) {
		carom_body_def def;
		carom_aabb box;
		if (carom_world_get_body_def(world, job->ids[i], &def) != CAROM_SUCCESS || def.kind != CAROM_STATIC)
			continue;
		if (def.part_count == 0 && def.shape.type == CAROM_PLANE)
			return carom_rotate(def.pose.orientation, (carom_vec3){ 0, 0, 1 });
		const double width = carom_world_get_aabb(world, job->ids[i], &box) == CAROM_SUCCESS ? look_at_box(&box, &found) : 0;
		if (width > widest) {
			widest = width;
			up = found;
		}
	}
	return up;
}

static carom_vec3 choose_up(const calls_job *job, const carom_world *world)
{
	double v[3];
	if (job->options->up && options_parse_reals(job->options->up, 3, v))
		return sim_normalize((carom_vec3){ v[0], v[1], v[2] });
	return guess_up(job, world);
}

// ---- The pass ----

/// The recording begins when the first step is there, for it tells which way is up.
static bool begin_recording(calls_job *job, const carom_world *world)
{
	char path[IO_PATH_MAX];
	sim_error error;
	const char *slash = strrchr(job->path, '/');
	job->up = choose_up(job, world);
	const io_recording_info info = { .gravity = calls_gravity(job),
		.time_step = job->options->time_step,
		.contacts = true,
		.scene_text = "",
		.scene_name = slash ? slash + 1 : job->path };
	calls_name_file(job, "recording.h5", path);
	job->recorder = io_create_recorder(path, &info, &error);
	return job->recorder || fail_with(job, &error);
}

bool calls_watch_bodies(carom_world *world, int64_t step, void *user)
{
	calls_job *job = user;
	sim_error error;
	int32_t contact_count;
	double deepest;
	if (!calls_list_bodies(job, world) || (!job->recorder && !begin_recording(job, world)) || !take_bodies(job, world, step) ||
		!take_contacts(job, world, &contact_count, &deepest))
		return false;
	if (!io_recorder_add_frame(
			job->recorder, (double)step * job->options->time_step, job->poses, job->contacts, contact_count, &error))
		return fail_with(job, &error);
	write_row(job, world, step, deepest);
	progress_update(&job->bar, step + 1);
	return true;
}

bool calls_open_bodies(calls_job *job)
{
	if (!calls_open_file(job, "stats.csv", &job->stats))
		return false;
	fputs(
		"step,time,bodies,asleep,box_pairs,colliding_pairs,pairs_begun,pairs_ended,contacts,deepest_penetration,surface_contacts,"
		"sphere_contacts,sphere_pairs,impacts,body_impacts,shape_impacts\n",
		job->stats.stream);
	return true;
}

/// Tell which body of the recording is which of the program.
static bool write_bodies(calls_job *job)
{
	static const char *const kinds[] = { "static", "kinematic", "dynamic" };
	io_output_file file;
	if (!calls_open_file(job, "bodies.csv", &file))
		return false;
	fputs("body,index1,generation,user_data,kind,shapes,first_step,last_step\n", file.stream);
	for (int64_t i = 0; i < job->body_count; i++) {
		const calls_body *b = &job->bodies[i];
		fprintf(file.stream, "%lld,%u,%u,%llu,%s,%d,%lld,%lld\n", (long long)i, (unsigned)b->id.index1,
			(unsigned)b->id.generation, (unsigned long long)b->user_data, kinds[job->rows[b->first_row].kind],
			(int)b->row_count, (long long)b->first_step, (long long)b->last_step);
	}
	return calls_commit_file(job, &file);
}

bool calls_close_bodies(calls_job *job)
{
	char path[IO_PATH_MAX];
	sim_error error;
	io_recorder *recorder = job->recorder;
	job->recorder = NULL;
	if (!io_close_recorder(recorder, &error))
		return fail_with(job, &error);
	if (!calls_commit_file(job, &job->stats))
		return false;
	if (job->row_count > 0)
		return write_bodies(job);
	calls_name_file(job, "recording.h5", path);
	unlink(path);
	return true;
}
