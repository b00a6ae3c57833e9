/// @file program.h
/// Other programs that the command runs.
#ifndef CAROM_TOOL_PROGRAM_H
#define CAROM_TOOL_PROGRAM_H

/// The environment for programs that are started: POSIX leaves it to us to declare it.
extern char **environ;

/// Run a program (found in PATH when its name holds no '/') with arguments [0: its name, ..., NULL]
/// and wait for its end. No shell is involved. Its output goes nowhere, its messages to our
/// standard error; its input is empty. 0 when it ran and ended with success, an errno when it could
/// not be started (ENOENT: it is not installed), -1 when it failed.
int program_run(char *const arguments[]);

#endif
