/* The functions of sonde/control.h: what the program says of its own measurement. */
#define SONDE_CONTROL_FUNCTIONS
#include "sonde/control.h"

#include <errno.h>
#include <string.h>

#include "runtime/core/packets.h"

enum { NOTE_CONTROL = 1 };

static const char TERMINATED[] =
	"the program ended its measurement itself (sonde_terminate): what follows was not measured";

/* Enters our own code from a call of the program; NULL: there is nothing to do. */
static struct sn_thread *enter_call(void)
{
	struct sn_thread *self = sn_self_in_call();

	return sn_enter(self) ? self : NULL;
}

static void sample(const char *label)
{
	int saved = errno;
	struct sn_thread *self = enter_call();

	if (self) {
		int64_t begin_ns = sn_now_ns();
		sn_packet_write(self, SN_PACKET_LABEL, label ? label : "", begin_ns);
		sn_count_overhead(begin_ns);
		sn_leave(self);
	}
	errno = saved;
}

/* What was used until here belongs to what was measured, so the packet is written before a pause
 * and after its end. */
static void set_paused(bool is_paused)
{
	int saved = errno;
	struct sn_thread *self = enter_call();

	if (self) {
		_Atomic uint32_t *flags = &sn_header()->is_paused;
		bool was_paused = (atomic_load(flags) & SN_PAUSED_BY_PROGRAM) != 0;

		if (is_paused && !was_paused) {
			sn_packet_write(self, SN_PACKET_PAUSE, NULL, sn_now_ns());
			atomic_fetch_or(flags, SN_PAUSED_BY_PROGRAM);
			sn_config.is_paused = true;
		} else if (!is_paused && atomic_load(flags)) {
			/* a start in pause ends, too: the program knows best when it is time */
			atomic_store(flags, 0);
			sn_config.is_paused = false;
			sn_packet_write(self, SN_PACKET_RESUME, NULL, sn_now_ns());
		}
		sn_leave(self);
	}
	errno = saved;
}

static void pause_measuring(void)
{
	set_paused(true);
}

static void resume_measuring(void)
{
	set_paused(false);
}

static void terminate(void)
{
	int saved = errno;

	set_paused(true); /* so that the packets tell from when on nothing was measured */
	if (sn_self_in_call() && sn_is_active())
		sn_finish_early(TERMINATED);
	errno = saved;
}

static const struct sonde_control control = {
	.version = 1,
	.sample = sample,
	.pause = pause_measuring,
	.resume = resume_measuring,
	.terminate = terminate,
};

/* For languages that ask the loader: sonde_control.f90. */
SN_EXPORT void sonde_sample(const char *label)
{
	sample(label);
}

SN_EXPORT void sonde_pause(void)
{
	pause_measuring();
}

SN_EXPORT void sonde_resume(void)
{
	resume_measuring();
}

SN_EXPORT void sonde_terminate(void)
{
	terminate();
}

/* A note may say anything: a pointer is set only where the module can be written to. */
static bool is_writable(const Elf64_Phdr *phdrs, uint32_t count, uint64_t link_addr)
{
	for (uint32_t i = 0; i < count; i++)
		if (phdrs[i].p_type == PT_LOAD && (phdrs[i].p_flags & PF_W) && link_addr % 8 == 0 &&
		    link_addr >= phdrs[i].p_vaddr &&
		    link_addr - phdrs[i].p_vaddr < phdrs[i].p_memsz &&
		    phdrs[i].p_memsz - (link_addr - phdrs[i].p_vaddr) >= 8)
			return true;
	return false;
}

static void read_notes(const Elf64_Phdr *phdrs, uint32_t count, const Elf64_Phdr *notes,
		       uint64_t load_bias)
{
	const uint8_t *at = (const uint8_t *)(load_bias + notes->p_vaddr);
	uint64_t left = notes->p_memsz, align = notes->p_align == 8 ? 7 : 3;

	while (left >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *note = (const void *)at;
		uint64_t head = (sizeof *note + note->n_namesz + align) & ~align;
		uint64_t size = (head + note->n_descsz + align) & ~align;

		if (head + note->n_descsz > left)
			return;
		if (note->n_type == NOTE_CONTROL && note->n_namesz == 6 && note->n_descsz == 8 &&
		    memcmp(note + 1, "sonde", 6) == 0) {
			int64_t distance;
			memcpy(&distance, at + head, sizeof distance);
			uint64_t slot = (uint64_t)(uintptr_t)(at + head) + (uint64_t)distance;
			if (is_writable(phdrs, count, slot - load_bias))
				*(const struct sonde_control **)slot = &control;
		}
		if (size > left)
			return;
		at += size;
		left -= size;
	}
}

void sn_control_connect(const Elf64_Phdr *phdrs, uint32_t count, uint64_t load_bias)
{
	for (uint32_t i = 0; i < count; i++)
		if (phdrs[i].p_type == PT_NOTE)
			read_notes(phdrs, count, &phdrs[i], load_bias);
}
