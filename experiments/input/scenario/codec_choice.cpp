#include "experiments/input/scenario/codec_choice.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace penstock {

std::string encoding_text(const CodecSpec& codec) {
  std::string text = codec.name;
  for (const auto& number : codec.numbers) {
    text += fmt::format(" {} {}", number.first, number.second);
  }
  return text;
}

std::string encoding_text(const Encoding& encoding) {
  if (const auto* codec = std::get_if<CodecSpec>(&encoding)) return encoding_text(*codec);
  return std::holds_alternative<AutoCodec>(encoding) ? "auto" : "none";
}

nlohmann::ordered_json encoding_json(const CodecSpec& codec) {
  nlohmann::ordered_json document{{"name", codec.name}};
  for (const auto& number : codec.numbers) {
    const auto whole = static_cast<std::int64_t>(number.second);  // the largest option is 1e9
    if (static_cast<double>(whole) == number.second) {
      document[number.first] = whole;
    } else {
      document[number.first] = number.second;
    }
  }
  return document;
}

nlohmann::ordered_json encoding_json(const Encoding& encoding) {
  if (const auto* codec = std::get_if<CodecSpec>(&encoding)) return encoding_json(*codec);
  const auto* choice = std::get_if<AutoCodec>(&encoding);
  if (choice == nullptr) return {{"name", "none"}};
  return {{"name", "auto"},
          {"least_sqnr_db", choice->budget.least_sqnr_db},
          {"most_flushed", choice->budget.most_flushed}};
}

}  // namespace penstock
