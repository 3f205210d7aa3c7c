#pragma once

#include "hardware_models/spec/model_spec.hpp"

namespace penstock::testing {

/// The parameters of a model by the closed form of each kind of layer, written down apart from the
/// kinds themselves. Layers of multi-token prediction do not count.
double closed_form_parameters(const ModelSpec& spec);

/// The same of what one token meets.
double closed_form_active_parameters(const ModelSpec& spec);

}  // namespace penstock::testing
