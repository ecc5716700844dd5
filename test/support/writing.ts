/** A grid with a person who writes. Messages are placed in conversations as they arrive. */
import { placeOfSent } from '../../src/grid/conversations/write.ts'
import type { Browser } from './browse.ts'
import type { Visitor } from './browser.ts'
import { follow } from './conversations.ts'
import { storeOf, type TestAgent, type TestGrid } from './grid.ts'
import { sendMessage } from './messaging.ts'
import { signedIn } from './people.ts'
import { type PersonWithAlias, personWithAlias } from './person-aliases.ts'

export interface WritingGrid<T extends TestGrid> {
  grid: T
  /** A member with the alias `ann`, and the member's browser. */
  ann: PersonWithAlias
  browser: Browser
  /** Returns a path in the account. */
  path(...parts: (string | number)[]): string
  /** Sends as an agent of the account. Resolves once the message is placed. */
  tell(agent: TestAgent, to: string, text: string, more?: object): Promise<{ id: string; seq: number; thread: number }>
  close(): Promise<void>
}

/** Follows a grid's log, and adds a member to the account. */
export async function writingGrid<T extends TestGrid>(grid: T): Promise<WritingGrid<T>> {
  const stop = follow(grid.store)
  const ann = await personWithAlias(grid, 'ann', { name: 'Ann' })
  return {
    grid,
    ann,
    browser: await signedIn(grid, ann.person),
    path: (...parts) => ['/accounts', grid.acme.id, ...parts].join('/'),
    async tell(agent, to, text, more = {}) {
      const account = storeOf(grid, agent)
      const { id } = await sendMessage(account, { to, text, ...more })
      const { seq, threadId } = (await placeOfSent(account, id))!
      return { id, seq, thread: threadId }
    },
    async close() {
      await stop()
      await grid.close()
    },
  }
}

/** Signs in a Chromium visitor as the user of `browser`. */
export async function signIn({ context }: Pick<Visitor, 'context'>, browser: Browser, url: string): Promise<void> {
  await context.addCookies([...browser.cookies].map(([name, value]) => ({ name, value, url })))
}
