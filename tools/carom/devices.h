/// @file devices.h
/// Graphics devices on the command line: the choice of one, and what is told of it.
#ifndef CAROM_TOOL_DEVICES_H
#define CAROM_TOOL_DEVICES_H

#include "carom/vulkan.h"

#include <cJSON.h>

/// Words of --backend, and their numbers.
typedef enum device_backend { BACKEND_CPU, BACKEND_VULKAN } device_backend;
extern const char *const device_backend_words[];
/// Words of --tier: auto, c, q, p; their numbers are those of carom_device_tier.
extern const char *const device_tier_words[];

/// Open the device of --device (NULL: auto) in the tier of --tier with the file of --kernels (NULL:
/// none), its kernels timed; NULL after an error message.
carom_device *devices_open(carom_context *context, const char *choice, int tier, const char *kernels);

/// Add "device" with what it is and what it has copied, and "kernels" with calls and times.
void devices_add_json(cJSON *json, const carom_device *device);
/// Print the same in lines.
void devices_print(const carom_device *device);

/// `carom info --devices`. Returns the exit code.
int devices_show(bool json);

#endif
