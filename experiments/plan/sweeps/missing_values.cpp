#include "experiments/plan/sweeps/missing_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "experiments/plan/sweeps/configured.hpp"

namespace penstock {

void MissingValues::look_in(std::string_view rows) {
  for (std::size_t at = 0; !pointers_.empty() && at < rows.size();) {
    const std::size_t end = std::min(rows.find('\n', at), rows.size());
    look_in_row(rows.substr(at, end - at));
    at = end + 1;
  }
}

std::string MissingValues::text() const {
  if (!with_result_ || pointers_.empty()) return "";
  return fmt::format("no row has a value at {}; penstock run --json shows what there is",
                     fmt::join(pointers_, ", "));
}

void MissingValues::look_in_row(std::string_view row) {
  const std::string_view result = result_in(row);
  if (result.empty()) return;
  with_result_ = true;
  std::erase_if(pointers_, [result](const std::string& pointer) {
    const std::string key = nlohmann::json(pointer).dump() + ":";
    const std::size_t value = result.find(key);
    return value != std::string_view::npos &&
           !result.substr(value + key.size()).starts_with("null");
  });
}

}  // namespace penstock
