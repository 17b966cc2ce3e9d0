### Sign-in page of the web interface.

login-one-moment = 请稍候……
login-sign-in = 登录
login-with-link = 使用链接
login-with-link-explanation = 在运行 polis 的机器上执行以下命令，即可打开本页面并自动登录：
login-with-token = 使用令牌
login-token-field = 令牌
login-token-permissions = 登录后的权限与令牌相同。
