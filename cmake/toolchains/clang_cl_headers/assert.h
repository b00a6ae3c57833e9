#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
void __cdecl _assert(char const *condition, char const *file, unsigned line);
#define assert(condition) ((void)(!!(condition) || (_assert(#condition, __FILE__, __LINE__), 0)))
#endif
