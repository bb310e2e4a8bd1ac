#include "net/http_sender.h"

#include <curl/curl.h>

#include <algorithm>
#include <optional>

#include "base/blocked_sigpipe.h"
#include "holdfast/assert.h"
#include "net/http_transfer.h"

namespace holdfast::net {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr long kMostIdleConnections = 256;
constexpr std::size_t kHeadBytes = 16U << 10U;

HttpOptions http_options(const SenderOptions& options) {
  HttpOptions http;
  http.user_agent = options.user_agent;
  http.connect_timeout = options.connect_timeout;
  http.tls_ca_file = options.tls_ca_file;
  http.strict = false;
  http.limits = {
      .head_bytes = kHeadBytes, .body_bytes = options.body_bytes, .kept_bytes = options.kept_bytes};
  return http;
}

}  // namespace

struct HttpSender::Call {
  Call(SenderRequest&& wanted, const HttpOptions& options, Done&& end)
      : request(std::move(wanted)), transfer(request.url, options), done(std::move(end)) {}

  const SenderRequest request;
  HttpTransfer transfer;
  Done done;
  steady_clock::time_point begun = steady_clock::now();
  bool repeated = false;
};

HttpSender::HttpSender(AddressPolicy policy, SenderOptions options, void* multi)
    : policy_(std::move(policy)),
      options_(std::move(options)),
      http_(http_options(options_)),
      multi_(multi) {
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMostIdleConnections);
}

HttpSender::~HttpSender() {
  const BlockedSigpipe blocked;  // TLS connections are closed with a message
  for (const auto& call : calls_) {
    curl_multi_remove_handle(multi_, call->transfer.handle());
  }
  calls_.clear();
  curl_multi_cleanup(multi_);
}

Result<std::unique_ptr<HttpSender>> HttpSender::create(AddressPolicy policy,
                                                       SenderOptions options) {
  void* const multi = curl_multi_init();
  if (multi == nullptr) {
    return Error{ErrorCode::io_error, "libcurl cannot be started"};
  }
  return std::unique_ptr<HttpSender>(new HttpSender(std::move(policy), std::move(options), multi));
}

bool HttpSender::begin(Call& call) {
  HttpCall http;
  http.method = "POST";
  http.target = call.request.target;
  http.body = call.request.body;
  for (const auto& [name, value] : call.request.headers) {
    http.headers.emplace_back(name, value);
  }
  const auto left =
      std::chrono::ceil<milliseconds>(call.begun + options_.timeout - steady_clock::now());
  call.transfer.limit_addresses(policy_);
  if (!call.transfer.prepare(http, nullptr)) {
    return false;
  }
  void* const easy = call.transfer.handle();
  curl_easy_setopt(easy, CURLOPT_PRIVATE, static_cast<void*>(&call));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                   static_cast<long>(std::max(left, milliseconds(1)).count()));
  return curl_multi_add_handle(multi_, easy) == CURLM_OK;
}

void HttpSender::post(SenderRequest request, Done done) {
  HOLDFAST_ASSERT(request.url.kind != Url::Kind::unix_socket && request.url.path.empty());
  calls_.push_back(std::make_unique<Call>(std::move(request), http_, std::move(done)));
  if (!begin(*calls_.back())) {
    HttpOutcome outcome;
    outcome.failure = HttpFailure::rejected;
    outcome.reason = "libcurl rejects the request";
    finish(*calls_.back(), std::move(outcome));
  }
}

void HttpSender::finish(Call& call, HttpOutcome outcome) {
  SenderOutcome ended;
  ended.address_refused = call.transfer.address_refused();
  ended.response = std::move(outcome);
  if (!call.transfer.has_head()) {
    ended.response.status = 0;
  }
  ended.took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - call.begun);
  ended_.emplace_back(std::move(call.done), std::move(ended));
  std::erase_if(calls_, [&](const auto& one) { return one.get() == &call; });
}

// Whether any request has ended.
bool HttpSender::finish_calls() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
    void* const easy = message->easy_handle;
    const int code = message->data.result;
    Call* call = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &call);
    HttpOutcome outcome = call->transfer.finish(code);
    curl_multi_remove_handle(multi_, easy);
    // A server may close an idle connection at any time, which says nothing about it.
    const bool again = call->transfer.broke_idle_connection() && !call->repeated;
    call->repeated = true;
    call->transfer.require_new_connection(again);
    if (!again || !begin(*call)) {
      finish(*call, std::move(outcome));
    }
  }
  std::vector<std::pair<Done, SenderOutcome>> ended = std::exchange(ended_, {});
  for (auto& [done, outcome] : ended) {
    done(std::move(outcome));
  }
  return !ended.empty();
}

void HttpSender::run(milliseconds most) {
  const BlockedSigpipe blocked;
  const auto deadline = steady_clock::now() + most;
  for (;;) {
    int running = 0;
    curl_multi_perform(multi_, &running);
    const bool ended = finish_calls();
    const auto wait = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (ended || woken_.exchange(false) || wait.count() <= 0) {
      return;
    }
    curl_multi_poll(multi_, nullptr, 0, static_cast<int>(wait.count()), nullptr);
  }
}

void HttpSender::wake() {
  woken_ = true;
  curl_multi_wakeup(multi_);
}

}  // namespace holdfast::net
