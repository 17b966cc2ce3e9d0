### Usage errors of the command line.

usage-error-heading = 错误：
usage-tip-heading = 提示：
usage-more = 运行 { $flag } 查看更多信息。
usage-command-missing = 缺少命令

usage-conflict = 参数 '{ $argument }' 不能与 '{ $other }' 同时使用
usage-conflict-with-several = 参数 '{ $argument }' 不能与以下参数同时使用：
usage-conflict-with-others = 参数 '{ $argument }' 不能与给出的其他参数同时使用
usage-repeated = 参数 '{ $argument }' 不能重复使用
usage-no-equals = 给 '{ $argument }' 赋值时必须使用等号
usage-value-missing = '{ $argument }' 需要一个值，但没有给出
usage-value-invalid = '{ $argument }' 的值 '{ $value }' 无效
usage-value-invalid-because = '{ $argument }' 的值 '{ $value }' 无效：{ $reason }
usage-not-in-range = { $value } 不在范围 { $range } 内
usage-not-a-number = 不是整数
usage-number-too-large = 数字过大
usage-argument-unexpected = 未知的参数 '{ $argument }'
usage-command-unknown = 未知的子命令 '{ $command }'
usage-arguments-missing = 缺少以下必需的参数：
usage-subcommand-missing = '{ $command }' 需要一个子命令，但没有给出
usage-subcommands = [子命令：{ $commands }]
usage-value-unexpected = '{ $argument }' 多出一个值 '{ $value }'，不再接受更多的值
usage-values-too-few = '{ $argument }' 至少需要 { $least } 个值，只给出了 { $actual } 个
usage-values-wrong-number = '{ $argument }' 需要 { $expected } 个值，给出了 { $actual } 个
usage-not-utf8 = 有参数不是有效的 UTF-8
usage-unusable = 该值无效

## Tips

usage-similar-command = 相近的子命令：{ $names }
usage-similar-argument = 相近的参数：{ $names }
usage-similar-value = 相近的值：{ $names }
usage-pass-as-value = 要把 '{ $value }' 作为值传入，请使用 '{ $usage }'
usage-command-without = 存在子命令 '{ $name }'；要使用它，请去掉前面的 '{ $flag }'
usage-exists = 存在 '{ $usage }'
