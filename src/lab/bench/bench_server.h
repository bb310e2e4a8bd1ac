// BenchServer: `holdfast server` on a new SQLite store, as a process of its own, for benchmarks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "holdfast/result.h"

namespace holdfast {

class BenchServer {
 public:
  // Starts it and waits until it listens. io_error, unavailable.
  static Result<std::unique_ptr<BenchServer>> start(const std::string& program,
                                                    const std::string& store_url);
  // Stops it.
  ~BenchServer();
  BenchServer(const BenchServer&) = delete;
  BenchServer& operator=(const BenchServer&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // Of the process, from the system.
  [[nodiscard]] std::uint64_t memory_bytes() const;
  [[nodiscard]] double cpu_seconds() const;

 private:
  BenchServer(pid_t pid, std::uint16_t port) : pid_(pid), port_(port) {}

  pid_t pid_;
  std::uint16_t port_;
};

}  // namespace holdfast
