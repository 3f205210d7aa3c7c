#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/fields/fields.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/codec_choice.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {

const Fields& fields_of(const ErrorBudget& /*budget*/) {
  using B = ErrorBudget;
  static const Fields fields{
      "",
      {{"name", text(), "a codec, none, or auto"},
       field<&B::least_sqnr_db>("least_sqnr_db", number(0, 200),
                                "of auto: least ratio of signal to quantization noise, default 25"),
       field<&B::most_flushed>("most_flushed", number(0, 1),
                               "of auto: largest share of values that become zero, default 0.05"),
       {"among", list_of(text(), 1, 100), "of auto: the codecs to choose from, default all"}},
      {"name"},
      meaning(number(), "an option of the codec")};
  return fields;
}

const Fields& fields_of(const ValueDistribution& /*values*/) {
  using V = ValueDistribution;
  static const Fields fields{
      "",
      {field<&V::tail_share>("tail_share", number(0, 1), "share of values in the tail, default 0"),
       field<&V::tail_factor>("tail_factor", number(1, 1e6),
                              "scale of values in the tail, default 30"),
       field<&V::rectified>("rectified", truth(), "after a ReLU")}};
  return fields;
}

namespace {

using nlohmann::json;

[[noreturn]] void unknown_key(const std::string& key, const std::string& taken) {
  throw InputError(pointer_step(key), fmt::format("unknown key \"{}\"; {}", key, taken));
}

/// A codec with its options, which are all numbers.
CodecSpec read_spec(const json& codec) {
  CodecSpec spec{codec["name"], {}};
  for (const auto& [key, value] : codec.items()) {
    if (key == "name") continue;
    if (!value.is_number()) unknown_key(key, "it goes with the name auto");
    spec.numbers[key] = value;
  }
  return spec;
}

void check_none(const json& codec) {
  for (const auto& item : codec.items()) {
    if (item.key() != "name") unknown_key(item.key(), "none takes no options");
  }
}

std::vector<const CodecEntry*> entries_of(const json& names) {
  std::vector<const CodecEntry*> entries;
  for (const json& name : names) {
    entries.push_back(below(fmt::format("/among/{}", entries.size()), [&] {
      const CodecEntry* entry = find_named(codec_entries(), name.get<std::string>());
      if (entry != nullptr) return entry;
      throw InputError(fmt::format("unknown name \"{}\"; known: {}", name.get<std::string>(),
                                   names_of(codec_entries())));
    }));
  }
  return entries;
}

std::string looks_text(const Looks& looks) {
  return looks.name.empty() ? "the distribution" : "\"" + looks.name + "\"";
}

AutoCodec read_auto(const json& codec, const Looks& looks) {
  const std::vector<std::string> others = other_keys(fields_of(ErrorBudget{}), codec);
  if (!others.empty()) unknown_key(others.front(), "auto takes least_sqnr_db, most_flushed, among");
  AutoCodec chosen;
  read_value(codec, chosen.budget);
  std::vector<const CodecEntry*> among(codec_entries().begin(), codec_entries().end());
  if (codec.contains("among")) among = entries_of(codec["among"]);
  FormatSearch found = search_formats(among, chosen.budget, looks.values);
  if (found.formats.empty()) {
    throw InputError(fmt::format(
        "no format keeps values of {} {} dB above their error with at most {} of them lost to "
        "zero; the closest, {}, comes to {:.1f} dB and {:.2g}",
        looks_text(looks), chosen.budget.least_sqnr_db, chosen.budget.most_flushed,
        encoding_text(found.best.codec), found.best.error.sqnr_db, found.best.error.flushed_share));
  }
  chosen.formats = std::move(found.formats);
  return chosen;
}

Encoding read_object(const json& codec, const Looks& looks) {
  const std::string name = codec["name"];
  if (name == "auto") return read_auto(codec, looks);
  if (name == "none") {
    check_none(codec);
    return {};
  }
  CodecSpec spec = read_spec(codec);
  bits_per_value(spec);  // checks the options
  return spec;
}

Looks read_looks(const json& distribution) {
  if (distribution.is_object()) {
    Looks looks{.name = "", .values = {}};
    read_value(distribution, looks.values);
    return looks;
  }
  const std::string name = distribution;
  for (const NamedDistribution& one : named_distributions()) {
    if (one.name == name) return {name, one.values};
  }
  throw InputError("/codec/distribution",
                   fmt::format("unknown name \"{}\"; known: {}", name,
                               joined(named_distributions(), &NamedDistribution::name)));
}

}  // namespace

Encoding read_encoding(const json& codec, const std::string& place, const Looks& looks) {
  if (codec.is_object()) return below(place, [&] { return read_object(codec, looks); });
  try {
    return read_object({{"name", codec}}, looks);
  } catch (const InputError& error) {
    throw InputError(place, error.what());  // a plain name has no place below it
  }
}

Takes encoding() { return either(text(), object_of(fields_of(ErrorBudget{}))); }

const Fields& codec_fields() {
  using C = CodecChoice;
  static const Fields fields{
      "how activations are compressed: none, a codec by name, or {\"name\": a codec, its options}; "
      "see penstock list codecs. auto: what each stage needs, within an error budget; see "
      "hardware_models/README.md",
      {note(),
       {"stash", encoding(), "while they are kept from F to B or W"},
       {"link", encoding(), "on links between ranks; the same for gradients that come back"},
       {"distribution", either(text(), object_of(fields_of(ValueDistribution{}))),
        "distribution of activations, for codec errors: gauss (the default), relu, heavy-tailed, "
        "or parameters of a normal distribution"},
       {"training", codec_training()},
       field<&C::overlappable>("overlappable", truth(),
                               "encoding and decoding overlap with the layers of their pass, which "
                               "takes the longer of the two"),
       field<&C::encode_bytes_per_s>("encode_bytes_per_s", bandwidth(),
                                     "bytes read and written by encoding per second; default: "
                                     "memory bandwidth of the machine"),
       field<&C::decode_bytes_per_s>("decode_bytes_per_s", bandwidth(), "the same for decoding")}};
  return fields;
}

CodecChoice read_codec_choice(const json& section) {
  CodecChoice choice;
  if (section.contains("distribution")) choice.looks = read_looks(section["distribution"]);
  const auto read = [&](const char* key, Encoding& target) {
    if (!section.contains(key)) return;
    target = read_encoding(section[key], std::string("/codec/") + key, choice.looks);
  };
  read("stash", choice.stash);
  read("link", choice.link);
  if (section.contains("training")) {
    if (section.contains("stash")) {
      throw InputError("/codec/stash",
                       "\"stash\" conflicts with \"training\", which says how stashes are encoded");
    }
    choice.phases = read_codec_phases(section["training"], choice.looks);
    choice.stash = choice.phases.front().stash;
  }
  read_fields(codec_fields(), section, &choice);
  return choice;
}

}  // namespace penstock
