#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "validate/backends/cuda/gpu_device.hpp"
#include "validate/backends/cuda/programs/gpu_program.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// What a measured timeline records of this computer, its GPU, the steps of its clock, and the work
/// of actions: `sizes` of layers, `algorithms` of matrix products, 0 without any.
std::map<std::string, std::string> gpu_environment(const GpuDevice& device, std::uint64_t step_ns,
                                                   GpuWork work, const GpuLayerSizes& sizes,
                                                   std::uint64_t algorithms);

/// The GPU program of a job. Actions of a work class have one body, and each microbatch of a stage
/// a buffer slot from its first action on a rank to its last one. Bodies wait: the amounts of other
/// ones depend on the device.
GpuProgram gpu_program(const Job& job);

/// Each work class of the ranks once, without dependencies; classes of links only when their time
/// is the machine's, one after the other.
GpuProgram profile_program(const Job& job, const GpuProgram& whole);

}  // namespace penstock
