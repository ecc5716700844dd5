/** People with an alias in a test grid's account. */
import type { Role } from '../../src/auth/actor.ts'
import { chooseAlias, type PersonAlias } from '../../src/grid/people/person-aliases.ts'
import type { AccountStore } from '../../src/store/account.ts'
import type { TestAccount, TestGrid } from './grid.ts'
import { type Person, person } from './people.ts'

export interface PersonWithAlias {
  person: Person
  /** The account as this person sees it in the browser. */
  account: AccountStore
  personAlias: PersonAlias
}

/** Creates a member of the account, and opens the account as the member sees it in the browser. */
export async function member(
  grid: TestGrid,
  { role = 'member', account = grid.acme, name }: { role?: Role; account?: TestAccount; name?: string } = {},
): Promise<{ person: Person; account: AccountStore }> {
  const one = await person(grid, { role, account, name })
  return { person: one, account: grid.store.account(account.id, one.actor(role)) }
}

/** Creates a member of the account who has chosen an alias. */
export async function personWithAlias(
  grid: TestGrid,
  alias: string,
  options?: { role?: Role; account?: TestAccount; name?: string },
): Promise<PersonWithAlias> {
  const one = await member(grid, options)
  return { ...one, personAlias: await chooseAlias(one.account, { alias }) }
}
