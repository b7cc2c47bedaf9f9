// The identity that the linker writes into programs and libraries (ld(1), --build-id).
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { TOOL_BUILD_ID_LENGTH = 129 };  // 64 bytes as hexadecimal digits, and the 0

// The description of the note NT_GNU_BUILD_ID among [size] bytes of a PT_NOTE segment, as hexadecimal digits. False where it is
// not there, or has no bytes or more than 64. The bytes may come from anywhere.
bool tool_build_id(const char *notes, size_t size, char out[TOOL_BUILD_ID_LENGTH]);

// That of the program or library that holds this code: text that differs between builds of one version, which must not take
// each other's results from a cache. False where the linker left none.
bool tool_own_build_id(char out[TOOL_BUILD_ID_LENGTH]);
