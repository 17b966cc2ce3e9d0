cd "${0%/*}/.." || exit
. tests/check.sh
. lib/lexer.sh

# On one line, for comparing.
line() { tokenize "$1" 2>&1 | while IFS= read -r t; do printf '%s ' "$t"; done; }

is 'numbers and operators' "$(line '12+3 * 4')" '12 + 3 * 4 '
is 'a minus between numbers' "$(line '5-3')" '5 - 3 '
is 'a minus before a number' "$(line '-5 - -3')" '~ 5 - ~ 3 '
is 'brackets' "$(line '(1+2)%3')" '( 1 + 2 ) % 3 '
is 'a wrong character' "$(tokenize '2 $ 3' 2>&1 >/dev/null)" 'calc: cannot read "$"'
tokenize '2 $ 3' >/dev/null 2>&1
is 'its status' $? 2
verdict lexer
