// EventReader: server-sent events from the bytes of a stream, in pieces of any size.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace holdfast::net {

struct ServerEvent {
  std::string id = {};  // the last id that the stream has set
  std::string event = "message";
  std::string data = {};
};

class EventReader {
 public:
  // Calls `receive` for each event. Returns false if `receive` does, or if an event is larger than
  // kMaxBytes.
  bool feed(std::string_view bytes, const std::function<bool(const ServerEvent&)>& receive);
  [[nodiscard]] const std::string& last_id() const { return last_id_; }

 private:
  static constexpr std::size_t kMaxBytes = 16U << 20U;

  bool read_line(std::string_view line, const std::function<bool(const ServerEvent&)>& receive);

  std::string buffer_;
  bool after_cr_ = false;  // a following line feed belongs to the previous line
  ServerEvent event_;
  bool has_data_ = false;
  std::string last_id_;
};

}  // namespace holdfast::net
