#pragma once

#include <vector>

#include "validate/kernels/registry.hpp"

namespace penstock::testing {

/// The numbers of a layer, those that it leaves out as well.
LayerNumbers all_numbers(const LayerSpec& spec);

/// The furthest that gradients of a kernel are from central differences, as a share of the largest.
/// The value is a sum of what goes on, each number of it times a drawn factor. A step of 1e-5 is
/// right to about 1e-10 in doubles.
double gradient_error(const KernelEntry& kernel, const LayerNumbers& numbers,
                      const KernelCell& cell, double step = 1e-5);

/// Checks a kind with the numbers of `usual`, and with those of each variant over them.
void check_gradients(const char* kind, const NamedNumbers& usual, const KernelCell& cell,
                     std::vector<NamedNumbers> variants = {}, double step = 1e-5);

}  // namespace penstock::testing
