program p
 integer, parameter :: n=300
 real(8) :: a(n,n), b(n,n), c(n,n), x(n), y(n), s
 integer :: i,j,k,r
 do j=1,n; do i=1,n; a(i,j)=1d0/(i+j); b(i,j)=i-j*0.5d0; c(i,j)=0; end do; x(j)=j*1d-3; end do
 do r=1,6
 call gemm(a,b,c,n)
 end do
 do r=1,600
 call gemv(a,x,y,n)
 s=ddot(x,y,n); x=y/(1+abs(s))
 end do
 print *, s, sum(c)
contains
subroutine gemm(a,b,c,n)
 integer :: n,i,j,k; real(8) :: a(n,n),b(n,n),c(n,n)
 do j=1,n; do k=1,n; do i=1,n; c(i,j)=c(i,j)+a(i,k)*b(k,j); end do; end do; end do
end subroutine
subroutine gemv(a,x,y,n)
 integer :: n,i,j; real(8) :: a(n,n),x(n),y(n),t
 do i=1,n; t=0; do j=1,n; t=t+a(i,j)*x(j); end do; y(i)=t; end do
end subroutine
function ddot(x,y,n)
 integer :: n,i; real(8) :: x(n),y(n),ddot
 ddot=0; do i=1,n; ddot=ddot+x(i)*y(i); end do
end function
end program
