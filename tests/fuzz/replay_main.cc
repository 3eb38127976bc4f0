// Runs a fuzz target on files, for compilers without libFuzzer: the corpus is a test everywhere.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      // Every beginning of it too, in steps: files are torn.
      for (size_t size = 0; size <= whole.size(); size += size < 64 ? 1 : whole.size() / 64 + 1) {
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(whole.data()), size);
      }
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(whole.data()), whole.size());
      ++files;
    }
  }
  std::printf("%d files\n", files);
  return files > 0 ? 0 : 1;
}
