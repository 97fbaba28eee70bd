#include "tool/command/ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "tool/figures/error.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

constexpr unsigned kTimeout = 60;  // seconds in which each rank has to start

// Under job launchers that give no name the ranks of a host are siblings: their parent, and when it started.
std::string parent() {
  std::ifstream in("/proc/" + std::to_string(getppid()) + "/stat");
  std::string text;
  std::getline(in, text);
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string word;
  for (int field = 3; field <= 22; ++field) rest >> word;  // the 22nd: start time
  return std::to_string(getppid()) + '-' + word;
}

// A folder of this user's alone.
void make_folder(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) == 0) return;
  const int why = errno;
  struct stat info{};
  if (why == EEXIST && lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid()) return;
  const char* const what = why != EEXIST           ? std::strerror(why)
                           : S_ISDIR(info.st_mode) ? "it is another user's"
                                                   : "it is no folder";
  throw Error(Exit::environment, "cannot make the folder '" + path.string() + "', where ranks meet: " + what,
              "COALESCE_RANKS_FOLDER names another one; COALESCE_RANKS=0 takes each rank alone");
}

bool is_there(const fs::path& path) { return access(path.c_str(), F_OK) == 0; }

bool told_to_end() {
  sigset_t waiting;
  return sigpending(&waiting) == 0 && sigismember(&waiting, SIGTERM) == 1;
}

}  // namespace

Terminations::Terminations() {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, &before_);
}
Terminations::~Terminations() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

std::unique_ptr<Ranks> Ranks::find() {
  const auto mine = record::rank_of_job();
  if (!mine) return nullptr;
  const char* const shared = std::getenv("COALESCE_RANKS_FOLDER");
  if (shared != nullptr && *shared != '\0') return std::unique_ptr<Ranks>(new Ranks(*mine, shared));
  if (mine->on_host < mine->size)
    throw Error(Exit::usage,
                fmt::format("{} ranks of this job are on other hosts, and no folder is named where all can meet",
                            mine->size - mine->on_host),
                "set COALESCE_RANKS_FOLDER to a folder that all hosts see; COALESCE_RANKS=0 takes each rank alone");
  // Open MPI removes its own folder at the job's end, whatever becomes of the ranks.
  const char* const session = std::getenv("PMIX_SERVER_TMPDIR");
  std::error_code error;
  fs::path base = session != nullptr && access(session, W_OK) == 0 ? fs::path(session) : fs::temp_directory_path(error);
  if (error) base = "/tmp";
  return std::unique_ptr<Ranks>(new Ranks(
      *mine, base / fmt::format("coalesce-ranks-{}-{}", geteuid(), mine->job.empty() ? parent() : mine->job)));
}

// A job may run the command several times, one after the other: the k-th run of each rank is of the k-th meeting.
Ranks::Ranks(const record::Rank& mine, const fs::path& base) : mine_(mine) {
  make_folder(base);
  const fs::path fresh = base / fmt::format(".rank{}-{}", mine_.rank, getpid());
  lock_ = open(fresh.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  // Locked before others can see it.
  int why = lock_ < 0 || flock(lock_, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
  for (unsigned meeting = 0; why == 0; ++meeting) {
    folder_ = base / std::to_string(meeting);
    make_folder(folder_);
    if (link(fresh.c_str(), file("rank").c_str()) == 0) break;
    if (errno != EEXIST) why = errno;
  }
  unlink(fresh.c_str());
  if (why != 0)
    throw Error(Exit::environment, "cannot meet the other ranks in '" + base.string() + "': " + std::strerror(why),
                "COALESCE_RANKS_FOLDER names another folder; COALESCE_RANKS=0 takes each rank alone");
}

Ranks::~Ranks() {
  std::error_code ignored;
  if (leads()) {
    // The mark of each rank stays, so that its next run is of the next meeting.
    for (const auto& entry : fs::directory_iterator(folder_, ignored))
      if (!entry.path().filename().string().starts_with("rank.")) fs::remove(entry.path(), ignored);
  }
  close(lock_);
}

fs::path Ranks::file(const std::string& name, unsigned rank) const {
  return folder_ / (name + '.' + std::to_string(rank));
}

void Ranks::give(const std::string& name, const std::string& text) const {
  const fs::path part = file(name), fresh = part.string() + ".new";
  errno = 0;
  std::ofstream out(fresh, std::ios::binary);
  out << text;
  out.close();
  if (!out || std::rename(fresh.c_str(), part.c_str()) != 0)
    throw Error(Exit::environment, "cannot write '" + part.string() + "': " + std::strerror(errno));
}

bool Ranks::ended(unsigned rank) const {
  const int mark = open(file("rank", rank).c_str(), O_RDONLY | O_CLOEXEC);
  if (mark < 0) return false;
  const bool free = flock(mark, LOCK_SH | LOCK_NB) == 0;
  close(mark);
  return free;
}

Ranks::Part Ranks::take(const std::string& name, unsigned rank) const {
  const fs::path part = file(name, rank), mark = file("rank", rank);
  const std::chrono::seconds limit(record::unsigned_variable("COALESCE_RANKS_TIMEOUT").value_or(kTimeout));
  // Launchers kill what has not ended a second after SIGTERM.
  using std::chrono::microseconds;
  microseconds pause(200);  // ranks of equal parts end together: short at first, and little work for who waits long
  for (microseconds left(500'000); left.count() > 0; pause = std::min(2 * pause, microseconds(10'000))) {
    // Asked in this order: a rank gives its part before it ends.
    const bool started = is_there(mark), gone = ended(rank);
    if (is_there(part)) {
      std::ifstream in(part, std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      if (!in.bad()) return {text.str(), ""};
    }
    if (gone) return {std::nullopt, fmt::format("rank {} ended before its work was done", rank)};
    if (!started && std::chrono::steady_clock::now() - begin_ > limit)
      return {std::nullopt, fmt::format("rank {} did not start this command within {} s (COALESCE_RANKS_TIMEOUT)", rank,
                                        limit.count())};
    if (told_to_end()) left -= pause;
    std::this_thread::sleep_for(pause);
  }
  return {std::nullopt, fmt::format("rank {} was still running when this one was told to end", rank)};
}

}  // namespace coalesce::tool
