/** The judging model's prompt, and the responses that count as judgements. */
import { afterEach, describe, expect, test } from 'vitest'
import { readJudgement } from '../../../src/guardrails/remote/llm-judge.ts'
import {
  answering,
  checkWith,
  onlyRequest,
  type Service,
  type ServiceRequest,
  startService,
} from '../../support/guardrail-services.ts'

let service: Service
afterEach(() => service?.close())

const completion = (content: unknown) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content, refusal: null }, finish_reason: 'stop' }],
  usage: { total_tokens: 9 },
})

async function serve(content: unknown): Promise<string> {
  service = await answering(completion(content))
  return service.url
}

/** Returns the text between the fences of the message to the model. */
function fenced({ body }: ServiceRequest): string {
  const user: string = body.messages.at(-1).content
  const [, fence] = user.match(/(TEXT-[0-9a-f]{32})-BEGIN\n/)!
  return user.slice(user.indexOf(`${fence}-BEGIN\n`) + fence.length + 7, user.lastIndexOf(`\n${fence}-END`))
}

describe('requests to the judging model', () => {
  test('a request to the judging model has the model, the policy, the fenced text and the response format', async () => {
    const url = await serve('{"violation":true,"reason":"An insult."}')

    const verdict = await checkWith('llm-judge', url)('You fool!')

    const request = onlyRequest(service)
    expect(request).toMatchObject({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer token-of-the-judge' },
    })
    expect(request.body).toMatchObject({
      model: 'small',
      messages: [{ role: 'system', content: expect.stringContaining('Policy:\nNo insults.') }, { role: 'user' }],
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'judgement',
          strict: true,
          schema: { required: ['violation', 'reason'], additionalProperties: false },
        },
      },
    })
    expect(fenced(request)).toBe('You fool!')
    expect(verdict.kinds).toEqual(['violation of the policy'])
  })
})

describe('judging servers without structured responses', () => {
  const refusing = (content: string) =>
    startService(({ body }, response) => {
      const isPlain = body.response_format === undefined &&
        body.messages.every(({ role }: { role: string }) => role === 'user')
      response.writeHead(isPlain ? 200 : 400, { 'Content-Type': 'application/json' })
        .end(JSON.stringify(isPlain ? completion(content) : { error: { message: 'response_format is not supported' } }))
    })

  test('a judging server that refuses structured responses is asked again without them, and from then on only without them', async () => {
    service = await refusing('unsafe\nS1,S10')
    const check = checkWith('llm-judge', service.url)

    expect((await check('first')).kinds).toEqual(['violent crimes', 'hate'])
    expect((await check('second')).kinds).toEqual(['violent crimes', 'hate'])

    expect(service.requests.map(({ body }) => body.messages.length)).toEqual([2, 1, 1])
    expect(service.requests.map(fenced)).toEqual(['first', 'first', 'second'])
    expect(service.requests[1].body.messages[0].content).toContain('Policy:\nNo insults.')
  })
})

describe('responses of the judging model', () => {
  const violation = ['violation of the policy']

  test.each<[string, string[]]>([
    ['{"violation": true, "reason": "x"}', violation],
    ['{"violation": false, "reason": "x", "confidence": 1}', []],
    ['  \n{"violation":true}\n', violation],
    ['```json\n{"violation": true}\n```', violation],
    ['```\n{"violation": false}\n```', []],
    ['<think>It says {"violation": false}. Hm.</think>\n\n{"violation": true}', violation],
    ['It reasons aloud </think>{"violation": false}', []],
    ['safe', []],
    [' Safe\n', []],
    ['unsafe', violation],
    ['unsafe\nS2', ['non-violent crimes']],
    ['unsafe\nS1,S10', ['violent crimes', 'hate']],
    ['UNSAFE\r\nS14, S14', ['code interpreter abuse']],
    ['unsafe\nS99', violation],
  ])('the response %j is a judgement', (content, kinds) => {
    expect(readJudgement(content)).toEqual(kinds)
  })

  test.each([
    '',
    'I cannot help with that.',
    'The text says: {"violation": false}',
    '{"violation": false} or {"violation": true}',
    '{"violation": "false"}',
    '{"violation": fal',
    '{"safe": true}',
    '[{"violation": false}]',
    'null',
    'safe, I think',
    'not unsafe',
    'unsafe\nS1 because of the first line',
    'safe\nunsafe',
    '```json\n{"violation": false}\n``` as the text says',
    '<think>{"violation": false}',
  ])('the response %j is not a judgement', (content) => {
    expect(readJudgement(content)).toBeUndefined()
  })
})
