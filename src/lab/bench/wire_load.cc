#include "lab/bench/wire_load.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "lab/bench/bench_process.h"
#include "lab/bench/bench_run.h"

namespace holdfast {

namespace {

constexpr int kSilenceMs = 60'000;

Error lost(std::string_view what) {
  return Error{ErrorCode::unavailable, fmt::format("{}: {}", what, std::strerror(errno))};
}

}  // namespace

struct WireLoad::Client {
  std::size_t number = 0;
  OwnedFd fd;
  std::string out = {};
  std::string in = {};
  Stopwatch sent = {};

  // Requests are small: a full socket is waited for.
  Result<void> send_all() {
    for (std::size_t done = 0; done < out.size();) {
      const ssize_t count = ::send(fd.get(), out.data() + done, out.size() - done, MSG_NOSIGNAL);
      if (count < 0 && errno != EINTR) {
        return lost("a request could not be sent");
      }
      done += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    out.clear();
    return {};
  }

  Result<void> receive() {
    std::array<char, 4096> buffer{};
    const ssize_t count = ::recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
      return count == 0 ? Error{ErrorCode::unavailable, "the service closed a connection"}
                        : lost("an answer could not be read");
    }
    in.append(buffer.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    return {};
  }
};

WireLoad::WireLoad(std::unique_ptr<WireProtocol> protocol) : protocol_(std::move(protocol)) {}

WireLoad::~WireLoad() = default;

Result<void> WireLoad::wait_for_bytes(std::vector<Client*>& readable) {
  std::array<epoll_event, 64> events{};
  readable.clear();
  int count = 0;
  do {
    count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), kSilenceMs);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) {
    return Error{ErrorCode::unavailable, "the service did not answer for a minute"};
  }
  for (int i = 0; i < count; ++i) {
    auto* const client = static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr);
    HOLDFAST_CHECK(client->receive());
    readable.push_back(client);
  }
  return {};
}

Result<std::unique_ptr<WireLoad>> WireLoad::connect(std::uint16_t port,
                                                    std::unique_ptr<WireProtocol> protocol,
                                                    std::size_t clients) {
  return connect_with([&] { return connect_to_loopback(port); }, std::move(protocol), clients);
}

Result<std::unique_ptr<WireLoad>> WireLoad::connect(const std::string& socket,
                                                    std::unique_ptr<WireProtocol> protocol,
                                                    std::size_t clients) {
  return connect_with([&] { return connect_to_socket(socket); }, std::move(protocol), clients);
}

Result<std::unique_ptr<WireLoad>> WireLoad::connect_with(const Dial& dial,
                                                         std::unique_ptr<WireProtocol> protocol,
                                                         std::size_t clients) {
  std::unique_ptr<WireLoad> load(new WireLoad(std::move(protocol)));
  load->epoll_ = OwnedFd(epoll_create1(EPOLL_CLOEXEC));
  std::vector<Client*> readable;
  for (std::size_t i = 0; i < clients; ++i) {
    auto client = std::make_unique<Client>();
    client->number = i;
    HOLDFAST_TRY(client->fd, dial());
    epoll_event wanted{.events = EPOLLIN, .data = {.ptr = client.get()}};
    if (epoll_ctl(load->epoll_.get(), EPOLL_CTL_ADD, client->fd.get(), &wanted) != 0) {
      return lost("epoll");
    }
    client->out = load->protocol_->greeting(i);
    Client& greeting = *load->clients_.emplace_back(std::move(client));
    while (!greeting.out.empty() || !greeting.in.empty()) {
      HOLDFAST_CHECK(greeting.send_all());
      HOLDFAST_CHECK(load->wait_for_bytes(readable));
      HOLDFAST_TRY(const std::size_t length, load->protocol_->greeted(greeting.in));
      if (length > 0) {
        greeting.in.erase(0, length);
        break;
      }
    }
  }
  return load;
}

Result<WireSlice> WireLoad::run(std::uint64_t requests, std::uint64_t first_number) {
  WireSlice slice;
  slice.latencies_us.reserve(requests);
  std::uint64_t sent = 0;
  const auto send_next = [&](Client& client) -> Result<void> {
    if (sent == requests) {
      return {};
    }
    protocol_->write(client.number, first_number + sent++, client.out);
    client.sent = Stopwatch();
    return client.send_all();
  };
  const Stopwatch watch;
  for (const auto& client : clients_) {
    HOLDFAST_CHECK(send_next(*client));
  }
  std::vector<Client*> readable;
  while (slice.latencies_us.size() < requests) {
    HOLDFAST_CHECK(wait_for_bytes(readable));
    for (Client* const client : readable) {
      HOLDFAST_TRY(const std::size_t length, protocol_->answered(client->in));
      if (length > 0) {
        slice.latencies_us.push_back(client->sent.seconds() * 1e6);
        HOLDFAST_CHECK(
            protocol_->note(client->number, std::string_view(client->in).substr(0, length)));
        client->in.erase(0, length);
        HOLDFAST_CHECK(send_next(*client));
      }
    }
  }
  slice.per_second = watch.rate(requests);
  return slice;
}

}  // namespace holdfast
