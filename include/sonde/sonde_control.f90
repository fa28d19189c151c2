! Control of a measurement from inside a Fortran program: the functions of control.h, where each is told.
!
!	use sonde_control
!	call sonde_sample("read input")
!
! Compile this file with the program; no library is needed. Whether sonde measures the program is asked
! of the loader once, at the first call.
module sonde_control
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: sonde_sample, sonde_pause, sonde_resume, sonde_terminate

  abstract interface
    subroutine with_label(label) bind(c)
      import :: c_char
      character(kind=c_char), intent(in) :: label(*)
    end subroutine
    subroutine without() bind(c)
    end subroutine
  end interface

  interface
    function dlsym(handle, name) bind(c, name="dlsym") result(address)
      import :: c_ptr, c_funptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function
  end interface

  procedure(with_label), pointer, save :: sample => null()
  procedure(without), pointer, save :: pause => null(), resume => null(), terminate => null()
  logical, save :: has_asked = .false.

contains

  subroutine ask(name, address)
    character(*), intent(in) :: name
    type(c_funptr), intent(out) :: address

    address = dlsym(c_null_ptr, name // c_null_char)
  end subroutine

  subroutine ask_all()
    type(c_funptr) :: address

    if (has_asked) return
    call ask("sonde_sample", address)
    if (c_associated(address)) call c_f_procpointer(address, sample)
    call ask("sonde_pause", address)
    if (c_associated(address)) call c_f_procpointer(address, pause)
    call ask("sonde_resume", address)
    if (c_associated(address)) call c_f_procpointer(address, resume)
    call ask("sonde_terminate", address)
    if (c_associated(address)) call c_f_procpointer(address, terminate)
    has_asked = .true.
  end subroutine

  subroutine sonde_sample(label)
    character(*), intent(in) :: label

    call ask_all()
    if (associated(sample)) call sample(trim(label) // c_null_char)
  end subroutine

  subroutine sonde_pause()
    call ask_all()
    if (associated(pause)) call pause()
  end subroutine

  subroutine sonde_resume()
    call ask_all()
    if (associated(resume)) call resume()
  end subroutine

  subroutine sonde_terminate()
    call ask_all()
    if (associated(terminate)) call terminate()
  end subroutine
end module
