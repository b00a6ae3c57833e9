// A module without code: it names the library that it is linked with. See late_library.h.
typedef int late_module; // C wants a declaration in each file
