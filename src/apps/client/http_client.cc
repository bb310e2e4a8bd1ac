#include "apps/client/http_client.h"

#include <fmt/format.h>

#include <array>

namespace holdfast::client {

namespace {

constexpr std::size_t kMostIdle = 16;
constexpr std::size_t kReadBytes = 64U << 10U;

using Kind = HttpOutcome::Kind;

// An Authorization header with a line break in it would be two.
Result<void> check_token(std::string_view token) {
  for (const char c : token) {
    if (c <= ' ' || c >= '\x7f') {
      return Error{ErrorCode::invalid_argument, "the token has characters that no token has"}.with(
          "field", "token");
    }
  }
  return {};
}

void end_without_answer(HttpOutcome& outcome, Kind kind, IoEnd end, std::string_view reason) {
  outcome.kind = kind;
  outcome.stopped = end == IoEnd::stopped;
  switch (end) {
    case IoEnd::stopped:
      outcome.reason = "the call was stopped";
      return;
    case IoEnd::timed_out:
      outcome.reason = "there was no answer in time";
      return;
    case IoEnd::ok:
    case IoEnd::closed:
    case IoEnd::failed:
      break;
  }
  outcome.reason = reason;
}

void take_answer(ResponseReader& reader, HttpOutcome& outcome) {
  outcome.kind = Kind::answered;
  outcome.status = reader.status();
  outcome.headers = std::move(reader.headers());
  outcome.body = reader.take_body();
  outcome.reason.clear();
}

// Reads on until `enough`; the end of what could be read otherwise.
template <typename Enough>
IoEnd read_until(Connection& connection, ResponseReader& reader, const Limits& limits,
                 Enough enough) {
  std::array<char, kReadBytes> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): is filled
  while (!enough()) {
    std::size_t count = 0;
    const IoEnd end = connection.read_some(bytes.data(), bytes.size(), count, limits);
    if (end != IoEnd::ok) {
      return end;
    }
    if (!reader.feed({bytes.data(), count})) {
      return IoEnd::failed;
    }
  }
  return IoEnd::ok;
}

}  // namespace

std::string_view HttpOutcome::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) {
      return value;
    }
  }
  return {};
}

HttpClient::HttpClient(ServerUrl url, HttpOptions options, std::unique_ptr<TlsSettings> tls)
    : url_(std::move(url)), options_(std::move(options)), tls_(std::move(tls)) {}

Result<std::unique_ptr<HttpClient>> HttpClient::create(std::string_view url,
                                                       const HttpOptions& options) {
  HOLDFAST_TRY(ServerUrl parsed, parse_server_url(url));
  HOLDFAST_CHECK(check_token(options.token));
  std::unique_ptr<TlsSettings> tls;
  if (parsed.kind == ServerUrl::Kind::https) {
    HOLDFAST_TRY(tls, TlsSettings::create(options.tls_ca_file));
  }
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(parsed), options, std::move(tls)));
}

std::string HttpClient::request_text(const HttpCall& call) const {
  constexpr std::size_t kUsualHead = 512;
  std::string text;
  text.reserve(kUsualHead + call.body.size());
  const auto add = [&](std::string_view name, std::string_view value) {
    text.append(name).append(": ").append(value).append("\r\n");
  };
  text.append(call.method).append(" ").append(url_.prefix).append(call.target);
  text += " HTTP/1.1\r\n";
  add("Host", url_.authority);
  add("User-Agent", options_.user_agent);
  if (!options_.token.empty()) {
    add("Authorization", "Bearer " + options_.token);
  }
  for (const auto& [name, value] : call.headers) {
    add(name, value);
  }
  if (!call.content_type.empty()) {
    add("Content-Type", call.content_type);
  }
  if (!call.content_type.empty() || call.method != "GET") {
    add("Content-Length", std::to_string(call.body.size()));
  }
  text += "\r\n";
  text += call.body;
  return text;
}

std::unique_ptr<Connection> HttpClient::take_idle() {
  const auto now = std::chrono::steady_clock::now();
  const std::scoped_lock lock(mutex_);
  while (!idle_.empty()) {
    Idle newest = std::move(idle_.back());
    idle_.pop_back();
    if (now - newest.since > options_.idle) {
      idle_.clear();  // the others are older
    } else if (!newest.connection->is_over()) {
      return std::move(newest.connection);
    }
  }
  return nullptr;
}

void HttpClient::give_back(std::unique_ptr<Connection> connection) {
  const std::scoped_lock lock(mutex_);
  if (idle_.size() >= kMostIdle) {
    idle_.erase(idle_.begin());
  }
  idle_.push_back({std::move(connection), std::chrono::steady_clock::now()});
}

std::unique_ptr<Connection> HttpClient::open(HttpOutcome& outcome, const Limits& limits) {
  const Limits connect{
      std::min(limits.until, std::chrono::steady_clock::now() + options_.connect_timeout),
      limits.stop};
  Connection::Opened opened = Connection::open(url_, tls_.get(), connect);
  if (opened.end != IoEnd::ok) {
    end_without_answer(outcome, Kind::nothing_sent, opened.end, "");
    outcome.permanent = opened.permanent;
    if (!outcome.stopped) {
      outcome.reason = fmt::format("{} cannot be reached: {}", url_.shown(), opened.reason);
    }
  }
  return std::move(opened.connection);
}

bool HttpClient::exchange(Connection& connection, std::string_view request, ResponseReader& reader,
                          HttpOutcome& outcome, const Limits& limits) const {
  std::size_t written = 0;
  const IoEnd wrote = connection.write_all(request, written, limits);
  // What is over after a part of the request may still have answered: too large, for example.
  const bool went_on = wrote == IoEnd::ok || (wrote == IoEnd::closed && written > 0);
  if (!went_on) {
    // A server acts on whole requests only.
    end_without_answer(
        outcome, Kind::nothing_sent, wrote,
        fmt::format("the connection to {} broke: {}", url_.shown(), connection.reason()));
    return wrote != IoEnd::closed && wrote != IoEnd::failed;
  }
  const IoEnd read = read_until(connection, reader, limits, [&] { return reader.done(); });
  if (read == IoEnd::ok) {
    take_answer(reader, outcome);
    return true;
  }
  const Kind kind = wrote == IoEnd::ok ? Kind::maybe_done : Kind::nothing_sent;
  if (!reader.fault().empty()) {
    end_without_answer(
        outcome, kind, read,
        fmt::format("the answer of {} cannot be used: {}", url_.shown(), reader.fault()));
    return true;
  }
  end_without_answer(outcome, kind, read,
                     fmt::format("the connection to {} broke before the answer was complete: {}",
                                 url_.shown(), connection.reason()));
  return reader.begun() || read == IoEnd::stopped || read == IoEnd::timed_out;
}

HttpOutcome HttpClient::send(const HttpCall& call, const std::stop_token& stop) {
  const StopSignal signal(stop);
  const Limits limits{std::chrono::steady_clock::now() + call.timeout, signal};
  const std::string request = request_text(call);
  HttpOutcome outcome;
  for (bool fresh = false;; fresh = true) {
    std::unique_ptr<Connection> connection = fresh ? nullptr : take_idle();
    const bool reused = connection != nullptr;
    if (!reused) {
      connection = open(outcome, limits);
      if (connection == nullptr) {
        return outcome;
      }
    }
    ResponseReader reader(options_.limits);
    const bool final = exchange(*connection, request, reader, outcome, limits);
    if (reader.keeps_alive()) {
      give_back(std::move(connection));
    }
    // An idle connection that the server had given up says nothing about the server.
    const bool may_repeat = call.repeatable || outcome.kind == Kind::nothing_sent;
    if (final || !reused || !may_repeat) {
      return outcome;
    }
    outcome = HttpOutcome();
  }
}

HttpOutcome HttpClient::events(const HttpCall& call, std::chrono::milliseconds silence,
                               const std::function<bool(const ServerEvent&)>& seen,
                               const std::stop_token& stop) {
  const StopSignal signal(stop);
  HttpOutcome outcome;
  const auto connection = open(outcome, {std::chrono::steady_clock::now() + call.timeout, signal});
  return connection == nullptr ? outcome : follow(*connection, call, silence, seen, signal);
}

HttpOutcome HttpClient::follow(Connection& connection, const HttpCall& call,
                               std::chrono::milliseconds silence,
                               const std::function<bool(const ServerEvent&)>& seen,
                               const StopSignal& signal) {
  HttpOutcome outcome;
  const Limits first{std::chrono::steady_clock::now() + call.timeout, signal};
  std::size_t written = 0;
  IoEnd end = connection.write_all(request_text(call), written, first);
  ResponseReader reader(options_.limits);
  if (end == IoEnd::ok) {
    end = read_until(connection, reader, first, [&] { return reader.head_done(); });
  }
  const bool is_stream = reader.head_done() && reader.status() == 200 &&
                         reader.header("content-type").starts_with("text/event-stream");
  if (end == IoEnd::ok && !is_stream) {
    end = read_until(connection, reader, first, [&] { return reader.done(); });
    if (end == IoEnd::ok) {
      take_answer(reader, outcome);
      return outcome;
    }
  }
  EventReader events;
  while (end == IoEnd::ok) {
    if (!events.feed(reader.take_body(), seen)) {
      outcome.kind = Kind::answered;
      outcome.status = reader.status();
      return outcome;
    }
    if (reader.done()) {
      end = IoEnd::closed;
      break;
    }
    bool more = false;
    const Limits next{std::chrono::steady_clock::now() + silence, signal};
    end = read_until(connection, reader, next, [&] { return std::exchange(more, true); });
  }
  const std::string why = reader.fault().empty() ? connection.reason() : reader.fault();
  end_without_answer(outcome, Kind::maybe_done, end,
                     fmt::format("the stream of {} ended: {}", url_.shown(), why));
  outcome.status = reader.head_done() ? reader.status() : 0;
  return outcome;
}

}  // namespace holdfast::client
