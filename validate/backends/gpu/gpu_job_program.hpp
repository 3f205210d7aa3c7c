#pragma once

#include "validate/backends/cuda/programs/gpu_program.hpp"
#include "validate/job/job.hpp"

namespace penstock {

/// What the kernels of such actions do.
GpuWork gpu_work(ActionWork work);

/// The GPU program of a job. Actions of a work class have one body, and each microbatch of a stage
/// a buffer slot from its first action on a rank to its last one. Bodies wait: the amounts of other
/// ones depend on the device.
GpuProgram gpu_program(const Job& job);

/// Each work class of the ranks once, without dependencies; classes of links only when their time
/// is the machine's, one after the other.
GpuProgram profile_program(const Job& job, const GpuProgram& whole);

}  // namespace penstock
