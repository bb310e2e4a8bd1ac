#include "net/address_policy.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/quote.h"
#include "base/text.h"

namespace holdfast::net {

namespace {

using Bytes4 = std::array<std::uint8_t, 4>;
using Bytes16 = std::array<std::uint8_t, 16>;

constexpr Bytes16 kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
constexpr unsigned kMappedBits = 96;
constexpr Bytes16 kNat64{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

struct Range4 {
  Bytes4 first;
  unsigned bits;
};
// IANA's special-purpose addresses, and multicast.
constexpr auto kSpecial4 = std::to_array<Range4>({
    {{0, 0, 0, 0}, 8},       // this network
    {{10, 0, 0, 0}, 8},      // private
    {{100, 64, 0, 0}, 10},   // shared, of carriers
    {{127, 0, 0, 0}, 8},     // loopback
    {{169, 254, 0, 0}, 16},  // link-local, with the metadata services
    {{172, 16, 0, 0}, 12},   // private
    {{192, 0, 0, 0}, 24},    // protocols
    {{192, 0, 2, 0}, 24},    // documentation
    {{192, 88, 99, 0}, 24},  // 6to4 relays
    {{192, 168, 0, 0}, 16},  // private
    {{198, 18, 0, 0}, 15},   // benchmarks
    {{198, 51, 100, 0}, 24},
    {{203, 0, 113, 0}, 24},
    {{224, 0, 0, 0}, 4},  // multicast
    {{240, 0, 0, 0}, 4},  // reserved, with broadcast
});

struct Range16 {
  Bytes16 first;
  unsigned bits;
};
// Inside 2000::/3, which is all that is public.
constexpr auto kSpecial6 = std::to_array<Range16>({
    {{0x20, 0x01, 0x00}, 23},              // protocols, with Teredo
    {{0x20, 0x01, 0x0d, 0xb8}, 32},        // documentation
    {{0x20, 0x02}, 16},                    // 6to4: carries an IPv4 address
    {{0x26, 0x20, 0x00, 0x4f, 0x80}, 48},  // AS112
    {{0x3f, 0xff, 0x00}, 20},              // documentation
});
constexpr Bytes16 kUnicast6{0x20};

template <std::size_t N>
bool in_range(const std::array<std::uint8_t, N>& address, const std::array<std::uint8_t, N>& first,
              unsigned bits) {
  for (std::size_t i = 0; i < N && bits > 0; ++i) {
    const unsigned here = std::min(bits, 8U);
    const auto mask = static_cast<std::uint8_t>(0xffU << (8 - here));
    if ((address.at(i) & mask) != (first.at(i) & mask)) {
      return false;
    }
    bits -= here;
  }
  return true;
}

bool is_public4(const Bytes4& address) {
  return std::ranges::none_of(
      kSpecial4, [&](const Range4& range) { return in_range(address, range.first, range.bits); });
}

Bytes4 last4(const Bytes16& address) {
  Bytes4 last{};
  std::copy(address.end() - last.size(), address.end(), last.begin());
  return last;
}

Bytes16 mapped(const Bytes4& address) {
  Bytes16 all = kMapped;
  std::ranges::copy(address, all.end() - address.size());
  return all;
}

// A numeric address.
bool parse_address(std::string_view text, Bytes16& out) {
  const std::string copy(text);
  Bytes4 four{};
  if (inet_pton(AF_INET, copy.c_str(), four.data()) == 1) {
    out = mapped(four);
    return true;
  }
  return inet_pton(AF_INET6, copy.c_str(), out.data()) == 1;
}

// Above 1023, of the list of blocked ports of the Fetch standard.
constexpr auto kBlockedPorts =
    std::to_array<std::uint16_t>({1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566,
                                  6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080});

}  // namespace

Result<AddressPolicy::Network> AddressPolicy::parse_network(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view host = text.substr(0, slash);
  const bool four = host.find(':') == std::string_view::npos;
  const unsigned width = four ? 32 : 128;
  Network network;
  const auto bits = slash == text.size() ? std::optional<std::uint64_t>(width)
                                         : parse_decimal(text.substr(slash + 1));
  if (!parse_address(host, network.address) || !bits.has_value() || *bits > width) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("{} is not a network; write 10.0.0.0/8, fd00::/8 or one address", quote(text))};
  }
  network.bits = static_cast<unsigned>(*bits) + (four ? kMappedBits : 0);
  return network;
}

Result<AddressPolicy> AddressPolicy::create(std::span<const std::string> allowed) {
  AddressPolicy policy;
  for (const std::string& text : allowed) {
    HOLDFAST_TRY(const Network network, parse_network(text));
    policy.allowed_.push_back(network);
  }
  return policy;
}

bool AddressPolicy::contains(const Network& network, const Address& address) {
  return in_range(address, network.address, network.bits);
}

bool AddressPolicy::is_public(const Address& address) {
  if (in_range(address, kMapped, kMappedBits) || in_range(address, kNat64, kMappedBits)) {
    return is_public4(last4(address));
  }
  return in_range(address, kUnicast6, 3) &&
         std::ranges::none_of(kSpecial6, [&](const Range16& range) {
           return in_range(address, range.first, range.bits);
         });
}

bool AddressPolicy::permits(const Address& address) const {
  return is_public(address) || std::ranges::any_of(allowed_, [&](const Network& network) {
           return contains(network, address);
         });
}

bool AddressPolicy::permits(const sockaddr& address) const {
  if (address.sa_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    Bytes4 four{};
    std::memcpy(four.data(), &in.sin_addr, four.size());
    return permits(mapped(four));
  }
  if (address.sa_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    Address six{};
    std::memcpy(six.data(), &in.sin6_addr, six.size());
    return permits(six);
  }
  return false;
}

bool AddressPolicy::permits(std::string_view address) const {
  Address parsed{};
  return parse_address(address, parsed) && permits(parsed);
}

bool AddressPolicy::is_address(std::string_view host) {
  Address parsed{};
  return parse_address(host, parsed);
}

bool is_web_port(std::uint16_t port) {
  constexpr std::uint16_t kHttp = 80;
  constexpr std::uint16_t kHttps = 443;
  constexpr std::uint16_t kFirstFree = 1024;
  return port == kHttp || port == kHttps ||
         (port >= kFirstFree && std::ranges::find(kBlockedPorts, port) == kBlockedPorts.end());
}

}  // namespace holdfast::net
