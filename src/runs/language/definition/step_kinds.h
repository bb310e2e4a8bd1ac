// What a step is beside a call of a handler, one struct per kind. Part of spec.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace holdfast {

HOLDFAST_ENUM(LogLevel, debug, info, warning, error);

struct LogSpec {
  SharedText message;  // {path} in it is replaced by what the context has there
  LogLevel level = LogLevel::info;

  HOLDFAST_FIELDS(required(message), required(level));
  friend bool operator==(const LogSpec&, const LogSpec&) = default;
};

// One of the two.
struct WaitSpec {
  std::uint64_t for_ms = 0;
  Payload until;  // a JSON string: an ISO 8601 time, or a path to one (or to ms since 1970)

  HOLDFAST_FIELDS(optional(for_ms), optional(until));
  friend bool operator==(const WaitSpec&, const WaitSpec&) = default;
};

struct ManualSpec {
  SharedText reason;  // shown to the operator who decides

  HOLDFAST_FIELDS(optional(reason));
  friend bool operator==(const ManualSpec&, const ManualSpec&) = default;
};

struct EventSpec {
  SharedText event;     // 1 to 255 bytes
  Payload correlation;  // a JSON string: a literal; {"path":...}: from the context; empty: none

  HOLDFAST_FIELDS(required(event), optional(correlation));
  friend bool operator==(const EventSpec&, const EventSpec&) = default;
};

struct AwaitEventSpec {
  std::vector<EventSpec> any_of;  // at least one; the first that comes ends the wait
  std::uint64_t timeout_ms = 0;   // 0: none
  SharedText on_timeout;          // a target; empty: the error routes of the step

  HOLDFAST_FIELDS(required(any_of), optional(timeout_ms), optional(on_timeout));
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

  HOLDFAST_FIELDS(required(method), required(url), required(allowed_hosts), optional(headers),
                  optional(credential_refs), optional(query), optional(send_input),
                  optional(keep_body), optional(timeout_ms));
  friend bool operator==(const HttpSpec&, const HttpSpec&) = default;
};

// A process: input as JSON on stdin, result as JSON from stdout.
struct ExecSpec {
  std::vector<SharedText> command;  // program and arguments; no shell unless it is one
  SharedText directory;             // empty: where the worker runs
  std::map<std::string, SharedText> environment;  // beside that of the worker

  HOLDFAST_FIELDS(required(command), optional(directory), optional(environment));
  friend bool operator==(const ExecSpec&, const ExecSpec&) = default;
};

HOLDFAST_ENUM(ParentClose, cancel, detach);

struct ChildSpec {
  SharedText workflow;
  SharedText trigger;  // empty: the first of the child
  SharedText queue;
  SharedText key;         // among the children of the step; empty: the step's name
  bool detached = false;  // the step is done as soon as the child has started
  ParentClose on_parent_close = ParentClose::cancel;

  HOLDFAST_FIELDS(required(workflow), optional(trigger), optional(queue), optional(key),
                  optional(detached), required(on_parent_close));
  friend bool operator==(const ChildSpec&, const ChildSpec&) = default;
};

}  // namespace holdfast
