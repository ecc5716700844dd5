/** Every remote provider with every failure of its service. */
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { failureForTenants, type FailureReason, ProviderFailure } from '../../../src/guardrails/provider.ts'
import { providers } from '../../../src/guardrails/providers.ts'
import { freePort } from '../../../src/lib/free-port.ts'
import { checkWith, remoteProviders, type Service, startService } from '../../support/guardrail-services.ts'

type Answer = Parameters<typeof startService>[0]

const text = 'canary text of a message'
const hidden = [text, 'canary of the answer', ...Object.values(remoteProviders).flatMap(({ token }) => token ?? [])]

let service: Service | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

const json = { 'Content-Type': 'application/json' }
/** A response that contains the request, as errors of some services do. */
const status = (code: number): Answer => ({ headers, text }, response) =>
  response.writeHead(code, json).end(
    JSON.stringify({ error: `canary of the answer ${text} ${JSON.stringify(headers)}` }),
  )

const failures: { name: string; reason: FailureReason; answer: Answer; says?: string }[] = [
  { name: 'is slow', reason: 'timeout', answer: () => {} },
  {
    name: 'sends the answer slowly',
    reason: 'timeout',
    answer: (_, response) => void response.writeHead(200, json).write('{"canary of the answer":'),
  },
  { name: 'answers 400', reason: 'rejected', answer: status(400) },
  { name: 'answers 401', reason: 'unauthorized', answer: status(401) },
  { name: 'answers 403', reason: 'unauthorized', answer: status(403) },
  { name: 'answers 404', reason: 'rejected', answer: status(404) },
  { name: 'answers 429', reason: 'rate_limited', answer: status(429) },
  { name: 'answers 500', reason: 'service_error', answer: status(500) },
  { name: 'answers 503', reason: 'service_error', answer: status(503) },
  {
    name: 'answers with a page',
    reason: 'unusable_answer',
    answer: (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>canary of the answer'),
  },
  {
    name: 'answers with broken JSON',
    reason: 'unusable_answer',
    answer: ({ text }, response) => response.writeHead(200, json).end(`canary of the answer ${text}`),
  },
  {
    name: 'answers with other JSON',
    reason: 'unusable_answer',
    answer: ({ text }, response) => response.writeHead(200, json).end(JSON.stringify({ 'canary of the answer': text })),
  },
  {
    name: 'answers with JSON of another type',
    reason: 'unusable_answer',
    answer: (_, response) => response.writeHead(200, { 'Content-Type': 'text/plain' }).end('{"decision":"allow"}'),
    says: 'application/json',
  },
  { name: 'answers with nothing', reason: 'unusable_answer', answer: (_, response) => response.writeHead(200).end() },
  {
    name: 'nests JSON too deep',
    reason: 'unusable_answer',
    answer: (_, response) => response.writeHead(200, json).end('['.repeat(40) + ']'.repeat(40)),
  },
  {
    name: 'redirects',
    reason: 'redirected',
    answer: (_, response) => response.writeHead(307, { Location: '/canary of the answer'.replaceAll(' ', '-') }).end(),
  },
  {
    name: 'breaks off',
    reason: 'incomplete',
    answer: (_, response) => {
      response.writeHead(200, { ...json, 'Content-Length': '100' }).write('{"canary of the answer":')
      response.socket!.end()
    },
  },
  { name: 'hangs up', reason: 'incomplete', answer: (_, response) => void response.socket!.destroy() },
  {
    name: 'answers too much',
    reason: 'too_large',
    answer: (_, response) => response.writeHead(200, json).end(JSON.stringify('canary of the answer'.repeat(100_000))),
  },
  {
    name: 'compresses the answer',
    reason: 'incomplete',
    answer: (_, response) => response.writeHead(200, { ...json, 'Content-Encoding': 'gzip' }).end(gzipSync('{}')),
  },
]

const ids = providers.filter(({ kind }) => kind === 'remote').map(({ id }) => id)

describe.each(ids)('failures of %s', (id) => {
  test.each(failures)(
    'a check fails with the right reason if its service $name: $reason',
    async ({ reason, answer, says = '' }) => {
      service = await startService(answer)
      const logs: string[] = []
      const isSlow = reason === 'timeout'

      const check = checkWith(id, service.url, { logs, deadlineMs: isSlow ? 600 : 5_000 })
      const failure = await failureOf(check(text))

      expect(failure.reason).toBe(reason)
      expect(failure.message).toContain(new URL(service.url).host)
      expect(failure.message).toContain(says)
      expectHidden(failure, logs)
      // Only the judge sends a second request, in another form, if a server refuses structured responses.
      expect(service.requests).toHaveLength(id === 'llm-judge' && reason === 'rejected' ? 2 : 1)
    },
  )

  test('a check whose service is unreachable fails with not_connected after two attempts', async () => {
    let attempts = 0
    const logs: string[] = []
    const check = checkWith(id, `http://127.0.0.1:${await freePort()}`, { logs, onFetch: () => attempts++ })

    const failure = await failureOf(check(text))

    expect([failure.reason, attempts]).toEqual(['not_connected', 2])
    expectHidden(failure, logs)
  })

  test('a check whose service is in a private network is refused, and nothing is sent', async () => {
    service = await startService(() => {})
    let attempts = 0
    const logs: string[] = []

    const failure = await failureOf(checkWith(id, service.url, { env: {}, logs, onFetch: () => attempts++ })(text))

    expect([failure.reason, attempts, service.requests.length]).toEqual(['refused', 1, 0])
    expectHidden(failure, logs)
  })
})

describe.each(ids.filter((id) => remoteProviders[id].token))('tokens of %s', (id) => {
  test.each([['none', undefined], ['one with a line end', 'sk-canary\r\nX-Other: 1'], [
    'one with letters',
    'schlüssel',
  ]])(
    'a check whose token is %s fails with wrong_token, and nothing is sent',
    async (_, token) => {
      service = await startService(() => {})

      const failure = await failureOf(checkWith(id, service.url, { token })(text))

      expect([failure.reason, service.requests.length]).toEqual(['wrong_token', 0])
      expect(failure.message).not.toContain('canary')
    },
  )
})

test('tenants are not told why a service was unreachable', () => {
  const told = failures.map(({ reason }) => failureForTenants(new ProviderFailure(reason, `host:1 ${reason}`)).reason)

  expect(new Set(told)).toEqual(
    new Set(['unreachable', 'rejected', 'unauthorized', 'rate_limited', 'service_error', 'unusable_answer']),
  )
})

async function failureOf(check: Promise<unknown>): Promise<ProviderFailure> {
  const error = await check.then((verdict) => verdict, (error) => error)
  expect(error).toBeInstanceOf(ProviderFailure)
  return error as ProviderFailure
}

/** Expects that the error and the log contain no text, token or response of the service. */
function expectHidden(failure: ProviderFailure, logs: string[]): void {
  const shown = [failure.message, failure.stack, JSON.stringify(failure), ...logs].join('\n')
  expect(hidden.filter((secret) => shown.includes(secret))).toEqual([])
}
