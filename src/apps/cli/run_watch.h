// Progress while runs are executed: one run as a live picture or in plain lines; all runs of a
// store in plain lines.
#pragma once

#include <atomic>
#include <map>
#include <string>

#include "apps/cli/cli_store.h"
#include "apps/cli/live_screen.h"
#include "apps/cli/missing_handlers.h"
#include "runs/inspect/stored_run.h"
#include "runs/view/timeline.h"

namespace holdfast::cli {

inline constexpr std::size_t kLongLine = 2000;  // lines in files are not cut

// Events that progress lines leave out.
bool is_noise(const TimelineEvent& event);

// The commands that would advance a run, one per line.
void print_commands(const std::vector<NextAction>& actions, const Style& style, Context& context);
// The newest position before the first entry of the run.
Result<Position> before_run(Journal& journal, const RunId& run);

class RunWatch {
 public:
  // before: a position before the first entry of the run.
  RunWatch(StoreReader& reader, const RunId& run, Position before, Context& context, Style style,
           bool quiet);

  // Prints the id of the run.
  void announce(bool existed);
  // Reads and prints new events.
  Result<void> catch_up();
  Result<Explanation> explain();
  void draw(const Explanation& why);
  // Until there may be new events, or interrupt() is called.
  Result<void> wait();
  void interrupt();
  // The last picture.
  Result<void> finish();
  [[nodiscard]] const RunProjection& run() const { return follower_.run(); }

 private:
  StoreReader& reader_;
  Context& context_;
  Style style_;
  bool quiet_;
  bool live_;  // a picture, not lines
  RunFollower follower_;
  LiveScreen screen_;
  std::map<RunId, StoredRun> children_;
  std::string shown_cause_;  // the last one printed
};

// Prints every event of every run from begin() on.
class WorkWatch {
 public:
  WorkWatch(StoreReader& reader, Context& context, MissingHandlers& missing, bool quiet)
      : reader_(reader), context_(context), missing_(missing), quiet_(quiet) {}

  Result<void> begin();
  // Prints until stop() is called, then the rest.
  void follow();
  void stop();
  void interrupt() { reader_.journal().log().interrupt_waits(); }

 private:
  Result<void> print_new();
  void print_entry(const EntryView& entry, Position position);
  TimelineBuilder& builder_of(const RunId& run, Position position);

  StoreReader& reader_;
  Context& context_;
  MissingHandlers& missing_;
  bool quiet_;
  Position position_;
  std::atomic<bool> stopped_ = false;
  FindDefinition definitions_;
  std::map<RunId, TimelineBuilder> runs_;
};

}  // namespace holdfast::cli
