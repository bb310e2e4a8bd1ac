// RemoteLoad: runs that are started at a server and worked on by workers elsewhere, all of them
// connections of one load generator.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "lab/bench/http_load.h"

namespace holdfast {

class RemoteLoad {
 public:
  struct Shape {
    std::string workflow;
    std::uint64_t runs = 0;
    std::uint64_t steps = 1;        // of each run
    std::uint64_t at_once = 1;      // runs that are unfinished, at most
    std::size_t starts_in_one = 1;  // runs started by one request; 1: one by one
    std::size_t claims_in_one = 1;
    std::size_t starters = 1;  // connections
    std::size_t workers = 1;
  };

  // The load must outlive it.
  RemoteLoad(HttpLoad& load, const Shape& shape) : load_(load), shape_(shape) {}

  // Seconds until all steps of all runs were reported, durably.
  Result<double> carry_out();
  // The workers alone, for as long as somebody else drives the load.
  Result<void> begin_workers();
  // The last calls of the workers are answered.
  Result<void> end_workers();
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  struct Worker {
    std::size_t connection = 0;
    std::string identity;  // JSON
    std::uint64_t requests = 0;
  };

  void start_more(std::size_t connection);
  void claim(Worker& worker);
  void take(Worker& worker, const HttpAnswer& answer);
  std::string wish(Worker& worker) const;

  HttpLoad& load_;
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
