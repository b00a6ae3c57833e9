/// Choice of the stages' wide kernels at run time.

#include "base/dispatch.h"
#include "frame/contact_kernels.h"

CR_DEFINE_KERNEL_GETTER(cr_contact_kernels, cr_get_contact_kernels)
