#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "validate/job/backend.hpp"

namespace penstock {

/// The Python that runs PyTorch: $PENSTOCK_PYTHON, or else python3.
std::string torch_python();

/// Why it has no PyTorch; nothing if it has one. Looks for the package without loading it.
std::optional<Obstacle> why_no_torch();

/// Far longer than what the host does between two actions, and than a late wake-up.
JobLength torch_job_length(std::uint32_t ranks);

}  // namespace penstock
