#pragma once
#include <stddef.h>
void *__cdecl memcpy(void *to, void const *from, size_t size);
void *__cdecl memmove(void *to, void const *from, size_t size);
void *__cdecl memset(void *to, int value, size_t size);
int __cdecl memcmp(void const *a, void const *b, size_t size);
void *__cdecl memchr(void const *bytes, int value, size_t size);
size_t __cdecl strlen(char const *text);
int __cdecl strcmp(char const *a, char const *b);
