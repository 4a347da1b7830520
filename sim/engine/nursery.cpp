// The nursery's and the worker's side.
#include "sim/engine/nursery.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <map>

#include "sim/engine/file_descriptor.hpp"
#include "sim/units/error.hpp"

namespace trainyard {
namespace {

/// What comes with an order: the worker's end of the conversation, where its standard error goes, where its end is reported.
struct Order {
  FileDescriptor talk, errors, report;
};

bool read_all(int file, char* to, std::size_t count) {
  while (count > 0) {
    const ssize_t n = ::read(file, to, count);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    count -= static_cast<std::size_t>(n);
  }
  return true;
}

bool send_all(int file, const char* from, std::size_t count) {
  while (count > 0) {
    const ssize_t n = ::send(file, from, count, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n;
    count -= static_cast<std::size_t>(n);
  }
  return true;
}

/// Reads a request (its length, then its bytes), answers likewise. A first byte tells an answer (1) from an exception (0).
bool serve(int talk, const WorkerBody& body) {
  std::uint64_t length = 0;
  if (!read_all(talk, reinterpret_cast<char*>(&length), sizeof length)) return false;
  std::string request(length, '\0');
  if (!read_all(talk, request.data(), length)) return false;
  std::string answer;
  try {
    answer = '\1' + body(request);
  } catch (const std::exception& e) {
    answer = std::string(1, '\0') + e.what();
  }
  length = answer.size();
  return send_all(talk, reinterpret_cast<const char*>(&length), sizeof length) && send_all(talk, answer.data(), length);
}

class NurseryLoop {
 public:
  NurseryLoop(FileDescriptor orders, const WorkerBody& body) : orders_(std::move(orders)), body_(body) {
    ::signal(SIGINT, SIG_IGN);  // the terminal's; the program decides what it means
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, nullptr);
    ends_ = FileDescriptor(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  void run() {
    for (bool open = true; open;) {
      pollfd ready[] = {{orders_.number(), POLLIN, 0}, {ends_.number(), POLLIN, 0}};
      if (::poll(ready, 2, -1) < 0 && errno != EINTR) break;
      if (ready[1].revents != 0) collect_ends();
      if (ready[0].revents != 0) open = take_order();
    }
    for (const auto& [pid, report] : workers_) ::kill(pid, SIGKILL);
    for (const auto& [pid, report] : workers_) ::waitpid(pid, nullptr, 0);
  }

 private:
  /// False at the end of orders.
  bool take_order() {
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))];
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(orders_.number(), &message, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return false;
    const cmsghdr* head = CMSG_FIRSTHDR(&message);
    if (head == nullptr || head->cmsg_len != CMSG_LEN(3 * sizeof(int))) return true;  // its sender sees the files closed
    int files[3];
    std::memcpy(files, CMSG_DATA(head), sizeof files);
    start_worker({FileDescriptor(files[0]), FileDescriptor(files[1]), FileDescriptor(files[2])});
    return true;
  }

  void start_worker(Order order) {
    const pid_t nursery = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) work(order, nursery);
    if (pid > 0)
      workers_.emplace(pid, std::move(order.report));
    else
      report({false, 0}, order.report);
  }

  [[noreturn]] void work(const Order& order, pid_t nursery) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != nursery) ::_exit(1);
    workers_.clear();
    orders_.reset();
    ends_.reset();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(order.errors.number(), STDERR_FILENO);
    ::_exit(serve(order.talk.number(), body_) ? 0 : 1);
  }

  void collect_ends() {
    signalfd_siginfo drained;
    while (::read(ends_.number(), &drained, sizeof drained) > 0) {
    }
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto worker = workers_.find(pid);
      if (worker == workers_.end()) continue;
      report({true, status}, worker->second);
      workers_.erase(worker);
    }
  }

  static void report(const WorkerEnd& end, const FileDescriptor& to) {
    ::send(to.number(), &end, sizeof end, MSG_NOSIGNAL);  // nobody there: nobody to tell
  }

  FileDescriptor orders_, ends_;
  const WorkerBody& body_;
  std::map<pid_t, FileDescriptor> workers_;  ///< where their ends are reported
};

}  // namespace

NurseryProcess start_nursery(const WorkerBody& body) {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "no socket pair for the workers' nursery");
  FileDescriptor ours(ends[0]), theirs(ends[1]);
  const pid_t pid = ::fork();
  require(pid >= 0, "cannot fork the workers' nursery");
  if (pid == 0) {
    ours.reset();
    NurseryLoop(std::move(theirs), body).run();
    ::_exit(0);
  }
  return {ours.release(), pid};
}

void end_nursery(const NurseryProcess& nursery) {
  ::shutdown(nursery.socket, SHUT_RDWR);
  ::close(nursery.socket);
  while (::waitpid(nursery.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace trainyard
