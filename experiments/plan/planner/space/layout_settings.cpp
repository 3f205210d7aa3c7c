#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/setting.hpp"
#include "experiments/plan/planner/space/training_task.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// A key that says something of some layouts alone, and is left out of the others.
struct PartialKey {
  std::string_view pointer;
  const char* recompute = nullptr;  // the mode that it goes with; nullptr: any
  std::string_view zeros = "0123";  // the ZeRO levels
};

constexpr std::array<PartialKey, 9> partial_keys{
    {{"/recompute/operators", "selective"},
     {"/recompute/together", "full"},
     {.pointer = "/parallel/overlap_gathers", .zeros = "12"},
     {.pointer = "/parallel/narrow_gathers", .zeros = "123"},
     {.pointer = "/parallel/bucket_bytes", .zeros = "012"},
     {.pointer = "/memory/shard_groups", .zeros = "123"},
     {.pointer = "/memory/prefetch_layers", .zeros = "3"},
     {.pointer = "/memory/gathered_bytes", .zeros = "3"},
     {.pointer = "/memory/whole_gradients", .zeros = "23"}}};

/// nullptr for a key that goes with any layout.
const PartialKey* partial_key(std::string_view pointer) {
  const auto found = std::ranges::find(partial_keys, pointer, &PartialKey::pointer);
  return found == partial_keys.end() ? nullptr : &*found;
}

bool goes_with(const PartialKey& key, std::uint32_t zero) {
  return key.zeros.find(static_cast<char>('0' + zero)) != key.zeros.npos;
}

/// Whether a setting says something of a layout.
bool applies(const SingleSetting& setting, const LayoutChoice& choice) {
  const PartialKey* key = partial_key(setting.pointer);
  if (key == nullptr) return true;
  const bool recomputes =
      key->recompute == nullptr ||
      (choice.recompute == key->recompute && !choice.recomputes_stages && choice.layers == 0);
  return recomputes && goes_with(*key, choice.zero);
}

/// Whether a pointer is another one or leads to it.
bool leads_to(std::string_view pointer, std::string_view other) {
  return other.starts_with(pointer) &&
         (other.size() == pointer.size() || other[pointer.size()] == '/');
}

}  // namespace

void refuse_one_order(const Scenario& scenario, const std::string& source) {
  const auto& schedule = scenario.schedule;
  const auto refuse = [&](const std::string& key, const char* what) {
    throw InputError(source, "/schedule/" + key, what);
  };
  if (schedule.communication == Communicating::written) {
    refuse("communication",
           "tensors of layouts move as soon as they are there; leave it out, and penstock search "
           "--communication places the SENDs and RECVs of one");
  }
  if (schedule.exchanges == Exchanges::apart) {
    refuse("exchanges",
           "layouts have exchanges inside passes; leave it out, and set it in the scenario of one");
  }
  if (schedule.settings.empty()) return;
  refuse(schedule.settings.begin()->first,
         "layouts choose the options of their schedules; leave it out");
}

void refuse_setting(const TrainingTask& task, const InputError& error) {
  const std::string& where = error.where();
  const bool other_file = !error.file().empty() && error.file() != task.source;
  if (other_file || where.empty()) return;
  for (const auto& [option, texts] :
       {std::pair{"--change", &task.changes}, std::pair{"--set", &task.settings}}) {
    for (const std::string& text : *texts) {
      for (const SingleSetting& setting : single_settings_of(option, text)) {
        if (!leads_to(where, setting.pointer) && !leads_to(setting.pointer, where)) continue;
        throw InputError(fmt::format("{} {}", option, text),
                         where == setting.pointer ? "" : where, error.message());
      }
    }
  }
}

bool goes_with_zero(std::string_view pointer, std::uint32_t zero) {
  const PartialKey* key = partial_key(pointer);
  return key == nullptr || goes_with(*key, zero);
}

LayoutChoice stated_layout(const TrainingTask& task) {
  LayoutChoice choice{.data = task.devices, .microbatch = task.microbatch};
  std::vector<SingleSetting> settings;
  for (const auto& [option, texts] :
       {std::pair{"--set", &task.settings}, {"--change", &task.changes}}) {
    for (const std::string& text : *texts) {
      for (SingleSetting& one : single_settings_of(option, text)) settings.push_back(one);
    }
  }
  for (const SingleSetting& setting : settings) {
    const PartialKey* key = partial_key(setting.pointer);
    if (key == nullptr || applies(setting, choice)) continue;
    if (key->recompute != nullptr) choice.recompute = key->recompute;
    if (key->zeros.size() < 4) choice.zero = static_cast<std::uint32_t>(key->zeros.front() - '0');
  }
  for (const SingleSetting& setting : settings) {
    if (applies(setting, choice)) continue;
    throw UsageError(fmt::format(
        "{}: no layout takes it beside the other settings; leave out one of them", setting.text()));
  }
  return choice;
}

void add_settings(std::string_view option, const std::vector<std::string>& settings,
                  const LayoutChoice& choice, ordered_json& document) {
  std::vector<SingleSetting> applied;
  std::vector<std::string> texts;
  for (const std::string& text : settings) {
    const std::vector<SingleSetting> all = single_settings_of(option, text);
    const std::size_t before = applied.size();
    for (const SingleSetting& setting : all) {
      if (applies(setting, choice)) applied.push_back(setting);
    }
    if (applied.size() == before + all.size()) {
      texts.push_back(text);
      continue;
    }
    for (std::size_t i = before; i < applied.size(); ++i) texts.push_back(applied[i].text());
  }
  if (applied.empty()) return;
  nlohmann::json checked = nlohmann::json::parse(document.dump());
  apply_settings(checked, texts, option);
  for (const SingleSetting& setting : applied) {
    document[ordered_json::json_pointer(setting.pointer)] = ordered_json::parse(setting.value);
  }
}

}  // namespace penstock
