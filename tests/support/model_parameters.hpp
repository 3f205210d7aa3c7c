#pragma once

#include "hardware_models/spec/model_spec.hpp"

namespace penstock::testing {

/// The parameters of a model by a closed form for each kind of layer, independent of the kinds
/// themselves. Layers of multi-token prediction do not count.
double closed_form_parameters(const ModelSpec& spec);

/// The parameters used by one token, in the same way.
double closed_form_active_parameters(const ModelSpec& spec);

}  // namespace penstock::testing
