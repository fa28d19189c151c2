/* Functions by their numbers, and names of kinds. */
#include "mpi/mpi.h"

#define ROW(number, name, arguments, comm, new_comm, meaning, form, is_large)                      \
	{ #name, SN_MPI_MEANS_##meaning },
static const struct {
	const char *name;
	enum sn_mpi_meaning meaning;
} functions[SN_MPI_FUNCTION_COUNT] = { SN_MPI_FUNCTIONS(ROW) };

const char *sn_mpi_function_name(uint32_t function)
{
	return function < SN_MPI_FUNCTION_COUNT ? functions[function].name : "[unknown]";
}

enum sn_mpi_meaning sn_mpi_function_meaning(uint32_t function)
{
	return function < SN_MPI_FUNCTION_COUNT ? functions[function].meaning : SN_MPI_MEANS_CALL;
}

const char *sn_mpi_wait_name(enum sn_mpi_wait wait)
{
	static const char *const names[SN_MPI_WAITS] = {
		[SN_MPI_WAIT_NONE] = "none",
		[SN_MPI_LATE_SENDER] = "late_sender",
		[SN_MPI_LATE_RECEIVER] = "late_receiver",
		[SN_MPI_WRONG_ORDER] = "wrong_order",
		[SN_MPI_WAIT_AT_BARRIER] = "wait_at_barrier",
		[SN_MPI_WAIT_AT_NXN] = "wait_at_nxn",
		[SN_MPI_EARLY_REDUCE] = "early_reduce",
		[SN_MPI_LATE_BROADCAST] = "late_broadcast",
	};

	return names[wait];
}

const char *sn_mpi_message_state_name(enum sn_mpi_message_state state)
{
	static const char *const names[] = {
		[SN_MPI_RECEIVED] = "received",
		[SN_MPI_UNRECEIVED] = "unreceived",
		[SN_MPI_UNSENT] = "unsent",
		[SN_MPI_CANCELLED] = "cancelled",
	};

	return names[state];
}
