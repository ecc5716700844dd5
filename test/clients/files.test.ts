/** What `connect` writes into the files of clients, and `disconnect` takes out again. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { clientNames, conversationTools } from '../../src/clients/programs.ts'
import { connectFiles, disconnectFiles } from '../support/connected.ts'
import { type Home, testHome } from '../support/home.ts'
import { type StartingState, startingStates } from './starting-states.ts'

const allowedTools = conversationTools
const key = `grid_agt_${'k'.repeat(49)}`
let home: Home
beforeEach(() => {
  home = testHome()
})
afterEach(() => home.remove())

/** Write the files of a state. Returns the folder of its project. */
function begin({ files, project }: StartingState): string | undefined {
  for (const [path, file] of Object.entries(files)) home.write(path, file)
  return project === undefined ? undefined : join(home.folder, project)
}

test.each(startingStates)('$title: connected and disconnected, every byte is as before', (state) => {
  const { client, meanwhile, after } = state
  const folder = begin(state)
  const before = home.tree()

  const connection = connectFiles(client, { folder, allowedTools })
  const connected = home.tree()
  meanwhile?.(home)
  const changed = home.tree()
  const again = connectFiles(client, { folder, allowedTools }, connection)

  expect(connected).not.toEqual(before)
  expect(home.tree(), 'connected twice').toEqual(changed)
  expect(disconnectFiles(again)).toEqual([])
  expect(home.tree()).toEqual({ ...before, ...after })
})

test.each(startingStates)('$title: connected as another agent and disconnected, every byte is as before', (state) => {
  const folder = begin(state)
  const before = home.tree()

  const first = connectFiles(state.client, { folder, allowedTools })
  const other = { folder, alias: '@bob', key: `grid_agt_${'b'.repeat(49)}`, wake: 'start' as const }
  const second = connectFiles(state.client, other, first)
  const texts = Object.values(home.tree()).join('\n')
  expect(texts).not.toContain('@ann')
  expect(texts).not.toContain(key)
  disconnectFiles(second)

  expect(home.tree()).toEqual(before)
})

test.each(clientNames)('%s: a file with a key is for the user only, and the files of a project have none', (client) => {
  const folder = join(home.folder, 'work')
  mkdirSync(folder)
  connectFiles(client)
  const withKey = Object.values(home.tree()).filter((file) => file.includes(key))
  for (const file of withKey) expect(file).toMatch(/^600 /)

  connectFiles(client, { folder })
  const ofProject = Object.entries(home.tree()).filter(([path]) => path.startsWith('work'))
  expect(ofProject.length).toBeGreaterThan(1)
  for (const [path, file] of ofProject) expect(file, path).not.toContain('grid_agt_')
})

test('a comment stays with its value, and a trailing comma with the file that has one', () => {
  home.write('.claude/settings.json', '{\n  "model": "opus" // big\n}\n')
  home.write('.gemini/settings.json', '{\n  "a": 1,\n}\n')
  const [claude, gemini] = [connectFiles('claude'), connectFiles('gemini')]
  expect(home.read('.claude/settings.json')).toContain('  "model": "opus", // big\n')

  for (const path of ['.claude/settings.json', '.gemini/settings.json']) home.write(path, `// mine\n${home.read(path)}`)
  disconnectFiles(claude)
  disconnectFiles(gemini)
  expect(home.read('.claude/settings.json')).toBe('// mine\n{\n  "model": "opus" // big\n}\n')
  expect(home.read('.gemini/settings.json')).toBe('// mine\n{\n  "a": 1,\n}\n')
})
