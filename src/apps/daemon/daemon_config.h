// The settings of a daemon: config.json and member.json in its folder, written by `holdfast daemon
// join` and read strictly at the start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/daemon/daemon_folder.h"
#include "base/fields.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

HOLDFAST_ENUM(TcpMode, automatic, on, off);  // automatic: off in a container
// automatic: a WebSocket, and requests that wait where none can be opened.
HOLDFAST_ENUM(ReceiveMode, automatic, websocket, poll, off);

struct DaemonConfig {
  std::vector<std::string> brokers = {};  // URLs, tried in turn
  std::string workspace = {};
  std::string tls_ca = {};  // PEM file for the brokers; empty: the authorities of the system
  TcpMode tcp = TcpMode::automatic;
  std::uint32_t port = 0;  // 0: any free one
  bool public_health = false;
  std::uint64_t max_queue_size = 1'000'000;
  std::uint64_t max_outbox_bytes = 5'368'709'120;
  std::optional<std::uint32_t> max_age_hours = {};  // in place of what the broker's window allows
  std::uint32_t senders = 8;                        // messages on their way at the same time
  std::uint32_t initial_backoff_ms = 500;           // after a failure; doubled up to the next
  std::uint32_t max_backoff_ms = 30'000;
  ReceiveMode receive = ReceiveMode::automatic;
  std::uint32_t inbox_days = 30;  // then the texts of received messages are removed
  std::uint64_t max_inbox_bytes = 5'368'709'120;

  static void visit(auto& self, auto& v) {
    v.required("brokers", self.brokers);
    v.required("workspace", self.workspace);
    v.optional("tls_ca", self.tls_ca);
    v.optional("tcp", self.tcp);
    v.optional("port", self.port);
    v.optional("public_health", self.public_health);
    v.optional("max_queue_size", self.max_queue_size);
    v.optional("max_outbox_bytes", self.max_outbox_bytes);
    v.optional("max_age_hours", self.max_age_hours);
    v.optional("senders", self.senders);
    v.optional("initial_backoff_ms", self.initial_backoff_ms);
    v.optional("max_backoff_ms", self.max_backoff_ms);
    v.optional("receive", self.receive);
    v.optional("inbox_days", self.inbox_days);
    v.optional("max_inbox_bytes", self.max_inbox_bytes);
  }
};

struct DaemonMember {
  std::string name = {};
  std::string pubkey = {};
  std::string token = {};

  static void visit(auto& self, auto& v) {
    v.required("name", self.name);
    v.required("pubkey", self.pubkey);
    v.required("token", self.token);
  }
};

// not_found: the daemon has not joined a workspace; invalid_argument names the member that is
// wrong.
Result<DaemonConfig> read_daemon_config(const DaemonFolder& folder);
Result<DaemonMember> read_daemon_member(const DaemonFolder& folder);

// The settings that count after a restart only, and differ.
std::vector<std::string> settings_for_restart(const DaemonConfig& now, const DaemonConfig& next);

// Whether this process runs in a container.
bool in_container();

}  // namespace holdfast::delivery
