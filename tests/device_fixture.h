/// What the tests of graphics devices share: a device of whatever kind there is.
#ifndef TESTS_DEVICE_FIXTURE_H
#define TESTS_DEVICE_FIXTURE_H

#include "carom/vulkan.h"
#include "test.h"

/// The choice of a device that tests run on: a graphics card where there is one, else a driver on the processor. Static text.
/// Skips the case where there is none.
const char *fixture_device_choice(carom_context *context);
/// A device by that choice; def may be NULL. Tier AUTO stands for COMPUTE, so that what is tested does not depend on times. A failure
/// ends the case, and skips it where the device lacks the tier, or there is no validation layer.
/// It does all that it can, however little there is (always). With CAROM_TEST_STAGING in the environment copies go through the staging ring, as on cards.
carom_device *fixture_device(carom_context *context, const carom_device_def *def);

#endif
