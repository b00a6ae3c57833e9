/// @file sim_error.h
/// How the calls of sim/, io/, scene/ and view/ say what went wrong: the caller gives a record that
/// takes the text, and the call returns false or NULL. Whoever passes NULL does not want the text.
#ifndef SIM_ERROR_H
#define SIM_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Bytes of a text, its end mark included: a sentence, and the longest path before it.
#define SIM_ERROR_SIZE 4608

/// Why a call failed. It needs no start value, and holds a text only after a call that failed.
typedef struct sim_error {
	char text[SIM_ERROR_SIZE]; ///< one sentence without a full stop; cut off where it is longer
} sim_error;

#if defined(__GNUC__)
#define SIM_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define SIM_PRINTF(text, first)
#endif

/// Write the text (printf style). error may be NULL. Returns false, so that a failure is one line:
/// return sim_fail(...).
bool sim_fail(sim_error *error, const char *format, ...) SIM_PRINTF(2, 3);

/// Write the text from a list of arguments, for calls that have a format of their own. Returns
/// false.
bool sim_fail_list(sim_error *error, const char *format, va_list arguments) SIM_PRINTF(2, 0);

/// Put where it happened (printf style) before the text that a call has left: "line 7: ", "FILE: ".
/// Returns false.
bool sim_fail_in(sim_error *error, const char *format, ...) SIM_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
