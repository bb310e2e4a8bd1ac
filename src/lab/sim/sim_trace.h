// Trace: the events of one simulation, line by line. The same seed gives the same lines; one hash
// over them makes that easy to compare. Violation: what a simulation can end with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::sim {

// A guarantee or an invariant that did not hold in a simulation.
struct Violation {
  std::uint64_t event = 0;  // number of the event in the trace
  std::int64_t time_us = 0;
  std::string what;
  std::string invariant = {};  // name of the invariant; empty: a guarantee of Holdfast, named by
                               // the first words of `what`
  std::string run = {};        // label of the run, as the observer names it
};

class Trace {
 public:
  // keep: also store the lines, not only their hash.
  explicit Trace(bool keep) : keep_(keep) {}

  void add(std::int64_t time_us, std::string_view line) {
    ++events_;
    for (int shift = 0; shift < 64; shift += 8) {
      step(static_cast<unsigned char>(static_cast<std::uint64_t>(time_us) >> shift));
    }
    for (const char letter : line) {
      step(static_cast<unsigned char>(letter));
    }
    if (keep_) {
      lines_.push_back(Line{events_, time_us, std::string(line)});
    }
  }

  struct Line {
    std::uint64_t event;
    std::int64_t time_us;
    std::string text;
    std::string run = {};  // of a line of the story: the run it is about
  };
  // A line of the story that an observer writes. It follows from the events, so it is not hashed.
  void add_story(std::int64_t time_us, std::string run, std::string line) {
    if (keep_) {
      story_.push_back(Line{events_, time_us, std::move(line), std::move(run)});
    }
  }
  [[nodiscard]] const std::vector<Line>& story() const { return story_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }

 private:
  void step(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3U; }

  bool keep_;
  std::uint64_t events_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325U;
  std::vector<Line> lines_;
  std::vector<Line> story_;
};

}  // namespace holdfast::sim
