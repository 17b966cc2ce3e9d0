cd "${0%/*}/.." || exit
. tests/check.sh
. lib/eval.sh

value() { printf '%s\n' $1 | evaluate 2>&1; }

set -f # * is a token here
is 'a number' "$(value '42')" 42
is 'plus and times' "$(value '1 2 3 * +')" 7
is 'minus, in order' "$(value '8 3 - 2 -')" 3
is 'negation' "$(value '2 ~ 3 *')" -6
is 'what is left' "$(value '17 5 %')" 2
is 'leading zeros' "$(value '010 007 +')" 17
is 'division by zero' "$(value '1 0 /')" 'calc: division by zero'
printf '1\n0\n/\n' | evaluate >/dev/null 2>&1
is 'its status' $? 3
verdict evaluator
