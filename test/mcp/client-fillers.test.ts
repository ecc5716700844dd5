import { expect, test } from 'vitest'
import { withoutFillers } from '../../src/mcp/client-fillers.ts'

test('arguments that clients add are removed, unless the tool has an argument of that name', () => {
  const own = { properties: { action: { type: 'string' } } }

  expect(withoutFillers({ action: 'block', tool: 'x', to: '@bob' }, own)).toEqual({ action: 'block', to: '@bob' })
})
