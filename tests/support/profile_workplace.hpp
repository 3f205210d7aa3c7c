#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tests/support/profile_rows.hpp"
#include "tests/support/program.hpp"
#include "validate/store/profile_store.hpp"

namespace penstock::testing {

/// Two mlp layers, one a rank; 4 microbatches of an example each: (4 + 1) * (10 + 14) us.
constexpr const char* measured_scenario = R"({
  "model": { "layers": [ { "kind": "mlp", "hidden": 8, "intermediate": 32, "repeat": 2 } ],
             "sequence": 16, "microbatch": 1 },
  "hardware": { "name": "measured", "profile": "machine.profile" },
  "parallel": { "pipeline": 2 },
  "schedule": { "name": "1f1b", "microbatches": 4 } })";

/// A folder with a store and a scenario that takes its times from there.
struct Workplace : Desk {
  explicit Workplace(const std::vector<ProfileRow>& rows = mlp_rows({1, 2})) {
    store().add(rows);
    file("s.json", measured_scenario);
  }

  ProfileStore store() const {
    return ProfileStore(path("machine.profile"), ProfileStore::Access::create);
  }
  void change(std::int64_t id, RowState state) const {
    const StateChange change{RowId{id}, state, "by hand"};
    store().change({&change, 1}, "2026-11-21T00:00:00Z");
  }
};

/// The ids of rows in JSON.
std::vector<std::int64_t> ids_of(const nlohmann::json& rows);

}  // namespace penstock::testing
