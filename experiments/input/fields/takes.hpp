#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

/// What a key takes, as a JSON schema. Error texts, completion and the viewer read it there.
class Takes {
 public:
  Takes(nlohmann::ordered_json schema);  // NOLINT(google-explicit-constructor)

  const nlohmann::ordered_json& schema() const { return *schema_; }

  /// Of a number, its bounds as the schema states them.
  std::pair<double, double> bounds() const;
  /// Of words, all of them.
  std::vector<std::string> words() const;

 private:
  std::shared_ptr<const nlohmann::ordered_json> schema_;
};

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr std::int64_t any_count = std::numeric_limits<std::int64_t>::max();

/// The same with a description.
Takes meaning(const Takes& takes, std::string_view about);

Takes truth();
Takes text();
Takes full_text();  // at least one character
/// One of these words; an enumeration has its enumerators in their order.
Takes words(std::initializer_list<std::string_view> all);
Takes number(double least = -unbounded, double most = unbounded);
Takes positive_number(double most);
Takes whole(std::int64_t least = -any_count, std::int64_t most = any_count);

// Numbers in the unit of their key, or texts with a unit.
Takes time_us();
Takes bytes();
Takes megabytes();
Takes bandwidth();
// The same without bounds.
Takes any_time();
Takes any_bytes();
Takes any_bandwidth();

/// A list of at least and at most so many items.
Takes list_of(const Takes& items, std::int64_t least = 0, std::int64_t most = any_count);
/// An object with at least one key, of any name.
Takes map_of(const Takes& values);
/// One value of either: types and bounds of both.
Takes either(const Takes& one, const Takes& other);

/// What the schemas of the quantities above refer to.
const nlohmann::ordered_json& quantity_definitions();

}  // namespace penstock
