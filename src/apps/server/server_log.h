// ServerLog: what the server tells whoever runs it, a line at a time, for people or for machines.
// Values are what is known of a request: never a token, a header or a body.
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

  // `sink` is given whole lines, one at a time.
  ServerLog(Clock& clock, LogLevel level, LogForm form,
            std::function<void(std::string_view line)> sink);

  [[nodiscard]] bool tells(LogLevel level) const { return level >= level_; }
  void tell(LogLevel level, std::string_view message, const Fields& fields = {});

 private:
  Clock& clock_;
  const LogLevel level_;
  const LogForm form_;
  std::mutex mutex_;
  std::function<void(std::string_view line)> sink_;
};

}  // namespace holdfast
