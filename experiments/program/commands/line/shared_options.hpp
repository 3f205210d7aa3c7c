#pragma once

#include <string>
#include <vector>

#include "experiments/input/files/output_file.hpp"
#include "experiments/measure/validation/validation.hpp"
#include "experiments/plan/planner/space/training_task.hpp"
#include "experiments/program/commands/line/command_line.hpp"
#include "experiments/program/commands/line/suggestions.hpp"
#include "experiments/run/run.hpp"
#include "experiments/show/results/run_summary.hpp"

namespace penstock {

/// Options for the look of a picture.
struct PictureLook : Arguments {
  Text width = line.option("--width", "width in 1/96 inch (PNG: 2 pixels each), or 85mm", "LENGTH");
  Text height = line.option("--height", "height of the picture, likewise", "LENGTH");
  Number font_size = line.number("--font-size", "size of its labels, default 11");
  Text title = line.option("--title", "title of the picture", "TEXT");
  Text theme = line.choice("--theme", {"light", "dark"}, "colours, default light", "light");
};

/// Whether any of it is given.
bool is_given(const PictureLook& look);

/// Throws UsageError for invalid sizes.
PictureOptions options_of(const PictureLook& look);

/// Where and how to draw the timeline of a run; an empty path means no picture.
struct PictureFiles : Arguments {
  Text svg = line.option("--svg", "draw the timeline as SVG", "FILE");
  Text png = line.option("--png", "draw the timeline as PNG", "FILE");
  Text pdf = line.option("--pdf", "draw the timeline as PDF", "FILE");
  PictureLook look{{line}};
};

/// The files to write.
std::vector<std::string> paths_of(const PictureFiles& files);

bool on_standard_output(const PictureFiles& files);

/// Throws UsageError, before any work, for a file name with the suffix of another format, for an
/// invalid look, and for a look without a picture; `others`: the command draws another one.
void check(const PictureFiles& files, bool others = false);

/// The result must have a plan: a deadlocked run has nothing to draw.
void write_pictures(const PictureFiles& files, const RunResult& result, OutputSet& outputs,
                    const TimelineExplanation& explanation = {});

/// Options of the backends that run orders in PyTorch, and of no other.
struct TorchFlags : Arguments {
  Text model = line.option("--model", "torch_*: layers of your own, from layer(number)", "FILE.py");
  Number quiet =
      line.number("--quiet", "torch_*: seconds to wait for a quiet machine, at most; default 60");
};

/// Throws UsageError for a wait that is too long, InputError for a model that cannot be opened.
TorchOptions torch_options(const TorchFlags& flags);

/// One of these options that is given; nothing if none is.
const char* given(const TorchFlags& flags);

/// Options of what is trained, and on what.
struct TrainingFlags : Arguments {
  Text model;  // declared by the command
  Text hardware = line.option("--hardware", "a machine (penstock list hardware), or its file",
                              "NAME|FILE", suggested_machines);
  Number devices = line.number("--devices", "devices to lay the model out on");
  Number sequence = line.number("--sequence", "tokens of an example; default 4096 or the file's");
  Number microbatch = line.number("--microbatch",
                                  "examples that a device works on at a time; default: that of a "
                                  "script, else tries 1, 2, 4, 8");
  Number global_batch = line.number("--global-batch",
                                    "examples of an iteration; default: as a script states, else 8 "
                                    "per device, fewer above 128 devices");
};

/// Options of a whole training: how long it is, and what devices cost.
struct CostFlags : Arguments {
  Text tokens = line.option("--tokens", "of the whole training, for days and cost", "N");
  Text price = line.option("--price", "of a device-hour, with --tokens", "NUMBER");
};

/// Throws UsageError for what is no positive number, and for a price without a training.
WholeTraining training_of(const CostFlags& flags);

/// Throws UsageError for numbers that are too large.
TrainingRequest request_of(const TrainingFlags& flags);

}  // namespace penstock
