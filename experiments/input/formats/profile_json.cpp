#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/formats/graphs/layer_graph.hpp"
#include "experiments/input/formats/graphs/profile_model.hpp"
#include "experiments/input/formats/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock::profile_json_file {
namespace {

using nlohmann::json;

std::optional<double> optional_number(const JsonView& view, std::string_view key, double most) {
  const auto found = view.find(key);
  if (!found) return std::nullopt;
  return found->number(0, most);
}

std::int64_t row_id(const JsonView& view) {
  return static_cast<std::int64_t>(view.number(1, 9007199254740991.0));
}

/// The ids of the store rows behind a point. The schema has checked them.
std::vector<std::int64_t> row_ids(const JsonView& view, const std::set<std::int64_t>& known) {
  std::vector<std::int64_t> ids;
  const auto rows = view.find("rows");
  if (!rows) return ids;
  for (const JsonView& row : rows->items()) {
    ids.push_back(row_id(row));
    if (known.contains(ids.back())) continue;
    row.fail(fmt::format("there is no row {} in /profile/rows", ids.back()));
  }
  return ids;
}

ProfilePoint point_of(const JsonView& view, const std::set<std::int64_t>& rows) {
  return {.examples =
              view.at("examples").number(ProfileRange::least_examples, ProfileRange::most_examples),
          .forward_us = optional_number(view, "forward_us", Limits::time_us),
          .backward_us = optional_number(view, "backward_us", Limits::time_us),
          .backward_input_us = optional_number(view, "backward_input_us", Limits::time_us),
          .backward_weight_us = optional_number(view, "backward_weight_us", Limits::time_us),
          .activation_bytes = optional_number(view, "activation_bytes", Limits::bytes),
          .stash_bytes = optional_number(view, "stash_bytes", Limits::bytes),
          .rows = row_ids(view, rows)};
}

/// The name of a layer or kind, and the layers of that kind that it covers.
ProfileEntry entry_of(const JsonView& view) {
  ProfileEntry entry{.layer = view.at("name").text()};
  if (const auto numbers = view.find("numbers")) {
    for (const auto& [name, value] : numbers->entries()) {
      entry.numbers[name] = value.number(-1e18, 1e18);
    }
  }
  entry.sequence = optional_number(view, "sequence", 1e12);
  if (const auto counts = view.find("counts")) entry.counts_tokens = counts->text() == "tokens";
  const bool narrowed = entry.sequence || entry.counts_tokens;
  if (!narrowed || !entry.numbers.empty()) return entry;
  view.at("name").fail("\"sequence\" and \"counts\" go with \"numbers\" of a kind");
}

std::vector<MeasuredRow> rows_of(const JsonView& view) {
  std::vector<MeasuredRow> rows;
  const auto listed = view.find("rows");
  if (!listed) return rows;
  for (const JsonView& row : listed->items()) {
    rows.push_back({.id = row_id(row.at("id")),
                    .suspect = row.at("state").text() == "suspect",
                    .kernel = row.at("kernel").text(),
                    .pass = row.at("pass").text(),
                    .shape = row.at("shape").text(),
                    .measured_at = row.at("measured_at").text()});
    if (rows.size() < 2 || rows.back().id > rows.end()[-2].id) continue;
    row.at("id").fail("rows stand in ascending order, each once");
  }
  return rows;
}

void add_layer(const JsonView& view, const std::set<std::int64_t>& rows, ProfileBuilder& builder) {
  const auto [layer, first] = builder.mention(entry_of(view));
  if (!first) {
    view.at("name").fail(
        fmt::format("layer {} has this name already; each layer has its own", layer));
  }
  builder.set_parameter_bytes(layer,
                              optional_number(view, "parameter_bytes", Limits::bytes).value_or(0));
  for (const JsonView& item : view.at("points").items()) {
    const ProfilePoint point = point_of(item, rows);
    if (builder.add(layer, point)) continue;
    item.at("examples")
        .fail(fmt::format("there is a point of {} examples already; each number of "
                          "examples has one",
                          point.examples));
  }
}

Profile profile_of(const JsonView& view) {
  std::vector<MeasuredRow> rows = rows_of(view);
  std::set<std::int64_t> known;
  for (const MeasuredRow& row : rows) known.insert(row.id);
  ProfileBuilder builder;
  for (const JsonView& item : view.at("layers").items()) add_layer(item, known, builder);
  Profile profile = std::move(builder).take();
  profile.rows = std::move(rows);
  if (const auto device = view.find("device")) profile.device = device->text();
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
  ModelFile file = model_of(profile_of(view));
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
        "read (profile.schema.json describes it)",
    .recognizes = recognizes,
    .read_model = read_model};

}  // namespace penstock::profile_json_file
