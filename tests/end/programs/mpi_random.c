/*
 * A random MPI program that counts for itself what it does: mpi_random SEED ROUNDS PREFIX. Each rank draws the
 * same rounds, so they fit together. Rank R writes to PREFIX.R, by function: calls, bytes sent, bytes received,
 * messages; and to whom it sent how much.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3000, COMMS = 4, RANKS = 16, FUNCTIONS = 64 };

static int rank, size;
static struct {
	const char *name;
	long calls, sent, received, messages;
} functions[FUNCTIONS];
static long sent_messages[RANKS], sent_bytes[RANKS];
static double from_buffer[RANKS * MOST], to_buffer[RANKS * MOST];

static void count(const char *name, long sent, long received, long messages)
{
	for (int i = 0; i < FUNCTIONS; i++)
		if (!functions[i].name || !strcmp(functions[i].name, name)) {
			functions[i].name = name;
			functions[i].calls++;
			functions[i].sent += sent;
			functions[i].received += received;
			functions[i].messages += messages;
			return;
		}
	abort();
}

static unsigned long state;
static int draw(int below)
{
	state = state * 6364136223846793005UL + 1442695040888963407UL;
	return (int)((state >> 33) % (unsigned)below);
}

/* A communicator and what it is to this rank: its size, its ranks in the world. */
struct group {
	MPI_Comm comm;
	int rank, size, world[RANKS];
};

static struct group group_of(MPI_Comm comm)
{
	struct group g = { .comm = comm };
	MPI_Group own, all;
	int ranks[RANKS];

	MPI_Comm_rank(comm, &g.rank);
	count("MPI_Comm_rank", 0, 0, 0);
	MPI_Comm_size(comm, &g.size);
	count("MPI_Comm_size", 0, 0, 0);
	for (int i = 0; i < g.size; i++)
		ranks[i] = i;
	MPI_Comm_group(comm, &own);
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_translate_ranks(own, g.size, ranks, all, g.world);
	MPI_Group_free(&own);
	MPI_Group_free(&all);
	return g;
}

static const struct {
	MPI_Datatype *type;
	int bytes;
} types[] = { { &(MPI_Datatype){ 0 }, 4 },
	      { &(MPI_Datatype){ 0 }, 8 },
	      { &(MPI_Datatype){ 0 }, 1 },
	      { &(MPI_Datatype){ 0 }, 24 } };

struct message {
	int n, tag, kind;
	MPI_Datatype type;
	long bytes;
};

static struct message message_draw(void)
{
	struct message m = { .n = draw(5) ? draw(400) : draw(MOST / 3), .tag = draw(3) };
	int t = draw(4);

	m.type = *types[t].type;
	m.bytes = (long)m.n * types[t].bytes;
	return m;
}

static void sent(const char *function, const struct group *g, int to, long bytes)
{
	count(function, bytes, 0, 1);
	sent_messages[g->world[to]]++;
	sent_bytes[g->world[to]] += bytes;
}

static void meet(const struct group *g)
{
	MPI_Barrier(g->comm);
	count("MPI_Barrier", 0, 0, 0);
}

/* Each rank sends to the one `step` further, and receives from the one before. */
static void shift(const struct group *g)
{
	struct message m = message_draw();
	int step = 1 + draw(g->size > 1 ? g->size - 1 : 1), way = draw(12), wild = draw(3);
	int to = (g->rank + step) % g->size, from = (g->rank - step % g->size + g->size) % g->size;
	int source = wild == 1 ? MPI_ANY_SOURCE : from, tag = wild ? MPI_ANY_TAG : m.tag;
	MPI_Request requests[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
	MPI_Status status, *statuses = draw(2) ? MPI_STATUSES_IGNORE : (MPI_Status[2]){ { 0 } };
	MPI_Message taken;
	int done, index, indices[2];
	static const char *const names[] = { "MPI_Isend", "MPI_Issend" };
	int (*const isends[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
			      MPI_Request *) = { MPI_Isend, MPI_Issend };
	int synchronous = draw(2);

	/* what is received from anybody shall be of this round: nobody is before or beyond it */
	if (wild)
		meet(g);
	if (way == 0) {
		MPI_Sendrecv(from_buffer, m.n, m.type, to, m.tag, to_buffer, m.n + 5, m.type,
			     source, tag, g->comm, draw(2) ? &status : MPI_STATUS_IGNORE);
		sent("MPI_Sendrecv", g, to, m.bytes);
		count("MPI_Sendrecv", 0, m.bytes, 1);
		for (int i = 0; i < FUNCTIONS; i++)
			if (functions[i].name && !strcmp(functions[i].name, "MPI_Sendrecv"))
				functions[i].calls--; /* one call that was counted twice */
	} else if (way == 1) {
		MPI_Sendrecv_replace(from_buffer, m.n, m.type, to, m.tag, source, tag, g->comm,
				     &status);
		sent("MPI_Sendrecv_replace", g, to, m.bytes);
		count("MPI_Sendrecv_replace", 0, m.bytes, 1);
		for (int i = 0; i < FUNCTIONS; i++)
			if (functions[i].name && !strcmp(functions[i].name, "MPI_Sendrecv_replace"))
				functions[i].calls--;
	} else if (way == 2) { /* persistent, several times */
		int times = 1 + draw(3);
		MPI_Send_init(from_buffer, m.n, m.type, to, m.tag, g->comm, &requests[0]);
		count("MPI_Send_init", 0, 0, 0);
		MPI_Recv_init(to_buffer, m.n, m.type, from, m.tag, g->comm, &requests[1]);
		count("MPI_Recv_init", 0, 0, 0);
		for (int i = 0; i < times; i++) {
			MPI_Startall(2, requests);
			sent("MPI_Startall", g, to, m.bytes);
			MPI_Waitall(2, requests, statuses);
			count("MPI_Waitall", 0, m.bytes, 1);
		}
		for (int i = 0; i < 2; i++) {
			MPI_Request_free(&requests[i]);
			count("MPI_Request_free", 0, 0, 0);
		}
	} else {
		if (way != 3 && way != 4) {
			MPI_Irecv(to_buffer, m.n + 3, m.type, source, tag, g->comm, &requests[1]);
			count("MPI_Irecv", 0, 0, 0);
		}
		isends[synchronous](from_buffer, m.n, m.type, to, m.tag, g->comm, &requests[0]);
		sent(names[synchronous], g, to, m.bytes);
		switch (way) {
		case 3:
			MPI_Probe(source, tag, g->comm, draw(2) ? &status : MPI_STATUS_IGNORE);
			count("MPI_Probe", 0, 0, 0);
			MPI_Recv(to_buffer, m.n, m.type, from, m.tag, g->comm, MPI_STATUS_IGNORE);
			count("MPI_Recv", 0, m.bytes, 1);
			MPI_Wait(&requests[0], &status);
			count("MPI_Wait", 0, 0, 0);
			break;
		case 4:
			MPI_Mprobe(source, tag, g->comm, &taken, &status);
			count("MPI_Mprobe", 0, 0, 0);
			MPI_Mrecv(to_buffer, m.n, m.type, &taken, MPI_STATUS_IGNORE);
			count("MPI_Mrecv", 0, m.bytes, 1);
			MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
			count("MPI_Wait", 0, 0, 0);
			break;
		case 5:
			for (int i = 0; i < 2; i++) {
				MPI_Waitany(2, requests, &index, &status);
				count("MPI_Waitany", 0, index == 1 ? m.bytes : 0, index == 1);
			}
			break;
		case 6:
			for (int left = 2; left;) {
				MPI_Waitsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);
				count("MPI_Waitsome", 0, 0, 0);
				for (int i = 0; i < done; i++)
					if (indices[i] == 1) {
						count("MPI_Waitsome", 0, m.bytes, 1);
						for (int f = 0; f < FUNCTIONS; f++)
							if (functions[f].name &&
							    !strcmp(functions[f].name,
								    "MPI_Waitsome"))
								functions[f].calls--;
					}
				left -= done;
			}
			break;
		case 7:
			for (int i = 0; i < 2; i++)
				for (done = 0; !done;) {
					MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
					count("MPI_Test", 0, i && done ? m.bytes : 0, i && done);
				}
			break;
		case 8:
			for (done = 0; !done;) {
				MPI_Testall(2, requests, &done, statuses);
				count("MPI_Testall", 0, done ? m.bytes : 0, done);
			}
			break;
		case 9:
			for (int left = 2; left;) {
				MPI_Testany(2, requests, &index, &done, MPI_STATUS_IGNORE);
				count("MPI_Testany", 0, done && index == 1 ? m.bytes : 0,
				      done && index == 1);
				left -= done;
			}
			break;
		default:
			MPI_Waitall(2, requests, statuses);
			count("MPI_Waitall", 0, m.bytes, 1);
		}
	}
	if (wild)
		meet(g);
}

/* Blocking calls: even ranks send first. */
static void pairs(const struct group *g)
{
	struct message m = message_draw();
	int other = g->rank ^ 1, way = draw(3);
	const char *const names[] = { "MPI_Send", "MPI_Ssend", "MPI_Rsend" };

	if (other >= g->size)
		other = MPI_PROC_NULL; /* no message */
	for (int turn = 0; turn < 2; turn++) {
		if (turn == g->rank % 2) {
			if (way == 1)
				MPI_Ssend(from_buffer, m.n, m.type, other, m.tag, g->comm);
			else
				MPI_Send(from_buffer, m.n, m.type, other, m.tag, g->comm);
			if (other == MPI_PROC_NULL)
				count(names[way == 1], 0, 0, 0);
			else
				sent(names[way == 1], g, other, m.bytes);
		} else {
			MPI_Recv(to_buffer, m.n + 1, m.type, other, m.tag, g->comm,
				 draw(2) ? MPI_STATUS_IGNORE : &(MPI_Status){ 0 });
			count("MPI_Recv", 0, other == MPI_PROC_NULL ? 0 : m.bytes,
			      other != MPI_PROC_NULL);
			continue;
		}
		draw(2);
	}
}

static void collective(const struct group *g)
{
	int n = draw(200), root = draw(g->size), way = draw(14), s = g->size;
	long b = n * 8L;
	int counts[RANKS], starts[RANKS], all = 0;
	MPI_Request request;

	for (int i = 0; i < s; i++) {
		counts[i] = draw(50);
		starts[i] = all;
		all += counts[i];
	}
	switch (way) {
	case 0:
		MPI_Barrier(g->comm);
		count("MPI_Barrier", 0, 0, 0);
		break;
	case 1:
		MPI_Bcast(from_buffer, n, MPI_DOUBLE, root, g->comm);
		count("MPI_Bcast", g->rank == root ? b : 0, g->rank == root ? 0 : b, 0);
		break;
	case 2:
		MPI_Reduce(from_buffer, to_buffer, n, MPI_DOUBLE, MPI_SUM, root, g->comm);
		count("MPI_Reduce", b, g->rank == root ? b : 0, 0);
		break;
	case 3:
		MPI_Allreduce(from_buffer, to_buffer, n, MPI_DOUBLE, MPI_MAX, g->comm);
		count("MPI_Allreduce", b, b, 0);
		break;
	case 4:
		MPI_Gather(from_buffer, n, MPI_DOUBLE, to_buffer, n, MPI_DOUBLE, root, g->comm);
		count("MPI_Gather", b, g->rank == root ? b * s : 0, 0);
		break;
	case 5:
		MPI_Scatter(from_buffer, n, MPI_DOUBLE, to_buffer, n, MPI_DOUBLE, root, g->comm);
		count("MPI_Scatter", g->rank == root ? b * s : 0, b, 0);
		break;
	case 6:
		MPI_Allgather(from_buffer, n, MPI_DOUBLE, to_buffer, n, MPI_DOUBLE, g->comm);
		count("MPI_Allgather", b, b * s, 0);
		break;
	case 7:
		MPI_Alltoall(from_buffer, n, MPI_DOUBLE, to_buffer, n, MPI_DOUBLE, g->comm);
		count("MPI_Alltoall", b * s, b * s, 0);
		break;
	case 8:
		MPI_Gatherv(g->rank == root ? MPI_IN_PLACE : from_buffer, counts[g->rank],
			    MPI_DOUBLE, to_buffer, counts, starts, MPI_DOUBLE, root, g->comm);
		count("MPI_Gatherv", counts[g->rank] * 8L, g->rank == root ? all * 8L : 0, 0);
		break;
	case 9:
		MPI_Allgatherv(from_buffer, counts[g->rank], MPI_DOUBLE, to_buffer, counts, starts,
			       MPI_DOUBLE, g->comm);
		count("MPI_Allgatherv", counts[g->rank] * 8L, all * 8L, 0);
		break;
	case 10:
		MPI_Iallreduce(MPI_IN_PLACE, to_buffer, n, MPI_DOUBLE, MPI_MAX, g->comm, &request);
		count("MPI_Iallreduce", b, b, 0);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		count("MPI_Wait", 0, 0, 0);
		break;
	case 11:
		MPI_Reduce_scatter(from_buffer, to_buffer, counts, MPI_DOUBLE, MPI_SUM, g->comm);
		count("MPI_Reduce_scatter", all * 8L, counts[g->rank] * 8L, 0);
		break;
	case 12:
		MPI_Scan(from_buffer, to_buffer, n, MPI_DOUBLE, MPI_SUM, g->comm);
		count("MPI_Scan", b, b, 0);
		break;
	default:
		MPI_Ibcast(from_buffer, n, MPI_DOUBLE, root, g->comm, &request);
		count("MPI_Ibcast", g->rank == root ? b : 0, g->rank == root ? 0 : b, 0);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		count("MPI_Wait", 0, 0, 0);
	}
}

int main(int argc, char **argv)
{
	struct group groups[COMMS];
	MPI_Comm dup, split, reversed;
	char path[256];
	FILE *out;

	if (argc < 4)
		return 2;
	state = (unsigned long)atol(argv[1]) * 7919 + 1;
	MPI_Init(&argc, &argv);
	count("MPI_Init", 0, 0, 0);
	*types[0].type = MPI_INT;
	*types[1].type = MPI_DOUBLE;
	*types[2].type = MPI_CHAR;
	MPI_Type_contiguous(3, MPI_DOUBLE, types[3].type);
	MPI_Type_commit(types[3].type);
	groups[0] = group_of(MPI_COMM_WORLD);
	rank = groups[0].rank;
	size = groups[0].size;
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	count("MPI_Comm_dup", 0, 0, 0);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &split);
	count("MPI_Comm_split", 0, 0, 0);
	MPI_Comm_split(dup, 0, -rank, &reversed);
	count("MPI_Comm_split", 0, 0, 0);
	groups[1] = group_of(dup);
	groups[2] = group_of(split);
	groups[3] = group_of(reversed);
	for (long i = atol(argv[2]); i > 0; i--) {
		int which = draw(4), what = draw(4);
		unsigned long next = state * 31 + 17;

		if (what == 0)
			collective(&groups[which]);
		else if (what == 1)
			pairs(&groups[which]);
		else
			shift(&groups[which]);
		state = next; /* however much a rank has drawn */
	}
	MPI_Finalize();
	count("MPI_Finalize", 0, 0, 0);
	snprintf(path, sizeof path, "%s.%d", argv[3], rank);
	out = fopen(path, "w");
	for (int i = 0; i < FUNCTIONS && functions[i].name; i++)
		fprintf(out, "F %d %s %ld %ld %ld %ld\n", rank, functions[i].name,
			functions[i].calls, functions[i].sent, functions[i].received,
			functions[i].messages);
	for (int i = 0; i < size; i++)
		if (sent_messages[i])
			fprintf(out, "M %d %d %ld %ld\n", rank, i, sent_messages[i], sent_bytes[i]);
	fclose(out);
	printf("rank %d is done\n", rank);
	return 0;
}
