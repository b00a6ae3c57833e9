#pragma once
#include <stddef.h>
void *__cdecl _aligned_malloc(size_t size, size_t alignment);
void __cdecl _aligned_free(void *pointer);
