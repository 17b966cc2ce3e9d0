cd "${0%/*}/.." || exit
. tests/check.sh
. lib/lexer.sh

# 输出为一行，便于比较。
line() { tokenize "$1" 2>&1 | while IFS= read -r t; do printf '%s ' "$t"; done; }

is '数字和运算符' "$(line '12+3 * 4')" '12 + 3 * 4 '
is '数字之间的减号' "$(line '5-3')" '5 - 3 '
is '数字之前的负号' "$(line '-5 - -3')" '~ 5 - ~ 3 '
is '括号' "$(line '(1+2)%3')" '( 1 + 2 ) % 3 '
is '无法识别的字符' "$(tokenize '2 × 3' 2>&1 >/dev/null)" 'calc：从“× 3”起无法识别'
tokenize '2 × 3' >/dev/null 2>&1
is '无法识别时的状态码' $? 2
verdict 词法分析
