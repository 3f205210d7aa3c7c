#pragma once

namespace penstock {

/// How much of a run its report shows.
struct ReportOptions {
  bool all = false;      // every rank, where there are more than ten
  bool verbose = false;  // what ranks without enough memory hold
};

}  // namespace penstock
