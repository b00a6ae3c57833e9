/// @file export_names.h
/// Names of the bodies of a model: those of the scene, made legal for glTF and USD, and each once.
#ifndef CAROM_TOOL_EXPORT_NAMES_H
#define CAROM_TOOL_EXPORT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/// Longest name, its end mark included.
enum { EXPORT_NAME_SIZE = 96 };

typedef char export_name[EXPORT_NAME_SIZE];

/// Make names [count] legal: letters, digits and '_', no digit at the front (identifiers of USD).
/// Of equal ones the second gets "_1" at its end, the third "_2", and so on. Empty names stay
/// empty: they are bodies without one, which are called "body_" and a number, so no other is. False
/// when memory is short.
bool export_make_names(export_name *names, int32_t count);

#endif
