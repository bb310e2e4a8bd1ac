// The program: wires the real world to the command line.
#include <span>

#include "base/clock.h"
#include "base/random.h"
#include "cli/run.h"

int main(int argc, char** argv) {
  holdfast::SystemClock clock;
  holdfast::SystemRandom random;
  return holdfast::run_cli(std::span(argv, static_cast<std::size_t>(argc)), clock, random);
}
