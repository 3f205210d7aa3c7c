#pragma once

#include "validate/backends/cuda/running/gpu_executor.hpp"

namespace penstock {

/// The time of an action of a fixed amount, alone on the SMs of its rank: nanoseconds per unit of
/// `amount`. Throws GpuError.
double ns_per_amount(const GpuDevice& device, GpuWork work, std::uint32_t rank);

/// Gives the bodies of a program the amount of work that takes the time of their tasks, alone on
/// the SMs of their rank. Tasks of one body must be of one rank and one time. Stages get the number
/// of layers, up to 256, whose passes together take the time of theirs, and tasks the time that
/// their pass takes alone. Throws GpuError.
void give_amounts(const GpuDevice& device, GpuWork work, GpuProgram& program);

}  // namespace penstock
