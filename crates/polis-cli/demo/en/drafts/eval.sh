# Postfix order into a number. The stack is a text of numbers, the top first.

# pop: takes the top of the stack into `top`
pop() {
	top=${stack%% *}
	stack=${stack#* }
}

# evaluate: reads postfix tokens, one a line
evaluate() {
	stack=''
	while IFS= read -r token; do
		case $token in
		[0-9]*)
			stack="$token $stack"
			continue
			;;
		'~')
			pop
			stack="$((-top)) $stack"
			continue
			;;
		esac
		pop
		right=$top
		pop
		left=$top
		case $token in
		/ | %)
			if [ "$right" -eq 0 ]; then
				printf 'calc: division by zero\n' >&2
				return 3
			fi
			;;
		esac
		case $token in
		+) stack="$((left + right)) $stack" ;;
		-) stack="$((left - right)) $stack" ;;
		'*') stack="$((left * right)) $stack" ;;
		/) stack="$((left / right)) $stack" ;;
		%) stack="$((left % right)) $stack" ;;
		esac
	done
	pop
	printf '%s\n' "$top"
}
