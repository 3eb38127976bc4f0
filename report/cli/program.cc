#include "report/cli/program.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "report/cat.h"
#include "report/modules.h"

namespace rdmacheck {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
constexpr Elf64_Half kMachine = EM_NONE;  // not compared
#endif

bool IsProgramFile(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string InPath(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), F_OK) == 0 ? name : std::string();
  const char* path = getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  while (true) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string_view folder = rest.substr(0, colon);
    const std::string candidate = Cat(folder.empty() ? "." : folder, "/", name);
    if (IsProgramFile(candidate)) return candidate;
    if (colon == rest.size()) return {};
    rest.remove_prefix(colon + 1);
  }
}

class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool Read(void* out, size_t size, uint64_t offset) const {
    return fd_ >= 0 && pread(fd_, out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }
  std::string Text(uint64_t offset, size_t most) const {
    std::string text(most, '\0');
    const ssize_t n = fd_ < 0 ? -1 : pread(fd_, text.data(), most, static_cast<off_t>(offset));
    text.resize(n < 0 ? 0 : static_cast<size_t>(n));
    return text;
  }

 private:
  const int fd_;
};

// Offset in the file of an address, by its segments.
uint64_t FileOffset(const std::vector<Elf64_Phdr>& headers, uint64_t address) {
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_LOAD && address >= header.p_vaddr && address - header.p_vaddr < header.p_filesz) {
      return address - header.p_vaddr + header.p_offset;
    }
  }
  return 0;
}

bool NeedsSanitizer(const File& file, const std::vector<Elf64_Phdr>& headers) {
  constexpr size_t kMostEntries = 4096;
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type != PT_DYNAMIC) continue;
    std::vector<Elf64_Dyn> entries(std::min<uint64_t>(header.p_filesz / sizeof(Elf64_Dyn), kMostEntries));
    if (entries.empty() || !file.Read(entries.data(), entries.size() * sizeof(Elf64_Dyn), header.p_offset))
      return false;
    uint64_t names = 0;
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_STRTAB) names = FileOffset(headers, entry.d_un.d_ptr);
    }
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag != DT_NEEDED || names == 0) continue;
      const std::string name = file.Text(names + entry.d_un.d_val, 64);
      if (name.compare(0, 10, "libasan.so") == 0 || name.compare(0, 14, "libclang_rt.as") == 0) return true;
    }
  }
  return false;
}

void LookAtElf(const std::string& path, const File& file, Program* program) {
  Elf64_Ehdr elf{};
  if (!file.Read(&elf, sizeof(elf), 0)) return;
  if (elf.e_ident[EI_CLASS] != ELFCLASS64) {
    program->obstacles.push_back(Cat(path, " is a 32-bit program, and the library has 64 bits"));
    return;
  }
  if (kMachine != EM_NONE && elf.e_machine != kMachine) {
    program->obstacles.push_back(Cat(path, " is a program for another processor than this command"));
    return;
  }
  if (elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phnum > 1024) return;
  std::vector<Elf64_Phdr> headers(elf.e_phnum);
  if (headers.empty() || !file.Read(headers.data(), headers.size() * sizeof(Elf64_Phdr), elf.e_phoff)) return;
  const auto interpreter =
      std::find_if(headers.begin(), headers.end(), [](const Elf64_Phdr& header) { return header.p_type == PT_INTERP; });
  if (interpreter == headers.end()) {
    program->obstacles.push_back(
        Cat(path, " is linked statically: no library can be preloaded into it; link it dynamically to check it"));
    return;
  }
  const std::string loader = file.Text(interpreter->p_offset, std::min<size_t>(interpreter->p_filesz, 256));
  if (loader.find("ld-musl") != std::string::npos) {
    program->obstacles.push_back(Cat(path, " uses musl, and the library needs the GNU C library"));
  }
  program->wants_sanitizer_first = NeedsSanitizer(file, headers);
}

void LookAtRights(const std::string& path, Program* program) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return;
  const bool other_user = (info.st_mode & S_ISUID) != 0 && info.st_uid != geteuid();
  const bool other_group = (info.st_mode & S_ISGID) != 0 && info.st_gid != getegid();
  const bool capabilities = geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  if (!other_user && !other_group && !capabilities) return;
  program->obstacles.push_back(Cat(path,
                                   other_user    ? " is setuid"
                                   : other_group ? " is setgid"
                                                 : " has file capabilities",
                                   ": the loader preloads nothing into it; run a copy without that right to check it"));
}

// "/usr/bin/env -S python3 -u" has the interpreter that `env` starts as its first word without a dash or an equals
// sign.
std::string StartedByEnv(const std::vector<std::string>& words, size_t from) {
  for (size_t i = from; i < words.size(); ++i) {
    if (words[i].empty() || words[i][0] == '-' || words[i].find('=') != std::string::npos) continue;
    return words[i];
  }
  return {};
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r"), text.size()));
    if (text.empty()) return words;
    const size_t end = std::min(text.find_first_of(" \t\r"), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

void LookAtFile(const std::string& path, int depth, Program* program) {
  constexpr int kDeepest = 4;
  const File file(path);
  const std::string head = file.Text(0, 256);
  if (head.compare(0, SELFMAG, ELFMAG) == 0) {
    LookAtRights(path, program);
    LookAtElf(path, file, program);
  } else if (head.compare(0, 2, "#!") == 0 && depth < kDeepest) {
    const std::vector<std::string> words =
        Words(std::string_view(head).substr(2, std::min(head.find('\n'), head.size()) - 2));
    if (words.empty()) return;
    LookAtFile(words[0], depth + 1, program);
    if (LastPart(words[0]) != "env") return;
    const std::string started = InPath(StartedByEnv(words, 1));
    if (!started.empty()) LookAtFile(started, depth + 1, program);
  }
}

bool IsSanitizer(std::string_view entry) {
  const std::string_view name = LastPart(entry);
  for (const std::string_view known :
       {"libasan", "libtsan", "libubsan", "liblsan", "libhwasan", "libmsan", "libclang_rt."}) {
    if (name.substr(0, known.size()) == known) return true;
  }
  return false;
}

}  // namespace

Program LookAt(const std::vector<std::string>& command) {
  Program program;
  program.path = InPath(command.front());
  if (program.path.empty()) return program;
  LookAtFile(program.path, 0, &program);
  if (LastPart(program.path) == "env") {
    const std::string started = InPath(StartedByEnv(command, 1));
    if (!started.empty()) LookAtFile(started, 1, &program);
  }
  return program;
}

namespace {

}  // namespace

std::string FindInstalled(const char* name, const char* variable, std::string* places) {
  std::vector<std::string> candidates;
  const char* wanted = getenv(variable);
  if (wanted != nullptr && wanted[0] != '\0') {
    candidates.push_back(wanted);
  } else {
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self));
    if (n > 0 && n < static_cast<ssize_t>(sizeof(self))) {
      const std::string path(self, static_cast<size_t>(n));
      const std::string folder = path.substr(0, path.rfind('/'));
      candidates = {Cat(folder, "/", name), Cat(folder, "/../lib/", name), Cat(folder, "/../lib64/", name),
                    Cat(folder, "/../lib/x86_64-linux-gnu/", name), Cat(folder, "/../lib/aarch64-linux-gnu/", name)};
    }
  }
  for (const std::string& candidate : candidates) {
    Append(places, places->empty() ? "" : ", ", candidate);
    char* real = realpath(candidate.c_str(), nullptr);
    if (real == nullptr) continue;
    const std::string path = real;
    free(real);
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

std::string JoinPreload(const std::string& present, const std::string& library) {
  std::string sanitizers, others;
  std::string_view rest = present;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(": "), rest.size());
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (entry.empty() || LastPart(entry) == LastPart(library)) continue;
    if (IsSanitizer(entry)) {
      Append(&sanitizers, entry, ":");
    } else {
      Append(&others, ":", entry);
    }
  }
  return Cat(sanitizers, library, others);
}

}  // namespace rdmacheck
