/** The clients that are woken: Claude Code, Codex and opencode. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { editJson, placeEnv, type WakeClient } from './wake-client.ts'

const platform = `${process.platform}-${process.arch}`
/** Claude Code asks about a key of the environment, unless its end was approved before. */
const apiKey = 'sk-ant-lab-0123456789-0123456789'

function claude(version: string): WakeClient {
  return {
    title: `claude ${version}`,
    name: 'claude',
    package: `@anthropic-ai/claude-code@${version}`,
    program: `@anthropic-ai/claude-code-${platform}/claude`,
    wakesUnprompted: true,
    configure({ home, project }) {
      editJson(join(home, '.claude.json'), (state) => ({
        ...state,
        ...{ hasCompletedOnboarding: true, theme: 'dark' },
        customApiKeyResponses: { approved: [apiKey.slice(-20)], rejected: [] },
        projects: { [project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
      }))
      const allow = ['read_messages', 'send_message', 'list_agents'].map((tool) => `mcp__agent-grid__${tool}`)
      editJson(join(home, '.claude/settings.json'), (settings) => ({ ...settings, permissions: { allow } }))
    },
    env: (place) => ({
      ...placeEnv(place),
      ...{ ANTHROPIC_BASE_URL: place.model, ANTHROPIC_API_KEY: apiKey },
      ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
    }),
    open: (terminal) => terminal.shows(/❯/),
    oneShot: (prompt) => ['-p', prompt],
    exit: '/exit',
    clear: '/clear',
  }
}

const codex: WakeClient = {
  title: 'codex',
  name: 'codex',
  package: '@openai/codex@latest',
  program: '.bin/codex',
  wakesUnprompted: false,
  configure({ home, project, model }) {
    const file = join(home, '.codex/config.toml')
    // What a person approves at the first call of a tool.
    const approval = 'default_tools_approval_mode = "approve"'
    const written = readFileSync(file, 'utf8').replace('[mcp_servers.agent-grid]', (table) => `${table}\n${approval}`)
    // What stands before the first table belongs to none.
    writeFileSync(
      file,
      `model = "gpt-5"\nmodel_provider = "lab"\napproval_policy = "never"\ncheck_for_update_on_startup = false\n\n${written}`,
    )
    appendFileSync(
      file,
      `
[model_providers.lab]
name = "lab"
base_url = "${model}/v1"
wire_api = "responses"
supports_websockets = false

[projects."${project}"]
trust_level = "trusted"
`,
    )
  },
  env: (place) => placeEnv(place),
  async open(terminal, trust, { home }) {
    const isApproved = readFileSync(join(home, '.codex/config.toml'), 'utf8').includes('[hooks.state')
    // It asks when its prompt has been there for a while.
    if (!isApproved) await terminal.shows(/Hooks need review/)
    const choice = trust === 'all' ? /› 2\./ : /› 3\./
    // It drops keys while it starts.
    while (/Hooks need review/.test(terminal.screen())) {
      terminal.press(choice.test(terminal.screen()) ? 'Enter' : 'Down')
      await sleep(500)
    }
    await terminal.shows(/Ask Codex to do anything/)
  },
  oneShot: (prompt) => ['exec', '--skip-git-repo-check', '--dangerously-bypass-hook-trust', prompt],
  exit: '/quit',
  clear: '/new',
}

const openCode: WakeClient = {
  title: 'opencode',
  name: 'opencode',
  package: 'opencode-ai@latest',
  program: `opencode-${platform}/bin/opencode`,
  wakesUnprompted: false,
  configure({ home, model }) {
    const lab = {
      npm: '@ai-sdk/anthropic',
      options: { baseURL: `${model}/v1`, apiKey: 'none' },
      models: { model: { tool_call: true } },
    }
    editJson(join(home, '.config/opencode/opencode.json'), (config) => ({
      ...config,
      ...{ autoupdate: false, model: 'lab/model', small_model: 'lab/model', provider: { lab } },
      permission: { 'agent-grid_*': 'allow' },
    }))
  },
  env: (place) => placeEnv(place),
  open: (terminal) => terminal.shows(/Ask anything/),
  oneShot: (prompt) => ['run', prompt],
  exit: '/exit',
  clear: '/new',
}

/** By the name of the folder in which each is installed. */
export const wakeClients: Record<string, WakeClient> = {
  'claude-2.1.197': claude('2.1.197'),
  'claude-newest': claude('latest'),
  codex,
  opencode: openCode,
}
