#include "record/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "record/format.h"
#include "record/process.h"

namespace coalesce::record {

void File::open(const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  path_ = std::filesystem::absolute(path, error).string();
  file_ = descriptor(O_CREAT);
  if (file_ < 0) return complain(std::strerror(errno));
  struct stat info{};
  const char* shared = std::getenv("COALESCE_RECORD_SHARED");
  lock_ = shared != nullptr && *shared == '1' ? LOCK_SH : LOCK_EX;
  const bool known = fstat(file_, &info) == 0, held = flock(file_, lock_ | LOCK_NB) != 0;
  if (!known || held || (lock_ == LOCK_EX && S_ISREG(info.st_mode) && info.st_size != 0)) {
    if (!held)
      std::fprintf(
          stderr,
          "coalesce: warning: the record '%s' holds another run already; this one (process %d) is not recorded\n",
          path_.c_str(), static_cast<int>(getpid()));
    ::close(file_);
    file_ = -1;
    return;
  }
  device_ = info.st_dev;
  number_ = info.st_ino;
  owner_ = this_process();
}

bool File::active() const { return is_open() && this_process() == owner_; }

void File::write(std::string_view line) {
  if (!is_open()) return;
  if (!is_ours() && !reopen()) return give_up("the program has closed it, and it is gone");
  while (!line.empty()) {
    const ssize_t n = ::write(file_, line.data(), line.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const char* why = n < 0 ? std::strerror(errno) : "no space";
      // An empty file needs no block of a full disk.
      const int mark = ::open((path_ + kTruncated).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
      if (mark >= 0) ::close(mark);
      return give_up(why);
    }
    line.remove_prefix(static_cast<std::size_t>(n));
  }
}

void File::close() {
  if (is_open() && is_ours()) ::close(file_);
  file_ = -1;
}

// Programs see the lowest numbers, and some expect them: the record takes a high one.
int File::descriptor(int flags) const {
  constexpr int kHigh = 200;
  const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
  const int high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, kHigh);
  if (high < 0) return file;
  ::close(file);
  return high;
}

// True if the descriptor still stands for the record.
bool File::is_ours() const {
  struct stat info{};
  return fstat(file_, &info) == 0 && info.st_dev == device_ && info.st_ino == number_;
}

bool File::reopen() {
  file_ = descriptor(0);
  if (is_open() && is_ours() && flock(file_, lock_ | LOCK_NB) == 0) return true;
  if (is_open()) ::close(file_);
  file_ = -1;
  return false;
}

void File::give_up(const char* why) {
  complain(why);
  close();
}

void File::complain(const char* why) const {
  std::fprintf(stderr, "coalesce: error: cannot write the record '%s': %s\n", path_.c_str(), why);
}

}  // namespace coalesce::record
