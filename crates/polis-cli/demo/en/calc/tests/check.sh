# is WHAT FOUND EXPECTED: counts, and says what is not as it should be
failed=0
passed=0
is() {
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'not ok: %s: expected "%s", found "%s"\n' "$1" "$3" "$2"
	fi
}
# verdict NAME: the last line of a test
verdict() {
	printf '%s: %s passed, %s failed\n' "$1" "$passed" "$failed"
	[ "$failed" -eq 0 ]
}
