#include "experiments/run/batch/documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"

namespace penstock {
namespace {

/// Documents that a replica takes of a file in a step, on average: the next one begins there.
std::uint64_t taken_of_file(const BatchSection& batch, const DrawOfReplica& of) {
  if (batch.pack == Packing::none) return of.microbatches;
  const auto& all = batch.lengths.documents;
  double tokens = 0;
  for (const Document& one : all) tokens += one.tokens;
  const double mean = tokens / static_cast<double>(all.size());
  const double room = static_cast<double>(*batch.tokens) * of.microbatches;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(room / mean));
}

}  // namespace

double random_share(const BatchSection& batch, const DrawOfReplica& of, std::uint64_t number,
                    std::uint32_t purpose) {
  const auto low = static_cast<std::uint32_t>(number);
  const auto high = static_cast<std::uint32_t>(number >> 32);
  const auto random = philox({low, high, of.draw, of.replica << 2 | purpose},
                             {static_cast<std::uint32_t>(batch.seed),
                              static_cast<std::uint32_t>(batch.seed >> 32) ^ 0x62617463U});
  return uniform(std::uint64_t{random[0]} << 32 | random[1]);
}

DocumentStream::DocumentStream(const BatchSection& batch, const DrawOfReplica& of)
    : batch_(batch), of_(of) {
  if (batch.lengths.documents.empty() || batch.lengths.random) return;
  const std::uint64_t steps = std::uint64_t{of.draw} * of.replicas + of.replica;
  first_ = steps * taken_of_file(batch, of);
}

Document DocumentStream::of_law(double share) const {
  const DocumentLengths& lengths = batch_.lengths;
  double length = lengths.mean;
  if (*lengths.law == LengthLaw::lognormal) {
    const double sigma = lengths.sigma;
    length *= portable_exp(sigma * normal_quantile(share) - sigma * sigma / 2);
  } else if (*lengths.law == LengthLaw::uniform) {
    length =
        lengths.min + std::floor(share * (static_cast<double>(*lengths.max) - lengths.min + 1));
  }
  const double most = lengths.max.value_or(1'000'000'000);
  return {static_cast<std::uint32_t>(std::llrint(std::clamp(length, 1.0, most))), {}};
}

Document DocumentStream::of_histogram(double share) const {
  const std::vector<LengthBin>& bins = batch_.lengths.histogram;
  double all = 0;
  for (const LengthBin& bin : bins) all += bin.weight;
  double below = 0;
  for (const LengthBin& bin : bins) {
    below += bin.weight;
    if (bin.weight > 0 && share * all < below) return {bin.tokens, bin.pictures};
  }
  return {bins.back().tokens, bins.back().pictures};
}

Document DocumentStream::whole() {
  const std::vector<Document>& documents = batch_.lengths.documents;
  const std::uint64_t number = number_++;
  if (!documents.empty() && !batch_.lengths.random) {
    return documents[(first_ + number) % documents.size()];
  }
  const double share = random_share(batch_, of_, number, 0);
  if (documents.empty()) return batch_.lengths.law ? of_law(share) : of_histogram(share);
  const auto place = static_cast<std::size_t>(share * static_cast<double>(documents.size()));
  return documents[std::min(place, documents.size() - 1)];
}

Piece DocumentStream::next() {
  if (rest_ == 0) {
    document_ = whole();
    rest_ = document_.tokens;
  }
  if (rest_ > *batch_.tokens && batch_.longer == LongDocuments::refuse) {
    throw InputError(
        "/batch/longer",
        fmt::format("a document has {} tokens, and a microbatch {}; set /batch/tokens, "
                    "or longer=cut",
                    rest_, *batch_.tokens));
  }
  const std::uint32_t tokens = std::min(rest_, *batch_.tokens);
  rest_ -= tokens;
  Piece piece{tokens, static_cast<double>(tokens)};
  if (document_.pictures && batch_.pictures_per_token > 0) {
    piece.pictured *= *document_.pictures / (document_.tokens * batch_.pictures_per_token);
  }
  return piece;
}

}  // namespace penstock
