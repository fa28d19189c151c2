/** Force-included into every *_handler.c: names that must not be called where handlers may run. */
#ifndef SN_RUNTIME_POISON_H
#define SN_RUNTIME_POISON_H

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/perf_event.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

#pragma GCC poison malloc calloc realloc free aligned_alloc posix_memalign strdup strndup asprintf
#pragma GCC poison printf fprintf sprintf snprintf vsnprintf puts fputs fopen fclose fwrite fread
#pragma GCC poison exit abort getenv setenv unsetenv putenv syslog
#pragma GCC poison pthread_getattr_np pthread_once localtime gmtime strerror

#endif
