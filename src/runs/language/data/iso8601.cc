#include "runs/language/data/iso8601.h"

#include "runs/language/data/calendar.h"

namespace holdfast {

namespace {

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kDayMs = 86'400'000;

// Consumes the text from the front; remembers whether all parts were present.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  int digits(std::size_t count) {
    int value = 0;
    for (; count > 0; --count) {
      value = value * 10 + digit();
    }
    return value;
  }
  void expect(char c) { ok_ = take(c) && ok_; }
  bool take(char c) {
    if (!rest_.starts_with(c)) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] bool at_digit() const {
    return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9';
  }
  int digit() {
    if (!at_digit()) {
      ok_ = false;
      return 0;
    }
    const int value = rest_.front() - '0';
    rest_.remove_prefix(1);
    return value;
  }
  void check(bool condition) { ok_ = ok_ && condition; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

std::int64_t read_day(Reader& in) {
  const int year = in.digits(4);
  in.expect('-');
  const int month = in.digits(2);
  in.expect('-');
  const int day = in.digits(2);
  in.check(month >= 1 && month <= 12);
  if (!in.ok()) {
    return 0;
  }
  in.check(day >= 1 && day <= days_in_month(year, month));
  return days_since_epoch(year, month, day) * kDayMs;
}

std::int64_t read_hour_and_minute(Reader& in) {
  const int hour = in.digits(2);
  in.expect(':');
  const int minute = in.digits(2);
  in.check(hour <= 23 && minute <= 59);
  return (hour * 60 + minute) * kMinuteMs;
}

std::int64_t read_seconds(Reader& in) {
  in.expect(':');
  const int second = in.digits(2);
  in.check(second <= 59);
  std::int64_t ms = std::int64_t{second} * 1000;
  if (in.take('.')) {
    in.check(in.at_digit());
    for (int unit = 100; in.at_digit(); unit /= 10) {
      ms += in.digit() * unit;
    }
  }
  return ms;
}

std::int64_t read_offset(Reader& in) {
  if (in.take('Z')) {
    return 0;
  }
  if (in.take('+')) {
    return read_hour_and_minute(in);
  }
  in.expect('-');
  return -read_hour_and_minute(in);
}

}  // namespace

std::string iso8601_time(TimeMs time) { return format_time(time); }

std::string iso8601_day(TimeMs time) {
  std::string text = format_time(time);
  text.resize(text.find('T'));
  return text;
}

std::optional<TimeMs> parse_iso8601(std::string_view text) {
  Reader in(text);
  std::int64_t ms = read_day(in);
  if (!in.at_end()) {
    in.expect('T');
    ms += read_hour_and_minute(in);
    ms += read_seconds(in);
    ms -= read_offset(in);
  }
  return in.ok() && in.at_end() ? std::optional(TimeMs{ms}) : std::nullopt;
}

}  // namespace holdfast
