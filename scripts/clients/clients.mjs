// The clients: how each is installed, configured and run non-interactively, and how it names the tools of polis.
//
// `headless` and `http` repeat the instructions in docs/guide/agents.md verbatim; a run fails if the guide differs.
// `modelFiles` and `modelEnvironment` are used only by the tests: they set the address of the scripted model and disable
// all other requests of the client.

import { anthropicMessages } from './api/anthropic_messages.mjs';
import { geminiGenerate } from './api/gemini_generate.mjs';
import { openaiChat } from './api/openai_chat.mjs';
import { openaiResponses } from './api/openai_responses.mjs';

/** Placeholders in the guide for the project directory and for the address of `polis serve`. */
export const GUIDE_PROJECT = '/path/to/project';
export const GUIDE_URL = 'http://127.0.0.1:7707';

export const CLIENTS = {
  claude: {
    title: 'Claude Code',
    package: (arch) => `@anthropic-ai/claude-code-linux-${arch}`,
    command: (directory) => [`${directory}/claude`],
    api: anthropicMessages,
    toolName: (tool) => `mcp__polis__${tool}`,
    hidden: [],
    refused: [],
    headless: {
      install: 'polis mcp install claude',
      file: '.claude/settings.local.json',
      text: '{"permissions": {"allow": ["mcp__polis"]}}',
      run: 'claude -p PROMPT',
    },
    http: {
      file: '.mcp.json',
      text: '{"mcpServers": {"polis": {"type": "http", "url": "http://127.0.0.1:7707/mcp", "headers": {"Authorization": "Bearer ${POLIS_TOKEN}"}}}}',
    },
    modelFiles: () => ({}),
    modelEnvironment: (url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'scripted',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', // Telemetry, updates, error reports.
    }),
    /** Claude Code announces MCP tools by name only; the model loads them with the built-in tool ToolSearch. */
    *prelude(tools) {
      yield { ownTool: 'ToolSearch', arguments: { query: `select:${tools.map(this.toolName).join(',')}`, max_results: tools.length } };
    },
  },

  codex: {
    title: 'Codex',
    package: (arch) => `codex-linux-${arch}`,
    command: (directory, arch) => [`${directory}/vendor/${arch === 'arm64' ? 'aarch64' : 'x86_64'}-unknown-linux-musl/bin/codex`],
    api: openaiResponses,
    toolName: (tool) => `mcp__polis/${tool}`,
    hidden: [],
    /** Destructive tools, unless they are allowed with `--allow-tools`. */
    refused: ['run_command', 'write_file'],
    headless: {
      install: 'polis mcp install codex',
      file: '~/.codex/config.toml',
      text: `[projects."/path/to/project"]\ntrust_level = "trusted"\n`,
      run: 'codex exec PROMPT',
    },
    http: {
      file: '.codex/config.toml',
      text: `[mcp_servers.polis]\nurl = "http://127.0.0.1:7707/mcp"\nbearer_token_env_var = "POLIS_TOKEN"\n`,
    },
    modelFiles: (url) => ({
      '~/.codex/config.toml': `
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
wire_api = "responses"

[analytics]
enabled = false

# Both download lists at startup.
[features]
plugins = false
apps = false

`,
    }),
    modelEnvironment: () => ({}),
  },

  opencode: {
    title: 'opencode',
    /** npm has no arm64 executable of the pinned version. */
    architectures: ['x64'],
    package: (arch) => `opencode-linux-${arch}`,
    command: (directory) => [`${directory}/bin/opencode`],
    api: openaiChat,
    toolName: (tool) => `polis_${tool}`,
    hidden: [],
    refused: [],
    headless: { install: 'polis mcp install opencode', run: 'opencode run PROMPT' },
    http: {
      file: 'opencode.json',
      text: '{"mcp": {"polis": {"type": "remote", "url": "http://127.0.0.1:7707/mcp", "headers": {"Authorization": "Bearer {env:POLIS_TOKEN}"}}}}',
    },
    modelFiles: (url) => ({
      '~/.config/opencode/opencode.json': JSON.stringify({
        autoupdate: false,
        share: 'disabled',
        model: 'scripted/scripted',
        enabled_providers: ['scripted'],
        provider: {
          scripted: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${url}/v1`, apiKey: 'scripted' },
            models: { scripted: { tool_call: true, limit: { context: 200000, output: 8000 } } },
          },
        },
      }),
    }),
    modelEnvironment: () => ({
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      npm_config_offline: 'true', // opencode installs a package in the background; no setting disables that.
    }),
  },

  gemini: {
    title: 'Gemini CLI',
    package: () => '@google/gemini-cli',
    command: (directory) => [process.execPath, `${directory}/bundle/gemini.js`],
    api: geminiGenerate,
    toolName: (tool) => `mcp_polis_${tool}`,
    /** In non-interactive runs it disables its own `write_file`, and with it every tool of that name. */
    hidden: ['write_file'],
    refused: [],
    /** It adds this parameter to every tool, and its system prompt instructs the model to use it. */
    extraArguments: { wait_for_previous: true },
    headless: {
      install: 'polis mcp install gemini --allow-tools',
      run: 'GEMINI_CLI_TRUST_WORKSPACE=true gemini -p PROMPT',
    },
    http: {
      file: '.gemini/settings.json',
      text: '{"mcpServers": {"polis": {"httpUrl": "http://127.0.0.1:7707/mcp", "trust": true, "headers": {"Authorization": "Bearer $POLIS_TOKEN"}}}}',
    },
    modelFiles: () => ({
      '~/.gemini/settings.json': JSON.stringify({
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        privacy: { usageStatisticsEnabled: false },
        security: { auth: { selectedType: 'gemini-api-key' } },
        model: { name: 'gemini-2.5-flash' }, // Otherwise it sends a request to a model to select the model.
      }),
    }),
    modelEnvironment: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'scripted' }),
  },
};

/** Returns the tested instructions that are missing from the guide. */
export function missingFromGuide(client, version, guide) {
  const normalize = (text) => text.replace(/\s+/g, ' ').trim();
  const { headless, http } = client;
  const expected = [
    `| ${client.title} | ${version} |`,
    headless.install,
    headless.file,
    headless.text,
    headless.run.replace('PROMPT', '"…"'),
    http.file,
    http.text,
  ];
  return expected.filter((text) => text && !normalize(guide).includes(normalize(text)));
}
