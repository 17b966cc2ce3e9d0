# Text into tokens, one a line. No program is started: only the shell's own pattern matching is used.

# tokenize TEXT
tokenize() {
	rest=$1
	due=yes # whether a number is due: then a minus negates
	while [ -n "$rest" ]; do
		char=${rest%"${rest#?}"}
		case $char in
		' ' | "$TAB")
			rest=${rest#?}
			;;
		[0-9])
			number=${rest%%[!0-9]*}
			rest=${rest#"$number"}
			printf '%s\n' "$number"
			due=no
			;;
		-)
			if [ "$due" = yes ]; then char='~'; fi
			printf '%s\n' "$char"
			rest=${rest#?}
			due=yes
			;;
		[+*/%\(])
			printf '%s\n' "$char"
			rest=${rest#?}
			due=yes
			;;
		\))
			printf '%s\n' "$char"
			rest=${rest#?}
			due=no
			;;
		*)
			printf 'calc: cannot read "%s"\n' "$char" >&2
			return 2
			;;
		esac
	done
}

TAB=$(printf '\t')
