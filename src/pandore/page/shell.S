/* The page's shell, made at build time by web/make_shell.py. The path comes from meson. */
	.section .rodata
	.global sn_pandore_shell, sn_pandore_shell_end
	.hidden sn_pandore_shell, sn_pandore_shell_end
	.balign 16
sn_pandore_shell:
	.incbin SN_PANDORE_SHELL
sn_pandore_shell_end:
	.byte 0
	.section .note.GNU-stack, "", @progbits
