# 把记号转换为后缀顺序（Dijkstra 的调度场算法）。栈是由记号组成的文本，栈顶在最前面。

# binds TOKEN：运算符的优先级
binds() {
	case $1 in
	'~') printf 3 ;;
	'*' | / | %) printf 2 ;;
	+ | -) printf 1 ;;
	*) printf 0 ;;
	esac
}

wrong() {
	printf 'calc：%s\n' "$1" >&2
	return 2
}

# to_postfix：读取记号，每行一个
to_postfix() {
	stack=''
	due=yes
	while IFS= read -r token; do
		case $token in
		'') ;;
		[0-9]*)
			if [ "$due" = no ]; then wrong "$token 之前缺少运算符" || return; fi
			printf '%s\n' "$token"
			due=no
			;;
		'~' | \()
			if [ "$due" = no ]; then wrong '缺少运算符' || return; fi
			stack="$token $stack"
			;;
		\))
			if [ "$due" = yes ]; then wrong ') 之前缺少数字' || return; fi
			while :; do
				top=${stack%% *}
				if [ -z "$top" ]; then wrong '多了一个 )' || return; fi
				stack=${stack#* }
				if [ "$top" = '(' ]; then break; fi
				printf '%s\n' "$top"
			done
			;;
		*)
			if [ "$due" = yes ]; then wrong "$token 之前缺少数字" || return; fi
			while top=${stack%% *} && [ "$(binds "$top")" -ge "$(binds "$token")" ]; do
				printf '%s\n' "$top"
				stack=${stack#* }
			done
			stack="$token $stack"
			due=yes
			;;
		esac
	done
	if [ "$due" = yes ]; then wrong '末尾缺少数字' || return; fi
	while [ -n "$stack" ]; do
		top=${stack%% *}
		stack=${stack#* }
		if [ "$top" = '(' ]; then wrong '缺少 )' || return; fi
		printf '%s\n' "$top"
	done
}
