#pragma once
#include <stddef.h>
void *__cdecl malloc(size_t size);
void *__cdecl calloc(size_t count, size_t size);
void *__cdecl realloc(void *pointer, size_t size);
void __cdecl free(void *pointer);
__declspec(noreturn) void __cdecl abort(void);
int __cdecl abs(int a);
void *__cdecl bsearch(
	void const *key, void const *base, size_t count, size_t size, int(__cdecl *compare)(void const *, void const *));
void __cdecl qsort(void *base, size_t count, size_t size, int(__cdecl *compare)(void const *, void const *));
