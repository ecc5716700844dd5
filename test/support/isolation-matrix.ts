/**
 * One case of the isolation matrix: an account names something in one parameter of one tool.
 *
 * The matrix checks that no account can read, change or learn about anything of another account. See
 * docs/security.md, "Isolation matrix". Its cases are generated from a few declarations:
 *
 * - `tool-parameters.ts` has the rows: one per tool of the MCP endpoints, per REST route of admins and per method of A2A. A row has the arguments
 *   of a valid call and, for every text parameter of the tool, what the parameter names: the forms that it accepts (an
 *   agent id, a channel name, ...), and the outcomes for values of the own account, unknown values and the empty text.
 *   A parameter that names nothing, such as a description, is the row entry `'text'` and makes no cases.
 * - `casesOf` multiplies a parameter by every form and by every state of the named thing: own, foreign, deleted own,
 *   deleted foreign; then one random and one empty value.
 * - `isolated-accounts.ts` makes two accounts. The owner (Acme) has one of everything; the caller (Evil) names it, and
 *   is reset to the same state after each case.
 * - `expectIsolated`, below, runs one case. The rows of the owner must stay the same, and the response must contain none
 *   of its ids, names and hashes. A refused call must also leave the caller's rows unchanged. The outcome is the
 *   expected one if the row states it; otherwise the whole response must equal the response for a random value, byte
 *   for byte except for the value itself. So "not yours" and "does not exist" cannot be told apart.
 *
 * The roles matrix (`test/roles.test.ts`) uses the same rows: it calls every tool with every kind of credential, and
 * its rows are the credentials in `holdersOf`, each with the toolset that it opens.
 *
 * To add
 *
 * - a tool: add its row to `tool-parameters.ts`, in the order of `tools/list`. Both matrices compare their rows with the
 *   listed tools and fail until they match.
 * - a REST route for admins: add its row to `restRows` there.
 * - a verb (an exported function of `src/grid` that takes an `AccountStore`): add a probe, or the reason why it needs
 *   none, to `isolation-probes.ts`.
 * - a form: extend `forms`, and create something that it names in `isolated-accounts.ts`.
 */
import { expect } from 'vitest'
import { type IsolatedAccounts, type ToolResponse, unusedLike, withoutEcho } from './isolated-accounts.ts'
import {
  expectedOutcome,
  type Form,
  type NamingParameter,
  type State,
  type ToolRow,
  withValue,
} from './tool-parameters.ts'

export interface IsolationCase {
  tool: string
  row: ToolRow
  /** The parameter, for example `members[]` or `skills[].name`. */
  path: string
  parameter: NamingParameter
  state: State
  form: Form
  call(tool: string, args: Record<string, unknown>): Promise<ToolResponse>
}

/** Run a case and check that the owner's data is neither changed nor revealed. */
export async function expectIsolated(world: IsolatedAccounts, testCase: IsolationCase): Promise<void> {
  const { tool, row, path, parameter, state, form, call } = testCase
  const value = await valueOf(world, state, form)
  const before = { owner: await world.dumpOwner(), caller: await world.dumpCaller() }

  const response = await call(tool, withValue(row, path, value))

  expect(await world.dumpOwner()).toBe(before.owner)
  if (response.outcome !== 'ok') expect(await world.dumpCaller()).toBe(before.caller)
  const bare = withoutEcho(response, value)
  expect(world.secrets.filter((secret) => bare.includes(secret))).toEqual([])
  const expected = expectedOutcome(parameter, state, form)
  if (expected === undefined) {
    await world.reset()
    const unused = unusedLike(await valueOf(world, state, form))
    const unusedResponse = await call(tool, withValue(row, path, unused))
    expect(bare).toBe(withoutEcho(unusedResponse, unused))
  } else {
    expect(response.outcome).toBe(expected)
  }
}

async function valueOf(
  { foreign, deletedForeign, ...world }: IsolatedAccounts,
  state: State,
  form: Form,
): Promise<string> {
  if (state === 'empty') return ''
  if (state === 'random') return unusedLike(foreign[form])
  if (state === 'foreign') return foreign[form]
  if (state === 'deleted foreign') return deletedForeign[form]!
  return state === 'deleted own' ? (await world.createDeletedOwn())[form]! : (await world.createOwn())[form]
}
