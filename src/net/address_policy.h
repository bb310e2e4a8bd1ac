// AddressPolicy: which addresses a program may connect to when the URL comes from outside: those of
// the public internet, and the networks that its operator has allowed. Refused are loopback,
// private, link-local, shared, documentation and multicast networks, also inside the IPv6 forms
// that carry an IPv4 address (mapped, NAT64), and with them the metadata services of clouds.
//
// It judges the address of a socket that is about to be connected, not a name: there is nothing
// between the check and the connection that could change it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

struct sockaddr;

namespace holdfast::net {

class AddressPolicy {
 public:
  // Networks such as 10.0.0.0/8, fd00::/8 or 127.0.0.1. invalid_argument names the one that is not.
  static Result<AddressPolicy> create(std::span<const std::string> allowed);

  [[nodiscard]] bool permits(const sockaddr& address) const;
  // A numeric address of either family; false if it is none.
  [[nodiscard]] bool permits(std::string_view address) const;
  // A numeric address, no name.
  static bool is_address(std::string_view host);

 private:
  // Of IPv6; an IPv4 address is its mapped form.
  using Address = std::array<std::uint8_t, 16>;
  struct Network {
    Address address{};
    unsigned bits = 0;
  };

  static Result<Network> parse_network(std::string_view text);
  static bool is_public(const Address& address);
  [[nodiscard]] bool permits(const Address& address) const;
  static bool contains(const Network& network, const Address& address);

  std::vector<Network> allowed_;
};

// Ports on which web servers listen: 80, 443 and from 1024 on, without those that browsers block
// because another protocol uses them.
bool is_web_port(std::uint16_t port);

}  // namespace holdfast::net
