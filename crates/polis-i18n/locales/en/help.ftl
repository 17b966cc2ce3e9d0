### Headings and remarks of help pages.

help-usage = {"Usage: "}
help-commands = Commands:
help-arguments = Arguments:
help-options = Options:
help-group = { $title }:
# $name, $help
help-value = - { $name }: { $help }
help-value-list = Possible values:
help-environment = [env: { $name }]
help-default = [default: { $value }]
help-values = [possible values: { $values }]
