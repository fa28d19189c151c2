/* The shell of a campaign's page, made at build time by web/make_shell.py. The path comes from meson. */
	.section .rodata
	.global sn_campaign_shell, sn_campaign_shell_end
	.hidden sn_campaign_shell, sn_campaign_shell_end
	.balign 16
sn_campaign_shell:
	.incbin SN_CAMPAIGN_SHELL
sn_campaign_shell_end:
	.byte 0
	.section .note.GNU-stack, "", @progbits
