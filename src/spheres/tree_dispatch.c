/// Choice of the wide searches at run time.
#include "base/dispatch.h"
#include "spheres/tree_kernels.h"

CR_DEFINE_KERNEL_GETTER(cr_tree_kernels, cr_get_tree_kernels)
