/** Slack's Web API, signatures and message format. @see https://docs.slack.dev/apis/web-api */
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
/** Errors that concern one message, so a retry is useless. Others, such as a revoked token, can be fixed. */
const refusals = ['msg_too_long', 'no_text', 'msg_blocked_by_app', 'restricted_action_thread_locked']

/** The fields of Slack's responses that the grid uses. */
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
 * Calls a method. A method that writes has a `body`. Fails with a `RemoteRefusal` if a retry is useless, otherwise with
 * a `RemoteError` that includes Slack's retry delay.
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

/**
 * Whether Slack signed a body within the last 5 minutes. @see
 * https://docs.slack.dev/authentication/verifying-requests-from-slack
 */
export function isSignedBySlack(secret: string, headers: Headers, body: string, now: number): boolean {
  const timestamp = headers.get('x-slack-request-timestamp') ?? ''
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp) * second) > maxAgeMs) return false
  const signature = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')
  return isSameSecret(headers.get('x-slack-signature') ?? '', `v0=${signature}`)
}

/** Formats a text for Slack, without mentions: `<@U1>` and `<!channel>` would notify people. */
export function toSlackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Slack's limit is 40,000 characters, counted after escaping. */
const maxPostLength = 39_000

/** Formats a text for Slack. Appends a link to the complete message if the text is incomplete or too long for Slack. */
export function toSlackPost(text: string, { link, isWhole }: { link: string; isWhole: boolean }): string {
  const escaped = toSlackText(text)
  if (isWhole && escaped.length <= maxPostLength) return escaped
  // Never splits an escape sequence or a character.
  const begins = escaped.slice(0, maxPostLength).replace(/(&[a-z]{0,3}|[\ud800-\udbff])$/, '')
  return `${begins}…\n<${toSlackText(link)}|The whole message>`
}

/** Converts Slack's markup to the text that people see in Slack. */
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
