/**
 * The isolation matrix: no account can read, change or detect anything of another account.
 *
 * Each text argument of each call (`support/calls.ts`, which reads the registries of tools and routes) is given values
 * that name objects of another account: ids, names and aliases of each kind, including those of deleted objects. The
 * response must equal that for an unused value, byte for byte except for the value itself. The owner's rows must stay
 * the same, and no response may contain an id, a name or a hash of the owner. So "not yours" and "does not exist" are
 * indistinguishable.
 *
 * A new tool or route needs no change here if its fields are named like existing ones. A field for a new kind of object
 * needs a value in `isolated-accounts.ts`, and an entry in `ownNames`.
 *
 * See docs/security.md, "Four nets".
 */
import { afterAll, describe, expect, test } from 'vitest'
import { argumentsWith, type Call, calls, type Names, textPaths, validArguments } from './support/calls.ts'
import {
  type Form,
  isId,
  isolatedAccounts,
  type NamesByForm,
  unusedLike,
  withoutEcho,
} from './support/isolated-accounts.ts'
import { accessTokenFor } from './support/oauth-token.ts'
import { membership, person } from './support/people.ts'

/** Returns the arguments of a call that name objects of the calling account. */
function ownNames(own: NamesByForm, { door, name }: Call): Names {
  const creates = /create|^(POST|PATCH) .*(guardrails|approval-rules|keys)/.test(name)
  const agent = name.includes('delete') ? own['agent alias'] : 'mate'
  return {
    to: '@mate',
    message: 'hi',
    agent: '@mate',
    alias: creates ? 'fresh-one' : agent,
    name: creates ? 'fresh-one' : 'home',
    members: ['own-0', own['agent alias']],
    guardrail: own['guardrail name'],
    channel: own['channel name'],
    rule: own['rule id'],
    ...name.includes('approval-rules') && { from: `@${own['agent alias']}`, to: `#${own['channel name']}` },
    deciders: own['user id'],
    guardrails: ['own-0', own['guardrail name']],
    provider: 'pii',
    id: door === 'a2a' ? own['asked task id'] : own[name.includes('parts') ? partOf(name) : idOf(name)],
    'DELETE /api/v1/messages/{id} id': own['message id'],
    message_id: own['message id'],
    reply_to_message_id: own['message id'],
    message_ids: own['leased message id'],
    part_id: own['part id'],
    task_id: own['task id'],
    lease: own['lease id'],
    'metadata.to': '@mate',
    'acks.lease_id': own['lease id'],
    'read_messages message_id': own['leased message id'],
    'search_messages query': 'hi',
    names: 'fresh-one',
    'GET /api/v1/reservations name': 'fresh-one',
    'update_task message_id': own['unread message id'],
    'POST /api/v1/inbox/leases message_ids': own['unread message id'],
  }
}

/** The kind of object that the `id` of an admin tool names. */
const idOf = (tool: string) => tool.includes('channel') ? 'channel id' : 'agent id'

/** The kind of object that the `id` of a route names. */
const partOf = (route: string) => /^PUT|upload$/.test(route) ? 'upload id' : 'part id'

const ofTexts: Form[] = [
  'agent id',
  'agent alias',
  'channel name',
  'guardrail name',
  'rule id',
  'skill name',
  'message id',
  'idempotency key',
  'task id',
]

/** Aliases are unique on the grid, so these responses differ. See docs/security.md, "Account isolation". */
const mayDiffer = (call: Call, path: string, form: Form) =>
  /alias/.test(form) &&
  ['admin_create_agent alias', 'POST /api/v1/agents/{agent}/keys agent'].includes(`${call.name} ${path}`)

describe("an argument that names another account's object", async () => {
  const world = await isolatedAccounts()
  const { grid } = world
  // The user who granted the admin's token owns both accounts. The token is for one of them.
  const olga = await person(grid, { role: 'owner', account: world.owner })
  await grid.store.write([membership(grid.store, world.caller.id, olga.id, 'owner', grid.clock.now)])
  const { token } = await accessTokenFor(grid, olga.id, world.caller.id)
  await world.callMcp(token, 'none', {})

  const callers = { admin: token, agent: grid.eve.key, 'agent key': grid.eve.key, 'agent access token': undefined }
  const cases = calls.filter((call) => callers[call.caller] && textPaths(call).length > 0)
    .map((call) => [call.name, call] as const)
  let values = 0
  afterAll(() => console.log(`isolation matrix: ${cases.length} calls, ${values} values`))

  // The caller's agents wrote to the owner, so its rows name them.
  const rowsOfCaller = await world.dumpCaller()
  const secrets = world.secrets.filter((secret) => !rowsOfCaller.includes(secret))
  const secretsIn = (text: string) => secrets.filter((secret) => text.includes(secret))

  function answerTo({ door, name, caller }: Call, args: Record<string, unknown>) {
    if (door === 'a2a') return world.callA2a(name, args)
    return door === 'mcp' ? world.callMcp(callers[caller]!, name, args) : world.callRest(callers[caller]!, name, args)
  }

  /** Resets the caller's account, and creates new objects of every kind in it. */
  async function restored(): Promise<{ own: NamesByForm; rows: string }> {
    await world.reset()
    const own = await world.createOwn()
    return { own, rows: await world.dumpCaller() }
  }

  test.each(cases)("in %s, another account's object gets the response of an unused name", async (_, call) => {
    const owner = await world.dumpOwner()
    let { own, rows } = await restored()
    const names = () => ownNames(own, call)
    const valid = await answerTo(call, validArguments(call, names()))
    expect(valid.outcome, `with valid arguments: ${valid.text}`).toBe('ok')
    expect(secretsIn(valid.text)).toEqual([])
    ;({ own, rows } = await restored())

    /** Returns the response to a value, and undoes the call's changes unless it was refused and changed nothing. */
    const answer = async (path: string, value: string) => {
      values++
      const response = await answerTo(call, argumentsWith(call, names(), path, value))
      const bare = withoutEcho(response, value)
      const told = value === '' ? response.text : response.text.replaceAll(value.replace(/^[@#]/, ''), '…')
      expect(secretsIn(told), `${path} = ${value}`).toEqual([])
      const after = await world.dumpCaller()
      if (response.outcome !== 'ok') expect(after, `${path} = ${value} was refused`).toBe(rows)
      if (after !== rows) ({ own, rows } = await restored())
      return { ...response, bare }
    }

    for (const path of textPaths(call)) {
      let toUnusedId: string | undefined
      /** The response to an unused value of the same form. It is the same for all ids, so only one id is tried. */
      const answerToUnused = async (value: string) => {
        const unused = unusedLike(value)
        if (!isId(unused)) return (await answer(path, unused)).bare
        return toUnusedId ??= (await answer(path, unused)).bare
      }
      const field = path.replace('[]', '')
      const given = names()[`${call.name} ${field}`] ?? names()[field]
      const named = [given ?? []].flat().at(-1)
      // Checks first that the caller's own object is found, because otherwise two unrelated refusals would be compared.
      if (named !== undefined && named !== 'fresh-one' && !['message', 'provider'].includes(field)) {
        const found = await answer(path, named)
        expect([path, found.outcome]).toEqual([path, 'ok'])
        expect(found.bare, `${path} is not looked up`).not.toBe((await answer(path, unusedLike(named))).bare)
      }
      // A field that accepts any text is tried with fewer values, because each of them changes something.
      const isText = (await answer(path, 'a text')).outcome === 'ok'
      for (const form of isText ? ofTexts : Object.keys(world.foreign) as Form[]) {
        for (const { [form]: value } of [world.foreign, world.deletedForeign]) {
          if (value === undefined || mayDiffer(call, path, form)) continue
          expect((await answer(path, value)).bare, `${path} = ${form}`).toBe(await answerToUnused(value))
        }
      }
    }
    expect(await world.dumpOwner()).toBe(owner)
  })
})
