### Sign-in page of the web interface.

login-one-moment = One moment …
login-sign-in = Sign in
login-with-link = With a link
login-with-link-explanation = Run this on the machine where polis runs; it opens this page and signs you in:
login-with-token = With a token
login-token-field = Token
login-token-permissions = The session has the same permissions as the token.
