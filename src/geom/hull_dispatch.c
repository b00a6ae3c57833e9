/// Choice of the wide search of hulls at run time.

#include "base/dispatch.h"
#include "geom/hull_kernels.h"

CR_DEFINE_KERNEL_GETTER(cr_hull_kernels, cr_get_hull_kernels)
