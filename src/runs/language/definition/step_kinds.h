// What a step is beside a call of a handler, one struct per kind. Part of spec.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace holdfast {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
template <>
inline constexpr std::string_view kEnumNames<LogLevel>[] = {"debug", "info", "warning", "error"};

struct LogSpec {
  SharedText message;  // {path} in it is replaced by what the context has there
  LogLevel level = LogLevel::info;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("message", self.message);
    v.required("level", self.level);
  }
  friend bool operator==(const LogSpec&, const LogSpec&) = default;
};

// One of the two.
struct WaitSpec {
  std::uint64_t for_ms = 0;
  Payload until;  // a JSON string: an ISO 8601 time, or a path to one (or to ms since 1970)

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("for_ms", self.for_ms);
    v.optional("until", self.until);
  }
  friend bool operator==(const WaitSpec&, const WaitSpec&) = default;
};

struct ManualSpec {
  SharedText reason;  // shown to the operator who decides

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("reason", self.reason);
  }
  friend bool operator==(const ManualSpec&, const ManualSpec&) = default;
};

struct EventSpec {
  SharedText event;     // 1 to 255 bytes
  Payload correlation;  // a JSON string: a literal; {"path":...}: from the context; empty: none

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("event", self.event);
    v.optional("correlation", self.correlation);
  }
  friend bool operator==(const EventSpec&, const EventSpec&) = default;
};

struct AwaitEventSpec {
  std::vector<EventSpec> any_of;  // at least one; the first that comes ends the wait
  std::uint64_t timeout_ms = 0;   // 0: none
  SharedText on_timeout;          // a target; empty: the error routes of the step

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("any_of", self.any_of);
    v.optional("timeout_ms", self.timeout_ms);
    v.optional("on_timeout", self.on_timeout);
  }
  friend bool operator==(const AwaitEventSpec&, const AwaitEventSpec&) = default;
};

// An HTTP request, under safe rules: only named hosts, no credentials in the definition, no
// redirects, what comes back is bounded and redacted.
struct HttpSpec {
  SharedText method;  // DELETE GET HEAD OPTIONS PATCH POST PUT
  SharedText url;     // http(s)://host[:port]/path; {name} is replaced from the input, encoded
  std::vector<SharedText> allowed_hosts;
  std::map<std::string, SharedText> headers;          // names that look secret are refused
  std::map<std::string, SharedText> credential_refs;  // header to the name of a credential
  std::vector<SharedText> query;                      // names of input fields sent as query
  bool send_input = false;                            // the input is the JSON body
  bool keep_body = false;                             // of the response, up to 8192 bytes
  std::uint64_t timeout_ms = 0;                       // 0: 30 s

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("method", self.method);
    v.required("url", self.url);
    v.required("allowed_hosts", self.allowed_hosts);
    v.optional("headers", self.headers);
    v.optional("credential_refs", self.credential_refs);
    v.optional("query", self.query);
    v.optional("send_input", self.send_input);
    v.optional("keep_body", self.keep_body);
    v.optional("timeout_ms", self.timeout_ms);
  }
  friend bool operator==(const HttpSpec&, const HttpSpec&) = default;
};

// A process: input as JSON on stdin, result as JSON from stdout.
struct ExecSpec {
  std::vector<SharedText> command;  // program and arguments; no shell unless it is one
  SharedText directory;             // empty: where the worker runs
  std::map<std::string, SharedText> environment;  // beside that of the worker

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("command", self.command);
    v.optional("directory", self.directory);
    v.optional("environment", self.environment);
  }
  friend bool operator==(const ExecSpec&, const ExecSpec&) = default;
};

enum class ParentClose : std::uint8_t { cancel, detach };
template <>
inline constexpr std::string_view kEnumNames<ParentClose>[] = {"cancel", "detach"};

struct ChildSpec {
  SharedText workflow;
  SharedText trigger;  // empty: the first of the child
  SharedText queue;
  SharedText key;         // among the children of the step; empty: the step's name
  bool detached = false;  // the step is done as soon as the child has started
  ParentClose on_parent_close = ParentClose::cancel;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("workflow", self.workflow);
    v.optional("trigger", self.trigger);
    v.optional("queue", self.queue);
    v.optional("key", self.key);
    v.optional("detached", self.detached);
    v.required("on_parent_close", self.on_parent_close);
  }
  friend bool operator==(const ChildSpec&, const ChildSpec&) = default;
};

}  // namespace holdfast
