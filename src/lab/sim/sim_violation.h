// Violation: a guarantee or an invariant that did not hold in a simulation.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::sim {

struct Violation {
  std::uint64_t event = 0;  // number of the event in the trace
  std::int64_t time_us = 0;
  std::string what;
  std::string invariant = {};  // name of the invariant; empty: a guarantee of Holdfast, named by
                               // the first words of `what`
  std::string run = {};        // label of the run, as the observer names it
};

}  // namespace holdfast::sim
