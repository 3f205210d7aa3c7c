#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/error_place.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/scenario/codec_choice.hpp"
#include "experiments/input/scenario/codec_phases.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"

namespace penstock {
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
  for (const auto& item : codec.items()) {
    constexpr std::array known{"name", "least_sqnr_db", "most_flushed", "among"};
    if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
      unknown_key(item.key(), "auto takes least_sqnr_db, most_flushed, among");
    }
  }
  AutoCodec chosen;
  take(codec, "least_sqnr_db", chosen.budget.least_sqnr_db);
  take(codec, "most_flushed", chosen.budget.most_flushed);
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
    take(distribution, "tail_share", looks.values.tail_share);
    take(distribution, "tail_factor", looks.values.tail_factor);
    take(distribution, "rectified", looks.values.rectified);
    return looks;
  }
  const std::string name = distribution;
  std::string known;
  for (const NamedDistribution& one : named_distributions()) {
    if (one.name == name) return {name, one.values};
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
  }
  throw InputError("/codec/distribution",
                   fmt::format("unknown name \"{}\"; known: {}", name, known));
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
  take(section, "overlappable", choice.overlappable);
  take(section, "encode_bytes_per_s", choice.encode_bytes_per_s);
  take(section, "decode_bytes_per_s", choice.decode_bytes_per_s);
  return choice;
}

}  // namespace penstock
