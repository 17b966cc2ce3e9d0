### Usage errors of the command line: English as clap has them.

usage-error-heading = {"error: "}
usage-tip-heading = {"tip: "}
usage-more = For more information, try '{ $flag }'.
usage-command-missing = a command is missing

# $argument, $other
usage-conflict = the argument '{ $argument }' cannot be used with '{ $other }'
usage-conflict-with-several = the argument '{ $argument }' cannot be used with:
usage-conflict-with-others = the argument '{ $argument }' cannot be used with one or more of the other specified arguments
usage-repeated = the argument '{ $argument }' cannot be used multiple times
usage-no-equals = equal sign is needed when assigning values to '{ $argument }'
usage-value-missing = a value is required for '{ $argument }' but none was supplied
# $value, $argument
usage-value-invalid = invalid value '{ $value }' for '{ $argument }'
# $value, $argument, $reason
usage-value-invalid-because = invalid value '{ $value }' for '{ $argument }': { $reason }
# $value, $range
usage-not-in-range = { $value } is not in { $range }
usage-not-a-number = not a whole number
usage-number-too-large = the number is too large
usage-argument-unexpected = unexpected argument '{ $argument }' found
usage-command-unknown = unrecognized subcommand '{ $command }'
usage-arguments-missing = the following required arguments were not provided:
usage-subcommand-missing = '{ $command }' requires a subcommand but one was not provided
usage-subcommands = [subcommands: { $commands }]
# $value, $argument
usage-value-unexpected = unexpected value '{ $value }' for '{ $argument }' found; no more were expected
# $argument, $least, $actual
usage-values-too-few = { $least } values required by '{ $argument }'; only { $actual } provided
# $argument, $expected, $actual
usage-values-wrong-number = { $expected } values required for '{ $argument }' but { $actual } provided
usage-not-utf8 = invalid UTF-8 was detected in one or more arguments
usage-unusable = the value is not valid

## Tips

usage-similar-command = similar subcommands: { $names }
usage-similar-argument = similar arguments: { $names }
usage-similar-value = similar values: { $names }
# $value, $usage
usage-pass-as-value = to pass '{ $value }' as a value, use '{ $usage }'
# $name, $flag
usage-command-without = subcommand '{ $name }' exists; to use it, remove the '{ $flag }' before it
usage-exists = '{ $usage }' exists
