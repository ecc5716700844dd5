/** The settings card for mirroring a channel with Slack. `slack.test.ts` tests the mirroring itself. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { minute } from '../../../src/lib/time.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { activityOf, postWithToken, signedInWithRole } from '../../support/roles.ts'
import { botToken, signingSecret, type SlackServer, startSlack } from '../../support/slack.ts'

let grid: TestGrid
let slack: SlackServer
let channel: string
const given = { slackChannel: 'C01', token: botToken, signingSecret }
beforeEach(async () => {
  slack = await startSlack()
  grid = await testGrid({ safeFetch: slack.safeFetch })
  const { id } = (await createChannel(grid.acme.store, { name: 'general', members: ['alice'] })).channel
  channel = `/accounts/${grid.acme.id}/channels/${id}`
})
afterEach(async () => {
  await slack.close()
  await grid.close()
})

test('an admin connects a channel to Slack, every member sees the badge, and the secrets are neither shown nor logged', async () => {
  const admin = await signedInWithRole(grid, 'admin')
  await postWithToken(admin, `${channel}/slack`, given)
  const settings = await admin.open(`${channel}/settings`)
  const viewer = await signedInWithRole(grid, 'viewer')

  expect(settings.text).toMatch(/http:\/\/localhost:8787\/api\/v1\/slack\/[0-9a-f-]{36}\/events/)
  expect((await viewer.open(channel)).text).toContain('Slack #town')
  expect((await viewer.open(`${channel}/settings`)).text).not.toContain('/api/v1/slack/')
  expect(`${settings.html} ${JSON.stringify(await activityOf(grid))}`).not.toMatch(/xoxb-1|0123456789abcdef/)
  expect((await activityOf(grid)).map(({ tool }) => tool)).toEqual(['connect_slack'])
})

test('connecting a channel to Slack requires a recent confirmation', async () => {
  const owner = await signedInWithRole(grid, 'owner')
  grid.clock.now += 11 * minute

  await postWithToken(owner, `${channel}/slack`, given)

  expect((await owner.open(channel)).text).not.toContain('Slack #town')
})
