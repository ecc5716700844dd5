/** Exporting an account on its settings page. */
import { Buffer } from 'node:buffer'
import { beforeEach, expect, test } from 'vitest'
import type { UserActor } from '../../../src/auth/actor.ts'
import { exportForOwner } from '../../../src/features/archives/archive.ts'
import { minute } from '../../../src/lib/time.ts'
import { changeChannelMembers, createChannel } from '../../../src/grid/channels/channels.ts'
import { appendToUpload, beginUpload } from '../../../src/grid/message/uploads.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import { check, importInto, rowsOf } from '../../support/archives.ts'
import { emptyGrid, storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, secret } from '../../support/guarded.ts'
import { hold } from '../../support/held.ts'
import { sendMessage } from '../../support/messaging.ts'
import { type Person, person, signedIn } from '../../support/people.ts'
import { activityOf, postWithToken } from '../../support/roles.ts'
import { personWithAlias } from '../../support/person-aliases.ts'
import { askFor } from '../../support/tasks.ts'

let grid: TestGrid
let settings: string
beforeEach(async () => {
  grid = await testGrid()
  settings = `/accounts/${grid.acme.id}/settings/account/export`
})
const switchReading = (since: number | null) =>
  grid.acme.store.write([grid.acme.store.change.profile.setPeopleRead(since)])
const fingerprintOn = (html: string) => html.match(/SHA256:[\w-]{43}(?=<)/)![0]

test('an owner downloads an archive with the fingerprint shown on the page, and Activity records the export', async () => {
  const owner = await signedIn(grid, await person(grid, { role: 'owner' }))
  const { html } = await owner.open(settings)
  const fingerprint = fingerprintOn(html)

  const response = await postWithToken(owner, settings)

  const archive = { text: response.html, fingerprint }
  expect(response.status).toBe(200)
  expect(await check(archive)).toBeGreaterThan(3)
  expect((await importInto((await emptyGrid()).store, archive)).keys).toHaveLength(2)
  expect((await activityOf(grid)).at(-1)).toMatchObject({ tool: 'export_account', outcome: 'ok' })
})

test('an archive omits texts that the owner may not read, and the manifest says how many', async () => {
  const { personAlias, person: ann } = await personWithAlias(grid, 'ann', { role: 'owner' })
  const { channel } = await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'ann'] })
  await createChannel(grid.acme.store, { name: 'other', members: ['alice', 'bob'] })
  const alice = storeOf(grid, grid.alice)
  await switchReading(null)
  await sendMessage(alice, { to: 'bob', text: 'between agents' })
  await sendMessage(alice, { to: '#other', text: 'in another channel' })
  await sendMessage(alice, { to: personAlias.alias, text: 'to the owner' })
  await sendMessage(alice, { to: `#${channel.name}`, text: 'in a channel of the owner' })
  const owner = await signedIn(grid, ann)
  const exported = async () => {
    const { html: text } = await postWithToken(owner, settings)
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

test('only an owner can export, and must first confirm their identity', async () => {
  const { store, acme, clock } = grid
  const ann = await person(grid, { role: 'owner' })
  const ben = await person(grid, { role: 'admin' })
  const exporting = (actor: UserActor) => exportForOwner(store, store.account(acme.id, actor), acme.id)

  await expect(exporting(ben.actor('admin'))).rejects.toMatchObject({ code: 'not_allowed' })
  expect((await (await signedIn(grid, ben)).open(settings)).status).toBe(403)
  const stale = { ...ann.actor('owner'), confirmedAt: clock.now - 11 * minute }
  await expect(exporting(stale)).rejects.toMatchObject({ code: 'confirmation_required' })
})

/** A word in texts that the owner may not read. */
const hiddenWords = 'osprey'

/** Writes the word everywhere that only Alice and Bob may read: messages, parts, files, tasks and held messages. */
async function writeHidden(): Promise<void> {
  const [alice, bob] = [storeOf(grid, grid.alice), storeOf(grid, grid.bob)]
  await createChannel(grid.acme.store, { name: 'pair', members: ['alice', 'bob'] })
  const raw = Buffer.from(`${hiddenWords} `.repeat(1_000)).toString('base64')
  await sendMessage(alice, {
    ...{ to: '@bob', text: `a text: ${hiddenWords}` },
    parts: [{ raw, filename: `${hiddenWords}.txt`, mediaType: 'text/plain' }, { data: { inline: hiddenWords } }],
  })
  const bytes = Buffer.from(hiddenWords)
  const file = { filename: `${hiddenWords}.upload`, bytes: bytes.length }
  const upload = await beginUpload(alice, { agentId: grid.alice.id }, file)
  await appendToUpload(alice, { agentId: grid.alice.id }, upload.upload_id, 0, each(bytes))
  await sendMessage(alice, { to: '@bob', text: 'a file', parts: [{ upload: upload.upload_id }] })
  const task = await askFor(alice, `a task: ${hiddenWords}`)
  await updateTask(bob, { taskId: task.id, text: hiddenWords, artifact: { id: 'result', name: hiddenWords } })
  // A guardrail redacts the post for Bob, so his copy is stored separately.
  await guard(grid.acme, 'bob', { direction: 'inbound', action: 'redact' })
  await sendMessage(alice, { to: '#pair', text: `${secret} and ${hiddenWords}`, parts: [{ data: { hiddenWords } }] })
  await hold(grid.acme.store)
  await sendMessage(alice, { to: '@bob', text: `held: ${hiddenWords}` })
  await grid.acme.store.write([{
    sql: 'UPDATE verdicts SET content = ? WHERE account_id = ? AND message_id IS NOT NULL',
    args: [hiddenWords, grid.acme.id],
  }])
}

async function* each(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes
}

/** Returns the archive that a member downloads, with base64 decoded. */
async function exportedBy(one: Person): Promise<string> {
  const { html } = await postWithToken(await signedIn(grid, one), settings)
  return html.replace(/(?<="content":")[\w+/=]+(?=")/g, (text) => Buffer.from(text, 'base64').toString('latin1'))
}

test('an archive has no part, file, result, redacted copy or verdict that the owner may not read', async () => {
  await switchReading(null)
  await writeHidden()
  const { person: ann } = await personWithAlias(grid, 'ann', { role: 'owner' })

  expect((await exportedBy(ann)).match(/.{0,80}osprey/gi)).toBeNull()
  await switchReading(0)
  const found = new Set([...(await exportedBy(ann)).matchAll(/^\["(\w+)".*osprey/gim)].map(([, record]) => record))
  expect([...found].sort()).toEqual(
    ['artifact_chunk', 'delivery', 'message', 'part', 'upload', 'upload_piece', 'verdict'],
  )
})

test('an archive includes channel posts and their parts since the owner joined, and no earlier ones', async () => {
  await switchReading(null)
  const { person: ann } = await personWithAlias(grid, 'ann', { role: 'owner' })
  await createChannel(grid.acme.store, { name: 'ops', members: ['alice', 'bob'] })
  const post = (text: string) =>
    sendMessage(storeOf(grid, grid.alice), {
      ...{ to: '#ops', text: `${text} post` },
      parts: [{ raw: Buffer.from(`${text} file `.repeat(1_000)).toString('base64') }],
    })
  await post('earlier')
  grid.clock.now += 1
  await changeChannelMembers(grid.acme.store, { channel: 'ops', add: ['ann'] })
  await post('later')

  const found = (await exportedBy(ann)).match(/(earlier|later) (post|file)/g)
  expect([...new Set(found)]).toEqual(['later post', 'later file'])
})
