/**
 * How each client is installed, connected as a newcomer would connect it, and controlled without a screen. Clients that
 * need a model for tool calls get a fake one.
 */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../src/lib/free-port.ts'
import { snippets } from '../../src/clients/snippets.ts'
import { rpcOver } from '../../test/support/stdio-rpc.ts'
import type { Result } from '../run-program.ts'
import type { ClientHome, RunOptions, Steps } from './client-process.ts'
import { type FakeModel, type Next, startFakeModel } from './fake-model.ts'

/** A client in an empty home folder, and how to connect it. */
interface Session {
  home: ClientHome
  /** The path of the `node_modules` folder. */
  modules: string
  /** The URLs of the grid and of its MCP endpoint. */
  baseUrl: string
  url: string
  /** An agent key, or undefined to log in with OAuth. */
  key: string | undefined
  /** One of the client's `models`. */
  model?: string
  steps: Steps
  /** Opens an authorization URL and grants access, as the user does. */
  visit(url: string): void
}

export interface McpClient {
  /** The npm packages to install, with native parts only for this platform. */
  packages: string[]
  /** Model names, if the client truncates results depending on the model. */
  models?: readonly string[]
  /** Configures the client, and logs in if there is no key. */
  connect(session: Session): Promise<void>
  /** Makes the calls in one conversation. Resolves to each result as the model or the program sees it. */
  call(session: Session, next: Next): Promise<string[]>
}

const platform = `${process.platform}-${process.arch}`

export const mcpClients: Record<string, McpClient> = {
  'claude-code': {
    packages: ['@anthropic-ai/claude-code'],
    async connect({ home, modules, baseUrl, url, key, steps }) {
      home.link('claude', join(modules, `@anthropic-ai/claude-code-${platform}/claude`))
      if (key !== undefined) return await paste(home, steps, snippet('claude-code', baseUrl, key))
      await paste(home, steps, `claude mcp add --transport http grid ${url}`)
      // The client logs in only on a terminal.
      await steps.take(
        'claude mcp login grid, choose and allow in the browser',
        async () => expectSuccess(await home.run('script', ['-qfec', 'claude mcp login grid', '/dev/null'])),
      )
    },
    async call({ home, steps }, next) {
      await steps.take(
        'claude mcp list',
        async () => expectOutput(await home.run('claude', ['mcp', 'list']), /grid.*Connected/),
      )
      return await askModel(steps, next, (model) => {
        const env = {
          ANTHROPIC_BASE_URL: model.url,
          ANTHROPIC_API_KEY: 'none',
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        }
        return home.run('claude', ['--print', task, '--allowedTools', 'mcp__grid', 'mcp__agent-grid'], { env })
      })
    },
  },

  codex: {
    packages: ['@openai/codex'],
    // One model that Codex does not know, and one that it knows.
    models: ['model', 'gpt-5.5'],
    async connect({ home, modules, baseUrl, url, key, steps, visit }) {
      home.link('codex', join(modules, '.bin/codex'))
      const onOutput = (output: string) => authorizeUrlsIn(output).forEach(visit)
      if (key === undefined) return await paste(home, steps, `codex mcp add grid --url ${url}`, { onOutput })
      await steps.take('paste the snippet into ~/.codex/config.toml', () => {
        mkdirSync(join(home.folder, '.codex'), { recursive: true })
        appendFileSync(join(home.folder, '.codex/config.toml'), `${snippet('codex', baseUrl, key)}\n`)
        return Promise.resolve()
      })
    },
    call: ({ home, model: name = 'model', steps }, next) =>
      askModel(steps, next, (model) => {
        const provider = {
          name: 'fake',
          base_url: `${model.url}/v1`,
          wire_api: 'responses',
          supports_websockets: false,
        }
        const settings = { model: name, model_provider: 'fake', ...prefixed('model_providers.fake', provider) }
        const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${JSON.stringify(value)}`])
        const unattended = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']
        return home.run('codex', ['exec', ...unattended, ...options, task])
      }),
  },

  opencode: {
    packages: ['opencode-ai'],
    async connect({ home, modules, baseUrl, url, key, steps }) {
      home.link('opencode', join(modules, `opencode-${platform}/bin/opencode`))
      const file = join(home.folder, 'opencode.json')
      await steps.take('write opencode.json', () => {
        const config = key === undefined
          ? JSON.stringify({ mcp: { grid: { type: 'remote', url } } })
          : snippet('opencode', baseUrl, key)
        writeFileSync(file, config)
        return Promise.resolve()
      })
      if (key === undefined) await paste(home, steps, 'opencode mcp auth grid')
    },
    async call({ home, steps }, next) {
      const file = join(home.folder, 'opencode.json')
      return await askModel(steps, next, (model) => {
        const options = { baseURL: `${model.url}/v1`, apiKey: 'none' }
        const provider = { fake: { npm: '@ai-sdk/anthropic', options, models: { model: { tool_call: true } } } }
        const config = { ...JSON.parse(readFileSync(file, 'utf8')), autoupdate: false, provider }
        writeFileSync(file, JSON.stringify(config))
        return home.run('opencode', ['run', '--model', 'fake/model', task])
      })
    },
  },

  gemini: {
    packages: ['@google/gemini-cli'],
    async connect({ home, modules, url, baseUrl, key, steps }) {
      home.link('gemini', join(modules, '.bin/gemini'))
      mkdirSync(join(home.folder, '.gemini'))
      const auth = { selectedType: 'gemini-api-key' }
      writeFileSync(join(home.folder, '.gemini/settings.json'), JSON.stringify({ security: { auth } }))
      if (key !== undefined) return await paste(home, steps, snippet('gemini', baseUrl, key), { env: geminiEnv() })
      await paste(home, steps, `gemini mcp add --scope user --transport http grid ${url}`, { env: geminiEnv() })
      // The client logs in only on a terminal, and keeps running.
      await steps.take('/mcp auth grid, choose and allow in the browser', async () => {
        const command = "stty rows 50 cols 200; gemini --prompt-interactive '/mcp auth grid'"
        const result = await home.run('script', ['-qfec', command, '/dev/null'], {
          env: geminiEnv(),
          answer: { to: /Do you want to continue/, keys: '\r' },
          until: /Successfully authenticated/,
        })
        expectOutput(result, /Successfully authenticated/)
      })
    },
    async call({ home, steps }, next) {
      return await askModel(steps, next, (model) => {
        const words = ['--model', 'gemini-2.5-flash', '--approval-mode', 'yolo', '--prompt', task]
        return home.run('gemini', words, { env: geminiEnv(model.url) })
      })
    },
  },

  // The inspector needs a newer Node version than the grid.
  inspector: {
    packages: ['@modelcontextprotocol/inspector@2', `node-${platform}@24`],
    async connect(session) {
      await session.steps.take(
        session.key === undefined ? 'list the tools, choose and allow in the browser' : 'list the tools with --header',
        () => inspect(session, ['--method', 'tools/list']),
      )
    },
    async call(session, next) {
      const shown: string[] = []
      for (let call = next(shown); call; call = next(shown)) {
        const { tool, arguments: args } = call
        const toolArgs = Object.entries(args).flatMap(([name, value]) => ['--tool-arg', `${name}=${value}`])
        const words = ['--method', 'tools/call', '--tool-name', tool, ...toolArgs]
        shown.push(await session.steps.take(`call ${tool}`, () => inspect(session, words)))
      }
      // Lists tools instead of reading messages, because messages can be read only once.
      await inspect(session, ['--method', 'tools/list', '--protocol-era', 'modern'])
      return shown
    },
  },

  'mcp-remote': {
    packages: ['mcp-remote'],
    // A user's MCP client would start `mcp-remote` with this command from its configuration.
    connect: ({ key, steps }) =>
      steps.take(
        `write "mcp-remote URL${key === undefined ? '' : ' --header …'}" into the configuration of a client`,
        () => Promise.resolve(),
      ),
    async call({ home, modules, url, key, steps, visit }, next) {
      const header = key === undefined ? [] : ['--header', `Authorization:Bearer ${key}`]
      const options = ['--transport', 'http-only', '--allow-http', '--auth-timeout', '120', ...header]
      const child = home.start(join(modules, '.bin/mcp-remote'), [url, String(await freePort()), ...options])
      try {
        let output = ''
        child.stderr!.setEncoding('utf8').on('data', (text) => authorizeUrlsIn(output += text).forEach(visit))
        const request = rpcOver(child)
        await steps.take(key === undefined ? 'start it, choose and allow in the browser' : 'start it', async () => {
          const clientInfo = { name: 'test', version: '1' }
          await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
          child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
          await request('tools/list', {})
        })
        const shown: string[] = []
        for (let call = next(shown); call; call = next(shown)) {
          const { tool, arguments: args } = call
          const answer = await steps.take(`call ${tool}`, () => request('tools/call', { name: tool, arguments: args }))
          shown.push((answer as { content: { text: string }[] }).content.map(({ text }) => text).join('\n'))
        }
        return shown
      } finally {
        child.kill()
      }
    },
  },
}

/** Returns the environment of a logged-in Gemini CLI user who trusts the folder, without a model by default. */
function geminiEnv(modelUrl = 'http://127.0.0.1:9') {
  return { GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: modelUrl, GEMINI_CLI_TRUST_WORKSPACE: 'true' }
}

/** The snippet shown by `create-agent` and on an agent's page. */
function snippet(id: string, baseUrl: string, key: string): string {
  return snippets({ baseUrl, key }).find((snippet) => snippet.id === id)!.text
}

async function paste(home: ClientHome, steps: Steps, command: string, options?: RunOptions): Promise<void> {
  const [shown] = command.split(/ http| \\/)
  await steps.take(`${shown} …`, async () => expectSuccess(await home.run('sh', ['-c', command], options)))
}

async function inspect({ home, modules, url, key, visit }: Session, words: string[]): Promise<string> {
  const header = key === undefined ? [] : ['--header', `Authorization: Bearer ${key}`]
  const inspector = [join(modules, '.bin/mcp-inspector'), '--cli', url, '--transport', 'http', '--format', 'json']
  const result = await home.run(join(modules, `node-${platform}/bin/node`), [...inspector, ...header, ...words], {
    env: { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' },
    onOutput: (output) => authorizeUrlsIn(output).forEach(visit),
  })
  expectSuccess(result)
  return result.output
}

const task = 'Use the tools of the grid.'

async function askModel(steps: Steps, next: Next, run: (model: FakeModel) => Promise<Result>): Promise<string[]> {
  const model = await startFakeModel(next)
  try {
    const ask = async () => expectSuccess(await run(model))
    await steps.take('ask it to use the grid', ask)
    // On a busy machine, a client may call its model before it has listed the tools. It then gets the task again.
    if (!model.shown().some(Boolean)) await steps.take('ask it again, because it had not listed the tools', ask)
    return model.shown()
  } finally {
    await model.close()
  }
}

function prefixed(prefix: string, values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}.${name}`, value]))
}

/** Finds the authorization URLs that a client prints for the user. */
function authorizeUrlsIn(output: string): string[] {
  return output.match(/http:\/\/\S+\/oauth\/authorize\?\S+(?=\s)/g) ?? []
}

function expectSuccess({ code, output }: Result): void {
  if (code !== 0) throw new Error(`ended with ${code}: ${output}`)
}

function expectOutput(result: Result, pattern: RegExp): void {
  expectSuccess(result)
  if (!pattern.test(result.output)) throw new Error(`expected ${pattern} in the output: ${result.output}`)
}
