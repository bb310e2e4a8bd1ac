#include "file_log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

using holdfast::Error;
using holdfast::ErrorCode;
using holdfast::LogPair;
using holdfast::LogRecord;
using holdfast::LogScan;
using holdfast::LogState;
using holdfast::LogUpdate;
using holdfast::Result;

namespace {

// A change in the file: size of the payload, checksum, payload. The first byte of a payload is its
// kind.
constexpr std::size_t kFrameBytes = 16;
constexpr char kCreated = 'c';
constexpr char kAppended = 'a';
constexpr char kUpdated = 'u';
constexpr std::size_t kRecordOffset = 9;  // kind and position

std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t sum = 14695981039346656037ULL;  // FNV-1a
  for (const char c : bytes) {
    sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return sum;
}

void put_number(std::string& out, std::uint64_t number) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  out.append(bytes, sizeof(number));
}

std::uint64_t take_number(std::string_view& in) {
  std::uint64_t number = 0;
  std::memcpy(&number, in.data(), sizeof(number));
  in.remove_prefix(sizeof(number));
  return number;
}

void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out += text;
}

std::string take_text(std::string_view& in) {
  const std::uint64_t size = take_number(in);
  std::string text(in.substr(0, size));
  in.remove_prefix(size);
  return text;
}

// flock() belongs to the open file, so handles in one process lock each other out too.
class FileLock {
 public:
  FileLock(int file, int kind) : file_(file) {
    while (flock(file_, kind) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() { flock(file_, LOCK_UN); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

}  // namespace

Error FileLog::failed(const std::string& what) const {
  const ErrorCode code = errno == ENOSPC ? ErrorCode::disk_full : ErrorCode::io_error;
  return Error{code, path_ + ": " + what + ": " + std::strerror(errno)};
}

Result<std::unique_ptr<holdfast::LogStore>> FileLog::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  std::unique_ptr<FileLog> log(new FileLog(path, file));
  if (file < 0 || pipe2(log->wake_, O_CLOEXEC) != 0) {
    return log->failed("cannot be opened");
  }
  const std::scoped_lock lock(log->mutex_);
  const FileLock writing(file, LOCK_EX);
  HOLDFAST_CHECK(log->catch_up());
  if (log->end_ == 0) {
    HOLDFAST_CHECK(log->create_log());
  }
  return std::unique_ptr<holdfast::LogStore>(std::move(log));
}

FileLog::~FileLog() {
  for (const int descriptor : {file_, wake_[0], wake_[1]}) {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
}

Result<void> FileLog::create_log() {
  std::random_device random;
  std::string payload(1, kCreated);
  for (std::size_t i = 0; i < state_.id.size(); ++i) {
    payload += static_cast<char>(random());
  }
  HOLDFAST_CHECK(write_change(payload));
  // The name of the file must be durable too.
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0 || fsync(directory) != 0) {
    return failed("the folder cannot be synced");
  }
  close(directory);
  return {};
}

// Reads the changes that were added since the last call. Stops before a change that is not whole:
// its writer died before it could report success.
Result<void> FileLog::catch_up() {
  for (;;) {
    char frame[kFrameBytes];
    const ssize_t got = pread(file_, frame, sizeof(frame), static_cast<off_t>(end_));
    if (got < 0) {
      return failed("cannot be read");
    }
    if (got < static_cast<ssize_t>(sizeof(frame))) {
      return {};
    }
    std::string_view rest(frame, sizeof(frame));
    const std::uint64_t size = take_number(rest);
    const std::uint64_t sum = take_number(rest);
    struct stat status {};
    if (fstat(file_, &status) != 0) {
      return failed("cannot be read");
    }
    if (size == 0 || end_ + kFrameBytes + size > static_cast<std::uint64_t>(status.st_size)) {
      return {};
    }
    std::string payload(size, '\0');
    if (pread(file_, payload.data(), size, static_cast<off_t>(end_ + kFrameBytes)) !=
        static_cast<ssize_t>(size)) {
      return failed("cannot be read");
    }
    if (checksum(payload) != sum) {
      return {};
    }
    apply(payload, end_ + kFrameBytes);
    end_ += kFrameBytes + size;
  }
}

void FileLog::apply(std::string_view payload, std::uint64_t offset) {
  const char kind = payload.front();
  std::string_view rest = payload.substr(1);
  if (kind == kCreated) {
    std::memcpy(state_.id.data(), rest.data(), state_.id.size());
  } else if (kind == kAppended) {
    state_.head = take_number(rest);
    records_[state_.head] = Location{offset + kRecordOffset, rest.size()};
  } else {
    state_.start = take_number(rest);
    records_.erase(records_.begin(), records_.lower_bound(state_.start));
    for (std::uint64_t deletes = take_number(rest); deletes > 0; --deletes) {
      side_.erase(take_text(rest));
    }
    while (!rest.empty()) {
      std::string key = take_text(rest);
      side_[std::move(key)] = take_text(rest);
    }
  }
}

Result<void> FileLog::write_change(const std::string& payload) {
  std::string change;
  change.reserve(kFrameBytes + payload.size());
  put_number(change, payload.size());
  put_number(change, checksum(payload));
  change += payload;
  if (ftruncate(file_, static_cast<off_t>(end_)) != 0) {  // removes a half-written change
    return failed("cannot be written");
  }
  for (std::size_t done = 0; done < change.size();) {
    const ssize_t wrote =
        pwrite(file_, change.data() + done, change.size() - done, static_cast<off_t>(end_ + done));
    if (wrote < 0) {
      return failed("cannot be written");
    }
    done += static_cast<std::size_t>(wrote);
  }
  if (fdatasync(file_) != 0) {
    return failed("cannot be synced");
  }
  apply(payload, end_ + kFrameBytes);
  end_ += change.size();
  return {};
}

Result<LogState> FileLog::state() {
  const std::scoped_lock lock(mutex_);
  const FileLock reading(file_, LOCK_SH);
  HOLDFAST_CHECK(catch_up());
  return state_;
}

Result<void> FileLog::append(std::uint64_t position, std::string_view bytes) {
  const std::scoped_lock lock(mutex_);
  const FileLock writing(file_, LOCK_EX);
  HOLDFAST_CHECK(catch_up());
  if (position != state_.head + 1) {
    return Error{ErrorCode::conflict, "the log is at position " + std::to_string(state_.head)};
  }
  std::string payload(1, kAppended);
  put_number(payload, position);
  payload += bytes;
  return write_change(payload);
}

Result<std::vector<LogRecord>> FileLog::read(std::uint64_t from,
                                             const holdfast::LogReadLimit& limit) {
  const std::scoped_lock lock(mutex_);
  const FileLock reading(file_, LOCK_SH);
  HOLDFAST_CHECK(catch_up());
  std::vector<LogRecord> found;
  std::size_t bytes = 0;
  for (auto record = records_.lower_bound(from);
       record != records_.end() && found.size() < limit.max_records && bytes < limit.max_bytes;
       ++record) {
    std::string text(record->second.size, '\0');
    if (pread(file_, text.data(), text.size(), static_cast<off_t>(record->second.offset)) !=
        static_cast<ssize_t>(text.size())) {
      return failed("cannot be read");
    }
    bytes += text.size();
    found.push_back(LogRecord{record->first, std::move(text)});
  }
  return found;
}

Result<void> FileLog::update(const LogUpdate& update) {
  const std::scoped_lock lock(mutex_);
  const FileLock writing(file_, LOCK_EX);
  HOLDFAST_CHECK(catch_up());
  std::uint64_t start = state_.start;
  if (update.trim.has_value()) {
    if (update.trim->expected_start != state_.start || update.trim->start > state_.head) {
      return Error{ErrorCode::conflict, "the log starts at " + std::to_string(state_.start)};
    }
    start = update.trim->start;
  }
  std::string payload(1, kUpdated);
  put_number(payload, start);
  put_number(payload, update.deletes.size());
  for (const std::string& key : update.deletes) {
    put_text(payload, key);
  }
  for (const LogPair& pair : update.puts) {
    put_text(payload, pair.key);
    put_text(payload, pair.value);
  }
  return write_change(payload);
}

Result<std::vector<std::optional<std::string>>> FileLog::get(std::span<const std::string> keys) {
  const std::scoped_lock lock(mutex_);
  const FileLock reading(file_, LOCK_SH);
  HOLDFAST_CHECK(catch_up());
  std::vector<std::optional<std::string>> values;
  for (const std::string& key : keys) {
    const auto found = side_.find(key);
    values.push_back(found == side_.end() ? std::nullopt : std::optional(found->second));
  }
  return values;
}

Result<std::vector<LogPair>> FileLog::scan(const LogScan& scan) {
  const std::scoped_lock lock(mutex_);
  const FileLock reading(file_, LOCK_SH);
  HOLDFAST_CHECK(catch_up());
  const bool ascending = scan.order == LogScan::Order::ascending;
  std::vector<LogPair> pairs;
  std::size_t bytes = 0;
  // False: the scan has reached a limit.
  const auto add = [&](const std::pair<const std::string, std::string>& pair) {
    const bool after =
        !scan.from.has_value() || (ascending ? pair.first >= *scan.from : pair.first <= *scan.from);
    if (after && pair.first.starts_with(scan.prefix)) {
      pairs.push_back(LogPair{pair.first, pair.second});
      bytes += pair.second.size();
    }
    return pairs.size() < scan.max_pairs && bytes < scan.max_bytes;
  };
  if (ascending) {
    auto from = side_.lower_bound(std::max(scan.prefix, scan.from.value_or("")));
    static_cast<void>(std::all_of(from, side_.end(), add));
  } else {
    static_cast<void>(std::all_of(side_.rbegin(), side_.rend(), add));
  }
  return pairs;
}

// Every write to the file is an event, in all processes. The event comes before the write is
// durable; state() then waits for the lock of the writer.
Result<void> FileLog::wait_for_change(std::uint64_t known_head, std::chrono::milliseconds timeout) {
  const int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (events < 0 || inotify_add_watch(events, path_.c_str(), IN_MODIFY) < 0) {
    return failed("cannot be watched");
  }
  auto now = state();
  if (now.ok() && now.value().head <= known_head) {
    pollfd watched[2] = {{events, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    poll(watched, 2, static_cast<int>(std::min<std::int64_t>(timeout.count(), 1'000'000'000)));
  }
  close(events);
  return now.ok() ? Result<void>() : std::move(now).error();
}

void FileLog::interrupt_waits() {
  const char byte = 0;
  if (write(wake_[1], &byte, 1) != 1) {
    return;  // the pipe is full: it was interrupted before
  }
}

Result<std::uint64_t> FileLog::size_bytes() {
  struct stat status {};
  if (fstat(file_, &status) != 0) {
    return failed("cannot be read");
  }
  return static_cast<std::uint64_t>(status.st_size);
}
