### Refusals: how the next step is introduced. The sentences are in `refusals/`.

refusal-next-step = Next: { $hint }
