#include "experiments/input/files/json_output.hpp"

#include <nlohmann/json.hpp>

namespace penstock {

std::string printed(const nlohmann::ordered_json& document) {
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace penstock
