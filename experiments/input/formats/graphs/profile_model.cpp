#include "experiments/input/formats/graphs/profile_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_output.hpp"

namespace penstock {
namespace {

constexpr std::int64_t most_items = 1'000'000;

Takes id_of_row() { return whole(1, 9'007'199'254'740'991); }

}  // namespace

const Fields& fields_of(const MeasuredRow& /*row*/) {
  using R = MeasuredRow;
  static const Fields fields{
      "",
      {field<&R::id>("id", id_of_row()),
       field<R>("state", words({"valid", "suspect"}), "",
                [](const nlohmann::json& state, R& row) { row.suspect = state == "suspect"; }),
       field<&R::kernel>("kernel", text()), field<&R::pass>("pass", text()),
       field<&R::shape>("shape", text()), field<&R::measured_at>("measured_at", text())},
      {"id", "state", "kernel", "pass", "shape", "measured_at"}};
  return fields;
}

const Fields& fields_of(const ProfilePoint& /*point*/) {
  using P = ProfilePoint;
  static const Fields fields = [] {
    Fields all{"", {}, {"examples", "forward_us"}};
    all.fields.push_back(field<&P::examples>(
        "examples", number(ProfileRange::least_examples, ProfileRange::most_examples),
        "how many ran at once"));
    for (const ProfileNumber& one : profile_numbers) {
      all.fields.push_back(
          {one.name, number(0, one.most), "", [&one](const nlohmann::json& value, void* to) {
             static_cast<P*>(to)->*one.value = value.get<double>();
           }});
    }
    all.fields.push_back(
        field<&P::rows>("rows", list_of(id_of_row(), 0, 16), "of the store, by their ids"));
    return all;
  }();
  return fields;
}

const Fields& fields_of(const ProfileEntry& /*entry*/) {
  using E = ProfileEntry;
  static const Fields fields{
      "",
      {field<&E::layer>("name", full_text(),
                        "of the layer, or the kind of all layers that it speaks for"),
       field<&E::parameter_bytes>("parameter_bytes", number(0, Limits::bytes)),
       field<&E::numbers>("numbers", object_of({"", {}, {}, number()}),
                          "of those layers of the kind that it speaks for, as in a model's "
                          "\"layers\"; otherwise all of the kind"),
       field<&E::sequence>("sequence", number(1, 1e12),
                           "tokens of an example that it speaks for; otherwise any"),
       field<E>("counts", words({"examples", "tokens"}),
                "what \"examples\" of the points are; otherwise examples",
                [](const nlohmann::json& counts, E& entry) {
                  entry.counts_tokens = counts == "tokens";
                }),
       field<&E::points>("points", list_of(object_of(fields_of(ProfilePoint{})), 1, most_items),
                         "what it took, on different numbers of examples in any order")},
      {"name", "points"}};
  return fields;
}

const Fields& fields_of(const Profile& /*profile*/) {
  using P = Profile;
  static const Fields fields{
      "layers as they were measured",
      {field<&P::device>("device", text(), "on which it was measured"),
       field<P>("environment", object_of({"", {}, {}, text()}),
                "where it was measured, as a profile store says",
                [](const nlohmann::json& facts, P& profile) { facts.get_to(profile.environment); }),
       {"taken_at", text(), "when this was taken from a profile store, UTC"},
       field<&P::rows>("rows", list_of(object_of(fields_of(MeasuredRow{})), 0, most_items),
                       "of the store, those that points are taken from"),
       field<&P::entries>("layers", list_of(object_of(fields_of(ProfileEntry{})), 1, most_items),
                          "the layers of a model, or the kinds of layer that were measured"),
       {"checksum", text(), "of a snapshot, over the rest of its profile"},
       {"edges", list_of(list_of(whole(0, Limits::layers - 1), 2, 2), 0, most_items),
        "pairs [from, to] of layers; without them each layer feeds the next"}},
      {"layers"}};
  return fields;
}

std::string_view profile_schema() {
  static const std::string text = printed(
      schema_of({"",
                 {{"penstock", nlohmann::ordered_json{{"enum", {1}}}, "version of this format"},
                  note(),
                  {"profile", object_of(fields_of(Profile{}))}},
                 {"penstock", "profile"}},
                "Penstock profile"));
  return text;
}

std::pair<std::size_t, bool> ProfileBuilder::mention(ProfileEntry layer) {
  std::string key = layer.layer;
  for (const auto& [name, value] : layer.numbers) key += fmt::format("\n{}={}", name, value);
  if (layer.sequence) key += fmt::format("\nsequence {}", *layer.sequence);
  if (layer.counts_tokens) key += "\ntokens";
  const auto [found, first] = positions_.emplace(std::move(key), profile_.entries.size());
  if (first) {
    profile_.entries.push_back(std::move(layer));
    examples_.emplace_back();
  }
  return {found->second, first};
}

bool ProfileBuilder::add(std::size_t layer, const ProfilePoint& point) {
  if (!examples_[layer].insert(point.examples).second) return false;
  profile_.entries[layer].points.push_back(point);
  return true;
}

void ProfileBuilder::set_parameter_bytes(std::size_t layer, double bytes) {
  profile_.entries[layer].parameter_bytes = bytes;
}

Profile ProfileBuilder::take() && {
  for (ProfileEntry& entry : profile_.entries) {
    std::ranges::sort(entry.points, {}, &ProfilePoint::examples);
  }
  return std::move(profile_);
}

ModelFile model_of(Profile profile) {
  ModelFile file;
  for (const ProfileEntry& entry : profile.entries) {
    Layer layer;
    layer.name = entry.layer;
    layer.parameter_bytes = entry.parameter_bytes;
    file.graph.layers.push_back(std::move(layer));
  }
  file.graph.connect_as_chain();
  file.profile = std::move(profile);
  return file;
}

}  // namespace penstock
