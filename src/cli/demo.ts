import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newKeyRing } from '../lib/key-ring.ts'
import { ownCommand } from '../lib/version.ts'
import { CommandError, type ProcessCommand, usageError } from './command.ts'
import { serveExample } from './example/serve.ts'
import { httpRequest } from './http-request.ts'
import { print } from './output.ts'
import { readServerConfig, serverDeps, startServer, stopServer } from './server.ts'

/**
 * Lets two agents talk over A2A and MCP on a temporary grid. Exit code 0 only if every message arrived. With `--serve`,
 * serves the example grid.
 */
export const demo: ProcessCommand = {
  name: 'demo',
  summary: 'Run a conversation between two agents on a temporary grid, or serve an example grid.',
  options: {
    serve: { placeholder: '', description: 'serve an example grid whose agents work while you watch', flag: true },
    folder: { placeholder: 'FOLDER', description: 'with --serve: keep the grid in this folder' },
  },
  async start(json, { serve, folder: kept }) {
    if (kept !== undefined && serve === undefined) throw usageError('Use --folder only with --serve.')
    const folder = kept ?? mkdtempSync(join(tmpdir(), 'agent-grid-demo-'))
    try {
      if (serve !== undefined) {
        await serveExample(folder, json)
        return 0
      }
      const config = await readServerConfig({
        PORT: '0',
        DATABASE_URL: `file:${join(folder, 'grid.db')}`,
        GRID_KEYS: newKeyRing(),
        LOG_LEVEL: 'warn',
        // Without requests to the internet, the demo also runs offline and prints no warnings.
        OAUTH_CIMD: 'off',
      })
      const server = await startServer(await serverDeps(config))
      try {
        const messages = await runConversation(
          `http://127.0.0.1:${config.port}`,
          json ? () => {} : print,
        )
        if (json) print(JSON.stringify({ ok: true, messages }))
        return 0
      } finally {
        await stopServer(server)
      }
    } finally {
      if (kept === undefined) rmSync(folder, { recursive: true, force: true })
    }
  },
}

interface DemoAgent {
  /** With `@`. */
  alias: string
  key: string
}

const question = 'What is 6 times 7?'
const answer = '6 times 7 is 42.'
const thanks = 'Thank you!'

/**
 * Runs the conversation on the grid at this URL. Resolves to the number of messages. Fails with `demo_failed` if a
 * response is unexpected.
 */
export async function runConversation(gridUrl: string, print: (line: string) => void): Promise<number> {
  const client = new DemoClient(gridUrl, print)
  print(`A temporary grid at ${gridUrl}\n`)

  print('Two agents sign up with the same owner, so they may write to each other.')
  const ada = await client.signUp('ada')
  const charles = await client.signUp('charles')

  print('\nAda asks over A2A. Charles reads and answers over MCP.')
  await client.sendOverA2a(ada, charles, question)
  await client.read(charles, [`${ada.alias}: ${question}`])
  await client.sendOverMcp(charles, ada, answer)

  print('\nAda reads the answer and says thanks, also over MCP.')
  await client.read(ada, [`${charles.alias}: ${answer}`])
  await client.sendOverMcp(ada, charles, thanks)
  await client.read(charles, [`${ada.alias}: ${thanks}`])

  print('\nEach message was delivered once, so both inboxes are empty now.')
  await client.read(ada, [])
  await client.read(charles, [])

  print(`\nAll 3 messages arrived. To run your own grid: ${ownCommand} serve`)
  print(`To see a team at work: ${ownCommand} demo --serve`)
  return 3
}

/** Sends the agents' requests. Checks each response and adds it to the transcript. */
class DemoClient {
  readonly #gridUrl: string
  readonly #print: (line: string) => void

  constructor(gridUrl: string, print: (line: string) => void) {
    this.#gridUrl = gridUrl
    this.#print = print
  }

  async signUp(alias: string): Promise<DemoAgent> {
    const { status, body } = await this.#post('/api/v1/agentic-signup', { owner_email: 'you@example.com', alias })
    check(status === 201 && body.alias === `@${alias}`, 'signup', body)
    const { max_messages: maxMessages, expires_in: expiresIn } = body.trial
    this.#printStep(
      'REST',
      'signup',
      `@${alias}`,
      `key grid_agt_…${body.api_key.slice(-4)}, trial: ${maxMessages} messages, ${expiresIn}`,
    )
    return { alias: body.alias, key: body.api_key }
  }

  /** Sends a message in the format of the official A2A 0.3 clients. */
  async sendOverA2a(from: DemoAgent, to: DemoAgent, text: string): Promise<void> {
    const message = {
      kind: 'message',
      messageId: crypto.randomUUID(),
      role: 'user',
      parts: [{ kind: 'text', text }],
      metadata: { to: to.alias },
    }
    const { body } = await this.#rpc('/a2a/v1/grid', from, 'message/send', { message })
    const receipt = body.result?.parts?.[0]?.text
    check(body.result?.role === 'agent' && receipt, 'message/send', body)
    this.#printStep('A2A', 'message/send', `${from.alias} to ${to.alias}`, `"${text}"`, receipt)
  }

  async sendOverMcp(from: DemoAgent, to: DemoAgent, text: string): Promise<void> {
    const result = await this.#callTool(from, 'send_message', { to: to.alias, message: text })
    check(result.recipient === to.alias && result.message_id, 'send_message', result)
    this.#printStep(
      'MCP',
      'send_message',
      `${from.alias} to ${to.alias}`,
      `"${text}"`,
      `stored as ${result.message_id}`,
    )
  }

  /** Reads an inbox, and checks that it contains the `expected` messages (`@sender: text`). */
  async read(agent: DemoAgent, expected: string[]): Promise<void> {
    const { messages } = await this.#callTool(agent, 'read_messages', {})
    const found = messages?.map(({ user, message }: { user: string; message: string }) => `${user}: ${message}`)
    check(JSON.stringify(found) === JSON.stringify(expected), 'read_messages', found)
    this.#printStep('MCP', 'read_messages', agent.alias, ...(found.length > 0 ? found : ['no new messages']))
  }

  async #callTool(agent: DemoAgent, name: string, args: Record<string, unknown>) {
    const { body } = await this.#rpc('/mcp/v1/grid', agent, 'tools/call', { name, arguments: args })
    check(body.result && !body.result.isError, name, body)
    return JSON.parse(body.result.content[0].text)
  }

  #rpc(path: string, agent: DemoAgent, method: string, params: unknown) {
    const headers = { Authorization: `Bearer ${agent.key}`, Accept: 'application/json, text/event-stream' }
    return this.#post(path, { jsonrpc: '2.0', id: 1, method, params }, headers)
  }

  async #post(path: string, body: unknown, headers: Record<string, string> = {}) {
    const { status, text } = await httpRequest(this.#gridUrl + path, { method: 'POST', headers, body })
    return { status, body: JSON.parse(text) }
  }

  #printStep(protocol: string, call: string, agents: string, ...details: string[]): void {
    this.#print(`  ${protocol.padEnd(4)}  ${call.padEnd(13)}  ${agents}`)
    for (const line of details) this.#print(`${' '.repeat(23)}${line}`)
  }
}

function check(condition: unknown, step: string, response: unknown): asserts condition {
  if (!condition) {
    throw new CommandError('demo_failed', `The demo failed at ${step}. The response was ${JSON.stringify(response)}`)
  }
}
