#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The pointers that layouts choose, each with the names of its values; none where these are
/// numbers.
std::map<std::string, std::vector<std::string>, std::less<>> layout_choices();

/// Throws UsageError where what --set or --change got names an axis of layouts: these choose it.
void refuse_axes(std::string_view option, const std::vector<std::string>& texts);

/// Values that layouts may have, by JSON pointer into a scenario; all values where a pointer is
/// missing.
class Restrictions {
 public:
  Restrictions() = default;
  /// What an option such as --only got, see setting.hpp: "/pointer=value,value". Throws UsageError
  /// for a pointer that is no axis of layouts, one that comes twice, and a value that no layout can
  /// have.
  explicit Restrictions(const std::vector<std::string>& texts, std::string_view option = "--only");

  bool allow(std::string_view pointer, std::string_view value) const;
  bool allow(std::string_view pointer, std::uint64_t value) const;
  bool empty() const { return allowed_.empty(); }
  /// The values of a pointer; nullptr without a restriction.
  const std::vector<std::string>* values_of(std::string_view pointer) const;
  /// Both restrictions; the other one decides where both name a pointer.
  Restrictions with(const Restrictions& other) const;
  /// The restrictions one by one, or all but one.
  std::vector<Restrictions> each() const;
  std::vector<Restrictions> all_but_each() const;
  /// The pointers that are restricted, as in `each`.
  std::vector<std::string> pointers() const;
  /// "/parallel/pipeline=8 /schedule/name=1f1b".
  std::string text() const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> allowed_;
};

}  // namespace penstock
