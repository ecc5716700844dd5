/** nginx with the configuration from docs/operating/proxies.md, "Proxies". */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { freePort } from '../../src/lib/free-port.ts'
import { testCertificate } from './certificate.ts'
import { waitFor } from './wait-for.ts'

const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

/** For `describe.skipIf(!hasNginx)`. Always true under CI, so that tests fail without nginx. */
export const hasNginx = spawnSync('nginx', ['-v'], { env }).status === 0 || process.env.CI === 'true'
if (!hasNginx) console.warn('No nginx: its tests are skipped. Install it, on Debian nginx-light.')

export interface Proxy {
  request(method: string, path: string, headers: Record<string, string>, body: string | Uint8Array): Promise<Answer>
  stop(): Promise<void>
}

interface Answer {
  status: number
  text: string
}

const host = 'grid.example.com'
/** The grid's public address behind the proxy. */
export const proxiedUrl = `https://${host}`

/** Starts nginx on a free port, in front of three processes. */
export async function startNginx(ports: readonly number[]): Promise<Proxy> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-grid-nginx-'))
  const { key, cert } = testCertificate(host)
  const files = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem'), conf: join(folder, 'nginx.conf') }
  writeFileSync(files.key, key)
  writeFileSync(files.cert, cert)
  const port = await freePort()
  const [, block] = readFileSync('docs/operating/proxies.md', 'utf8').match(/```nginx\n([^]*?)```/)!
  const printed = block.replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace(`/etc/ssl/${host}.pem`, files.cert).replace(`/etc/ssl/${host}.key`, files.key)
    .replace(/127\.0\.0\.1:878([789])/g, (_, digit) => `127.0.0.1:${ports[Number(digit) - 7]}`)
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) =>
    `${name}_temp_path ${folder}/${name};`
  )
  writeFileSync(
    files.conf,
    `daemon off; pid ${folder}/pid; ${process.getuid?.() === 0 ? 'user root;' : ''}
error_log ${folder}/error.log warn;
events {}
http { access_log off; ${folders.join(' ')}
${printed}
}`,
  )
  const child = spawn('nginx', ['-c', files.conf, '-e', `${folder}/error.log`], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const send: Proxy['request'] = (method, path, headers, body) => ask(port, { method, path, headers, body })
  await waitFor('nginx', () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${readFileSync(`${folder}/error.log`, 'utf8')}`)
    return send('GET', '/healthz', {}, '').then(({ status }) => status === 200, () => false)
  })
  return {
    request: send,
    async stop() {
      end(child)
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function end(child: ChildProcess): void {
  child.kill('SIGTERM')
}

interface Asked {
  method: string
  path: string
  headers: Record<string, string>
  body: string | Uint8Array
}

function ask(port: number, { method, path, headers, body }: Asked): Promise<Answer> {
  const options = { host: '127.0.0.1', port, method, path, servername: host, rejectUnauthorized: false, agent: false }
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...options, headers: { Host: host, ...headers } }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (more) => text += more)
      response.on('error', reject).on('end', () => resolve({ status: response.statusCode!, text }))
    })
    outgoing.on('error', reject).end(body)
  })
}
