#include "holdfast/assert.h"

#include <cstdio>
#include <cstdlib>

namespace holdfast {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "holdfast: assertion failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace holdfast
