#include "experiments/input/scenario/batch_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/scenario/section_parts.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

constexpr std::uint32_t most_tokens = 1'000'000'000;

Takes tokens() { return whole(1, most_tokens); }

/// Reads each line that has something with `read(text, place)`, which returns nothing for what is
/// wrong, or throws InputError with the place.
template <class Entry, class Read>
std::vector<Entry> read_lines(const std::string& path, const char* needed, Read read) {
  const std::string text = read_file(path);
  std::vector<Entry> entries;
  std::string_view rest = without_byte_order_mark(text);
  for (std::size_t line = 1; !rest.empty(); ++line) {
    std::string_view own = take_line(rest);
    own = trimmed(own.substr(0, own.find('#')));
    if (own.empty()) continue;
    const std::string place = fmt::format("line {}", line);
    about_file(path, [&] {
      const std::optional<Entry> entry = read(own, place);
      if (!entry) throw InputError(place, fmt::format("it is not {}", needed));
      entries.push_back(*entry);
    });
  }
  if (entries.empty()) {
    throw in_file(path, InputError("", fmt::format("it has no lines; each must have {}", needed)));
  }
  return entries;
}

/// Throws InputError unless the tokens of a document include those from pictures.
void check_pictures(const Document& document, const std::string& place) {
  if (document.pictures.value_or(0) <= document.tokens) return;
  throw InputError(place, fmt::format("{} from pictures are more than the {} of the document",
                                      counted(*document.pictures, "token"), document.tokens));
}

/// "2048", or "2048 1024": tokens, and those from pictures.
std::optional<Document> document_of(std::string_view text, const std::string& place) {
  const std::size_t gap = text.find_first_of(" \t");
  const auto tokens = whole_number<std::uint32_t>(text.substr(0, gap));
  if (!tokens || *tokens < 1 || *tokens > most_tokens) return std::nullopt;
  Document document{.tokens = *tokens, .pictures = {}};
  if (gap == std::string_view::npos) return document;
  document.pictures = whole_number<std::uint32_t>(trimmed(text.substr(gap)));
  if (!document.pictures) return std::nullopt;
  check_pictures(document, place);
  return document;
}

/// Throws unless the section states these keys alone, beside those of `always`.
void check_keys(const json& section, const std::string& place,
                std::initializer_list<std::string_view> allowed, const std::string& what) {
  for (const auto& [key, value] : section.items()) {
    if (std::ranges::find(allowed, key) != allowed.end()) continue;
    throw InputError(place + "/" + key, fmt::format("it does not go with {}; leave it out", what));
  }
}

void require(const json& section, const char* key, const std::string& what) {
  if (section.contains(key)) return;
  throw InputError("/batch/lengths", fmt::format("{} needs \"{}\"", what, key));
}

void check_lengths(const json& section, const DocumentLengths& lengths) {
  const std::string place = "/batch/lengths";
  check_one_of(section, place.c_str(), {"file", "distribution", "histogram"});
  if (section.contains("file")) return check_keys(section, place, {"file", "random"}, "a file");
  if (section.contains("histogram"))
    return check_keys(section, place, {"histogram"}, "a histogram");
  const std::string law =
      fmt::format("a {} distribution", section["distribution"].get<std::string>());
  switch (*lengths.law) {
    case LengthLaw::lognormal:
      require(section, "mean", law);
      return check_keys(section, place, {"distribution", "mean", "sigma", "max"}, law);
    case LengthLaw::uniform:
      require(section, "max", law);
      check_keys(section, place, {"distribution", "min", "max"}, law);
      if (lengths.min <= *lengths.max) return;
      throw InputError(place + "/min",
                       fmt::format("{} is more than \"max\", {}", lengths.min, *lengths.max));
    case LengthLaw::fixed:
      require(section, "mean", law);
      return check_keys(section, place, {"distribution", "mean"}, law);
  }
}

void check_histogram(const DocumentLengths& lengths) {
  if (lengths.histogram.empty()) return;
  double sum = 0;
  for (std::size_t i = 0; i < lengths.histogram.size(); ++i) {
    const LengthBin& bin = lengths.histogram[i];
    sum += bin.weight;
    check_pictures({bin.tokens, bin.pictures},
                   fmt::format("/batch/lengths/histogram/{}/pictures", i));
  }
  if (sum > 0) return;
  throw InputError("/batch/lengths/histogram", "all weights are 0; one at least must be above it");
}

}  // namespace

const Fields& fields_of(const LengthBin& /*bin*/) {
  static const Fields fields{
      "",
      {field<&LengthBin::tokens>("tokens", tokens()),
       field<&LengthBin::pictures>("pictures", whole(0, most_tokens),
                                   "of them, from pictures; default: in proportion, as an example "
                                   "of the model has them"),
       field<&LengthBin::weight>("weight", number(0, 1e12), "relative number; default 1")},
      {"tokens"}};
  return fields;
}

const Fields& fields_of(const DocumentLengths& /*lengths*/) {
  using D = DocumentLengths;
  static const Fields fields{
      "tokens of documents",
      {field<&D::file>("file", full_text(),
                       "one document a line, as they follow each other: its tokens, and if stated "
                       "those from pictures; what follows a # is a comment"),
       field<&D::random>("random", truth(),
                         "with file: documents are drawn from it, with equal probability"),
       field<&D::law>("distribution", words({"lognormal", "uniform", "fixed"}),
                      "lognormal: mean, sigma and max; uniform: min and max; fixed: mean"),
       field<&D::mean>("mean", number(1, most_tokens), "before max cuts"),
       field<&D::sigma>("sigma", number(0, 5),
                        "lognormal: standard deviation of the logarithm, default 1"),
       field<&D::min>("min", tokens(), "default 1"),
       field<&D::max>("max", tokens(), "longer documents end there"),
       field<&D::histogram>("histogram", list_of(object_of(fields_of(LengthBin{})), 1, 1'000'000),
                            "documents are drawn by weight")}};
  return fields;
}

const Fields& fields_of(const RouterLoads& /*router*/) {
  using R = RouterLoads;
  static const Fields fields{
      "tokens that experts receive; a layer waits for the busiest device",
      {field<&R::skew>("skew", number(1, 1000),
                       "tokens of the busiest expert over the mean; which expert that is, differs "
                       "between layers and microbatches"),
       field<&R::file>("file", full_text(), "the load of each expert, one number a line")}};
  return fields;
}

const Fields& batch_fields() {
  using B = BatchSection;
  static const Fields fields{
      "documents of different lengths, packed into microbatches; without it all are equal",
      {note(), field<&B::lengths>("lengths", object_of(fields_of(DocumentLengths{}))),
       field<&B::pack>("pack", words({"none", "first-fit", "balanced", "by-cost"}),
                       "none: one document a microbatch; first-fit: the first with room; "
                       "balanced, by-cost: the same documents, longest or costliest first, to "
                       "the microbatch with the fewest tokens or the least time, which may "
                       "exceed tokens; default none"),
       field<&B::tokens>("tokens", tokens(),
                         "of a full microbatch, for which stated times and bytes are; default: "
                         "sequence x microbatch of the model"),
       field<&B::longer>("longer", words({"cut", "refuse"}),
                         "documents longer than tokens; default cut, into several documents"),
       field<&B::order>("order", words({"given", "longest-first", "shortest-first"}),
                        "of the microbatches of a replica, by their cost; default given"),
       field<&B::attention_share>("attention_share", number(0, 1),
                                  "of stated times, that which grows with the square of a "
                                  "document; of a microbatch that one document fills; default 0"),
       field<&B::router>("router", object_of(fields_of(RouterLoads{}))),
       field<&B::seed>("seed", whole(0, 9'007'199'254'740'991),
                       "other seeds draw other documents; default 1")},
      {"lengths"}};
  return fields;
}

std::optional<std::uint32_t> DocumentLengths::most_pictures() const {
  std::optional<std::uint32_t> most;  // nothing is less than any number
  for (const Document& one : documents) most = std::max(most, one.pictures);
  for (const LengthBin& one : histogram) most = std::max(most, one.pictures);
  return most;
}

BatchSection read_batch(const json& section, std::vector<Document> documents,
                        std::vector<double> loads) {
  BatchSection batch;
  read_fields(batch_fields(), section, &batch);
  check_lengths(section["lengths"], batch.lengths);
  check_histogram(batch.lengths);
  batch.lengths.documents = std::move(documents);
  if (batch.router) {
    check_one_of(section["router"], "/batch/router", {"skew", "file"});
    batch.router->loads = std::move(loads);
  }
  return batch;
}

std::vector<Document> read_lengths(const std::string& path) {
  const char* needed = "a number of tokens, from 1 to 1e9, or this and how many come from pictures";
  return read_lines<Document>(path, needed, document_of);
}

std::vector<double> read_loads(const std::string& path) {
  auto loads = read_lines<double>(path, "a load, from 0 to 1e12", [](std::string_view text, auto&) {
    auto number = plain_number(text);
    if (number && !(*number >= 0 && *number <= 1e12)) number.reset();
    return number;
  });
  double sum = 0;
  for (const double load : loads) sum += load;
  if (sum > 0) return loads;
  throw in_file(path, InputError("", "all loads are 0; one at least must be above it"));
}

}  // namespace penstock
