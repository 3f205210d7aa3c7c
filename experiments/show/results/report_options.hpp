#pragma once

namespace penstock {

/// How much of a run its report shows.
struct ReportOptions {
  bool all = false;      // all ranks, even if there are more than ten
  bool verbose = false;  // memory by kind of ranks that run out of it
};

}  // namespace penstock
