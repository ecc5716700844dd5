/** The clients that are woken: Claude Code, Codex and opencode. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { editJson, placeEnv, type WakeClient } from './wake-client.ts'

const platform = `${process.platform}-${process.arch}`
/** An API key. Claude Code asks whether to use it, unless the key's last characters were approved before. */
const apiKey = 'sk-ant-lab-0123456789-0123456789'

function claude(version: string): WakeClient {
  return {
    title: `claude ${version}`,
    name: 'claude',
    package: `@anthropic-ai/claude-code@${version}`,
    program: `@anthropic-ai/claude-code-${platform}/claude`,
    wakesUnprompted: true,
    configure({ home }) {
      editJson(join(home, '.claude.json'), (state) => ({
        ...state,
        ...{ hasCompletedOnboarding: true, theme: 'dark' },
        customApiKeyResponses: { approved: [apiKey.slice(-20)], rejected: [] },
      }))
    },
    env: (place) => ({
      ...placeEnv(place),
      ...{ ANTHROPIC_BASE_URL: place.model, ANTHROPIC_API_KEY: apiKey },
      ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
    }),
    // Without this option, the client would decide on tool permissions itself.
    words: ['--permission-mode', 'default'],
    async open(terminal) {
      await terminal.shows(/❯/)
      if (!/trust this folder/.test(terminal.screen())) return
      // Waits, because the client drops key presses while it starts.
      await sleep(1_000)
      // Older versions preselect yes.
      const isYes = /❯ (\d\. )?Yes, I trust this folder/
      if (!isYes.test(terminal.screen())) terminal.press('Down')
      await terminal.shows(isYes)
      terminal.press('Enter')
      await terminal.shows(/manual mode on|for shortcuts/)
    },
    oneShot: (prompt) => ['-p', prompt],
    exit: '/exit',
    clear: '/clear',
  }
}

const codex = (version: string): WakeClient => ({
  title: `codex ${version}`,
  name: 'codex',
  package: `@openai/codex@${version}`,
  program: '.bin/codex',
  wakesUnprompted: false,
  configure({ home, model }) {
    mkdirSync(join(home, '.codex'))
    writeFileSync(
      join(home, '.codex/config.toml'),
      `model = "gpt-5"
model_provider = "lab"
check_for_update_on_startup = false

[model_providers.lab]
name = "lab"
base_url = "${model}/v1"
wire_api = "responses"
supports_websockets = false
`,
    )
  },
  env: (place) => placeEnv(place),
  async open(terminal, trust, { home }) {
    const isApproved = readFileSync(join(home, '.codex/config.toml'), 'utf8').includes('[hooks.state')
    // Waits, because the client asks some time after its prompt has appeared.
    if (!isApproved) await terminal.shows(/Hooks need review/)
    const choice = trust === 'all' ? /› 2\./ : /› 3\./
    // Repeats key presses, because the client drops some while it starts.
    while (/Hooks need review/.test(terminal.screen())) {
      terminal.press(choice.test(terminal.screen()) ? 'Enter' : 'Down')
      await sleep(500)
    }
    await terminal.shows(/Ask Codex to do anything/)
  },
  oneShot: (prompt) => ['exec', '--skip-git-repo-check', '--dangerously-bypass-hook-trust', prompt],
  exit: '/quit',
  clear: '/new',
})

const openCode = (version: string): WakeClient => ({
  title: `opencode ${version}`,
  name: 'opencode',
  package: `opencode-ai@${version}`,
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
      // Without this setting the client never asks for permission.
      permission: { '*': 'ask' },
    }))
  },
  env: (place) => placeEnv(place),
  open: (terminal) => terminal.shows(/Ask anything/),
  oneShot: (prompt) => ['run', prompt],
  exit: '/exit',
  clear: '/new',
})

/** All clients, by the name of their installation folder. */
export const wakeClients: Record<string, WakeClient> = {
  'claude-2.1.197': claude('2.1.197'),
  'claude-newest': claude('latest'),
  'claude-2.1.329': claude('2.1.329'),
  'codex-newest': codex('latest'),
  'codex-0.166.0': codex('0.166.0'),
  'opencode-newest': openCode('latest'),
  'opencode-1.18.32': openCode('1.18.32'),
}
