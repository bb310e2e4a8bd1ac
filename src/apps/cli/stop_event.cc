#include "apps/cli/stop_event.h"

#include <unistd.h>

namespace holdfast::cli {

void write_log_line(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written <= 0) {
      return;
    }
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace holdfast::cli
