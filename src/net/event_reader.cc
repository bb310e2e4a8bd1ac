#include "net/event_reader.h"

namespace holdfast::net {

bool EventReader::feed(std::string_view bytes,
                       const std::function<bool(const ServerEvent&)>& receive) {
  for (const char c : bytes) {
    if (c == '\n' && after_cr_) {
      after_cr_ = false;
      continue;
    }
    after_cr_ = c == '\r';
    if (c != '\n' && c != '\r') {
      buffer_ += c;
      continue;
    }
    if (!read_line(buffer_, receive)) {
      return false;
    }
    buffer_.clear();
  }
  return buffer_.size() + event_.data.size() <= kMaxBytes;
}

bool EventReader::read_line(std::string_view line,
                            const std::function<bool(const ServerEvent&)>& receive) {
  if (line.empty()) {
    event_.id = last_id_;
    const bool continues = !has_data_ || receive(event_);
    event_ = ServerEvent();
    has_data_ = false;
    return continues;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) {
    value.remove_prefix(1);
  }
  if (field == "data") {
    event_.data += has_data_ ? "\n" : "";
    event_.data += value;
    has_data_ = true;
  } else if (field == "event") {
    event_.event = value;
  } else if (field == "id" && value.find('\0') == std::string_view::npos) {
    last_id_ = value;
  }
  return event_.data.size() <= kMaxBytes;
}

}  // namespace holdfast::net
