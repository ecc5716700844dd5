/** Links in projects that somebody else made, and damaged files of state. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { placeOf, planConnect, setupOf } from '../../src/clients/connect.ts'
import { clientNames } from '../../src/clients/programs.ts'
import { stateFolder } from '../../src/clients/state/paths.ts'
import { claimUntold } from '../../src/clients/state/told.ts'
import { type Home, testHome } from '../support/home.ts'

const key = `grid_agt_${'k'.repeat(49)}`
const agent = { url: 'https://grid.example', alias: '@ann' }
let home: Home
beforeEach(() => {
  home = testHome()
})
afterEach(() => home.remove())

test.each(clientNames)('a link of a project does not lead to another file of the user: %s', (client) => {
  const folder = join(home.folder, 'project')
  const plan = () => {
    const connection = { ...placeOf(client, folder), ...agent, key, wake: 'auto' as const }
    return planConnect(client, setupOf(connection), undefined)
  }
  mkdirSync(folder)
  const { changes } = plan()
  const own = changes.map(({ path }) => path).filter((path) => path.startsWith(folder))
  expect(own).not.toEqual([])
  home.write('elsewhere/file', '{}')
  home.write('project/real/file', '{}')

  // Links of the folder right below the project: out of it, and within it.
  const top = own[0].slice(folder.length + 1).split(/[/\\]/)[0]
  const isFolder = own[0] !== join(folder, top)
  home.write(`project/${top}`, { link: join(home.folder, 'elsewhere', isFolder ? '' : 'file') })
  const before = home.tree()
  expect(plan).toThrow('is a link out of the project')
  expect(home.tree()).toEqual(before)
})

test.each(['[', '[{"id": 7}, null, {"id": "a", "times": "x"}]', '{"__proto__": 1}', '[[]]', ''])(
  'damaged state of a client is as none: %j',
  async (text) => {
    writeFileSync(join(stateFolder(agent), 'told.json'), text)
    const message = { message_id: 'b' }
    expect(await claimUntold(agent, [message], { session: 's' })).toEqual([message])
    expect(await claimUntold(agent, [message], { session: 's' })).toEqual([])
  },
)
