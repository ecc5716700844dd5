/** Which found rows a look-up keeps, and what drops them. See docs/security.md, "Look-ups in memory". */
import { beforeEach, expect, test } from 'vitest'
import { type Lookup, Lookups } from '../../src/store/lookups.ts'
import { hold } from '../support/write-queue.ts'

interface Found {
  id: string
  account: string
}

const sql = 'select "agents"."id" from "agents" where "agents"."alias" = ? and "agents"."deleted_at" is null'
const rename = (account?: string) => ({ sql: 'update "agents" set "alias" = ?', args: [], account })

let lookups: Lookups
let lookup: Lookup<Found>
/** What the database has, and the keys that it was asked for. */
let stored: Record<string, Found>
let asked: string[]
beforeEach(() => {
  lookups = new Lookups(true)
  lookup = lookups.of({ sql })
  stored = { bob: { id: 'b1', account: 'acme' }, eve: { id: 'e1', account: 'evil' } }
  asked = []
})

test('a found row is asked for once', async () => {
  expect(await ask('bob')).toEqual({ id: 'b1', account: 'acme' })
  expect(await ask('bob')).toEqual({ id: 'b1', account: 'acme' })

  expect(asked).toEqual(['bob'])
})

test('what was not found is asked for each time', async () => {
  for (let n = 0; n < 3; n++) expect(await ask('nobody')).toBeUndefined()

  expect(asked).toEqual(['nobody', 'nobody', 'nobody'])
})

test('a row without accounts is not kept', async () => {
  for (let n = 0; n < 2; n++) await lookup.find('bob', read('bob'), () => undefined)

  expect(asked).toEqual(['bob', 'bob'])
})

test('a kept row cannot be changed by those who share it', async () => {
  const found = (await ask('bob'))!

  expect(() => found.id = 'mine').toThrow(TypeError)
})

test('a look-up that is made while a commit is under way hears of its end', async () => {
  const end = lookups.changing([rename('acme')])
  lookup = lookups.of({ sql })
  await ask('bob')
  end()
  await ask('bob')

  expect(asked).toEqual(['bob', 'bob'])
})

test('where other processes can write, nothing is kept', async () => {
  lookups = new Lookups(false)
  lookup = lookups.of({ sql })

  for (let n = 0; n < 2; n++) await ask('bob')

  expect(asked).toEqual(['bob', 'bob'])
})

test('when the file is no longer ours, kept rows are not used', async () => {
  await ask('bob')
  lookups.end()
  await ask('bob')

  expect(asked).toEqual(['bob', 'bob'])
})

test.each<[string, string | undefined, string[]]>([
  ['update "agents" set "alias" = ?', undefined, ['bob', 'eve']],
  ['update "agents" set "alias" = ?', 'acme', ['bob']],
  ['update "agents" set "deleted_at" = ?', 'evil', ['eve']],
  ['update "agents" set "last_seen_at" = ?', undefined, []],
  ['insert into "agents" ("id") values (?)', 'acme', ['bob']],
  ['delete from "agents"', undefined, ['bob', 'eve']],
  ['update "trials" set "account_id" = ?', undefined, []],
  ['select "id" from "agents"', undefined, []],
  ['drop table "trials"', undefined, ['bob', 'eve']],
])('%s of account %s drops %j', async (text, account, dropped) => {
  await Promise.all([ask('bob'), ask('eve')])
  asked = []

  lookups.changing([{ sql: text, args: [], account }])()
  await Promise.all([ask('bob'), ask('eve')])

  expect(asked).toEqual(dropped)
})

test('a row that depends on two accounts is dropped with each of them', async () => {
  const both = () => lookup.find('bob', read('bob'), () => ['acme', 'evil'])
  for (const account of ['acme', 'evil']) {
    await both()
    asked = []
    lookups.changing([rename(account)])
    await both()
    expect(asked).toEqual(['bob'])
  }
})

test('an ignored change drops nothing, and what drops one look-up need not drop another', async () => {
  const names = lookups.of<Found>({
    sql: 'select "name" from "users"',
    ignores: ({ kind, column }) => kind === 'insert' || column === 'name',
  })
  const askName = () => names.find('bob', read('bob'), () => ['acme'])
  await askName()
  asked = []
  for (const change of ['insert into "users" ("id") values (1)', 'update "users" set "name" = 1', rename().sql]) {
    lookups.changing([{ sql: change, args: [] }])()
  }
  await askName()
  expect(asked).toEqual([])

  lookups.changing([{ sql: 'delete from "users"', args: [] }])()
  await askName()
  expect(asked).toEqual(['bob'])
})

test.each<[string, (commit: () => void, ended: () => void) => void, number]>([
  ['before the commit began', () => {}, 0],
  ['before the commit, and answered while it runs', (commit) => commit(), 1],
  ['before the commit, and answered after it', (commit, ended) => [commit(), ended()], 1],
])('a row that was read %s is kept only if it is still true', async (_, run, timesAgain) => {
  const held = hold()
  const answer = held.opened.then(() => stored.bob)
  const first = lookup.find('bob', () => answer, ({ account }) => [account])
  let ended = () => {}
  run(() => ended = lookups.changing([rename('acme')]), () => ended())

  held.open()
  expect(await first).toEqual(stored.bob)
  await ask('bob')

  expect(asked).toHaveLength(timesAgain)
})

test('a row that was read while a commit runs is used until the commit has ended, and not after it', async () => {
  const ended = lookups.changing([rename('acme')])
  await ask('bob')
  ended()
  stored.bob = { id: 'b2', account: 'acme' }

  expect(await ask('bob')).toMatchObject({ id: 'b2' })
})

test('calls at the same time share a query, but not one that began before a change', async () => {
  const [first, second] = [ask('bob'), ask('bob')]
  lookups.changing([rename('acme')])()
  const third = ask('bob')

  expect(await Promise.all([first, second, third])).toHaveLength(3)
  expect(asked).toEqual(['bob', 'bob'])
})

test('a failed query fails the calls that share it, and no later one', async () => {
  const failing = () => Promise.reject(new Error('gone'))
  const answers = [lookup.find('bob', failing, () => []), ask('bob')]

  expect((await Promise.allSettled(answers)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await ask('bob')).toEqual(stored.bob)
})

test('a decision that turned out to be wrong is made anew', async () => {
  await Promise.all([ask('bob'), ask('eve')])
  lookups.forget('acme')
  await Promise.all([ask('bob'), ask('eve')])

  expect(asked).toEqual(['bob', 'eve', 'bob'])
})

test('rows are kept up to a number, those used last', async () => {
  for (let n = 0; n < 20_000; n++) stored[`a${n}`] = { id: `${n}`, account: `${n % 7}` }
  for (const key of Object.keys(stored)) await ask(key)
  asked = []

  await ask('a19999')
  await ask('a15000')
  expect(asked).toEqual([])
  await ask('a0')
  expect(asked).toEqual(['a0'])
})

test('changes of more accounts than are remembered drop everything rather than too little', async () => {
  await Promise.all([ask('bob'), ask('eve')])
  for (let n = 0; n < 10_001; n++) lookups.changing([rename(`${n}`)])
  asked = []

  await Promise.all([ask('bob'), ask('eve')])

  expect(asked).toEqual(['bob', 'eve'])
})

function ask(key: string): Promise<Found | undefined> {
  return lookup.find(key, read(key), ({ account }) => [account])
}

function read(key: string): () => Promise<Found | undefined> {
  return () => {
    asked.push(key)
    return Promise.resolve(stored[key] && { ...stored[key] })
  }
}
