import { spawn } from 'node:child_process'

/** What Codex says of the hooks that it has read: their events, and whether they are trusted. */
export async function codexHooks(cwd: string, env: Record<string, string>): Promise<string> {
  const server = spawn('codex', ['app-server'], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const send = (message: Record<string, unknown>) =>
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  send({ id: 1, method: 'initialize', params: { clientInfo: { name: 'agent-grid', version: '1' } } })
  send({ method: 'initialized' })
  send({ id: 2, method: 'hooks/list', params: { cwds: [cwd] } })
  let rest = ''
  try {
    for await (const chunk of server.stdout.setEncoding('utf8')) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop()!
      const answer = lines.map((line) => JSON.parse(line)).find(({ id }) => id === 2)
      if (!answer) continue
      const hooks: { eventName: string; trustStatus: string }[] = answer.result?.data?.[0]?.hooks ?? []
      return hooks.map(({ eventName, trustStatus }) => `${eventName} (${trustStatus})`).join(', ')
    }
    return 'no answer'
  } finally {
    server.kill()
  }
}
