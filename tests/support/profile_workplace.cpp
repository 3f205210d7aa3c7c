#include "tests/support/profile_workplace.hpp"

#include <nlohmann/json.hpp>

namespace penstock::testing {

std::vector<std::int64_t> ids_of(const nlohmann::json& rows) {
  std::vector<std::int64_t> ids;
  for (const nlohmann::json& row : rows) ids.push_back(row["id"]);
  return ids;
}

}  // namespace penstock::testing
