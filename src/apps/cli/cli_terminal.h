// Output for terminals: colour and progress.
#pragma once

#include <chrono>
#include <string>

#include "storage/journal/transfer_progress.h"

namespace holdfast::cli {

bool is_terminal(int descriptor);
// Standard output is a terminal that can redraw lines.
bool supports_redraw();
// Standard output is a terminal that shows colour, and NO_COLOR is not set.
bool supports_colour();

// A progress bar on standard error while it lives; nothing unless that is a terminal.
class ProgressBar {
 public:
  // "copying", "batches"
  ProgressBar(std::string label, std::string unit);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // The callback for long work. Must not outlive the bar.
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

}  // namespace holdfast::cli
