/* The page's shell, as built from web/src (see web/README.md). The path comes from meson. */
	.section .rodata
	.global sn_page_shell, sn_page_shell_end
	.hidden sn_page_shell, sn_page_shell_end
	.balign 16
sn_page_shell:
	.incbin SN_PAGE_SHELL
sn_page_shell_end:
	.byte 0
	.section .note.GNU-stack, "", @progbits
