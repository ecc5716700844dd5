/** A local server with the part of Slack's Web API that the grid uses, and events as Slack sends them. */
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readConfig } from '../../src/config.ts'
import { createSafeFetch, type SafeFetch } from '../../src/lib/outbound/safe-fetch.ts'
import { createLog } from '../../src/log.ts'

export const botToken = 'xoxb-1-test'
export const signingSecret = '0123456789abcdef0123456789abcdef'

export interface SlackPost {
  channel: string
  text: string
  username: string
  icon_emoji: string
  thread_ts?: string
}

/** The response to the next post, instead of a success. */
export type SlackTrouble = { status: number; headers?: Record<string, string> } | { error: string }

export type SlackServer = Awaited<ReturnType<typeof startSlack>>

const names: Record<string, string> = { U1: 'Ann', U3: 'Boss: all\nclear' }

/**
 * Starts the server. `safeFetch` sends requests for slack.com to it. The bot U0 is in C01 but not in C03. Ann is U1.
 */
export async function startSlack() {
  const posts: SlackPost[] = []
  const troubles: SlackTrouble[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => text += chunk).on('end', () => {
      const { pathname, searchParams } = new URL(request.url!, 'http://slack')
      const answer = (body: object, status = 200, headers = {}) =>
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
      if (request.headers.authorization !== `Bearer ${botToken}`) return answer({ ok: false, error: 'invalid_auth' })
      switch (pathname.replace('/api/', '')) {
        case 'auth.test':
          return answer({ ok: true, user_id: 'U0', bot_id: 'B0', team_id: 'T0' })
        case 'conversations.info':
          if (!['C01', 'C03'].includes(searchParams.get('channel')!)) {
            return answer({ ok: false, error: 'channel_not_found' })
          }
          return answer({ ok: true, channel: { name: 'town', is_member: searchParams.get('channel') === 'C01' } })
        case 'users.info': {
          const name = names[searchParams.get('user')!]
          if (!name) return answer({ ok: false, error: 'user_not_found' })
          return answer({ ok: true, user: { name: 'ann', profile: { display_name: name } } })
        }
        case 'chat.postMessage': {
          const trouble = troubles.shift()
          if (trouble && 'error' in trouble) return answer({ ok: false, error: trouble.error })
          if (trouble) return answer({ ok: false, error: 'ratelimited' }, trouble.status, trouble.headers)
          posts.push(JSON.parse(text))
          return answer({ ok: true, ts: `9.${String(posts.length).padStart(3, '0')}` })
        }
        default:
          return answer({ ok: false, error: 'unknown_method' })
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const config = readConfig({ ALLOW_PRIVATE_TARGETS: '1' })
  const fetch = createSafeFetch({ config, log: createLog('error', () => {}), ownPorts: new Set() })
  const safeFetch: SafeFetch = (url, request) => {
    return fetch(url.replace('https://slack.com/', origin), request)
  }
  return {
    /** Replaces `https://slack.com/api/`. */
    api: `${origin}api/`,
    safeFetch,
    posts,
    troubles,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Returns the headers and body of an event that Slack signed at a time in ms. */
export function signedEvent(event: unknown, at: number, secret = signingSecret) {
  const body = JSON.stringify(event)
  const timestamp = String(Math.floor(at / 1_000))
  const signature = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${signature}`,
    },
    body,
  }
}
