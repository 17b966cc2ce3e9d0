# 把文本切分为记号，每行一个。不启动其他程序，只用 shell 自带的模式匹配。

# tokenize TEXT
tokenize() {
	rest=$1
	due=yes # 此处是否应为数字：若是，减号表示取负
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
			# 输出剩余的全部文本：一个汉字有多个字节，不能从中间切开。
			printf 'calc：从“%s”起无法识别\n' "$rest" >&2
			return 2
			;;
		esac
	done
}

TAB=$(printf '\t')
