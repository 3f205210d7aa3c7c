#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/fields/fields.hpp"

namespace penstock {

/// A document; unless it states how many of its tokens come from pictures, it has them in
/// proportion, as an example of the model.
struct Document {
  std::uint32_t tokens = 1;
  std::optional<std::uint32_t> pictures;
};

/// Documents of one length in a histogram.
struct LengthBin {
  std::uint32_t tokens = 1;
  std::optional<std::uint32_t> pictures;
  double weight = 1;
};

enum class LengthLaw : std::uint8_t { lognormal, uniform, fixed };

/// How long documents are: those of a file, of a distribution or of a histogram.
struct DocumentLengths {
  std::string file;
  bool random = false;              // of the file: drawn, instead of in its order
  std::vector<Document> documents;  // of the file
  std::optional<LengthLaw> law;
  double mean = 0;
  double sigma = 1;  // lognormal: of the logarithm
  std::uint32_t min = 1;
  std::optional<std::uint32_t> max;
  std::vector<LengthBin> histogram;

  /// Of the documents that state how many of their tokens come from pictures; nothing: none does.
  std::optional<std::uint32_t> most_pictures() const;
};

enum class Packing : std::uint8_t { none, first_fit, balanced, by_cost };
enum class MicrobatchOrder : std::uint8_t { given, longest_first, shortest_first };
enum class LongDocuments : std::uint8_t { cut, refuse };

/// Tokens that experts receive, over the mean of all experts.
struct RouterLoads {
  std::optional<double> skew;  // of the busiest expert, or
  std::string file;
  std::vector<double> loads;  // of the file, by expert
};

/// "batch": documents, and how they become microbatches.
struct BatchSection {
  DocumentLengths lengths;
  Packing pack = Packing::none;
  std::optional<std::uint32_t> tokens;  // of a full microbatch
  double pictures_per_token = 0;  // of an example of the model; settled where documents state some
  LongDocuments longer = LongDocuments::cut;
  MicrobatchOrder order = MicrobatchOrder::given;
  std::optional<double> attention_share;  // of stated times
  std::optional<RouterLoads> router;
  std::uint64_t seed = 1;
};

const Fields& batch_fields();

/// Reads the section, after the schema check; lengths and loads come from the files that it names,
/// which are read already. Throws InputError with a pointer into the scenario.
BatchSection read_batch(const nlohmann::json& section, std::vector<Document> documents,
                        std::vector<double> loads);

/// What a file has, one document or load a line: without blank lines and what follows a #. Throws
/// InputError with the file and the line in front.
std::vector<Document> read_lengths(const std::string& path);
std::vector<double> read_loads(const std::string& path);

}  // namespace penstock
