/**
 * Puts a module's plan into the process: code near the module, jumps to it. For set-up only: it reads files and
 * uses libc. It needs nothing of the collector.
 */
#ifndef SN_RUNTIME_PATCH_PLACE_H
#define SN_RUNTIME_PATCH_PLACE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/plan.h"

/** A loaded module and its plan. */
struct sn_place {
	const struct dl_phdr_info *info; /* borrowed from the loader */
	uint64_t start, end;
	struct sn_plan plan; /* mapped; stays for good where it is used */
	uint64_t code;	     /* where the copies are */
};

/** What the code calls, and where the thread's words are, from its thread pointer. */
struct sn_place_calls {
	void *call[SN_PLAN_CALLS];
	int64_t thread_words;
};

/** The module's plan in a folder. False: there is none, or it is damaged. */
bool sn_place_find(const struct dl_phdr_info *info, const char *folder, struct sn_place *out,
		   bool *is_damaged);
/** The bytes that will be written over are those that the plan was made for. */
bool sn_place_is_as_expected(const struct sn_place *module);
/** Maps the code within reach of the module. Another thread may take the place meanwhile: false after some attempts. */
bool sn_place_code(struct sn_place *module, bool is_program, const struct sn_place_calls *calls,
		   uint32_t first_loop);
/** Writes the jumps: all, or none. */
bool sn_place_write(const struct sn_place *module);

/** Maps code within reach of [start, end); 0: it cannot be. */
uint64_t sn_place_near(uint64_t start, uint64_t end, const uint8_t *code, uint64_t bytes);

/** How far the loader's list was looked through. */
struct sn_place_look {
	uint64_t subs, modules;
};
/** Visits the modules that have come since the last time. */
void sn_place_look(struct sn_place_look *look,
		   void (*visit)(const struct dl_phdr_info *info, bool is_program));

/** Threads of libraries that were set up before us would run into half-written jumps. */
bool sn_place_is_alone(void);

/* setup_late.c */
/** Calls `changed` whenever a library has been mapped, before its constructors. False: it cannot be. */
bool sn_place_watch_loader(void (*changed)(void));

#endif
