/** Claude Code in a terminal. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { openTerminal } from './terminal.ts'
import { clientEnv, type SessionOptions, type WakeSession, writeConnection, writeJsonFile } from './wake-client.ts'

const apiKey = 'sk-ant-lab-0123456789-0123456789'

export const claude = {
  /** Write its configuration. */
  prepare(options: SessionOptions): { cwd: string; env: Record<string, string> } {
    const { folder, grid, agent, model, hookProgram } = options
    const cwd = join(folder, 'project')
    mkdirSync(cwd, { recursive: true })
    writeConnection(options, 'claude')
    writeJsonFile(join(folder, '.claude.json'), {
      hasCompletedOnboarding: true,
      theme: 'dark',
      customApiKeyResponses: { approved: [apiKey.slice(-20)], rejected: [] },
      projects: { [cwd]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
      mcpServers: {
        'agent-grid': { type: 'http', url: `${grid}/mcp/v1/grid`, headers: { Authorization: `Bearer ${agent.key}` } },
      },
    })
    const hook = (event: string, more: object = {}) => ({
      ...{ type: 'command', command: process.execPath, args: [hookProgram, 'hook', 'claude', event], timeout: 5 },
      ...more,
    })
    const wait = hook('wait', { asyncRewake: true, timeout: 86_400 })
    writeJsonFile(join(folder, '.claude/settings.json'), {
      permissions: { allow: ['mcp__agent-grid__read_messages', 'mcp__agent-grid__send_message'] },
      hooks: {
        SessionStart: [{ hooks: [hook('start'), wait] }],
        UserPromptSubmit: [{ hooks: [hook('prompt')] }],
        PostToolUse: [{ hooks: [hook('tool')] }],
        Stop: [{ hooks: [wait] }],
        SessionEnd: [{ hooks: [hook('end')] }],
      },
    })
    const env = {
      ...clientEnv(options),
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: apiKey,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    }
    return { cwd, env }
  },

  /** Open a session. Resolves when it takes prompts. */
  async open(options: SessionOptions): Promise<WakeSession> {
    const { cwd, env } = this.prepare(options)
    const terminal = openTerminal(options.name, [options.program], { cwd, env })
    await terminal.shows(/❯|\? for shortcuts/)
    return {
      ...{ terminal, env, cwd },
      prompt(text) {
        terminal.type(text)
        terminal.press('Enter')
        return Promise.resolve()
      },
    }
  },
}
