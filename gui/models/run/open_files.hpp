#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/models/run/viewed_run.hpp"

namespace penstock {

/// The kinds of files that the viewer opens.
enum class ViewedFile { timeline, scenario, order, trace };

/// The kind of a file, by its name and its beginning.
ViewedFile kind_of_file(const std::string& path, std::string_view beginning);

/// Opens files: all traces together are one run, one file per rank, in the place of the first of
/// them; every other file is a run of its own. A scenario is simulated; an order in PyTorch's
/// notation runs with equal stages and free links. Throws InputError and UsageError with the texts
/// of the command line. `on_progress` gets the share of the traces that has been read, from time to
/// time; what it throws ends the opening.
std::vector<ViewedRunPtr> open_files(const std::vector<std::string>& paths,
                                     const std::function<void(double share)>& on_progress = {});

}  // namespace penstock
