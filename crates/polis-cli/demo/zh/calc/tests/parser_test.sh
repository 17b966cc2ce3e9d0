cd "${0%/*}/.." || exit
. tests/check.sh
. lib/parser.sh

# 输入和输出都是以空格分隔的记号。
line() { printf '%s\n' $1 | to_postfix 2>&1 | while IFS= read -r t; do printf '%s ' "$t"; done; }

set -f # 此处 * 是记号
is '先乘后加' "$(line '1 + 2 * 3')" '1 2 3 * + '
is '从左到右' "$(line '8 - 3 - 2')" '8 3 - 2 - '
is '括号优先' "$(line '( 1 + 2 ) * 3')" '1 2 + 3 * '
is '取负优先级最高' "$(line '~ 2 * 3')" '2 ~ 3 * '
is '缺少数字' "$(line '1 +')" '1 calc：末尾缺少数字 '
is '缺少括号' "$(line '( 1')" '1 calc：缺少 ) '
is '多余的括号' "$(line '1 )')" '1 calc：多了一个 ) '
printf '1\n2\n' | to_postfix >/dev/null 2>&1
is '连续两个数字' $? 2
verdict 语法分析
