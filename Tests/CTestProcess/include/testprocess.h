#pragma once

/// The environment variable that marks all descendants of this test process.
extern const char *const testprocess_mark;

/// Prints the stacks of all threads to stderr.
void testprocess_print_stacks(void);

/// Ends the process with status 1, without exit handlers.
_Noreturn void testprocess_end(void);

/// Prints `reason`; the run then fails at its end.
void testprocess_fail(const char *reason);
