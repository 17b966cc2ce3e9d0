listen-plaintext-reachable = { $address } 可从其他机器访问；没有 TLS，令牌会以明文发送。
    .hint = 请使用 --tls-cert 和 --tls-key；若由代理终结 TLS，请用 --allow-plaintext

listen-invalid-address = 监听地址无效。
    .hint = 请使用 --listen 127.0.0.1:7707、[::1]:7707、HOST:PORT 或 unix:PATH

listen-key-mismatch = 私钥与证书不匹配，或其中之一的类型不受支持。
    .hint = 请确认 --tls-cert 和 --tls-key 是一对

listen-unreadable-certificate = 无法读取证书：文件不可读，或不含 PEM 证书。
    .hint = 请用 --tls-cert 给出服务器用户可读的 PEM 文件

listen-unreadable-key = 无法读取私钥：文件不可读，或不含 PEM 私钥。
    .hint = 请用 --tls-key 给出服务器用户可读的 PEM 文件
