#!/bin/sh
# A calculator: sh calc.sh '2 * (3 + 4)'

here=${0%/*}
if [ "$here" = "$0" ]; then here=.; fi
. "$here/lib/lexer.sh"
. "$here/lib/parser.sh"
. "$here/lib/eval.sh"

if [ $# -ne 1 ]; then
	printf 'usage: sh calc.sh EXPRESSION\n' >&2
	exit 2
fi

tokens=$(tokenize "$1") || exit
postfix=$(printf '%s\n' "$tokens" | to_postfix) || exit
printf '%s\n' "$postfix" | evaluate
