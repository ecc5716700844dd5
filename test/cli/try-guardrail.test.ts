/** `agent-grid try-guardrail`. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readArguments, type StoreCommand } from '../../src/cli/command.ts'
import { findCommand } from '../../src/cli/commands.ts'
import { createGuardrail } from '../../src/grid/guardrails/guardrails.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { answering, type Service } from '../support/guardrail-services.ts'

const command = findCommand('try-guardrail') as StoreCommand
const text = 'Canary 😀 jo@example.com'
const found = [{ entity_type: 'EMAIL_ADDRESS', start: 9, end: 23, score: 1, note: 'escaped \u009b2J' }]

let grid: TestGrid
let service: Service
beforeEach(async () => {
  grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  service = await answering(found)
})
afterEach(async () => {
  await service.close()
})

const run = (args: Record<string, string>) => command.run(grid.store, { account: grid.acme.id, ...args })

test('try-guardrail prints the verdict, the time and the raw response, and logs neither the text nor the token', async () => {
  await createGuardrail(grid.acme.store, { name: 'pd', provider: 'presidio', config: { analyzerUrl: service.url } })

  const result = await run({ guardrail: 'pd', text })

  expect(result).toEqual({
    provider: 'presidio',
    verdict: 'objection',
    kinds: ['email address'],
    spans: [{ start: 10, end: 24 }],
    replacement: null,
    failure: null,
    milliseconds: expect.any(Number),
    raw: found,
  })
  const printed = command.print(result)
  expect(printed).toMatch(/Verdict +objection\nKinds +email address\nWhere +10-24\nTime +\d+ ms\n\n\[/)
  expect(printed).toContain('escaped \\u009b2J')
  const rows = await grid.acme.store.read.activity.list()
  expect(rows).toMatchObject([{ tool: 'try-guardrail', outcome: 'ok', actorType: 'system' }])
  expect(JSON.parse(rows[0].arguments)).toEqual({ guardrail: 'pd' })
})

test('try-guardrail reports the failure of a provider that is given as a configuration and a token', async () => {
  const result = await run({
    provider: 'openai-moderation',
    config: JSON.stringify({ baseUrl: service.url }),
    token: 'sk-canary',
    text,
  })

  expect(result).toMatchObject({
    verdict: 'failed',
    kinds: [],
    failure: { reason: 'unusable_answer', message: expect.stringContaining('cannot be used') },
    raw: null,
  })
  expect(command.print(result)).toMatch(/Verdict +failed\nFailure +unusable_answer: The answer of 127\.0\.0\.1/)
  const [row] = await grid.acme.store.read.activity.list()
  expect(JSON.parse(row.arguments)).toEqual({ provider: 'openai-moderation', config: { baseUrl: service.url } })
  expect(JSON.stringify([row, result, grid.logs])).not.toMatch(/canary/i)
})

describe('arguments of try-guardrail', () => {
  const words = ['--account', 'a-1', '--guardrail', 'pd']

  test('try-guardrail reads the text from a file, unchanged', () => {
    const path = join(grid.folder, 'text.txt')
    writeFileSync(path, `${text}\n\n`)

    expect(readArguments(command, [...words, '--file', path], {}).args).toEqual({
      account: 'a-1',
      guardrail: 'pd',
      text: `${text}\n\n`,
    })
  })

  test.each<[string, string[], string]>([
    ['missing', [], 'try-guardrail needs --text TEXT or --file PATH.'],
    ['given twice', ['--text', 'a', '--file', '/dev/null'], 'Give --text or --file, not both.'],
    ['in a file that is not there', ['--file', '/nowhere/text.txt'], '--file: there is no file /nowhere/text.txt'],
  ])('try-guardrail refuses a text that is %s', (_, more, message) => {
    expect(() => readArguments(command, [...words, ...more], {})).toThrow(message)
  })
})
