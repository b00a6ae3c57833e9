/// @file hdf5_file.h
/// HDF5 files that are looked at before HDF5 itself reads them. libhdf5 crashes on some damaged
/// files, takes the claims of others for true, and knows no sum of a whole file. So ours begin with
/// a seal: a text of 512 bytes with the CRC-32 and the number of all bytes behind it. HDF5 leaves
/// room for such a thing (its "user block"), and every tool for HDF5 reads past it. Files are made
/// beside their place and take their name when they are whole. Inside sim/ only.
#ifndef IO_HDF5_FILE_H
#define IO_HDF5_FILE_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

/// The bytes of a seal, and its first word.
enum { IO_SEAL_SIZE = 512 };
#define IO_SEAL_WORD "CAROMHDF"

/// The kind of a file by its bytes.
typedef enum io_seal {
	IO_SEAL_WHOLE,
	IO_SEAL_NONE,    ///< an HDF5 file without a seal
	IO_SEAL_BROKEN,  ///< damaged, or changed by another program
	IO_SEAL_FOREIGN, ///< no HDF5 file
	IO_SEAL_UNREAD,  ///< it cannot be opened or read; errno tells why
} io_seal;

/// Read a whole file and compare it with its seal.
io_seal io_check_seal(const char *path);

/// Begin a file, with room for the seal. Returns its id; below 0 on failure.
hid_t io_create_hdf5(const char *path);

/// Close a file that io_create_hdf5 began, seal it, and rename it from `made` to `path`.
/// `complete` tells whether all writing before went well. Returns false when that or anything here
/// failed; the file is removed then, and a file that lay at `path` stays.
bool io_finish_hdf5(hid_t file, const char *made, const char *path, bool complete);

/// Close a file that io_create_hdf5 began, for others to write into it. Returns false when that
/// failed.
bool io_close_hdf5(hid_t file);

/// Seal a file that was closed so, and rename it from `made` to `path`; `complete` and the result
/// are those of io_finish_hdf5.
bool io_seal_hdf5(const char *made, const char *path, bool complete);

/// Open a file for reading. Returns its id; below 0 on failure. Check its seal first.
hid_t io_open_hdf5(const char *path);

/// The text of the attribute "format" of an open file; empty where there is none that fits.
void io_read_hdf5_format(hid_t file, char *format, size_t size);

/// That of a file by its path, whose seal is whole. False: it is none.
bool io_hdf5_format(const char *path, char *format, size_t size);

/// Why a file could not be created or opened: HDF5 itself is not there, or else the text that is
/// given.
const char *io_hdf5_reason(const char *otherwise);

/// Tell whether the file holds so many bytes of a dataset, or so many when they are unpacked. An
/// array that is claimed but not there, or lies in another file, is refused before memory is taken
/// for it.
bool io_hdf5_holds(hid_t file, hid_t set, uint64_t bytes);

#endif
