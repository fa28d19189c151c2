! Loops whose place in the source is known (see loops.c).
module grid
  implicit none
contains
  subroutine smooth(a, b, n)
    integer, intent(in) :: n
    real(8), intent(in) :: a(n, n)
    real(8), intent(out) :: b(n, n)
    integer :: i, j
    do j = 2, n - 1                             ! loop smooth 1
      do i = 2, n - 1                           ! loop smooth 2 innermost
        b(i, j) = 0.25d0 * (a(i - 1, j) + a(i + 1, j) &
                + a(i, j - 1) + a(i, j + 1))    ! end end
      end do
    end do
  end subroutine
  function total(a, n) result(s)
    integer, intent(in) :: n
    real(8), intent(in) :: a(n)
    real(8) :: s
    integer :: i
    s = 0
    do i = 1, n                                 ! loop total 1 innermost
      s = s + a(i)                              ! end
    end do
  end function
end module

program main
  use grid
  implicit none
  real(8) :: a(32, 32), b(32, 32)
  a = 1
  call smooth(a, b, 32)
  print *, total(b(:, 5), 32)
end program
