/** What leaves the process, on each runtime: requests (security N1, N3), mail (7.3), and passwords (K2). */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { runtimeBinary } from '../../scripts/runtime.ts'
import { runScript, runtimes } from '../support/process.ts'
import { mailServer } from '../support/smtp.ts'

describe.each(runtimes)('on %s', (runtime) => {
  test('nothing private is reached, hostile servers do no harm, and a friendly one answers', async () => {
    const { stdout, stderr } = await runScript(runtime, 'test/e2e/outbound-script.ts', [])

    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({
      connections: 0,
      reached: [],
      metadata: 'refused',
      answered: [],
      friendly: { hello: 'world' },
    })
  })

  test('a mail arrives, for one person alone', async () => {
    const server = await mailServer()
    const { stdout, stderr, code } = await runScript(runtime, 'test/e2e/email-script.ts', [
      server.url,
      'ann@acme.example',
    ])
    await server.close()

    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('Mail sent')
    expect(server.received.map(({ to }) => to)).toEqual([['ann@acme.example']])
    expect(server.received[0].raw).toContain('The agent @zoe signed up')
  })

  test('both implementations of the password hash read each other', async () => {
    const { stdout } = await runScript(runtime, 'test/e2e/passwords-script.ts', [])

    expect(JSON.parse(stdout)).toEqual({ native: true, verified: [true, true, true, true], works: true })
  })
})

test('where the native password module cannot be loaded, the other one takes over', async () => {
  // Without the right to load native code.
  const rights = ['run', '--no-prompt', '--allow-read', '--allow-env', '--allow-sys=cpus']
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const run = promisify(execFile)(runtimeBinary('deno'), [...rights, 'test/e2e/passwords-script.ts'], { cwd })
  const { stdout } = await run

  expect(JSON.parse(stdout)).toEqual({ native: false, verified: [true], works: true })
})
