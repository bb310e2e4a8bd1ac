// Server-sent events out of the bytes of a stream, in whatever pieces they come.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace holdfast::net {

struct ServerEvent {
  std::string id = {};  // the newest one that was said
  std::string event = "message";
  std::string data = {};
};

class EventReader {
 public:
  // Calls `seen` for each event; false from it ends reading. False also when an event is larger
  // than max_bytes.
  bool feed(std::string_view bytes, const std::function<bool(const ServerEvent&)>& seen);
  [[nodiscard]] const std::string& last_id() const { return last_id_; }

 private:
  static constexpr std::size_t kMaxBytes = 16U << 20U;

  bool read_line(std::string_view line, const std::function<bool(const ServerEvent&)>& seen);

  std::string buffer_;
  bool after_cr_ = false;  // a line feed that follows belongs to the line before
  ServerEvent event_;
  bool has_data_ = false;
  std::string last_id_;
};

}  // namespace holdfast::net
