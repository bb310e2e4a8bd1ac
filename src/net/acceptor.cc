#include "net/acceptor.h"

#include <cerrno>

#include "net/net_reactor.h"

namespace holdfast::net {

namespace {

constexpr std::chrono::milliseconds kPause{100};
// Connections accepted in a row before the existing ones get their turn.
constexpr int kAcceptsInARow = 64;
// Connections that receive a 503 at the same time; further ones are closed without a response.
constexpr std::uint64_t kMaxRejected = 64;

bool out_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

Acceptor::Acceptor(Reactor& home, std::vector<Listener> listeners,
                   std::vector<std::shared_ptr<Mailbox>> reactors, TlsContext* tls)
    : home_(home), listeners_(std::move(listeners)), reactors_(std::move(reactors)), tls_(tls) {}

void Acceptor::accept_from(std::size_t number) {
  const Listener& listener = listeners_[number];
  for (int count = 0; watching_ && count < kAcceptsInARow; ++count) {
    Listener::Accepted accepted = listener.accept();
    if (accepted.socket.is_open()) {
      take_in(std::move(accepted), listener.is_unix() ? nullptr : tls_);
    } else if (out_of_resources(accepted.error)) {
      ++home_.state().refused;
      pause();
    } else if (accepted.error == EAGAIN) {
      return;
    }
    // Any other error concerns that one connection, which is closed.
  }
}

void Acceptor::take_in(Listener::Accepted accepted, TlsContext* tls) {
  ServerState& state = home_.state();
  Adopt adopted{std::move(accepted.socket), std::move(accepted.peer), tls, Adopt::As::served};
  if (state.open.load() >= state.limits.connections) {
    ++state.refused;
    // A connection over the limit does not get a TLS handshake either.
    if (tls != nullptr || state.rejected.load() >= kMaxRejected) {
      return;
    }
    ++state.rejected;
    adopted.as = Adopt::As::refused;
  } else {
    ++state.accepted;
    ++state.open;
    ++state.live;
  }
  const std::shared_ptr<Mailbox>& mailbox = reactors_[turn_];
  turn_ = (turn_ + 1) % reactors_.size();
  if (mailbox == home_.mailbox()) {
    home_.adopt(std::move(adopted));
  } else {
    mailbox->post(std::move(adopted));
  }
}

void Acceptor::ignore_all() {
  for (const Listener& listener : listeners_) {
    home_.ignore_listener(listener.fd());
  }
  watching_ = false;
}

void Acceptor::pause() {
  ignore_all();
  home_.timers().set(*this, home_.now() + kPause);
}

void Acceptor::resume() {
  for (std::size_t number = 0; number < listeners_.size(); ++number) {
    home_.watch_listener(listeners_[number].fd(), number);
  }
  watching_ = true;
}

void Acceptor::close() {
  home_.timers().clear(*this);
  // Explicitly, before the descriptor is closed: a child process may still hold it after a fork.
  if (watching_) {
    ignore_all();
  }
  listeners_.clear();
  home_.state().end_accepting();
}

}  // namespace holdfast::net
