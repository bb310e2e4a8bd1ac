// DaemonFolder: the folder of one daemon, which no other user may enter (mode 0700).
//
//   lock         held by the running daemon: the kernel releases it when the process dies
//   pid          of the running daemon, for people
//   sock         unix socket
//   http.port    the port on the loopback address (0644); absent without one
//   local_token  what TCP callers present
//   config.json  settings, written by `join`
//   member.json  the token of the member
//   keypair.json the key pair of the member
//   names.json   the keys of members by name, as the broker last gave them
//   outbox.db    the outbox
//   inbox.db     the inbox
//   daemon.log   the log of a daemon in the background; older ones are daemon.log.1 and so on
//
// Files are readable by their owner only, except as noted.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/owned_fd.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

class DaemonFolder {
 public:
  explicit DaemonFolder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }

  // Creates it if it does not exist. unsafe_store when it belongs to another user, or others may
  // enter it.
  [[nodiscard]] Result<void> prepare() const;
  // For as long as the result lives. busy when a daemon runs on the folder.
  [[nodiscard]] Result<OwnedFd> lock() const;

  // Replaces the file in one step; it is on disk when this returns.
  [[nodiscard]] Result<void> write(std::string_view name, std::string_view text,
                                   mode_t mode = 0600) const;
  // not_found.
  [[nodiscard]] Result<std::string> read(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  void remove(std::string_view name) const;

 private:
  std::string path_;
};

}  // namespace holdfast::delivery
