/*
 * A disk on which each read of a segment takes SLOW_READS_MS milliseconds more, for a process that preloads this file.
 * The reads count as reads from a disk (getrusage), as those of a file that is not in the page cache do.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char SUFFIX[] = ".segment";
static atomic_long slow_reads;

static int is_segment(int fd) {
  char link[32], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path);
  ssize_t tail = sizeof SUFFIX - 1;
  return length >= tail && memcmp(path + length - tail, SUFFIX, tail) == 0;
}

ssize_t pread64(int fd, void *bytes, size_t count, off64_t at) {
  if (is_segment(fd)) {
    long millis = atol(getenv("SLOW_READS_MS"));
    struct timespec pause = {millis / 1000, millis % 1000 * 1000000};
    nanosleep(&pause, NULL);
    atomic_fetch_add(&slow_reads, 1);
  }
  return syscall(SYS_pread64, fd, bytes, count, at);
}

int getrusage(int who, struct rusage *usage) {
  int failed = syscall(SYS_getrusage, who, usage);
  if (!failed && who == RUSAGE_SELF) usage->ru_inblock += atomic_load(&slow_reads);
  return failed;
}
