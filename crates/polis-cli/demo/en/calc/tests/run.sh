#!/bin/sh
# All tests: of every module, then of the whole program.
cd "${0%/*}/.." || exit
. tests/check.sh
broken=0
for module in lexer parser eval; do
	sh "tests/${module}_test.sh" || broken=1
done

is 'the example' "$(sh calc.sh '2 * (3 + 4)')" 14
is 'precedence' "$(sh calc.sh '1 + 2 * 3 - 4 / 2')" 5
is 'negation' "$(sh calc.sh '-(2 + 3) * -4')" 20
is 'depth' "$(sh calc.sh '((((7))))')" 7
is 'division by zero' "$(sh calc.sh '1 / (2 - 2)' 2>&1)" 'calc: division by zero'
sh calc.sh '1 / 0' >/dev/null 2>&1
is 'its status' $? 3
is 'a wrong expression' "$(sh calc.sh '2 +' 2>&1)" 'calc: a number is missing at the end'
sh calc.sh >/dev/null 2>&1
is 'no expression' $? 2
verdict calculator && [ "$broken" -eq 0 ] && printf 'all tests passed\n'
