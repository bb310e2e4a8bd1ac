#include "lab/bench/remote_load.h"

#include <fmt/format.h>

#include "base/json_slice.h"
#include "lab/bench/bench_run.h"
#include "runs/language/data/path.h"

namespace holdfast {

namespace {

// The report of a claimed attempt, which repeats some of its fields.
std::string report_of(std::string_view attempt) {
  const ObjectView view(attempt);
  const auto member = [&](std::string_view name) { return view.member(name).value_or("null"); };
  return fmt::format(
      R"({{"run_id":{},"runnable_key":{},"claim_id":{},"token":{},"outcome":"ok","result":{{}}}})",
      member("run_id"), member("runnable_key"), member("claim_id"), member("token"));
}

}  // namespace

Result<void> RemoteLoad::begin_workers() {
  workers_.resize(shape_.workers);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].caller = load_.add_caller();
    workers_[i].identity =
        fmt::format(R"({{"id":"bench-{}-{}","secret":"0123456789012345678901234567890123456789"}})",
                    shape_.workflow, i);
    ++busy_workers_;
    claim(workers_[i]);
  }
  return {};
}

Result<void> RemoteLoad::end_workers() {
  ending_ = true;
  return load_.run_until([this] { return busy_workers_ == 0; });
}

std::string RemoteLoad::claim_request(Worker& worker) const {
  return fmt::format(R"("request":"{}","handlers":["nothing"],"queues":["default"],"max":{})",
                     ++worker.requests, shape_.claims_in_one);
}

void RemoteLoad::claim(Worker& worker) {
  load_.post(worker.caller, "/v1/work/claim",
             fmt::format(R"({{"worker":{},{},"wait_ms":{}}})", worker.identity,
                         claim_request(worker), 500),
             [this, &worker](const net::HttpOutcome& answer) { take(worker, answer); });
}

// Completes the claimed attempts at once and reports them together with the next claim request.
void RemoteLoad::take(Worker& worker, const net::HttpOutcome& answer) {
  if (answer.status != 200) {
    bad_status_ = answer.status;
  }
  std::string reports;
  std::uint64_t count = 0;
  std::string_view body = answer.body;
  body.remove_suffix(body.ends_with('\n') ? 1 : 0);
  if (const auto attempts = ObjectView(body).member("attempts")) {
    JsonSlicer slicer(*attempts);
    while (const auto attempt = slicer.next()) {
      reports += (count++ == 0 ? "" : ",") + report_of(attempt->value);
    }
  }
  if (count == 0) {
    if (ending_) {
      --busy_workers_;
    } else {
      claim(worker);
    }
    return;
  }
  load_.post(worker.caller, "/v1/work/report",
             fmt::format(R"({{"worker":{},"reports":[{}],"claim":{{{}}}}})", worker.identity,
                         reports, claim_request(worker)),
             [this, &worker, count](const net::HttpOutcome& reported) {
               done_ += count;
               for (const std::size_t starter : std::exchange(idle_starters_, {})) {
                 start_more(starter);
               }
               take(worker, reported);
             });
}

void RemoteLoad::start_more(std::size_t caller) {
  const std::uint64_t unfinished = started_ - done_ / shape_.steps;
  const std::uint64_t left = shape_.runs - started_;
  const std::uint64_t free = shape_.at_once > unfinished ? shape_.at_once - unfinished : 0;
  const std::uint64_t count = std::min<std::uint64_t>({shape_.starts_in_one, left, free});
  if (count == 0) {
    if (left > 0) {
      idle_starters_.push_back(caller);
    }
    return;
  }
  const std::string run =
      fmt::format(R"({{"workflow":"{}","input":{{"order":4711}}}})", shape_.workflow);
  const auto again = [this, caller](const net::HttpOutcome& answer) {
    if (answer.status >= 300) {
      bad_status_ = answer.status;
    }
    start_more(caller);
  };
  started_ += count;
  if (shape_.starts_in_one == 1) {
    load_.post(caller, "/v1/runs", run, again);
    return;
  }
  std::string runs;
  for (std::uint64_t i = 0; i < count; ++i) {
    runs += (i == 0 ? "" : ",") + run;
  }
  load_.post(caller, "/v1/runs/batch", fmt::format(R"({{"runs":[{}]}})", runs), again);
}

Result<double> RemoteLoad::execute() {
  HOLDFAST_CHECK(begin_workers());
  const Stopwatch watch;
  for (std::size_t i = 0; i < shape_.starters; ++i) {
    const std::size_t caller = load_.add_caller();
    start_more(caller);
  }
  HOLDFAST_CHECK(
      load_.run_until([this] { return done_ >= shape_.runs * shape_.steps || bad_status_ != 0; }));
  const double seconds = watch.seconds();
  if (bad_status_ != 0) {
    return Error{ErrorCode::unavailable, fmt::format("the server returned status {}", bad_status_)};
  }
  HOLDFAST_CHECK(end_workers());
  return seconds;
}

}  // namespace holdfast
