#include "net/http_transfer.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/blocked_sigpipe.h"
#include "base/text.h"
#include "holdfast/assert.h"
#include "net/http.h"
#include "net/http_text.h"
#include "net/tls.h"

namespace holdfast::net {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kStatusOk = 200;
constexpr long kReceiveBytes = 64L << 10L;
constexpr milliseconds kLongestPoll{3'600'000};

bool libcurl_is_ready() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  return once == CURLE_OK;
}

std::string base_of(const Url& url) {
  std::string base = url.kind == Url::Kind::unix_socket ? "http://localhost" : url.origin();
  if (url.kind != Url::Kind::unix_socket) {
    base += url.path;
  }
  while (base.ends_with('/')) {
    base.pop_back();
  }
  return base;
}

HttpFailure failure_of(CURLcode code, bool request_begun) {
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return HttpFailure::timed_out;
  }
  if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
      code == CURLE_SSL_ISSUER_ERROR) {
    return HttpFailure::untrusted;
  }
  if (code == CURLE_URL_MALFORMAT || code == CURLE_BAD_FUNCTION_ARGUMENT) {
    return HttpFailure::rejected;
  }
  if (!request_begun) {
    return HttpFailure::unreachable;
  }
  // libcurl's name for a response without a status line of HTTP/1.
  if (code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_UNSUPPORTED_PROTOCOL) {
    return HttpFailure::malformed;
  }
  return HttpFailure::interrupted;
}

}  // namespace

// Called by libcurl, which is C: nothing may throw through.
struct HttpTransfer::Callbacks {
  static std::size_t receive_body(char* data, std::size_t size, std::size_t count,
                                  void* user) noexcept {
    HttpTransfer& transfer = *static_cast<HttpTransfer*>(user);
    const std::string_view piece(data, size * count);
    HttpOutcome& outcome = transfer.outcome_;
    outcome.body_bytes += piece.size();
    if (transfer.streaming_) {
      transfer.last_piece_ = steady_clock::now();
      if (!transfer.stream_->sink(piece)) {
        return refuse(transfer, HttpFailure::ended, "the receiver ended the transfer");
      }
      return piece.size();
    }
    const HttpLimits& limits = transfer.options_.limits;
    if (outcome.body_bytes > limits.body_bytes) {
      return refuse(transfer, HttpFailure::too_large, "the response is larger than the limit");
    }
    outcome.body += piece.substr(0, limits.kept_bytes - outcome.body.size());
    return piece.size();
  }

  static std::size_t receive_header(char* data, std::size_t size, std::size_t count,
                                    void* user) noexcept {
    HttpTransfer& transfer = *static_cast<HttpTransfer*>(user);
    const std::size_t bytes = size * count;
    transfer.head_bytes_ += bytes;
    if (transfer.head_bytes_ > transfer.options_.limits.head_bytes) {
      return refuse(transfer, HttpFailure::too_large, "the headers are larger than the limit");
    }
    std::string_view line(data, bytes);
    line = line.substr(0, line.find_last_not_of("\r\n") + 1);
    HttpOutcome& outcome = transfer.outcome_;
    constexpr std::string_view kVersion = "HTTP/";
    if (transfer.head_done_) {
      return bytes;  // a trailer
    }
    if (line.starts_with(kVersion)) {
      const std::size_t space = std::min(line.find(' '), line.size() - 1);
      outcome.status = static_cast<int>(parse_decimal(line.substr(space + 1, 3)).value_or(0));
      outcome.headers.clear();  // those before belong to an interim response
      return bytes;
    }
    if (line.empty()) {
      return end_head(transfer) ? bytes : CURL_WRITEFUNC_ERROR;
    }
    if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
      outcome.headers.emplace_back(lowered(trimmed(line.substr(0, colon))),
                                   trimmed(line.substr(colon + 1)));
    }
    return bytes;
  }

  static bool end_head(HttpTransfer& transfer) {
    constexpr int kFirstFinal = 200;
    if (transfer.outcome_.status < kFirstFinal) {
      return true;
    }
    transfer.head_done_ = true;
    if (const std::string_view fault = transfer.framing_fault(); !fault.empty()) {
      refuse(transfer, HttpFailure::malformed, fault);
      return false;
    }
    const HttpTransfer::Stream* const stream = transfer.stream_;
    transfer.streaming_ =
        stream != nullptr && transfer.outcome_.status == kStatusOk &&
        transfer.outcome_.header("content-type").starts_with(stream->content_type);
    transfer.last_piece_ = steady_clock::now();
    return true;
  }

  static std::size_t refuse(HttpTransfer& transfer, HttpFailure failure, std::string_view cause) {
    transfer.receive_failure_ = failure;
    transfer.receive_cause_ = cause;
    return CURL_WRITEFUNC_ERROR;
  }

  static CURLcode set_up_tls(CURL* /*easy*/, void* context, void* user) noexcept {
    report_rejected_certificates(context, &static_cast<HttpTransfer*>(user)->certificate_error_);
    return CURLE_OK;
  }

  static curl_socket_t open_socket(void* user, curlsocktype /*purpose*/,
                                   curl_sockaddr* address) noexcept {
    HttpTransfer& transfer = *static_cast<HttpTransfer*>(user);
    if (transfer.request_begun_) {
      transfer.repeat_prevented_ = true;
      return CURL_SOCKET_BAD;
    }
    if (transfer.addresses_ != nullptr && !transfer.addresses_->permits(address->addr)) {
      transfer.address_refused_ = true;
      return CURL_SOCKET_BAD;
    }
    transfer.opened_ = true;
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }

  static int begin_request(void* user, char* /*remote_address*/, char* /*local_address*/,
                           int /*remote_port*/, int /*local_port*/) noexcept {
    HttpTransfer& transfer = *static_cast<HttpTransfer*>(user);
    if (transfer.request_begun_) {
      transfer.repeat_prevented_ = true;
      return CURL_PREREQFUNC_ABORT;
    }
    transfer.request_begun_ = true;
    return CURL_PREREQFUNC_OK;
  }
};

template <typename T>
void HttpTransfer::set(int option, T value) {
  usable_ = usable_ && curl_easy_setopt(easy_, static_cast<CURLoption>(option), value) == CURLE_OK;
}

HttpTransfer::HttpTransfer(const Url& url, const HttpOptions& options)
    : url_(url),
      options_(options),
      prefix_(base_of(url)),
      easy_(libcurl_is_ready() ? curl_easy_init() : nullptr) {
  error_text_.resize(CURL_ERROR_SIZE);
  usable_ = easy_ != nullptr;
  set_constant_options();
}

HttpTransfer::~HttpTransfer() {
  const BlockedSigpipe blocked;  // TLS connections are closed with a message
  curl_easy_cleanup(easy_);
  curl_multi_cleanup(multi_);
  curl_slist_free_all(lines_);
}

void HttpTransfer::set_constant_options() {
  // Nothing from the environment or the files of the user, and nothing that was not requested.
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_PROXY, "");
  set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  set(CURLOPT_PATH_AS_IS, 1L);  // the path that was checked is the path that is sent
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!options_.tls_ca_file.empty()) {
    set(CURLOPT_CAINFO, options_.tls_ca_file.c_str());
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  if (url_.kind == Url::Kind::https) {
    set(CURLOPT_SSL_CTX_FUNCTION, &Callbacks::set_up_tls);
    set(CURLOPT_SSL_CTX_DATA, static_cast<void*>(this));
  }
  if (url_.kind == Url::Kind::unix_socket) {
    set(CURLOPT_UNIX_SOCKET_PATH, url_.path.c_str());
  }
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // a stop does not wait for a name server
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_BUFFERSIZE, kReceiveBytes);
  set(CURLOPT_USERAGENT, options_.user_agent.c_str());
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout.count()));
  const auto idle = std::chrono::ceil<std::chrono::seconds>(options_.idle);
  set(CURLOPT_MAXAGE_CONN, static_cast<long>(idle.count()));
  set(CURLOPT_ERRORBUFFER, error_text_.data());
  set(CURLOPT_WRITEFUNCTION, &Callbacks::receive_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_HEADERFUNCTION, &Callbacks::receive_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_OPENSOCKETFUNCTION, &Callbacks::open_socket);
  set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
  set(CURLOPT_PREREQFUNCTION, &Callbacks::begin_request);
  set(CURLOPT_PREREQDATA, static_cast<void*>(this));
}

void HttpTransfer::set_method_and_body(const HttpCall& call) {
  const bool sends_body = call.body.has_value() || call.method == "POST" || call.method == "PUT" ||
                          call.method == "PATCH";
  request_body_bytes_ = call.body.value_or("").size();
  is_head_ = call.method == "HEAD";
  set(CURLOPT_NOBODY, is_head_ ? 1L : 0L);
  if (sends_body) {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_body_bytes_));
    set(CURLOPT_POSTFIELDS, request_body_bytes_ == 0 ? "" : call.body->data());
  } else if (!is_head_) {
    set(CURLOPT_HTTPGET, 1L);
  }
  set(CURLOPT_CUSTOMREQUEST, is_head_ ? nullptr : std::string(call.method).c_str());
}

void HttpTransfer::add_line(const std::string& line) {
  curl_slist* const longer = curl_slist_append(lines_, line.c_str());
  usable_ = usable_ && longer != nullptr;
  lines_ = longer == nullptr ? lines_ : longer;
}

void HttpTransfer::set_headers(const HttpCall& call) {
  curl_slist_free_all(std::exchange(lines_, nullptr));
  add_line("Expect:");  // an empty value removes a header that libcurl would add
  if (!options_.token.empty()) {
    add_line("Authorization: Bearer " + options_.token);
  }
  bool has_type = false;
  const auto add = [&](std::string_view name, std::string_view value) {
    has_type = has_type || same_ignoring_case(name, "content-type");
    add_line(value.empty() ? fmt::format("{};", name) : fmt::format("{}: {}", name, value));
  };
  if (!call.content_type.empty()) {
    add("Content-Type", call.content_type);
  }
  for (const auto& [name, value] : call.headers) {
    add(name, value);
  }
  if (!has_type) {
    add_line("Content-Type:");
  }
  set(CURLOPT_HTTPHEADER, lines_);
}

bool HttpTransfer::prepare(const HttpCall& call, const Stream* stream) {
  stream_ = stream;
  outcome_ = HttpOutcome();
  head_bytes_ = 0;
  error_text_[0] = '\0';
  certificate_error_.clear();
  receive_failure_ = HttpFailure::none;
  receive_cause_ = {};
  request_begun_ = opened_ = address_refused_ = repeat_prevented_ = head_done_ = streaming_ = false;
  if (easy_ == nullptr) {
    return false;
  }
  set(CURLOPT_URL, (prefix_ + std::string(call.target)).c_str());
  set_method_and_body(call);
  set_headers(call);
  return usable_;
}

void HttpTransfer::require_new_connection(bool required) {
  set(CURLOPT_FRESH_CONNECT, required ? 1L : 0L);
}

void HttpTransfer::limit_addresses(const AddressPolicy& policy) {
  addresses_ = &policy;
  set(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
}

bool HttpTransfer::broke_idle_connection() const {
  return request_begun_ && !opened_ && head_bytes_ == 0 &&
         outcome_.failure == HttpFailure::interrupted;
}

std::string_view HttpTransfer::framing_fault() const {
  if (!options_.strict) {
    return {};
  }
  constexpr int kNoContent = 204;
  constexpr int kNotModified = 304;
  const std::string_view encoding = outcome_.header("content-encoding");
  if (!encoding.empty() && !same_ignoring_case(encoding, "identity")) {
    return "the response is compressed";
  }
  const bool has_end =
      is_head_ || outcome_.status == kNoContent || outcome_.status == kNotModified ||
      !outcome_.header("content-length").empty() || !outcome_.header("transfer-encoding").empty();
  return has_end ? "" : "the response does not declare its length";
}

// A server acts on complete requests only. libcurl forgets how much was sent once it has tried to
// repeat the request.
HttpOutcome::Kind HttpTransfer::kind_of_failure() const {
  curl_off_t sent = 0;
  curl_easy_getinfo(easy_, CURLINFO_SIZE_UPLOAD_T, &sent);
  const bool complete =
      repeat_prevented_ || static_cast<std::uint64_t>(sent) >= request_body_bytes_;
  return request_begun_ && complete ? HttpOutcome::Kind::maybe_done
                                    : HttpOutcome::Kind::nothing_sent;
}

HttpOutcome HttpTransfer::fail(HttpFailure failure, std::string_view cause,
                               std::string_view detail) {
  const std::string origin = url_.origin();
  outcome_.kind = kind_of_failure();
  outcome_.failure = failure;
  outcome_.cause = cause;
  switch (failure) {
    case HttpFailure::stopped:
      outcome_.reason = "the call was stopped";
      break;
    case HttpFailure::timed_out:
      outcome_.reason = request_begun_
                            ? fmt::format("{} did not respond in time", origin)
                            : fmt::format("{} cannot be reached: the connection timed out", origin);
      break;
    case HttpFailure::unreachable:
    case HttpFailure::untrusted:
      outcome_.reason = fmt::format("{} cannot be reached: {}", origin, detail);
      break;
    case HttpFailure::malformed:
    case HttpFailure::too_large:
      outcome_.reason = fmt::format("the response of {} cannot be used: {}", origin, detail);
      break;
    case HttpFailure::none:
    case HttpFailure::interrupted:
    case HttpFailure::ended:
      outcome_.reason = fmt::format(
          "the connection to {} was lost before the response was "
          "complete: {}",
          origin, detail);
      break;
    case HttpFailure::rejected:
      outcome_.reason = fmt::format("the request to {} cannot be sent: {}", origin, detail);
      break;
  }
  return outcome_;
}

HttpOutcome HttpTransfer::finish(int number) {
  const auto code = static_cast<CURLcode>(number);
  if (receive_failure_ != HttpFailure::none) {
    return fail(receive_failure_, receive_cause_, receive_cause_);
  }
  if (code == CURLE_OK && head_done_) {
    outcome_.kind = HttpOutcome::Kind::answered;
    return std::move(outcome_);
  }
  if (code == CURLE_OK || repeat_prevented_) {
    constexpr std::string_view kClosed = "the connection was closed";
    return fail(HttpFailure::interrupted, kClosed, kClosed);
  }
  if (!certificate_error_.empty()) {
    return fail(HttpFailure::untrusted, "the certificate of the server is not trusted",
                "TLS: " + certificate_error_);
  }
  // What OpenSSL reports of a peer that does not use TLS.
  const bool no_tls =
      code == CURLE_SSL_CONNECT_ERROR &&
      std::string_view(error_text_.c_str()).find("wrong version number") != std::string_view::npos;
  const HttpFailure failure = no_tls ? HttpFailure::malformed : failure_of(code, request_begun_);
  long os_error = 0;
  curl_easy_getinfo(easy_, CURLINFO_OS_ERRNO, &os_error);
  const bool tls = failure == HttpFailure::untrusted || code == CURLE_SSL_CONNECT_ERROR;
  std::string detail = error_text_.c_str();
  if (!tls && os_error != 0 && code != CURLE_COULDNT_RESOLVE_HOST) {
    detail = std::strerror(static_cast<int>(os_error));
  } else if (detail.empty()) {
    detail = curl_easy_strerror(code);
  }
  return fail(failure, curl_easy_strerror(code), (tls ? "TLS: " : "") + detail);
}

HttpOutcome HttpTransfer::drive(const std::stop_token& stop, milliseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  for (;;) {
    int running = 0;
    if (curl_multi_perform(multi_, &running) != CURLM_OK) {
      return fail(HttpFailure::interrupted, "libcurl failed", "libcurl failed");
    }
    int left = 0;
    if (const CURLMsg* const message = curl_multi_info_read(multi_, &left); message != nullptr) {
      return finish(message->data.result);
    }
    if (stop.stop_requested()) {
      return fail(HttpFailure::stopped, "the call was stopped", "");
    }
    const auto until = streaming_ ? last_piece_ + stream_->silence : deadline;
    const auto wait = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    if (wait.count() <= 0) {
      return fail(HttpFailure::timed_out, curl_easy_strerror(CURLE_OPERATION_TIMEDOUT), "");
    }
    curl_multi_poll(multi_, nullptr, 0, static_cast<int>(std::min(wait, kLongestPoll).count()),
                    nullptr);
  }
}

HttpOutcome HttpTransfer::run(const HttpCall& call, const Stream* stream,
                              const std::stop_token& stop) {
  if (!prepare(call, stream)) {
    return fail(HttpFailure::rejected, "libcurl rejects the request", "libcurl rejects it");
  }
  if (stop.stop_requested()) {
    return fail(HttpFailure::stopped, "the call was stopped", "");
  }
  if (multi_ == nullptr) {
    multi_ = curl_multi_init();
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 1L);
  }
  if (multi_ == nullptr || curl_multi_add_handle(multi_, easy_) != CURLM_OK) {
    return fail(HttpFailure::rejected, "libcurl rejects the request", "libcurl rejects it");
  }
  std::optional<BlockedSigpipe> blocked;
  if (url_.kind == Url::Kind::https) {
    blocked.emplace();
  }
  void* const multi = multi_;
  const std::stop_callback wake(stop, [multi] { curl_multi_wakeup(multi); });
  HttpOutcome outcome = drive(stop, call.timeout);
  curl_multi_remove_handle(multi_, easy_);
  return outcome;
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  const time_t at = curl_getdate(std::string(text).c_str(), nullptr);
  return at == -1 ? std::nullopt : std::optional<std::int64_t>(at);
}

}  // namespace holdfast::net
