// The program: runs the command line with the system clock and system randomness.
#include <span>

#include "apps/cli/cli_run.h"
#include "base/clock.h"
#include "base/random.h"

int main(int argc, char** argv) {
  holdfast::SystemClock clock;
  holdfast::SystemRandom random;
  return holdfast::cli::run_cli(std::span(argv, static_cast<std::size_t>(argc)), clock, random);
}
