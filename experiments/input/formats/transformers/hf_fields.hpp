#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// An integer of a config: its alternative names, the first present one counts, and its range.
struct HfField {
  std::array<std::string_view, 3> names;
  const char* summary;
  double most;
  double least = 1;
};

/// The fields of a config, or of its text_config if present. Null counts as absent. All functions
/// throw InputError with a JSON pointer for a field of wrong type or size.
class HfFields {
 public:
  /// Keeps references to the document.
  explicit HfFields(const nlohmann::json& document);

  /// Numbers and flags of fields that the config leaves out; keeps a reference.
  void set_defaults(const nlohmann::json& defaults) { defaults_ = &defaults; }

  /// The fields of an object of the enclosing config, such as its vision_config.
  std::optional<HfFields> part(std::string_view name) const;

  std::optional<double> number(const HfField& field) const;
  double needed(const HfField& field) const;

  /// Any number from 0 to `most`.
  std::optional<double> rate(std::string_view name, double most) const;
  std::optional<bool> flag(std::string_view name) const;
  std::optional<std::string> word(std::string_view name) const;

  bool is_word(std::string_view name, std::string_view text) const;
  /// A list of words; nothing if the field is no list.
  std::optional<std::vector<std::string>> words(std::string_view name) const;
  /// The items of a list.
  std::optional<double> length(std::string_view name) const;

  /// A list with 0 or 1 per layer; nothing if the field is no list.
  std::optional<std::vector<bool>> layer_flags(std::string_view name, double layers) const;
  /// A list of layer numbers.
  std::optional<std::vector<std::size_t>> layer_list(std::string_view name, double layers) const;
  /// A list with one word per layer.
  std::optional<std::vector<std::string>> layer_words(std::string_view name, double layers) const;

  /// The JSON pointer of a field.
  std::string place(std::string_view name) const;

  /// A word of the text_config, or else of the enclosing config.
  std::optional<std::string> word_anywhere(std::string_view name) const;
  std::optional<bool> flag_anywhere(std::string_view name) const;
  /// The first word of a list.
  std::optional<std::string> first_word_anywhere(std::string_view name) const;

 private:
  HfFields(const nlohmann::json& object, const nlohmann::json& around, std::string place);
  HfFields around() const;
  const nlohmann::json* find(std::string_view name) const;

  const nlohmann::json* object_;
  const nlohmann::json* around_;
  const nlohmann::json* defaults_ = nullptr;
  std::string place_;
};

/// Python writes a number that JSON lacks, as in "time_step_limit" of Mamba-2; nothing here reads
/// it. It becomes a null of the same length, so that places in error texts stay.
std::string without_infinity(std::string_view text);

}  // namespace penstock
