#include "net/http_load.h"

#include <curl/curl.h>
#include <sys/epoll.h>

#include <array>

#include "holdfast/assert.h"
#include "net/http_transfer.h"

namespace holdfast::net {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPatience{60'000};
constexpr std::size_t kMostEvents = 512;
constexpr long kMostConnections = 100'000;

}  // namespace

struct HttpLoad::Caller {
  Caller(const Url& url, const HttpOptions& options) : transfer(url, options) {}

  HttpTransfer transfer;
  std::string path;
  std::string body;
  Done done;
};

struct HttpLoad::Callbacks {
  static int watch_socket(CURL* /*easy*/, curl_socket_t socket, int what, void* user,
                          void* known) noexcept {
    HttpLoad& load = *static_cast<HttpLoad*>(user);
    if (what == CURL_POLL_REMOVE) {
      epoll_ctl(load.epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
      return 0;
    }
    epoll_event event{};
    event.data.fd = socket;
    event.events = (what & CURL_POLL_IN) != 0 ? EPOLLIN : 0U;
    event.events |= (what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0U;
    epoll_ctl(load.epoll_.get(), known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
    curl_multi_assign(load.multi_, socket, &load);
    return 0;
  }

  static int set_timer(CURLM* /*multi*/, long wait_ms, void* user) noexcept {
    static_cast<HttpLoad*>(user)->timer_ =
        wait_ms < 0 ? steady_clock::time_point::max() : steady_clock::now() + milliseconds(wait_ms);
    return 0;
  }
};

HttpLoad::HttpLoad(Url url, OwnedFd epoll)
    : url_(std::move(url)), epoll_(std::move(epoll)), multi_(curl_multi_init()) {
  HOLDFAST_ASSERT(multi_ != nullptr);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMostConnections);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Callbacks::watch_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, static_cast<void*>(this));
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Callbacks::set_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, static_cast<void*>(this));
}

HttpLoad::~HttpLoad() {
  for (const auto& caller : callers_) {
    if (caller->done != nullptr) {
      curl_multi_remove_handle(multi_, caller->transfer.handle());
    }
  }
  callers_.clear();
  curl_multi_cleanup(multi_);
}

Result<std::unique_ptr<HttpLoad>> HttpLoad::create(std::string_view url) {
  HOLDFAST_TRY(Url parsed, parse_url(url));
  OwnedFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) {
    return Error{ErrorCode::io_error, "cannot create an epoll instance"};
  }
  return std::unique_ptr<HttpLoad>(new HttpLoad(std::move(parsed), std::move(epoll)));
}

std::size_t HttpLoad::add_caller() {
  callers_.push_back(std::make_unique<Caller>(url_, options_));
  callers_.back()->transfer.require_new_connection(true);
  return callers_.size() - 1;
}

void HttpLoad::get(std::size_t caller, std::string_view path, Done done) {
  Caller& from = *callers_[caller];
  from.path = path;
  HttpCall call;
  call.target = from.path;
  begin(from, call, std::move(done));
}

void HttpLoad::post(std::size_t caller, std::string_view path, std::string_view body, Done done) {
  Caller& from = *callers_[caller];
  from.path = path;
  from.body = body;
  HttpCall call;
  call.method = "POST";
  call.target = from.path;
  call.body = from.body;
  call.content_type = "application/json";
  begin(from, call, std::move(done));
}

void HttpLoad::begin(Caller& caller, const HttpCall& call, Done done) {
  HOLDFAST_ASSERT(caller.done == nullptr);
  HOLDFAST_ASSERT(caller.transfer.prepare(call, nullptr));
  caller.done = std::move(done);
  void* const easy = caller.transfer.handle();
  curl_easy_setopt(easy, CURLOPT_PRIVATE, static_cast<void*>(&caller));
  HOLDFAST_ASSERT(curl_multi_add_handle(multi_, easy) == CURLM_OK);
}

void HttpLoad::act(int socket, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, socket, events, &running);
}

Result<void> HttpLoad::finish_calls() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
    void* const easy = message->easy_handle;
    const int code = message->data.result;
    Caller* caller = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &caller);
    const HttpOutcome outcome = caller->transfer.finish(code);
    curl_multi_remove_handle(multi_, easy);
    caller->transfer.require_new_connection(false);
    const Done done = std::exchange(caller->done, nullptr);
    if (outcome.kind != HttpOutcome::Kind::answered) {
      return Error{ErrorCode::unavailable, outcome.reason};
    }
    done(outcome);
  }
  return {};
}

Result<void> HttpLoad::run_until(const std::function<bool()>& finished) {
  std::array<epoll_event, kMostEvents> events{};
  while (!finished()) {
    const auto now = steady_clock::now();
    if (timer_ <= now) {
      timer_ = steady_clock::time_point::max();
      act(CURL_SOCKET_TIMEOUT, 0);
      HOLDFAST_CHECK(finish_calls());
      continue;
    }
    const bool timed = timer_ - now < kPatience;
    const auto wait = timed ? std::chrono::ceil<milliseconds>(timer_ - now) : kPatience;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(wait.count()));
    if (count == 0 && !timed) {
      return Error{ErrorCode::unavailable, "the server did not respond for a minute"};
    }
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      const bool readable = (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
      const bool writable = (event.events & EPOLLOUT) != 0;
      act(event.data.fd, (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0));
    }
    HOLDFAST_CHECK(finish_calls());
  }
  return {};
}

}  // namespace holdfast::net
