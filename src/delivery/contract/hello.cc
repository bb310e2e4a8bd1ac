#include "delivery/contract/hello.h"

#include <fmt/format.h>

namespace holdfast::delivery {

std::string hello_text(std::string_view mesh, std::string_view pubkey, TimeMs timestamp,
                       std::string_view nonce) {
  return fmt::format("holdfast-hello-1|{}|{}|{}|{}", mesh, pubkey, timestamp.value, nonce);
}

bool is_hello_in_time(TimeMs timestamp, TimeMs now) {
  return timestamp.value >= now.value - kHelloSkewMs && timestamp.value <= now.value + kHelloSkewMs;
}

}  // namespace holdfast::delivery
