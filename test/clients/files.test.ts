/** What `connect` writes into the files of clients, and `disconnect` takes out again. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { applyChanges } from '../../src/clients/files/change.ts'
import { placeOf, planConnect, planDisconnect, setupOf } from '../../src/clients/connect.ts'
import type { Connection } from '../../src/clients/connections.ts'
import type { ClientName } from '../../src/clients/programs.ts'
import { type Home, testHome } from '../support/home.ts'
import { startingStates } from './starting-states.ts'

const key = `grid_agt_${'k'.repeat(49)}`
let home: Home
beforeEach(() => {
  home = testHome()
})
afterEach(() => home.remove())

/** Connect a client, without a grid. */
function connect(client: ClientName, folder?: string, changes: Partial<Connection> = {}, previous?: Connection) {
  const place = placeOf(client, folder)
  const connection = { ...place, url: 'https://grid.example', alias: '@ann', key, wake: 'auto' as const, ...changes }
  const plan = planConnect(client, setupOf(connection), previous)
  applyChanges(plan.changes)
  return { ...connection, keyName: 'x', isOwnKey: true, at: '', files: plan.files }
}

test.each(startingStates)('$title: connected and disconnected, every byte is as before', (state) => {
  const { client, files, project, meanwhile, after } = state
  for (const [path, file] of Object.entries(files)) home.write(path, file)
  const folder = project === undefined ? undefined : join(home.folder, project)
  const before = home.tree()

  const connection = connect(client, folder)
  expect(home.tree()).not.toEqual(before)
  meanwhile?.(home)
  const plan = planDisconnect(connection)
  applyChanges(plan.changes)

  expect(plan.left).toEqual([])
  expect(home.tree()).toEqual({ ...before, ...after })
})

test('there are at least 40 of them', () => {
  expect(startingStates.length).toBeGreaterThanOrEqual(40)
})

test.each(startingStates)(
  '$title: connected twice, nothing changes the second time',
  ({ client, files, project, meanwhile }) => {
    for (const [path, file] of Object.entries(files)) home.write(path, file)
    const folder = project === undefined ? undefined : join(home.folder, project)
    const connection = connect(client, folder)
    meanwhile?.(home)
    const between = home.tree()

    const again = connect(client, folder, {}, connection)
    expect(home.tree()).toEqual(between)
    expect(again.files).toEqual(connection.files)
  },
)

test.each(startingStates)('$title: connected as another agent and disconnected, every byte is as before', (state) => {
  const { client, files, project } = state
  for (const [path, file] of Object.entries(files)) home.write(path, file)
  const folder = project === undefined ? undefined : join(home.folder, project)
  const before = home.tree()

  const first = connect(client, folder)
  const other = { alias: '@bob', key: `grid_agt_${'b'.repeat(49)}`, wake: 'start' as const }
  const second = connect(client, folder, other, first)
  const texts = Object.values(home.tree()).join('\n')
  expect(texts).not.toContain('@ann')
  expect(texts).not.toContain(key)
  applyChanges(planDisconnect(second).changes)

  expect(home.tree()).toEqual(before)
})

test.each(['claude', 'codex', 'opencode', 'gemini', 'copilot', 'cursor', 'vscode'] as const)(
  '%s: a file with a key is for the user only, and the files of a project have none',
  (client) => {
    const folder = join(home.folder, 'work')
    mkdirSync(folder)
    connect(client)
    const ofUser = Object.values(home.tree())
    for (const file of ofUser.filter((file) => file.includes(key))) expect(file).toMatch(/^600 /)

    connect(client, folder)
    const ofProject = Object.entries(home.tree()).filter(([path]) => path.startsWith('work'))
    expect(ofProject.length).toBeGreaterThan(1)
    for (const [path, file] of ofProject) expect(file, path).not.toContain('grid_agt_')
  },
)
