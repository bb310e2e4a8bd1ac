// A small tmpfs in a mount namespace of this process: a disk that can really become full. Needs
// root, or a system that allows unprivileged user namespaces.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

namespace holdfast {

class SmallDisk {
 public:
  // Empty if it was mounted; otherwise the reason and what would help.
  std::string mount_at(const std::string& place, const std::string& size) {
    const std::string user = std::to_string(getuid());
    const std::string group = std::to_string(getgid());
    if (unshare(CLONE_NEWNS) != 0) {
      // Without root: a user namespace with the same user, in which mounting is allowed.
      if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return why_not("cannot create a mount namespace");
      }
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << user << " " << user << " 1";
      std::ofstream("/proc/self/gid_map") << group << " " << group << " 1";
    }
    // In a chroot "/" is not a mount point; what follows is then as private as its environment.
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 && errno != EINVAL) {
      return why_not("cannot make mounts private");
    }
    if (mount("holdfast", place.c_str(), "tmpfs", 0, ("mode=777,size=" + size).c_str()) != 0) {
      return why_not("cannot mount a tmpfs");
    }
    place_ = place;
    return "";
  }

  ~SmallDisk() {
    if (!place_.empty()) {
      umount2(place_.c_str(), MNT_DETACH);
    }
  }

 private:
  static std::string why_not(const std::string& what) {
    return what + ": " + std::strerror(errno) + " (run the test as root, or allow user namespaces)";
  }

  std::string place_;
};

}  // namespace holdfast
