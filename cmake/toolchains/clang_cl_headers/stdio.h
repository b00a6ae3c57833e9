#pragma once
#include <stdarg.h>
#include <stddef.h>
int __cdecl snprintf(char *text, size_t size, char const *format, ...);
int __cdecl vsnprintf(char *text, size_t size, char const *format, va_list arguments);
