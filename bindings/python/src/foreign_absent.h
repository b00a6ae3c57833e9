/// @file foreign_absent.h
/// What tells that a file is of a format that the package has no reader for.
#ifndef CP_FOREIGN_ABSENT_H
#define CP_FOREIGN_ABSENT_H

/// The error text of io_load_mesh for such a file.
extern const char cp_no_foreign_reader[];

#endif
