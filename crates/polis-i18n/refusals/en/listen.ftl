### Refusals to start a server: its address and its certificate.

listen-plaintext-reachable = { $address } is reachable from other machines; without TLS, tokens would be sent unencrypted.
    .hint = use --tls-cert and --tls-key, or --allow-plaintext behind a proxy that terminates TLS

listen-invalid-address = The listen address is not valid.
    .hint = use --listen 127.0.0.1:7707, [::1]:7707, HOST:PORT or unix:PATH

listen-key-mismatch = The private key does not match the certificate, or one of them has an unsupported type.
    .hint = check that --tls-cert and --tls-key are a matching pair

listen-unreadable-certificate = The certificate cannot be read: the file is not readable or contains no PEM certificate.
    .hint = pass --tls-cert a PEM file that the server's user may read

listen-unreadable-key = The key cannot be read: the file is not readable or contains no PEM key.
    .hint = pass --tls-key a PEM file that the server's user may read
