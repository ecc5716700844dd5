/** The webhook provider, signed according to Standard Webhooks and verified with that library. */
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, test } from 'vitest'
import { providers } from '../../../src/guardrails/providers.ts'
import { answering, checkWith, onlyRequest, remoteProviders, type Service } from '../../support/guardrail-services.ts'

const secret = remoteProviders.webhook.token!
const provider = providers.find(({ id }) => id === 'webhook')!

let service: Service
afterEach(() => service?.close())

async function serve(answer: unknown): Promise<string> {
  service = await answering(answer)
  return service.url
}

describe('guardrail webhook requests', () => {
  test('a guardrail webhook gets the text with its context, and a signature that the library verifies', async () => {
    const url = await serve({ decision: 'allow', reasons: [] })

    await checkWith('webhook', url)('Grüße 😀\u2028', { direction: 'outbound', sender: '@jo', recipient: '#general' })

    const { method, path, headers, text } = onlyRequest(service)
    expect([method, path]).toEqual(['POST', '/check?source=grid'])
    expect(new Webhook(secret).verify(text, headers as Record<string, string>)).toEqual({
      type: 'guardrail.check',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      data: { text: 'Grüße 😀\u2028', direction: 'outbound', sender: '@jo', recipient: '#general' },
    })
    expect(headers['webhook-id']).toMatch(/^msg_[0-9a-f-]{36}$/)
  })
})

describe('guardrail webhook responses:', () => {
  test.each<[string, unknown, { kinds: string[]; replacement?: string }]>([
    ['allow', { decision: 'allow', reasons: ['never mind'], redacted: 'x' }, { kinds: [] }],
    ['block', { decision: 'block', reasons: ['trade secret', 'tone'] }, { kinds: ['trade secret', 'tone'] }],
    ['flag without reasons', { decision: 'flag' }, { kinds: ['objection of the service'] }],
    ['redact', { decision: 'redact', reasons: ['name'], redacted: 'Hello ***' }, {
      kinds: ['name'],
      replacement: 'Hello ***',
    }],
    ['redact without a text', { decision: 'redact', reasons: ['имя 1'] }, { kinds: ['имя 1'] }],
    ['more fields', { decision: 'block', reasons: ['a'], score: 1, trace: {} }, { kinds: ['a'] }],
    ['a lone surrogate', { decision: 'redact', reasons: ['a'], redacted: 'x\ud800' }, {
      kinds: ['a'],
      replacement: 'x\ufffd',
    }],
  ])('%s', async (_, answer, { kinds, replacement }) => {
    const verdict = await checkWith('webhook', await serve(answer))('Hello Jo')

    expect(verdict).toEqual({ kinds, ...(kinds.length > 0 ? { replacement } : {}), raw: answer })
  })

  test.each<[string, unknown]>([
    ['no decision', { reasons: [] }],
    ['an unknown decision', { decision: 'maybe', reasons: [] }],
    ['reasons that are no texts', { decision: 'block', reasons: [1] }],
    ['an empty text', { decision: 'redact', reasons: [], redacted: '' }],
    ['a text with U+0000', { decision: 'redact', reasons: [], redacted: 'a\0b' }],
    ['an array', [{ decision: 'allow' }]],
  ])("a guardrail webhook's response with %s counts as a failure", async (_, answer) => {
    await expect(checkWith('webhook', await serve(answer))('text')).rejects.toMatchObject({ reason: 'unusable_answer' })
  })
})

describe('guardrail webhook secrets', () => {
  const base64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64')

  test.each([
    base64(32),
    `whsec_${base64(23)}`,
    `whsec_${base64(65)}`,
    `whpk_${base64(32)}`,
    'whsec_',
    'whsec_not base64!',
    ` whsec_${base64(32)}`,
  ])('the webhook secret %j is refused', (token) => {
    expect(() => provider.checkToken!(token)).toThrow('whsec_ and the base64 of 24 to 64 random bytes')
  })
})
