#pragma once
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define HUGE_VAL (__builtin_inf())
#define isfinite(a) __builtin_isfinite(a)
#define isinf(a) __builtin_isinf(a)
#define isnan(a) __builtin_isnan(a)
#define signbit(a) __builtin_signbit(a)
double __cdecl sqrt(double a);
float __cdecl sqrtf(float a);
double __cdecl fabs(double a);
float __cdecl fabsf(float a);
double __cdecl floor(double a);
float __cdecl floorf(float a);
double __cdecl ceil(double a);
float __cdecl ceilf(float a);
double __cdecl fmin(double a, double b);
float __cdecl fminf(float a, float b);
double __cdecl fmax(double a, double b);
float __cdecl fmaxf(float a, float b);
double __cdecl nextafter(double a, double b);
float __cdecl nextafterf(float a, float b);
double __cdecl copysign(double a, double b);
float __cdecl copysignf(float a, float b);
double __cdecl frexp(double a, int *exponent);
double __cdecl ldexp(double a, int exponent);
float __cdecl ldexpf(float a, int exponent);
double __cdecl rint(double a);
double __cdecl trunc(double a);
double __cdecl round(double a);
double __cdecl fma(double a, double b, double c);
