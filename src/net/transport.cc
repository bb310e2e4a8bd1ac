#include "net/transport.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "holdfast/assert.h"

namespace holdfast::net {

namespace {

constexpr std::size_t kViews = 8;
constexpr std::size_t kTlsRecordBytes = 16U << 10U;

IoResult received(ssize_t bytes) {
  if (bytes > 0) {
    return {Io::done, static_cast<std::size_t>(bytes)};
  }
  if (bytes == 0) {
    return {Io::closed, 0};
  }
  return {errno == EAGAIN || errno == EINTR ? Io::blocked : Io::failed, 0};
}

IoResult receive(int socket, std::span<char> into) {
  ssize_t bytes = 0;
  do {
    bytes = ::recv(socket, into.data(), into.size(), MSG_DONTWAIT);
  } while (bytes < 0 && errno == EINTR);
  return received(bytes);
}

// One TLS record: small parts are joined into it.
std::string_view record_of(std::span<const iovec> views, std::span<char> buffer) {
  if (views.size() == 1 || views[0].iov_len >= buffer.size()) {
    return {static_cast<const char*>(views[0].iov_base),
            std::min(views[0].iov_len, kTlsRecordBytes)};
  }
  std::size_t size = 0;
  for (const iovec& view : views) {
    const std::size_t part = std::min(view.iov_len, buffer.size() - size);
    std::memcpy(buffer.data() + size, view.iov_base, part);
    size += part;
  }
  return {buffer.data(), size};
}

}  // namespace

std::size_t Output::views(std::span<iovec> into) {
  std::size_t count = 0;
  for (std::size_t at = first_; at < parts_.size() && count < into.size(); ++at) {
    const std::size_t offset = at == first_ ? offset_ : 0;
    into[count].iov_base = parts_[at].data() + offset;
    into[count].iov_len = parts_[at].size() - offset;
    ++count;
  }
  return count;
}

void Output::advance(std::size_t bytes) {
  while (bytes > 0) {
    HOLDFAST_ASSERT(first_ < parts_.size());
    const std::size_t left = parts_[first_].size() - offset_;
    if (bytes < left) {
      offset_ += bytes;
      return;
    }
    bytes -= left;
    parts_[first_] = std::string();
    ++first_;
    offset_ = 0;
  }
  if (first_ == parts_.size()) {
    parts_ = std::vector<std::string>();
    first_ = 0;
  }
}

void Output::drop_unsent() {
  if (offset_ > 0) {
    parts_.resize(first_ + 1);
  } else {
    parts_ = std::vector<std::string>();
    first_ = 0;
  }
}

Transport::Transport(OwnedFd socket, const TlsContext* tls) : socket_(std::move(socket)) {
  if (tls != nullptr) {
    tls_ = TlsSession::create(*tls, socket_.get());
    if (tls_ == nullptr) {
      socket_.close();
    }
  }
}

Io Transport::handshake() { return tls_ == nullptr ? Io::done : tls_->handshake(); }

IoResult Transport::read(std::span<char> into) {
  return tls_ == nullptr ? receive(socket_.get(), into) : tls_->read(into);
}

IoResult Transport::discard(std::span<char> into) { return receive(socket_.get(), into); }

IoResult Transport::write(Output& output) {
  IoResult total{Io::done, 0};
  while (!output.empty() && total.io == Io::done) {
    const IoResult some = tls_ == nullptr ? write_plain(output) : write_tls(output);
    total = {some.io, total.bytes + some.bytes};
    output.advance(some.bytes);
  }
  return total;
}

IoResult Transport::write_plain(Output& output) {
  std::array<iovec, kViews> views{};
  msghdr message{};
  message.msg_iov = views.data();
  message.msg_iovlen = output.views(views);
  ssize_t bytes = 0;
  do {
    bytes = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (bytes < 0 && errno == EINTR);
  return bytes == 0 ? IoResult{Io::failed, 0} : received(bytes);
}

IoResult Transport::write_tls(Output& output) {
  std::array<iovec, kViews> views{};
  std::array<char, kTlsRecordBytes> buffer;  // NOLINT: only the filled part is used
  const std::size_t count = output.views(views);
  return tls_->write(record_of(std::span(views).first(count), buffer));
}

bool Transport::peer_finished() { return tls_ != nullptr && tls_->peer_finished(); }

void Transport::end() {
  if (tls_ != nullptr) {
    tls_->send_close();
  }
  ::shutdown(socket_.get(), SHUT_WR);
}

void Transport::close() {
  tls_.reset();
  socket_.close();
}

}  // namespace holdfast::net
