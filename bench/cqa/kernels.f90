! Loops of common shapes in Fortran, compiled at several options for the corpus.
subroutine f_axpy(n, a, x, y)
  integer :: n, i
  double precision :: a, x(n), y(n)
  do i = 1, n
    y(i) = y(i) + a * x(i)
  end do
end subroutine
subroutine f_mv(n, m, a, x, y)
  integer :: n, m, i, j
  double precision :: a(n, m), x(m), y(n)
  do j = 1, m
    do i = 1, n
      y(i) = y(i) + a(i, j) * x(j)
    end do
  end do
end subroutine
subroutine f_jacobi(n, u, v)
  integer :: n, i, j
  double precision :: u(n, n), v(n, n)
  do j = 2, n - 1
    do i = 2, n - 1
      v(i, j) = 0.25d0 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
    end do
  end do
end subroutine
subroutine f_tridiag(n, a, b, c, x)
  integer :: n, i
  double precision :: a(n), b(n), c(n), x(n)
  do i = 2, n
    b(i) = b(i) - a(i) / b(i - 1) * c(i - 1)
    x(i) = x(i) - a(i) / b(i - 1) * x(i - 1)
  end do
end subroutine
subroutine f_cdot(n, x, y, s)
  integer :: n, i
  complex(8) :: x(n), y(n), s
  s = 0
  do i = 1, n
    s = s + x(i) * conjg(y(i))
  end do
end subroutine
subroutine f_stride(n, k, x, s)
  integer :: n, k, i
  double precision :: x(*), s
  s = 0
  do i = 1, n, k
    s = s + x(i)
  end do
end subroutine
subroutine f_norm(n, x, s)
  integer :: n, i
  real :: x(3, n), s(n)
  do i = 1, n
    s(i) = sqrt(x(1, i)**2 + x(2, i)**2 + x(3, i)**2)
  end do
end subroutine
