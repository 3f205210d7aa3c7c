#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The further values that no row with a result has so far.
class MissingValues {
 public:
  explicit MissingValues(const std::vector<std::string>& pointers) : pointers_(pointers) {}

  /// Looks in whole rows.
  void look_in(std::string_view rows);
  /// "no row has a value at /nope; …"; empty if none is missing, or no row has a result.
  std::string text() const;

 private:
  void look_in_row(std::string_view row);

  std::vector<std::string> pointers_;
  bool with_result_ = false;
};

}  // namespace penstock
