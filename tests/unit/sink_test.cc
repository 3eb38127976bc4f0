#include "report/sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "no_free_descriptor.h"
#include "report/cat.h"

namespace rdmacheck {
namespace {

namespace fs = std::filesystem;

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const PathValues kValues = {"echo", "node1", "3"};

class SinkTest : public testing::Test {
 protected:
  SinkTest() {
    std::string pattern = (fs::temp_directory_path() / "sink_test.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~SinkTest() override { fs::remove_all(folder_); }

  std::string Path(std::string_view name) const { return Cat(folder_, "/", name); }

  // Runs in a forked child whose standard error is the file "err"; returns what that holds afterwards.
  std::string StderrOf(const std::function<void()>& body) {
    const pid_t pid = fork();
    if (pid == 0) {
      const int fd = open(Path("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
      dup2(fd, 2);
      close(fd);
      body();
      _exit(0);
    }
    child_ = pid;
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
    return Contents(Path("err"));
  }

  std::string folder_;
  pid_t child_ = 0;
};

TEST(ExpandPathTest, SequencesStandForTheProcess) {
  EXPECT_EQ(ExpandPath("/x/%e.%p.%h.%r.100%%", kValues, 42, nullptr), "/x/echo.42.node1.3.100%");
}

TEST(ExpandPathTest, AnUnknownSequenceStaysAndIsTold) {
  std::vector<std::string> complaints;
  EXPECT_EQ(ExpandPath("a%q%", kValues, 1, &complaints), "a%q%");
  ASSERT_EQ(complaints.size(), 2u);
  EXPECT_NE(complaints[0].find("'%q' in the path 'a%q%'"), std::string::npos);
}

TEST(ExpandPathTest, AProcessWithoutRankDoesNotWriteIntoRankZero) {
  EXPECT_EQ(ExpandPath("%r", {"echo", "node1", ""}, 1, nullptr), "norank");
}

TEST(ExpandPathTest, NoValueLeavesTheFolder) { EXPECT_EQ(ExpandPath("%h", {"", "../x", ""}, 1, nullptr), ".._x"); }

TEST(PathValuesTest, TheRankIsThatOfTheLauncher) {
  setenv("SLURM_PROCID", "7", 1);
  EXPECT_EQ(CurrentPathValues().rank, "7");
  setenv("OMPI_COMM_WORLD_RANK", "5", 1);
  EXPECT_EQ(CurrentPathValues().rank, "5");
  unsetenv("OMPI_COMM_WORLD_RANK");
  unsetenv("SLURM_PROCID");
  EXPECT_EQ(CurrentPathValues().rank, "");
  EXPECT_EQ(CurrentPathValues().program, "report_test");
}

TEST_F(SinkTest, TextsGoToStandardError) {
  EXPECT_EQ(StderrOf([] {
              Sink sink("stderr", "");
              sink.WriteText("one\n");
              sink.WriteText("two\n");
            }),
            "one\ntwo\n");
}

TEST_F(SinkTest, ATellNamesTheProcess) {
  const std::string err = StderrOf([] { Sink("stderr", "").Tell("hello"); });
  EXPECT_EQ(err, Cat("==", child_, "==rdmacheck: hello\n"));
}

TEST_F(SinkTest, AFileIsMadeAtTheFirstTextAndAppendedTo) {
  Sink sink(Path("log.%e"), "", kValues);
  EXPECT_FALSE(fs::exists(Path("log.echo")));
  sink.WriteText("one\n");
  sink.WriteText("");
  sink.WriteText("two\n");
  EXPECT_EQ(Contents(Path("log.echo")), "one\ntwo\n");
}

TEST_F(SinkTest, AForkedChildHasAFileOfItsOwn) {
  Sink sink(Path("log.%p"), "", kValues);
  StderrOf([&] { sink.WriteText("child\n"); });
  EXPECT_EQ(Contents(Path(Cat("log.", child_))), "child\n");
}

TEST_F(SinkTest, NoDescriptorIsLeftOpen) {
  const int before = dup(0);
  close(before);
  Sink sink(Path("log"), Path("json"), kValues);
  sink.WriteText("one\n");
  sink.ReplaceJson("{}");
  const int after = dup(0);
  close(after);
  EXPECT_EQ(before, after);
}

TEST_F(SinkTest, WhatAFileDoesNotTakeGoesToStandardErrorAndIsToldOnce) {
  const std::string err = StderrOf([&] {
    Sink sink(Path("no/such/folder"), "", kValues);
    sink.WriteText("one\n");
    sink.WriteText("two\n");
  });
  EXPECT_EQ(err, Cat("==", child_, "==rdmacheck: cannot write the report to ", Path("no/such/folder"),
                     ": No such file or directory; it is written to standard error\none\ntwo\n"));
}

TEST_F(SinkTest, AFullDiskIsTold) {
  const std::string err = StderrOf([&] { Sink("/dev/full", "", kValues).WriteText("one\n"); });
  EXPECT_NE(err.find("/dev/full: No space left on device"), std::string::npos);
  EXPECT_NE(err.find("\none\n"), std::string::npos);
}

TEST_F(SinkTest, AFileSizeLimitKillsNobody) {
  StderrOf([&] {
    Sink sink(Path("log"), "", kValues);
    const rlimit limit = {1, 1};
    setrlimit(RLIMIT_FSIZE, &limit);
    sink.WriteText("one\n");
    if (sink.lost_texts() == 0) _exit(1);  // standard error is a file too, and as full
  });
}

TEST_F(SinkTest, AFifoThatNobodyReadsDoesNotStopTheProgram) {
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  const std::string err = StderrOf([&] { Sink(Path("fifo"), "", kValues).WriteText("one\n"); });
  EXPECT_NE(err.find("\none\n"), std::string::npos);
}

TEST_F(SinkTest, AClosedPipeKillsNobody) {
  StderrOf([&] {
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    dup2(ends[1], 2);
    Sink sink("stderr", "", kValues);
    close(ends[0]);
    errno = EXDEV;
    sink.WriteText("one\n");
    if (errno != EXDEV || sink.lost_texts() != 1) _exit(2);
  });
}

TEST_F(SinkTest, AFullPipeThatDoesNotBlockIsWaitedForAWhile) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  fcntl(ends[1], F_SETPIPE_SZ, 4096);
  std::string got;
  std::thread reader([&] {
    char buffer[1000];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) {
      usleep(1000);
      got.append(buffer, static_cast<size_t>(n));
    }
  });
  const std::string text(50000, 'x');
  StderrOf([&] {
    dup2(ends[1], 2);
    Sink sink("stderr", "", kValues);
    sink.WriteText(text);
    if (sink.lost_texts() != 0) _exit(1);
  });
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(got, text);
}

// Counts in a child, whose patience starts anew with each.
TEST_F(SinkTest, APipeThatNobodyReadsCostsTextsAndNotTheProgram) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  StderrOf([&] {
    dup2(ends[1], 2);
    Sink sink("stderr", "", kValues);
    const std::string text(3000, 'x');
    for (int i = 0; i < 1000; ++i) sink.WriteText(text);
    if (sink.lost_texts() < 900) _exit(1);
    if ((fcntl(2, F_GETFL) & O_NONBLOCK) != 0) _exit(2);
    // There is room again: what comes now is written.
    std::string read_back(1 << 20, '\0');
    const uint64_t lost = sink.lost_texts();
    if (read(ends[0], read_back.data(), read_back.size()) <= 0) _exit(3);
    sink.WriteText("back\n");
    if (sink.lost_texts() != lost) _exit(4);
  });
  close(ends[0]);
  close(ends[1]);
}

// A text larger than the room there is, and a socket instead of a pipe.
TEST_F(SinkTest, NoKindOfReaderThatDoesNotReadStopsTheProgram) {
  for (const bool socket : {false, true}) {
    int ends[2];
    ASSERT_EQ(socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends), 0);
    StderrOf([&] {
      dup2(ends[1], 2);
      Sink sink("stderr", "", kValues);
      sink.WriteText(std::string(4 << 20, 'x'));
      sink.WriteText(std::string(4 << 20, 'x'));
      if (sink.lost_texts() != 2) _exit(1);
    });
    close(ends[0]);
    close(ends[1]);
  }
}

TEST_F(SinkTest, ATerminalThatIsStoppedDoesNotStopTheProgram) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(master, 0);
  ASSERT_EQ(grantpt(master) | unlockpt(master), 0);
  char name[64];
  ASSERT_EQ(ptsname_r(master, name, sizeof(name)), 0);
  const int terminal = open(name, O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  StderrOf([&] {
    dup2(terminal, 2);
    Sink sink("stderr", "", kValues);
    sink.WriteText("one\n");
    if (sink.lost_texts() != 0) _exit(1);
    tcflow(terminal, TCOOFF);
    sink.WriteText("two\n");
    if (sink.lost_texts() != 1) _exit(2);
    tcflow(terminal, TCOON);
    sink.WriteText("three\n");
    if (sink.lost_texts() != 1) _exit(3);
    for (int i = 0; i < 1000; ++i) sink.WriteText(std::string(1000, 'x'));  // the other end reads nothing
    if (sink.lost_texts() < 500) _exit(4);
  });
  close(terminal);
  close(master);
}

// Each kind of reader that is slow, but reads, gets everything.
TEST_F(SinkTest, ASlowReaderGetsEverything) {
  for (const bool socket : {false, true}) {
    for (const size_t size : {size_t{100}, size_t{5000}, size_t{70000}}) {
      int ends[2];
      ASSERT_EQ(socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends), 0);
      const size_t count = 300000 / size;
      size_t got = 0;
      std::thread reader([&] {
        char buffer[4000];
        for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0; got += static_cast<size_t>(n)) usleep(500);
      });
      StderrOf([&] {
        dup2(ends[1], 2);
        Sink sink("stderr", "", kValues);
        for (size_t i = 0; i < count; ++i) sink.WriteText(std::string(size, 'x'));
        if (sink.lost_texts() != 0) _exit(1);
      });
      close(ends[1]);
      reader.join();
      close(ends[0]);
      EXPECT_EQ(got, count * size);
    }
  }
}

TEST_F(SinkTest, ATextIsOneWriteWhereThereIsRoom) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  StderrOf([&] {
    dup2(ends[1], 2);
    Sink("stderr", "", kValues).WriteText(std::string(20000, 'x'));
  });
  char buffer[30000];
  EXPECT_EQ(recv(ends[0], buffer, sizeof(buffer), MSG_DONTWAIT), 20000);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(SinkTest, EverythingIsWrittenWithoutAFreeDescriptor) {
  std::ofstream(Path("old.json")) << "old";
  const std::string err = StderrOf([&] {
    Sink sink(Path("log"), Path("r.json"), kValues);
    {
      const NoFreeDescriptor none;
      sink.WriteText("one\n");
      sink.WriteText("two\n");
      if (!sink.ReplaceJson("{}")) _exit(1);
      if (sink.ReplaceAndTell(Path("old.json"), "new") != 0) _exit(2);
      if (sink.ReplaceAndTell(Path("no/such"), "new") != ENOENT) _exit(3);
    }
    if (waitpid(-1, nullptr, __WALL) != -1 || errno != ECHILD) _exit(4);
  });
  EXPECT_EQ(err, "");
  EXPECT_EQ(Contents(Path("log")), Cat("one\ntwo\n==", child_, "==rdmacheck: cannot write ", Path("no/such"),
                                       ": No such file or directory\n"));
  EXPECT_EQ(Contents(Path("r.json")), "{}");
  EXPECT_EQ(Contents(Path("old.json")), "new");
}

TEST_F(SinkTest, WhatATerminalActsOnIsMadeVisible) {
  const std::string err = StderrOf([&] {
    Sink sink("stderr", "", kValues);
    sink.WriteText("a\033[2J\nb\xfe\n");
    sink.Tell("c\033\nd");
    Sink(Path("no\033/such"), "", kValues).WriteText("e\n");
    Sink("stderr", Path("no\n/such"), kValues).ReplaceJson("{}");
  });
  const std::string head = Cat("==", child_, "==rdmacheck: ");
  EXPECT_EQ(err, Cat("a\\x1b[2J\nb\xEF\xBF\xBD\n", head, "c\\x1b\\x0ad\n", head, "cannot write the report to ",
                     Path("no\\x1b/such"), ": No such file or directory; it is written to standard error\ne\n", head,
                     "cannot write ", Path("no\\x0a/such"), ": No such file or directory\n"));
}

TEST_F(SinkTest, ADescriptorThatIsNoLongerStandardErrorIsLeftAlone) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const std::string err = StderrOf([&] {
    Sink sink("stderr", "", kValues);
    close(2);
    if (dup(ends[0]) != 2) _exit(1);
    sink.WriteText("one\n");
  });
  char byte;
  EXPECT_EQ(recv(ends[1], &byte, 1, 0), -1);
  EXPECT_EQ(errno, EAGAIN);
  // The file that standard error was has a name, so the text gets there all the same.
  EXPECT_EQ(err, "one\n");
  close(ends[0]);
  close(ends[1]);
}

TEST_F(SinkTest, AStandardErrorClosedFromTheStartTakesNothing) {
  const std::string err = StderrOf([&] {
    close(2);
    Sink sink("stderr", "", kValues);
    const int fd = open(Path("data").c_str(), O_WRONLY | O_CREAT, 0600);
    if (fd != 2) _exit(1);
    sink.WriteText("one\n");
    if (sink.lost_texts() != 1) _exit(2);
  });
  EXPECT_EQ(err, "");
  EXPECT_EQ(Contents(Path("data")), "");
}

TEST_F(SinkTest, TextsOfManyThreadsStayWhole) {
  Sink sink(Path("log"), "", kValues);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&sink, i] {
      for (int k = 0; k < 50; ++k) sink.WriteText(std::string(200, static_cast<char>('a' + i)) + "\n");
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::ifstream file(Path("log"));
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) EXPECT_EQ(line, std::string(200, line[0]));
  EXPECT_EQ(lines, 400);
}

TEST_F(SinkTest, AJsonReportReplacesTheOneBefore) {
  Sink sink("stderr", Path("%e.json"), kValues);
  EXPECT_TRUE(sink.has_json());
  EXPECT_EQ(sink.JsonPath(), Path("echo.json"));
  EXPECT_TRUE(sink.ReplaceJson("{\"long\": 1}"));
  EXPECT_TRUE(sink.ReplaceJson("{}"));
  EXPECT_EQ(Contents(Path("echo.json")), "{}");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(SinkTest, WithoutAJsonPathNothingIsWritten) {
  Sink sink("stderr", "");
  EXPECT_FALSE(sink.has_json());
  EXPECT_FALSE(sink.ReplaceJson("{}"));
}

TEST_F(SinkTest, AJsonReportThatCannotBeWrittenIsToldWithPathAndReason) {
  const std::string err = StderrOf([&] { Sink("stderr", Path("no/r.json"), kValues).ReplaceJson("{}"); });
  EXPECT_EQ(err, Cat("==", child_, "==rdmacheck: cannot write ", Path("no/r.json"), ": No such file or directory\n"));
}

TEST_F(SinkTest, TheFileBehindALinkIsReplaced) {
  std::ofstream(Path("real")) << "old";
  fs::create_symlink("real", Path("link"));
  EXPECT_EQ(ReplaceFile(Path("link"), "new"), 0);
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Contents(Path("real")), "new");
}

TEST_F(SinkTest, ADeviceIsWrittenIntoAndNotReplaced) {
  EXPECT_EQ(ReplaceFile("/dev/null", "x"), 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(ReplaceFile("/dev/full", "x"), ENOSPC);
  EXPECT_EQ(ReplaceFile(folder_, "x"), EISDIR);
}

TEST_F(SinkTest, AFailedReplaceLeavesTheOldFileAndNoOther) {
  StderrOf([&] {
    std::ofstream(Path("r.json")) << "old";
    const rlimit limit = {1, 1};
    setrlimit(RLIMIT_FSIZE, &limit);
    if (ReplaceFile(Path("r.json"), "new and long") != EFBIG) _exit(1);
  });
  EXPECT_EQ(Contents(Path("r.json")), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);  // and "err"
}

TEST_F(SinkTest, PatternsAreJudgedAtTheStart) {
  const Sink sink("a%z", "b%y", kValues);
  EXPECT_EQ(sink.complaints().size(), 2u);
}

}  // namespace
}  // namespace rdmacheck
