#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// The names of a registry or a table, one by one.
template <class Entries>
std::vector<std::string> words_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    if constexpr (requires { entry->name; }) {
      names.emplace_back(entry->name);
    } else {
      names.emplace_back(entry.name);
    }
  }
  return names;
}

/// The precisions of /model/dtype.
std::vector<std::string> dtype_words();

// Values that shell completion offers for what is typed so far.

std::vector<std::string> suggested_schedules(std::string_view typed);
/// Schedules separated by commas; those already typed are kept.
std::vector<std::string> suggested_schedule_lists(std::string_view typed);
/// The same, or "all".
std::vector<std::string> suggested_schedules_or_all(std::string_view typed);
/// Machines of the catalogue.
std::vector<std::string> suggested_machines(std::string_view typed);
std::vector<std::string> suggested_partitioners(std::string_view typed);
/// Formats of model files.
std::vector<std::string> suggested_model_formats(std::string_view typed);
std::vector<std::string> suggested_architectures(std::string_view typed);
/// "/POINTER=" for every key of a scenario; after the equals sign, its known values.
std::vector<std::string> suggested_settings(std::string_view typed);
/// The same with several values, separated by commas.
std::vector<std::string> suggested_axes(std::string_view typed);
/// The same without what layouts choose.
std::vector<std::string> suggested_changes(std::string_view typed);
/// The same of what layouts choose.
std::vector<std::string> suggested_layout_values(std::string_view typed);
/// Releases of PyTorch whose lowering is known.
std::vector<std::string> suggested_torch(std::string_view typed);
/// "KEY=" for every option of a schedule; after the equals sign, its known values.
std::vector<std::string> suggested_options(std::string_view typed);
/// The known values of a key of a scenario.
std::vector<std::string> suggested_values(std::string_view pointer);

}  // namespace penstock
