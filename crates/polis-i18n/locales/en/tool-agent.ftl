### Results of the agent registry tools for models.

tool-agent-none = No agents.
# $agent, $role, $layer
tool-agent-line = { $agent }: { $role }, { $layer } layer
tool-agent-under = , under { $supervisor }
tool-agent-retired-mark = , retired
tool-agent-registered = Registered { $agent }
tool-agent-retired = { $agent } is retired.
