# is 名称 实际值 期望值：计数，并说明不符合期望的项
failed=0
passed=0
is() {
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf '不符合：%s：期望“%s”，实际“%s”\n' "$1" "$3" "$2"
	fi
}
# verdict 名称：测试的最后一行
verdict() {
	printf '%s：%s 项通过，%s 项失败\n' "$1" "$passed" "$failed"
	[ "$failed" -eq 0 ]
}
