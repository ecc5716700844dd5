/** opencode in a terminal. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openTerminal } from './terminal.ts'
import { clientEnv, type SessionOptions, type WakeSession, writeConnection, writeJsonFile } from './wake-client.ts'

export const openCode = {
  /** Write its configuration. */
  prepare(options: SessionOptions): { cwd: string; env: Record<string, string> } {
    const { folder, grid, agent, model, openCodePlugin } = options
    const cwd = join(folder, 'project')
    mkdirSync(cwd, { recursive: true })
    writeConnection(options, 'opencode')
    const lab = {
      npm: '@ai-sdk/anthropic',
      options: { baseURL: `${model}/v1`, apiKey: 'none' },
      models: { model: { tool_call: true } },
    }
    writeJsonFile(join(folder, '.config/opencode/opencode.json'), {
      ...{ autoupdate: false, model: 'lab/model', small_model: 'lab/model', provider: { lab } },
      permission: { 'agent-grid_*': 'allow' },
      mcp: {
        'agent-grid': {
          type: 'remote',
          url: `${grid}/mcp/v1/grid`,
          headers: { Authorization: `Bearer ${agent.key}` },
          oauth: false,
        },
      },
    })
    mkdirSync(join(folder, '.config/opencode/plugins'), { recursive: true })
    const plugin = `export * from ${JSON.stringify(pathToFileURL(openCodePlugin).href)}\n`
    writeFileSync(join(folder, '.config/opencode/plugins/agent-grid.js'), plugin)
    return { cwd, env: clientEnv(options) }
  },

  /** Open a session. Resolves when it takes prompts. */
  async open(options: SessionOptions): Promise<WakeSession> {
    const { cwd, env } = this.prepare(options)
    const terminal = openTerminal(options.name, [options.program], { cwd, env })
    await terminal.shows(/Ask anything/)
    return {
      ...{ terminal, env, cwd },
      async prompt(text) {
        terminal.type(text)
        await new Promise((resolve) => setTimeout(resolve, 500))
        terminal.press('Enter')
      },
    }
  },
}
