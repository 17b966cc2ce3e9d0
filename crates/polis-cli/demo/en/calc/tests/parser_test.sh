cd "${0%/*}/.." || exit
. tests/check.sh
. lib/parser.sh

# Words in, words out.
line() { printf '%s\n' $1 | to_postfix 2>&1 | while IFS= read -r t; do printf '%s ' "$t"; done; }

set -f # * is a token here
is 'times before plus' "$(line '1 + 2 * 3')" '1 2 3 * + '
is 'from left to right' "$(line '8 - 3 - 2')" '8 3 - 2 - '
is 'brackets first' "$(line '( 1 + 2 ) * 3')" '1 2 + 3 * '
is 'negation binds closest' "$(line '~ 2 * 3')" '2 ~ 3 * '
is 'a missing number' "$(line '1 +')" '1 calc: a number is missing at the end '
is 'a missing bracket' "$(line '( 1')" '1 calc: a ) is missing '
is 'a bracket too many' "$(line '1 )')" '1 calc: there is a ) too many '
printf '1\n2\n' | to_postfix >/dev/null 2>&1
is 'two numbers in a row' $? 2
verdict parser
