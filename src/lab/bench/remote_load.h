// RemoteLoad: starts runs on a server and executes their steps as remote workers, all of them
// callers of one load generator.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "net/http_load.h"

namespace holdfast {

class RemoteLoad {
 public:
  struct Shape {
    std::string workflow;
    std::uint64_t runs = 0;
    std::uint64_t steps = 1;        // of each run
    std::uint64_t at_once = 1;      // unfinished runs, at most
    std::size_t starts_in_one = 1;  // runs started by one request; 1: one by one
    std::size_t claims_in_one = 1;
    std::size_t starters = 1;  // callers that start runs
    std::size_t workers = 1;
  };

  // The load must outlive this object.
  RemoteLoad(net::HttpLoad& load, const Shape& shape) : load_(load), shape_(shape) {}

  // Returns the seconds until all steps of all runs were reported and are durable.
  Result<double> execute();
  // Starts only the workers; the caller drives the load.
  Result<void> begin_workers();
  // Waits for the last calls of the workers.
  Result<void> end_workers();
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  struct Worker {
    std::size_t caller = 0;
    std::string identity;  // JSON
    std::uint64_t requests = 0;
  };

  void start_more(std::size_t caller);
  void claim(Worker& worker);
  void take(Worker& worker, const net::HttpOutcome& answer);
  std::string claim_request(Worker& worker) const;

  net::HttpLoad& load_;
  Shape shape_;
  std::vector<Worker> workers_;
  std::vector<std::size_t> idle_starters_;
  std::uint64_t started_ = 0;
  std::uint64_t done_ = 0;
  std::size_t busy_workers_ = 0;
  bool ending_ = false;
  int bad_status_ = 0;
};

}  // namespace holdfast
