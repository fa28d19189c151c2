! Shallow water on a torus, by the scheme that conserves potential enstrophy (Sadourny 1975), in the shape of the code
! that the Periscope paper analyses (its Section 6): a staggered grid of n x n points, three time levels, a smoothing in
! time, and the periodic rows and columns copied by loops of their own. Our own code.
!
! To be compiled by gfortran -O1 -fno-inline, so that an access in the source is one in the machine. The test of its table is
! tests/end/search_swim.py; the figures are in bench/RESULTS.md.
module grid
  implicit none
  integer, parameter :: n = 512, n1 = n + 1
  real(8) :: u(n1, n1), v(n1, n1), p(n1, n1)
  real(8) :: unew(n1, n1), vnew(n1, n1), pnew(n1, n1)
  real(8) :: uold(n1, n1), vold(n1, n1), pold(n1, n1)
  real(8) :: cu(n1, n1), cv(n1, n1), z(n1, n1), h(n1, n1), psi(n1, n1)
  real(8), parameter :: dx = 1d5, dy = 1d5, alpha = 1d-3
  real(8) :: tdt = 90d0
end module grid

module steps
  use grid
  implicit none
contains

  ! a stream function, the velocities that belong to it, and a pressure
  subroutine start()
    real(8), parameter :: pi = 3.14159265358979d0
    real(8) :: angle
    integer :: i, j

    angle = 2 * pi / n
    do j = 1, n1
      do i = 1, n1
        psi(i, j) = 1d6 * sin((i - 0.5d0) * angle) * sin((j - 0.5d0) * angle)
        p(i, j) = 2d3 * (cos(2 * (i - 1) * angle) + cos(2 * (j - 1) * angle)) + 5d4
      end do
    end do
    do j = 1, n
      do i = 1, n
        u(i + 1, j) = -(psi(i + 1, j + 1) - psi(i + 1, j)) / dy
        v(i, j + 1) = (psi(i + 1, j + 1) - psi(i, j + 1)) / dx
      end do
    end do
    do j = 1, n
      u(1, j) = u(n1, j)
      v(n1, j + 1) = v(1, j + 1)
    end do
    do i = 1, n
      u(i + 1, n1) = u(i + 1, 1)
      v(i, 1) = v(i, n1)
    end do
    u(1, n1) = u(n1, 1)
    v(n1, 1) = v(1, n1)
    uold = u
    vold = v
    pold = p
  end subroutine start

  ! mass fluxes, potential vorticity and height
  subroutine calc1()
    real(8) :: fsdx, fsdy
    integer :: i, j

    fsdx = 4 / dx
    fsdy = 4 / dy
    do j = 1, n
      do i = 1, n ! fluxes
        cu(i + 1, j) = 0.5d0 * (p(i + 1, j) + p(i, j)) * u(i + 1, j)
        cv(i, j + 1) = 0.5d0 * (p(i, j + 1) + p(i, j)) * v(i, j + 1)
        z(i + 1, j + 1) = (fsdx * (v(i + 1, j + 1) - v(i, j + 1)) - fsdy * (u(i + 1, j + 1) - u(i + 1, j))) / &
          (p(i, j) + p(i + 1, j) + p(i + 1, j + 1) + p(i, j + 1))
        h(i, j) = p(i, j) + 0.25d0 * (u(i + 1, j) * u(i + 1, j) + u(i, j) * u(i, j) + &
          v(i, j + 1) * v(i, j + 1) + v(i, j) * v(i, j))
      end do
    end do
    do j = 1, n
      cu(1, j) = cu(n1, j)
      cv(n1, j + 1) = cv(1, j + 1)
      z(1, j + 1) = z(n1, j + 1)
      h(n1, j) = h(1, j)
    end do
    do i = 1, n
      cu(i + 1, n1) = cu(i + 1, 1)
      cv(i, 1) = cv(i, n1)
      z(i + 1, 1) = z(i + 1, n1)
      h(i, n1) = h(i, 1)
    end do
    cu(1, n1) = cu(n1, 1)
    cv(n1, 1) = cv(1, n1)
    z(1, 1) = z(n1, n1)
    h(n1, n1) = h(1, 1)
  end subroutine calc1

  ! the new time level
  subroutine calc2()
    real(8) :: tdts8, tdtsdx, tdtsdy
    integer :: i, j

    tdts8 = tdt / 8
    tdtsdx = tdt / dx
    tdtsdy = tdt / dy
    do j = 1, n
      do i = 1, n ! advance
        unew(i + 1, j) = uold(i + 1, j) + tdts8 * (z(i + 1, j + 1) + z(i + 1, j)) * &
          (cv(i + 1, j + 1) + cv(i, j + 1) + cv(i, j) + cv(i + 1, j)) - tdtsdx * (h(i + 1, j) - h(i, j))
        vnew(i, j + 1) = vold(i, j + 1) - tdts8 * (z(i + 1, j + 1) + z(i, j + 1)) * &
          (cu(i + 1, j + 1) + cu(i, j + 1) + cu(i, j) + cu(i + 1, j)) - tdtsdy * (h(i, j + 1) - h(i, j))
        pnew(i, j) = pold(i, j) - tdtsdx * (cu(i + 1, j) - cu(i, j)) - tdtsdy * (cv(i, j + 1) - cv(i, j))
      end do
    end do
    do j = 1, n ! columns
      unew(1, j) = unew(n1, j)
      vnew(n1, j + 1) = vnew(1, j + 1)
      pnew(n1, j) = pnew(1, j)
    end do
    do i = 1, n ! rows
      unew(i + 1, n1) = unew(i + 1, 1)
      vnew(i, 1) = vnew(i, n1)
      pnew(i, n1) = pnew(i, 1)
    end do
    unew(1, n1) = unew(n1, 1)
    vnew(n1, 1) = vnew(1, n1)
    pnew(n1, n1) = pnew(1, 1)
  end subroutine calc2

  ! the first step has no smoothing
  subroutine calc3z()
    integer :: i, j

    tdt = tdt + tdt
    do j = 1, n1
      do i = 1, n1 ! copies
        uold(i, j) = u(i, j)
        vold(i, j) = v(i, j)
        pold(i, j) = p(i, j)
        u(i, j) = unew(i, j)
        v(i, j) = vnew(i, j)
        p(i, j) = pnew(i, j)
      end do
    end do
  end subroutine calc3z

  ! smoothing in time
  subroutine calc3()
    integer :: i, j

    do j = 1, n
      do i = 1, n ! smooths
        uold(i, j) = u(i, j) + alpha * (unew(i, j) - 2 * u(i, j) + uold(i, j))
        vold(i, j) = v(i, j) + alpha * (vnew(i, j) - 2 * v(i, j) + vold(i, j))
        pold(i, j) = p(i, j) + alpha * (pnew(i, j) - 2 * p(i, j) + pold(i, j))
        u(i, j) = unew(i, j)
        v(i, j) = vnew(i, j)
        p(i, j) = pnew(i, j)
      end do
    end do
    do j = 1, n1
      uold(n1, j) = uold(1, j)
      vold(n1, j) = vold(1, j)
      pold(n1, j) = pold(1, j)
      u(n1, j) = u(1, j)
      v(n1, j) = v(1, j)
      p(n1, j) = p(1, j)
    end do
    do i = 1, n1
      uold(i, n1) = uold(i, 1)
      vold(i, n1) = vold(i, 1)
      pold(i, n1) = pold(i, 1)
      u(i, n1) = u(i, 1)
      v(i, n1) = v(i, 1)
      p(i, n1) = p(i, 1)
    end do
  end subroutine calc3
end module steps

program shallow
  use steps
  implicit none
  integer :: i, j, cycle, cycles
  real(8) :: psum, usum, vsum, checks(3)
  character(len=16) :: word

  cycles = 1
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *) cycles
  end if
  call start()
  do cycle = 1, cycles
    call calc1()
    call calc2()
    psum = 0
    usum = 0
    vsum = 0
    do j = 1, n
      do i = 1, n ! checks
        psum = psum + pnew(i, j)**2
        usum = usum + unew(i, j)**2
        vsum = vsum + vnew(i, j)**2
      end do
      unew(j, j) = unew(j, j) * (1 + mod(j, 100) * 1d-12)
    end do
    checks = [psum, usum, vsum]
    if (cycle == cycles) print '(i5, 3es22.14)', cycle, checks
    if (cycle == 1) then
      call calc3z()
    else
      call calc3()
    end if
  end do
end program shallow
