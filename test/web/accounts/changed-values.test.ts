/** Activity shows what a change replaced. docs/protocol/mcp.md, "Activity log". */
import { expect, test } from 'vitest'
import { testGrid } from '../../support/grid.ts'
import { signedInByEmail } from '../../support/people.ts'

test('a change is shown with its old and its new values, and only those that differ', async () => {
  const grid = await testGrid()
  const path = `/accounts/${grid.acme.id}`
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const settings = `${path}/settings/account`
  await ann.submit(settings, { warn: '10', perHour: '200', hops: '64' }, `${settings}/turns`)
  const { text } = await ann.open(`${path}/activity`)

  expect(text).toMatch(/warn ?: from 30 to 10/)
  expect(text).not.toMatch(/per hour ?: from/)
})
