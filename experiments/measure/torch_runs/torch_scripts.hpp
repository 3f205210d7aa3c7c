#pragma once

#include <string_view>

namespace penstock {

/// The program that trains by orders in PyTorch: train_orders.py, as shipped.
std::string_view train_orders_script();
/// The model that it trains: scenario_model.py.
std::string_view scenario_model_script();

}  // namespace penstock
