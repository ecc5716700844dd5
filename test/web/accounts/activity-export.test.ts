/** Exporting the activity log as a file. */
import { expect, test } from 'vitest'
import { recordActivity } from '../../../src/grid/activity.ts'
import { testGrid } from '../../support/grid.ts'
import { signedInByEmail } from '../../support/people.ts'

test('the activity export contains all filtered rows, newest first, and no formulas in its cells', async () => {
  const grid = await testGrid()
  const account = grid.store.account(grid.acme.id, { type: 'system', job: 'test' })
  const note = (tool: string, input: unknown) =>
    recordActivity(account, { tool, arguments: input, requestId: null }, () => Promise.resolve())
  for (let n = 0; n < 205; n++) await note('add_skill', { name: `skill ${n}` })
  await note('=HYPERLINK("https://evil.example")', { name: 'a "quoted" name, with a comma' })
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const path = `/accounts/${grid.acme.id}/activity/export`

  const page = await ann.open(`/accounts/${grid.acme.id}/activity?tool=add_skill`)
  expect(page.html).toContain(`${path}?tool=add_skill&amp;as=csv`)

  const lines = (await (await ann.request(`${path}?tool=add_skill&as=jsonl`)).text()).trim().split('\n')
  const names = lines.map((line) => JSON.parse(JSON.parse(line).arguments).name)
  expect(names).toEqual(Array.from({ length: 205 }, (_, n) => `skill ${204 - n}`))

  const answer = await ann.request(`${path}?as=csv`)
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="activity.csv"')
  const [head, first] = (await answer.text()).split('\r\n')
  expect(head).toBe('n,at,what,outcome,actor,user,agent,credential,request_id,arguments')
  expect(first).toContain(`,"'=HYPERLINK(""https://evil.example"")","ok","system",`)
  expect(first).toContain('"{""name"":""a \\""quoted\\"" name, with a comma""}"')
  await grid.close()
})
