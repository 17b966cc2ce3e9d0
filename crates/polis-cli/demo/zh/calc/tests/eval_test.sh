cd "${0%/*}/.." || exit
. tests/check.sh
. lib/eval.sh

value() { printf '%s\n' $1 | evaluate 2>&1; }

set -f # 此处 * 是记号
is '一个数字' "$(value '42')" 42
is '加法和乘法' "$(value '1 2 3 * +')" 7
is '减法的顺序' "$(value '8 3 - 2 -')" 3
is '取负' "$(value '2 ~ 3 *')" -6
is '取余' "$(value '17 5 %')" 2
is '前导零' "$(value '010 007 +')" 17
is '除数为零' "$(value '1 0 /')" 'calc：除数为零'
printf '1\n0\n/\n' | evaluate >/dev/null 2>&1
is '除数为零的状态码' $? 3
verdict 求值
