/// The file of compiled kernels. See vulkan/vk_cache.h.
#include "vulkan/vk_cache.h"
#include "base/hash.h"
#include "base/thread.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char MAGIC[16] = "carom kernels 1";

typedef struct cache_head {
	char magic[sizeof MAGIC];
	uint64_t size, hash; // of the bytes that follow
} cache_head;

enum { MOST_CACHE = 64 << 20 };

/// Never 0.
static uint64_t hash_bytes(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t hash = cr_hash_u64(CR_HASH_SEED, size), word;
	for (size_t i = 0; i < size; i += sizeof word) {
		word = 0;
		memcpy(&word, at + i, size - i < sizeof word ? size - i : sizeof word);
		hash = cr_hash_u64(hash, word);
	}
	return hash | 1;
}

static void warn(const carom_device *device, const char *text)
{
	cr_log(device->context, device->cache_by_default ? CAROM_LOG_INFO : CAROM_LOG_WARNING, "%s: %s %s", device->cache_path,
		text, device->info.name);
}

// ---- The place ----

/// The user's cache folder: a variable of the environment that holds an absolute path, and the
/// end of the path. NULL: there is none.
static const char *find_folder(const char **behind)
{
	const char *folder = getenv("XDG_CACHE_HOME");
	*behind = "";
	if (folder && *folder == '/')
		return folder;
	folder = getenv("HOME");
	*behind = "/.cache";
	return folder && *folder == '/' ? folder : NULL;
}

static carom_result place_by_default(carom_device *device)
{
	enum { NAME = 64 };
	const char *behind, *folder = find_folder(&behind);
	if (!folder)
		return CAROM_SUCCESS;
	device->cache_path_size = strlen(folder) + NAME;
	device->cache_path = cr_alloc(device->context, device->cache_path_size);
	if (!device->cache_path)
		return cr_fail_memory(device->context, "the path of the cache");
	snprintf(device->cache_path, device->cache_path_size, "%s%s/carom/kernels-%04x-%04x-%u.bin", folder, behind,
		(unsigned)device->info.vendor_id, (unsigned)device->info.device_id, (unsigned)device->driver);
	return CAROM_SUCCESS;
}

/// Make the two last folders of the default place, where they are missing. A failure shows when the
/// file is opened.
static void make_folders(char *path)
{
	char *own = strrchr(path, '/');
	*own = 0;
	char *users = strrchr(path, '/');
	*users = 0;
	mkdir(path, 0700);
	*users = '/';
	mkdir(path, 0700);
	*own = '/';
}

// ---- Reading ----

/// Is the data of this driver? Its first words say so, and drivers should not be trusted to look.
static bool fits(const carom_device *device, const void *bytes, size_t size)
{
	VkPipelineCacheHeaderVersionOne head;
	if (size < sizeof head)
		return false;
	memcpy(&head, bytes, sizeof head);
	return head.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && head.vendorID == device->info.vendor_id &&
		head.deviceID == device->info.device_id &&
		memcmp(head.pipelineCacheUUID, device->cache_uuid, sizeof device->cache_uuid) == 0;
}

/// The bytes behind the head, as it says; NULL: they are not, or there is no memory for them.
static void *read_bytes(const carom_device *device, FILE *file, size_t *size)
{
	cache_head head;
	if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.magic, MAGIC, sizeof MAGIC) != 0 || head.size == 0 ||
		head.size > MOST_CACHE)
		return NULL;
	*size = (size_t)head.size;
	void *bytes = cr_alloc(device->context, *size);
	if (!bytes)
		return NULL;
	if (fread(bytes, 1, *size, file) == *size && fgetc(file) == EOF && hash_bytes(bytes, *size) == head.hash &&
		fits(device, bytes, *size))
		return bytes;
	cr_free(device->context, bytes, *size);
	return NULL;
}

carom_result cr_gpu_load_cache(carom_device *device, void **data, size_t *size)
{
	*data = NULL;
	*size = 0;
	const carom_result placed = device->cache_by_default ? place_by_default(device) : CAROM_SUCCESS;
	FILE *file = device->cache_path ? fopen(device->cache_path, "rb") : NULL;
	if (!file)
		return placed;
	*data = read_bytes(device, file, size);
	fclose(file);
	if (*data) {
		device->cache_hash = hash_bytes(*data, *size);
		return CAROM_SUCCESS;
	}
	*size = 0;
	warn(device, "is no file of compiled kernels of");
	return CAROM_SUCCESS;
}

// ---- Writing ----

/// Write a file beside it and put that in its place: two processes may end at once.
static bool write_cache(const carom_device *device, const void *bytes, size_t size, char *beside, size_t room)
{
	cache_head head = { .size = size, .hash = hash_bytes(bytes, size) };
	memcpy(head.magic, MAGIC, sizeof MAGIC);
	snprintf(beside, room, "%s.%lld", device->cache_path, (long long)cr_process_id());
	FILE *file = fopen(beside, "wb");
	if (!file && device->cache_by_default) {
		make_folders(device->cache_path);
		file = fopen(beside, "wb");
	}
	if (!file)
		return false;
	const bool written = fwrite(&head, sizeof head, 1, file) == 1 && fwrite(bytes, 1, size, file) == size;
	if (fclose(file) == 0 && written && rename(beside, device->cache_path) == 0)
		return true;
	remove(beside);
	return false;
}

void cr_gpu_save_cache(carom_device *device)
{
	enum { SUFFIX = 32 };
	size_t size = 0;
	if (!device->cache_path || device->stats.lost ||
		device->vk->GetPipelineCacheData(device->device, device->cache, &size, NULL) != VK_SUCCESS)
		return;
	const size_t room = device->cache_path_size + SUFFIX, held = size;
	void *bytes = cr_alloc(device->context, held);
	char *beside = cr_alloc(device->context, room);
	bool saved = bytes && beside && device->vk->GetPipelineCacheData(device->device, device->cache, &size, bytes) == VK_SUCCESS;
	if (saved && hash_bytes(bytes, size) != device->cache_hash)
		saved = write_cache(device, bytes, size, beside, room);
	if (!saved)
		warn(device, "the compiled kernels cannot be written, of");
	cr_free(device->context, bytes, held);
	cr_free(device->context, beside, room);
}
