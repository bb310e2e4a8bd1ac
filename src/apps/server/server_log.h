// ServerLog: the log of the server, one line per event, as text or JSON. Fields never contain a
// token, a header or a body. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "runs/language/definition/spec.h"

namespace holdfast {

enum class LogForm : std::uint8_t { text, json };

class ServerLog {
 public:
  using Fields = std::vector<std::pair<std::string_view, std::string>>;

  // sink: receives whole lines, one at a time.
  ServerLog(Clock& clock, LogLevel level, LogForm form,
            std::function<void(std::string_view line)> sink);

  [[nodiscard]] bool enabled(LogLevel level) const { return level >= level_; }
  void write(LogLevel level, std::string_view message, const Fields& fields = {});

 private:
  Clock& clock_;
  const LogLevel level_;
  const LogForm form_;
  std::mutex mutex_;
  std::function<void(std::string_view line)> sink_;
};

}  // namespace holdfast
