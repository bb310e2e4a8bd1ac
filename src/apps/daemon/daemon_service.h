// DaemonService: what the operations of a daemon share, and the path of a request through them:
// access, route, operation, response.
//
// A request is served by one thread, which may wait for the outbox or the broker: never call
// respond() from a thread of net::HttpServer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "apps/daemon/daemon_config.h"
#include "apps/daemon/daemon_events.h"
#include "apps/daemon/drain.h"
#include "apps/daemon/local_access.h"
#include "apps/daemon/member_names.h"
#include "apps/daemon/receiver.h"
#include "apps/server/query.h"
#include "base/clock.h"
#include "base/fields.h"
#include "delivery/daemon/inbox.h"
#include "delivery/daemon/outbox.h"
#include "net/http.h"
#include "net/http_server.h"
#include "runs/api/strict_reader.h"

namespace holdfast::delivery {

// Counts of requests and sends, by label.
class DaemonCounters {
 public:
  void answered(std::string_view operation, int status, std::string_view transport);
  void sent(std::string_view kind, int status);
  void rotated() { ++rotations_; }
  void security_event() { ++security_events_; }

  using Requests = std::map<std::tuple<std::string, int, std::string>, std::uint64_t>;
  using Sends = std::map<std::pair<std::string, int>, std::uint64_t>;
  [[nodiscard]] Requests requests() const;
  [[nodiscard]] Sends sends() const;
  [[nodiscard]] std::uint64_t rotations() const { return rotations_; }
  [[nodiscard]] std::uint64_t security_events() const { return security_events_; }

 private:
  mutable std::mutex mutex_;
  Requests requests_;
  Sends sends_;
  std::atomic<std::uint64_t> rotations_ = 0;
  std::atomic<std::uint64_t> security_events_ = 0;
};

struct DaemonService {
  Outbox& outbox;
  Inbox& inbox;
  Drain& drain;
  Receiver& receiver;
  DaemonEvents& events;
  MemberNames& names;
  LocalAccess& access;
  DaemonCounters& counters;
  const DaemonConfig& config;
  const DaemonMember& member;
  const DaemonFolder& folder;
  Clock& clock;    // of this machine, never backwards
  Random& random;  // suitable for secrets
  ServerLog& log;
  std::string version;
  TimeMs started_at;
  std::function<void()> stop;  // requests the end of the process
  // Reads config.json again: the settings that count after a restart.
  std::function<Result<std::vector<std::string>>()> reload;
};

net::Response respond(DaemonService& service, const net::Request& request);
// GET /v1/events, whose response is a stream.
bool is_events(const net::Request& request);
void serve_events(DaemonService& service, const net::ExchangePtr& exchange);
// The response to a request that is not served; what concerns security is logged.
net::Response refused(DaemonService& service, const net::Request& request, const Error& error);
// unix or tcp.
std::string_view transport_of(const net::Request& request);
// A problem document (RFC 9457).
net::Response daemon_problem(const Error& error);
// Too many requests at the same time.
net::Response daemon_busy();

struct DaemonReply {
  int status = 200;
  std::string body = {};
  std::string content_type = "application/json";
};

struct DaemonCall {
  DaemonService& service;
  const net::Request& request;
  std::vector<std::string> arguments;  // the parameters of the path, decoded
  Query query;
};

template <HasFields T>
Result<DaemonReply> reply_with_view(const T& view, int status = 200) {
  HOLDFAST_TRY(const JsonText json, to_json(view));
  return DaemonReply{status, std::string(json.view()) + "\n"};
}

// The body as a JSON object; {} when it is empty. invalid_argument, invalid_json.
Result<JsonText> json_body(const DaemonCall& call);
template <HasFields T>
Result<T> read_json_body(DaemonCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const JsonText body, json_body(call));
  return read_object<T>(body.view());
}

// The operations.
Result<DaemonReply> send_message_out(DaemonCall& call);
Result<DaemonReply> post_to_topic(DaemonCall& call);
Result<DaemonReply> list_outbox(DaemonCall& call);
Result<DaemonReply> inspect_outbox(DaemonCall& call);
Result<DaemonReply> requeue_message(DaemonCall& call);
Result<DaemonReply> requeue_bulk(DaemonCall& call);
Result<DaemonReply> abort_message(DaemonCall& call);
Result<DaemonReply> compact_outbox(DaemonCall& call);
Result<DaemonReply> list_inbox(DaemonCall& call);
Result<DaemonReply> show_inbox_message(DaemonCall& call);
Result<DaemonReply> mark_inbox_seen(DaemonCall& call);
Result<DaemonReply> delete_inbox_message(DaemonCall& call);
Result<DaemonReply> list_topics_of_member(DaemonCall& call);
Result<DaemonReply> subscribe_to_topic(DaemonCall& call);
Result<DaemonReply> unsubscribe_from_topic(DaemonCall& call);
Result<DaemonReply> list_peers(DaemonCall& call);
Result<DaemonReply> set_own_profile(DaemonCall& call);
Result<DaemonReply> daemon_health(DaemonCall& call);
Result<DaemonReply> daemon_compat(DaemonCall& call);
Result<DaemonReply> caller_heartbeat(DaemonCall& call);
Result<DaemonReply> daemon_version(DaemonCall& call);
Result<DaemonReply> daemon_metrics(DaemonCall& call);
Result<DaemonReply> daemon_openapi(DaemonCall& call);
Result<DaemonReply> rotate_local_token(DaemonCall& call);
Result<DaemonReply> reload_daemon(DaemonCall& call);
Result<DaemonReply> stop_daemon(DaemonCall& call);

// 32 random bytes as text.
std::string new_local_token(Random& random);

}  // namespace holdfast::delivery
