/** People with an alias in an account of a test grid. */
import type { Role } from '../../src/auth/actor.ts'
import { chooseAlias, type Seat } from '../../src/grid/people/seats.ts'
import type { AccountStore } from '../../src/store/account.ts'
import type { TestAccount, TestGrid } from './grid.ts'
import { type Person, person } from './people.ts'

export interface SeatedPerson {
  person: Person
  /** The account, as this person in the browser. */
  account: AccountStore
  seat: Seat
}

/** A member of the account, as they are in the browser. */
export async function member(
  grid: TestGrid,
  { role = 'member', account = grid.acme, name }: { role?: Role; account?: TestAccount; name?: string } = {},
): Promise<{ person: Person; account: AccountStore }> {
  const one = await person(grid, { role, account, name })
  return { person: one, account: grid.store.account(account.id, one.actor(role)) }
}

/** A member of the account who has chosen an alias. */
export async function seated(
  grid: TestGrid,
  alias: string,
  options?: { role?: Role; account?: TestAccount; name?: string },
): Promise<SeatedPerson> {
  const one = await member(grid, options)
  return { ...one, seat: await chooseAlias(one.account, { alias }) }
}
