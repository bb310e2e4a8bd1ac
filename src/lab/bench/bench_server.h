// BenchServer: a server process of this program, for benchmarks: `holdfast server` or another
// command that takes --json and --listen, and reports its URL.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

class BenchServer {
 public:
  // Starts the server and waits until it listens. io_error, unavailable.
  // command: its words, with the store.
  static Result<std::unique_ptr<BenchServer>> start(const std::string& program,
                                                    const std::vector<std::string>& command);
  // Stops the server.
  ~BenchServer();
  BenchServer(const BenchServer&) = delete;
  BenchServer& operator=(const BenchServer&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Of the server process, as reported by the system.
  [[nodiscard]] std::uint64_t memory_bytes() const;
  [[nodiscard]] double cpu_seconds() const;

 private:
  BenchServer(pid_t pid, std::uint16_t port) : pid_(pid), port_(port) {}

  pid_t pid_;
  std::uint16_t port_;
};

}  // namespace holdfast
