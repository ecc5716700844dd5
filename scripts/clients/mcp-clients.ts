/**
 * How each client is installed and controlled without a screen. Clients that need a model to call tools get a fake
 * one.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rpcOver } from '../../test/support/stdio-rpc.ts'
import type { ClientHome, ProcessOutput } from './client-process.ts'
import type { Identity } from './environment.ts'
import { startFakeModel } from './fake-model.ts'

export interface McpClient {
  /** npm installs only the parts for this platform. */
  packages: string[]
  /** Logs in, lists the tools and calls one. `modules` is the folder `node_modules`. */
  drive(home: ClientHome, modules: string, url: string, identity: Identity, visit: (url: string) => void): Promise<void>
}

const platform = `${process.platform}-${process.arch}`

export const mcpClients: Record<string, McpClient> = {
  // Needs a newer Node than the grid.
  inspector: {
    packages: ['@modelcontextprotocol/inspector@2', `node-${platform}@24`],
    async drive(home, modules, url, { tool, arguments: args }, visit) {
      const inspector = [join(modules, '.bin/mcp-inspector'), '--cli', url, '--transport', 'http', '--format', 'json']
      const run = async (...words: string[]) =>
        expectSuccess(
          await home.run(join(modules, `node-${platform}/bin/node`), [...inspector, ...words], {
            env: { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' },
            onOutput: (output) => authorizeUrlsIn(output).forEach(visit),
          }),
        )
      await run('--method', 'tools/list')
      const toolArgs = Object.entries(args).flatMap(([name, value]) => ['--tool-arg', `${name}=${value}`])
      const calls = ['--method', 'tools/call', '--tool-name', tool, ...toolArgs, '--stored-auth-only']
      await run(...calls)
      await run(...calls, '--protocol-era', 'modern')
    },
  },

  codex: {
    packages: ['@openai/codex'],
    async drive(home, modules, url, { tool, arguments: args }, visit) {
      const codex = join(modules, '.bin/codex')
      const onOutput = (output: string) => authorizeUrlsIn(output).forEach(visit)
      expectSuccess(await home.run(codex, ['mcp', 'add', 'grid', '--url', url], { onOutput }))
      expectSuccess(await home.run(codex, ['mcp', 'login', 'grid'], { onOutput }))

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
    async drive(home, modules, url, identity) {
      const opencode = join(modules, `opencode-${platform}/bin/opencode`)
      await withModel(identity, async (modelUrl) => {
        const options = { baseURL: `${modelUrl}/v1`, apiKey: 'none' }
        const provider = { fake: { npm: '@ai-sdk/anthropic', options, models: { model: { tool_call: true } } } }
        const mcp = { grid: { type: 'remote', url, enabled: true } }
        writeFileSync(join(home.folder, 'opencode.json'), JSON.stringify({ autoupdate: false, mcp, provider }))
        expectSuccess(await home.run(opencode, ['mcp', 'auth', 'grid']))
        expectOutput(await home.run(opencode, ['mcp', 'list']), /grid.*connected/)
        expectSuccess(await home.run(opencode, ['run', '--model', 'fake/model', `Call ${identity.tool}.`]))
      })
    },
  },

  'claude-code': {
    packages: ['@anthropic-ai/claude-code'],
    async drive(home, modules, url, identity) {
      const claude = join(modules, `@anthropic-ai/claude-code-${platform}/claude`)
      expectSuccess(await home.run(claude, ['mcp', 'add', '--transport', 'http', 'grid', url]))
      // It logs in only on a terminal.
      expectSuccess(await home.run('script', ['-qfec', `${claude} mcp login grid`, '/dev/null']))
      expectOutput(await home.run(claude, ['mcp', 'list']), /grid.*Connected/)
      await withModel(identity, async (modelUrl) => {
        const env = {
          ANTHROPIC_BASE_URL: modelUrl,
          ANTHROPIC_API_KEY: 'none',
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        }
        const words = ['--print', `Call ${identity.tool}.`, '--allowedTools', `mcp__grid__${identity.tool}`]
        expectSuccess(await home.run(claude, words, { env }))
      })
    },
  },
}

async function withModel(identity: Identity, use: (modelUrl: string) => Promise<void>): Promise<void> {
  const model = await startFakeModel(identity)
  try {
    await use(model.url)
  } finally {
    await model.close()
  }
}

/** The authorization URLs that a client prints for the user. */
function authorizeUrlsIn(output: string): string[] {
  return output.match(/http:\/\/\S+\/oauth\/authorize\?\S+(?=\s)/g) ?? []
}

function expectSuccess({ code, output }: ProcessOutput): void {
  if (code !== 0) throw new Error(`ended with ${code}: ${output}`)
}

function expectOutput(result: ProcessOutput, pattern: RegExp): void {
  expectSuccess(result)
  if (!pattern.test(result.output)) throw new Error(`expected ${pattern} in the output: ${result.output}`)
}
