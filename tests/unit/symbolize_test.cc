#include "report/symbolize.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "no_free_descriptor.h"
#include "report/cat.h"
#include "report/elf_file.h"
#include "report/mapped_file.h"
#include "symbolize_subject.h"

namespace rdmacheck {
namespace {

namespace fs = std::filesystem;

void* recorded = nullptr;
__attribute__((noinline)) void Record() { recorded = __builtin_return_address(0); }

// The frame that a stack would hold for the call that `call` makes inside the subject.
Frame FrameOf(void (*call)(subject::Recorder)) {
  call(&Record);
  Dl_info info = {};
  EXPECT_NE(dladdr(recorded, &info), 0);
  Frame frame;
  frame.module = fs::canonical(RDMACHECK_SUBJECT);
  frame.offset = static_cast<uint64_t>(static_cast<char*>(recorded) - static_cast<char*>(info.dli_fbase));
  frame.build_id = ElfFile(frame.module).BuildId();
  return frame;
}

SymbolizerOptions WithoutLibdw() {
  SymbolizerOptions options;
  options.use_libdw = false;
  return options;
}

int LowestFreeDescriptor() {
  const int fd = dup(0);
  close(fd);
  return fd;
}

bool IsMapped(std::string_view what) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(what) != std::string::npos) return true;
  }
  return false;
}

TEST(SymbolizerTest, LibdwGivesLineAndInlinedCaller) {
  Symbolizer symbolizer;
  ASSERT_TRUE(symbolizer.has_libdw());
  const Frame frame = FrameOf(&subject::Outer);
  std::vector<Frame> frames = {frame};
  symbolizer.Resolve(&frames);
  ASSERT_EQ(frames.size(), 2u);
  // Compilers give functions of an unnamed namespace no linkage name, so this may lack its scopes.
  EXPECT_NE(frames[0].function.find("Inlined"), std::string::npos) << frames[0].function;
  EXPECT_EQ(frames[0].line, subject::kInlinedLine);
  EXPECT_EQ(frames[1].function, "subject::Outer(void (*)())");
  EXPECT_EQ(frames[1].line, subject::kOuterLine);
  for (const Frame& one : frames) {
    EXPECT_EQ(fs::path(one.file).filename(), "symbolize_subject.cc");
    EXPECT_EQ(one.module, frame.module);
    EXPECT_EQ(one.offset, frame.offset);
    EXPECT_EQ(one.build_id, frame.build_id);
  }
}

TEST(SymbolizerTest, AnInlinedVerbIsNotAFrame) {
  Symbolizer symbolizer;
  ASSERT_TRUE(symbolizer.has_libdw());
  std::vector<Frame> frames = {FrameOf(&subject_calls_inline_verb)};
  symbolizer.Resolve(&frames);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "subject_calls_inline_verb");
  EXPECT_EQ(frames[0].file, "/src/caller.cc");
  EXPECT_EQ(frames[0].line, 201);
}

TEST(SymbolizerTest, WithoutLibdwTheFunctionIsStillNamed) {
  Symbolizer symbolizer(WithoutLibdw());
  EXPECT_FALSE(symbolizer.has_libdw());
  std::vector<Frame> frames = {FrameOf(&subject::Outer), FrameOf(&subject_plain)};
  symbolizer.Resolve(&frames);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].function, "subject::Outer(void (*)())");
  EXPECT_EQ(frames[0].file, "");
  EXPECT_EQ(frames[0].line, 0);
  EXPECT_EQ(frames[1].function, "subject_plain");
}

TEST(SymbolizerTest, OfTheCLibraryOnlyNamesAreWanted) {
  Dl_info info = {};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&getpid), &info), 0);
  Frame frame;
  frame.module = fs::canonical(info.dli_fname);
  frame.offset = static_cast<uint64_t>(reinterpret_cast<char*>(&getpid) - static_cast<char*>(info.dli_fbase)) + 1;
  std::vector<Frame> frames = {frame};
  Symbolizer().Resolve(&frames);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_NE(frames[0].function.find("getpid"), std::string::npos) << frames[0].function;
  EXPECT_EQ(frames[0].file, "");
}

TEST(SymbolizerTest, AnotherBuildOfTheModuleGetsNoNames) {
  for (const SymbolizerOptions& options : {SymbolizerOptions(), WithoutLibdw()}) {
    Symbolizer symbolizer(options);
    std::vector<Frame> frames = {FrameOf(&subject_plain)};
    frames[0].build_id = "0123456789abcdef";
    symbolizer.Resolve(&frames);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].function, "");
    EXPECT_EQ(frames[0].file, "");
  }
}

TEST(SymbolizerTest, DebugInformationOfTheRightBuildDoesWithoutTheModule) {
  char folder[] = "/tmp/symbolize_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  Frame frame = FrameOf(&subject::Outer);
  const fs::path debug =
      Cat(folder, "/.build-id/", frame.build_id.substr(0, 2), "/", frame.build_id.substr(2), ".debug");
  fs::create_directories(debug.parent_path());
  fs::copy_file(frame.module, debug);
  SymbolizerOptions options;
  options.debug_roots = {folder};
  for (const char* module : {"/no/such/file", "/bin/true"}) {
    frame.module = module;
    std::vector<Frame> frames = {frame};
    Symbolizer(options).Resolve(&frames);
    EXPECT_EQ(frames.back().function, "subject::Outer(void (*)())");
    EXPECT_EQ(frames.back().module, module);
  }
  fs::remove_all(folder);
}

TEST(SymbolizerTest, ModulesWithoutAFileStayAsTheyAre) {
  Symbolizer symbolizer;
  std::vector<Frame> frames(4);
  frames[0].module = "linux-vdso.so.1";
  frames[1].module = "/no/such/file";
  frames[2].offset = 4711;
  frames[3].module = "/dev/zero";
  for (Frame& frame : frames) frame.offset += 1;
  symbolizer.Resolve(&frames);
  ASSERT_EQ(frames.size(), 4u);
  for (const Frame& frame : frames) EXPECT_EQ(frame.function, "");
}

TEST(SymbolizerTest, FramesThatHaveAFunctionStayAsTheyAre) {
  Symbolizer symbolizer;
  std::vector<Frame> frames = {FrameOf(&subject_plain)};
  frames[0].function = "known";
  symbolizer.Resolve(&frames);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "known");
}

// The toolchain's: the machine's own cannot read what a cross compiler makes.
const char* const kTools = "objcopy() { " RDMACHECK_OBJCOPY " \"$@\"; }; strip() { " RDMACHECK_STRIP " \"$@\"; }; ";

TEST(SymbolizerTest, AStrippedModuleIsNamedFromItsDebugFile) {
  if (system(Cat(kTools, "objcopy --version >/dev/null 2>&1").c_str()) != 0) GTEST_SKIP() << "objcopy is not on this machine";
  char folder[] = "/tmp/symbolize_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string module = Cat(folder, "/libsubject.so"), debug = Cat(folder, "/libsubject.debug");
  ASSERT_EQ(system(Cat(kTools, "objcopy --only-keep-debug --compress-debug-sections ", RDMACHECK_SUBJECT, " ", debug,
                       " && strip -o ", module, " ", RDMACHECK_SUBJECT)
                       .c_str()),
            0);
  Frame frame = FrameOf(&subject::Outer);
  frame.module = module;
  SymbolizerOptions roots;
  roots.debug_roots = {Cat(folder, "/root")};
  const bool has_libdw = Symbolizer().has_libdw();
  const std::string id = frame.build_id;

  std::vector<Frame> frames = {frame};
  Symbolizer(roots).Resolve(&frames);  // .dynsym only
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "subject::Outer(void (*)())");
  EXPECT_EQ(frames[0].file, "");

  const fs::path under_root = Cat(folder, "/root/.build-id/", id.substr(0, 2), "/", id.substr(2), ".debug");
  fs::create_directories(under_root.parent_path());
  fs::rename(debug, under_root);
  frames = {frame};
  Symbolizer(roots).Resolve(&frames);
  EXPECT_EQ(frames.back().function, "subject::Outer(void (*)())");
  EXPECT_EQ(frames.back().line, has_libdw ? subject::kOuterLine : 0);

  // By its link, and only if it is of the same build.
  fs::rename(under_root, debug);
  ASSERT_EQ(system(Cat(kTools, "objcopy --add-gnu-debuglink=", debug, " ", module).c_str()), 0);
  frames = {frame};
  Symbolizer(roots).Resolve(&frames);
  EXPECT_EQ(frames.back().line, has_libdw ? subject::kOuterLine : 0);
  fs::copy_file("/bin/true", debug, fs::copy_options::overwrite_existing);
  frames = {frame};
  Symbolizer(roots).Resolve(&frames);
  EXPECT_EQ(frames.back().line, 0);
  fs::remove_all(folder);
}

// What binutils and xz make of the subject.
class StrippedModule : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_), nullptr);
    module_ = Cat(folder_, "/libsubject.so");
    debug_ = Cat(folder_, "/libsubject.debug");
    frame_ = FrameOf(&subject_calls_hidden);
    frame_.module = module_;
    options_.debug_roots = {Cat(folder_, "/root")};
  }
  void TearDown() override { fs::remove_all(folder_); }
  // SUBJECT, MODULE and DEBUG stand for the files.
  void Run(std::string command) {
    for (const auto& [word, file] : {std::pair<std::string, std::string>{"SUBJECT", RDMACHECK_SUBJECT}, {"MODULE", module_}, {"DEBUG", debug_}}) {
      for (size_t at; (at = command.find(word)) != std::string::npos;) command.replace(at, word.size(), file);
    }
    ASSERT_EQ(system(Cat(kTools, command).c_str()), 0) << command;
  }
  std::string Name() {
    std::vector<Frame> frames = {frame_};
    Symbolizer(options_).Resolve(&frames);
    return frames.back().function;
  }
  void MoveToBuildId() {
    const fs::path place = Cat(folder_, "/root/.build-id/", frame_.build_id.substr(0, 2), "/", frame_.build_id.substr(2), ".debug");
    fs::create_directories(place.parent_path());
    fs::rename(debug_, place);
  }

  char folder_[32] = "/tmp/symbolize_test.XXXXXX";
  std::string module_, debug_;
  Frame frame_;
  SymbolizerOptions options_;
};

TEST_F(StrippedModule, HasNoNameOfALocalFunction) {
  Run("strip -o MODULE SUBJECT");
  EXPECT_EQ(Name(), "");
}

TEST_F(StrippedModule, IsNamedByTheSymbolsOfADebugFileWithoutDwarf) {
  Run("strip -o MODULE SUBJECT && objcopy --only-keep-debug SUBJECT DEBUG && strip --strip-debug DEBUG");
  MoveToBuildId();
  EXPECT_EQ(Name(), "subject_hidden(void (*)())");
}

TEST_F(StrippedModule, IsNamedByItsLinkIfTheChecksumIsRight) {
  frame_.build_id.clear();
  Run("objcopy --remove-section=.note.gnu.build-id SUBJECT MODULE && objcopy --only-keep-debug MODULE DEBUG && "
      "strip MODULE && objcopy --add-gnu-debuglink=DEBUG MODULE");
  EXPECT_EQ(Name(), "subject_hidden(void (*)())");
  Run("printf x >>DEBUG");
  EXPECT_EQ(Name(), "");
}

// As Fedora's packages have it: only what .dynsym lacks, packed by xz.
TEST_F(StrippedModule, IsNamedByMiniDebugInfo) {
  Run("objcopy --strip-debug --remove-section=.comment SUBJECT DEBUG && objcopy -S --keep-symbol=_ZL14subject_hiddenPFvvE DEBUG DEBUG.mini && "
      "xz -k DEBUG.mini && strip -o MODULE SUBJECT && objcopy --add-section .gnu_debugdata=DEBUG.mini.xz MODULE");
  EXPECT_EQ(Name(), "subject_hidden(void (*)())");
  // What is exported has its name as before.
  frame_.offset = FrameOf(&subject_plain).offset;
  EXPECT_EQ(Name(), "subject_plain");
}

TEST_F(StrippedModule, WithBrokenMiniDebugInfoHasTheNamesThatItExports) {
  for (const char* broken : {"printf broken", "head -c 100 DEBUG.xz", "head -c 1000 DEBUG.xz; head -c 3000 /dev/urandom"}) {
    Run(Cat("cp SUBJECT DEBUG && xz -kf DEBUG && { ", broken, "; } >DEBUG.broken && strip -o MODULE SUBJECT && "
            "objcopy --add-section .gnu_debugdata=DEBUG.broken MODULE"));
    frame_.offset = FrameOf(&subject_calls_hidden).offset;
    EXPECT_EQ(Name(), "");
    frame_.offset = FrameOf(&subject_plain).offset;
    EXPECT_EQ(Name(), "subject_plain");
  }
}

// A module whose file was mapped when its code was first met.
SymbolizerOptions WithImage(std::string_view image) {
  SymbolizerOptions options;
  options.debug_roots.clear();
  options.image_of = [image](const std::string&, const std::string&) { return image; };
  return options;
}

std::string CopyOfSubject() {
  char path[] = "/tmp/symbolize_test.XXXXXX";
  close(mkstemp(path));
  fs::copy_file(RDMACHECK_SUBJECT, path, fs::copy_options::overwrite_existing);
  return path;
}

TEST(SymbolizerTest, AMappedFileGivesNamesAfterItWasDeletedOrReplaced) {
  const std::string path = CopyOfSubject();
  Frame frame = FrameOf(&subject::Outer);
  frame.module = path;
  const MappedFile file(path);
  ASSERT_FALSE(file.empty());
  remove(path.c_str());
  for (const bool replaced : {false, true}) {
    if (replaced) fs::copy_file("/bin/true", path);
    std::vector<Frame> frames = {frame};
    Symbolizer(WithImage(file.bytes())).Resolve(&frames);
    EXPECT_EQ(frames.back().function, "subject::Outer(void (*)())");
    EXPECT_EQ(frames.back().line, subject::kOuterLine);
  }
  remove(path.c_str());
}

// Rewritten in place, as `cp` does it: bytes of another build, fewer bytes, none.
TEST(SymbolizerTest, AFileThatWasTruncatedUnderItsMappingDoesNoHarm) {
  for (const off_t size : {0, 4096, 8192}) {
    const std::string path = CopyOfSubject();
    Frame frame = FrameOf(&subject::Outer);
    frame.module = path;
    const MappedFile file(path);
    ASSERT_EQ(truncate(path.c_str(), size), 0);
    EXPECT_FALSE(IsStillWhole(file.bytes()));
    std::vector<Frame> frames = {frame};
    Symbolizer(WithImage(file.bytes())).Resolve(&frames);
    EXPECT_EQ(frames.back().function, "");
    fs::copy_file("/bin/true", path, fs::copy_options::overwrite_existing);
    ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(file.bytes().size())), 0);
    frames = {frame};
    Symbolizer(WithImage(file.bytes())).Resolve(&frames);
    EXPECT_EQ(frames.back().function, "");
    remove(path.c_str());
  }
}

TEST(SymbolizerTest, NamesAreThereWithoutAFreeDescriptor) {
  const Frame frame = FrameOf(&subject::Outer);
  std::vector<Frame> frames = {frame};
  {
    const NoFreeDescriptor none;
    Symbolizer().Resolve(&frames);
  }
  EXPECT_EQ(frames.back().function, "subject::Outer(void (*)())");
  EXPECT_EQ(frames.back().line, subject::kOuterLine);
}

TEST(SymbolizerTest, NothingIsLeftBehind) {
  const int before = LowestFreeDescriptor();
  {
    Symbolizer symbolizer;
    std::vector<Frame> frames = {FrameOf(&subject::Outer)};
    errno = EXDEV;
    symbolizer.Resolve(&frames);
    EXPECT_EQ(errno, EXDEV);
  }
  EXPECT_EQ(LowestFreeDescriptor(), before);
  EXPECT_FALSE(IsMapped("libdw"));
  EXPECT_FALSE(IsMapped("libelf"));
}

TEST(SymbolizerTest, DebuginfodIsNotLoadedIntoTheProgram) {
  setenv("DEBUGINFOD_URLS", "http://localhost:1", 1);
  {
    Symbolizer symbolizer;
    std::vector<Frame> frames = {FrameOf(&subject::Outer)};
    frames[0].module = "/proc/self/exe";
    frames[0].build_id.clear();
    symbolizer.Resolve(&frames);
    EXPECT_FALSE(IsMapped("libdebuginfod"));
  }
  unsetenv("DEBUGINFOD_URLS");
}

// A folder laid out as a server returns, so that nothing leaves the machine. Stands last: the library stays loaded.
TEST(SymbolizerTest, DebuginfodIsAskedForWhatIsMissingWhereItIsAllowed) {
  void* library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "libdebuginfod.so.1 is not on this machine";
  char folder[] = "/tmp/symbolize_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  Frame frame = FrameOf(&subject::Outer);
  const std::string answer = Cat(folder, "/server/buildid/", frame.build_id);
  fs::create_directories(answer);
  fs::copy_file(frame.module, answer + "/debuginfo");
  setenv("DEBUGINFOD_URLS", Cat("file://", folder, "/server").c_str(), 1);
  setenv("DEBUGINFOD_CACHE_PATH", Cat(folder, "/cache").c_str(), 1);
  frame.module = "/no/such/file";
  SymbolizerOptions options;
  std::vector<Frame> frames = {frame};
  Symbolizer(options).Resolve(&frames);
  EXPECT_EQ(frames.back().function, "");
  options.debuginfod = true;
  frames = {frame};
  Symbolizer(options).Resolve(&frames);
  EXPECT_EQ(frames.back().function, "subject::Outer(void (*)())");
  unsetenv("DEBUGINFOD_URLS");
  unsetenv("DEBUGINFOD_CACHE_PATH");
  fs::remove_all(folder);
}

class OneStack : public FrameSource {
 public:
  explicit OneStack(Frame frame) : frame_(std::move(frame)) {}
  std::vector<Frame> FramesOf(StackId id) override {
    ++asked;
    return id == 1 ? std::vector<Frame>{frame_} : std::vector<Frame>();
  }
  int asked = 0;

 private:
  const Frame frame_;
};

TEST(SymbolizedFramesTest, AStackIsResolvedOnce) {
  OneStack raw(FrameOf(&subject_plain));
  Symbolizer symbolizer(WithoutLibdw());
  SymbolizedFrames frames(&raw, &symbolizer);
  EXPECT_EQ(frames.FramesOf(1).at(0).function, "subject_plain");
  EXPECT_EQ(frames.FramesOf(1).at(0).function, "subject_plain");
  EXPECT_EQ(raw.asked, 1);
  EXPECT_TRUE(frames.FramesOf(kNoStack).empty());
  EXPECT_TRUE(frames.FramesOf(2).empty());
}

TEST(SymbolizedFramesTest, WithoutASymbolizerFramesPassThrough) {
  OneStack raw(FrameOf(&subject_plain));
  EXPECT_EQ(SymbolizedFrames(&raw, nullptr).FramesOf(1).at(0).function, "");
}

TEST(DemangledTest, OnlyMangledNamesChange) {
  EXPECT_EQ(Demangled("_ZN2ns1fEi"), "ns::f(int)");
  EXPECT_EQ(Demangled("main"), "main");
  EXPECT_EQ(Demangled("_Z"), "_Z");
  EXPECT_EQ(Demangled(""), "");
}

}  // namespace
}  // namespace rdmacheck
