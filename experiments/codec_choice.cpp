#include "experiments/codec_choice.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/json_input.hpp"
#include "sim/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

void check_none(const CodecSpec& spec) {
  if (spec.numbers.empty()) return;
  const std::string& key = spec.numbers.begin()->first;
  throw InputError(pointer_step(key),
                   fmt::format("unknown key \"{}\"; none takes no options", key));
}

/// A codec by its name alone, or with options.
CodecSpec read_spec(const json& codec) {
  if (codec.is_string()) return {codec.get<std::string>(), {}};
  CodecSpec spec;
  for (const auto& [key, value] : codec.items()) {
    if (key == "name") {
      spec.name = value;
    } else {
      spec.numbers[key] = value;
    }
  }
  return spec;
}

std::optional<CodecSpec> read_codec(const json& section, const char* key) {
  if (!section.contains(key)) return std::nullopt;
  const json& codec = section[key];
  CodecSpec spec = read_spec(codec);
  const std::string place = std::string("/codec/") + key;
  try {
    if (spec.name != "none") {
      bits_per_value(spec);  // refuses what does not fit
      return spec;
    }
    check_none(spec);
    return std::nullopt;
  } catch (const InputError& error) {
    throw InputError(codec.is_string() ? place : place + error.where(), error.what());
  }
}

}  // namespace

CodecChoice read_codec_choice(const json& section) {
  CodecChoice choice;
  choice.stash = read_codec(section, "stash");
  choice.link = read_codec(section, "link");
  take(section, "overlappable", choice.overlappable);
  take(section, "encode_bytes_per_s", choice.encode_bytes_per_s);
  take(section, "decode_bytes_per_s", choice.decode_bytes_per_s);
  return choice;
}

}  // namespace penstock
