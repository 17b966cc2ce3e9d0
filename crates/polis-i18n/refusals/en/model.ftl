### Refusals of the configuration of models, recordings and the trace collector.

model-invalid-api-key = The API key of a model endpoint contains invalid characters.
    .hint = check the environment variable or the file that contains it

model-invalid-base-url = The base URL of model endpoint { $name } { $detail }.
    .hint = set base_url to the URL before /chat/completions, such as https://api.example.com/v1

model-invalid-header = A header of model endpoint { $name } is invalid.
    .hint = write a header as a name of letters and dashes, and a value on one line

model-no-default-endpoint = The default model endpoint { $name } is not configured.
    .hint = add an endpoint with base_url and model to the configuration

model-no-endpoint = No model endpoint is configured.
    .hint = add an endpoint with base_url and model to the configuration

model-invalid-recording = Line { $number } of the recording { $problem ->
        [header] is not a recording header
        [response] is not a recorded response
       *[other] is missing
    }.
    .cli = create a recording with `polis run --record FILE`
    .tool = ask the person who runs polis for a recording
    .screen = correct the input

model-invalid-trace-header = A header for the trace collector is invalid.
    .hint = write headers as name=value, separated by commas

model-invalid-trace-url = The URL of the trace collector { $detail }.
    .hint = set it to a URL such as http://localhost:4318
