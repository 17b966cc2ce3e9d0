# 计算后缀表达式。栈是由数字组成的文本，栈顶在最前面。

# pop：取出栈顶，放入 `top`
pop() {
	top=${stack%% *}
	stack=${stack#* }
}

# evaluate：读取后缀记号，每行一个
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
				printf 'calc：除数为零\n' >&2
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
