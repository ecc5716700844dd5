/** Outgoing requests, notifications, email and password hashes on each runtime. See docs/security.md. */
import { expect, test } from 'vitest'
import { runScript, runtimes } from '../support/process.ts'
import { startPushService } from '../support/push-service.ts'
import { startSmtpServer } from '../support/smtp.ts'

test.each(runtimes)(
  'on %s, no private address is reached, and notifications, emails and password hashes work',
  async (runtime) => {
    const [pushService, emailServer] = [await startPushService(), await startSmtpServer()]
    const browser = JSON.stringify(pushService.subscription())
    const words = [browser, emailServer.url, 'ann@acme.example']
    const { stdout, stderr } = await runScript(runtime, 'test/e2e/outbound-script.ts', words)
    await pushService.close()
    await emailServer.close()
    const { requests, notification, emails, password } = JSON.parse(stdout)

    expect(stderr).toBe('')
    // Only the request to the friendly server succeeded. The requests to private and hostile servers failed.
    expect(requests).toEqual({
      connections: 0,
      reached: [],
      metadata: 'refused',
      answered: [],
      friendly: { hello: 'world' },
    })
    // The browser can decrypt the notification and identify its sender.
    expect(notification.status).toBe(201)
    expect(pushService.taken).toMatchObject([{
      shown: { title: 'Grüße' },
      publicKey: notification.publicKey,
      claims: { aud: pushService.url, sub: 'mailto:grid@grid.example' },
      headers: { ttl: '60', 'content-encoding': 'aes128gcm' },
    }])
    // Only the email to a single address was sent.
    expect(emails).toContain('Email sent')
    expect(emailServer.received.map(({ to }) => to)).toEqual([['ann@acme.example']])
    expect(emailServer.received[0].raw).toContain('The agent @zoe signed up')
    // Only the right password matches the hash.
    expect(password).toEqual([true, false])
  },
)
