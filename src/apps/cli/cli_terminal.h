// What is done only for people at a terminal: colour and progress.
#pragma once

#include <chrono>
#include <string>

#include "storage/journal/transfer_progress.h"

namespace holdfast {

bool is_terminal(int descriptor);
// Standard output is a terminal on which lines can be drawn again.
bool wants_pictures();
// Standard output is a terminal that shows colour, and NO_COLOR is not set.
bool wants_colour();

// A bar on standard error while it lives; nothing at all when that is no terminal.
class ProgressBar {
 public:
  // "copying", "batches"
  ProgressBar(std::string label, std::string unit);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // For long work to call. Must not outlive the bar.
  Progress progress();

 private:
  void draw(const ProgressPoint& point);

  std::string label_;
  std::string unit_;
  bool visible_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_draw_;
};

// From now on SIGINT and SIGTERM end the program at once with exit code 0. For commands that
// only read and run until they are stopped.
void exit_cleanly_on_signals();

}  // namespace holdfast
