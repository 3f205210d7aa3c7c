#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/numbers.hpp"

namespace penstock {

/// What a schedule is asked for: microbatches and the options of its rule.
struct ScheduleOptions {
  std::uint32_t microbatch_count = 1;
  std::map<std::string, std::string, std::less<>> settings;  // the options of the rule, as text

  Numbers<Microbatch> microbatches() const { return Numbers<Microbatch>(microbatch_count); }
  /// A positive whole number, or `otherwise` when the option is missing. Throws RuleError.
  std::uint32_t number(std::string_view name, std::uint32_t otherwise) const;
  /// One of `values`, the first by default. Throws RuleError.
  std::string_view choice(std::string_view name, std::span<const std::string_view> values) const;
};

/// An option of a rule.
struct ScheduleOption {
  std::string_view name;
  std::string_view summary;  // its values and its default
};

/// The rule does not take this option.
class UnknownOption : public RuleError {
 public:
  UnknownOption(std::string name, const std::string& what)
      : RuleError(what), name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// Throws UnknownOption for an option that is not in the list.
void check_options(std::string_view rule, std::span<const ScheduleOption> known,
                   const ScheduleOptions& options);

}  // namespace penstock
