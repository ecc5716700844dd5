/** What the doctor makes of machines and servers that tests do not have. See docs/operations.md, "Doctor". */
import { expect, test } from 'vitest'
import { insideFacts, type ServerFacts } from '../../src/cli/doctor/inside.ts'
import { judgeDatabase } from '../../src/cli/doctor/judge-database.ts'
import { judgeMachine } from '../../src/cli/doctor/judge-machine.ts'
import { judgeServer } from '../../src/cli/doctor/judge-server.ts'
import { judgeKeyRing, judgeRuntime } from '../../src/cli/doctor/judge-settings.ts'
import type { MachineFacts } from '../../src/cli/doctor/machine.ts'
import { type Finding, reportOf } from '../../src/cli/doctor/report.ts'
import { readConfig } from '../../src/config.ts'
import { newKeyRing } from '../../src/lib/key-ring.ts'
import { minute } from '../../src/lib/time.ts'
import { version } from '../../src/lib/version.ts'
import { testGrid } from '../support/grid.ts'

const config = readConfig({})
const gigabyte = 2 ** 30
const file = { path: '/data/grid.db', mode: 0o600, uid: 1_000, isAccessible: true }
const machine: MachineFacts = {
  folder: { ...file, path: '/data', mode: 0o700 },
  files: [file],
  uid: 1_000,
  fileSystemType: 0xef53,
  space: { free: 50 * gigabyte, total: 100 * gigabyte },
  fsyncMs: 2,
  copies: { files: [], bytes: 0 },
  keyRing: undefined,
}
const server: ServerFacts = {
  version,
  runtime: 'Node 22.0.0',
  waitingUnits: 3,
  isOverloaded: false,
  keyIds: [],
  proxies: { read: 0, ignored: 0, ignoredFrom: null },
}
const ready = { status: 200, text: '{"status":"ready"}' }

test('a good machine and a good server have no fault', () => {
  expect(bad([...judgeMachine(machine, config), ...judgeServer(config, ready, server)])).toEqual([])
})

test.each<[string, Partial<MachineFacts>, Finding['check'], Finding['status'], RegExp]>([
  ['a network file system', { fileSystemType: 0x6969 }, 'file_system', 'broken', /local disk/],
  ['a disk in memory', { fileSystemType: 0x01021994 }, 'file_system', 'broken', /local disk/],
  ['the layer of a container', { fileSystemType: 0x794c7630 }, 'file_system', 'warning', /Mount a volume/],
  ['a file system of a program', { fileSystemType: 0x65735546 }, 'file_system', 'warning', /local disk/],
  ['a full disk', { space: { free: 2 ** 20, total: gigabyte } }, 'disk_space', 'broken', /Free some space/],
  [
    'an almost full disk',
    { space: { free: 150 * 2 ** 20, total: gigabyte } },
    'disk_space',
    'warning',
    /Free some space/,
  ],
  ['a file of root', { files: [{ ...file, uid: 0 }] }, 'permissions', 'warning', /as the user of the grid/],
  ['a closed file', { files: [{ ...file, isAccessible: false }] }, 'permissions', 'broken', /as the user of the grid/],
  ['a slow disk', { fsyncMs: 80 }, 'durability', 'warning', /faster disk/],
  ['a disk that lies', { fsyncMs: 0.002 }, 'durability', 'warning', /eatmydata/],
])('%s', (_, facts, check, status, action) => {
  expect(bad(judgeMachine({ ...machine, ...facts }, config))).toMatchObject([
    { check, status, action: expect.stringMatching(action) },
  ])
})

test.each<[string, typeof ready | undefined, Partial<ServerFacts>, Finding['check'], Finding['status'], RegExp]>([
  [
    'a grid that is not ready',
    { status: 503, text: '{"status":"storage full"}' },
    {},
    'server',
    'broken',
    /Troubleshooting/,
  ],
  [
    'a grid with another address',
    { status: 421, text: '{"error":{"code":"unknown_host"}}' },
    {},
    'server',
    'broken',
    /settings of the grid/,
  ],
  ['another program', { status: 200, text: '<html>' }, {}, 'server', 'broken', /PORT/],
  ['a grid on another port', undefined, {}, 'server', 'warning', /PORT/],
  ['an older server', ready, { version: '0.0.9' }, 'version', 'warning', /Restart the grid/],
  ['an overloaded grid', ready, { isOverloaded: true }, 'queue', 'warning', /several processes/],
  ['writes that wait', ready, { waitingUnits: 900 }, 'queue', 'warning', /disk is too slow/],
  [
    'a proxy that is not trusted',
    ready,
    { proxies: { read: 0, ignored: 4, ignoredFrom: '10.0.0.9' } },
    'proxies',
    'warning',
    /TRUSTED_PROXIES=10\.0\.0\.9/,
  ],
])('%s', (_, readiness, facts, check, status, action) => {
  expect(bad(judgeServer(config, readiness, { ...server, ...facts }))).toMatchObject([
    { check, status, action: expect.stringMatching(action) },
  ])
})

test.each([
  [{ node: '20.18.0' }, 'broken'],
  [{ node: '20.19.0' }, 'ok'],
  [{ node: '24.0.0', bun: '1.3.9' }, 'broken'],
  [{ node: '24.0.0', deno: '2.9.5' }, 'ok'],
])('the runtime %o is %s', (versions, status) => {
  expect(judgeRuntime(versions)).toMatchObject({ check: 'runtime', status })
})

test('a server that has another key ring than the settings has to be restarted', () => {
  const ring = newKeyRing()

  expect(judgeKeyRing(config, { file: ring, keys: [], known: ['old'] })).toMatchObject({ action: 'Restart the grid.' })
  expect(judgeKeyRing(config, { file: ring, keys: [], known: [ring.split(':')[0]] })).toMatchObject({ status: 'ok' })
})

test('a lease of a dead process, and pragmas that are not in force, are found in a running store', async () => {
  const grid = await testGrid()
  const at = grid.clock.now - 10 * minute
  await grid.store.write([{
    sql: 'INSERT INTO leases (account_id, agent_id, id, holder, created_at) VALUES (?, ?, ?, ?, ?)',
    args: [grid.acme.id, grid.bob.id, 'lease', 'a dead process', at],
  }])

  const { database } = await grid.store.health()

  expect(insideFacts.shape.database.parse(database)).toEqual(database)
  expect(bad(judgeDatabase(database, 'full'))).toMatchObject([
    { check: 'durability', status: 'broken', found: expect.stringContaining('synchronous 1') },
    { check: 'leases', status: 'warning', action: expect.stringContaining('Restart the grid') },
  ])
  await grid.close()
})

test('the status of a report is its worst, and its checks are in their order', () => {
  const findings = [
    ...judgeServer(config, ready, server),
    ...judgeMachine({ ...machine, fileSystemType: 0x6969 }, config),
  ]

  const report = reportOf({ version, database: 'grid.db', milliseconds: 1, checks: findings, accounts: [] })

  expect(report.status).toBe('broken')
  expect(report.checks.map(({ check }) => check)).toEqual([
    ...['version', 'server', 'file_system', 'disk_space', 'permissions', 'durability', 'proxies'],
  ])
})

function bad(findings: Finding[]): Finding[] {
  return findings.filter(({ status }) => status === 'warning' || status === 'broken')
}
