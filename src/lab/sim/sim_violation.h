// Breach: a promise that was broken in a simulation.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::sim {

struct Breach {
  std::uint64_t event = 0;  // of the trace
  std::int64_t time_us = 0;
  std::string what;
  std::string promise = {};  // its name; empty: the words it begins with
  std::string run = {};      // whose, in the words of the witness
};

}  // namespace holdfast::sim
