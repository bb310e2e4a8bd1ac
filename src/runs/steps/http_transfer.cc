#include "runs/steps/http_transfer.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "runs/steps/http_response.h"

namespace holdfast {
namespace {

constexpr int kLongestPollMs = 60'000;

struct CloseEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct CloseMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

bool libcurl_is_ready() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  return once == CURLE_OK;
}

// What the callbacks fill. They are called from C: nothing may throw through.
struct Intake {
  HttpAnswer answer;
  std::size_t kept_body_bytes = 0;
  std::size_t header_bytes = 0;
  bool too_large = false;
};

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  auto& intake = *static_cast<Intake*>(user);
  const std::size_t bytes = size * count;
  HttpAnswer& answer = intake.answer;
  answer.body_bytes += bytes;
  if (answer.body_bytes > kMaxResponseBytes) {
    intake.too_large = true;
    return CURL_WRITEFUNC_ERROR;
  }
  const std::size_t room = intake.kept_body_bytes - answer.body.size();
  answer.body.append(data, std::min(bytes, room));
  return bytes;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  auto& intake = *static_cast<Intake*>(user);
  const std::string_view line(data, size * count);
  intake.header_bytes += line.size();
  if (intake.header_bytes > kMaxHeaderBytes) {
    intake.too_large = true;
    return CURL_WRITEFUNC_ERROR;
  }
  const std::size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) {
    intake.answer.headers.clear();  // those before belong to an interim answer, 100 for example
  } else if (colon != std::string_view::npos) {
    intake.answer.headers.emplace_back(lower_header_name(trimmed(line.substr(0, colon))),
                                       trimmed(line.substr(colon + 1)));
  }
  return line.size();
}

TransferEnd end_of(CURLcode code) {
  if (code == CURLE_OK) {
    return TransferEnd::answered;
  }
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return TransferEnd::timed_out;
  }
  if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT ||
      code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION) {
    return TransferEnd::unreachable;
  }
  if (code == CURLE_URL_MALFORMAT || code == CURLE_BAD_FUNCTION_ARGUMENT) {
    return TransferEnd::refused;
  }
  return TransferEnd::interrupted;
}

class Transfer {
 public:
  Transfer(const HttpRequest& request, std::size_t kept_body_bytes)
      : request_(request), easy_(curl_easy_init()), multi_(curl_multi_init()) {
    intake_.kept_body_bytes = kept_body_bytes;
  }
  ~Transfer() {
    if (added_) {
      curl_multi_remove_handle(multi_.get(), easy_.get());
    }
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  HttpAnswer carry_out(const std::stop_token& stop);

 private:
  bool prepare();
  void set_safety();
  void set_method_and_body();
  void set_headers();
  void add_line(const std::string& line);
  void run(const std::stop_token& stop);
  void finish(CURLcode code);
  HttpAnswer& end_with(TransferEnd end, std::string_view reason);

  template <typename T>
  void set(CURLoption option, T value) {
    ready_ = ready_ && curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
  }

  const HttpRequest& request_;
  Intake intake_;
  std::unique_ptr<curl_slist, FreeList> lines_;
  std::unique_ptr<CURL, CloseEasy> easy_;
  std::unique_ptr<CURLM, CloseMulti> multi_;
  bool ready_ = true;
  bool added_ = false;
};

void Transfer::set_safety() {
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_PROXY, "");
  set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  set(CURLOPT_PATH_AS_IS, 1L);  // what was checked is what is sent
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // a stop does not wait for a name server
  const std::uint64_t longest = std::numeric_limits<std::int32_t>::max();
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::min(request_.timeout_ms, longest)));
}

void Transfer::set_method_and_body() {
  const std::string& method = request_.method;
  if (method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
    return;
  }
  if (request_.body || method == "POST" || method == "PUT" || method == "PATCH") {
    const std::string_view body = request_.body ? std::string_view(*request_.body) : "";
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    set(CURLOPT_POSTFIELDS, body.data());
  } else {
    set(CURLOPT_HTTPGET, 1L);
  }
  set(CURLOPT_CUSTOMREQUEST, method.c_str());
}

void Transfer::add_line(const std::string& line) {
  curl_slist* longer = curl_slist_append(lines_.get(), line.c_str());
  ready_ = ready_ && longer != nullptr;
  if (longer != nullptr && longer != lines_.get()) {
    lines_.reset(longer);
  }
}

void Transfer::set_headers() {
  // libcurl's way to leave out what it would add by itself.
  add_line("Expect:");
  bool has_type = false;
  for (const auto& [name, value] : request_.headers) {
    has_type = has_type || lower_header_name(name) == "content-type";
    add_line(value.empty() ? fmt::format("{};", name) : fmt::format("{}: {}", name, value));
  }
  if (!has_type) {
    add_line("Content-Type:");
  }
  set(CURLOPT_HTTPHEADER, lines_.get());
  set(CURLOPT_USERAGENT, "holdfast");
}

bool Transfer::prepare() {
  if (!easy_ || !multi_) {
    return false;
  }
  set_safety();
  set_method_and_body();
  set_headers();
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_WRITEFUNCTION, &take_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&intake_));
  set(CURLOPT_HEADERFUNCTION, &take_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&intake_));
  added_ = ready_ && curl_multi_add_handle(multi_.get(), easy_.get()) == CURLM_OK;
  return added_;
}

HttpAnswer& Transfer::end_with(TransferEnd end, std::string_view reason) {
  intake_.answer.end = end;
  intake_.answer.reason = reason;
  return intake_.answer;
}

void Transfer::finish(CURLcode code) {
  if (intake_.too_large) {
    end_with(TransferEnd::too_large, "the response is larger than the limit");
    return;
  }
  // Fixed texts: libcurl's error buffer could show parts of the request.
  end_with(end_of(code), curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  intake_.answer.status = static_cast<int>(status);
}

void Transfer::run(const std::stop_token& stop) {
  CURLM* multi = multi_.get();
  const std::stop_callback wake(stop, [multi] { curl_multi_wakeup(multi); });
  int running = 1;
  while (true) {
    if (curl_multi_perform(multi, &running) != CURLM_OK) {
      end_with(TransferEnd::interrupted, "libcurl failed");
      return;
    }
    int left = 0;
    if (const CURLMsg* message = curl_multi_info_read(multi, &left); message != nullptr) {
      finish(message->data.result);
      return;
    }
    if (stop.stop_requested()) {
      end_with(TransferEnd::stopped, "the step was stopped");
      return;
    }
    curl_multi_poll(multi, nullptr, 0, kLongestPollMs, nullptr);
  }
}

HttpAnswer Transfer::carry_out(const std::stop_token& stop) {
  if (!prepare()) {
    end_with(TransferEnd::refused, "libcurl does not take the request");
  } else {
    run(stop);
  }
  return std::move(intake_.answer);
}

}  // namespace

HttpAnswer transfer(const HttpRequest& request, std::size_t kept_body_bytes,
                    const std::stop_token& stop) {
  if (!libcurl_is_ready()) {
    HttpAnswer answer;
    answer.reason = "libcurl cannot be used";
    return answer;
  }
  return Transfer(request, kept_body_bytes).carry_out(stop);
}

}  // namespace holdfast
