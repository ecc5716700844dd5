import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type Connection,
  connectionsPath,
  findConnection,
  readConnections,
  removeConnection,
  saveConnection,
} from '../../src/clients/connections.ts'
import { clientNames } from '../../src/clients/programs.ts'
import { type Home, testHome } from '../support/home.ts'

let home: Home
beforeEach(() => {
  home = testHome()
})
afterEach(() => home.remove())

const work = '/home/ann/work'

function connection(changes: Partial<Connection>): Connection {
  return {
    url: 'https://grid.example',
    alias: '@ann',
    key: 'k1',
    client: 'claude',
    scope: 'user',
    wake: 'auto',
    keyName: '',
    isOwnKey: true,
    files: [],
    at: '',
    ...changes,
  }
}

test('a client has one connection for the user and one per project, and only the user can read them', async () => {
  await saveConnection(connection({}))
  await saveConnection(connection({ alias: '@bob', key: 'k2' }))
  await saveConnection(connection({ alias: '@eve', scope: 'project', folder: work }))

  expect(readConnections().map(({ alias }) => alias)).toEqual(['@bob', '@eve'])
  expect(statSync(connectionsPath()).mode & 0o777).toBe(0o600)
  expect(statSync(join(connectionsPath(), '..')).mode & 0o777).toBe(0o700)
  await removeConnection({ client: 'claude', scope: 'user' })
  expect(readConnections().map(({ alias }) => alias)).toEqual(['@eve'])
})

test('connections saved at the same time are all stored', async () => {
  await Promise.all(clientNames.map((client) => saveConnection(connection({ client }))))

  expect(readConnections().map(({ client }) => client).toSorted()).toEqual(clientNames.toSorted())
})

test.each([
  ['of the project around a folder', { cwd: `${work}/src` }, '@eve'],
  ['of the user elsewhere', { cwd: '/home/ann/workshop' }, '@ann'],
  ['of a client', { client: 'codex', cwd: '/' }, '@bob'],
  ['of an alias, with or without @', { alias: 'Bob', cwd: '/' }, '@bob'],
  ['of an address, with or without / at its end', { url: 'https://other.example/', cwd: '/' }, '@bob'],
])('the connection %s is found', async (_, query, alias) => {
  await saveConnection(connection({}))
  await saveConnection(connection({ alias: '@eve', scope: 'project', folder: work }))
  if (alias === '@bob') await saveConnection(connection({ client: 'codex', alias, url: 'https://other.example' }))

  expect(findConnection(query)?.alias).toBe(alias)
})

test('if several agents match, the error names them, and an agent connected in two clients counts once', async () => {
  await saveConnection(connection({}))
  await saveConnection(connection({ client: 'codex' }))
  expect(findConnection({ cwd: '/' })?.alias).toBe('@ann')
  await saveConnection(connection({ client: 'gemini', alias: '@bob' }))

  expect(() => findConnection({ cwd: '/' })).toThrow(
    'Several agents are connected: @ann of https://grid.example, @bob of https://grid.example. Choose one with --as',
  )
  expect(findConnection({ alias: '@nobody', cwd: '/' })).toBeUndefined()
})

test('the environment takes precedence over the connections', async () => {
  await saveConnection(connection({}))
  Object.assign(process.env, { AGENT_GRID_URL: 'https://env.example/', AGENT_GRID_KEY: 'k9' })
  expect(findConnection()).toEqual({ url: 'https://env.example', key: 'k9' })

  process.env.AGENT_GRID_ALIAS = 'carol'
  expect(findConnection()).toMatchObject({ alias: '@carol' })
  expect(findConnection({ alias: '@dan' })).toMatchObject({ alias: '@dan', key: 'k9' })
})

test('a file that is not a list of connections is never overwritten', async () => {
  await saveConnection(connection({}))
  for (const text of ['', '{"connections": 1}', '[]']) {
    writeFileSync(connectionsPath(), text)
    expect(() => readConnections()).toThrow(/is not a list of connections/)
    await expect(saveConnection(connection({}))).rejects.toThrow(/is not a list of connections/)
  }
})
