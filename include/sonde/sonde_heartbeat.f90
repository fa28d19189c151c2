! Heartbeats for Fortran: the functions of sonde/heartbeat.h. Compile this file with your program.
!
!   use sonde_heartbeat
!   type(c_ptr) :: solve
!   solve = heartbeat_register("solve")
!   call heartbeat_begin(solve)
!   call heartbeat_end(solve)
module sonde_heartbeat
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: c_ptr, heartbeat_register, heartbeat_by_id, heartbeat_begin, heartbeat_end
  public :: heartbeat_pulse, heartbeat_every, heartbeat_enable, heartbeat_flush, heartbeat_finalize

  interface
    function register_c(name, flags) bind(c, name="sonde_heartbeat_register") result(handle)
      import :: c_ptr, c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: flags
      type(c_ptr) :: handle
    end function
    function heartbeat_by_id(id) bind(c, name="sonde_heartbeat_by_id") result(handle)
      import :: c_ptr, c_int32_t
      integer(c_int32_t), value :: id
      type(c_ptr) :: handle
    end function
    subroutine heartbeat_begin(handle) bind(c, name="sonde_heartbeat_begin_call")
      import :: c_ptr
      type(c_ptr), value :: handle
    end subroutine
    subroutine heartbeat_end(handle) bind(c, name="sonde_heartbeat_end_call")
      import :: c_ptr
      type(c_ptr), value :: handle
    end subroutine
    subroutine heartbeat_pulse(handle, work_units) bind(c, name="sonde_heartbeat_pulse_call")
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: handle
      integer(c_int64_t), value :: work_units
    end subroutine
    subroutine heartbeat_every(handle, n) bind(c, name="sonde_heartbeat_every")
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: handle
      integer(c_int32_t), value :: n
    end subroutine
    subroutine heartbeat_enable(enabled) bind(c, name="sonde_heartbeat_enable")
      import :: c_int
      integer(c_int), value :: enabled
    end subroutine
    subroutine heartbeat_flush() bind(c, name="sonde_heartbeat_flush")
    end subroutine
    subroutine heartbeat_finalize() bind(c, name="sonde_heartbeat_finalize")
    end subroutine
  end interface

contains

  function heartbeat_register(name) result(handle)
    character(len=*), intent(in) :: name
    type(c_ptr) :: handle
    handle = register_c(trim(name) // c_null_char, 0_c_int)
  end function
end module
