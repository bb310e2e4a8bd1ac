// BenchServer: a `holdfast server` process on a new SQLite store, for benchmarks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "holdfast/result.h"

namespace holdfast {

class BenchServer {
 public:
  // Starts the server and waits until it listens. io_error, unavailable.
  static Result<std::unique_ptr<BenchServer>> start(const std::string& program,
                                                    const std::string& store_url);
  // Stops the server.
  ~BenchServer();
  BenchServer(const BenchServer&) = delete;
  BenchServer& operator=(const BenchServer&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // Of the server process, as reported by the system.
  [[nodiscard]] std::uint64_t memory_bytes() const;
  [[nodiscard]] double cpu_seconds() const;

 private:
  BenchServer(pid_t pid, std::uint16_t port) : pid_(pid), port_(port) {}

  pid_t pid_;
  std::uint16_t port_;
};

}  // namespace holdfast
