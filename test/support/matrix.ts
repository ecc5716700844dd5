/** One case of the isolation matrix: an account names something in one parameter of one tool. */
import { expect } from 'vitest'
import { type Answer, type Islands, standIn, withoutSaid } from './islands.ts'
import { expectedOutcome, type Form, type NamingParameter, type State, type ToolRow, withValue } from './parameters.ts'

export interface Case {
  tool: string
  row: ToolRow
  path: string
  parameter: NamingParameter
  state: State
  form: Form
  call(tool: string, args: Record<string, unknown>): Promise<Answer>
}

/**
 * Names it, and expects that what belongs to a stranger is answered like what never existed, that the answer holds
 * nothing of the stranger's, and that the stranger's rows are the same afterwards.
 */
export async function expectUntold(world: Islands, at: Case): Promise<void> {
  const { tool, row, path, parameter, state, form, call } = at
  const value = await valueOf(world, state, form)
  const before = { acme: await world.acme(), evil: await world.evil() }

  const answer = await call(tool, withValue(row, path, value))

  expect(await world.acme()).toBe(before.acme)
  if (answer.outcome !== 'ok') expect(await world.evil()).toBe(before.evil)
  const said = withoutSaid(answer, value)
  expect(world.secrets.filter((secret) => said.includes(secret))).toEqual([])
  const expected = expectedOutcome(parameter, state, form)
  if (expected === undefined) {
    await world.reset()
    const other = standIn(await valueOf(world, state, form))
    const random = await call(tool, withValue(row, path, other))
    expect(said).toBe(withoutSaid(random, other))
  } else {
    expect(answer.outcome).toBe(expected)
  }
}

async function valueOf({ foreign, deletedForeign, ...world }: Islands, state: State, form: Form): Promise<string> {
  if (state === 'empty') return ''
  if (state === 'random') return standIn(foreign[form])
  if (state === 'foreign') return foreign[form]
  if (state === 'deleted foreign') return deletedForeign[form]!
  return state === 'deleted own' ? (await world.deletedOwn())[form]! : (await world.own())[form]
}
