/** Outgoing requests, notifications, email and password hashes on each runtime. See docs/security.md, "Outgoing requests", "Notifications", "Email messages", "Passwords". */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { runtimeBinary } from '../../scripts/runtime.ts'
import { runScript, runtimes } from '../support/process.ts'
import { startPushService } from '../support/push-service.ts'
import { startSmtpServer } from '../support/smtp.ts'

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

  test('a notification arrives that its browser can read, signed by its sender', async () => {
    const service = await startPushService()
    const script = 'test/e2e/push-script.ts'
    const { stdout, stderr } = await runScript(runtime, script, [JSON.stringify(service.subscription())])
    await service.close()

    expect(stderr).toBe('')
    const { status, publicKey } = JSON.parse(stdout)
    expect(status).toBe(201)
    expect(service.taken).toMatchObject([{
      shown: { title: 'Grüße' },
      publicKey,
      claims: { aud: service.url, sub: 'mailto:grid@grid.example' },
      headers: { ttl: '60', 'content-encoding': 'aes128gcm' },
    }])
  })

  test('an email arrives, at one address only', async () => {
    const server = await startSmtpServer()
    const { stdout, stderr, code } = await runScript(runtime, 'test/e2e/email-script.ts', [
      server.url,
      'ann@acme.example',
    ])
    await server.close()

    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('Email sent')
    expect(server.received.map(({ to }) => to)).toEqual([['ann@acme.example']])
    expect(server.received[0].raw).toContain('The agent @zoe signed up')
  })

  test('both implementations of the password hash verify the hashes of the other', async () => {
    const { stdout } = await runScript(runtime, 'test/e2e/passwords-script.ts', [])

    expect(JSON.parse(stdout)).toEqual({ native: true, verified: [true, true, true, true], works: true })
  })
})

test('if the native password module cannot be loaded, the WebAssembly one is used', async () => {
  // Without permission to load native code.
  const permissions = ['run', '--no-prompt', '--allow-read', '--allow-env', '--allow-sys=cpus']
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const run = promisify(execFile)(runtimeBinary('deno'), [...permissions, 'test/e2e/passwords-script.ts'], { cwd })
  const { stdout } = await run

  expect(JSON.parse(stdout)).toEqual({ native: false, verified: [true], works: true })
})
