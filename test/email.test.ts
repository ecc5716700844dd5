/** Sending emails, with and without an SMTP server. See docs/people.md, "Signing in". */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { OutgoingEmail } from '../src/deps.ts'
import { createEmailSender, type EmailSenderOptions } from '../src/email.ts'
import { createLinkLog, createLog } from '../src/log.ts'
import { startSmtpServer, type TestSmtpServer } from './support/smtp.ts'
import { waitFor } from './support/wait-for.ts'

const token = 'canary'.repeat(8).slice(0, 43)
const email: OutgoingEmail = {
  to: 'ann@acme.example',
  kind: 'sign_in',
  subject: 'Your sign-in link',
  text: `Open this:\n\nhttps://grid.example/sign-in/${token}\n\nGrüße\n`,
  link: `https://grid.example/sign-in/${token}`,
}

const logs: string[] = []
let server: TestSmtpServer
beforeEach(async () => {
  logs.length = 0
  server = await startSmtpServer()
})
afterEach(() => server.close())

describe('with an SMTP server', () => {
  test('an email arrives as plain text from the grid, for one recipient', async () => {
    const sender = open()

    sender.send(email)
    await sender.close(10_000)

    expect(sender.isConfigured).toBe(true)
    expect(server.received).toEqual([{ from: 'grid@grid.example', to: ['ann@acme.example'], raw: expect.any(String) }])
    const { raw } = server.received[0]
    expect(raw).toContain('From: =?UTF-8?Q?Grid_of_Acm=C3=A9?= <grid@grid.example>\r\n')
    expect(raw).toContain('To: ann@acme.example\r\n')
    expect(raw).toContain('Subject: Your sign-in link\r\n')
    expect(raw).toContain('Auto-Submitted: auto-generated\r\n')
    expect(raw).toContain('Content-Type: text/plain; charset=utf-8\r\n')
    // Removes quoted-printable soft line breaks.
    expect(raw.replaceAll('=\r\n', '')).toContain(`\r\n${email.link}\r\n`)
  })

  test.each([
    ['https://grid.example/unsubscribe/a', true],
    ['http://localhost:8787/unsubscribe/a', false],
  ])('an email with an unsubscribe link has the headers for email programs: %s', async (unsubscribe, isOneClick) => {
    const sender = open()

    sender.send({ ...email, unsubscribe })
    sender.send(email)
    await sender.close(10_000)

    const [digest, other] = server.received.map(({ raw }) => raw)
    expect(digest).toContain(`List-Unsubscribe: <${unsubscribe}>\r\n`)
    expect(digest.includes('List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n')).toBe(isOneClick)
    expect(other).not.toContain('List-Unsubscribe')
  })

  test.each([
    'ann@acme.example, bob@evil.example',
    'ann@acme.example;bob@evil.example',
    'ann@acme.example bob@evil.example',
    'ann@acme.example\r\nBcc: bob@evil.example',
    'ann@acme.example\nBcc: bob@evil.example',
    'ann@acme.example\0',
    'ann@acme.example\r\n\r\nbody',
    '"ann@acme.example, bob"@evil.example',
    'Ann <ann@acme.example>',
    '<ann@acme.example>',
    'Friends: ann@acme.example, bob@evil.example;',
    'ann@acme.example (bob@evil.example)',
    'ann@[127.0.0.1]',
    'ann@localhost',
    'Ann@acme.example',
    'ánn@acme.example',
    'ann@açme.example',
    'аnn@acme.example',
    ' ann@acme.example',
    'ann@acme.example ',
    'ann',
    '',
    `${'a'.repeat(65)}@acme.example`,
    `ann@${'a.'.repeat(200)}example`,
    'a'.repeat(1_000_000),
  ])('the email address %j is refused, with an error only in the log', async (to) => {
    const sender = open()

    sender.send({ ...email, to })
    await sender.close(10_000)

    expect(server.received).toEqual([])
    expect(logs.join('\n')).toMatch(/"level":"error","message":"Email not sent","kind":"sign_in","fault":"address"/)
  })

  test.each<[string, Partial<OutgoingEmail>]>([
    ['a subject of two lines', { subject: 'Hello\r\nBcc: bob@evil.example' }],
    ['a subject with a line feed', { subject: 'Hello\nBcc: bob@evil.example' }],
    ['an empty subject', { subject: '' }],
    ['a long subject', { subject: 'x'.repeat(201) }],
    ['a huge text', { text: 'x'.repeat(20_001) }],
    ['a text with U+0000', { text: 'a\0b' }],
  ])('an email with %s is refused, with an error only in the log', async (_, change) => {
    const sender = open()

    sender.send({ ...email, ...change })
    await sender.close(10_000)

    expect(server.received).toEqual([])
    expect(logs.join('\n')).toContain('Email not sent')
  })

  test("SMTP commands and headers in an email's text have no effect", async () => {
    const sender = open()

    sender.send({ ...email, text: 'a\r\n.\r\nMAIL FROM:<bob@evil.example>\r\n\r\nBcc: bob@evil.example\n' })
    await sender.close(10_000)

    expect(server.received.map(({ to }) => to)).toEqual([['ann@acme.example']])
  })

  test('an email is tried three times, but only once after a permanent failure', async () => {
    await withServer(startSmtpServer((attempt) => attempt <= 2 ? 451 : undefined), async ({ url, received }) => {
      const sender = open({ url, retryAfterMs: [1, 1] })
      sender.send(email)
      await waitFor('the email', () => received.length === 1)
      await sender.close(1_000)
      expect(outcomes()).toEqual(['Email not sent yet', 'Email not sent yet', 'Email sent'])
    })
    logs.length = 0
    await withServer(startSmtpServer(() => 550), async ({ url }) => {
      const sender = open({ url, retryAfterMs: [1, 1] })
      sender.send(email)
      await waitFor('the first outcome', () => outcomes().length > 0)
      await sender.close(1_000)
      expect(outcomes()).toEqual(['Email not sent'])
    })
    logs.length = 0
    await withServer(startSmtpServer(() => 451), async ({ url }) => {
      const sender = open({ url, retryAfterMs: [1, 1] })
      sender.send(email)
      await waitFor('the third outcome', () => outcomes().length === 3)
      expect(outcomes()).toEqual([
        'Email not sent yet',
        'Email not sent yet',
        'Email not sent',
      ])
      await sender.close(1_000)
    })
  })

  test('an email that waits for its next attempt is tried once more when the sender closes', async () => {
    await withServer(startSmtpServer((attempt) => attempt === 1 ? 451 : undefined), async ({ url, received }) => {
      const sender = open({ url, retryAfterMs: [3_600_000, 1] })
      sender.send(email)
      await waitFor('the first outcome', () => outcomes().length > 0)
      expect(outcomes()).toEqual(['Email not sent yet'])

      await sender.close(10_000)

      expect(received).toHaveLength(1)
    })
  })

  test('an unreachable email server does not delay callers, and the queue is bounded', async () => {
    await server.close()
    const sender = open({ retryAfterMs: [3_600_000] })

    for (let n = 0; n < 1_100; n++) sender.send(email)
    const full = logs.filter((line) => line.includes('"fault":"full"')).length
    await sender.close(0)

    expect(full).toBeGreaterThanOrEqual(99)
    sender.send(email)
    expect(logs.at(-1)).toContain('"fault":"stopping"')
  })

  test('no address, text or link of an email is logged', async () => {
    const sender = open()

    sender.send(email)
    sender.send({ ...email, to: 'bad' })
    await sender.close(10_000)

    expect(logs.join('\n')).not.toMatch(/ann@|canary|Open this/)
  })
})

describe('without an SMTP server', () => {
  test("without an SMTP server, the log contains an email's link and nothing else from the email", () => {
    const sender = open({ url: undefined })

    sender.send(email)
    sender.send({ ...email, to: 'ann@acme.example\r\nx' })

    expect(sender.isConfigured).toBe(false)
    expect(logs.map((line) => JSON.parse(line))).toEqual([
      {
        time: expect.any(String),
        level: 'info',
        message: 'Email is not configured; pass this link on',
        kind: 'sign_in',
        to: 'ann@acme.example',
        link: email.link,
      },
      expect.objectContaining({ message: 'Email is not configured; an email was dropped' }),
    ])
  })
})

function open({ url, ...options }: Partial<EmailSenderOptions> & { url?: string } = { url: server.url }) {
  const smtpUrl = url ?? ('retryAfterMs' in options ? server.url : undefined)
  const write = (line: string) => void logs.push(line)
  return createEmailSender({
    config: { smtpUrl, mailFrom: { name: 'Grid of Acmé', address: 'grid@grid.example' } },
    log: createLog('debug', write),
    printLink: createLinkLog('debug', write),
    ...options,
  })
}

function outcomes(): string[] {
  return logs.map((line) => JSON.parse(line).message)
}

async function withServer(
  starting: Promise<TestSmtpServer>,
  use: (server: TestSmtpServer) => Promise<void>,
): Promise<void> {
  const server = await starting
  try {
    await use(server)
  } finally {
    await server.close()
  }
}
