/** Mail over SMTP, and without it (security 7.3, N6, D1). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { OutgoingMail } from '../src/deps.ts'
import { createLinkLog, createLog } from '../src/log.ts'
import { createMail, type MailOptions } from '../src/email.ts'
import { type MailServer, mailServer } from './support/smtp.ts'

const token = 'canary'.repeat(8).slice(0, 43)
const mail: OutgoingMail = {
  to: 'ann@acme.example',
  kind: 'sign_in',
  subject: 'Your sign-in link',
  text: `Open this:\n\nhttps://grid.example/sign-in/${token}\n\nGrüße\n`,
  link: `https://grid.example/sign-in/${token}`,
}

const logs: string[] = []
let server: MailServer
beforeEach(async () => {
  logs.length = 0
  server = await mailServer()
})
afterEach(() => server.close())

describe('with a mail server', () => {
  test('a mail arrives as plain text, from the grid, for one person', async () => {
    const sender = open()

    sender.send(mail)
    await sender.close(10_000)

    expect(sender.isConfigured).toBe(true)
    expect(server.received).toEqual([{ from: 'grid@grid.example', to: ['ann@acme.example'], raw: expect.any(String) }])
    const { raw } = server.received[0]
    expect(raw).toContain('From: "agent-grid" <grid@grid.example>\r\n')
    expect(raw).toContain('To: ann@acme.example\r\n')
    expect(raw).toContain('Subject: Your sign-in link\r\n')
    expect(raw).toContain('Auto-Submitted: auto-generated\r\n')
    expect(raw).toContain('Content-Type: text/plain; charset=utf-8\r\n')
    // Soft line ends of quoted-printable, which the reader's program takes out again.
    expect(raw.replaceAll('=\r\n', '')).toContain(`\r\n${mail.link}\r\n`)
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
  ])('the address %j is refused, quietly', async (to) => {
    const sender = open()

    sender.send({ ...mail, to })
    await sender.close(10_000)

    expect(server.received).toEqual([])
    expect(logs.join('\n')).toMatch(/"level":"error","message":"Mail not sent","kind":"sign_in","fault":"address"/)
  })

  test.each<[string, Partial<OutgoingMail>]>([
    ['a subject of two lines', { subject: 'Hello\r\nBcc: bob@evil.example' }],
    ['a subject with a line feed', { subject: 'Hello\nBcc: bob@evil.example' }],
    ['an empty subject', { subject: '' }],
    ['a long subject', { subject: 'x'.repeat(201) }],
    ['a huge text', { text: 'x'.repeat(20_001) }],
    ['a text with U+0000', { text: 'a\0b' }],
  ])('%s is refused, quietly', async (_, change) => {
    const sender = open()

    sender.send({ ...mail, ...change })
    await sender.close(10_000)

    expect(server.received).toEqual([])
    expect(logs.join('\n')).toContain('Mail not sent')
  })

  test('what stands in the text stays there', async () => {
    const sender = open()

    sender.send({ ...mail, text: 'a\r\n.\r\nMAIL FROM:<bob@evil.example>\r\n\r\nBcc: bob@evil.example\n' })
    await sender.close(10_000)

    expect(server.received.map(({ to }) => to)).toEqual([['ann@acme.example']])
  })

  test('it is tried three times, and what the server will never take only once', async () => {
    await using(mailServer((attempt) => attempt <= 2 ? 451 : undefined), async ({ url, received }) => {
      const sender = open({ url, retryAfterMs: [1, 1] })
      sender.send(mail)
      await expect.poll(() => received.length, { timeout: 10_000 }).toBe(1)
      await sender.close(1_000)
      expect(outcomes()).toEqual(['Mail not sent yet', 'Mail not sent yet', 'Mail sent'])
    })
    logs.length = 0
    await using(mailServer(() => 550), async ({ url }) => {
      const sender = open({ url, retryAfterMs: [1, 1] })
      sender.send(mail)
      await expect.poll(outcomes, { timeout: 10_000 }).toEqual(['Mail not sent'])
      await sender.close(1_000)
    })
    logs.length = 0
    await using(mailServer(() => 451), async ({ url }) => {
      const sender = open({ url, retryAfterMs: [1, 1] })
      sender.send(mail)
      await expect.poll(outcomes, { timeout: 10_000 }).toEqual([
        'Mail not sent yet',
        'Mail not sent yet',
        'Mail not sent',
      ])
      await sender.close(1_000)
    })
  })

  test('what waits for its next try is tried once more at the end', async () => {
    await using(mailServer((attempt) => attempt === 1 ? 451 : undefined), async ({ url, received }) => {
      const sender = open({ url, retryAfterMs: [3_600_000, 1] })
      sender.send(mail)
      await expect.poll(outcomes, { timeout: 10_000 }).toEqual(['Mail not sent yet'])

      await sender.close(10_000)

      expect(received).toHaveLength(1)
    })
  })

  test('a server that does not answer delays nobody, and the queue is bounded', async () => {
    await server.close()
    const sender = open({ retryAfterMs: [3_600_000] })

    for (let n = 0; n < 1_100; n++) sender.send(mail)
    const full = logs.filter((line) => line.includes('"fault":"full"')).length
    await sender.close(0)

    expect(full).toBeGreaterThanOrEqual(99)
    sender.send(mail)
    expect(logs.at(-1)).toContain('"fault":"stopping"')
  })

  test('neither address, text nor link is logged', async () => {
    const sender = open()

    sender.send(mail)
    sender.send({ ...mail, to: 'bad' })
    await sender.close(10_000)

    expect(logs.join('\n')).not.toMatch(/ann@|canary|Open this/)
  })
})

describe('without a mail server', () => {
  test('the link, and nothing else of the mail, stands in one line of the log', () => {
    const sender = open({ url: undefined })

    sender.send(mail)
    sender.send({ ...mail, to: 'ann@acme.example\r\nx' })

    expect(sender.isConfigured).toBe(false)
    expect(logs.map((line) => JSON.parse(line))).toEqual([
      {
        time: expect.any(String),
        level: 'info',
        message: 'Mail is not configured; hand this link on',
        kind: 'sign_in',
        to: 'ann@acme.example',
        link: mail.link,
      },
      expect.objectContaining({ message: 'Mail is not configured; a mail was dropped' }),
    ])
  })

  test('with a log of warnings alone the link is not written', () => {
    const lines: string[] = []

    createLinkLog('warn', (line) => lines.push(line))({ kind: 'claim', to: mail.to, link: mail.link! })

    expect(lines).toEqual([])
  })

  test('anywhere else in the log a link is cut', () => {
    const lines: string[] = []

    createLog('debug', (line) => lines.push(line)).info(`GET /sign-in/${token}`, { link: mail.link })

    expect(lines.join()).not.toContain('canary')
    expect(JSON.parse(lines[0])).toMatchObject({ message: 'GET /sign-in/…', link: 'https://grid.example/sign-in/…' })
  })
})

function open({ url, ...options }: Partial<MailOptions> & { url?: string } = { url: server.url }) {
  const smtpUrl = url ?? ('retryAfterMs' in options ? server.url : undefined)
  const write = (line: string) => void logs.push(line)
  return createMail({
    config: { smtpUrl, mailFrom: 'grid@grid.example' },
    log: createLog('debug', write),
    printLink: createLinkLog('debug', write),
    ...options,
  })
}

function outcomes(): string[] {
  return logs.map((line) => JSON.parse(line).message)
}

async function using(opening: Promise<MailServer>, use: (server: MailServer) => Promise<void>): Promise<void> {
  const opened = await opening
  try {
    await use(opened)
  } finally {
    await opened.close()
  }
}
