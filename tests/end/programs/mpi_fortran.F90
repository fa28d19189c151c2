! A ring in Fortran, by mpif.h (-DBY_MPIF), mpi (-DBY_MPI) or mpi_f08: what it does is known by construction.
program ring
#ifdef BY_MPIF
  implicit none
  include 'mpif.h'
#elif defined(BY_MPI)
  use mpi
  implicit none
#else
  use mpi_f08
  implicit none
#endif
  integer :: rank, ranks, ierr, i, next, before
  double precision :: out(100), in(100), all(100)
#if defined(BY_MPIF) || defined(BY_MPI)
  integer :: requests(2), statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE), comm
#else
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2), status
  type(MPI_Comm) :: comm
#endif

  call MPI_Init(ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Comm_rank(comm, rank, ierr)
  call MPI_Comm_size(comm, ranks, ierr)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  out = rank
  do i = 1, 10
    call MPI_Irecv(in, 100, MPI_DOUBLE_PRECISION, before, 5, comm, requests(1), ierr)
    call MPI_Isend(out, 10 * i, MPI_DOUBLE_PRECISION, next, 5, comm, requests(2), ierr)
    call MPI_Waitall(2, requests, statuses, ierr)
    call MPI_Sendrecv(out, i, MPI_DOUBLE_PRECISION, next, 6, in, 100, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 6, &
                      comm, MPI_STATUS_IGNORE, ierr)
    if (rank == 0) then
      call MPI_Send(out, 3, MPI_DOUBLE_PRECISION, 1, 7, MPI_COMM_WORLD, ierr)
    else if (rank == 1) then
      call MPI_Recv(in, 100, MPI_DOUBLE_PRECISION, 0, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
    end if
    call MPI_Bcast(all, 7, MPI_DOUBLE_PRECISION, 0, comm, ierr)
    call MPI_Allreduce(out, all, 4, MPI_DOUBLE_PRECISION, MPI_SUM, comm, ierr)
    call MPI_Barrier(comm, ierr)
  end do
  if (rank == 0) print '(a, f8.1)', 'sum', all(1)
  call MPI_Finalize(ierr)
end program ring
