/// Choice of the wide filters of swept queries at run time.

#include "base/dispatch.h"
#include "geom/swept_kernels.h"

CR_DEFINE_KERNEL_GETTER(cr_swept_kernels, cr_get_swept_kernels)
