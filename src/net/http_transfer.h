// HttpTransfer: one libcurl handle, which carries out one call at a time and keeps its connection
// for the next. The only code that uses libcurl.
//
// libcurl repeats a request by itself if a reused connection breaks, also one that may have been
// processed. This class prevents that: it accepts one attempt to send per call.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "net/address_policy.h"
#include "net/http_client.h"

// The type that libcurl's own header declares.
struct curl_slist;

namespace holdfast::net {

class HttpTransfer {
 public:
  // A response with status 200 and this content type goes to the sink, not to the outcome.
  struct Stream {
    std::string_view content_type = {};               // its beginning; empty: any
    std::chrono::milliseconds silence{};              // the longest time between two pieces
    std::function<bool(std::string_view)> sink = {};  // false ends the transfer
  };

  // Both outlive the transfer.
  HttpTransfer(const Url& url, const HttpOptions& options);
  ~HttpTransfer();
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  // Blocks until the call has an outcome. `stream` may be null.
  HttpOutcome run(const HttpCall& call, const Stream* stream, const std::stop_token& stop);
  // The last call failed on a connection that had been idle, before a response began: the server
  // may just have closed it.
  [[nodiscard]] bool broke_idle_connection() const;

  // The last call got a whole head of a response, whatever the end of its body was.
  [[nodiscard]] bool has_head() const { return head_done_; }

  // For an event loop that drives many transfers: prepares the handle for a call, which must live
  // until finish; false if libcurl rejects it. The code is the CURLcode of the transfer.
  bool prepare(const HttpCall& call, const Stream* stream);
  HttpOutcome finish(int code);
  [[nodiscard]] void* handle() const { return easy_; }
  void require_new_connection(bool required);
  // New connections go only to addresses that the policy permits; it must outlive the transfer.
  // Every connection resolves its name anew.
  void limit_addresses(const AddressPolicy& policy);
  // The last call had no connection because no address of the server was permitted.
  [[nodiscard]] bool address_refused() const { return address_refused_ && !opened_; }

  struct Callbacks;

 private:
  friend struct Callbacks;

  void set_constant_options();
  void set_method_and_body(const HttpCall& call);
  void set_headers(const HttpCall& call);
  void add_line(const std::string& line);
  HttpOutcome drive(const std::stop_token& stop, std::chrono::milliseconds timeout);
  HttpOutcome fail(HttpFailure failure, std::string_view cause, std::string_view detail);
  [[nodiscard]] HttpOutcome::Kind kind_of_failure() const;
  [[nodiscard]] std::string_view framing_fault() const;

  template <typename T>
  void set(int option, T value);

  const Url& url_;
  const HttpOptions& options_;
  const std::string prefix_;  // scheme, host, port and path in front of every target
  void* easy_;
  void* multi_ = nullptr;
  curl_slist* lines_ = nullptr;
  const AddressPolicy* addresses_ = nullptr;
  bool usable_ = true;  // libcurl has accepted every option

  // Of the current call.
  const Stream* stream_ = nullptr;
  std::uint64_t request_body_bytes_ = 0;
  HttpOutcome outcome_;
  std::size_t head_bytes_ = 0;
  std::chrono::steady_clock::time_point last_piece_ = {};
  std::string error_text_;         // libcurl's error buffer
  std::string certificate_error_;  // why the certificate of the server was rejected
  HttpFailure receive_failure_ = HttpFailure::none;
  std::string_view receive_cause_ = {};
  bool is_head_ = false;        // the method is HEAD
  bool request_begun_ = false;  // there is a connection, and bytes of the request may be on it
  bool opened_ = false;         // a new connection was opened
  bool address_refused_ = false;
  bool repeat_prevented_ = false;
  bool head_done_ = false;
  bool streaming_ = false;
};

}  // namespace holdfast::net
