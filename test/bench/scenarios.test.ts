import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** Too small for useful figures, but each scenario still checks its results. */
const tiny = {
  scenario: 'requests,waking,waiters,size,fan-out,guardrails,start',
  clients: '2',
  seconds: '0.05',
  inboxes: '4',
  waiters: '20',
  messages: '100',
  agents: '10',
  members: '5',
  starts: '1',
}

// Takes a minute of both cores. Run it after changes to the bench: `BENCH=1 npx vitest run test/bench`.
test.skipIf(!process.env.BENCH)(
  'every scenario of the bench succeeds, except the comparison, whose brokers may not be installed',
  async () => {
    const args = Object.entries(tiny).flatMap(([name, value]) => [`--${name}`, value])
    const script = ['--import', 'tsx', 'scripts/bench.ts', ...args, '--markdown']

    const { stdout, stderr } = await promisify(execFile)(process.execPath, script)

    const measured = stdout.split('\n').filter((line) => /^\| [a-z]/.test(line)).map((line) =>
      line.split(' | ')[0].slice(2)
    )
    expect(stderr).toBe('')
    expect(measured).toEqual([
      ...[
        'hello',
        'tools/call',
        'tools/call, 2025 era',
        'tools/call, MCP SDK',
        'tools/list',
        'send',
        'read',
        'send + read',
      ],
      ...['hello', 'wake, waiting read', 'wake, stream'],
      'wake across processes: a local file has one process; see --database libsql',
      'waiting',
      ...['send, 10/100', 'read, 10/100'],
      ...['since last_batch, 10/100', 'since 1h, 10/100', 'list_agents, search, 10/100'],
      'post to a channel',
      ...Array(3).fill('send, 512 B, guarded'),
      ...Array(3).fill('send + read, 512 B, guarded'),
      ...['start, empty', 'start, 10/100'],
    ])
  },
  240_000,
)
