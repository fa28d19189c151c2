/*
 * The constructor: finds the plan of each module that is there, maps its code near the module and writes the jumps; likewise
 * for libraries that come later. What cannot be had is said in one sentence, and the program runs as it is.
 */
#include "runtime/insert/insert.h"

#include <cpuid.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/core/sys.h"
#include "runtime/patch/place.h"
#include "wire/insert.h"

/* The state components that libraries may change: x87, vectors, masks. Not tiles, nor keys. */
#define SAVED_STATE 0xe7ULL

static char folder[PATH_MAX];

static void say(const char *sentence)
{
	dprintf(STDERR_FILENO, "sonde: heartbeat: %s\n", sentence);
}

static void find_state(void)
{
	unsigned a, b, c, d;
	uint32_t low, high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	insert_globals.save_mask = ((uint64_t)high << 32 | low) & SAVED_STATE;
}

static void note(const struct sn_place *module)
{
	struct insert_globals *g = &insert_globals;

	g->modules[g->module_count] =
		(struct insert_module){ module->plan, module->info->dlpi_addr, module->code };
	__atomic_store_n(&g->module_count, g->module_count + 1, __ATOMIC_RELEASE);
	if (sonde_stack_copies)
		sonde_stack_copies(module->code, module->plan.header->code_bytes, insert_translate);
	for (uint32_t i = 0; i < module->plan.header->loop_count; i++) {
		const struct sn_plan_loop *from = &module->plan.loops[i];

		insert_globals.beats[insert_globals.count++] =
			(struct insert_beat){ .name = (const char *)module->plan.tables +
						      from->table,
					      .every = (uint32_t)from->step };
	}
}

/* The plan is one of heartbeats, whose names end. */
static bool is_of_beats(const struct sn_plan *plan)
{
	for (uint32_t i = 0; i < plan->header->loop_count; i++) {
		const struct sn_plan_loop *beat = &plan->loops[i];

		if (beat->counting != SN_PLAN_COUNT_BEATS || !beat->table_bytes ||
		    plan->tables[beat->table + beat->table_bytes - 1])
			return false;
	}
	for (uint32_t i = 0; i < plan->header->relocation_count; i++)
		if (plan->relocations[i].kind != SN_PLAN_PC &&
		    plan->relocations[i].kind != SN_PLAN_INDEX)
			return false;
	return true;
}

/* Before the jumps are there, as threads may come to them at once. */
static void patch(struct sn_place *module, bool is_program)
{
	const struct sn_place_calls calls = { .call = {
						      [SN_PLAN_CALL_FIRST] = (void *)insert_left,
						      [SN_PLAN_CALL_FULL] = (void *)insert_caught,
						      [SN_PLAN_CALL_BEGIN] = (void *)insert_begin,
						      [SN_PLAN_CALL_END] = (void *)insert_end,
						      [SN_PLAN_CALL_NEXT] = (void *)insert_next,
					      } };
	uint32_t first = insert_globals.count;

	if (insert_globals.module_count == INSERT_MODULES_MAX ||
	    module->plan.header->loop_count > insert_globals.capacity - first) {
		say("there are more heartbeats than can be inserted: some are not");
	} else if (!sn_place_is_as_expected(module)) {
		say("the code of a module is not what its plan was made for: its heartbeats are not inserted");
	} else if (!sn_place_code(module, is_program, &calls, first)) {
		say("there is no room for executable memory near a module: its heartbeats are not inserted");
	} else {
		note(module);
		if (sn_place_write(module))
			return;
		insert_globals.module_count--;
		insert_globals.count = first;
		SYS(munmap, module->code, module->plan.header->code_bytes);
		say("the code of a module cannot be written to: its heartbeats are not inserted");
	}
}

/* A library that was closed and is there again: at the place where it was its code fits. True: it needs no other. */
static bool is_known(struct sn_place *module)
{
	for (uint32_t i = 0; i < insert_globals.module_count; i++) {
		if (insert_globals.modules[i].plan.header->hash != module->plan.header->hash)
			continue;
		module->code = insert_globals.modules[i].code;
		if (insert_globals.modules[i].load_bias != module->info->dlpi_addr)
			say("a library was loaded again at another place: its heartbeats beat in the first one only");
		else if (sn_place_is_as_expected(module) && !sn_place_write(module))
			say("the code of a module cannot be written to: its heartbeats are not inserted");
		return true;
	}
	return false;
}

static void visit(const struct dl_phdr_info *info, bool is_program)
{
	struct sn_place module;
	bool is_damaged = false;

	if (!sn_place_find(info, folder, &module, &is_damaged)) {
		if (is_damaged)
			say("a plan of heartbeats is damaged: those of its module are not inserted");
		return;
	}
	if (!is_of_beats(&module.plan)) {
		say("a plan is not one of heartbeats: nothing is inserted into its module");
		return;
	}
	if (is_known(&module))
		SYS(munmap, module.plan.header, module.plan.header->file_bytes);
	else
		patch(&module, is_program);
}

static void look(void)
{
	static struct sn_place_look seen;

	sn_place_look(&seen, visit);
}

/* getenv does not know the environment yet. */
static const char *find_variable(char **environment)
{
	size_t length = strlen(SN_INSERT_VARIABLE);

	for (; environment && *environment; environment++)
		if (!strncmp(*environment, SN_INSERT_VARIABLE, length) &&
		    (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

__attribute__((constructor)) static void setup(int argc, char **argv, char **environment)
{
	const char *value = find_variable(environment);
	char *end;

	(void)argc;
	(void)argv;
	if (!value)
		return;
	insert_globals.capacity = (uint32_t)strtoul(value, &end, 10);
	if (*end != ':' || !insert_globals.capacity ||
	    insert_globals.capacity > SN_PLAN_LOOPS_MAX || strlen(end + 1) >= sizeof(folder))
		return;
	strcpy(folder, end + 1);
	if (!sn_place_is_alone()) {
		say("threads run before the program begins: nothing is inserted");
		return;
	}
	find_state();
	if (pthread_key_create(&insert_globals.key, insert_thread_exit)) {
		say("the program has all keys of threads in use: nothing is inserted");
		return;
	}
	look();
	if (insert_globals.count < insert_globals.capacity && !sn_place_watch_loader(look))
		say("the loader cannot be watched: libraries that are loaded later have no heartbeats");
}
