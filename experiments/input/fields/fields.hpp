#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace penstock {

/// What a key takes, as a JSON schema. Error texts, completion and the viewer read it there.
class Takes {
 public:
  Takes(nlohmann::ordered_json schema);  // NOLINT(google-explicit-constructor)

  const nlohmann::ordered_json& schema() const { return *schema_; }

  /// Of a number, its bounds as the schema states them.
  std::pair<double, double> bounds() const;
  bool only_whole() const;

 private:
  std::shared_ptr<const nlohmann::ordered_json> schema_;
};

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr std::int64_t any_count = std::numeric_limits<std::int64_t>::max();

/// The same with a description.
Takes meaning(const Takes& takes, std::string_view about);

Takes truth();
Takes text();
Takes full_text();  // at least one character
/// One of these words; an enumeration has its enumerators in their order.
Takes words(std::initializer_list<std::string_view> all);
Takes number(double least = -unbounded, double most = unbounded);
Takes positive_number(double most);
Takes whole(std::int64_t least = -any_count, std::int64_t most = any_count);

// Numbers in the unit of their key, or texts with a unit.
Takes time_us();
Takes bytes();
Takes megabytes();
Takes bandwidth();
Takes watts();  // a plain number
// The same without bounds.
Takes any_time();
Takes any_bytes();
Takes any_bandwidth();

/// A list, with the least and the largest number of its items.
Takes list_of(const Takes& items, std::int64_t least = 0, std::int64_t most = any_count);
/// An object with at least one key, of any name.
Takes map_of(const Takes& values);
/// One value of either: types and bounds of both.
Takes either(const Takes& one, const Takes& other);

/// The same, or null.
Takes or_null(const Takes& takes);

/// What is merged into an object that takes this: some of its keys, with null for what is removed.
Takes patch_of(const Takes& takes);

/// What the schemas of the quantities above refer to.
const nlohmann::ordered_json& quantity_definitions();

/// How the viewer lets a hand turn a key.
struct Slider {
  std::string_view label;
  double low = 0, high = 0;  // of numbers; equal: a choice of words

  bool is_choice() const { return low == high; }
  /// Whether equal steps of the hand are equal ratios.
  bool logarithmic() const { return low > 0 && high >= 10 * low; }
};

/// A key of a section: what it takes, what it means, and where its value goes.
struct Field {
  std::string_view key;
  Takes takes;
  std::string_view about;
  /// Stores a value that was checked; empty for a key that is read elsewhere.
  std::function<void(const nlohmann::json& value, void* section)> read = {};
  bool of_costs = false;              // see `cost`
  std::optional<Slider> slider = {};  // see `turned`
};

/// The keys of an object in a file: from this table follow its schema and its reading, and from the
/// schema error texts, completion and nearest names.
struct Fields {
  std::string_view about;
  std::vector<Field> fields;
  std::vector<std::string_view> required = {};
  std::optional<Takes> others = {};  // what any other key takes; empty: there is none
};

/// The same with more keys.
Fields with(Fields fields, std::initializer_list<const std::vector<Field>*> more);

/// The schema of an object with these keys.
Takes object_of(const Fields& fields);

/// The schema of files with these keys.
nlohmann::ordered_json schema_of(const Fields& fields, const char* title = "");

/// A number that changes prices of a plan, and nothing else of a run.
Field cost(Field field);

/// A key that the viewer shows a slider for, or a choice of its words.
Field turned(Field field, const Slider& slider);

/// The field of a key; nullptr if there is none.
const Field* find_field(const Fields& fields, std::string_view key);

/// "description", which nothing reads.
Field note();

/// Stores the keys that an object states. The schema has checked them.
void read_fields(const Fields& fields, const nlohmann::json& object, void* section);

/// The keys of an object that are none of these.
std::vector<std::string> other_keys(const Fields& fields, const nlohmann::json& object);

void read_value(const nlohmann::json& value, bool& target);
void read_value(const nlohmann::json& value, double& target);
void read_value(const nlohmann::json& value, std::uint32_t& target);
void read_value(const nlohmann::json& value, std::uint64_t& target);
void read_value(const nlohmann::json& value, std::int64_t& target);
void read_value(const nlohmann::json& value, std::string& target);
/// Numbers by name.
void read_value(const nlohmann::json& object, std::map<std::string, double, std::less<>>& target);
/// The place of a word in what a key takes.
std::uint8_t word_number(const nlohmann::json& value, const Takes& takes);
/// Runs a step for each item of a list.
void for_each_item(const nlohmann::json& list,
                   const std::function<void(const nlohmann::json&)>& step);

template <class Target>
void read_value(const nlohmann::json& value, std::optional<Target>& target) {
  read_value(value, target.emplace());
}
/// Numbers with a type of their own: Stage, Rank.
template <class Number>
requires(std::is_enum_v<Number> && sizeof(Number) == 4) void read_value(const nlohmann::json& value,
                                                                        Number& target) {
  std::uint32_t number = 0;
  read_value(value, number);
  target = Number{number};
}
template <class Item>
void read_value(const nlohmann::json& list, std::vector<Item>& target) {
  target.clear();
  for_each_item(list, [&](const nlohmann::json& item) { read_value(item, target.emplace_back()); });
}

/// A structure with keys of its own.
template <class Structure>
requires requires(Structure& structure) { fields_of(structure); }
void read_value(const nlohmann::json& object, Structure& target) {
  read_fields(fields_of(target), object, &target);
}

/// Words: an enumeration of bytes, whose enumerators are in the order of the words.
template <class Word>
concept IsWord = std::is_enum_v<Word> && sizeof(Word) == 1;

template <class Target>
void read_value(const nlohmann::json& value, const Takes& /*takes*/, Target& target) {
  read_value(value, target);
}
template <IsWord Word>
void read_value(const nlohmann::json& value, const Takes& takes, Word& target) {
  target = Word{word_number(value, takes)};
}
template <IsWord Word>
void read_value(const nlohmann::json& value, const Takes& takes, std::optional<Word>& target) {
  target = Word{word_number(value, takes)};
}

template <class Class, class Value>
Class class_of_member(Value Class::*);

/// A key whose value is a member, or a member of a member.
template <auto member, auto... inner>
Field field(std::string_view key, const Takes& takes, std::string_view about = "") {
  using Section = decltype(class_of_member(member));
  return {key, takes, about, [takes](const nlohmann::json& value, void* section) {
            read_value(value, takes, ((static_cast<Section*>(section)->*member).*....*inner));
          }};
}

/// The keys of a member, as keys of its section.
template <auto member>
std::vector<Field> within(std::vector<Field> fields) {
  using Section = decltype(class_of_member(member));
  for (Field& field : fields) {
    field.read = [read = field.read](const nlohmann::json& value, void* section) {
      read(value, &(static_cast<Section*>(section)->*member));
    };
  }
  return fields;
}

/// A key whose value is read by a function.
template <class Section>
Field field(std::string_view key, const Takes& takes, std::string_view about,
            void (*read)(const nlohmann::json& value, Section& section)) {
  return {key, takes, about, [read](const nlohmann::json& value, void* section) {
            read(value, *static_cast<Section*>(section));
          }};
}

}  // namespace penstock
