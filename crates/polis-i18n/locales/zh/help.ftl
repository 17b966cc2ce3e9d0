### Headings and remarks of help pages.

help-usage = 用法：
help-commands = 命令：
help-arguments = 参数：
help-options = 选项：
help-group = { $title }：
help-value = - { $name }：{ $help }
help-value-list = 可选值：
help-environment = [环境变量：{ $name }]
help-default = [默认值：{ $value }]
help-values = [可选值：{ $values }]
