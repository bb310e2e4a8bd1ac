// HttpSender: POST requests to many servers at once, from one thread, for URLs that come from
// outside. Connections go only to addresses that a policy permits, whatever a name resolves to at
// that moment; redirects are not followed; each request has one limit of time for everything, and
// little of a response is read. A server that hangs costs its own requests only.
//
// All calls but wake() belong to one thread, which calls run().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/result.h"
#include "net/address_policy.h"
#include "net/http_client.h"

namespace holdfast::net {

struct SenderOptions {
  std::string user_agent = "holdfast";
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds timeout{15'000};  // from the name to the end of the response
  std::size_t kept_bytes = 1024;              // of the body of a response
  std::size_t body_bytes = 64U << 10U;        // more are not read
  std::string tls_ca_file = {};               // PEM; empty: the authorities of the system
};

struct SenderRequest {
  Url url = {};  // http or https, without its path
  std::string target = "/";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct SenderOutcome {
  // Status, headers and body of a response also when its body was too long or did not end; the
  // status is 0 without a whole head.
  HttpOutcome response = {};
  bool address_refused = false;  // by the policy
  std::chrono::milliseconds took{0};
};

class HttpSender {
 public:
  using Done = std::function<void(SenderOutcome outcome)>;

  // io_error.
  static Result<std::unique_ptr<HttpSender>> create(AddressPolicy policy, SenderOptions options);
  // What is on its way is cut off, without a call of `done`.
  ~HttpSender();
  HttpSender(const HttpSender&) = delete;
  HttpSender& operator=(const HttpSender&) = delete;

  // `done` runs in run().
  void post(SenderRequest request, Done done);
  [[nodiscard]] std::size_t in_flight() const { return calls_.size(); }
  // Returns when requests have ended, after wake(), or when the time has ended.
  void run(std::chrono::milliseconds most);
  // Any thread: the next run(), or the one that runs, returns.
  void wake();

 private:
  struct Call;

  HttpSender(AddressPolicy policy, SenderOptions options, void* multi);

  bool begin(Call& call);
  bool finish_calls();
  void finish(Call& call, HttpOutcome outcome);

  const AddressPolicy policy_;
  const SenderOptions options_;
  const HttpOptions http_;
  void* multi_;
  std::atomic<bool> woken_{false};
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<std::pair<Done, SenderOutcome>> ended_;  // their `done` runs next
};

}  // namespace holdfast::net
