#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/formats/reading/graph_order.hpp"
#include "experiments/formats/reading/json_view.hpp"
#include "experiments/formats/reading/profile_model.hpp"
#include "experiments/formats/registry.hpp"
#include "experiments/json_input.hpp"
#include "sim/error.hpp"
#include "sim/limits.hpp"

namespace penstock {
namespace {

using nlohmann::json;

std::optional<double> optional_number(const JsonView& view, std::string_view key, double most) {
  const auto found = view.find(key);
  if (!found) return std::nullopt;
  return found->number(0, most);
}

ProfilePoint point_of(const JsonView& view) {
  return {.examples =
              view.at("examples").number(ProfileRange::least_examples, ProfileRange::most_examples),
          .forward_us = optional_number(view, "forward_us", Limits::time_us),
          .backward_us = optional_number(view, "backward_us", Limits::time_us),
          .backward_input_us = optional_number(view, "backward_input_us", Limits::time_us),
          .backward_weight_us = optional_number(view, "backward_weight_us", Limits::time_us),
          .activation_bytes = optional_number(view, "activation_bytes", Limits::bytes),
          .stash_bytes = optional_number(view, "stash_bytes", Limits::bytes)};
}

void add_layer(const JsonView& view, ProfileBuilder& builder) {
  const auto [layer, first] = builder.mention(view.at("name").text());
  if (!first) {
    view.at("name").fail(
        fmt::format("layer {} has this name already; each layer has its own", layer));
  }
  builder.set_parameter_bytes(layer,
                              optional_number(view, "parameter_bytes", Limits::bytes).value_or(0));
  for (const JsonView& item : view.at("points").items()) {
    const ProfilePoint point = point_of(item);
    if (builder.add(layer, point)) continue;
    item.at("examples")
        .fail(fmt::format("there is a point of {} examples already; each number of "
                          "examples has one",
                          point.examples));
  }
}

Profile profile_of(const JsonView& view) {
  ProfileBuilder builder;
  for (const JsonView& item : view.at("layers").items()) add_layer(item, builder);
  Profile profile = std::move(builder).take();
  if (const auto device = view.find("device")) profile.device = device->text();
  return profile;
}

LayerIndex end_of(const JsonView& view, std::size_t layers) {
  const std::uint32_t layer = view.whole(Limits::layers - 1);
  if (layer < layers) return LayerIndex{layer};
  view.fail(fmt::format("there is no layer {}; layers are 0 to {}", layer, layers - 1));
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

}  // namespace penstock
