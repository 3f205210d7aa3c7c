#pragma once

#include "validate/busy_body.hpp"

namespace penstock {

/// What a rank's actions do, on whichever backend.
using RankBody = BusyBody;

}  // namespace penstock
