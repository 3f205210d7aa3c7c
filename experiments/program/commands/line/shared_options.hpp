#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/files/output_file.hpp"
#include "experiments/measure/validation/validation.hpp"
#include "experiments/plan/planner/space/training_task.hpp"
#include "experiments/program/commands/line/command_line.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/run_summary.hpp"

namespace penstock {

/// Options for the look of a picture.
struct PictureLook {
  std::string width;
  std::string height;
  std::optional<std::uint32_t> font_size;
  std::string title;
  std::string theme = "light";
};

/// Whether any of it is given.
bool is_given(const PictureLook& look);

void declare(CommandLine& line, PictureLook& look);

/// Throws UsageError for invalid sizes.
PictureOptions options_of(const PictureLook& look);

/// Where and how to draw the timeline of a run; an empty path means no picture.
struct PictureFiles {
  std::string svg;
  std::string png;
  std::string pdf;
  PictureLook look;
};

void declare(CommandLine& line, PictureFiles& files);

/// The files to write.
std::vector<std::string> paths_of(const PictureFiles& files);

bool on_standard_output(const PictureFiles& files);

/// Throws UsageError, before any work, for a file name with the suffix of another format and for an
/// invalid look.
void check(const PictureFiles& files);

/// The result must have a plan: a deadlocked run has nothing to draw.
void write_pictures(const PictureFiles& files, const RunResult& result, OutputSet& outputs,
                    const TimelineExplanation& explanation = {});

/// Options of the backends that run orders in PyTorch, and of no other.
struct TorchFlags {
  std::string model;
  std::optional<std::uint32_t> quiet;
};

void declare(CommandLine& line, TorchFlags& flags);

/// Throws UsageError for a wait that is too long.
TorchOptions torch_options(const TorchFlags& flags);

/// One of these options that is given; nothing if none is.
const char* given(const TorchFlags& flags);

/// Options of what is trained, and on what.
struct TrainingFlags {
  std::string model, hardware;
  std::optional<std::uint32_t> devices, sequence, microbatch, global_batch;
};

/// All but the model.
void declare(CommandLine& line, TrainingFlags& flags);

/// Throws UsageError for numbers that are too large.
TrainingRequest request_of(const TrainingFlags& flags);

}  // namespace penstock
