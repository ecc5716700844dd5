/** The export of an account on the page of its settings. */
import { beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { check, importInto, rowsOf } from '../../support/archives.ts'
import { emptyGrid, storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { person, signedIn } from '../../support/people.ts'
import { activityOf, postWithToken } from '../../support/roles.ts'
import { seated } from '../../support/seats.ts'

let grid: TestGrid
let settings: string
beforeEach(async () => {
  grid = await testGrid()
  settings = `/accounts/${grid.acme.id}/settings/account`
})
const switchReading = (since: number | null) =>
  grid.acme.store.write([grid.acme.store.change.profile.setPeopleRead(since)])
const fingerprintOn = (html: string) => html.match(/SHA256:[\w-]{43}(?=<)/)![0]

test('an owner downloads an archive that the fingerprint on the page opens, and Activity says so', async () => {
  const owner = await signedIn(grid, await person(grid, { role: 'owner' }))
  const { html } = await owner.open(settings)
  const fingerprint = fingerprintOn(html.slice(html.indexOf('id="export"')))

  const response = await postWithToken(owner, `${settings}/export`)

  const archive = { text: response.html, fingerprint }
  expect(response.status).toBe(200)
  expect(await check(archive)).toBeGreaterThan(3)
  expect((await importInto((await emptyGrid()).store, archive)).keys).toHaveLength(2)
  expect((await activityOf(grid)).at(-1)).toMatchObject({ tool: 'export_account', outcome: 'ok' })
})

test('texts that the owner may not read are left out, and the manifest says how many', async () => {
  const { seat, person: ann } = await seated(grid, 'ann', { role: 'owner' })
  const { channel } = await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'ann'] })
  await createChannel(grid.acme.store, { name: 'other', members: ['alice', 'bob'] })
  const alice = storeOf(grid, grid.alice)
  await switchReading(null)
  await sendMessage(alice, { to: 'bob', text: 'between agents' })
  await sendMessage(alice, { to: '#other', text: 'in another channel' })
  await sendMessage(alice, { to: seat.alias, text: 'to the owner' })
  await sendMessage(alice, { to: `#${channel.name}`, text: 'in a channel of the owner' })
  const owner = await signedIn(grid, ann)
  const exported = async () => {
    const { html: text } = await postWithToken(owner, `${settings}/export`)
    const left = JSON.parse(text.split('\n')[0]).left_out.texts_that_the_reader_may_not_read
    return [left, ...rowsOf({ text, fingerprint: '' }).message.map(({ text }) => text)]
  }

  expect(await exported()).toEqual([2, '', '', 'to the owner', 'in a channel of the owner'])
  grid.clock.now += 1
  await switchReading(grid.clock.now)
  await sendMessage(alice, { to: 'bob', text: 'since the switch' })
  expect((await exported()).at(-1)).toBe('since the switch')
  await switchReading(0)
  expect((await exported()).slice(0, 2)).toEqual([0, 'between agents'])
})
