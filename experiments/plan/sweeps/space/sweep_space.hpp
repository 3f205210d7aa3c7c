#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/plan/sweeps/space/condition.hpp"

namespace penstock {

enum class SampleMethod : std::uint8_t { random, sobol };

/// Limit on the points of a sample.
constexpr std::uint32_t most_sampled = 50'000'000;

/// Configurations drawn from the axes instead of all of them.
struct Sample {
  SampleMethod method = SampleMethod::sobol;
  std::uint64_t count = 0;
  std::uint64_t seed = 1;   // of random ones
  std::string option = {};  // that gave it, "--sample 64"; empty: a file
};

/// "random" or "sobol". Throws InputError.
SampleMethod sample_method_of(const std::string& name);

/// The points of a sample in the unit cube: a pure function of the sample, the same on every
/// machine.
class SamplePoints {
 public:
  SamplePoints() = default;
  SamplePoints(const Sample& sample, std::size_t axes);

  /// The share of an axis, from 0 to below 1, at a point.
  double share(std::uint64_t point, std::size_t axis) const;

 private:
  Sample sample_;
  std::size_t axes_ = 0;
  std::vector<std::uint32_t> sobol_;  // the upper bits of each coordinate, point by point
};

/// What a user asked of a sweep.
struct SweepRequest {
  std::string source;                          // file of the base scenario; its folder is theirs
  std::shared_ptr<const nlohmann::json> base;  // the base scenario, with settings applied
  std::vector<Axis> axes;                      // the last one varies first
  std::vector<Condition> conditions;           // all must hold
  std::optional<Sample> sample;                // drawn points instead of all
  std::vector<std::string> results;            // further values, as pointers into `run --json`
};

/// The pointers that vary, axis by axis: the order of a configuration's values.
std::vector<std::string> pointers_of(const SweepRequest& request);

/// The hash of the base scenario and the files it names: 16 hexadecimal digits.
std::string hash_of_base(const SweepRequest& request);

/// The configurations of a sweep, numbered from 0. Thread-safe.
class SweepSpace {
 public:
  /// Throws for axes that do not fit a sample, or the other way round, for conditions that no
  /// configuration fulfils, and for more configurations than supported: UsageError for what an
  /// option says, InputError for what a file does.
  explicit SweepSpace(SweepRequest request);

  const SweepRequest& request() const { return request_; }
  const std::vector<std::string>& pointers() const { return pointers_; }
  std::uint64_t size() const { return size_; }
  /// JSON texts of the values of a configuration, in the order of `pointers`.
  std::vector<std::string> values(std::uint64_t number) const;
  /// Of the base scenario and the files it names: 16 hexadecimal digits.
  const std::string& base_hash() const { return base_hash_; }
  /// Of these, the axes, the conditions, the sample and the results.
  const std::string& hash() const { return hash_; }

 private:
  std::vector<std::string> candidate(std::uint64_t number) const;
  void keep_fitting();

  SweepRequest request_;
  std::vector<std::string> pointers_;
  SamplePoints points_;
  std::uint64_t candidates_ = 0;  // before conditions
  std::uint64_t size_ = 0;
  std::vector<std::uint32_t> kept_;  // numbers of candidates, with conditions
  std::string base_hash_;
  std::string hash_;
};

/// FNV-1a of texts, 16 hexadecimal digits. Ends of texts count.
std::string hash_of_texts(const std::vector<std::string>& texts);

}  // namespace penstock
