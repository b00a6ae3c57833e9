/// A swept scene on a graphics device: it finds the pairs of features whose boxes meet and filters
/// them in single precision (vulkan/gpu_sweep.h). Those that stay are tested here, as ever.
#ifndef CR_SWEEP_DEVICE_SWEEP_H
#define CR_SWEEP_DEVICE_SWEEP_H

#include "sweep/sweep_state.h"

/// The scene as its device has it.
typedef struct cr_device_sweep cr_device_sweep;

/// Search the step, whose places are in order, on sweep->def.device: hand all pairs of features
/// that stay to the workers, which have been started. Fills in tests_vf, tests_ee, volume_tests.
carom_result cr_find_on_device(carom_sweep *sweep);
/// Free all that is on the device, if anything is.
void cr_free_device_sweep(carom_sweep *sweep);

#endif
