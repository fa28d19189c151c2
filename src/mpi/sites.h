/** Where the program called MPI, and what waiting sums up to by such places. */
#ifndef SN_MPI_SITES_H
#define SN_MPI_SITES_H

#include "base/text.h"
#include "mpi/mpi.h"
#include "profile/program.h"

/** The innermost function that is not the library's, and its line. */
struct sn_mpi_site {
	uint32_t function, line; /* numbers of the program; SN_NONE: not known */
};

struct sn_mpi_site sn_mpi_site_of(const struct sn_program *program, uint32_t stack);

/** Adds "main / solve / exchange": the program's functions, outermost first, to the one of the site. Nothing if no
 * stack was taken (SN_NONE). */
void sn_mpi_path_add(struct sn_text *text, const struct sn_program *program, uint32_t stack);

/** Waiting of one rank, of one kind, in one call of the program. */
struct sn_mpi_wait_sum {
	uint32_t process;
	enum sn_mpi_wait kind;
	struct sn_mpi_site site;
	uint16_t function; /* of MPI */
	uint64_t count;
	int64_t wait_ns, longest_ns;
	/* of the longest wait: whom it was for, and where that rank was when it came */
	uint32_t for_process; /* SN_NONE: not known */
	struct sn_mpi_site for_site;
};

struct sn_mpi_wait_sums {
	SN_VEC(struct sn_mpi_wait_sum) items;
};

/** In no order. The caller frees `items`. */
struct sn_mpi_wait_sums sn_mpi_wait_sums_of(const struct sn_program *program,
					    const struct sn_mpi *mpi);

#endif
