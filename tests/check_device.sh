#!/bin/bash
# Where a Vulkan driver is installed, the tests of devices run: none is skipped for want of a device. (./dev setup installs Mesa's, which runs
# on the processor.) Usage: check_device.sh CAROM_TESTS HAS_VULKAN
set -u
tests=$1
has_vulkan=$2
fail() {
	echo "$*"
	exit 1
}

drivers=$(ls /usr/share/vulkan/icd.d/lvp_icd*.json /etc/vulkan/icd.d/*.json 2>/dev/null)
[[ -n ${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-} ]] && drivers+="${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}"
if [[ -z $drivers ]]; then
	echo "no Vulkan driver is installed: nothing to check"
	exit 0
fi
[[ $has_vulkan == ON ]] || fail "a Vulkan driver is installed, but this build has no devices (packages: glslang-tools libvulkan-dev)"
cases=("device is_chosen_by_index_and_name_and_never_a_processor_by_itself" "device_kernels sums_are_those_of_a_loop"
	"device_spheres kernels_are_timed_and_counted" "device_grains springs_with_history_are_the_processors"
	"device_sweep impacts_are_those_of_the_processor" "device_proximity pairs_are_those_of_the_processor"
	"device_meshes walks_have_the_bits_of_the_processor"
	"device_frames rays_have_the_bits_of_the_processor" "device_lacks what_a_driver_lacks_is_named")
# The layer of Khronos finds kernels that leave their buffers.
[[ -e /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]] &&
	cases+=("device_assisted only_kernels_that_leave_their_buffers_are_told")
# Debian's Mesa traces rays from 24.1 on.
mesa=$(dpkg-query -W -f '${Version}' mesa-vulkan-drivers 2>/dev/null)
if [[ -z ${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-} && -n $mesa ]] && dpkg --compare-versions "$mesa" ge 24.1; then
	cases+=("device_rays windows_of_queries_hold_every_pair_once" "device_rays windows_of_pipelines_hold_every_pair_once"
		"device_frames ray_queries_have_the_bits_of_the_processor" "device_frames ray_pipelines_have_the_bits_of_the_processor")
fi
for case in "${cases[@]}"; do
	# shellcheck disable=SC2086 # two words
	"$tests" $case >/dev/null
	status=$?
	[[ $status == 77 ]] && fail "a Vulkan driver is installed, but $case was skipped: $("$tests" $case)"
	[[ $status == 0 ]] || fail "$case failed"
done
echo "tests of devices run"
