// What the tests of the command run: one word an action, in this order. On the fake libibverbs.
//   open pd leak close | exit N | _exit N | kill N | abort | fork ACTIONS… | exec ACTIONS… | shout | env NAME | wait
#include <signal.h>
#include <sys/wait.h>

#include "scenario.h"

static volatile sig_atomic_t got;
static void note(int number) { got = number; }

// Deep enough for a stack of its own; a baseline must know it wherever it stands in the file.
__attribute__((noinline)) static struct ibv_pd* make_pd(struct ibv_context* context) { return ibv_alloc_pd(context); }
__attribute__((noinline)) static struct ibv_pd* make_other_pd(struct ibv_context* context) {
  struct ibv_pd* pd = ibv_alloc_pd(context);
  return pd;
}

int main(int argc, char** argv) {
  struct ibv_context* context = NULL;
  struct ibv_pd* pd = NULL;
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    if (strcmp(word, "open") == 0) context = open_device();
    if (strcmp(word, "pd") == 0) pd = make_pd(context);
    if (strcmp(word, "other") == 0) make_other_pd(context);
    if (strcmp(word, "free") == 0) MUST(ibv_dealloc_pd(pd) == 0);
    if (strcmp(word, "close") == 0) MUST(ibv_close_device(context) == 0);
    if (strcmp(word, "exit") == 0) exit(atoi(argv[i + 1]));
    if (strcmp(word, "_exit") == 0) _exit(atoi(argv[i + 1]));
    if (strcmp(word, "kill") == 0) kill(getpid(), atoi(argv[i + 1]));
    if (strcmp(word, "env") == 0) printf("%s\n", getenv(argv[i + 1]) == NULL ? "(unset)" : getenv(argv[i + 1]));
    if (strcmp(word, "exec") == 0) {
      argv[i] = argv[0];
      execv("/proc/self/exe", argv + i);
      _exit(98);
    }
    if (strcmp(word, "fork") == 0) {
      const pid_t child = fork();
      if (child == 0) {
        context = open_device();
        continue;
      }
      int status = 0;
      MUST(waitpid(child, &status, 0) == child);
      return 0;
    }
    if (strcmp(word, "await") == 0) {  // a signal that is passed on
      struct sigaction action;
      memset(&action, 0, sizeof(action));
      action.sa_handler = &note;
      sigaction(atoi(argv[i + 1]), &action, NULL);
      sigset_t none;
      sigemptyset(&none);
      puts("ready");
      fflush(stdout);
      while (got == 0) usleep(1000);
      printf("got %d\n", (int)got);
    }
    if (strcmp(word, "read") == 0) {  // until standard input ends
      char text[64];
      puts("ready");
      fflush(stdout);
      while (fgets(text, sizeof(text), stdin) != NULL) {
        fputs(text, stdout);
        fflush(stdout);
        if (strcmp(text, "pd\n") == 0) make_pd(context);
      }
    }
  }
  return 0;
}
