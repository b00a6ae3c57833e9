/// Angles without libm, whose last bits differ between platforms: only + - * / and sqrt, which IEEE
/// 754 fixes.
#ifndef CR_MATH_TRIG_H
#define CR_MATH_TRIG_H

#include "base/float_mode.h"

/// arc cosine in radians of x clamped to [-1, 1]; error below 1e-14.
double cr_acos(double x);
/// cr_acos of three numbers, to the same bits.
void cr_acos_three(const double x[3], double angle[3]);
/// sine and cosine of an angle in radians, |angle| <= 1e5; error below 1e-11.
void cr_sincos(double angle, double *sine, double *cosine);

#endif
