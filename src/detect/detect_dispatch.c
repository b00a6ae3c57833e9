/// Choice of the stages' wide kernels at run time.

#include "base/dispatch.h"
#include "detect/detect_kernels.h"

CR_DEFINE_KERNEL_GETTER(cr_detect_kernels, cr_get_detect_kernels)
