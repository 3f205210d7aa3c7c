#pragma once

#include <cstdint>

#include "experiments/input/scenario/batch_section.hpp"
#include "experiments/run/batch/packing.hpp"

namespace penstock {

/// Which documents: those of a data replica in a draw.
struct DrawOfReplica {
  std::uint32_t draw = 0;
  std::uint32_t replica = 0;
  std::uint32_t replicas = 1;
  std::uint32_t microbatches = 1;
};

/// The lengths of the documents that a replica takes in a step, one after the other. A document
/// longer than a microbatch is cut into several.
class DocumentStream {
 public:
  /// `batch` has `tokens`, and must outlive this.
  DocumentStream(const BatchSection& batch, const DrawOfReplica& of);

  /// Throws InputError for a document that is too long, where the batch refuses those.
  Piece next();

 private:
  Document whole();
  Document of_law(double share) const;
  Document of_histogram(double share) const;

  const BatchSection& batch_;
  DrawOfReplica of_;
  std::uint64_t number_ = 0;  // of the next document
  std::uint64_t first_ = 0;   // of a file in its order: where this replica begins
  Document document_;         // the one that is being cut
  std::uint32_t rest_ = 0;    // its tokens that are to come
};

/// A number in (0, 1): the `number`th of a replica in a draw. Those of different `purpose` do not
/// depend on each other.
double random_share(const BatchSection& batch, const DrawOfReplica& of, std::uint64_t number,
                    std::uint32_t purpose);

}  // namespace penstock
