/// @file foreign_absent.h
/// What tells that a file is of a format that a build without packages has no reader for.
#ifndef BINDINGS_FOREIGN_ABSENT_H
#define BINDINGS_FOREIGN_ABSENT_H

/// The error text of io_load_mesh for such a file.
extern const char io_no_foreign_reader[];

#endif
