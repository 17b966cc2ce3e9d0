# Tokens into postfix order (Dijkstra's shunting yard). The stack is a text of tokens, the top first.

# binds TOKEN: how closely an operator binds
binds() {
	case $1 in
	'~') printf 3 ;;
	'*' | / | %) printf 2 ;;
	+ | -) printf 1 ;;
	*) printf 0 ;;
	esac
}

wrong() {
	printf 'calc: %s\n' "$1" >&2
	return 2
}

# to_postfix: reads tokens, one a line
to_postfix() {
	stack=''
	due=yes
	while IFS= read -r token; do
		case $token in
		'') ;;
		[0-9]*)
			if [ "$due" = no ]; then wrong "an operator is missing before $token" || return; fi
			printf '%s\n' "$token"
			due=no
			;;
		'~' | \()
			if [ "$due" = no ]; then wrong 'an operator is missing' || return; fi
			stack="$token $stack"
			;;
		\))
			if [ "$due" = yes ]; then wrong 'a number is missing before )' || return; fi
			while :; do
				top=${stack%% *}
				if [ -z "$top" ]; then wrong 'there is a ) too many' || return; fi
				stack=${stack#* }
				if [ "$top" = '(' ]; then break; fi
				printf '%s\n' "$top"
			done
			;;
		*)
			if [ "$due" = yes ]; then wrong "a number is missing before $token" || return; fi
			while top=${stack%% *} && [ "$(binds "$top")" -ge "$(binds "$token")" ]; do
				printf '%s\n' "$top"
				stack=${stack#* }
			done
			stack="$token $stack"
			due=yes
			;;
		esac
	done
	if [ "$due" = yes ]; then wrong 'a number is missing at the end' || return; fi
	while [ -n "$stack" ]; do
		top=${stack%% *}
		stack=${stack#* }
		if [ "$top" = '(' ]; then wrong 'a ) is missing' || return; fi
		printf '%s\n' "$top"
	done
}
