/** Consent to services that check a person's messages, on the person's profile page. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { followLog } from '../../../src/worker/followers.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { signingSecret, testProviders } from '../../support/guarded.ts'
import { make } from '../../support/guardrails.ts'
import { callTool } from '../../support/mcp.ts'
import { person, signedIn } from '../../support/people.ts'
import { personWithAlias } from '../../support/person-aliases.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ guardrailChecks: testProviders().guardrailChecks })
})
afterEach(() => grid.close())

test("the log, the page of a person's alias, and messages show that the person allowed a service and withdrew the consent", async () => {
  const account = `/accounts/${grid.acme.id}`
  const profile = `${account}/settings/profile`
  const { person: ann } = await personWithAlias(grid, 'ann', { name: 'Ann Smith' })
  const annsBrowser = await signedIn(grid, ann)
  const admin = await signedIn(grid, await person(grid, { role: 'admin' }))
  expect((await annsBrowser.open(profile)).text).not.toContain('Services that get your messages')
  const id = await make(grid.acme, {
    ...{ name: 'reviewer', provider: 'webhook', config: { url: 'https://guard.example/x' }, token: signingSecret },
  })
  const settings = `${account}/agents/ann/settings`
  const attach = () => admin.submit(settings, { [`direction-${id}`]: 'both' }, `${account}/agents/ann/guardrails`)
  const note = 'the person has not allowed sending messages to guard.example'

  const refused = await attach()
  expect(refused.text).toContain('Ann Smith (@ann) has not allowed that for theirs')
  expect(refused.text).toContain(note)

  const allowed = await annsBrowser.submit(profile, {}, `${profile}/services`)
  expect(allowed.text).toContain('Your messages may be sent there from now on.')
  expect((await attach()).text).not.toContain(note)
  await callTool(grid, grid.alice.key, 'send_message', { to: '@ann', message: 'hello' })
  await followLog(grid.store)
  const list = await annsBrowser.open(`${account}/conversations?show=you`)
  const thread = list.html.match(/conversations\/\d+/)![0]
  expect((await annsBrowser.open(`${account}/${thread}`)).text).toContain('text was sent to guard.example')

  const withdrawn = await annsBrowser.submit(profile, {}, `${profile}/services`)
  expect(withdrawn.text).toContain('Your messages are no longer sent there.')
  expect((await admin.open(settings)).text).toContain(note)
  expect((await admin.open(`${account}/activity`)).text).toMatch(
    /Stopped allowing that their messages are sent to guard.example .*Allowed that their messages are sent to guard.example /,
  )
})
