#include "net/http_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/http_transfer.h"
#include "net/tls.h"

namespace holdfast::net {

struct HttpClient::Stream : HttpTransfer::Stream {};

namespace {

using std::chrono::milliseconds;
using Kind = HttpOutcome::Kind;

// A token with a line break would add a header of its own.
Result<void> check_token(std::string_view token) {
  const bool valid =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!valid) {
    return Error{ErrorCode::invalid_argument, "the token contains characters that are not allowed"}
        .with("field", "token");
  }
  return {};
}

// Server-sent events from the bytes of a stream, in pieces of any size.
class EventReader {
 public:
  // Calls `receive` for each event. Returns false if `receive` does, or if an event is larger than
  // kMaxBytes.
  bool feed(std::string_view bytes, const std::function<bool(const ServerEvent&)>& receive) {
    for (const char c : bytes) {
      if (c == '\n' && after_cr_) {
        after_cr_ = false;
        continue;
      }
      after_cr_ = c == '\r';
      if (c != '\n' && c != '\r') {
        buffer_ += c;
        continue;
      }
      if (!read_line(buffer_, receive)) {
        return false;
      }
      buffer_.clear();
    }
    return buffer_.size() + event_.data.size() <= kMaxBytes;
  }

 private:
  static constexpr std::size_t kMaxBytes = 16U << 20U;

  bool read_line(std::string_view line, const std::function<bool(const ServerEvent&)>& receive) {
    if (line.empty()) {
      event_.id = last_id_;
      const bool continues = !has_data_ || receive(event_);
      event_ = ServerEvent();
      has_data_ = false;
      return continues;
    }
    const std::size_t colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
    if (value.starts_with(' ')) {
      value.remove_prefix(1);
    }
    if (field == "data") {
      event_.data += has_data_ ? "\n" : "";
      event_.data += value;
      has_data_ = true;
    } else if (field == "event") {
      event_.event = value;
    } else if (field == "id" && value.find('\0') == std::string_view::npos) {
      last_id_ = value;
    }
    return event_.data.size() <= kMaxBytes;
  }

  std::string buffer_;
  bool after_cr_ = false;  // a following line feed belongs to the previous line
  ServerEvent event_;
  bool has_data_ = false;
  std::string last_id_;
};

}  // namespace

std::string_view HttpOutcome::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const auto& header) { return header.first == name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

HttpClient::HttpClient(Url url, HttpOptions options)
    : url_(std::move(url)), options_(std::move(options)) {}

HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::create(std::string_view url,
                                                       const HttpOptions& options) {
  auto parsed = parse_url(url);
  if (!parsed.ok()) {
    return Error{ErrorCode::invalid_url,
                 fmt::format("{}; use http://HOST:PORT, https://HOST:PORT or unix:/PATH",
                             parsed.error().message())}
        .with("field", "url");
  }
  return create(std::move(parsed).value(), options);
}

Result<std::unique_ptr<HttpClient>> HttpClient::create(Url url, const HttpOptions& options) {
  HOLDFAST_CHECK(check_token(options.token));
  if (url.kind == Url::Kind::https && !options.tls_ca_file.empty()) {
    HOLDFAST_CHECK(check_authorities(options.tls_ca_file));
  }
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(url), options));
}

std::unique_ptr<HttpTransfer> HttpClient::take_idle() {
  const auto now = std::chrono::steady_clock::now();
  const std::scoped_lock lock(mutex_);
  if (idle_.empty()) {
    return nullptr;
  }
  Idle newest = std::move(idle_.back());
  idle_.pop_back();
  if (now - newest.since > options_.idle) {
    idle_.clear();  // the others are older
    return nullptr;
  }
  return std::move(newest.transfer);
}

void HttpClient::give_back(std::unique_ptr<HttpTransfer> transfer) {
  const std::scoped_lock lock(mutex_);
  if (options_.max_idle == 0) {
    return;
  }
  if (idle_.size() >= options_.max_idle) {
    idle_.erase(idle_.begin());
  }
  idle_.push_back({std::move(transfer), std::chrono::steady_clock::now()});
}

HttpOutcome HttpClient::run(const HttpCall& call, const Stream* stream,
                            const std::stop_token& stop) {
  const auto deadline = std::chrono::steady_clock::now() + call.timeout;
  std::unique_ptr<HttpTransfer> transfer = take_idle();
  if (transfer == nullptr) {
    transfer = std::make_unique<HttpTransfer>(url_, options_);
  }
  HttpOutcome outcome = transfer->run(call, stream, stop);
  // A server may close an idle connection at any time: the failure says nothing about the server.
  const bool may_repeat = call.repeatable || outcome.kind == Kind::nothing_sent;
  if (may_repeat && transfer->broke_idle_connection()) {
    HttpCall again = call;
    again.timeout = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    outcome = transfer->run(again, stream, stop);
  }
  give_back(std::move(transfer));
  return outcome;
}

HttpOutcome HttpClient::send(const HttpCall& call, const std::stop_token& stop) {
  return run(call, nullptr, stop);
}

HttpOutcome HttpClient::events(const HttpCall& call, milliseconds silence,
                               const std::function<bool(const ServerEvent&)>& receive,
                               const std::stop_token& stop) {
  EventReader reader;
  const Stream stream{
      {.content_type = "text/event-stream",
       .silence = silence,
       .sink = [&](std::string_view piece) { return reader.feed(piece, receive); }}};
  HttpCall repeatable = call;
  repeatable.repeatable = true;
  HttpOutcome outcome = run(repeatable, &stream, stop);
  if (outcome.failure == HttpFailure::ended) {
    outcome.kind = Kind::answered;
    outcome.reason.clear();
  } else if (outcome.kind == Kind::answered && outcome.status == 200 &&
             outcome.header("content-type").starts_with(stream.content_type)) {
    outcome.kind = Kind::maybe_done;
    outcome.failure = HttpFailure::interrupted;
    outcome.reason = fmt::format("the event stream of {} ended", url_.origin());
  }
  return outcome;
}

HttpOutcome HttpClient::download(const HttpCall& call, milliseconds silence,
                                 const std::function<bool(std::string_view)>& sink,
                                 const std::stop_token& stop) {
  const Stream stream{{.content_type = {}, .silence = silence, .sink = sink}};
  HttpOutcome outcome = run(call, &stream, stop);
  if (outcome.kind != Kind::answered && outcome.status != 0) {
    outcome.kind = Kind::nothing_sent;  // a download changes nothing: it can be repeated
    outcome.reason = fmt::format(
        "the download from {} is incomplete: {}", url_.origin(),
        outcome.failure == HttpFailure::ended ? "the data cannot be written" : outcome.cause);
  }
  return outcome;
}

}  // namespace holdfast::net
