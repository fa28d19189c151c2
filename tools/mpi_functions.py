#!/usr/bin/env python3
"""Writes src/wire/mpi_functions.h: every function of the mpi.h of Open MPI and MPICH, with what it means.

    tools/mpi_functions.py FOLDER...          rewrite the table from the headers in these folders
    tools/mpi_functions.py --check FOLDER...  fail if a function of theirs is not in the table

Numbers of functions are stored in traces, so a function keeps its number for good, and new ones follow.
What the headers do not say, what a function's arguments mean, stands in MEANINGS below.
"""
import pathlib
import re
import sys

TABLE = pathlib.Path(__file__).resolve().parent.parent / "src/wire/mpi_functions.h"

# The first that matches the name, without MPI_ and without _c of a large count, decides.
MEANINGS = [(re.compile(f"(?:{pattern})$"), meaning) for pattern, meaning in [
    # local: they move no data and wait for nobody, so they are counted and leave no event
    (r"Wtime|Wtick|Aint_(add|diff)", "LOCAL"),
    (r".*_(c2f|f2c|f082f|f2f08|c2f08|f082c|toint|fromint)", "CONVERSION"),
    (r"T_.*", "LOCAL"),
    (r"Type_free", "TYPE_FREE"),
    (r"(Type|Group|Info|Op|Errhandler|Error|Status|Attr|Keyval)_.*|Get_(address|count|elements|elements_x|version)|"
     r"Get_(library_version|processor_name)|Address|Add_error_.*|Delete_error_.*",
     "LOCAL"),
    (r"(Comm|Win|File|Session)_(get|set|create|free|delete|call)_(attr|keyval|errhandler|name|info).*|Win_get_group",
     "LOCAL"),
    (r"Comm_(rank|size|compare|group|test_inter|remote_group|remote_size)|Cart_(coords|rank|get|shift|map)", "LOCAL"),
    (r"Cartdim_get|Graphdims_get|Graph_(get|map|neighbors|neighbors_count)|Dist_graph_neighbors(_count)?", "LOCAL"),
    (r"Topo_test|Dims_create|Initialized|Finalized|Query_thread|Is_thread_main|Test_cancelled", "LOCAL"),
    (r"Pack.*|Unpack.*|Alloc_mem|Free_mem|Buffer_attach|Register_datarep|Reduce_local|Request_get_status", "LOCAL"),
    (r"File_get_.*|Win_(attach|detach|shared_query)|Grequest_complete|Session_get_.*|X_Query_.*|X_GPU_.*", "LOCAL"),
    (r"Init|Init_thread", "INIT"),
    (r"Finalize", "FINALIZE"),
    (r"Pcontrol", "PCONTROL"),
    # point to point
    (r"Send|[SBR]send", "SEND"),
    (r"I[sbr]?send", "ISEND"),
    (r"(Send|[SBR]send)_init", "SEND_INIT"),
    (r"Recv", "RECV"),
    (r"Irecv", "IRECV"),
    (r"Recv_init", "RECV_INIT"),
    (r"Sendrecv", "SENDRECV"),
    (r"Sendrecv_replace", "SENDRECV_REPLACE"),
    (r"Isendrecv", "ISENDRECV"),
    (r"Isendrecv_replace", "ISENDRECV_REPLACE"),
    (r"Psend_init", "PSEND_INIT"),
    (r"Precv_init", "PRECV_INIT"),
    (r"Start", "START"),
    (r"Startall", "STARTALL"),
    (r"Wait", "WAIT"),
    (r"Waitall", "WAITALL"),
    (r"Waitany", "WAITANY"),
    (r"Waitsome", "WAITSOME"),
    (r"Test", "TEST"),
    (r"Testall", "TESTALL"),
    (r"Testany", "TESTANY"),
    (r"Testsome", "TESTSOME"),
    (r"Request_free", "REQUEST_FREE"),
    (r"Cancel", "CANCEL"),
    (r"Probe", "PROBE"),
    (r"Iprobe", "IPROBE"),
    (r"Mprobe", "MPROBE"),
    (r"Improbe", "IMPROBE"),
    (r"Mrecv", "MRECV"),
    (r"Imrecv", "IMRECV"),
    # collective: blocking, I... with a request behind the communicator, ..._init with info and request
    (r"I?barrier|Barrier(_init)?", "BARRIER"),
    (r"I?bcast|Bcast(_init)?", "BCAST"),
    (r"I?gather|Gather(_init)?", "GATHER"),
    (r"I?gatherv|Gatherv(_init)?", "GATHERV"),
    (r"I?scatter|Scatter(_init)?", "SCATTER"),
    (r"I?scatterv|Scatterv(_init)?", "SCATTERV"),
    (r"I?allgather|Allgather(_init)?", "ALLGATHER"),
    (r"I?allgatherv|Allgatherv(_init)?", "ALLGATHERV"),
    (r"I?alltoall|Alltoall(_init)?", "ALLTOALL"),
    (r"I?alltoallv|Alltoallv(_init)?", "ALLTOALLV"),
    (r"I?alltoallw|Alltoallw(_init)?", "ALLTOALLW"),
    (r"I?reduce|Reduce(_init)?", "REDUCE"),
    (r"I?allreduce|Allreduce(_init)?", "ALLREDUCE"),
    (r"I?scan|Scan(_init)?|I?exscan|Exscan(_init)?", "SCAN"),
    (r"I?reduce_scatter|Reduce_scatter(_init)?", "REDUCE_SCATTER"),
    (r"I?reduce_scatter_block|Reduce_scatter_block(_init)?", "REDUCE_SCATTER_BLOCK"),
    (r"(I?neighbor|Neighbor)_allgather(_init)?", "NEIGHBOR_ALLGATHER"),
    (r"(I?neighbor|Neighbor)_allgatherv(_init)?", "NEIGHBOR_ALLGATHERV"),
    (r"(I?neighbor|Neighbor)_alltoall(_init)?", "NEIGHBOR_ALLTOALL"),
    (r"(I?neighbor|Neighbor)_alltoallv(_init)?", "NEIGHBOR_ALLTOALLV"),
    (r"(I?neighbor|Neighbor)_alltoallw(_init)?", "NEIGHBOR_ALLTOALLW"),
    # communicators: made of one (its argument) as an argument
    (r"Comm_dup|Cart_sub|Comm_dup_with_info|Comm_create|Comm_create_group|Comm_split|Comm_split_type|Cart_create|"
     r"Graph_create|Dist_graph_create|Dist_graph_create_adjacent|Intercomm_create|Intercomm_merge|Comm_spawn|"
     r"Comm_spawn_multiple|Comm_accept|Comm_connect|Comm_idup|Comm_idup_with_info|Comm_join|Comm_get_parent|"
     r"Comm_create_from_group|X_Comm_shrink|Intercomm_create_from_groups", "NEW_COMM"),
    (r"Comm_free|Comm_disconnect", "COMM_FREE"),
    # one-sided
    (r"Put|Accumulate|Rput|Raccumulate", "PUT"),
    (r"Get|Rget", "GET"),
    (r"Get_accumulate|Rget_accumulate", "GET_ACCUMULATE"),
    (r"Fetch_and_op", "FETCH_AND_OP"),
    (r"Compare_and_swap", "COMPARE_AND_SWAP"),
    (r"Win_fence", "WIN_FENCE"),
    # files: a position in the arguments of the count; the type follows it
    (r"File_i?read(_all|_shared|_ordered)?|File_iread_all|File_read_(all|ordered)_begin", "FILE_READ"),
    (r"File_i?read_at(_all)?|File_read_at_all_begin", "FILE_READ_AT"),
    (r"File_i?write(_all|_shared|_ordered)?|File_iwrite_all|File_write_(all|ordered)_begin", "FILE_WRITE"),
    (r"File_i?write_at(_all)?|File_write_at_all_begin", "FILE_WRITE_AT"),
]]

PROTOTYPE = re.compile(r"\b(?:int|double|void|char|MPI_Aint|MPI_Fint|MPI_[A-Z]\w*)\s*\*?\s+\*?\bP?(MPI_\w+|MPIX_\w+)"
                       r"\s*\(([^;{}()]*(?:\[[^;{}()]*)?)\)[^;{}]*;", re.S)
# Of mpi.h, but macros in one implementation and functions in the other, or types of callbacks.
HEADERS = ["mpi.h", "mpi_proto.h", "mpio.h", "mpi-ext.h", "openmpi/mpiext/*_c.h"]
NOT_FUNCTIONS = re.compile(r".*_(function|fn|FN|NULL)$|MPI_.*_FN$|MPI_[A-Z_0-9]+$")


def prototypes(path):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(errors="replace"), flags=re.S)
    text = re.sub(r"^\s*#(?:[^\n\\]|\\\n|\\.)*", "", text, flags=re.M)
    text = re.sub(r"typedef[^;]*;", "", text)
    found = {}
    for name, arguments in PROTOTYPE.findall(text):
        if NOT_FUNCTIONS.match(name):
            continue
        words = [] if arguments.strip() in ("", "void") else arguments.split(",")
        communicator = [i for i, w in enumerate(words) if re.search(r"\bMPI_Comm\b(?!\s*\*)", w)]
        made = [i for i, w in enumerate(words) if re.search(r"\bMPI_Comm\s*\*", w)]
        found[name] = (len(words), communicator[0] if communicator else -1, made[-1] if made else -1)
    return found


def meaning_of(name):
    short = name.removeprefix("MPI_").replace("MPIX_", "X_")
    base = short.removesuffix("_c")
    for pattern, meaning in MEANINGS:
        if (pattern.match(base) or pattern.match(base.removeprefix("X_"))):
            return meaning
    return "CALL"


def form_of(name, meaning):
    """How a call of an operation with several forms goes on: BLOCKING, REQUEST or INIT."""
    base = re.sub(r"^MPIX?_", "", name).removesuffix("_c")
    if base.endswith("_init"):
        return "INIT"
    if re.match(r"I(barrier|bcast|gather|scatter|all|reduce|scan|exscan|neighbor|dup)", base) or "_idup" in base:
        return "REQUEST"
    return "BLOCKING"


def read_table():
    if not TABLE.exists():
        return {}
    return {name: int(number) for number, name in
            re.findall(r"^\s*X\((\d+), (\w+),", TABLE.read_text(), flags=re.M)}


def main(arguments):
    is_check = arguments[:1] == ["--check"]
    folders = [pathlib.Path(a) for a in arguments[is_check:]]
    headers = [h for f in folders for pattern in HEADERS for h in f.glob(pattern)]
    if not headers:
        sys.exit(__doc__)
    found = {}
    for header in headers:
        for name, count in prototypes(header).items():
            found[name] = max(count, found.get(name, count))
    known = read_table()
    missing = sorted(set(found) - set(known))
    if is_check:
        sys.exit(f"not in {TABLE.name}: {' '.join(missing)}; run tools/mpi_functions.py" if missing else 0)
    # frequent ones first: small numbers are short in a trace
    first = ["MPI_Isend", "MPI_Irecv", "MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Waitall", "MPI_Test", "MPI_Iprobe",
             "MPI_Sendrecv", "MPI_Allreduce", "MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Waitany",
             "MPI_Testany", "MPI_Start"]
    missing.sort(key=lambda name: (first.index(name) if name in first else len(first), name))
    before = {}
    if TABLE.exists():
        before = {row[0]: tuple(map(int, row[1:])) for row in
                  re.findall(r"^\s*X\(\d+, (\w+), (\d+), (-?\d+), (-?\d+),", TABLE.read_text(), flags=re.M)}
    for name in missing:
        known[name] = len(known)
    with TABLE.open("w") as out:
        out.write("/* Every function of Open MPI's and MPICH's mpi.h: X(number, name, arguments, the communicator's\n"
                  " * position and that of one it makes (-1: none), meaning, form, has large counts). Made by\n"
                  " * tools/mpi_functions.py. Numbers are stored in traces. */\n"
                  "/* clang-format off */\n#define SN_MPI_FUNCTIONS(X) \\\n")
        for name, number in sorted(known.items(), key=lambda item: item[1]):
            meaning = meaning_of(name)
            is_large = int(name.endswith("_c"))
            out.write(f"\tX({number}, {name}, {', '.join(map(str, found.get(name, before.get(name))))}, {meaning}, "
                      f"{form_of(name, meaning)}, {is_large}) \\\n")
        out.write("\t/* end */\n/* clang-format on */\n")
    print(f"{len(known)} functions, {len(missing)} of them new")


main(sys.argv[1:])
