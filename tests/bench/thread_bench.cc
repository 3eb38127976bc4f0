// What the first verbs of a new thread cost. Prints: microseconds that the first pair of reg_mr and dereg_mr takes in a thread (the
// median), KiB of memory that each of many threads adds that have made one, and KiB that 100,000 short threads leave behind.
// Run with the preload and without; the differences are the checker's.
//
//   thread_bench [THREADS] [SHORT_THREADS]
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#undef ibv_reg_mr

namespace {

char buffer[4096];
ibv_pd* pd;
pthread_barrier_t made, measured;

void Pair() { ibv_dereg_mr(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE)); }

double Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

double ResidentKib() {
  long pages = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == nullptr || fscanf(file, "%ld %ld", &pages, &resident) != 2) exit(2);
  fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

void* Timed(void* took) {
  const double begun = Now();
  Pair();
  *static_cast<double*>(took) = Now() - begun;
  return nullptr;
}

void* Waiting(void* took) {
  Timed(took);
  pthread_barrier_wait(&made);
  pthread_barrier_wait(&measured);
  return nullptr;
}

pthread_t Start(void* (*run)(void*), void* argument) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 * 1024);
  pthread_t thread;
  if (pthread_create(&thread, &small, run, argument) != 0) exit(2);
  return thread;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 200;
  const int short_threads = argc > 2 ? atoi(argv[2]) : 100000;
  ibv_device** list = ibv_get_device_list(nullptr);
  ibv_context* context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  pd = ibv_alloc_pd(context);
  std::vector<pthread_t> all;
  all.reserve(static_cast<size_t>(threads));
  pthread_barrier_init(&made, nullptr, static_cast<unsigned>(threads) + 1);
  pthread_barrier_init(&measured, nullptr, static_cast<unsigned>(threads) + 1);
  Pair();

  // New ones each, that live to the end: what the checker has for one that has exited would be taken over.
  std::vector<double> times(static_cast<size_t>(threads));
  const double before = ResidentKib();
  for (int i = 0; i < threads; ++i) all.push_back(Start(&Waiting, &times[static_cast<size_t>(i)]));
  pthread_barrier_wait(&made);
  const double each = (ResidentKib() - before) / threads;
  pthread_barrier_wait(&measured);
  for (pthread_t thread : all) pthread_join(thread, nullptr);

  const double settled = ResidentKib();
  for (int i = 0; i < short_threads; ++i) {
    double took = 0;
    pthread_join(Start(&Timed, &took), nullptr);
  }
  std::nth_element(times.begin(), times.begin() + threads / 2, times.end());
  printf("%.2f %.2f %.0f\n", times[static_cast<size_t>(threads) / 2], each, ResidentKib() - settled);
  ibv_dealloc_pd(pd);
  return ibv_close_device(context);
}
