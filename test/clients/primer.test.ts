import { countTokens } from 'gpt-tokenizer'
import { expect, test } from 'vitest'
import { serverName, skill } from '../../src/clients/primer.ts'
import * as snippets from '../../src/clients/snippets.ts'

test('the skill has at most 700 tokens', () => {
  // Counted with OpenAI's o200k_base. The tokenizers of other models may count a fifth more.
  expect(countTokens(skill()) * 1.2).toBeLessThanOrEqual(700)
})

test('the skill begins with its name and description, as clients expect', () => {
  const [, head] = skill().split('---\n')
  const fields = Object.fromEntries(head.trim().split('\n').map((line) => line.split(/: (.*)/).slice(0, 2)))

  expect(fields.name).toBe('agent-grid')
  expect(fields.description.length).toBeLessThan(1024)
})

test("the grid's server has the same name in all configurations", () => {
  expect(serverName).toBe(snippets.serverName)
})
