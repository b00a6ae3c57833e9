#pragma once
#include <stddef.h>
typedef int BOOL;
typedef unsigned long DWORD;
typedef void *HANDLE;
typedef unsigned long long DWORD_PTR;
typedef union LARGE_INTEGER {
	long long QuadPart;
} LARGE_INTEGER;
typedef struct SRWLOCK {
	void *Ptr;
} SRWLOCK;
typedef struct CONDITION_VARIABLE {
	void *Ptr;
} CONDITION_VARIABLE;
#define WINAPI __stdcall
#define INFINITE 0xffffffff
#define STACK_SIZE_PARAM_IS_A_RESERVATION 0x10000
typedef DWORD(WINAPI *LPTHREAD_START_ROUTINE)(void *parameter);
BOOL WINAPI QueryPerformanceCounter(LARGE_INTEGER *ticks);
BOOL WINAPI QueryPerformanceFrequency(LARGE_INTEGER *per_second);
HANDLE WINAPI CreateThread(void *security, size_t stack, LPTHREAD_START_ROUTINE fn, void *parameter, DWORD flags, DWORD *id);
DWORD WINAPI WaitForSingleObject(HANDLE handle, DWORD milliseconds);
BOOL WINAPI CloseHandle(HANDLE handle);
BOOL WINAPI SwitchToThread(void);
HANDLE WINAPI GetCurrentProcess(void);
BOOL WINAPI GetProcessAffinityMask(HANDLE process, DWORD_PTR *mine, DWORD_PTR *all);
void WINAPI InitializeSRWLock(SRWLOCK *lock);
void WINAPI AcquireSRWLockExclusive(SRWLOCK *lock);
void WINAPI ReleaseSRWLockExclusive(SRWLOCK *lock);
void WINAPI InitializeConditionVariable(CONDITION_VARIABLE *condition);
BOOL WINAPI SleepConditionVariableSRW(CONDITION_VARIABLE *condition, SRWLOCK *lock, DWORD milliseconds, unsigned long flags);
void WINAPI WakeConditionVariable(CONDITION_VARIABLE *condition);
void WINAPI WakeAllConditionVariable(CONDITION_VARIABLE *condition);
