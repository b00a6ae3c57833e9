// glTF 2.0 (Khronos, 2021): a node for each body with an animation of its place and turn; what
// deforms is a mesh with a morph target for each frame. Everything is in one file: .glb has the
// numbers behind the JSON, .gltf has them inside as base64.
#include "export_model.h"

#include "options.h"
#include "report.h"

#include "io/mesh_file.h"
#include "io/output_file.h"
#include "web/page.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLOATS = 5126, UINTS = 5125, VERTICES = 34962, CORNERS = 34963 }; // names of glTF
enum { MOST_TARGETS = 400 };

typedef struct gltf {
	const model *m;
	cJSON *root, *nodes, *meshes, *accessors, *views, *samplers, *channels, *targets;
	char *bytes;
	size_t size, room;
	bool failed; // memory was short
} gltf;

// ---- Numbers ----

/// Append numbers as a view and an accessor; returns the accessor. target 0: of an animation.
/// ranged: with least and greatest values, as places and times must have them.
static int add_numbers(
	gltf *g, const void *data, int64_t count, const char *type, int columns, int component, int target, bool ranged)
{
	const size_t size = (size_t)count * (size_t)columns * 4;
	while (g->room < g->size + size) {
		const size_t room = 2 * g->room + size + 4096;
		char *bytes = realloc(g->bytes, room);
		if (!bytes) {
			g->failed = true;
			return 0;
		}
		g->bytes = bytes;
		g->room = room;
	}
	memcpy(g->bytes + g->size, data, size);
	cJSON *view = cJSON_CreateObject(), *accessor = cJSON_CreateObject();
	cJSON_AddNumberToObject(view, "buffer", 0);
	cJSON_AddNumberToObject(view, "byteOffset", (double)g->size);
	cJSON_AddNumberToObject(view, "byteLength", (double)size);
	if (target)
		cJSON_AddNumberToObject(view, "target", target);
	cJSON_AddNumberToObject(accessor, "bufferView", cJSON_GetArraySize(g->views));
	cJSON_AddNumberToObject(accessor, "componentType", component);
	cJSON_AddNumberToObject(accessor, "count", (double)count);
	cJSON_AddStringToObject(accessor, "type", type);
	g->size += size;
	float least[4] = { FLT_MAX, FLT_MAX, FLT_MAX, FLT_MAX }, most[4] = { -FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX };
	for (int64_t i = 0; ranged && i < count * columns; i++) {
		const float value = ((const float *)data)[i];
		least[i % columns] = fminf(least[i % columns], value);
		most[i % columns] = fmaxf(most[i % columns], value);
	}
	if (ranged) {
		report_add(accessor, "min", cJSON_CreateFloatArray(least, columns));
		report_add(accessor, "max", cJSON_CreateFloatArray(most, columns));
	}
	report_add(g->views, NULL, view);
	report_add(g->accessors, NULL, accessor);
	return cJSON_GetArraySize(g->accessors) - 1;
}

static void add_channel(gltf *g, int node, const char *path, int times, int values, const char *interpolation)
{
	cJSON *sampler = cJSON_CreateObject(), *channel = cJSON_CreateObject(), *target = cJSON_CreateObject();
	cJSON_AddNumberToObject(sampler, "input", times);
	cJSON_AddNumberToObject(sampler, "output", values);
	cJSON_AddStringToObject(sampler, "interpolation", interpolation);
	cJSON_AddNumberToObject(channel, "sampler", cJSON_GetArraySize(g->samplers));
	cJSON_AddNumberToObject(target, "node", node);
	cJSON_AddStringToObject(target, "path", path);
	report_add(channel, "target", target);
	report_add(g->samplers, NULL, sampler);
	report_add(g->channels, NULL, channel);
}

// ---- Nodes ----

static cJSON *add_named_node(gltf *g, const char *name)
{
	cJSON *node = cJSON_CreateObject();
	cJSON_AddStringToObject(node, "name", name);
	report_add(g->nodes, NULL, node);
	return node;
}

static cJSON *add_node(gltf *g, const char *kind, int32_t number)
{
	char name[40];
	snprintf(name, sizeof name, "%s %d", kind, (int)number);
	return add_named_node(g, name);
}

static void set_pose(cJSON *node, const carom_pose *pose)
{
	const double place[3] = { pose->position.x, pose->position.y, pose->position.z };
	const double turn[4] = { pose->orientation.x, pose->orientation.y, pose->orientation.z, pose->orientation.w };
	report_add(node, "translation", cJSON_CreateDoubleArray(place, 3));
	report_add(node, "rotation", cJSON_CreateDoubleArray(turn, 4));
}

/// A mesh of one surface; returns its number. targets: places of morph targets, which it takes.
static int add_mesh(gltf *g, int places, int corners, int material, cJSON *targets)
{
	cJSON *mesh = cJSON_CreateObject(), *surfaces = cJSON_AddArrayToObject(mesh, "primitives"), *surface = cJSON_CreateObject();
	cJSON *attributes = cJSON_AddObjectToObject(surface, "attributes");
	cJSON_AddNumberToObject(attributes, "POSITION", places);
	cJSON_AddNumberToObject(surface, "indices", corners);
	cJSON_AddNumberToObject(surface, "material", material);
	if (targets)
		report_add(surface, "targets", targets);
	report_add(surfaces, NULL, surface);
	report_add(g->meshes, NULL, mesh);
	return cJSON_GetArraySize(g->meshes) - 1;
}

/// The colours of bodies, and after them that of deforming bodies.
static void add_materials(gltf *g)
{
	cJSON *materials = cJSON_AddArrayToObject(g->root, "materials");
	for (int i = 0; i < 7; i++) {
		cJSON *material = cJSON_CreateObject(), *look = cJSON_AddObjectToObject(material, "pbrMetallicRoughness");
		const double colour[4] = { model_colour(i)[0], model_colour(i)[1], model_colour(i)[2], 1 };
		report_add(look, "baseColorFactor", cJSON_CreateDoubleArray(colour, 4));
		cJSON_AddNumberToObject(look, "metallicFactor", 0);
		cJSON_AddNumberToObject(look, "roughnessFactor", 0.7);
		cJSON_AddBoolToObject(material, "doubleSided", true);
		report_add(materials, NULL, material);
	}
}

// ---- Bodies ----

/// A body has no size before the frame first and from the frame end on.
static void hide(gltf *g, int node, int64_t first, int64_t end)
{
	const model *m = g->m;
	float sizes[9], moments[3];
	int count = 0;
	for (int i = 0; i < 3; i++) {
		const int64_t frame = i == 0 ? 0 : (i == 1 ? first : end);
		if ((i == 1 && first == 0) || frame == m->frame_count)
			continue;
		moments[count] = (float)m->times[frame];
		for (int k = 0; k < 3; k++)
			sizes[3 * count + k] = frame >= first && frame < end ? 1.0f : 0.0f;
		count++;
	}
	const int input = add_numbers(g, moments, count, "SCALAR", 1, FLOATS, 0, true);
	add_channel(g, node, "scale", input, add_numbers(g, sizes, count, "VEC3", 3, FLOATS, 0, false), "STEP");
}

/// The motion of a body in the frames in which it is there.
static void animate(gltf *g, int32_t body, int node, int all_times, float *numbers)
{
	const model *m = g->m;
	const int64_t first = model_first_frame(m, body), end = model_end_frame(m, body), count = end - first;
	int times = all_times;
	if (count < m->frame_count) {
		for (int64_t f = 0; f < count; f++)
			numbers[f] = (float)m->times[first + f];
		times = add_numbers(g, numbers, count, "SCALAR", 1, FLOATS, 0, true);
		hide(g, node, first, end);
	}
	for (int64_t f = 0; f < count; f++) {
		const carom_vec3 p = model_pose(m, first + f, body)->position;
		const float place[3] = { (float)p.x, (float)p.y, (float)p.z };
		memcpy(numbers + 3 * f, place, sizeof place);
	}
	add_channel(g, node, "translation", times, add_numbers(g, numbers, count, "VEC3", 3, FLOATS, 0, false), "LINEAR");
	for (int64_t f = 0; f < count; f++) {
		const carom_quat q = model_pose(m, first + f, body)->orientation;
		const float turn[4] = { (float)q.x, (float)q.y, (float)q.z, (float)q.w };
		memcpy(numbers + 4 * f, turn, sizeof turn);
	}
	add_channel(g, node, "rotation", times, add_numbers(g, numbers, count, "VEC4", 4, FLOATS, 0, false), "LINEAR");
}

/// Of a body with a name, a part is found by it.
static cJSON *add_part_node(gltf *g, int32_t part, int32_t number)
{
	char name[EXPORT_NAME_SIZE + 20];
	const char *body = model_body_name(g->m, g->m->parts[part].body);
	snprintf(name, sizeof name, "%s part %d", body, (int)number);
	return body[0] ? add_named_node(g, name) : add_node(g, "part", part);
}

static void add_parts(gltf *g, cJSON *children)
{
	const model *m = g->m;
	int32_t number = 0;
	int(*arrays)[2] = malloc((size_t)m->shape_count * sizeof *arrays + 1);
	g->failed |= !arrays;
	for (int32_t i = 0; i < m->shape_count && arrays; i++) {
		const model_mesh *s = &m->shapes[i];
		arrays[i][0] = add_numbers(g, s->vertices, s->vertex_count, "VEC3", 3, FLOATS, VERTICES, true);
		arrays[i][1] = add_numbers(g, s->triangles, 3 * (int64_t)s->triangle_count, "SCALAR", 1, UINTS, CORNERS, false);
	}
	for (int32_t i = 0; i < m->part_count && arrays; i++) {
		const model_part *part = &m->parts[i];
		cJSON *node = add_part_node(g, i, i > 0 && m->parts[i - 1].body == part->body ? ++number : (number = 0));
		cJSON_AddNumberToObject(node, "mesh", add_mesh(g, arrays[part->shape][0], arrays[part->shape][1], part->body % 7, NULL));
		set_pose(node, &part->place);
		report_add(cJSON_GetArrayItem(children, part->body), NULL, cJSON_CreateNumber(cJSON_GetArraySize(g->nodes) - 1));
	}
	free(arrays);
}

static void add_bodies(gltf *g, cJSON *top)
{
	const model *m = g->m;
	float *numbers = malloc((size_t)m->frame_count * 4 * sizeof *numbers + 1);
	cJSON *children = cJSON_CreateArray(); // of each body
	if (!numbers) {
		g->failed = true;
		cJSON_Delete(children);
		return;
	}
	for (int64_t f = 0; f < m->frame_count; f++)
		numbers[f] = (float)m->times[f];
	const int times = add_numbers(g, numbers, m->frame_count, "SCALAR", 1, FLOATS, 0, true);
	const int first_node = cJSON_GetArraySize(g->nodes);
	for (int32_t i = 0; i < m->body_count; i++) {
		const int64_t first = model_first_frame(m, i);
		const char *name = model_body_name(m, i);
		cJSON *node = name[0] ? add_named_node(g, name) : add_node(g, "body", i);
		report_add(children, NULL, cJSON_CreateArray());
		report_add(top, NULL, cJSON_CreateNumber(first_node + i));
		if (first == m->frame_count)
			continue; // never there
		set_pose(node, model_pose(m, first, i));
		if (m->moves[i])
			animate(g, i, first_node + i, times, numbers);
	}
	add_parts(g, children);
	for (int32_t i = m->body_count - 1; i >= 0; i--) {
		cJSON *list = cJSON_DetachItemFromArray(children, i);
		if (model_first_frame(m, i) < m->frame_count)
			report_add(cJSON_GetArrayItem(g->nodes, first_node + i), "children", list);
		else
			cJSON_Delete(list);
	}
	cJSON_Delete(children);
	free(numbers);
}

// ---- Deforming bodies ----

/// The triangles of a surface, whose vertices count from a number on. Returns their accessor.
static int add_corners(gltf *g, const export_surface *s, int32_t vertex, int64_t triangle)
{
	const int32_t *from = g->m->source->deforming->triangles + 3 * triangle;
	const int64_t count = 3 * (int64_t)s->triangle_count;
	int32_t *own = malloc((size_t)count * sizeof *own + 1);
	g->failed |= !own;
	for (int64_t i = 0; i < count && own; i++)
		own[i] = from[i] - vertex;
	const int corners = own ? add_numbers(g, own, count, "SCALAR", 1, UINTS, CORNERS, false) : 0;
	free(own);
	return corners;
}

/// Frame 0 of a surface is its mesh, and target k moves it to frame k + 1. Returns its number.
static int add_surface(gltf *g, int32_t number, int32_t vertex, int64_t triangle)
{
	const export_deforming *d = g->m->source->deforming;
	const export_surface *s = &d->surfaces[number];
	const int64_t frames = model_frames(g->m, &d->track), count = 3 * (int64_t)s->vertex_count;
	const float *base = g->m->places + 3 * (int64_t)vertex;
	float *moved = malloc((size_t)count * sizeof *moved + 1);
	const int places = add_numbers(g, base, s->vertex_count, "VEC3", 3, FLOATS, VERTICES, true);
	const int corners = add_corners(g, s, vertex, triangle);
	cJSON *list = cJSON_CreateArray();
	g->failed |= !moved;
	for (int64_t f = 1; f < frames && moved; f++) {
		for (int64_t i = 0; i < count; i++)
			moved[i] = base[f * d->track.count + i] - base[i];
		cJSON *target = cJSON_CreateObject();
		cJSON_AddNumberToObject(target, "POSITION", add_numbers(g, moved, s->vertex_count, "VEC3", 3, FLOATS, VERTICES, true));
		report_add(list, NULL, target);
	}
	free(moved);
	return add_mesh(g, places, corners, (number + 1) % 7, list);
}

/// At the time of a frame its target alone has weight. Returns the accessors of times and weights.
static void add_weights(gltf *g, int64_t frames, int *input, int *output)
{
	const export_deforming *d = g->m->source->deforming;
	const int64_t targets = frames - 1;
	float *times = malloc((size_t)frames * sizeof *times), *weights = calloc((size_t)(frames * targets) + 1, sizeof *weights);
	g->failed |= !times || !weights;
	for (int64_t f = 0; f < frames && times && weights; f++) {
		times[f] = (float)d->track.times[f * g->m->every];
		if (f > 0)
			weights[f * targets + f - 1] = 1;
	}
	if (!g->failed) {
		*input = add_numbers(g, times, frames, "SCALAR", 1, FLOATS, 0, true);
		*output = add_numbers(g, weights, frames * targets, "SCALAR", 1, FLOATS, 0, false);
	}
	free(times);
	free(weights);
}

static int add_deforming(gltf *g, cJSON *top)
{
	const export_deforming *d = g->m->source->deforming;
	const int64_t frames = model_frames(g->m, &d->track);
	int32_t vertex = 0;
	int64_t triangle = 0;
	int input = 0, output = 0;
	if (frames - 1 > MOST_TARGETS)
		return report_error(g->m->source->path,
			"the deforming bodies have %lld frames, and glTF holds each as a morph target, at most %d: take --every %lld, or write .usda",
			(long long)frames, MOST_TARGETS + 1, (long long)(frames + MOST_TARGETS) / (MOST_TARGETS + 1) * g->m->every);
	if (frames > 1)
		add_weights(g, frames, &input, &output);
	for (int32_t i = 0; i < d->surface_count && !g->failed; i++) {
		const int node = cJSON_GetArraySize(g->nodes);
		report_add(top, NULL, cJSON_CreateNumber(node));
		cJSON_AddNumberToObject(add_named_node(g, model_surface_name(g->m, i)), "mesh", add_surface(g, i, vertex, triangle));
		if (frames > 1)
			add_channel(g, node, "weights", input, output, "LINEAR");
		vertex += d->surfaces[i].vertex_count;
		triangle += d->surfaces[i].triangle_count;
	}
	return EXIT_DONE;
}

// ---- The file ----

/// The node above all turns the scene so that its up is glTF's: y.
static void add_scene(gltf *g, cJSON *top)
{
	const carom_vec3 up = g->m->up; // the half-way turn from up to (0, 1, 0): up x y, 1 + up . y
	double turn[4] = { -up.z, 0, up.x, 1 + up.y };
	double length = sqrt(turn[0] * turn[0] + turn[2] * turn[2] + turn[3] * turn[3]);
	if (length < 1e-6) {
		turn[0] = length = 1;
		turn[2] = turn[3] = 0;
	}
	for (int k = 0; k < 4; k++)
		turn[k] /= length;
	cJSON *scene = cJSON_CreateObject(), *scenes = cJSON_AddArrayToObject(g->root, "scenes");
	const int number = cJSON_GetArraySize(g->nodes);
	cJSON *node = cJSON_CreateObject();
	cJSON_AddStringToObject(node, "name", "run");
	report_add(node, "rotation", cJSON_CreateDoubleArray(turn, 4));
	report_add(node, "children", top);
	report_add(g->nodes, NULL, node);
	report_add(scene, "nodes", cJSON_CreateIntArray(&number, 1));
	report_add(scenes, NULL, scene);
	cJSON_AddNumberToObject(g->root, "scene", 0);
}

static bool write_words(FILE *file, const uint32_t *words, int count)
{
	for (int i = 0; i < count; i++) { // little endian on every machine
		const unsigned char bytes[4] = { (unsigned char)words[i], (unsigned char)(words[i] >> 8),
			(unsigned char)(words[i] >> 16), (unsigned char)(words[i] >> 24) };
		if (fwrite(bytes, 1, 4, file) != 4)
			return false;
	}
	return true;
}

/// GLB: a head, the JSON filled up with blanks, the numbers.
static void write_glb(FILE *file, const char *text, const gltf *g)
{
	const size_t length = strlen(text), padded = (length + 3) / 4 * 4;
	const uint32_t head[5] = { 0x46546c67, 2, (uint32_t)(12 + 8 + padded + 8 + g->size), (uint32_t)padded, 0x4e4f534a };
	const uint32_t chunk[2] = { (uint32_t)g->size, 0x004e4942 };
	write_words(file, head, 5);
	fwrite(text, 1, length, file);
	fwrite("   ", 1, padded - length, file);
	write_words(file, chunk, 2);
	fwrite(g->bytes, 1, g->size, file);
}

/// The JSON as text. In a .gltf the numbers are in it.
static char *print_json(gltf *g, bool binary)
{
	cJSON *buffers = cJSON_AddArrayToObject(g->root, "buffers"), *buffer = cJSON_CreateObject();
	cJSON_AddNumberToObject(buffer, "byteLength", (double)g->size);
	if (!binary) {
		static const char head[] = "data:application/octet-stream;base64,";
		size_t length;
		char *coded = web_base64((const unsigned char *)g->bytes, g->size, &length);
		char *uri = coded ? malloc(sizeof head + length) : NULL;
		g->failed |= !uri;
		if (uri) {
			memcpy(uri, head, sizeof head - 1);
			memcpy(uri + sizeof head - 1, coded, length);
			uri[sizeof head - 1 + length] = 0;
			cJSON_AddStringToObject(buffer, "uri", uri);
		}
		free(uri);
		free(coded);
	}
	report_add(buffers, NULL, buffer);
	return g->failed ? NULL : report_json_text(g->root, true);
}

static int write_file(gltf *g, const char *path)
{
	const bool binary = io_has_extension(path, ".glb");
	io_output_file file;
	sim_error error;
	if (g->size > UINT32_MAX / 2)
		return report_error(path, "would be larger than glTF allows: take fewer frames by --every");
	char *text = print_json(g, binary);
	if (!text)
		return report_error(NULL, "out of memory");
	if (!io_output_open(&file, path, &error)) {
		free(text);
		return report_error(path, "%s", error.text);
	}
	if (binary)
		write_glb(file.stream, text, g);
	else
		fputs(text, file.stream);
	free(text);
	return io_output_commit(&file, &error) ? EXIT_DONE : report_error(path, "%s", error.text);
}

/// All bodies and deforming bodies, as far as there is memory.
static int fill(gltf *g, cJSON *top)
{
	int status = EXIT_DONE;
	add_materials(g);
	if (g->m->source->bodies)
		add_bodies(g, top);
	if (g->m->source->deforming)
		status = add_deforming(g, top);
	add_scene(g, top);
	return status;
}

int export_write_gltf(const model *m, const char *path)
{
	gltf g = { .m = m, .root = cJSON_CreateObject() };
	cJSON *asset = cJSON_AddObjectToObject(g.root, "asset"), *top = cJSON_CreateArray(), *animation = cJSON_CreateObject();
	cJSON_AddStringToObject(asset, "version", "2.0");
	cJSON_AddStringToObject(asset, "generator", "carom export");
	g.nodes = cJSON_AddArrayToObject(g.root, "nodes");
	g.meshes = cJSON_AddArrayToObject(g.root, "meshes");
	g.accessors = cJSON_AddArrayToObject(g.root, "accessors");
	g.views = cJSON_AddArrayToObject(g.root, "bufferViews");
	g.samplers = cJSON_AddArrayToObject(animation, "samplers");
	g.channels = cJSON_AddArrayToObject(animation, "channels");
	const bool room = top && g.nodes && g.meshes && g.accessors && g.views && g.samplers && g.channels;
	// fill puts top into the scene
	int status = room ? fill(&g, top) : report_error(NULL, "out of memory");
	if (!room)
		cJSON_Delete(top);
	if (cJSON_GetArraySize(g.channels) > 0)
		report_add(cJSON_AddArrayToObject(g.root, "animations"), NULL, animation);
	else
		cJSON_Delete(animation);
	if (status == EXIT_DONE)
		status = write_file(&g, path);
	cJSON_Delete(g.root);
	free(g.bytes);
	return status;
}
