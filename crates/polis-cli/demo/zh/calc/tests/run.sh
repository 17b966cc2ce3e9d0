#!/bin/sh
# 全部测试：先测试各模块，再测试整个程序。
cd "${0%/*}/.." || exit
. tests/check.sh
broken=0
for module in lexer parser eval; do
	sh "tests/${module}_test.sh" || broken=1
done

is '示例' "$(sh calc.sh '2 * (3 + 4)')" 14
is '优先级' "$(sh calc.sh '1 + 2 * 3 - 4 / 2')" 5
is '取负' "$(sh calc.sh '-(2 + 3) * -4')" 20
is '嵌套' "$(sh calc.sh '((((7))))')" 7
is '除数为零' "$(sh calc.sh '1 / (2 - 2)' 2>&1)" 'calc：除数为零'
sh calc.sh '1 / 0' >/dev/null 2>&1
is '除数为零的状态码' $? 3
is '有误的表达式' "$(sh calc.sh '2 +' 2>&1)" 'calc：末尾缺少数字'
sh calc.sh >/dev/null 2>&1
is '没有表达式' $? 2
verdict 计算器 && [ "$broken" -eq 0 ] && printf '全部测试通过\n'
