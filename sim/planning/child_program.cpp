#include "sim/planning/child_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "sim/units/text.hpp"

namespace trainyard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kErrorsKept = 4096;
/// How often an open pipe is left to see whether the program has ended: a child of its own may keep the pipe open.
constexpr int kLookAfterMilliseconds = 20;

class File {
 public:
  File() = default;
  explicit File(int number) : number_(number) {}
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~File() { close(); }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

struct Pipe {
  File read, write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  return {File(ends[0]), File(ends[1])};
}

/// In the new process: never returns. What keeps exec from working goes to `failure`.
[[noreturn]] void become(const std::string& program, const Pipe& in, const Pipe& out, const Pipe& errors, int failure) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  std::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(in.read.number(), STDIN_FILENO);
  ::dup2(out.write.number(), STDOUT_FILENO);
  ::dup2(errors.write.number(), STDERR_FILENO);
  for (int file = STDERR_FILENO + 1; file < 1024; ++file)
    if (file != failure) ::close(file);
  const std::array<char*, 2> words{const_cast<char*>(program.c_str()), nullptr};
  ::execvp(words[0], words.data());
  const int why = errno;
  [[maybe_unused]] const ssize_t written = ::write(failure, &why, sizeof why);
  ::_exit(127);
}

/// A started program and this end of its pipes.
class Child {
 public:
  Child(const std::string& program, std::string input, const ChildLimits& limits)
      : input_(std::move(input)), limits_(limits), deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.time.value))) {
    Pipe in = make_pipe(), out = make_pipe(), errors = make_pipe(), failure = make_pipe();
    pid_ = ::fork();
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0) become(program, in, out, errors, failure.write.number());
    ::setpgid(pid_, pid_);
    failure.write.close();
    if (int why = 0; ::read(failure.read.number(), &why, sizeof why) == ssize_t(sizeof why)) cannot_start_ = why;
    in_ = std::move(in.write);
    out_ = std::move(out.read);
    errors_ = std::move(errors.read);
    for (const File* file : {&in_, &out_, &errors_}) ::fcntl(file->number(), F_SETFL, O_NONBLOCK);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  ~Child() {
    ::kill(-pid_, SIGKILL);
    if (!status_) ::waitpid(pid_, nullptr, 0);
  }

  ChildAnswer answer() {
    if (cannot_start_ != 0) return {"", std::string("cannot be started: ") + std::strerror(cannot_start_)};
    while (!status_) {
      if (Clock::now() >= deadline_) return {"", "did not answer within " + to_text(limits_.time)};
      wait_for_pipes();
      if (output_.size() > limits_.output) return {"", "printed more than " + to_text(Bytes(double(limits_.output)))};
      look_whether_it_ended();
    }
    drain(out_, output_);
    drain(errors_, last_words_);
    if (output_.size() > limits_.output) return {"", "printed more than " + to_text(Bytes(double(limits_.output)))};
    return {std::move(output_), how_it_ended()};
  }

 private:
  void wait_for_pipes() {
    std::array<pollfd, 3> files{pollfd{in_.number(), POLLOUT, 0}, pollfd{out_.number(), POLLIN, 0}, pollfd{errors_.number(), POLLIN, 0}};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    ::poll(files.data(), files.size(), int(std::clamp<std::int64_t>(left, 0, kLookAfterMilliseconds)));
    if (in_.is_open() && files[0].revents != 0) feed();
    if (out_.is_open() && files[1].revents != 0) read_some(out_, output_);
    if (errors_.is_open() && files[2].revents != 0) read_some(errors_, last_words_);
    if (last_words_.size() > kErrorsKept) last_words_.erase(0, last_words_.size() - kErrorsKept);
  }

  /// A program that does not want its input is no mistake.
  void feed() {
    const ssize_t n = ::write(in_.number(), input_.data() + fed_, input_.size() - fed_);
    if (n > 0) fed_ += std::size_t(n);
    if (fed_ == input_.size() || (n < 0 && errno != EAGAIN && errno != EINTR)) in_.close();
  }

  /// Whether there may be more.
  static bool read_some(File& file, std::string& text) {
    std::array<char, 65536> part{};
    const ssize_t n = ::read(file.number(), part.data(), part.size());
    if (n > 0) text.append(part.data(), std::size_t(n));
    if (n == 0) file.close();
    return n > 0;
  }

  void drain(File& file, std::string& text) const {
    while (file.is_open() && text.size() <= limits_.output && read_some(file, text)) {
    }
  }

  void look_whether_it_ended() {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  }

  [[nodiscard]] std::string how_it_ended() const {
    const int status = *status_;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
    const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                                : fmt::format("ended with status {}", WEXITSTATUS(status));
    const std::string words = last_line();
    return words.empty() ? how : how + ": " + words;
  }

  [[nodiscard]] std::string last_line() const {
    const std::size_t end = last_words_.find_last_not_of("\n\r \t");
    if (end == std::string::npos) return "";
    const std::size_t begin = last_words_.find_last_of('\n', end);
    return last_words_.substr(begin + 1, end - begin);
  }

  std::string input_, output_, last_words_;
  ChildLimits limits_;
  Clock::time_point deadline_;
  File in_, out_, errors_;
  std::size_t fed_ = 0;
  int cannot_start_ = 0;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace

ChildAnswer ask_program(const std::string& program, const std::string& input, const ChildLimits& limits) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  ChildAnswer answer = Child(program, input, limits).answer();
  std::signal(SIGPIPE, before);
  return answer;
}

}  // namespace trainyard
