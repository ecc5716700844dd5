/** Codex in a terminal. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { openTerminal } from './terminal.ts'
import { clientEnv, type SessionOptions, type WakeSession, writeConnection, writeJsonFile } from './wake-client.ts'

export const codex = {
  /** Write its configuration. */
  prepare(options: SessionOptions): { cwd: string; env: Record<string, string> } {
    const { folder, grid, agent, model, hookProgram } = options
    const cwd = join(folder, 'project')
    mkdirSync(cwd, { recursive: true })
    writeConnection(options, 'codex')
    const hook = (event: string) => [{
      hooks: [{ type: 'command', command: `'${process.execPath}' '${hookProgram}' hook codex ${event}`, timeout: 5 }],
    }]
    writeJsonFile(join(folder, '.codex/hooks.json'), {
      hooks: {
        SessionStart: hook('start'),
        UserPromptSubmit: hook('prompt'),
        PostToolUse: hook('tool'),
        Stop: hook('stop'),
      },
    })
    writeFileSync(
      join(folder, '.codex/config.toml'),
      `model = "gpt-5"
model_provider = "lab"
approval_policy = "never"
check_for_update_on_startup = false

[model_providers.lab]
name = "lab"
base_url = "${model}/v1"
wire_api = "responses"
supports_websockets = false

[mcp_servers.agent-grid]
url = "${grid}/mcp/v1/grid"
http_headers = { Authorization = "Bearer ${agent.key}" }
default_tools_approval_mode = "approve"

[projects."${cwd}"]
trust_level = "trusted"
`,
    )
    return { cwd, env: clientEnv(options) }
  },

  /** Open a session with a first prompt, at which its hooks begin. Resolves when it takes the next prompt. */
  async open(options: SessionOptions, trust: 'all' | 'none' = 'all'): Promise<WakeSession> {
    const { cwd, env } = this.prepare(options)
    const terminal = openTerminal(options.name, [options.program], { cwd, env })
    await terminal.shows(/Hooks need review/)
    terminal.press('Down', ...(trust === 'all' ? [] : ['Down']), 'Enter')
    await terminal.shows(/Ask Codex to do anything/)
    return {
      ...{ terminal, env, cwd },
      async prompt(text) {
        terminal.type(text)
        // It takes a quick line end as a part of pasted text.
        await new Promise((resolve) => setTimeout(resolve, 500))
        terminal.press('Enter')
      },
    }
  },
}
