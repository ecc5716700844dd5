/**
 * Sends email over SMTP from a bounded in-memory queue. Without an SMTP server, links are logged. See docs/people.md,
 * "Signing in".
 */
import { clearTimeout, setTimeout } from 'node:timers'
import type { Transporter } from 'nodemailer'
import type { Config } from './config.ts'
import type { EmailSender, OutgoingEmail } from './deps.ts'
import { isPlainAddress } from './lib/names.ts'
import type { Log } from './lib/log.ts'
import { minute, second } from './lib/time.ts'

export interface EmailSenderOptions {
  config: Pick<Config, 'smtpUrl' | 'mailFrom'>
  log: Log
  /** Logs the link if email is not configured. No other log line contains links. */
  printLink: (fields: { kind: string; to: string; link: string }) => void
  retryAfterMs?: readonly number[]
}

const maxQueued = 1_000
const maxTextLength = 20_000
const startDelayMs = 50

interface QueuedEmail {
  email: OutgoingEmail
  attempts: number
}

/** Creates the email sender for a configuration. It connects when the first email is sent. */
export function createEmailSender(options: EmailSenderOptions): EmailSender {
  return options.config.smtpUrl === undefined ? linkPrinter(options) : smtpSender(options)
}

function linkPrinter({ log, printLink }: EmailSenderOptions): EmailSender {
  return {
    isConfigured: false,
    send({ to, kind, link }) {
      if (link === undefined || !isPlainAddress(to)) log.info('Email is not configured; an email was dropped', { kind })
      else printLink({ kind, to, link })
    },
    close: () => Promise.resolve(),
  }
}

function smtpSender({ config, log, retryAfterMs = [5 * second, minute] }: EmailSenderOptions): EmailSender {
  const ready: QueuedEmail[] = []
  const waiting = new Map<QueuedEmail, () => void>()
  let sending: Promise<void> | undefined
  let transport: Promise<Transporter> | undefined
  let isClosing = false

  /** Sends all emails that are ready. Only one such loop runs at a time. */
  async function drain(): Promise<void> {
    for (let next = ready.shift(); next; next = ready.shift()) {
      const { email } = next
      try {
        transport ??= connect(config.smtpUrl!)
        await (await transport).sendMail(envelope(email, config.mailFrom))
        log.info('Email sent', { kind: email.kind, tries: next.attempts + 1 })
      } catch (error) {
        retryOrDrop(next, error)
      }
    }
  }

  function retryOrDrop(queued: QueuedEmail, error: unknown): void {
    const { code, responseCode } = Object(error) as { code?: string; responseCode?: number }
    const fields = { kind: queued.email.kind, tries: queued.attempts + 1, code, responseCode }
    const waitMs = retryAfterMs[queued.attempts]
    // A 5xx reply is permanent. @see RFC 5321 §4.2.1
    const isFinal = waitMs === undefined || isClosing || (responseCode ?? 0) >= 500
    if (isFinal) return log.error('Email not sent', fields)
    log.warn('Email not sent yet', fields)
    const retry = () => {
      clearTimeout(timer)
      waiting.delete(queued)
      ready.push({ email: queued.email, attempts: queued.attempts + 1 })
      start()
    }
    const timer = setTimeout(retry, waitMs)
    waiting.set(queued, retry)
  }

  function start(): void {
    sending ??= startDelay().then(drain).finally(() => {
      sending = undefined
      // An email may have been queued after the loop's last check.
      if (ready.length > 0) start()
    })
  }

  return {
    isConfigured: true,
    send(email) {
      const fault = faultOf(email) ??
        (isClosing ? 'stopping' : ready.length + waiting.size >= maxQueued ? 'full' : undefined)
      if (fault) return log.error('Email not sent', { kind: email.kind, fault })
      ready.push({ email, attempts: 0 })
      start()
    },
    async close(graceMs) {
      isClosing = true
      for (const retry of [...waiting.values()]) retry()
      let timer
      const grace = new Promise<void>((resolve) => timer = setTimeout(resolve, graceMs))
      await Promise.race([sending, grace])
      clearTimeout(timer)
      if (ready.length > 0) log.error('Emails not sent', { count: ready.length, fault: 'stopping' })
      ready.length = 0
      ;(await transport?.catch(() => undefined))?.close()
    },
  }
}

/** Lets the response be sent first. Otherwise its latency could reveal whether an email was sent. */
function startDelay(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, startDelayMs))
}

/** Returns the unsafe field of an email. The library would interpret lists, names and line breaks in it. */
function faultOf({ to, subject, text }: OutgoingEmail): string | undefined {
  if (!isPlainAddress(to)) return 'address'
  if (!/^[\x20-\x7e]{1,200}$/.test(subject)) return 'subject'
  if (text.length > maxTextLength || text.includes('\0')) return 'text'
  return undefined
}

function envelope({ to, subject, text, unsubscribe }: OutgoingEmail, from: Config['mailFrom']) {
  return {
    // Addresses are validated objects, because the library would parse a string again.
    from,
    to: { name: '', address: to },
    subject,
    text,
    // Prevents automatic replies. @see RFC 3834 §5
    headers: { 'Auto-Submitted': 'auto-generated', ...(unsubscribe !== undefined && unsubscribeHeaders(unsubscribe)) },
  }
}

/**
 * Email clients POST to this address when the user clicks the unsubscribe button. It must be HTTPS. @see RFC 8058 §3.1
 */
function unsubscribeHeaders(url: string): Record<string, string> {
  const isOneClick = url.startsWith('https:')
  return {
    'List-Unsubscribe': `<${url}>`,
    ...(isOneClick && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
  }
}

export async function checkEmailServer(url: string, timeoutMs: number): Promise<void> {
  const transport = await connect(url, timeoutMs)
  let timer
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
  })
  try {
    await Promise.race([transport.verify(), late])
  } finally {
    clearTimeout(timer)
    transport.close()
  }
}

async function connect(url: string, timeoutMs = 10 * second): Promise<Transporter> {
  // Loaded on first use, because most processes never send an email.
  const { createTransport } = await import('nodemailer')
  const { hostname, password } = new URL(url)
  return createTransport({
    url,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: 3 * timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    // Passwords are never sent unencrypted, except to this machine.
    requireTLS: password !== '' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname),
  })
}
