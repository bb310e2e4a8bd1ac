#include "apps/cli/download.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace holdfast {

using client::Connection;
using client::HttpOutcome;
using client::IoEnd;
using client::Limits;
using client::ResponseReader;

namespace {

constexpr int kGood = 200;

std::string request_text(const client::ServerUrl& url, const client::HttpOptions& options,
                         std::string_view target) {
  const std::string token =
      options.token.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", options.token);
  return fmt::format(
      "GET {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\n{}Accept: */*\r\nConnection: close\r\n"
      "\r\n",
      url.prefix, target, url.authority, options.user_agent, token);
}

// What could be had of the answer, until it is whole or something ends it.
class Transfer {
 public:
  Transfer(Connection& connection, std::chrono::milliseconds silence)
      : connection_(connection), silence_(silence) {}

  HttpOutcome run(const std::string& request, const std::function<bool(std::string_view)>& sink) {
    std::size_t written = 0;
    IoEnd end = connection_.write_all(request, written, limits());
    while (end == IoEnd::ok && !reader_.done()) {
      end = read_more();
      const bool good = reader_.head_done() && reader_.status() == kGood;
      if (good && !sink(reader_.take_body())) {
        return broken("what comes cannot be kept");
      }
    }
    if (end != IoEnd::ok) {
      return broken(!reader_.fault().empty()  ? reader_.fault()
                    : end == IoEnd::timed_out ? "nothing came for too long"
                                              : connection_.reason());
    }
    HttpOutcome outcome;
    outcome.kind = HttpOutcome::Kind::answered;
    outcome.status = reader_.status();
    outcome.headers = std::move(reader_.headers());
    outcome.body = reader_.take_body();
    return outcome;
  }

 private:
  [[nodiscard]] Limits limits() const {
    return {std::chrono::steady_clock::now() + silence_, nobody_};
  }

  IoEnd read_more() {
    std::size_t count = 0;
    const IoEnd end = connection_.read_some(bytes_.data(), bytes_.size(), count, limits());
    if (end != IoEnd::ok) {
      return end;
    }
    return reader_.feed({bytes_.data(), count}) ? IoEnd::ok : IoEnd::failed;
  }

  static HttpOutcome broken(std::string_view why) {
    HttpOutcome outcome;
    outcome.reason = fmt::format("the download broke off: {}", why);
    return outcome;
  }

  Connection& connection_;
  std::chrono::milliseconds silence_;
  client::StopSignal nobody_{std::stop_token()};
  ResponseReader reader_{client::ResponseLimits{.body_bytes = SIZE_MAX}};  // is taken at once
  std::array<char, 65536> bytes_{};
};

}  // namespace

Result<HttpOutcome> download(const client::ServerUrl& url, const client::HttpOptions& options,
                             std::string_view target, std::chrono::milliseconds silence,
                             const std::function<bool(std::string_view)>& sink) {
  std::unique_ptr<client::TlsSettings> tls;
  if (url.kind == client::ServerUrl::Kind::https) {
    HOLDFAST_TRY(tls, client::TlsSettings::create(options.tls_ca_file));
  }
  const client::StopSignal nobody{std::stop_token()};
  Connection::Opened opened = Connection::open(
      url, tls.get(), {std::chrono::steady_clock::now() + options.connect_timeout, nobody});
  if (opened.end != IoEnd::ok) {
    HttpOutcome outcome;
    outcome.permanent = opened.permanent;
    outcome.reason = fmt::format("{} cannot be reached: {}", url.shown(), opened.reason);
    return outcome;
  }
  return Transfer(*opened.connection, silence).run(request_text(url, options, target), sink);
}

}  // namespace holdfast
