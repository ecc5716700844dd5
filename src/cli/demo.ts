import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask } from './ask.ts'
import { CommandError, type ProcessCommand } from './command.ts'
import { processDeps, serverConfig } from './process.ts'
import { startServer, stopServer } from './server.ts'

/** Two agents talk over A2A and MCP on a grid of their own. Exit code 0 only if every message arrived. */
export const demo: ProcessCommand = {
  name: 'demo',
  summary: 'Play a conversation of two agents on a temporary grid.',
  options: {},
  async start(json) {
    const folder = mkdtempSync(join(tmpdir(), 'agent-grid-demo-'))
    try {
      const config = await serverConfig({
        PORT: '0',
        DATABASE_URL: `file:${join(folder, 'grid.db')}`,
        LOG_LEVEL: 'warn',
        // It needs nobody outside, and is quiet where there is no way out.
        OAUTH_CIMD: 'off',
      })
      const server = await startServer(processDeps(config))
      try {
        const messages = await play(`http://127.0.0.1:${config.port}`, json ? () => {} : (line) => console.log(line))
        if (json) console.log(JSON.stringify({ ok: true, messages }))
        return 0
      } finally {
        await stopServer(server)
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
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
 * The conversation, on any grid; resolves to the number of messages.
 * Fails with `demo_failed` when something did not arrive.
 */
export async function play(grid: string, say: (line: string) => void): Promise<number> {
  const scene = new Scene(grid, say)
  say(`A grid of its own at ${grid}\n`)

  say('Two agents register. They name the same owner, so they may talk.')
  const ada = await scene.signUp('ada')
  const charles = await scene.signUp('charles')

  say('\nAda speaks A2A and asks. Charles speaks MCP; he reads and answers.')
  await scene.sendOverA2a(ada, charles, question)
  await scene.read(charles, [`${ada.alias}: ${question}`])
  await scene.sendOverMcp(charles, ada, answer)

  say('\nAda reads over MCP too, and says thanks the same way.')
  await scene.read(ada, [`${charles.alias}: ${answer}`])
  await scene.sendOverMcp(ada, charles, thanks)
  await scene.read(charles, [`${ada.alias}: ${thanks}`])

  say('\nEach message is handed out once: both mailboxes are empty now.')
  await scene.read(ada, [])
  await scene.read(charles, [])

  say('\nAll 3 messages arrived. To have a grid of your own: npm start')
  return 3
}

/** What the agents do, each step one request that is checked and one line of the transcript. */
class Scene {
  readonly #grid: string
  readonly #say: (line: string) => void

  constructor(grid: string, say: (line: string) => void) {
    this.#grid = grid
    this.#say = say
  }

  async signUp(alias: string): Promise<DemoAgent> {
    const { status, body } = await this.#post('/api/v1/agentic-signup', { owner_email: 'you@example.com', alias })
    check(status === 201 && body.alias === `@${alias}`, 'signup', body)
    const { max_messages: max, expires_in: time } = body.trial
    this.#line(
      'REST',
      'signup',
      `@${alias}`,
      `key grid_agt_…${body.api_key.slice(-4)}, trial of ${max} messages, ${time}`,
    )
    return { alias: body.alias, key: body.api_key }
  }

  /** As the official A2A 0.3 clients send it. */
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
    this.#line('A2A', 'message/send', `${from.alias} to ${to.alias}`, `"${text}"`, receipt)
  }

  async sendOverMcp(from: DemoAgent, to: DemoAgent, text: string): Promise<void> {
    const result = await this.#callTool(from, 'send_message', { to: to.alias, message: text })
    check(result.recipient === to.alias && result.message_id, 'send_message', result)
    this.#line('MCP', 'send_message', `${from.alias} to ${to.alias}`, `"${text}"`, `stored as ${result.message_id}`)
  }

  /** Read a mailbox; `expected` are its messages as `@sender: text`. */
  async read(agent: DemoAgent, expected: string[]): Promise<void> {
    const { messages } = await this.#callTool(agent, 'read_messages', {})
    const found = messages?.map(({ user, message }: { user: string; message: string }) => `${user}: ${message}`)
    check(JSON.stringify(found) === JSON.stringify(expected), 'read_messages', found)
    this.#line('MCP', 'read_messages', agent.alias, ...(found.length > 0 ? found : ['nothing new']))
  }

  async #callTool(agent: DemoAgent, name: string, args: Record<string, unknown>) {
    const { body } = await this.#rpc('/mcp/v1/grid', agent, 'tools/call', { name, arguments: args })
    check(body.result && !body.result.isError, name, body)
    return body.result.structuredContent
  }

  #rpc(path: string, agent: DemoAgent, method: string, params: unknown) {
    const headers = { Authorization: `Bearer ${agent.key}`, Accept: 'application/json, text/event-stream' }
    return this.#post(path, { jsonrpc: '2.0', id: 1, method, params }, headers)
  }

  async #post(path: string, body: unknown, headers: Record<string, string> = {}) {
    const { status, text } = await ask(this.#grid + path, { method: 'POST', headers, body })
    return { status, body: JSON.parse(text) }
  }

  #line(protocol: string, call: string, who: string, ...said: string[]): void {
    this.#say(`  ${protocol.padEnd(4)}  ${call.padEnd(13)}  ${who}`)
    for (const line of said) this.#say(`${' '.repeat(23)}${line}`)
  }
}

/** A step of the demo did not do what it says. */
function check(holds: unknown, step: string, seen: unknown): asserts holds {
  if (!holds) {
    throw new CommandError('demo_failed', `The demo failed at ${step}. The answer was ${JSON.stringify(seen)}`)
  }
}
