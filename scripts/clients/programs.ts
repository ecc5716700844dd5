/** How each client is installed, and driven without a screen; those that call only through a model get a stand-in. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rpcOver } from '../../test/support/stdio-rpc.ts'
import { modelThatCalls } from './model.ts'
import type { Home, Ran } from './program.ts'
import type { Entry } from './stage.ts'

export interface Program {
  /** Their parts for other machines than this are left out by npm. */
  packages: string[]
  /** Logs in, lists tools and calls one. `modules` is its `node_modules`. */
  drive(home: Home, modules: string, url: string, entry: Entry, visit: (url: string) => void): Promise<void>
}

const machine = `${process.platform}-${process.arch}`

export const programs: Record<string, Program> = {
  // It needs a newer Node than the grid does.
  inspector: {
    packages: ['@modelcontextprotocol/inspector@2', `node-${machine}@24`],
    async drive(home, modules, url, { tool, arguments: args }, visit) {
      const inspector = [join(modules, '.bin/mcp-inspector'), '--cli', url, '--transport', 'http', '--format', 'json']
      const run = async (...words: string[]) =>
        succeeded(
          await home.run(join(modules, `node-${machine}/bin/node`), [...inspector, ...words], {
            env: { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' },
            heard: (said) => addressesIn(said).forEach(visit),
          }),
        )
      await run('--method', 'tools/list')
      const given = Object.entries(args).flatMap(([name, value]) => ['--tool-arg', `${name}=${value}`])
      const calls = ['--method', 'tools/call', '--tool-name', tool, ...given, '--stored-auth-only']
      await run(...calls)
      await run(...calls, '--protocol-era', 'modern')
    },
  },

  codex: {
    packages: ['@openai/codex'],
    async drive(home, modules, url, { tool, arguments: args }, visit) {
      const codex = join(modules, '.bin/codex')
      const heard = (said: string) => addressesIn(said).forEach(visit)
      succeeded(await home.run(codex, ['mcp', 'add', 'grid', '--url', url], { heard }))
      succeeded(await home.run(codex, ['mcp', 'login', 'grid'], { heard }))

      const child = home.start(codex, ['app-server'])
      try {
        const request = rpcOver(child)
        await request('initialize', { clientInfo: { name: 'test', title: 'Test', version: '1' } })
        child.stdin!.write(`${JSON.stringify({ method: 'initialized' })}\n`)
        await request('mcpServerStatus/list', {})
        const started = await request('thread/start', { cwd: home.folder, ephemeral: true })
        const { id: threadId } = (started as { thread: { id: string } }).thread
        await request('mcpServer/tool/call', { threadId, server: 'grid', tool, arguments: args })
      } finally {
        child.kill()
      }
    },
  },

  opencode: {
    packages: ['opencode-ai'],
    async drive(home, modules, url, entry) {
      const opencode = join(modules, `opencode-${machine}/bin/opencode`)
      await withModel(entry, async (address) => {
        const options = { baseURL: `${address}/v1`, apiKey: 'none' }
        const provider = { stand: { npm: '@ai-sdk/anthropic', options, models: { model: { tool_call: true } } } }
        const mcp = { grid: { type: 'remote', url, enabled: true } }
        writeFileSync(join(home.folder, 'opencode.json'), JSON.stringify({ autoupdate: false, mcp, provider }))
        succeeded(await home.run(opencode, ['mcp', 'auth', 'grid']))
        says(await home.run(opencode, ['mcp', 'list']), /grid.*connected/)
        succeeded(await home.run(opencode, ['run', '--model', 'stand/model', `Call ${entry.tool}.`]))
      })
    },
  },

  'claude-code': {
    packages: ['@anthropic-ai/claude-code'],
    async drive(home, modules, url, entry) {
      const claude = join(modules, `@anthropic-ai/claude-code-${machine}/claude`)
      succeeded(await home.run(claude, ['mcp', 'add', '--transport', 'http', 'grid', url]))
      // It logs in on a terminal only.
      succeeded(await home.run('script', ['-qfec', `${claude} mcp login grid`, '/dev/null']))
      says(await home.run(claude, ['mcp', 'list']), /grid.*Connected/)
      await withModel(entry, async (address) => {
        const env = {
          ANTHROPIC_BASE_URL: address,
          ANTHROPIC_API_KEY: 'none',
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        }
        const words = ['--print', `Call ${entry.tool}.`, '--allowedTools', `mcp__grid__${entry.tool}`]
        succeeded(await home.run(claude, words, { env }))
      })
    },
  },
}

async function withModel(entry: Entry, use: (address: string) => Promise<void>): Promise<void> {
  const model = await modelThatCalls(entry)
  try {
    await use(model.url)
  } finally {
    await model.close()
  }
}

/** What a client tells its person to open. */
function addressesIn(said: string): string[] {
  return said.match(/http:\/\/\S+\/oauth\/authorize\?\S+(?=\s)/g) ?? []
}

function succeeded({ code, said }: Ran): void {
  if (code !== 0) throw new Error(`ended with ${code}: ${said}`)
}

function says(ran: Ran, what: RegExp): void {
  succeeded(ran)
  if (!what.test(ran.said)) throw new Error(`did not say ${what}: ${ran.said}`)
}
