### Refusals: how the next step is introduced. The sentences are in `refusals/`.

refusal-next-step = 下一步：{ $hint }
