#pragma once
typedef struct fenv_t {
	unsigned long control, status;
} fenv_t;
extern fenv_t const _Fenv1;
#define FE_DFL_ENV (&_Fenv1)
#define FE_TONEAREST 0
int __cdecl fegetround(void);
int __cdecl fesetenv(fenv_t const *environment);
