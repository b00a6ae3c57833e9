/// Lets compilers check the arguments of functions that format as printf does.
#ifndef CR_BASE_PRINTF_LIKE_H
#define CR_BASE_PRINTF_LIKE_H

// CR_PRINTF_LIKE(format, first): the numbers, from 1, of the parameter that holds the format and of
// the first argument. MinGW's gcc takes printf for the one of the old C library of Windows, which
// has no %zu; programs get MinGW's own.
#if defined(__MINGW32__) && !defined(__clang__)
#define CR_PRINTF_LIKE(format_number, first) __attribute__((format(gnu_printf, format_number, first)))
#elif defined(__GNUC__) || defined(__clang__)
#define CR_PRINTF_LIKE(format_number, first) __attribute__((format(printf, format_number, first)))
#else
#define CR_PRINTF_LIKE(format_number, first)
#endif

#endif
