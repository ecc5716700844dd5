/** Mail over SMTP: a bounded queue in memory, one mail at a time. Security 7.3. */
import type { Transporter } from 'nodemailer'
import { clearTimeout, setTimeout } from 'node:timers'
import type { Config } from './config.ts'
import type { Log, Mail, OutgoingMail } from './deps.ts'
import { isPlainAddress } from './lib/email-address.ts'
import { minute, second } from './lib/time.ts'

export interface MailOptions {
  config: Pick<Config, 'smtpUrl' | 'mailFrom'>
  log: Log
  /** Where the link goes when mail is not configured: the one line of the log that shows one. */
  printLink: (fields: { kind: string; to: string; link: string }) => void
  /** Waits before the second and the third try. */
  retryAfterMs?: readonly number[]
}

/** The name beside the sender's address. */
const senderName = 'agent-grid'
const maxQueued = 1_000
const maxTextLength = 20_000
/** Before mails go out that found nothing being sent. */
const pauseMs = 50

interface Queued {
  mail: OutgoingMail
  tries: number
}

/** Mail as the settings say; nothing is connected before the first mail. */
export function createMail(options: MailOptions): Mail {
  return options.config.smtpUrl === undefined ? printedMail(options) : sentMail(options)
}

function printedMail({ log, printLink }: MailOptions): Mail {
  return {
    isConfigured: false,
    send({ to, kind, link }) {
      if (link === undefined || !isPlainAddress(to)) log.info('Mail is not configured; a mail was dropped', { kind })
      else printLink({ kind, to, link })
    },
    close: () => Promise.resolve(),
  }
}

function sentMail({ config, log, retryAfterMs = [5 * second, minute] }: MailOptions): Mail {
  const ready: Queued[] = []
  /** What waits for its next try, with the way to end the wait. */
  const waiting = new Map<Queued, () => void>()
  let sending: Promise<void> | undefined
  let transport: Promise<Transporter> | undefined
  let isClosing = false

  /** Send all that is ready. There is only one such loop. */
  async function drain(): Promise<void> {
    for (let next = ready.shift(); next; next = ready.shift()) {
      const { mail } = next
      try {
        transport ??= connect(config.smtpUrl!)
        await (await transport).sendMail(envelope(mail, config.mailFrom!))
        log.info('Mail sent', { kind: mail.kind, tries: next.tries + 1 })
      } catch (error) {
        failed(next, error)
      }
    }
  }

  function failed(queued: Queued, error: unknown): void {
    const { code, responseCode } = Object(error) as { code?: string; responseCode?: number }
    const fields = { kind: queued.mail.kind, tries: queued.tries + 1, code, responseCode }
    const waitMs = retryAfterMs[queued.tries]
    // A server that says 5xx means it.
    const isFinal = waitMs === undefined || isClosing || (responseCode ?? 0) >= 500
    if (isFinal) return log.error('Mail not sent', fields)
    log.warn('Mail not sent yet', fields)
    const again = () => {
      clearTimeout(timer)
      waiting.delete(queued)
      ready.push({ mail: queued.mail, tries: queued.tries + 1 })
      start()
    }
    const timer = setTimeout(again, waitMs)
    waiting.set(queued, again)
  }

  function start(): void {
    sending ??= afterAnswer().then(drain).finally(() => {
      sending = undefined
      // One may have come just after the loop looked for it.
      if (ready.length > 0) start()
    })
  }

  return {
    isConfigured: true,
    send(mail) {
      const fault = faultOf(mail) ??
        (isClosing ? 'stopping' : ready.length + waiting.size >= maxQueued ? 'full' : undefined)
      if (fault) return log.error('Mail not sent', { kind: mail.kind, fault })
      ready.push({ mail, tries: 0 })
      start()
    },
    async close(graceMs) {
      isClosing = true
      for (const again of [...waiting.values()]) again()
      let timer
      const grace = new Promise<void>((resolve) => timer = setTimeout(resolve, graceMs))
      await Promise.race([sending, grace])
      clearTimeout(timer)
      if (ready.length > 0) log.error('Mails not sent', { count: ready.length, fault: 'stopping' })
      ready.length = 0
      ;(await transport?.catch(() => undefined))?.close()
    },
  }
}

/** Whoever caused a mail is answered first: the work of sending it would tell that there is one. Security E1. */
function afterAnswer(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pauseMs))
}

/** Why a mail cannot go out: the library reads lists, names and line ends in places where we mean one plain text. */
function faultOf({ to, subject, text }: OutgoingMail): string | undefined {
  if (!isPlainAddress(to)) return 'address'
  if (!/^[\x20-\x7e]{1,200}$/.test(subject)) return 'subject'
  if (text.length > maxTextLength || text.includes('\0')) return 'text'
  return undefined
}

function envelope({ to, subject, text }: OutgoingMail, from: string) {
  return {
    from: { name: senderName, address: from },
    // As an object, and with the address checked: as a text it would be parsed again.
    to: { name: '', address: to },
    subject,
    text,
    // Vacation notes and lists do not answer it. RFC 3834 §5
    headers: { 'Auto-Submitted': 'auto-generated' },
  }
}

async function connect(url: string): Promise<Transporter> {
  // Loaded with the first mail: most processes never send one.
  const { createTransport } = await import('nodemailer')
  const { hostname, password } = new URL(url)
  return createTransport({
    url,
    connectionTimeout: 10 * second,
    greetingTimeout: 10 * second,
    socketTimeout: 30 * second,
    dnsTimeout: 10 * second,
    disableFileAccess: true,
    disableUrlAccess: true,
    // A password does not travel in clear, but on this machine.
    requireTLS: password !== '' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname),
  })
}
