// HDF5 files with a digest ahead: see hdf5_file.h.
#include "io/hdf5_file.h"

#include "io/late_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

// ---- The seal ----

static const unsigned char SIGNATURE[8] = "\x89HDF\r\n\x1a\n";

static void write_seal(char seal[IO_SEAL_SIZE + 1], uint32_t sum, uint64_t bytes)
{
	memset(seal, 0, IO_SEAL_SIZE + 1);
	snprintf(seal, IO_SEAL_SIZE, "%s 1\ncrc32 %08lx\nbytes %llu\n", IO_SEAL_WORD, (unsigned long)sum, (unsigned long long)bytes);
}

/// The CRC-32 of the rest of a stream, and how long it is. False when it cannot be read.
static bool sum_rest(FILE *file, uint32_t *sum, uint64_t *bytes)
{
	enum { BLOCK = 1 << 18 };
	unsigned char *block = malloc(BLOCK);
	uLong crc = crc32(0, NULL, 0);
	size_t got;
	*bytes = 0;
	while (block && (got = fread(block, 1, BLOCK, file)) > 0) {
		crc = crc32(crc, block, (uInt)got);
		*bytes += got;
	}
	const bool done = block && !ferror(file);
	if (!block)
		errno = ENOMEM;
	free(block);
	*sum = (uint32_t)crc;
	return done;
}

static io_seal check_stream(FILE *file)
{
	unsigned char head[IO_SEAL_SIZE + sizeof SIGNATURE] = { 0 };
	char expected[IO_SEAL_SIZE + 1];
	uint32_t sum;
	uint64_t bytes;
	const size_t got = fread(head, 1, sizeof head, file);
	if (got >= sizeof SIGNATURE && !memcmp(head, SIGNATURE, sizeof SIGNATURE))
		return IO_SEAL_NONE;
	// Either of the two marks: the other one may be damaged.
	if (memcmp(head, IO_SEAL_WORD, strlen(IO_SEAL_WORD)) != 0 && memcmp(head + IO_SEAL_SIZE, SIGNATURE, sizeof SIGNATURE) != 0)
		return IO_SEAL_FOREIGN;
	if (fseek(file, IO_SEAL_SIZE, SEEK_SET) != 0 || !sum_rest(file, &sum, &bytes))
		return IO_SEAL_UNREAD;
	write_seal(expected, sum, bytes);
	return memcmp(head, expected, IO_SEAL_SIZE) == 0 ? IO_SEAL_WHOLE : IO_SEAL_BROKEN;
}

io_seal io_check_seal(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return IO_SEAL_UNREAD;
	const io_seal seal = check_stream(file);
	const int reason = errno;
	fclose(file);
	errno = reason;
	return seal;
}

static bool put_seal(const char *path)
{
	char seal[IO_SEAL_SIZE + 1];
	uint32_t sum;
	uint64_t bytes;
	FILE *file = fopen(path, "r+b");
	if (!file)
		return false;
	bool done = fseek(file, IO_SEAL_SIZE, SEEK_SET) == 0 && sum_rest(file, &sum, &bytes) && fseek(file, 0, SEEK_SET) == 0;
	if (done) {
		write_seal(seal, sum, bytes);
		done = fwrite(seal, IO_SEAL_SIZE, 1, file) == 1;
	}
	return fclose(file) == 0 && done;
}

// ---- Files ----

/// HDF5 prints a stack of its own on every error unless it is told not to. And when a close has
/// failed on a full disk, it closes again at the end of the program the objects that it half freed,
/// and crashes: so it must not do anything there. That can only be said before any other call.
/// Whatever we open we close ourselves.
static void prepare(void)
{
	H5dont_atexit();
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/// A file is closed with all that is open in it, so that error paths need no list of ids.
static hid_t file_access(void)
{
	const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
	H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
	return access;
}

hid_t io_create_hdf5(const char *path)
{
	prepare();
	const hid_t access = file_access(), creation = H5Pcreate(H5P_FILE_CREATE);
	H5Pset_userblock(creation, IO_SEAL_SIZE);
	const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
	H5Pclose(creation);
	H5Pclose(access);
	if (file < 0)
		unlink(path); // it may have been made, and no more
	return file;
}

bool io_close_hdf5(hid_t file)
{
	const bool flushed = H5Fflush(file, H5F_SCOPE_LOCAL) >= 0;
	return H5Fclose(file) >= 0 && flushed;
}

bool io_seal_hdf5(const char *made, const char *path, bool complete)
{
	if (complete && put_seal(made) && rename(made, path) == 0)
		return true;
	remove(made);
	return false;
}

bool io_finish_hdf5(hid_t file, const char *made, const char *path, bool complete)
{
	const bool closed = io_close_hdf5(file);
	return io_seal_hdf5(made, path, complete && closed);
}

hid_t io_open_hdf5(const char *path)
{
	prepare();
	const hid_t access = file_access();
	const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
	H5Pclose(access);
	return file;
}

const char *io_hdf5_reason(const char *otherwise)
{
	const char *problem = io_late_problem(IO_LATE_HDF5);
	return problem ? problem : otherwise;
}

// ---- Reading ----

/// Bytes of a chunk as it lies in memory; 0 when it has no size that we would write.
static uint64_t chunk_bytes(hid_t properties, size_t element)
{
	const uint64_t most = 64 << 20;
	hsize_t sides[H5S_MAX_RANK];
	const int rank = H5Pget_chunk(properties, H5S_MAX_RANK, sides);
	uint64_t bytes = rank > 0 ? element : 0;
	for (int i = 0; i < rank && bytes > 0; i++)
		bytes = sides[i] == 0 || sides[i] > most / bytes ? 0 : bytes * sides[i];
	return bytes;
}

bool io_hdf5_holds(hid_t file, hid_t set, uint64_t bytes)
{
	const uint64_t packed = 1100; // deflate makes of one byte at most 1032
	hsize_t size = 0;
	const hid_t properties = H5Dget_create_plist(set), type = H5Dget_type(set);
	const size_t element = H5Tget_size(type);
	const H5D_layout_t layout = H5Pget_layout(properties);
	const uint64_t stored = H5Dget_storage_size(set);
	bool holds = H5Pget_external_count(properties) == 0 && H5Fget_filesize(file, &size) >= 0 && stored <= size;
	if (layout == H5D_CHUNKED)
		holds =
			holds && chunk_bytes(properties, element) > 0 && bytes / (H5Pget_nfilters(properties) > 0 ? packed : 1) <= stored;
	else
		holds = holds && (layout == H5D_CONTIGUOUS || layout == H5D_COMPACT) && bytes <= stored;
	H5Tclose(type);
	H5Pclose(properties);
	return holds || bytes == 0;
}

void io_read_hdf5_format(hid_t file, char *format, size_t size)
{
	format[0] = 0;
	const hid_t attribute = H5Aopen(file, "format", H5P_DEFAULT);
	const hid_t own = attribute < 0 ? H5I_INVALID_HID : H5Aget_type(attribute);
	if (own >= 0 && H5Tget_class(own) == H5T_STRING && H5Tget_size(own) < size && H5Tis_variable_str(own) <= 0) {
		memset(format, 0, size);
		H5Aread(attribute, own, format);
	}
	if (own >= 0)
		H5Tclose(own);
	if (attribute >= 0)
		H5Aclose(attribute);
}

bool io_hdf5_format(const char *path, char *format, size_t size)
{
	format[0] = 0;
	const hid_t file = io_check_seal(path) == IO_SEAL_WHOLE ? io_open_hdf5(path) : -1;
	if (file < 0)
		return false;
	io_read_hdf5_format(file, format, size);
	H5Fclose(file);
	return format[0] != 0;
}
