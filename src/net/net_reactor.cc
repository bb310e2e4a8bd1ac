#include "net/net_reactor.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "holdfast/assert.h"
#include "net/acceptor.h"
#include "net/ws_frames.h"

namespace holdfast::net {

namespace {

// The source of an event: the mailbox, a listener (plus its number), or a connection.
constexpr std::uint64_t kMailboxKey = 0;
constexpr std::uint64_t kFirstListener = 1;
constexpr ConnectionId kFirstConnection = 1U << 16U;

constexpr std::uint32_t kConnectionEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
constexpr std::size_t kEvents = 256;

bool control(int epoll, int operation, int fd, std::uint32_t events, std::uint64_t key) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  return ::epoll_ctl(epoll, operation, fd, &event) == 0;
}

}  // namespace

Result<std::unique_ptr<Reactor>> Reactor::create(ServerState& state) {
  OwnedFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  OwnedFd event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!epoll.is_open() || !event.is_open()) {
    return Error(ErrorCode::io_error,
                 fmt::format("cannot create an event queue: {}", std::strerror(errno)));
  }
  return std::unique_ptr<Reactor>(new Reactor(state, std::move(epoll), std::move(event)));
}

Reactor::Reactor(ServerState& state, OwnedFd epoll, OwnedFd event)
    : state_(state),
      epoll_(std::move(epoll)),
      mailbox_(std::make_shared<Mailbox>(std::move(event))),
      last_id_(kFirstConnection) {
  HOLDFAST_ASSERT(control(epoll_.get(), EPOLL_CTL_ADD, mailbox_->event(), EPOLLIN, kMailboxKey));
}

Reactor::~Reactor() = default;

void Reactor::set_acceptor(std::unique_ptr<Acceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  acceptor_->resume();
}

void Reactor::run() {
  // A write to a peer that has disconnected must be an error, not a signal.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  mailbox_->own();
  while (!stopped_) {
    handle_mail();
    bury_closed();
    if (!stopped_) {
      wait_for_events();
      fire_timers();
      bury_closed();
    }
  }
  close_everything();
}

// One round only: a handler that posts again at once must not starve the sockets.
void Reactor::handle_mail() {
  mailbox_->take(mails_);
  for (Mail& mail : mails_) {
    std::visit([this](auto& one) { handle(one); }, mail);
  }
  mails_.clear();
}

void Reactor::wait_for_events() {
  int timeout_ms = -1;
  if (!mailbox_->empty()) {
    timeout_ms = 0;
  } else if (const auto next = timers_.next()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*next - std::chrono::steady_clock::now());
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000));
  }
  std::array<epoll_event, kEvents> events;  // NOLINT: filled by the system
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEvents, timeout_ms);
  HOLDFAST_ASSERT(count >= 0 || errno == EINTR);
  now_ = std::chrono::steady_clock::now();
  for (int at = 0; at < count; ++at) {
    const epoll_event& event = events[static_cast<std::size_t>(at)];
    on_event(event.data.u64, event.events);
  }
}

void Reactor::on_event(std::uint64_t key, std::uint32_t events) {
  if (key == kMailboxKey) {
    mailbox_->clear_event();
  } else if (key < kFirstConnection) {
    acceptor_->accept_from(static_cast<std::size_t>(key - kFirstListener));
  } else if (Connection* const connection = find(key)) {
    connection->on_events(events);
  }
}

void Reactor::fire_timers() {
  while (Timed* const timed = timers_.take_due(now_)) {
    timed->on_time();
  }
}

void Reactor::bury_closed() {
  // Destroying a connection may release the last owner of an object that closes others.
  while (!buried_.empty()) {
    const ConnectionId id = buried_.back();
    buried_.pop_back();
    connections_.erase(id);
  }
}

Connection* Reactor::find(ConnectionId id) {
  const auto found = connections_.find(id);
  return found == connections_.end() || found->second->closed() ? nullptr : found->second.get();
}

std::string_view Reactor::date() {
  const std::time_t time = std::time(nullptr);
  if (time != date_time_) {
    date_time_ = time;
    date_ = http_date(time);
  }
  return date_;
}

void Reactor::adopt(Adopt adopted) {
  const ConnectionId id = ++last_id_;
  auto owner = std::make_unique<Connection>(*this, id, std::move(adopted));
  Connection& connection = *owner;
  connections_.emplace(id, std::move(owner));
  // The system may have no memory for one more.
  const bool watched = control(epoll_.get(), EPOLL_CTL_ADD, connection.fd(), kConnectionEvents, id);
  if (!watched || stopped_) {
    connection.close();
    return;
  }
  connection.start();
  if (draining_) {
    connection.drain();
  }
}

void Reactor::rewatch(const Connection& connection) const {
  HOLDFAST_ASSERT(
      control(epoll_.get(), EPOLL_CTL_MOD, connection.fd(), kConnectionEvents, connection.id()));
}

void Reactor::watch_listener(int socket, std::size_t number) const {
  HOLDFAST_ASSERT(control(epoll_.get(), EPOLL_CTL_ADD, socket, EPOLLIN, kFirstListener + number));
}

void Reactor::ignore_listener(int socket) const {
  HOLDFAST_ASSERT(control(epoll_.get(), EPOLL_CTL_DEL, socket, 0, 0));
}

void Reactor::handle(Adopt& mail) { adopt(std::move(mail)); }

void Reactor::handle(GiveReply& mail) {
  if (Connection* const connection = find(mail.id)) {
    connection->reply(std::move(mail.response));
  }
}

void Reactor::handle(OpenStream& mail) {
  if (Connection* const connection = find(mail.id)) {
    connection->open_stream(mail.head);
  }
}

void Reactor::handle(WritePiece& mail) {
  if (Connection* const connection = find(mail.id)) {
    connection->write_piece(std::move(mail.piece), std::move(mail.sent));
  } else {
    mail.sent(false);
  }
}

void Reactor::handle(FinishStream& mail) {
  if (Connection* const connection = find(mail.id)) {
    connection->finish_stream();
  }
}

void Reactor::handle(Upgrade& mail) {
  if (Connection* const connection = find(mail.id)) {
    connection->upgrade(std::move(mail));
  } else {
    mail.handler->on_closed(ws_code::kLost);
  }
}

void Reactor::handle(SendFrame& mail) {
  if (Connection* const connection = find(mail.id)) {
    connection->send_frame(std::move(mail.frame));
  }
}

void Reactor::handle(CloseWebSocket& mail) {
  if (Connection* const connection = find(mail.id)) {
    connection->close_web_socket(mail.code, mail.reason);
  }
}

void Reactor::handle(Call& mail) { mail.function(); }

void Reactor::handle(Drain& /*mail*/) {
  draining_ = true;
  if (acceptor_ != nullptr) {
    acceptor_->close();
  }
  for (const auto& [id, connection] : connections_) {
    connection->drain();
  }
}

void Reactor::handle(Stop& /*mail*/) { stopped_ = true; }

void Reactor::close_everything() {
  if (acceptor_ != nullptr) {
    acceptor_->close();
  }
  for (const auto& [id, connection] : connections_) {
    connection->close();
  }
  bury_closed();
  // Notifies everything posted so far of the end; nothing can follow.
  mailbox_->close();
  handle_mail();
}

}  // namespace holdfast::net
