#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/formats/graphs/layer_graph.hpp"
#include "experiments/input/formats/graphs/profile_model.hpp"
#include "experiments/input/formats/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock::profile_json_file {
namespace {

using nlohmann::json;

/// The rows of the store stand in order, and those of points are among them.
void check_row_ids(const Profile& read) {
  for (std::size_t i = 1; i < read.rows.size(); ++i) {
    if (read.rows[i - 1].id < read.rows[i].id) continue;
    throw InputError(fmt::format("/profile/rows/{}/id", i),
                     "rows stand in ascending order, each once");
  }
  for (std::size_t e = 0; e < read.entries.size(); ++e) {
    const auto& points = read.entries[e].points;
    for (std::size_t p = 0; p < points.size(); ++p) {
      for (std::size_t r = 0; r < points[p].rows.size(); ++r) {
        const std::int64_t id = points[p].rows[r];
        if (std::ranges::binary_search(read.rows, id, {}, &MeasuredRow::id)) continue;
        throw InputError(fmt::format("/profile/layers/{}/points/{}/rows/{}", e, p, r),
                         fmt::format("there is no row {} in /profile/rows", id));
      }
    }
  }
}

/// A snapshot says what a store measured, so it is not to be changed by hand.
void check_sum(const json& profile) {
  const auto stated = profile.find("checksum");
  if (stated == profile.end() || *stated == profile_checksum(profile)) return;
  throw InputError("/profile/checksum",
                   "it is not that of the profile, which was changed; take the snapshot again "
                   "(penstock profile snapshot STORE -o FILE), or leave \"checksum\" out");
}

/// Adds a layer, or the layers of a kind.
void add_entry(ProfileEntry entry, const std::string& where, ProfileBuilder& builder) {
  const bool narrowed = entry.sequence || entry.counts_tokens;
  if (narrowed && entry.numbers.empty()) {
    throw InputError(where + "/name", "\"sequence\" and \"counts\" go with \"numbers\" of a kind");
  }
  const std::vector<ProfilePoint> points = std::exchange(entry.points, {});
  const auto [layer, first] = builder.mention(std::move(entry));
  if (!first) {
    throw InputError(where + "/name",
                     fmt::format("layer {} has this name already; each layer has its own", layer));
  }
  for (std::size_t p = 0; p < points.size(); ++p) {
    if (builder.add(layer, points[p])) continue;
    throw InputError(fmt::format("{}/points/{}/examples", where, p),
                     fmt::format("there is a point of {} examples already; each number of "
                                 "examples has one",
                                 points[p].examples));
  }
}

Profile profile_of(const json& document) {
  Profile read;
  read_value(document, read);
  check_row_ids(read);
  check_sum(document);
  ProfileBuilder builder;
  for (std::size_t i = 0; i < read.entries.size(); ++i) {
    add_entry(std::move(read.entries[i]), fmt::format("/profile/layers/{}", i), builder);
  }
  Profile profile = std::move(builder).take();
  profile.rows = std::move(read.rows);
  profile.device = std::move(read.device);
  profile.environment = std::move(read.environment);
  profile.unchecked = !document.contains("checksum");
  return profile;
}

LayerIndex end_of(const JsonView& view, std::size_t layers) {
  const std::uint32_t layer = view.whole(Limits::layers - 1);
  if (layer < layers) return LayerIndex{layer};
  view.fail(fmt::format("unknown layer {}; layers are 0 to {}", layer, layers - 1));
}

void read_edges(const JsonView& view, ModelGraph& graph) {
  graph.edges.clear();
  for (const JsonView& edge : view.items()) {
    const std::vector<JsonView> ends = edge.items();
    graph.edges.emplace_back(end_of(ends[0], graph.layers.size()),
                             end_of(ends[1], graph.layers.size()));
  }
  if (const auto wrong = edge_on_cycle(graph)) {
    throw InputError(fmt::format("{}/{}", view.where(), *wrong),
                     "the edge is part of a cycle; a model is a graph without cycles");
  }
}

bool recognizes(std::string_view text) { return has_outer_key(text, "profile"); }

ModelFile read_model(std::string_view text, const ModelFileOptions& /*options*/) {
  static const Schema schema(json::parse(profile_schema()));
  const json document = parse_json(text);
  schema.check(document);
  const JsonView view(document["profile"], "/profile");
  ModelFile file = model_of(profile_of(document["profile"]));
  for (std::size_t i = 0; i < file.graph.layers.size(); ++i) {
    file.graph.layers[i].source = fmt::format("/profile/layers/{}", i);
  }
  if (const auto edges = view.find("edges")) read_edges(*edges, file.graph);
  return file;
}

}  // namespace

constinit extern const FormatEntry profile_json_entry{
    .name = "profile-json",
    .suffix = ".json",
    .summary =
        "layers as they were measured at several microbatch sizes, with edges or without; "
        "read (penstock schema profile describes it)",
    .recognizes = recognizes,
    .read_model = read_model};

}  // namespace penstock::profile_json_file
