#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/formats/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock::pipedream_conf_file {
namespace {

using nlohmann::json;

/// Quotes bare number keys: some of these files are written by hand, as {"0": [0], 1: [1]}.
std::string with_quoted_keys(std::string_view text) {
  constexpr std::string_view digits = "0123456789";
  std::string quoted;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(digits, at), text.size());
    const std::size_t next = std::min(text.find_first_not_of(" \t", end), text.size());
    if (!in_string && end > at && next < text.size() && text[next] == ':') {
      quoted += fmt::format("\"{}\"", text.substr(at, end - at));
      at = end;
      continue;
    }
    const std::size_t stop = std::max(end, at + 1);
    if (end == at && text[at] == '"') in_string = !in_string;
    quoted += text.substr(at, stop - at);
    at = stop;
  }
  return quoted;
}

json parsed(std::string_view text, std::vector<std::string>& notes) {
  try {
    return parse_json(text);
  } catch (const InputError&) {
    const std::string quoted = with_quoted_keys(text);
    if (quoted == text || !is_json(quoted)) throw;
    notes.emplace_back("numbers stand as keys without quotes, which is no JSON; read as if quoted");
    return parse_json(quoted);
  }
}

/// The stage named by a key of an object.
std::uint32_t stage_of(const std::string& key, const JsonView& value, std::size_t stages) {
  if (const auto stage = whole_number<std::uint32_t>(key); stage && *stage < stages) return *stage;
  value.fail(fmt::format("there is no stage \"{}\"; module_to_stage_map has the stages 0 to {}",
                         key, stages - 1));
}

std::vector<std::vector<LayerIndex>> stages_in(const JsonView& map) {
  std::vector<std::vector<LayerIndex>> stages;
  const std::vector<JsonView> modules = map.items();
  if (modules.empty()) map.fail("there are no modules; one at least is needed");
  for (std::uint32_t module = 0; module < modules.size(); ++module) {
    const auto most =
        static_cast<std::uint32_t>(std::min<std::size_t>(modules.size(), Limits::stages) - 1);
    const std::uint32_t stage = modules[module].whole(most);
    if (stage >= stages.size()) stages.resize(stage + 1);
    stages[stage].push_back(LayerIndex{module});
  }
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    if (!stages[stage].empty()) continue;
    map.fail(
        fmt::format("no module is of stage {}; stages are numbered from 0 without gaps", stage));
  }
  return stages;
}

std::vector<std::vector<Rank>> ranks_in(const JsonView& map, std::size_t stages) {
  std::vector<std::vector<Rank>> ranks(stages);
  std::vector<bool> taken(Limits::ranks);
  for (const auto& entry : map.entries()) {
    auto& of_stage = ranks[stage_of(entry.first, entry.second, stages)];
    for (const JsonView& item : entry.second.items()) {
      const std::uint32_t rank = item.whole(Limits::ranks - 1);
      if (taken[rank]) item.fail(fmt::format("rank {} appears twice; a rank has one stage", rank));
      taken[rank] = true;
      of_stage.push_back(Rank{rank});
    }
  }
  for (std::size_t stage = 0; stage < stages; ++stage) {
    if (!ranks[stage].empty()) continue;
    map.fail(fmt::format("stage {} has no ranks; each stage needs one at least", stage));
  }
  return ranks;
}

void check_depths(const JsonView& map, std::size_t stages) {
  for (const auto& entry : map.entries()) {
    stage_of(entry.first, entry.second, stages);
    entry.second.whole(Limits::microbatches);
  }
}

bool recognizes(std::string_view text) {
  return has_outer_key(text, "module_to_stage_map") || has_outer_key(text, "stage_to_rank_map");
}

ModelFile read_model(std::string_view text, const ModelFileOptions& /*options*/) {
  ModelFile file;
  const json document = parsed(text, file.notes);
  const JsonView view(document);
  file.stages = stages_in(view.at("module_to_stage_map"));
  file.ranks = ranks_in(view.at("stage_to_rank_map"), file.stages.size());
  file.notes.emplace_back(
      "the layers of its stages are modules of PipeDream's generated code; the file describes no "
      "layers");
  if (const auto depths = view.find("stage_to_depth_map")) {
    check_depths(*depths, file.stages.size());
    file.notes.emplace_back(
        "stage_to_depth_map, the minibatches that a stage is ahead, is left to the schedule");
  }
  return file;
}

}  // namespace

constinit extern const FormatEntry pipedream_conf_entry{
    .name = "pipedream-conf",
    .suffix = ".json",
    .summary = "the stages of a model and their ranks as PipeDream's runtime has them; read",
    .recognizes = recognizes,
    .read_model = read_model,
    .place = "/partition/file"};

}  // namespace penstock::pipedream_conf_file
