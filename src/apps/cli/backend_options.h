// The backend that the options name: a store, or a server that has one. See apps/cli/backend.h.
#pragma once

#include <string>

namespace holdfast {

struct BackendOptions {
  std::string store = {};       // URL; empty: none was named
  std::string server = {};      // URL; empty: none was named
  std::string token_file = {};  // what is in it proves who we are to the server
  std::string tls_ca = {};      // PEM: the authorities that a server must be known by
};

}  // namespace holdfast
