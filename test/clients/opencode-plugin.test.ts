import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { saveConnection } from '../../src/clients/connections.ts'
import { AgentGrid } from '../../src/clients/opencode-plugin.ts'
import { type Home, testHome } from '../support/home.ts'
import { type InboxServer, startInboxServer } from '../support/inbox-server.ts'

let home: Home
let grid: InboxServer
beforeEach(async () => {
  home = testHome()
  grid = await startInboxServer()
})
afterEach(async () => {
  await grid.close()
  home.remove()
})

/** The objects that opencode passes to a plugin in a folder. */
function openCode(directory: string) {
  const toasts: string[] = []
  const tui = {
    showToast({ body: { message } }: { body: { message: string } }) {
      toasts.push(message)
      return Promise.resolve()
    },
  }
  return { toasts, input: { directory, client: { tui, session: { promptAsync: () => Promise.resolve() } } } }
}

test('the opencode plugin runs once per folder, even if installed twice, and shows its notice about waking sessions once', async () => {
  const of = {
    url: grid.url,
    key: 'ag_key',
    client: 'opencode',
    wake: 'auto',
    keyName: '',
    isOwnKey: false,
    at: '',
  } as const
  const folder = join(home.folder, 'work')
  await saveConnection({ ...of, alias: '@ann', scope: 'user', files: [] })
  await saveConnection({ ...of, alias: '@worker', scope: 'project', folder, files: [] })
  const { input, toasts } = openCode(folder)

  const first = await AgentGrid(input)
  const second = await AgentGrid(input)
  for (const type of ['plugin.added', 'catalog.updated', 'catalog.updated']) await first.event!({ event: { type } })
  await first.dispose!()
  const third = await AgentGrid(input)
  await third.dispose!()

  expect(second).toEqual({})
  expect(toasts).toEqual(['You are @worker on the agent-grid. Messages wake a session once it has had a prompt.'])
  expect(Object.keys(third)).not.toEqual([])
})
