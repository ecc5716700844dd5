/**
 * `npm run lab -- try-release`: runs the publishing commands of docs/releasing.md. It publishes `release/`, as written
 * by `npm run release`, to a registry and a folder on this machine, and installs from both. IMAGE is a name for the
 * image in a registry without TLS, such as localhost:5000/agent-grid.
 */
import { Buffer } from 'node:buffer'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const release = join(root, 'release')
const { name }: { name: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const upstream = (await promisify(execFile)('npm', ['config', 'get', 'registry'])).stdout.trim().replace(/\/$/, '')
const folder = mkdtempSync(join(tmpdir(), 'agent-grid-release-'))
let published: { packument: Record<string, unknown>; archive: Uint8Array } | undefined

/** Serves the release at `/release/`, and an npm registry with our package and the packages of the usual registry. */
const server = createServer(async (request, response) => {
  const path = decodeURIComponent(request.url!)
  if (request.method === 'PUT') {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const { _attachments, ...packument } = JSON.parse(Buffer.concat(chunks).toString())
    const [{ data }] = Object.values<{ data: string }>(_attachments)
    published = { packument, archive: Buffer.from(data, 'base64') }
    response.end('{}')
  } else if (path.startsWith('/release/')) {
    const file = path.slice('/release/'.length)
    if (readdirSync(release).includes(file)) response.end(readFileSync(join(release, file)))
    else response.writeHead(404).end()
  } else if (path.startsWith(`/${name}`)) {
    if (!published) response.writeHead(404).end('{}')
    else response.end(path.endsWith('.tgz') ? published.archive : JSON.stringify(published.packument))
  } else response.writeHead(302, { Location: `${upstream}${request.url}` }).end()
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

try {
  const home = join(folder, 'home')
  mkdirSync(home)
  // npm publishes only with a token. This registry does not check it.
  writeFileSync(join(home, '.npmrc'), `${address.replace('http:', '')}/:_authToken=none\n`)
  const env = {
    HOME: home,
    PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
    RELEASE_URL: `${address}/release`,
    npm_config_registry: address,
    npm_config_replace_registry_host: 'always',
  }
  const run = async (title: string, command: string, more = {}) => {
    const options = { cwd: home, env: { ...env, ...more } }
    const { stdout } = await promisify(execFile)('sh', ['-euc', command], options)
    console.log(`${title}: ${stdout.trim().split('\n').slice(-2).join(' / ')}`)
  }
  const { REGISTRY = address, IMAGE, INSECURE = '1' } = process.env
  await run('publish', join(root, '.ci/publish'), { REGISTRY, INSECURE, ...(IMAGE && { IMAGE }) })
  await run('npx', `npx --yes ${name} --version && npx --yes ${name} demo | tail -n 1`)
  await run('curl | sh', 'curl -fsSL "$RELEASE_URL/install.sh" | sh && "$HOME/.local/bin/agent-grid" demo | tail -n 1')
} finally {
  server.close()
  rmSync(folder, { recursive: true, force: true })
}
