/** An executable in memory whose only function, "made", is the code that a test gives. */
#ifndef TESTS_UNIT_CQA_MADE_EXECUTABLE_H
#define TESTS_UNIT_CQA_MADE_EXECUTABLE_H

#include <stddef.h>
#include <stdint.h>

enum { MADE_CODE_LINK_ADDR = 0x401000 };

/** The file's bytes, which the next call overwrites. */
const uint8_t *made_executable(const uint8_t *code, size_t length, size_t *out_length);

#endif
