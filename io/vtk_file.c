// VTK XML files (The VTK User's Guide, "VTK File Formats"): a head of text that names arrays by
// their offsets, then "_", then each array behind its length in bytes (UInt64).
#include "io/vtk_file.h"

#include "io/output_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *byte_order(void)
{
	const uint16_t one = 1;
	return *(const uint8_t *)&one ? "LittleEndian" : "BigEndian";
}

// ---- One moment ----

typedef enum array_kind { ARRAY_POINTS, ARRAY_RADII, ARRAY_VELOCITIES, ARRAY_IDS, ARRAY_CELL, ARRAY_CELL_ENDS } array_kind;

typedef struct array_form {
	array_kind kind;
	const char *type;
	const char *name;
	int components;
} array_form;

static const array_form FORMS[] = {
	{ ARRAY_POINTS, "Float32", "centre", 3 },
	{ ARRAY_RADII, "Float32", "radius", 1 },
	{ ARRAY_VELOCITIES, "Float32", "velocity", 3 },
	{ ARRAY_IDS, "UInt32", "id", 1 },
	{ ARRAY_CELL, "Int32", "connectivity", 1 },
	{ ARRAY_CELL_ENDS, "Int32", "offsets", 1 },
};
enum { FORM_COUNT = sizeof FORMS / sizeof *FORMS, CHUNK = 4096 };

static const char VTP_END[] = "\n</AppendedData>\n</VTKFile>\n";

static bool is_written(const sim_sphere_cloud *cloud, array_kind kind)
{
	return kind != ARRAY_VELOCITIES || cloud->velocities.data;
}

static int64_t element_count(const sim_sphere_cloud *cloud, array_kind kind)
{
	return kind == ARRAY_CELL_ENDS ? cloud->count > 0 : cloud->count;
}

static uint64_t array_bytes(const sim_sphere_cloud *cloud, const array_form *form)
{
	return 4 * (uint64_t)form->components * (uint64_t)element_count(cloud, form->kind);
}

static void write_form(FILE *file, const sim_sphere_cloud *cloud, array_kind kind)
{
	uint64_t offset = 0;
	for (int i = 0; i < FORM_COUNT; ++i) {
		if (!is_written(cloud, FORMS[i].kind))
			continue;
		if (FORMS[i].kind == kind)
			fprintf(file, "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"appended\" offset=\"%llu\"/>\n",
				FORMS[i].type, FORMS[i].name, FORMS[i].components, (unsigned long long)offset);
		offset += sizeof(uint64_t) + array_bytes(cloud, &FORMS[i]);
	}
}

static void write_head(FILE *file, const sim_sphere_cloud *cloud, double time)
{
	fprintf(file,
		"<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"%s\" header_type=\"UInt64\">\n"
		"<PolyData>\n<FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">%.17g"
		"</DataArray>\n</FieldData>\n<Piece NumberOfPoints=\"%lld\" NumberOfVerts=\"%d\">\n<PointData Scalars=\"radius\">\n",
		byte_order(), time, (long long)cloud->count, cloud->count > 0);
	write_form(file, cloud, ARRAY_RADII);
	write_form(file, cloud, ARRAY_VELOCITIES);
	write_form(file, cloud, ARRAY_IDS);
	fprintf(file, "</PointData>\n<Points>\n");
	write_form(file, cloud, ARRAY_POINTS);
	fprintf(file, "</Points>\n<Verts>\n");
	write_form(file, cloud, ARRAY_CELL);
	write_form(file, cloud, ARRAY_CELL_ENDS);
	fprintf(file, "</Verts>\n</Piece>\n</PolyData>\n<AppendedData encoding=\"raw\">\n_");
}

/// Elements first..first+count-1 of an array of numbers.
static void fill_reals(const carom_strided *array, int components, int64_t first, int64_t count, float *chunk)
{
	for (int64_t i = 0; i < count; ++i) {
		double values[3];
		sim_cloud_read(array, components, first + i, values);
		for (int k = 0; k < components; ++k)
			chunk[components * i + k] = (float)values[k];
	}
}

static void fill_integers(const sim_sphere_cloud *cloud, array_kind kind, int64_t first, int64_t count, uint32_t *chunk)
{
	for (int64_t i = 0; i < count; ++i) {
		if (kind == ARRAY_IDS)
			chunk[i] = sim_cloud_id(cloud, first + i);
		else
			chunk[i] = (uint32_t)(kind == ARRAY_CELL ? first + i : cloud->count);
	}
}

static void write_array(FILE *file, const sim_sphere_cloud *cloud, const array_form *form)
{
	union {
		float reals[3 * CHUNK];
		uint32_t integers[CHUNK];
	} chunk;
	const int64_t count = element_count(cloud, form->kind);
	const uint64_t bytes = array_bytes(cloud, form);
	fwrite(&bytes, sizeof bytes, 1, file);
	for (int64_t first = 0; first < count; first += CHUNK) {
		const int64_t part = count - first < CHUNK ? count - first : CHUNK;
		if (form->kind == ARRAY_POINTS)
			fill_reals(&cloud->centres, 3, first, part, chunk.reals);
		else if (form->kind == ARRAY_RADII)
			fill_reals(&cloud->radii, 1, first, part, chunk.reals);
		else if (form->kind == ARRAY_VELOCITIES)
			fill_reals(&cloud->velocities, 3, first, part, chunk.reals);
		else
			fill_integers(cloud, form->kind, first, part, chunk.integers);
		fwrite(&chunk, 4 * (size_t)form->components, (size_t)part, file);
	}
}

/// path in front of what went wrong with it.
static bool refuse(const char *path, const char *reason, sim_error *error) { return sim_fail(error, "%s: %s", path, reason); }

bool io_write_vtp(const char *path, const sim_sphere_cloud *cloud, double time, sim_error *error)
{
	io_output_file file;
	if (cloud->count < 0 || cloud->count > INT32_MAX)
		return refuse(path, "a VTK file of ours takes 0 to 2147483647 spheres", error);
	if (!io_output_open(&file, path, error))
		return sim_fail_in(error, "%s: ", path);
	write_head(file.stream, cloud, time);
	for (int i = 0; i < FORM_COUNT; ++i) {
		if (is_written(cloud, FORMS[i].kind))
			write_array(file.stream, cloud, &FORMS[i]);
	}
	fputs(VTP_END, file.stream);
	return io_output_commit(&file, error) || sim_fail_in(error, "%s: ", path);
}

// ---- One moment, by several ranks ----

/// Numbers of a part of an array as they stand in the file, to be freed. NULL: memory is short.
static void *part_of_array(const sim_sphere_cloud *part, const array_form *form, int64_t first, int64_t total)
{
	const size_t size = 4 * (size_t)form->components * (size_t)part->count;
	void *data = malloc(size + 1);
	if (!data)
		return NULL;
	if (form->kind == ARRAY_POINTS || form->kind == ARRAY_RADII || form->kind == ARRAY_VELOCITIES) {
		const carom_strided *array = form->kind == ARRAY_POINTS ? &part->centres
			: form->kind == ARRAY_RADII                         ? &part->radii
																: &part->velocities;
		fill_reals(array, form->components, 0, part->count, data);
		return data;
	}
	uint32_t *numbers = data;
	for (int64_t i = 0; i < part->count; ++i)
		numbers[i] = (uint32_t)(form->kind == ARRAY_CELL_ENDS ? total : first + i);
	return data;
}

enum { MOST_PIECES = 2 * FORM_COUNT + 2 };

/// The pieces of a file that a rank writes. Rank 0 has those that are not numbers of spheres too.
typedef struct piece_list {
	sim_piece pieces[MOST_PIECES];
	void *owned[MOST_PIECES]; // memory of theirs
	uint64_t sizes[FORM_COUNT];
	int count, owned_count;
	int64_t end; // of the file so far
} piece_list;

static void add_piece(piece_list *l, bool mine, int64_t offset, const void *data, int64_t size)
{
	if (mine && size > 0)
		l->pieces[l->count++] = (sim_piece){ offset, data, size };
}

/// The text before the arrays; false when memory is short.
static bool add_head(piece_list *l, bool first_rank, const sim_sphere_cloud *whole, double time)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	if (memory)
		write_head(memory, whole, time);
	const bool made = memory && fclose(memory) == 0;
	l->owned[l->owned_count++] = text;
	add_piece(l, first_rank && made, 0, text, (int64_t)size);
	l->end = (int64_t)size;
	return made;
}

static bool add_array(piece_list *l, bool first_rank, const sim_sphere_cloud *whole, const sim_sphere_cloud *part,
	int64_t first, const array_form *form)
{
	uint64_t *bytes = &l->sizes[form - FORMS];
	const int64_t width = 4 * form->components;
	*bytes = array_bytes(whole, form);
	add_piece(l, first_rank, l->end, bytes, sizeof *bytes);
	l->end += (int64_t)sizeof *bytes;
	// One cell holds all: its end is written by rank 0.
	const bool one = form->kind == ARRAY_CELL_ENDS;
	const sim_sphere_cloud end = { .count = whole->count > 0 };
	void *data = part_of_array(one ? &end : part, form, first, whole->count);
	l->owned[l->owned_count++] = data;
	add_piece(
		l, data && (first_rank || !one), l->end + (one ? 0 : first * width), data, (one ? end.count : part->count) * width);
	l->end += (int64_t)*bytes;
	return data;
}

/// Pieces of the whole file; false when memory is short.
static bool list_pieces(
	piece_list *l, bool first_rank, const sim_sphere_cloud *whole, const sim_sphere_cloud *part, int64_t first, double time)
{
	bool made = add_head(l, first_rank, whole, time);
	for (int i = 0; i < FORM_COUNT && made; ++i)
		made = !is_written(whole, FORMS[i].kind) || add_array(l, first_rank, whole, part, first, &FORMS[i]);
	add_piece(l, first_rank, l->end, VTP_END, sizeof VTP_END - 1);
	l->end += (int64_t)sizeof VTP_END - 1;
	return made;
}

/// The file as a whole has its name when all ranks have written their pieces.
static bool write_pieces(const sim_ranks *ranks, const piece_list *l, const char *path, sim_error *error)
{
	char made[IO_PATH_MAX + 90];
	snprintf(made, sizeof made, "%s.part", path);
	const bool wrote = ranks->write(ranks->user, made, false, l->end, l->count, l->pieces);
	if (sim_all_ranks(ranks, wrote) && sim_all_ranks(ranks, !sim_is_first_rank(ranks) || rename(made, path) == 0))
		return true;
	if (sim_is_first_rank(ranks))
		remove(made);
	return refuse(path, "cannot be written: is the disk full?", error);
}

static bool write_vtp_part(const char *path, const sim_ranks *ranks, const sim_sphere_cloud *part, int64_t first, int64_t total,
	double time, sim_error *error)
{
	sim_sphere_cloud whole = *part;
	whole.count = total;
	if (total < 0 || total > INT32_MAX)
		return refuse(path, "a VTK file of ours takes 0 to 2147483647 spheres", error);
	piece_list l = { .count = 0 };
	const bool listed = list_pieces(&l, sim_is_first_rank(ranks), &whole, part, first, time);
	const bool done = listed ? write_pieces(ranks, &l, path, error) : refuse(path, "out of memory", error);
	for (int i = 0; i < l.owned_count; ++i)
		free(l.owned[i]);
	return done;
}

// ---- Collections ----

typedef struct series_frame {
	int64_t step;
	double time;
} series_frame;

struct io_vtk_series {
	char folder[IO_PATH_MAX];
	char name[64];
	series_frame *frames;
	int32_t count, room;
	uint64_t run;
};

io_vtk_series *io_create_vtk_series(const char *folder, const char *name, sim_error *error)
{
	io_vtk_series *series = calloc(1, sizeof *series);
	if (!series || strlen(name) >= sizeof series->name || strlen(folder) + strlen(name) + 20 > sizeof series->folder) {
		sim_fail(error, "%s", series ? "the path is too long" : "out of memory");
		free(series);
		return NULL;
	}
	snprintf(series->folder, sizeof series->folder, "%s", folder);
	snprintf(series->name, sizeof series->name, "%s", name);
	return series;
}

void io_vtk_series_set_run(io_vtk_series *series, uint64_t run) { series->run = run; }

static bool write_collection(const io_vtk_series *series, sim_error *error)
{
	io_output_file file;
	char path[IO_PATH_MAX + 80];
	snprintf(path, sizeof path, "%s/%s.pvd", series->folder, series->name);
	if (!io_output_open(&file, path, error))
		return sim_fail_in(error, "%s: ", path);
	fprintf(file.stream,
		"<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"%s\">\n<Collection>\n",
		byte_order());
	if (series->run)
		fprintf(file.stream, "<!-- run %016llx -->\n", (unsigned long long)series->run);
	for (int32_t i = 0; i < series->count; ++i)
		fprintf(file.stream, "<DataSet timestep=\"%.17g\" part=\"0\" file=\"%s_%09lld.vtp\"/>\n", series->frames[i].time,
			series->name, (long long)series->frames[i].step);
	fprintf(file.stream, "</Collection>\n</VTKFile>\n");
	return io_output_commit(&file, error) || sim_fail_in(error, "%s: ", path);
}

static bool reserve_frame(io_vtk_series *series)
{
	if (series->count < series->room)
		return true;
	const int32_t room = series->room ? 2 * series->room : 64;
	series_frame *larger = realloc(series->frames, (size_t)room * sizeof *larger);
	if (!larger)
		return false;
	series->frames = larger;
	series->room = room;
	return true;
}

bool io_vtk_series_add(io_vtk_series *series, const sim_sphere_cloud *cloud, int64_t step, double time, sim_error *error)
{
	char path[IO_PATH_MAX + 80];
	snprintf(path, sizeof path, "%s/%s_%09lld.vtp", series->folder, series->name, (long long)step);
	if (!reserve_frame(series))
		return refuse(path, "out of memory", error);
	if (!io_write_vtp(path, cloud, time, error))
		return false;
	series->frames[series->count++] = (series_frame){ step, time };
	return write_collection(series, error);
}

bool io_vtk_series_add_part(io_vtk_series *series, const sim_ranks *ranks, const sim_sphere_cloud *part, int64_t first,
	int64_t total, int64_t step, double time, sim_error *error)
{
	char path[IO_PATH_MAX + 80];
	snprintf(path, sizeof path, "%s/%s_%09lld.vtp", series->folder, series->name, (long long)step);
	if (!reserve_frame(series))
		return refuse(path, "out of memory", error);
	if (!write_vtp_part(path, ranks, part, first, total, time, error))
		return false;
	series->frames[series->count++] = (series_frame){ step, time };
	return !sim_is_first_rank(ranks) || write_collection(series, error);
}

/// A line of a collection of ours.
static bool read_frame(const io_vtk_series *series, const char *line, series_frame *frame)
{
	int at = 0;
	const size_t length = strlen(series->name);
	if (sscanf(line, "<DataSet timestep=\"%lf\" part=\"0\" file=\"%n", &frame->time, &at) != 1 || at == 0)
		return false;
	if (strncmp(line + at, series->name, length) != 0 || line[(size_t)at + length] != '_')
		return false;
	frame->step = strtoll(line + at + length + 1, NULL, 10);
	return true;
}

bool io_vtk_series_continue(io_vtk_series *series, int64_t last_step, int64_t *last_frame, sim_error *error)
{
	char path[IO_PATH_MAX + 80], line[300];
	snprintf(path, sizeof path, "%s/%s.pvd", series->folder, series->name);
	FILE *file = fopen(path, "rb");
	*last_frame = -1;
	bool room = true, ours = true;
	while (file && room && ours && fgets(line, sizeof line, file)) {
		series_frame frame;
		unsigned long long run;
		if (series->run && sscanf(line, "<!-- run %llx", &run) == 1)
			ours = run == series->run;
		if (!read_frame(series, line, &frame) || frame.step > last_step)
			continue;
		room = reserve_frame(series);
		if (room)
			series->frames[series->count++] = frame;
		*last_frame = frame.step;
	}
	if (file)
		fclose(file);
	if (!ours)
		return refuse(path, "is that of another run than the one to be continued: take another --out", error);
	return room || refuse(path, "out of memory", error);
}

int32_t io_vtk_series_count(const io_vtk_series *series) { return series->count; }

void io_destroy_vtk_series(io_vtk_series *series)
{
	if (!series)
		return;
	free(series->frames);
	free(series);
}
