/** Slack's Web API, its signatures and its text format. @see https://docs.slack.dev/apis/web-api */
import { createHmac } from 'node:crypto'
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import type { SafeFetch, SafeRequest } from '../../lib/outbound/safe-fetch.ts'
import { isSameSecret } from '../../lib/secrets.ts'
import { textOf } from '../../lib/text.ts'
import { minute, second } from '../../lib/time.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'

export const slackApi = 'https://slack.com/api/'

const timeoutMs = 10 * second
/** Maximum age of a signed event. */
const maxAgeMs = 5 * minute
/** Errors about one message, for which a retry is pointless. People can fix others, such as a revoked token. */
const refusals = ['msg_too_long', 'no_text', 'msg_blocked_by_app', 'restricted_action_thread_locked']

/** The parts of Slack's responses that are used. */
interface Answer {
  ok?: boolean
  error?: string
  ts?: string
  user_id?: string
  team_id?: string
  bot_id?: string
  channel?: { name?: string; is_member?: boolean }
  user?: { name?: string; real_name?: string; profile?: { display_name?: string } }
}

/**
 * Calls a method. Methods that write have a `body`. Fails with a `RemoteRefusal` if Slack will never accept the
 * message, and otherwise with a `RemoteError` that has Slack's retry delay.
 */
export async function callSlack(
  send: SafeFetch,
  { url, token }: { url: string; token?: string },
  method: string,
  { body, ...query }: Record<string, string> & { body?: string } = {},
  limits: Partial<SafeRequest> = {},
): Promise<Answer> {
  const target = `${url}${method}${body === undefined ? `?${new URLSearchParams(query)}` : ''}`
  const answer = await send(target, {
    timeoutMs,
    maxBytes: 256 * 1024,
    ...limits,
    body,
    headers: { authorization: `Bearer ${token ?? ''}` },
  })
  if (answer.status === 429) throw failure('ratelimited', Number(answer.header('retry-after')))
  if (answer.status !== 200) throw failure(`status ${answer.status}`)
  const said = answer.json() as Answer
  if (said.ok === true) return said
  const error = textOf(said.error).replace(/[^\w ]/g, '').slice(0, 60)
  throw refusals.includes(error) ? new RemoteRefusal(`Slack refused it: ${error}.`) : failure(error)
}

function failure(error: string, retryAfterSeconds?: number): RemoteError {
  const failed = new RemoteError('invalid_response', `Slack says ${error}`)
  const isTime = retryAfterSeconds !== undefined && retryAfterSeconds > 0 && retryAfterSeconds <= 3_600
  failed.answered = { shown: `Slack says ${error}.`, ...(isTime && { retryAfterMs: retryAfterSeconds * second }) }
  return failed
}

/** Whether Slack has signed a body, at most 5 minutes ago. @see https://docs.slack.dev/authentication/verifying-requests-from-slack */
export function isSignedBySlack(secret: string, headers: Headers, body: string, now: number): boolean {
  const timestamp = headers.get('x-slack-request-timestamp') ?? ''
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp) * second) > maxAgeMs) return false
  const signature = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')
  return isSameSecret(headers.get('x-slack-signature') ?? '', `v0=${signature}`)
}

/** Escapes a text for Slack, including mentions: `<@U1>` and `<!channel>` would notify people. */
export function toSlackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Slack accepts 40,000 characters, counted after escaping. */
const maxPostLength = 39_000

/** Escapes a text for a post, followed by a link to the full message if the text is shortened or too long for Slack. */
export function toSlackPost(text: string, { link, isWhole }: { link: string; isWhole: boolean }): string {
  const escaped = toSlackText(text)
  if (isWhole && escaped.length <= maxPostLength) return escaped
  // Do not cut an escape or a character in half.
  const begins = escaped.slice(0, maxPostLength).replace(/(&[a-z]{0,3}|[\ud800-\udbff])$/, '')
  return `${begins}…\n<${toSlackText(link)}|The whole message>`
}

/** Converts Slack's markup to the text that people see there. */
export function fromSlackText(text: string): string {
  return text
    .replace(/<([^<>|]*)(?:\|([^<>]*))?>/g, (_, target: string, label?: string) => {
      if (/^[@#!]/.test(target)) {
        return label ? `${target[0] === '!' ? '' : target[0]}${label}` : target.replace('!', '@')
      }
      return label && label !== target ? `${label} (${target})` : target.replace(/^mailto:/, '')
    })
    .replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
