#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace penstock::fuzz {

/// What bytes from outside are given to.
struct Target {
  std::string_view name;
  /// Throws what refuses an input; anything else that leaves it is a fault.
  void (*run)(const std::string& bytes);
  bool is_json = false;
  /// What valid documents are, for mutations that keep to it; null: unknown.
  const nlohmann::json& (*schema)() = nullptr;
};

/// All targets.
std::span<const Target> targets();

/// The one that this process runs, by the environment variable PENSTOCK_FUZZ.
const Target& chosen_target();

/// Writes seeds of the chosen target that are not text, and a small scenario.
void write_seeds(const std::string& folder);

/// Random numbers of one mutation.
class Dice {
 public:
  explicit Dice(unsigned seed) : state_(seed + 0x9e3779b97f4a7c15U) {}
  /// Below `count`, which is not 0.
  std::size_t below(std::size_t count);

 private:
  std::uint64_t state_;
};

/// Changes a document in one place: to another value, one from elsewhere in it, one key or item
/// fewer or more; or, with a schema, a key of it to a value at or near what it allows.
void mutate(nlohmann::json& document, const nlohmann::json* schema, Dice& dice);

}  // namespace penstock::fuzz
